//! The job `randomise_study`: a table of people to one file of reports for each collection, on the users' side.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::{Observer, Progress};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::{Input, refuse_as_output};
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::files::values::{Rows, TableReader};
use sottovoce_collect::header::Header;
use sottovoce_collect::memo::Remembered;
use sottovoce_collect::randomise::{Batches, Generator, Memoised, Randomiser, Randomness, Words};
use sottovoce_collect::{Domain, Error as CollectError, Layout, Memo, Replacement, ValueProblem};

use super::file::{Strategy, StudyFile};
use super::groups::{Collection, Group, Permanent, Study, chances, check_directory, together};
use super::problem::StudyProblem;
use crate::contract::{Number, Whole, number, optional_whole};
use crate::error::Result;
use crate::randomise::{OnError, RandomiseReport, unwritable};
use crate::source::{Source, Written};

/// What to randomise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomiseStudyRequest {
    /// The study, with a complete plan.
    pub study: Written<StudyFile>,
    /// The table of people, or `-` for standard input: CSV, JSON Lines or Parquet with the columns of the questions.
    pub people: String,
    /// Which round this is, if there are several.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub round: Option<u64>,
    /// With memoised noise: the file of the permanent reports, which is secret. The first round makes it; later ones read it, and add people who are new.
    #[serde(default)]
    pub memo: Option<PathBuf>,
    /// With memoised noise: the column that names each person.
    #[serde(default)]
    pub person: Option<String>,
    /// What to do with a person whose answer is none of its question.
    #[serde(default)]
    pub on_error: OnError,
    /// A seed that makes the reports predictable, for tests.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub insecure_test_seed: Option<u64>,
    /// The format of the files of reports.
    #[serde(default)]
    pub file_format: ReportFormat,
    /// The directory of the files of reports; it is created if it does not exist.
    pub output: PathBuf,
}

/// The formats of files of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// Comma-separated values.
    #[default]
    Csv,
    /// JSON Lines.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl ReportFormat {
    fn extension(self) -> &'static str {
        match self {
            ReportFormat::Csv => "csv",
            ReportFormat::Jsonl => "jsonl",
            ReportFormat::Parquet => "parquet",
        }
    }

    fn format(self) -> FileFormat {
        match self {
            ReportFormat::Csv => FileFormat::Csv,
            ReportFormat::Jsonl => FileFormat::JsonLines,
            ReportFormat::Parquet => FileFormat::Parquet,
        }
    }
}

/// A valid request to randomise a study.
#[derive(Clone, Debug)]
pub struct RandomiseStudyJob {
    request: RandomiseStudyRequest,
    study: Study,
    strategy: Strategy,
    streams: Vec<Stream>,
    people: Input,
    memo: Option<Kept>,
}

/// The memo of a study, and where it is.
#[derive(Clone, Debug)]
struct Kept {
    path: PathBuf,
    person: String,
    memo: Memo,
}

/// A collection, how it is drawn, and where its reports go.
#[derive(Clone, Debug)]
struct Stream {
    collection: Collection,
    randomiser: Randomiser,
    format: FileFormat,
    output: PathBuf,
    seed: Option<u64>,
    memoised: Option<Memoised>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RandomiseStudyReport {
    /// The strategy.
    pub strategy: Strategy,
    /// Which round it was, if there are several.
    pub round: Option<u64>,
    /// How many people reported.
    pub people: u64,
    /// How many were left out.
    pub skipped: u64,
    /// How many of them for which reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub skipped_by_problem: BTreeMap<ValueProblem, u64>,
    /// The lines of the first few people who were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_lines: Vec<u64>,
    /// The memo, if the noise is memoised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<Remembering>,
    /// The exact LDP level of all that one person reports in this round; with memoised noise, in all rounds.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    pub realised_ldp: f64,
    /// Whether the reports follow from a test seed, and tell their values to anybody who knows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The directory of the reports.
    pub output: String,
    /// What was written for each collection.
    pub collections: Vec<CollectionReports>,
}

/// What became of a memo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remembering {
    /// The file.
    pub file: String,
    /// How many people of this round were known from it.
    pub known: u64,
    /// How many were new, and have their permanent reports now.
    pub new: u64,
}

