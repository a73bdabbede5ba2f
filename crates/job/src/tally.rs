//! The job `tally`: files of reports to a file of tallies, on the aggregator's side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::SupportRates;
use sottovoce::{Observer, Protocol};
use sottovoce_collect::files::inputs::{Input, inputs, refuse_as_output};
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::rejection::Example;
use sottovoce_collect::tally::Counts;
use sottovoce_collect::{Error as CollectError, Form, Reason, Replacement, Tally, write_tallies};

use crate::collection::{Identified, written_in};
use crate::contract::{OneOrMore, one_or_more};
use crate::error::Result;
use crate::randomise::unwritable;
use crate::source::Written;
use crate::spec::ProtocolSpec;

/// What to tally.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TallyRequest {
    /// Files, directories, patterns, or `-` for standard input.
    #[serde(deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<String>")]
    pub reports: Vec<String>,
    /// The protocol, for files that do not name it; files that do must agree.
    #[serde(default)]
    pub protocol: Option<Written<ProtocolSpec>>,
    /// What to keep of the reports.
    #[serde(default)]
    pub form: FormChoice,
    /// Whether files may have reports in common.
    #[serde(default)]
    pub allow_copies: bool,
    /// The file of tallies.
    pub output: PathBuf,
}

/// What to keep of the reports of unary encoding, subset selection and local hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FormChoice {
    /// Patterns if there are few, supports otherwise.
    #[default]
    Auto,
    /// Each different report with its count, which keeps all information.
    Patterns,
    /// For each input how many reports support it, enough for linear estimates.
    Supports,
}

impl From<FormChoice> for Form {
    fn from(form: FormChoice) -> Self {
        match form {
            FormChoice::Auto => Form::Automatic,
            FormChoice::Patterns => Form::Patterns,
            FormChoice::Supports => Form::Supports,
        }
    }
}

/// A valid request to tally.
#[derive(Clone, Debug)]
pub struct TallyJob {
    request: TallyRequest,
    given: Option<Identified>,
    inputs: Vec<Input>,
}

/// What the tallies hold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TallyReport {
    /// The number of reports.
    pub n: u64,
    /// How many reports were rejected and not counted.
    pub rejected: u64,
    /// How many of them for which reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub rejected_by_reason: BTreeMap<Reason, u64>,
    /// The first few of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected_examples: Vec<RejectedReport>,
    /// What was kept of the reports.
    pub form: KeptForm,
    /// How many different reports there are; null if only supports were kept.
    pub different: Option<u64>,
    /// If only supports were kept: about how many bytes a file of all patterns would have at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patterns_bytes: Option<f64>,
    /// Whether some of the reports follow from a test seed, and tell their values to anybody who knows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The number of files that were read.
    pub files: usize,
    /// The fingerprint of the protocol.
    pub fingerprint: String,
    /// The file of tallies.
    pub output: String,
}

/// What tallies keep of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptForm {
    /// Each different report with its count.
    Patterns,
    /// For each input the number of reports that support it.
    Supports,
}

/// A report that was rejected. What it says is not repeated: a file of values is easily taken for one of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedReport {
    /// The file.
    pub file: String,
    /// Line of a text file or row of a Parquet file, from 1.
    pub line: u64,
    /// Why it was rejected.
    #[schemars(with = "String")]
    pub reason: Reason,
}

impl TallyRequest {
    /// The tallies of these files, which name their protocol.
    pub fn of(reports: Vec<String>, output: impl Into<PathBuf>) -> Self {
        let (form, output) = (FormChoice::Auto, output.into());
        TallyRequest { reports, protocol: None, form, allow_copies: false, output }
    }

    /// The job, if the protocol is valid, the files exist, none is there twice, and the output is not one of them.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<TallyJob> {
        let given = self.protocol.as_ref().map(Identified::written).transpose()?;
        let inputs = inputs(&self.reports)?;
        refuse_as_output(written_in(self.protocol.as_ref()).iter().chain(&inputs), &self.output)?;
        Ok(TallyJob { request: self.clone(), given, inputs })
    }
}

impl TallyJob {
    /// Counts the reports and writes the tallies, while the observer hears how many reports there are so far. A previous file is untouched until the
    /// new one is complete.
    ///
    /// # Errors
    /// A file cannot be read or written, is not complete or of another protocol, none of its reports fits, or the observer stops the job.
    pub fn run(&self, observer: Observer<'_>) -> Result<TallyReport> {
        let (protocol, tally) = self.count(observer)?;
        write(&tally, &protocol, &self.request.output)?;
        Ok(self.report(&tally, &protocol))
    }

