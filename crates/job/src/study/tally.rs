//! The job `tally_study`: the files of reports of a study to one file of tallies for each collection, on the aggregator's side.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::Observer;
use sottovoce_collect::{Replacement, write_tallies};

use super::file::StudyFile;
use super::groups::{Collection, Study, check_directory};
use super::problem::StudyProblem;
use super::randomise::{refuse_other, stem};
use crate::contract::{OneOrMore, Whole, one_or_more, optional_whole};
use crate::error::Result;
use crate::randomise::unwritable;
use crate::source::Written;
use crate::tally::{FormChoice, TallyJob, TallyReport, TallyRequest};

/// What to tally.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TallyStudyRequest {
    /// The study, with a complete plan.
    pub study: Written<StudyFile>,
    /// The directories of the files of reports.
    #[serde(deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<String>")]
    pub reports: Vec<String>,
    /// Which round to count, if there are several.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub round: Option<u64>,
    /// What to keep of the reports.
    #[serde(default)]
    pub form: FormChoice,
    /// The directory of the files of tallies; it is created if it does not exist.
    pub output: PathBuf,
}

/// A valid request to tally a study.
#[derive(Clone, Debug)]
pub struct TallyStudyJob {
    request: TallyStudyRequest,
    counts: Vec<(String, TallyJob)>,
}

/// What the tallies hold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TallyStudyReport {
    /// The number of all reports.
    pub n: u64,
    /// How many reports were rejected and not counted.
    pub rejected: u64,
    /// The directory of the tallies.
    pub output: String,
    /// What the tallies of each collection hold.
    pub collections: Vec<CollectionTallies>,
}

/// The tallies of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectionTallies {
    /// The collection.
    pub name: String,
    /// What its tallies hold.
    #[serde(flatten)]
    pub tallies: TallyReport,
}

/// What the names of files of reports end with.
const EXTENSIONS: [&str; 4] = ["csv", "jsonl", "ndjson", "parquet"];

/// What the names of compressed files end with.
const COMPRESSED: [&str; 4] = ["", ".gz", ".zst", ".zstd"];

impl TallyStudyRequest {
    /// The tallies of the reports in directories.
    pub fn of(
        study: impl Into<Written<StudyFile>>,
        reports: Vec<String>,
        output: impl Into<PathBuf>,
    ) -> Self {
        let (study, output) = (study.into(), output.into());
        TallyStudyRequest { study, reports, round: None, form: FormChoice::Auto, output }
    }

    /// The job, if the study is valid and planned, and each collection has files of reports of this study.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<TallyStudyJob> {
        check_directory(&self.output)?;
        let study = self.study.check()?;
        let mut counts = Vec::new();
        for collection in study.collections()? {
            let stem = stem(&study, &collection.name, self.round)?;
            let reports = self.files(&study, &collection, &stem)?;
            let request = TallyRequest {
                protocol: Some(collection.protocol.named.spec.clone().into()),
                form: self.form,
                ..TallyRequest::of(reports, self.output.join(format!("{stem}.json")))
            };
            counts.push((collection.name, request.check()?));
        }
        Ok(TallyStudyJob { request: self.clone(), counts })
    }

    /// The files of a collection: at least one in each directory.
    fn files(&self, study: &Study, collection: &Collection, stem: &str) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for directory in &self.reports {
            let names =
                EXTENSIONS.iter().flat_map(|end| COMPRESSED.map(|packed| format!("{stem}.{end}{packed}")));
            let found = names.map(|name| Path::new(directory).join(name)).filter(|path| path.exists());
            let before = files.len();
            files.extend(found);
            if files.len() == before {
                let (directory, collection) = (directory.clone(), collection.name.clone());
                let wanted = format!("{stem}.csv, .jsonl or .parquet");
                return Err(StudyProblem::NoFile { directory, collection, wanted }.found_in(&study.source));
            }
        }
        files.iter().try_for_each(|file| refuse_other(study, collection, file))?;
        Ok(files.iter().map(|file| file.to_string_lossy().into_owned()).collect())
    }
}

impl TallyStudyJob {
    /// Counts the reports and writes all tallies or none, while the observer hears how many reports of a collection there are so far.
    ///
    /// # Errors
    /// As for the job `tally`, of any collection.
    pub fn run(&self, observer: Observer<'_>) -> Result<TallyStudyReport> {
        let directory = &self.request.output;
        let counted = self.counts.iter().map(|(_, job)| job.count(observer)).collect::<Result<Vec<_>>>()?;
        fs::create_dir_all(directory).map_err(|error| unwritable(directory, error))?;
        let mut files = Vec::new();
        for ((_, job), (protocol, tally)) in self.counts.iter().zip(&counted) {
            let written = Replacement::create(job.output()).and_then(|mut file| {
                write_tallies(tally, &protocol.identity, &mut file)?;
                Ok(file)
            });
            files.push(written.map_err(|error| unwritable(job.output(), error))?);
        }
        Replacement::finish_all(files).map_err(|error| unwritable(directory, error))?;
        let report = |((name, job), (protocol, tally)): (&(String, TallyJob), _)| CollectionTallies {
            name: name.clone(),
            tallies: job.report(tally, protocol),
        };
        let pairs = counted.iter().map(|(protocol, tally)| (protocol, tally));
        let collections: Vec<CollectionTallies> = self.counts.iter().zip(pairs).map(report).collect();
        Ok(TallyStudyReport {
            n: collections.iter().map(|collection| collection.tallies.n).sum(),
            rejected: collections.iter().map(|collection| collection.tallies.rejected).sum(),
            output: directory.to_string_lossy().into_owned(),
            collections,
        })
    }
}
