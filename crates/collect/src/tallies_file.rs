//! The JSON file of tallies: `{"n": 1000, "counts": [{"y": Y, "count": 17}, …]}`, or `{"n": 1000, "supports": [310, …]}` where only the
//! number of reports that support each input was kept (see [`crate::tally`]). Beside these a file that we write has `protocol`,
//! `fingerprint`, `form` (`patterns` or `supports`) and, if there were any, `rejected` reports by reason; and `insecure` if reports follow
//! from a test seed.
//!
//! `Y` is an output's text form ([`sottovoce::Output`]): an index; for unary encoding and subset selection the list of inputs
//! whose bit is set; for local hash `[seed, z]`; for a mixture `[part, Y]`; for a product `[Y, Y, …]`. Its meaning depends on
//! the protocol, so a file is read in two steps: [`TalliesFile`] is the text, [`TalliesFile::check`] gives [`Tallies`] that fit.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::value::RawValue;
use sottovoce::estimate::{Reports, Supports};
use sottovoce::{Output, Protocol, Tallies};

use crate::error::{Error, Result};
use crate::header::Identity;
use crate::rejection::Reason;
use crate::tally::{Counts, Tally};

/// A file of tallies, as written.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object such as {\"n\": 17, \"counts\": [{\"y\": 0, \"count\": 17}]}")]
pub struct TalliesFile {
    /// The number of reports, if the file says it.
    #[serde(default)]
    n: Option<Box<RawValue>>,
    #[serde(default)]
    counts: Option<Vec<Entry>>,
    #[serde(default)]
    supports: Option<Vec<Box<RawValue>>>,
    #[serde(default)]
    protocol: Option<Box<RawValue>>,
    #[serde(default)]
    fingerprint: Option<String>,
    #[serde(default)]
    rejected: Option<Box<RawValue>>,
    #[serde(default)]
    insecure: bool,
}

/// One output with its count, both as text: a million patterns of unary encoding need no tree of numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an output with its count such as {\"y\": 0, \"count\": 17}")]
struct Entry {
    y: Box<RawValue>,
    count: Box<RawValue>,
}

/// The tallies in a text, if they fit the protocol.
///
/// # Errors
/// The text is no tallies file, an output does not exist or occurs twice, a count is negative or fractional, or the counts do
/// not add up to `n`.
pub fn read_tallies(text: &str, protocol: &Protocol) -> Result<Tallies> {
    TalliesFile::read(text)?.check(protocol)
}

/// The tallies or supports in a text, if they fit the protocol.
///
/// # Errors
/// As for [`TalliesFile::reports`].
pub fn read_reports(text: &str, protocol: &Protocol) -> Result<Reports> {
    TalliesFile::read(text)?.reports(protocol)
}

impl TalliesFile {
    /// The file with this text.
    ///
    /// # Errors
    /// The text is not the JSON of tallies.
    pub fn read(text: &str) -> Result<Self> {
        if text.trim_start().starts_with('[') {
            let message = "a list does not say what it counts; write {\"n\": 9, \"supports\": [5, 4, 0]} for how many of \
                           9 reports support each value, or {\"n\": 9, \"counts\": [{\"y\": 0, \"count\": 5}, …]} for how often \
                           each output was reported";
            return Err(Error::Syntax { message: message.into(), line: 1, column: 1 });
        }
        let file: TalliesFile = serde_json::from_str(text).map_err(Error::syntax)?;
        let missing = match (&file.counts, &file.supports, &file.n) {
            (None, None, _) => "missing field `counts`",
            (_, Some(_), None) => "missing field `n`",
            _ => return Ok(file),
        };
        Err(Error::Syntax { message: missing.to_owned(), line: text.lines().count().max(1), column: 1 })
    }

    /// The specification of the protocol, if the file says it.
    pub fn specification(&self) -> Option<&str> {
        self.protocol.as_ref().map(|protocol| protocol.get())
    }