    /// Counts the reports without writing anything: for programs that go on with the tally.
    ///
    /// # Errors
    /// As for [`run`](TallyJob::run), but for the output.
    pub fn count(&self, observer: Observer<'_>) -> Result<(Identified, Tally)> {
        let mut files = self.inputs.iter().map(|input| self.open(input)).peekable();
        let protocol = match (&self.given, files.peek()) {
            (Some(given), _) => given.clone(),
            (None, Some(Ok(first))) => identified(first)?,
            // The error of the first file comes again below.
            (None, _) => {
                return Err(files
                    .next()
                    .and_then(std::result::Result::err)
                    .unwrap_or_else(|| CollectError::NoFiles { argument: "reports".into() })
                    .into());
            }
        };
        let mut tally = Tally::new(&protocol.named.protocol, self.request.form.into());
        tally.ledger.allow_copies = self.request.allow_copies;
        tally.add(files, &protocol.identity, observer)?;
        self.refuse_nothing(&tally)?;
        Ok((protocol, tally))
    }

    /// Where the tallies go.
    pub(crate) fn output(&self) -> &Path {
        &self.request.output
    }

    /// What these tallies hold.
    pub(crate) fn report(&self, tally: &Tally, protocol: &Identified) -> TallyReport {
        TallyReport::new(tally, protocol, &self.request.output, &self.inputs)
    }

    /// A file of reports, which must name its protocol unless the user does.
    fn open(&self, input: &Input) -> std::result::Result<ReportFile, CollectError> {
        let file = ReportFile::open(input)?;
        if self.given.is_none() && file.header().is_none() {
            return Err(CollectError::NoProtocol { file: input.to_string() });
        }
        Ok(file)
    }

    /// Refuses tallies of nothing but rejected reports.
    fn refuse_nothing(&self, tally: &Tally) -> Result<()> {
        match (tally.n, tally.rejections.examples.first()) {
            (0, Some(Example { file, line, reason })) => {
                let (rejected, file) = (tally.rejections.total(), self.inputs[*file].to_string());
                Err(CollectError::NothingCounted { rejected, file, line: *line, reason: *reason }.into())
            }
            _ => Ok(()),
        }
    }
}

fn identified(file: &ReportFile) -> Result<Identified> {
    match file.header() {
        Some(header) => Identified::found(file.input(), header.specification(), &header.fingerprint),
        None => Err(CollectError::NoProtocol { file: file.input().to_string() }.into()),
    }
}

/// Writes the tallies file.
pub(crate) fn write(tally: &Tally, protocol: &Identified, output: &Path) -> Result<()> {
    let written = Replacement::create(output).and_then(|mut file| {
        write_tallies(tally, &protocol.identity, &mut file)?;
        file.finish()
    });
    Ok(written.map_err(|error| unwritable(output, error))?)
}

impl TallyReport {
    /// What a tally of these files holds.
    pub(crate) fn new(tally: &Tally, protocol: &Identified, output: &Path, inputs: &[Input]) -> Self {
        let (form, different) = match &tally.counts {
            Counts::Numbers(counts) => {
                (KeptForm::Patterns, Some(counts.iter().filter(|count| **count > 0).count()))
            }
            Counts::Patterns(patterns) => (KeptForm::Patterns, Some(patterns.len())),
            Counts::Supports(_) => (KeptForm::Supports, None),
        };
        let example = |example: &Example| RejectedReport {
            file: inputs[example.file].to_string(),
            line: example.line,
            reason: example.reason,
        };
        TallyReport {
            n: tally.n,
            rejected: tally.rejections.total(),
            rejected_by_reason: tally.rejections.counts.clone(),
            rejected_examples: tally.rejections.examples.iter().map(example).collect(),
            form,
            different: different.map(|different| different as u64),
            patterns_bytes: (form == KeptForm::Supports)
                .then(|| size_of_patterns(tally.n, &protocol.named.protocol)),
            insecure: tally.insecure,
            files: inputs.len(),
            fingerprint: protocol.identity.fingerprint.clone(),
            output: output.to_string_lossy().into_owned(),
        }
    }
}

/// Bytes of the tallies if all reports are different: each is a line that names the inputs whose bit is set, or the two numbers of local hash.
fn size_of_patterns(n: u64, protocol: &Protocol) -> f64 {
    let a = protocol.inputs() as f64;
    let digits = a.log10().ceil().max(1.0);
    let members = match (protocol, SupportRates::of(protocol)) {
        (Protocol::LocalHash(_), _) | (_, None) => 24.0,
        (_, Some(rates)) => (rates.own + (a - 1.0) * rates.other) * (digits + 1.0),
    };
    // Around the members stand `{"y":[],"count":1},` and a line end.
    n as f64 * (members + 20.0)
}
