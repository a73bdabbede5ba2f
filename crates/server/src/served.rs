//! What is asked: a study whose plan is complete, as the service publishes it and takes its reports.

use sha2::{Digest, Sha256};
use sottovoce::estimate::LeftInverse;
use sottovoce_collect::Layout;
use sottovoce_job::study::{Collection, PlannedCollection, Question, Strategy, Study};
use sottovoce_job::{Identified, ProtocolSpec, StudyFile, Written};

use crate::problem::{Error, Result};
use crate::store::Place;

/// Most collections.
const MAX_COLLECTIONS: usize = 1000;

/// A study that is being served.
pub struct Served {
    /// The study, as written.
    pub file: Written<StudyFile>,
    /// The valid study.
    pub study: Study,
    /// Which round this is, if there are several.
    pub round: Option<u64>,
    /// The collections, in the order of the plan.
    pub collections: Vec<Asked>,
}

/// A collection of the study.
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The name of its files.
    pub stem: String,
    /// Its protocol.
    pub protocol: Identified,
    /// The form of its reports.
    pub layout: Layout,
    /// How far one report can move the linear estimate of a share, in units of one over the number of reports; none if the protocol has no linear estimate.
    pub influence: Option<f64>,
}

impl Served {
    /// The study, if it is valid, its plan is complete, and it can be served.
    ///
    /// # Errors
    /// What is not so.
    pub fn new(file: Written<StudyFile>, round: Option<u64>) -> Result<Self> {
        let study = file.check()?;
        let collections = study.collections()?;
        if collections.len() > MAX_COLLECTIONS {
            return Err(Error::TooManyCollections { found: collections.len(), max: MAX_COLLECTIONS });
        }
        if collections.iter().any(|collection| collection.permanent.is_some()) {
            return Err(Error::Memoised);
        }
        let asked = |collection: Collection| {
            let protocol = &collection.protocol.named.protocol;
            Ok(Asked {
                stem: study.stem(&collection.name, round)?,
                layout: Layout::of(protocol),
                influence: LeftInverse::of(protocol).and_then(|votes| votes.influence(protocol)).ok(),
                name: collection.name,
                protocol: collection.protocol,
            })
        };
        let collections = collections.into_iter().map(asked).collect::<Result<_>>()?;
        Ok(Served { study, round, collections, file })
    }

    /// A single question, asked under a protocol with or without labels.
    ///
    /// # Errors
    /// The protocol is not valid, or has no level.
    pub fn of_protocol(protocol: &Written<ProtocolSpec>, text: Option<String>) -> Result<Self> {
        let identified = Identified::written(protocol)?;
        let (named, name) = (&identified.named, "answer".to_owned());
        let level = named.protocol.level().map_err(sottovoce_job::Error::from)?;
        let numbers = || (0..named.protocol.inputs()).map(|x| x.to_string()).collect();
        let question = Question {
            name: name.clone(),
            text,
            column: None,
            labels: Some(named.labels.clone().unwrap_or_else(numbers)),
            bins: None,
            prior: None,
        };
        let planned = PlannedCollection {
            questions: vec![name],
            share: Some(1.0),
            protocols: vec![ProtocolSpec { labels: None, ..named.spec.clone() }],
            then: vec![],
        };
        let plan = sottovoce_job::study::Plan {
            epsilon: level,
            strategy: Some(Strategy::Split),
            rounds: 1,
            noise: sottovoce_job::study::Noise::Fresh,
            round_epsilon: None,
            collections: vec![planned],
        };
        let file = StudyFile {
            version: sottovoce_job::study::VERSION,
            questions: vec![question],
            joints: vec![],
            plan,
        };
        Served::new(file.into(), None)
    }

    /// What a store knows the study by: two studies whose reports must not be counted together have different names.
    pub fn name(&self) -> String {
        let mut hash = Sha256::new();
        for asked in &self.collections {
            hash.update(asked.protocol.identity.fingerprint.as_bytes());
            hash.update((asked.stem.len() as u64).to_le_bytes());
            hash.update(asked.stem.as_bytes());
        }
        // The same protocol can ask something else: an answer to that is none to this.
        for question in &self.study.file.questions {
            for part in [Some(&question.name), question.text.as_ref()] {
                let part = part.map(String::as_bytes);
                hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
                hash.update(part.unwrap_or_default());
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The collection with this name, and its number.
    pub fn collection(&self, name: &str) -> Option<(Place, &Asked)> {
        let at = self.collections.iter().position(|asked| asked.name == name)?;
        Some((at as Place, &self.collections[at]))
    }

    /// All collections with their numbers.
    pub fn places(&self) -> impl Iterator<Item = (Place, &Asked)> {
        self.collections.iter().enumerate().map(|(at, asked)| (at as Place, asked))
    }
}
