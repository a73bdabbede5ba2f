//! The job `randomise`: a file of values to a file of reports, on the user's side.

use std::path::{Path, PathBuf};

use serde_json::json;
use sottovoce_collect::destination::{is_standard_output, is_stream};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::{Input, refuse_as_output};
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::files::values::{Skipped, ValueReader};
use sottovoce_collect::header::Header;
use sottovoce_collect::randomise::{Batches, Randomiser, Randomness};
use sottovoce_collect::{Domain, Error as CollectError, Replacement};

use crate::collection::{Identified, Summary, written_in};
use crate::error::Result;
use crate::source::Written;
use crate::spec::ProtocolSpec;

/// What to randomise, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomiseSpec {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The file of values, or `-` for standard input.
    pub values: String,
    /// The column or key of the values.
    pub column: String,
    /// Whether values outside the protocol's domain are skipped and counted; otherwise the first one ends the job.
    pub skip: bool,
    /// The largest LDP level that the reports may have.
    pub max_ldp: Option<f64>,
    /// A seed that makes the reports predictable, for tests.
    pub insecure_test_seed: Option<u64>,
    /// The file of reports, in the format that its name ends with; `-` is standard output. To a stream whose name says nothing they go as CSV.
    pub output: PathBuf,
}

/// A valid request to randomise.
#[derive(Debug)]
pub struct RandomiseJob<'s> {
    spec: &'s RandomiseSpec,
    protocol: Identified,
    randomiser: Randomiser,
    format: FileFormat,
}

impl RandomiseSpec {
    /// The job, if the protocol is valid, can be sampled and has no higher level than is allowed, and the output is of a known format.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<RandomiseJob<'_>> {
        let protocol = Identified::written(&self.protocol)?;
        let randomiser = Randomiser::new(&protocol.named.protocol)?;
        let loss = &randomiser.realised().loss;
        if let Some(required) = self.max_ldp.filter(|required| !loss.within(*required)) {
            return Err(CollectError::LevelAbove { required, realised: loss.level() }.into());
        }
        let name = self.output.to_string_lossy().into_owned();
        let streamed = is_stream(&self.output).then_some(FileFormat::Csv);
        let known = FileFormat::of_name(&name).or(streamed);
        let format = known.ok_or(CollectError::UnknownFormat { file: name })?;
        Ok(RandomiseJob { spec: self, protocol, randomiser, format })
    }
}

impl RandomiseJob<'_> {
    /// Writes the reports. Until all of them are on the disk, a previous file is untouched.
    ///
    /// # Errors
    /// A file cannot be read or written, or a value is outside the protocol's domain.
    pub fn run(&self) -> Result<Summary> {
        let RandomiseSpec { values, column, skip, insecure_test_seed, output, .. } = self.spec;
        let named = &self.protocol.named;
        let unwritable = |error| unwritable(output, error);
        let input = if values == "-" { Input::StandardInput } else { Input::File(values.into()) };
        refuse_as_output(written_in(Some(&self.spec.protocol)).iter().chain([&input]), output)?;
        let domain = Domain::new(named.protocol.inputs(), named.labels.as_deref());
        let header = Header::new(&self.protocol.identity, *insecure_test_seed);
        let file = Replacement::create(output).map_err(unwritable)?;
        let layout = self.randomiser.layout().clone();
        let mut writer = ReportWriter::new(file, self.format, layout, &header).map_err(unwritable)?;
        let randomness = insecure_test_seed.map_or(Randomness::System, Randomness::InsecureTestSeed);
        let (mut batches, mut sent) = (Batches::new(&self.randomiser, randomness), 0);
        let reader = ValueReader { domain: &domain, column, skip: *skip };
        let skipped = reader.read(&input, &mut |values| {
            sent += values.len();
            writer.write(&batches.reports(values)?).map_err(unwritable)
        })?;
        if sent == 0 && skipped.total() > 0 {
            return Err(CollectError::NothingSent { skipped: skipped.total() }.into());
        }
        writer.finish().and_then(Replacement::finish).map_err(unwritable)?;
        Ok(self.summary(sent, &skipped))
    }

    fn summary(&self, sent: usize, skipped: &Skipped) -> Summary {
        let realised = self.randomiser.realised();
        let level = realised.loss.level();
        let mut facts = vec![
            ("reports", json!(sent)),
            ("skipped", json!(skipped.total())),
            ("realised_ldp", if level.is_finite() { json!(level) } else { json!("inf") }),
            ("fingerprint", json!(self.protocol.identity.fingerprint)),
            ("output", json!(self.spec.output.to_string_lossy())),
        ];
        let mut notes = Vec::new();
        if skipped.total() > 0 {
            facts.insert(2, ("skipped_by_problem", json!(skipped.counts)));
            let lines: Vec<String> = skipped.lines.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "No report was made for {} values outside the protocol's domain; the first are on lines {}.",
                skipped.total(),
                lines.join(", ")
            ));
        }
        if self.spec.insecure_test_seed.is_some() {
            notes.push("INSECURE: these reports follow from a test seed. Anybody who knows it can undo them; never send them for real values.".into());
        }
        if !level.is_finite() {
            notes.push("NOT PRIVATE: this protocol has no LDP level; some reports tell their value with certainty, or rule others out.".into());
        }
        Summary { facts, notes }
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
