//! The text of the job `accuracy`.

use super::{INDENT, WIDTH, heading, list};
use crate::accuracy::{AccuracyReport, Entry, Where};
use crate::render::document::{Document, Emphasis};
use crate::render::number::with_error;

/// The report of the job `accuracy`: one line for each estimator, one heading for each distance and number of users.
pub fn accuracy(report: &AccuracyReport) -> Document {
    let mut document = Document::default();
    document.title("How far off estimates are");
    heading(&mut document, &report.protocol, &report.prior);
    let place = match &report.place {
        Where::At(p) => format!("at the distribution {}", list(p)),
        Where::Prior => "on average over the prior".into(),
        Where::Worst => "at the worst distribution".into(),
    };
    document.line(Emphasis::Strong, format!("Expected  {place}"));
    for group in report.entries.chunk_by(|l, r| (l.n, l.distance) == (r.n, r.distance)) {
        document.line(Emphasis::Plain, "");
        let (n, distance) = (group[0].n, group[0].distance);
        let heading = format!("{} of {n} users: {}", distance.name(), distance.meaning());
        document.line(Emphasis::Strong, heading);
        group.iter().for_each(|entry| line(&mut document, entry));
    }
    document
}

fn line(document: &mut Document, entry: &Entry) {
    document.push(Emphasis::Plain, format!("  {:<16}", entry.estimator.name()));
    match &entry.accuracy {
        Ok(found) => {
            let value = with_error(found.evaluation.value, found.evaluation.error);
            let method = found.evaluation.method.name().replace('_', " ");
            document.line(Emphasis::Plain, format!("{value:<25}{method}"));
            if let Some(worst) = &found.worst {
                let among = if found.worst_of_all { "of all" } else { "of the corners and the uniform one" };
                let words = format!("worst {among}: {}", list(worst));
                document.paragraph(Emphasis::Faint, INDENT, WIDTH, &words);
            }
            if found.uncertified > 0 {
                let words = format!(
                    "warning: in {} of {} simulated collections the likelihood was not certified to be at its maximum",
                    found.uncertified, found.draws
                );
                document.paragraph(Emphasis::Warning, INDENT, WIDTH, &words);
            }
        }
        Err(reason) => {
            document.line(Emphasis::Plain, "no value");
            document.paragraph(Emphasis::Warning, INDENT, WIDTH, reason);
        }
    }
}
