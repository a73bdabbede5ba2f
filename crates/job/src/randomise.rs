//! The job `randomise`: a file of values to a file of reports, on the user's side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::{Observer, Progress};
use sottovoce_collect::destination::{is_standard_output, is_stream};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::{Input, refuse_as_output};
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::files::values::{Skipped, ValueReader};
use sottovoce_collect::header::Header;
use sottovoce_collect::randomise::{Batches, Randomiser, Randomness};
use sottovoce_collect::{Domain, Error as CollectError, Replacement, ValueProblem};

use crate::collection::{Identified, written_in};
use crate::contract::{Number, Whole, number, optional_whole};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::ProtocolSpec;

/// What to randomise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomiseRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The file of values, or `-` for standard input: CSV, JSON Lines or Parquet.
    pub values: String,
    /// The column or key of the values.
    #[serde(default = "value_column")]
    pub column: String,
    /// What to do with a value outside the protocol's domain.
    #[serde(default)]
    pub on_error: OnError,
    /// The largest LDP level that the reports may have.
    #[serde(default)]
    pub max_ldp: Option<f64>,
    /// A seed that makes the reports predictable, for tests.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub insecure_test_seed: Option<u64>,
    /// The file of reports, in the format that its name ends with; `-` is standard output. Streams whose name says nothing get CSV.
    pub output: PathBuf,
}

/// What to do with a value outside the protocol's domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Write nothing, and say where it is.
    #[default]
    Stop,
    /// Leave it out, and count it.
    Skip,
}

fn value_column() -> String {
    "value".into()
}

/// A valid request to randomise.
#[derive(Clone, Debug)]
pub struct RandomiseJob {
    request: RandomiseRequest,
    protocol: Identified,
    randomiser: Randomiser,
    format: FileFormat,
    input: Input,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RandomiseReport {
    /// How many reports.
    pub reports: u64,
    /// How many values were left out.
    pub skipped: u64,
    /// How many of them for which reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub skipped_by_problem: BTreeMap<ValueProblem, u64>,
    /// The lines of the first few values that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_lines: Vec<u64>,
    /// The exact LDP level of the reports.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    pub realised_ldp: f64,
    /// Whether the reports follow from a test seed, and tell their values to anybody who knows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The fingerprint of the protocol.
    pub fingerprint: String,
    /// The file of reports.
    pub output: String,
}

impl RandomiseRequest {
    /// Randomises a column `value`, with the operating system's randomness.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>, values: &str, output: impl Into<PathBuf>) -> Self {
        RandomiseRequest {
            protocol: protocol.into(),
            values: values.to_owned(),
            column: value_column(),
            on_error: OnError::Stop,
            max_ldp: None,
            insecure_test_seed: None,
            output: output.into(),
        }
    }

    /// The job, if the protocol is valid, can be sampled and has no higher level than is allowed, and the output is a file of a known format that is
    /// not read.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<RandomiseJob> {
        let protocol = Identified::written(&self.protocol)?;
        let randomiser = Randomiser::new(&protocol.named.protocol)?;
        self.check_level(&randomiser)?;
        let name = self.output.to_string_lossy().into_owned();
        let streamed = is_stream(&self.output).then_some(FileFormat::Csv);
        let known = FileFormat::of_name(&name).or(streamed);
        let format = known.ok_or(CollectError::UnknownFormat { file: name })?;
        let input = match self.values.as_str() {
            "-" => Input::StandardInput,
            path => Input::File(path.into()),
        };
        refuse_as_output(written_in(Some(&self.protocol)).iter().chain([&input]), &self.output)?;
        Ok(RandomiseJob { request: self.clone(), protocol, randomiser, format, input })
    }

    fn check_level(&self, randomiser: &Randomiser) -> Result<()> {
        let Some(required) = self.max_ldp else { return Ok(()) };
        if required.is_nan() || required < 0.0 {
            let (name, value) = ("max_ldp", required.to_string());
            return Err(Error::Setting { name, value, allowed: "an LDP level of 0 or more" });
        }
        let loss = &randomiser.realised().loss;
        match loss.within(required) {
            true => Ok(()),
            false => Err(CollectError::LevelAbove { required, realised: loss.level() }.into()),
        }
    }
}

impl RandomiseJob {
    /// Writes the reports, while the observer hears how many there are. Until all of them are on the disk, a previous file is untouched.
    ///
    /// # Errors
    /// A file cannot be read or written, a value is outside the protocol's domain, or the observer stops the job.
    pub fn run(&self, observer: Observer<'_>) -> Result<RandomiseReport> {
        let RandomiseRequest { column, on_error, insecure_test_seed, output, .. } = &self.request;
        let named = &self.protocol.named;
        let unwritable = |error| unwritable(output, error);
        let domain = Domain::new(named.protocol.inputs(), named.labels.as_deref());
        let mut writer = self.writer()?;
        let randomness = insecure_test_seed.map_or(Randomness::System, Randomness::InsecureTestSeed);
        let (mut batches, mut reports) = (Batches::new(&self.randomiser, randomness), 0);
        let reader = ValueReader { domain: &domain, column, skip: *on_error == OnError::Skip };
        let skipped = reader.read(&self.input, &mut |values| {
            reports += values.len() as u64;
            writer.write(&batches.reports(values)?).map_err(unwritable)?;
            match observer(&Progress::Randomising { reports }).is_break() {
                true => Err(sottovoce::Error::Stopped.into()),
                false => Ok(()),
            }
        })?;
        if reports == 0 && skipped.total() > 0 {
            return Err(CollectError::NothingSent { skipped: skipped.total() }.into());
        }
        writer.finish().and_then(Replacement::finish).map_err(unwritable)?;
        Ok(self.report(reports, skipped))
    }

    fn writer(&self) -> Result<ReportWriter<Replacement>> {
        let RandomiseRequest { insecure_test_seed, output, .. } = &self.request;
        let unwritable = |error| unwritable(output, error);
        let header = Header::new(&self.protocol.identity, *insecure_test_seed);
        let file = Replacement::create(output).map_err(unwritable)?;
        let layout = self.randomiser.layout().clone();
        Ok(ReportWriter::new(file, self.format, layout, &header).map_err(unwritable)?)
    }

    fn report(&self, reports: u64, skipped: Skipped) -> RandomiseReport {
        RandomiseReport {
            reports,
            skipped: skipped.total(),
            skipped_by_problem: skipped.counts,
            skipped_lines: skipped.lines,
            realised_ldp: self.randomiser.realised().loss.level(),
            insecure: self.request.insecure_test_seed.is_some(),
            fingerprint: self.protocol.identity.fingerprint.clone(),
            output: self.request.output.to_string_lossy().into_owned(),
        }
    }
}

/// The error that the output cannot be written, or why it should not be.
pub(crate) fn unwritable(output: &Path, error: std::io::Error) -> CollectError {
    let error = match error.downcast::<CollectError>() {
        Ok(refused) => return refused,
        Err(error) => error,
    };
    let standard = is_standard_output(output).then(|| "standard output".to_owned());
    let file = standard.unwrap_or_else(|| output.to_string_lossy().into_owned());
    CollectError::Unwritable { file, error }
}