    /// The fingerprint of the protocol, if the file says it.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The numbers of rejected reports.
    ///
    /// # Errors
    /// They are not what we write.
    pub fn rejected(&self) -> Result<BTreeMap<Reason, u64>> {
        let text = self.rejected.as_ref().map_or("{}", |text| text.get());
        serde_json::from_str(text).map_err(Error::syntax)
    }

    /// Whether some of the reports follow from a test seed.
    pub fn insecure(&self) -> bool {
        self.insecure
    }

    /// The tallies, if they fit the protocol.
    ///
    /// # Errors
    /// As for [`read_tallies`].
    pub fn check(&self, protocol: &Protocol) -> Result<Tallies> {
        let entries = self.counts.as_ref().ok_or(Error::NoSupports)?;
        let counts = entries.iter().enumerate().map(|(position, entry)| entry.check(position, protocol));
        let tallies = Tallies::new(protocol, counts.collect::<Result<Vec<_>>>()?)?;
        match self.total()? {
            Some(n) if n != tallies.n() => Err(Error::SumMismatch { n, sum: tallies.n() }),
            _ => Ok(tallies),
        }
    }

    /// The tallies or supports, if they fit the protocol.
    ///
    /// # Errors
    /// As for [`read_tallies`]; of supports, a number is negative or fractional, there are not as many as inputs, or they cannot be those of
    /// `n` reports.
    pub fn reports(&self, protocol: &Protocol) -> Result<Reports> {
        let Some(supports) = &self.supports else { return self.check(protocol).map(Reports::Tallies) };
        let count = |(entry, text): (usize, &str)| {
            whole(text).ok_or_else(|| Error::Support { entry, count: shown(text) })
        };
        let counts = supports.iter().map(|text| text.get()).enumerate().map(count);
        let n = self.total()?.unwrap_or_default();
        Ok(Reports::Supports(Supports::new(protocol, n, counts.collect::<Result<Vec<u64>>>()?)?))
    }

    fn total(&self) -> Result<Option<u64>> {
        let Some(n) = &self.n else { return Ok(None) };
        whole(n.get()).map(Some).ok_or_else(|| Error::Total { n: shown(n.get()) })
    }
}

/// Writes the tallies file of a tally.
///
/// # Errors
/// It cannot be written.
pub fn write_tallies(tally: &Tally, identity: &Identity, writer: &mut dyn Write) -> io::Result<()> {
    let form = if let Counts::Supports(_) = tally.counts { "supports" } else { "patterns" };
    writeln!(writer, "{{\"n\": {},", tally.n)?;
    writeln!(writer, " \"protocol\": {},", identity.specification)?;
    writeln!(writer, " \"fingerprint\": \"{}\",", identity.fingerprint)?;
    writeln!(writer, " \"form\": \"{form}\",")?;
    if tally.insecure {
        writeln!(writer, " \"insecure\": true,")?;
    }
    if tally.rejections.total() > 0 {
        writeln!(writer, " \"rejected\": {},", serde_json::to_string(&tally.rejections.counts)?)?;
    }
    if let Counts::Supports(supports) = &tally.counts {
        return writeln!(writer, " \"supports\": {}}}", serde_json::to_string(&supports.counts())?);
    }
    write!(writer, " \"counts\": [")?;
    let mut separator = "\n";
    tally.visit_counts(|report, count| {
        let output = tally.layout().output(report);
        write!(writer, "{separator}  {{\"y\": {output}, \"count\": {count}}}")?;
        separator = ",\n";
        Ok(())
    })?;
    writeln!(writer, "]}}")
}

impl Entry {
    fn check(&self, entry: usize, protocol: &Protocol) -> Result<(Output, u64)> {
        let text = self.count.get();
        let count = whole(text).ok_or_else(|| Error::Count { entry, count: shown(text) })?;
        let problem = |problem| Error::Entry { entry, problem };
        let output = output(protocol, self.y.get()).map_err(problem)?;
        protocol.ln_probability(&output, 0).map_err(problem)?;
        Ok((output, count))
    }
}