/// The reports of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectionReports {
    /// The collection.
    pub name: String,
    /// What was written.
    #[serde(flatten)]
    pub written: RandomiseReport,
}

impl RandomiseStudyRequest {
    /// Randomises a table of people with the operating system's randomness, to CSV files in a directory.
    pub fn of(study: impl Into<Written<StudyFile>>, people: &str, output: impl Into<PathBuf>) -> Self {
        RandomiseStudyRequest {
            study: study.into(),
            people: people.to_owned(),
            round: None,
            memo: None,
            person: None,
            on_error: OnError::Stop,
            insecure_test_seed: None,
            file_format: ReportFormat::Csv,
            output: output.into(),
        }
    }

    /// The job, if the study is valid and planned, its protocols can be sampled, and no output is a file that is read or has reports of another study.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<RandomiseStudyJob> {
        check_directory(&self.output)?;
        let study = self.study.check()?;
        let collections = study.collections()?;
        let people = match self.people.as_str() {
            "-" => Input::StandardInput,
            path => Input::File(path.into()),
        };
        let memo = self.kept(&study, &collections)?;
        let mut streams = Vec::new();
        for (g, collection) in collections.into_iter().enumerate() {
            let stem = stem(&study, &collection.name, self.round)?;
            let output = self.output.join(format!("{stem}.{}", self.file_format.extension()));
            let memo = self.memo.iter().map(|path| Input::File(path.clone()));
            let read = [people.clone()].into_iter().chain(study_file(&self.study)).chain(memo);
            refuse_as_output(read.collect::<Vec<_>>().iter(), &output)?;
            refuse_other(&study, &collection, &output)?;
            let randomiser = Randomiser::new(&collection.protocol.named.protocol)?;
            // The noise of two rounds is not the same.
            let of_round = |seed| self.round.map_or(seed, |round| derived(seed, round));
            let seed = self.insecure_test_seed.map(|seed| derived(of_round(seed), g as u64));
            let format = self.file_format.format();
            let memoised = collection
                .permanent
                .as_ref()
                .map(|permanent| Memoised::new(&permanent.protocol.named.protocol, permanent.then.as_ref()));
            let memoised = memoised.transpose()?;
            streams.push(Stream { collection, randomiser, format, output, seed, memoised });
        }
        // There are no collections without one.
        let strategy = study.file.plan.strategy.unwrap_or(Strategy::Split);
        Ok(RandomiseStudyJob { request: self.clone(), study, strategy, streams, people, memo })
    }

    /// The memo, if the noise is memoised: what the file holds, or nothing yet in the first round.
    fn kept(&self, study: &Study, collections: &[Collection]) -> Result<Option<Kept>> {
        let permanent: Option<Vec<_>> = collections.iter().map(|found| found.permanent.as_ref()).collect();
        let problem = match (permanent, &self.memo, &self.person) {
            (None, None, None) => return Ok(None),
            (None, ..) => StudyProblem::NoUseForMemo,
            (Some(permanent), Some(path), Some(person)) => {
                let round = self.round.unwrap_or(1);
                let read = [study_file(&self.study), Some(Input::File(self.people.clone().into()))];
                refuse_as_output(read.iter().flatten(), path)?;
                let print = |permanent: &&Permanent| permanent.protocol.identity.fingerprint.clone();
                let layout = |permanent: &&Permanent| Layout::of(&permanent.protocol.named.protocol);
                let empty =
                    Memo::new(permanent.iter().map(print).collect(), permanent.iter().map(layout).collect());
                let memo = match path.exists() {
                    true => empty.read(path)?,
                    false if round == 1 => empty,
                    false => {
                        let memo = Input::File(path.clone()).to_string();
                        return Err(StudyProblem::LostMemo { memo, round }.found_in(&study.source));
                    }
                };
                return Ok(Some(Kept { path: path.clone(), person: person.clone(), memo }));
            }
            (Some(_), ..) => StudyProblem::NoMemo,
        };
        Err(problem.found_in(&study.source))
    }
}

