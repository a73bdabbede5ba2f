//! The study as it is published: for clients, which draw with its whole numbers, and for the page of participants.

use serde::Serialize;
use sottovoce_client::Published;
use sottovoce_job::study::{Edge, Question, Strategy};

use crate::http::{MAX_BATCH, MAX_BODY};
use crate::problem::{Error, Result};
use crate::served::{Asked, Served};

#[derive(Serialize)]
struct Publication<'s> {
    format: &'static str,
    version: u32,
    /// What a browser knows the study by: reports on another question are not its own.
    study: String,
    strategy: Strategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
    questions: Vec<PublishedQuestion<'s>>,
    collections: Vec<PublishedCollection<'s>>,
    limits: Limits,
}

#[derive(Serialize)]
struct PublishedQuestion<'s> {
    name: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'s [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<&'s [Edge]>,
}

#[derive(Serialize)]
struct PublishedCollection<'s> {
    name: &'s str,
    questions: Vec<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    published: Published,
}

#[derive(Serialize)]
struct Limits {
    reports: usize,
}

/// The study as JSON.
///
/// # Errors
/// A protocol cannot be drawn with whole numbers.
pub fn publication(served: &Served) -> Result<String> {
    let file = &served.study.file;
    // There are no collections without a strategy.
    let strategy = file.plan.strategy.unwrap_or(Strategy::Split);
    let words = served.study.words()?;
    let mut collections = Vec::new();
    for (at, asked) in served.collections.iter().enumerate() {
        let group = &served.study.groups[at];
        collections.push(PublishedCollection {
            name: &asked.name,
            questions: served.study.questions(group).map(|question| question.name.as_str()).collect(),
            words: words.as_ref().map(|words| words[at].to_string()),
            published: published(asked)?,
        });
    }
    let publication = Publication {
        format: "sottovoce study",
        version: 1,
        study: served.name(),
        strategy,
        round: served.round,
        questions: file.questions.iter().map(question).collect(),
        collections,
        limits: Limits { reports: most_reports(served) },
    };
    serde_json::to_string(&publication).map_err(|error| Error::System(error.into()))
}

/// The reports that fit into a batch, however long they are: each with its id and quotes, after the envelope.
fn most_reports(served: &Served) -> usize {
    const ENVELOPE: usize = 200;
    const AROUND: usize = 60;
    let longest = served.collections.iter().map(|asked| asked.layout.text_length()).max().unwrap_or(0);
    ((MAX_BODY - ENVELOPE) / (longest + AROUND)).clamp(1, MAX_BATCH)
}

fn question(question: &Question) -> PublishedQuestion<'_> {
    PublishedQuestion {
        name: &question.name,
        text: question.text.as_deref(),
        labels: question.labels.as_deref(),
        bins: question.bins.as_deref(),
    }
}

/// The protocol with the whole numbers that clients draw with.
fn published(asked: &Asked) -> Result<Published> {
    let (identity, named) = (&asked.protocol.identity, &asked.protocol.named);
    let published = Published::new(&named.protocol, &identity.specification, named.labels.as_deref());
    published.map_err(|error| Error::Client { collection: asked.name.clone(), error })
}

#[cfg(test)]
mod tests {
    use sottovoce_job::read_protocol;

    use super::*;

    fn served(protocol: &str, text: &str) -> Served {
        Served::of_protocol(&read_protocol(protocol).unwrap(), Some(text.into())).unwrap()
    }

    #[test]
    fn another_question_is_another_study() {
        let id = |text: &str| {
            let publication: serde_json::Value =
                serde_json::from_str(&publication(&served("grr:a=2,eps=1", text)).unwrap()).unwrap();
            publication["study"].as_str().unwrap().to_owned()
        };
        assert_eq!(id("Tea?"), id("Tea?"));
        assert_ne!(id("Tea?"), id("Coffee?"));
    }

    #[test]
    fn a_full_batch_of_long_reports_fits() {
        assert_eq!(most_reports(&served("grr:a=2,eps=1", "Tea?")), MAX_BATCH);
        let long = served("oue:a=60000,eps=1", "Which?");
        let report = "0".repeat(long.collections[0].layout.text_length());
        let entry = format!(r#"{{"id":"{}","report":"{report}"}},"#, "0".repeat(32));
        let most = most_reports(&long);
        assert!(most > 1 && most * entry.len() + 100 <= MAX_BODY && (most + 1) * entry.len() > MAX_BODY);
    }
}