/// The whole number that a JSON number is; `3.0` and `1e3` are whole too.
fn whole(text: &str) -> Option<u64> {
    let exact = || text.parse::<u64>().ok();
    let float = || text.parse::<f64>().ok().filter(|v| v.fract() == 0.0 && (0.0..=9e15).contains(v));
    exact().or_else(|| float().map(|value| value as u64))
}

/// A user's text as a message may quote it: short, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// The output of the protocol that has this text form.
///
/// # Errors
/// [`sottovoce::Error::NoSuchOutput`] if the text has the form of no output of this protocol. That the form is right does not
/// yet mean that the output exists.
pub fn output(protocol: &Protocol, text: &str) -> Result<Output, sottovoce::Error> {
    let tree = serde_json::from_str::<Tree>(text).ok();
    tree.and_then(|tree| tree.output(protocol))
        .ok_or_else(|| sottovoce::Error::NoSuchOutput { output: shown(text), reason: form(protocol) })
}

/// What an output of the protocol looks like.
fn form(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::UnaryEncoding(_) => "an output is the list of the inputs whose bit is set",
        Protocol::SubsetSelection(_) => "an output is a list of k inputs",
        Protocol::LocalHash(_) => "an output is [seed, z] with z below g",
        Protocol::Mixture(_) => "an output is [part, output of that part]",
        Protocol::Product(_) => "an output is the list of the factors' outputs",
        Protocol::Composition(composition) => form(composition.last()),
        _ => "an output is a number from 0 to b − 1",
    }
}

/// The text form of any output.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tree {
    Number(u64),
    List(Vec<Tree>),
}

impl Tree {
    /// The output of the protocol with this form.
    fn output(&self, protocol: &Protocol) -> Option<Output> {
        match (protocol, self) {
            (Protocol::UnaryEncoding(_) | Protocol::SubsetSelection(_), Tree::List(members)) => {
                let mut members = indices(members)?;
                members.sort_unstable();
                Some(Output::Subset(members))
            }
            (Protocol::LocalHash(_), Tree::List(pair)) => match pair.as_slice() {
                [Tree::Number(seed), z] => Some(Output::Hash { seed: *seed, z: z.index()? }),
                [Tree::List(values), z] => Some(Output::Table { values: indices(values)?, z: z.index()? }),
                _ => None,
            },
            (Protocol::Mixture(mixture), Tree::List(pair)) => {
                let [part, inner] = pair.as_slice() else { return None };
                let part = part.index()?;
                let inner = inner.output(mixture.parts().get(part)?)?;
                Some(Output::Part(part, Box::new(inner)))
            }
            (Protocol::Product(product), Tree::List(outputs)) => {
                let factors = product.factors();
                let outputs = outputs.iter().zip(factors).map(|(output, factor)| output.output(factor));
                let all = outputs.collect::<Option<Vec<_>>>().filter(|all| all.len() == factors.len());
                all.map(Output::Tuple)
            }
            (Protocol::Composition(composition), _) => self.output(composition.last()),
            (_, Tree::Number(_)) => self.index().map(Output::Index),
            _ => None,
        }
    }

    fn index(&self) -> Option<usize> {
        match self {
            Tree::Number(value) => usize::try_from(*value).ok(),
            Tree::List(_) => None,
        }
    }
}

