//! The job `tally`: files of reports to a file of tallies, on the aggregator's side.

use std::path::PathBuf;

use serde_json::json;
use sottovoce::Protocol;
use sottovoce::estimate::SupportRates;
use sottovoce_collect::files::inputs::{Input, inputs, refuse_as_output};
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::rejection::Example;
use sottovoce_collect::tally::{Counted, Counts, MAX_PATTERNS};
use sottovoce_collect::{Error as CollectError, Form, Replacement, Tally, write_tallies};

use crate::collection::{Identified, Summary, written_in};
use crate::error::Result;
use crate::randomise::unwritable;
use crate::source::Written;
use crate::spec::ProtocolSpec;

/// What to tally, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TallySpec {
    /// Files, directories, patterns, or `-` for standard input.
    pub reports: Vec<String>,
    /// The protocol, for files that do not say it; files that do must agree.
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The wanted form.
    pub form: Form,
    /// Whether files may have the same reports.
    pub allow_copies: bool,
    /// The file of tallies.
    pub output: PathBuf,
}

impl TallySpec {
    /// Counts the reports and writes the tallies. A previous file is untouched until the new one is complete. `counted` is how many reports were counted so far.
    ///
    /// # Errors
    /// A file cannot be read or written, is not complete, is there twice or of another protocol, or none of its reports is one.
    pub fn run(&self, counted: &Counted) -> Result<Summary> {
        let given = self.protocol.as_ref().map(Identified::written).transpose()?;
        let inputs = inputs(&self.reports)?;
        refuse_as_output(written_in(self.protocol.as_ref()).iter().chain(&inputs), &self.output)?;
        let mut files = inputs.iter().map(|input| self.open(input)).peekable();
        let protocol = match (given, files.peek()) {
            (Some(given), _) => given,
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
        let mut tally = Tally::new(&protocol.named.protocol, self.form);
        tally.ledger.allow_copies = self.allow_copies;
        tally.counted = counted.clone();
        tally.add(files, &protocol.identity)?;
        if let (0, Some(example)) = (tally.n, tally.rejections.examples.first()) {
            let Example { file, line, reason } = *example;
            let (rejected, file) = (tally.rejections.total(), inputs[file].to_string());
            return Err(CollectError::NothingCounted { rejected, file, line, reason }.into());
        }
        write(&tally, &protocol, &self.output)?;
        Ok(summary(&tally, &protocol, &self.output, &inputs))
    }

    /// A file of reports, which must name its protocol unless the user does.
    fn open(&self, input: &Input) -> std::result::Result<ReportFile, CollectError> {
        let file = ReportFile::open(input)?;
        if self.protocol.is_none() && file.header().is_none() {
            return Err(CollectError::NoProtocol { file: input.to_string() });
        }
        Ok(file)
    }
}

fn identified(file: &ReportFile) -> Result<Identified> {
    match file.header() {
        Some(header) => Identified::found(file.input(), header.specification(), &header.fingerprint),
        None => Err(CollectError::NoProtocol { file: file.input().to_string() }.into()),
    }
}

/// Writes the tallies file.
pub(crate) fn write(tally: &Tally, protocol: &Identified, output: &std::path::Path) -> Result<()> {
    let written = Replacement::create(output).and_then(|mut file| {
        write_tallies(tally, &protocol.identity, &mut file)?;
        file.finish()
    });
    Ok(written.map_err(|error| unwritable(output, error))?)
}

/// What was counted.
pub(crate) fn summary(
    tally: &Tally,
    protocol: &Identified,
    output: &std::path::Path,
    inputs: &[Input],
) -> Summary {
    let (form, different) = match &tally.counts {
        Counts::Numbers(counts) => ("patterns", json!(counts.iter().filter(|count| **count > 0).count())),
        Counts::Patterns(patterns) => ("patterns", json!(patterns.len())),
        Counts::Supports(_) => ("supports", json!(null)),
    };
    let mut facts = vec![
        ("n", json!(tally.n)),
        ("rejected", json!(tally.rejections.total())),
        ("form", json!(form)),
        ("different", different),
        ("files", json!(inputs.len())),
        ("fingerprint", json!(protocol.identity.fingerprint)),
        ("output", json!(output.to_string_lossy())),
    ];
    let mut notes = Vec::new();
    if let Counts::Supports(_) = tally.counts {
        notes.push(kept_as_supports(tally.n, &protocol.named.protocol));
    }
    if tally.rejections.total() > 0 {
        facts.insert(2, ("rejected_by_reason", json!(tally.rejections.counts)));
        let examples = tally.rejections.examples.iter().map(|example| told(example, inputs));
        let examples = examples.collect::<Vec<_>>().join("; ");
        let colon = if examples.is_empty() { "." } else { ": " };
        notes.push(format!(
            "{} reports were rejected and not counted{colon}{examples}",
            tally.rejections.total()
        ));
    }
    if tally.insecure {
        notes.push("INSECURE: some of these reports follow from a test seed, and tell their values to anybody who knows it.".into());
    }
    Summary { facts, notes }
}

/// What is lost with patterns, who will miss it, and what it would cost to keep.
fn kept_as_supports(n: u64, protocol: &Protocol) -> String {
    let most = size_of_patterns(n, protocol) / 1e6;
    let size = if most < 1.0 { "less than 1 MB".into() } else { format!("up to {most:.0} MB") };
    format!(
        "Kept as supports: for each input the number of reports that support it, and not which inputs were reported together. Linear estimates need no \
         more, but `posterior` and the estimators ml and posterior_mean refuse such tallies. To use them, tally the reports with --form patterns, which \
         keeps each different report (by itself up to {MAX_PATTERNS} of them): for these {n} reports a file of {size}."
    )
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

/// A rejected report, in words that do not repeat it.
fn told(example: &Example, inputs: &[Input]) -> String {
    format!("{}, line {}: {}", inputs[example.file], example.line, example.reason.words())
}