/// The file that a study was written in, if it was.
fn study_file(study: &Written<StudyFile>) -> Option<Input> {
    match &study.source {
        Source::File(path) => Some(Input::File(path.clone())),
        Source::StandardInput => Some(Input::StandardInput),
        _ => None,
    }
}

/// The seed of one of the streams that a test seed stands for: different ones, so that the reports of a person are independent.
fn derived(seed: u64, stream: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(stream)
}

/// The name of the files of a collection, without what says their format.
pub(super) fn stem(study: &Study, collection: &str, round: Option<u64>) -> Result<String> {
    let rounds = study.file.plan.rounds;
    let problem = match round {
        None if rounds == 1 => return Ok(collection.to_owned()),
        None => StudyProblem::WhichRound { rounds },
        Some(round) if round == 0 || round > rounds => StudyProblem::NoRound { round, rounds },
        Some(_) if rounds == 1 => return Ok(collection.to_owned()),
        Some(round) => return Ok(format!("{collection}.round-{round}")),
    };
    Err(problem.found_in(&study.source))
}

/// Refuses a file of reports that belongs to another version of the study.
pub(super) fn refuse_other(study: &Study, collection: &Collection, file: &Path) -> Result<()> {
    if !file.is_file() {
        return Ok(());
    }
    let Ok(opened) = ReportFile::open(&Input::File(file.to_owned())) else { return Ok(()) };
    let other =
        opened.header().is_some_and(|header| header.fingerprint != collection.protocol.identity.fingerprint);
    if !other {
        return Ok(());
    }
    let file = Input::File(file.to_owned()).to_string();
    Err(StudyProblem::Changed { file, collection: collection.name.clone() }.found_in(&study.source))
}

impl RandomiseStudyJob {
    /// Writes the reports, while the observer hears how many people there are. Until all reports are on the disk, previous files are untouched.
    ///
    /// # Errors
    /// A file cannot be read or written, an answer is none of its question, or the observer stops the job.
    pub fn run(&self, observer: Observer<'_>) -> Result<RandomiseStudyReport> {
        let directory = &self.request.output;
        let created = !directory.exists();
        fs::create_dir_all(directory).map_err(|error| unwritable(directory, error))?;
        let done = self.write(observer);
        if done.is_err() && created {
            // Only if it is empty; what else is there is not ours.
            let _ = fs::remove_dir(directory);
        }
        done
    }