fn indices(list: &[Tree]) -> Option<Vec<usize>> {
    list.iter().map(Tree::index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(protocol: &Protocol, counts: &str) -> Result<Tallies> {
        read_tallies(&format!(r#"{{"counts": [{counts}]}}"#), protocol)
    }

    fn refusal(protocol: &Protocol, counts: &str) -> String {
        read(protocol, counts).unwrap_err().to_string()
    }

    #[test]
    fn each_kind_has_its_form() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let ue = Protocol::oue(3, 1.0).unwrap();
        let lh = Protocol::lh(3, 2, 1.0).unwrap();
        let mixture = Protocol::mixture(vec![0.5, 0.5], vec![grr.clone(), ue.clone()]).unwrap();
        let product = Protocol::product(vec![grr.clone(), mixture.clone()]).unwrap();
        let forms = [
            (&grr, "2"),
            (&ue, "[0,2]"),
            (&ue, "[]"),
            (&lh, "[18446744073709551615,1]"),
            (&lh, "[[0,1,0],1]"),
            (&mixture, "[1,[2]]"),
            (&product, "[1,[0,2]]"),
        ];
        for (protocol, form) in forms {
            let tallies = read(protocol, &format!(r#"{{"y": {form}, "count": 4}}"#)).unwrap();
            assert_eq!(tallies.counts()[0].0.to_string(), form);
            assert_eq!(tallies.n(), 4);
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_entry() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let good = r#"{"y": 0, "count": 4}, "#;
        for (bad, message) in [
            (r#"{"y": 3, "count": 4}"#, "counts[1]: output 3 does not exist"),
            (r#"{"y": [1], "count": 4}"#, "counts[1]: output [1] does not exist"),
            (r#"{"y": -1, "count": 4}"#, "counts[1]: output -1 does not exist"),
            (r#"{"y": "1", "count": 4}"#, "counts[1]: output \"1\" does not exist"),
            (r#"{"y": 1, "count": -4}"#, "counts[1]: count -4 is not a whole number"),
            (r#"{"y": 1, "count": 0.5}"#, "counts[1]: count 0.5 is not a whole number"),
            (r#"{"y": 1, "count": null}"#, "counts[1]: count null is not a whole number"),
            (r#"{"y": 0, "count": 1}"#, "output 0 is listed twice"),
            (r#"{"y": 1}"#, "missing field `count`"),
            (r#"{"y": 1, "count": 1, "weight": 2}"#, "unknown field `weight`"),
        ] {
            let found = refusal(&grr, &(good.to_owned() + bad));
            assert!(found.contains(message), "{found}");
        }
    }

    #[test]
    fn the_sum_must_be_the_number_of_reports() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let file = |n: &str| format!(r#"{{"n": {n}, "counts": [{{"y": 0, "count": 4}}]}}"#);
        assert_eq!(read_tallies(&file("4.0"), &grr).unwrap().n(), 4);
        assert!(matches!(read_tallies(&file("5"), &grr), Err(Error::SumMismatch { n: 5, sum: 4 })));
        assert!(matches!(read_tallies(&file("4.5"), &grr), Err(Error::Total { .. })));
    }

    #[test]
    fn both_files_are_told_apart() {
        let oue = Protocol::oue(3, 1.0).unwrap();
        let supports = read_reports(r#"{"n": 9, "supports": [4, 2.0, 0]}"#, &oue).unwrap();
        assert!(matches!(&supports, Reports::Supports(s) if s.counts() == [4, 2, 0] && s.n() == 9));
        let tallies = read_reports(r#"{"counts": [{"y": [0], "count": 4}]}"#, &oue).unwrap();
        assert!(matches!(tallies, Reports::Tallies(t) if t.n() == 4));
    }

    #[test]
    fn supports_that_do_not_fit_are_told_with_their_entry() {
        let oue = Protocol::oue(3, 1.0).unwrap();
        for (text, message) in [
            (r#"{"n": 9, "supports": [4, -2, 0]}"#, "supports[1] = -2 is not a whole number"),
            (r#"{"n": 9, "supports": [4, 2, 0.5]}"#, "supports[2] = 0.5 is not a whole number"),
            (r#"{"n": 9, "supports": [4, 12, 0]}"#, "supports[1] = 12 is more than the 9 reports"),
            (r#"{"n": 9, "supports": [4, 2]}"#, "supports has 2 entries but inputs has 3"),
            (r#"{"supports": [4, 2, 0]}"#, "missing field `n`"),
            (r#"{"n": 1.5, "supports": [0, 0, 0]}"#, "n = 1.5 is not a whole number"),
            (r#"[1]"#, "not valid tallies"),
        ] {
            let found = read_reports(text, &oue).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }
}