    fn write(&self, observer: Observer<'_>) -> Result<RandomiseStudyReport> {
        let domains: Vec<Domain> =
            self.study.file.questions.iter().map(|question| question.domain()).collect();
        let columns =
            self.study.file.questions.iter().map(|question| question.column()).zip(&domains).collect();
        let person = self.memo.as_ref().map(|kept| kept.person.as_str());
        let reader = TableReader { columns, person, skip: self.request.on_error == OnError::Skip };
        let mut memo = self.memo.as_ref().map(|kept| kept.memo.clone());
        let mut remembering = self.memo.as_ref().map(|kept| Remembering {
            file: kept.path.to_string_lossy().into_owned(),
            known: 0,
            new: 0,
        });
        let mut writers = self.streams.iter().map(Stream::writer).collect::<Result<Vec<_>>>()?;
        let mut batches: Vec<Batches<'_>> = self.streams.iter().map(Stream::batches).collect();
        let (mut people, mut sent, mut drawn) = (0, vec![0; self.streams.len()], 0);
        let skipped = reader.read(&self.people, &mut |rows| {
            people += (rows.inputs.len() / domains.len()) as u64;
            let batch = drawn;
            drawn += 1;
            let reports = match (&mut memo, &mut remembering) {
                (Some(memo), Some(remembering)) => self.remembered(rows, batch, memo, remembering)?,
                _ => {
                    let answers = self.answers(rows.inputs, batch)?;
                    let pairs = batches.iter_mut().zip(&answers);
                    pairs.map(|(batches, values)| batches.reports(values)).collect::<Result<Vec<_>, _>>()?
                }
            };
            for (g, reports) in reports.iter().enumerate() {
                sent[g] += (reports.len() / self.streams[g].randomiser.layout().length()) as u64;
                writers[g].write(reports).map_err(|error| unwritable(&self.streams[g].output, error))?;
            }
            match observer(&Progress::Randomising { reports: people }).is_break() {
                true => Err(sottovoce::Error::Stopped.into()),
                false => Ok(()),
            }
        });
        let skipped = skipped.map_err(|error| match error {
            CollectError::NoColumn { file, column, .. }
            | CollectError::NoValueColumn { file, column, .. } => {
                StudyProblem::NoColumn { file, column }.found_in(&self.study.source)
            }
            other => other.into(),
        })?;
        if people == 0 && skipped.total() > 0 {
            return Err(CollectError::NothingSent { skipped: skipped.total() }.into());
        }
        let mut files = Vec::new();
        for (writer, stream) in writers.into_iter().zip(&self.streams) {
            files.push(writer.finish().map_err(|error| unwritable(&stream.output, error))?);
        }
        if let Some((kept, memo)) = self.memo.as_ref().zip(memo) {
            let file = Replacement::create_private(&kept.path).and_then(|mut file| {
                memo.write(&mut file)?;
                Ok(file)
            });
            // No report is sent whose permanent report would be forgotten.
            files.insert(0, file.map_err(|error| unwritable(&kept.path, error))?);
        }
        Replacement::finish_all(files).map_err(|error| unwritable(&self.request.output, error))?;
        let levels: Vec<f64> = self.streams.iter().map(Stream::level).collect();
        Ok(RandomiseStudyReport {
            strategy: self.strategy,
            round: self.request.round,
            people,
            skipped: skipped.total(),
            skipped_by_problem: skipped.counts,
            skipped_lines: skipped.lines,
            memo: remembering,
            realised_ldp: together(self.strategy, &levels),
            insecure: self.request.insecure_test_seed.is_some(),
            output: self.request.output.to_string_lossy().into_owned(),
            collections: self.streams.iter().zip(sent).map(|(stream, sent)| stream.report(sent)).collect(),
        })
    }

    /// The combinations of answers of a batch of people, for each collection those of the people who report on it.
    fn answers(&self, rows: &[usize], batch: u64) -> Result<Vec<Vec<usize>>, CollectError> {
        let questions = self.study.file.questions.len();
        let mut answers = vec![Vec::new(); self.streams.len()];
        let chances = (self.strategy == Strategy::Sample).then(|| self.chances());
        // Who answers what says nothing about the answers; still nobody should know it beforehand.
        let seed = self.request.insecure_test_seed.map(|seed| derived(seed, self.streams.len() as u64));
        let mut generator = Generator::new(randomness(seed), batch)?;
        for row in rows.chunks_exact(questions) {
            let chosen = chances.as_ref().map(|chances| choice(chances, &mut generator));
            for (g, group) in self.study.groups.iter().enumerate() {
                if chosen.is_none_or(|chosen| chosen == g) {
                    answers[g].push(group.cell(group.questions.iter().map(|question| row[*question])));
                }
            }
        }
        Ok(answers)
    }

    /// The bytes of the reports of a batch of people, drawn from their permanent reports. Who is not known yet draws these from their answers first, and keeps to them and to the
    /// collections that they report on, whatever their answers are later.
    fn remembered(
        &self,
        rows: Rows<'_>,
        batch: u64,
        memo: &mut Memo,
        remembering: &mut Remembering,
    ) -> Result<Vec<Vec<u8>>, CollectError> {
        let seed = self.request.insecure_test_seed.map(|seed| {
            derived(self.request.round.map_or(seed, |round| derived(seed, round)), self.streams.len() as u64)
        });
        let chances = (self.strategy == Strategy::Sample).then(|| self.chances());
        let mut choosing = Generator::new(randomness(seed), batch)?;
        let mut generators = self.streams.iter().map(|stream| Generator::new(randomness(stream.seed), batch));
        let mut generators = generators.by_ref().collect::<Result<Vec<_>, _>>()?;
        let mut reports = vec![Vec::new(); self.streams.len()];
        for (row, person) in rows.inputs.chunks_exact(self.study.file.questions.len()).zip(rows.people) {
            let permanent = match memo.get(person) {
                Some(permanent) => {
                    remembering.known += 1;
                    permanent
                }
                None => {
                    let chosen = chances.as_ref().map(|chances| choice(chances, &mut choosing));
                    let drawn = self.permanent(row, chosen, &mut generators)?;
                    memo.remember(person, &drawn)?;
                    remembering.new += 1;
                    drawn
                }
            };
            for (g, permanent) in permanent.iter().enumerate() {
                let (Some(permanent), Some(memoised)) = (permanent, &self.streams[g].memoised) else {
                    continue;
                };
                let report = memoised.report(permanent, &mut generators[g])?;
                let layout = self.streams[g].randomiser.layout();
                let start = reports[g].len();
                reports[g].resize(start + layout.length(), 0);
                layout
                    .write(&report, &mut reports[g][start..])
                    .ok_or(sottovoce_client::Error::NotPermanent)?;
            }
        }
        Ok(reports)
    }

    /// The permanent reports of a person with these answers.
    fn permanent(
        &self,
        row: &[usize],
        chosen: Option<usize>,
        generators: &mut [Generator],
    ) -> Result<Remembered, CollectError> {
        let drawn = |(g, group): (usize, &Group)| {
            let Some(memoised) = self.streams[g].memoised.as_ref().filter(|_| chosen.is_none_or(|c| c == g))
            else {
                return Ok(None);
            };
            let cell = group.cell(group.questions.iter().map(|question| row[*question]));
            Ok(Some(memoised.permanent(cell, &mut generators[g])?))
        };
        self.study.groups.iter().enumerate().map(drawn).collect()
    }

    /// Where a random word chooses a collection.
    fn chances(&self) -> Vec<u64> {
        chances(self.streams.iter().map(|stream| stream.collection.share.unwrap_or(0.0)))
    }
}

/// The collection that a person reports on.
fn choice(chances: &[u64], generator: &mut Generator) -> usize {
    let word = generator.word();
    chances.iter().position(|chance| word < *chance).unwrap_or(chances.len())
}

fn randomness(seed: Option<u64>) -> Randomness {
    seed.map_or(Randomness::System, Randomness::InsecureTestSeed)
}

impl Stream {
    fn writer(&self) -> Result<ReportWriter<Replacement>> {
        let unwritable = |error| unwritable(&self.output, error);
        let header = Header::new(&self.collection.protocol.identity, self.seed);
        let file = Replacement::create(&self.output).map_err(unwritable)?;
        Ok(ReportWriter::new(file, self.format, self.randomiser.layout().clone(), &header)
            .map_err(unwritable)?)
    }

    fn batches(&self) -> Batches<'_> {
        Batches::new(&self.randomiser, randomness(self.seed))
    }

    /// That of the report; with memoised noise, that of all rounds.
    fn level(&self) -> f64 {
        let realised = self.memoised.as_ref().map_or(self.randomiser.realised(), Memoised::realised);
        realised.loss.level()
    }

    fn report(&self, reports: u64) -> CollectionReports {
        let written = RandomiseReport {
            reports,
            skipped: 0,
            skipped_by_problem: BTreeMap::new(),
            skipped_lines: Vec::new(),
            realised_ldp: self.level(),
            insecure: self.seed.is_some(),
            fingerprint: self.collection.protocol.identity.fingerprint.clone(),
            output: self.output.to_string_lossy().into_owned(),
        };
        CollectionReports { name: self.collection.name.clone(), written }
    }
}
