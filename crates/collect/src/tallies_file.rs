//! The JSON file of tallies: `{"n": 1000, "counts": [{"y": Y, "count": 17}, …]}`, or `{"n": 1000, "supports": [310, …]}` where only the
//! number of reports that support each input was kept (see [`crate::tally`]). Beside these a file that we write has `protocol`,
//! `fingerprint`, `form` (`patterns` or `supports`) and, if there were any, `rejected` reports by reason; `insecure` if reports follow
//! from a test seed; `batches`, what was counted (see [`crate::ledger`]); and at the end `digest`, by which a change is seen.
//!
//! `Y` is an output's text form ([`sottovoce::Output`]): an index; for unary encoding and subset selection the list of inputs
//! whose bit is set; for local hash `[seed, z]`; for a mixture `[part, Y]`; for a product `[Y, Y, …]`. Its meaning depends on
//! the protocol, so a file is read in two steps: [`TalliesFile`] is the text, [`TalliesFile::check`] gives [`Tallies`] that fit.
//! The second step takes memory for the outputs that the protocol has, and stops at the first entry that is one too many.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sottovoce::estimate::{Reports, Supports};
use sottovoce::{Output, Protocol, Tallies};

use crate::error::{Error, Result};
use crate::header::Identity;
use crate::layout::Layout;
use crate::ledger::Batch;
use crate::rejection::Reason;
use crate::seal::{Sealed, seal};
use crate::seed;
use crate::tally::{Counts, Tally};

/// Most bytes of a file of tallies: about a million patterns of unary encoding with 150 bits set. No larger ones are written or read.
pub const MAX_BYTES: u64 = 1 << 30;

/// A file of tallies, as written.
#[derive(Debug)]
pub struct TalliesFile {
    text: String,
    places: Places,
}

/// Where in the text the values of the keys are.
#[derive(Debug, Default)]
struct Places([Option<Range<usize>>; KEYS.len()]);

/// The keys of a file of tallies.
const KEYS: [&str; 10] = [
    "n",
    "counts",
    "supports",
    "protocol",
    "fingerprint",
    "form",
    "rejected",
    "insecure",
    "batches",
    "digest",
];

/// One output with its count, both as text: a million patterns of unary encoding need no tree of numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an output with its count such as {\"y\": 0, \"count\": 17}")]
struct Entry<'t> {
    #[serde(borrow)]
    y: &'t RawValue,
    #[serde(borrow)]
    count: &'t RawValue,
}

/// The tallies in a text, if they fit the protocol.
///
/// # Errors
/// The text is not a tallies file, an output does not exist or occurs twice, a count is negative or fractional, or the counts do
/// not add up to `n`.
pub fn read_tallies(text: &str, protocol: &Protocol) -> Result<Tallies> {
    TalliesFile::read(text.to_owned())?.check(protocol)
}

/// The tallies or supports in a text, if they fit the protocol.
///
/// # Errors
/// As for [`TalliesFile::reports`].
pub fn read_reports(text: &str, protocol: &Protocol) -> Result<Reports> {
    TalliesFile::read(text.to_owned())?.reports(protocol)
}

impl TalliesFile {
    /// The file with this text.
    ///
    /// # Errors
    /// The text is not the JSON of tallies, or its digest is not that of the text.
    pub fn read(text: String) -> Result<Self> {
        if text.trim_start().starts_with('[') {
            let message = "a list does not say what it counts; write {\"n\": 9, \"supports\": [5, 4, 0]} for how many of \
                           9 reports support each value, or {\"n\": 9, \"counts\": [{\"y\": 0, \"count\": 5}, …]} for how often \
                           each output was reported";
            return Err(Error::Syntax { message: message.into(), line: 1, column: 1 });
        }
        let mut parser = serde_json::Deserializer::from_str(&text);
        let places = Keys(&text).deserialize(&mut parser).and_then(|places| parser.end().map(|()| places));
        let file = TalliesFile { places: places.map_err(Error::syntax)?, text };
        let missing = match (file.value("counts"), file.value("supports"), file.value("n")) {
            (None, None, _) => "missing field `counts`",
            (_, Some(_), None) => "missing field `n`",
            _ => return file.check_digest().and_then(|()| file.visit_batches(|_| ())).map(|_| file),
        };
        Err(Error::Syntax { message: missing.to_owned(), line: file.text.lines().count().max(1), column: 1 })
    }

    /// The text of a key's value; `null` is none.
    fn value(&self, key: &str) -> Option<&str> {
        self.places.of(key).map(|place| &self.text[place]).filter(|value| *value != "null")
    }

    /// The value of a key.
    fn parsed<'t, T: Deserialize<'t>>(&'t self, key: &str) -> Result<Option<T>> {
        let Some(text) = self.value(key) else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| self.syntax(key, error))
    }

    /// A mistake in the value of a key, with its place in the whole text.
    fn syntax(&self, key: &str, error: serde_json::Error) -> Error {
        let before = self.places.of(key).map_or("", |place| &self.text[..place.start]);
        let lines = before.bytes().filter(|byte| *byte == b'\n').count();
        let columns = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        match Error::syntax(error) {
            Error::Syntax { message, line, column } => Error::Syntax {
                message,
                line: line + lines,
                column: if line == 1 { column + columns } else { column },
            },
            other => other,
        }
    }

    /// A digest must be the last key, and that of all before it.
    fn check_digest(&self) -> Result<()> {
        let Some(place) = self.places.of("digest") else { return Ok(()) };
        let before = self.text[..place.start].trim_end().strip_suffix(':').map(str::trim_end);
        let before = before.and_then(|text| text.strip_suffix("\"digest\"")).map(str::trim_end);
        let sealed = before.and_then(|text| text.strip_suffix(','));
        let last = self.text[place.end..].trim() == "}";
        match sealed.filter(|_| last) {
            Some(sealed) if self.parsed::<String>("digest")? == Some(seal(sealed.as_bytes())) => Ok(()),
            _ => Err(Error::WrongDigest),
        }
    }

    /// Visits the batches one by one. Each has a report at least, and together they cannot have more than there are: so many are held at
    /// most, whatever else the list has.
    fn visit_batches(&self, mut visit: impl FnMut(Batch)) -> Result<Option<()>> {
        let (n, mut sum) = (self.total()?, 0u64);
        let read = |batch: Batch, entry| {
            sum = sum.saturating_add(batch.n);
            match n {
                _ if batch.n == 0 => Err(Error::EmptyBatch { entry }),
                Some(n) if sum > n => Err(Error::BatchSum { n, sum }),
                _ => {
                    visit(batch);
                    Ok(())
                }
            }
        };
        Ok(self.entries("batches", usize::MAX, read)?.map(drop))
    }

    /// The specification of the protocol, if the file says it.
    pub fn specification(&self) -> Option<&str> {
        self.value("protocol")
    }

    /// The fingerprint of the protocol, if the file says it.
    ///
    /// # Errors
    /// It is not a text.
    pub fn fingerprint(&self) -> Result<Option<String>> {
        self.parsed("fingerprint")
    }

    /// The numbers of rejected reports.
    ///
    /// # Errors
    /// They are not what we write.
    pub fn rejected(&self) -> Result<BTreeMap<Reason, u64>> {
        Ok(self.parsed("rejected")?.unwrap_or_default())
    }

    /// Whether some of the reports follow from a test seed.
    ///
    /// # Errors
    /// The mark is neither `true` nor `false`.
    pub fn insecure(&self) -> Result<bool> {
        Ok(self.parsed("insecure")?.unwrap_or_default())
    }

    /// What was counted, if the file says it.
    ///
    /// # Errors
    /// The batches are not what we write.
    pub fn batches(&self) -> Result<Option<Vec<Batch>>> {
        let mut batches = Vec::new();
        Ok(self.visit_batches(|batch| batches.push(batch))?.map(|()| batches))
    }

    /// The tallies, if they fit the protocol.
    ///
    /// # Errors
    /// As for [`read_tallies`].
    pub fn check(&self, protocol: &Protocol) -> Result<Tallies> {
        let most = protocol.outputs().filter(|_| !Layout::of(protocol).has_seeds()).unwrap_or(usize::MAX);
        let entries = self.entries("counts", most, |entry: Entry<'_>, at| entry.check(at, protocol))?;
        let tallies = Tallies::new(protocol, entries.ok_or(Error::NoPatterns)?)?;
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
        let count = |text: &RawValue, entry| {
            whole(text.get()).ok_or_else(|| Error::Support { entry, count: shown(text.get()) })
        };
        let Some(counts) = self.entries("supports", protocol.inputs(), count)? else {
            return self.check(protocol).map(Reports::Tallies);
        };
        let n = self.total()?.unwrap_or_default();
        Ok(Reports::Supports(Supports::new(protocol, n, counts)?))
    }

    /// The entries of the list under a key, at most so many, each as `read` understands it.
    fn entries<'t, E: Deserialize<'t>, T>(
        &'t self,
        key: &'static str,
        most: usize,
        read: impl FnMut(E, usize) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(text) = self.value(key) else { return Ok(None) };
        let mut list =
            List { most, read, entries: Vec::new(), problem: None, entry: std::marker::PhantomData };
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = parser.deserialize_seq(&mut list);
        match (list.problem, read) {
            (Some(ListProblem::TooMany), _) => Err(Error::TooManyEntries { key, most }),
            (Some(ListProblem::Entry(error)), _) => Err(error),
            (None, Err(error)) => Err(self.syntax(key, error)),
            (None, Ok(())) => Ok(Some(list.entries)),
        }
    }

    fn total(&self) -> Result<Option<u64>> {
        let Some(n) = self.value("n") else { return Ok(None) };
        whole(n).map(Some).ok_or_else(|| Error::Total { n: shown(n) })
    }
}

impl Places {
    fn of(&self, key: &str) -> Option<Range<usize>> {
        let at = KEYS.iter().position(|known| *known == key)?;
        self.0[at].clone()
    }
}

/// Finds the values of the keys in a text.
struct Keys<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for Keys<'de> {
    type Value = Places;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Places, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'de> {
    type Value = Places;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object such as {\"n\": 17, \"counts\": [{\"y\": 0, \"count\": 17}]}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Places, M::Error> {
        use serde::de::Error;
        let mut places = Places::default();
        while let Some(key) = map.next_key::<String>()? {
            let Some(at) = KEYS.iter().position(|known| *known == key) else {
                if let Some(meant) = misspelt(&key) {
                    let message = format!("unknown key `{}`; is `{meant}` meant?", shown(&key));
                    return Err(M::Error::custom(message));
                }
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value::<&RawValue>()?.get();
            // The value is a part of the text.
            let start = value.as_ptr() as usize - self.0.as_ptr() as usize;
            if places.0[at].replace(start..start + value.len()).is_some() {
                return Err(M::Error::custom(format!("duplicate field `{key}`")));
            }
        }
        Ok(places)
    }
}

/// The key that was meant by one that differs from it in few letters: a mark that is misspelt must not be overlooked.
fn misspelt(key: &str) -> Option<&'static str> {
    let short: String = key.chars().take(30).collect();
    KEYS.into_iter().find(|known| 3 * strsim::levenshtein(&short.to_lowercase(), known) <= known.len())
}

/// Reads a list entry by entry.
struct List<E, T, F> {
    most: usize,
    read: F,
    entries: Vec<T>,
    problem: Option<ListProblem>,
    entry: std::marker::PhantomData<E>,
}

enum ListProblem {
    TooMany,
    Entry(Error),
}

impl<'de, E: Deserialize<'de>, T, F: FnMut(E, usize) -> Result<T>> Visitor<'de> for &mut List<E, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> std::result::Result<(), S::Error> {
        while let Some(entry) = list.next_element::<E>()? {
            let at = self.entries.len();
            let read = match at {
                at if at < self.most => (self.read)(entry, at).map_err(ListProblem::Entry),
                _ => Err(ListProblem::TooMany),
            };
            match read {
                Ok(entry) => self.entries.push(entry),
                Err(problem) => {
                    self.problem = Some(problem);
                    return Err(serde::de::Error::custom("an entry that does not fit"));
                }
            }
        }
        Ok(())
    }
}

/// Writes the tallies file of a tally.
///
/// # Errors
/// It cannot be written, or would be larger than what is read.
pub fn write_tallies(tally: &Tally, identity: &Identity, writer: &mut dyn Write) -> io::Result<()> {
    let mut sealed = Sealed::new(writer, MAX_BYTES);
    write_content(tally, identity, &mut sealed)?;
    let (writer, seal) = sealed.finish();
    writeln!(writer, ",\n \"digest\": \"{seal}\"}}")
}

fn write_content(tally: &Tally, identity: &Identity, writer: &mut dyn Write) -> io::Result<()> {
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
    let batches = tally.ledger.batches();
    for (at, batch) in batches.iter().enumerate() {
        let before = if at == 0 { " \"batches\": [" } else { ",\n  " };
        write!(writer, "{before}{}", serde_json::to_string(batch)?)?;
    }
    if !batches.is_empty() {
        writeln!(writer, "],")?;
    }
    if let Counts::Supports(supports) = &tally.counts {
        return write!(writer, " \"supports\": {}", serde_json::to_string(&supports.counts())?);
    }
    write!(writer, " \"counts\": [")?;
    let mut separator = "\n";
    tally.visit_counts(|report, count| {
        let output = tally.layout().output(report);
        write!(writer, "{separator}  {{\"y\": {}, \"count\": {count}}}", written(&output))?;
        separator = ",\n";
        Ok(())
    })?;
    write!(writer, "]")
}

/// The text form of an output, where a seed above 2^53 is in quotes: many programs would round it.
fn written(output: &Output) -> String {
    match output {
        Output::Hash { seed, z } if *seed > seed::MOST_IN_A_DOUBLE => format!("[\"{seed}\",{z}]"),
        Output::Part(part, inner) => format!("[{part},{}]", written(inner)),
        Output::Tuple(outputs) => {
            format!("[{}]", outputs.iter().map(written).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

impl Entry<'_> {
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
    /// A seed that other programs would round.
    Quoted(String),
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
                [Tree::Quoted(seed), z] => Some(Output::Hash { seed: seed::read(seed)?, z: z.index()? }),
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
            Tree::List(_) | Tree::Quoted(_) => None,
        }
    }
}

fn indices(list: &[Tree]) -> Option<Vec<usize>> {
    list.iter().map(Tree::index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Mark;

    #[test]
    fn large_seeds_are_in_quotes_and_read_both_ways() {
        let lh = Protocol::lh(3, 2, 1.0).unwrap();
        let hash = |seed| Output::Hash { seed, z: 1 };
        for (text, seed) in [("[\"18446744073709551615\",1]", u64::MAX), ("[9007199254740992,1]", 1 << 53)] {
            assert_eq!(output(&lh, text).unwrap(), hash(seed));
            assert_eq!(written(&hash(seed)), text);
        }
        assert_eq!(output(&lh, "[18446744073709551615,1]").unwrap(), hash(u64::MAX));
        let mixture = Output::Part(0, Box::new(Output::Tuple(vec![hash(u64::MAX), Output::Index(2)])));
        assert_eq!(written(&mixture), "[0,[[\"18446744073709551615\",1],2]]");
        for bad in ["[\"-1\",1]", "[\"1.0\",1]", "[\"01\",1]", "[\"\",1]", "[0,\"1\"]", "\"0\""] {
            assert!(output(&lh, bad).is_err(), "{bad}");
        }
    }

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
            (r#"{"n": 9, "supports": [4, 2, 0, 0]}"#, "supports: there are more than 3 entries"),
            (r#"{"n": 9, "supports": 4}"#, "invalid type: integer `4`, expected a list"),
            (r#"{"supports": [4, 2, 0]}"#, "missing field `n`"),
            (r#"{"n": 1.5, "supports": [0, 0, 0]}"#, "n = 1.5 is not a whole number"),
            (r#"[1]"#, "not valid tallies"),
        ] {
            let found = read_reports(text, &oue).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }

    /// More entries than the protocol has outputs are not even read.
    #[test]
    fn a_list_ends_where_the_protocol_does() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let entry = |y: usize| format!(r#"{{"y": {y}, "count": 1}}"#);
        let counts = (0..5).map(|y| entry(y % 3)).collect::<Vec<_>>().join(",") + ", {\"nonsense\": 1}";
        assert!(refusal(&grr, &counts).contains("counts: there are more than 3 entries"));
    }

    #[test]
    fn a_mark_that_is_misspelt_is_not_overlooked() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let read = |key: &str| {
            read_tallies(&format!(r#"{{"counts": [{{"y": 0, "count": 4}}], "{key}": true}}"#), &grr)
        };
        for key in ["insecurf", "Insecure", "insecur", "unsecure", "digest ", "fingerprints"] {
            let refused = read(key).unwrap_err().to_string();
            assert!(refused.contains("is `") && refused.contains("` meant?"), "{key}: {refused}");
        }
        for key in ["comment", "date", "m", "source", "insecure"] {
            assert!(read(key).is_ok(), "{key}");
        }
    }

    fn tallied() -> (Identity, String) {
        let identity = Identity::new(r#"{"kind":"grr","a":3,"epsilon":1.0}"#.into());
        let mut tally = Tally::new(&Protocol::grr(3, 1.0).unwrap(), crate::Form::Automatic);
        for report in [0, 1, 1, 2] {
            tally.add_report(&[report]).unwrap();
        }
        (tally.insecure, tally.rejections.counts) = (true, BTreeMap::from([(Reason::Empty, 3)]));
        let batch = Batch { n: 4, digest: Mark(0x010102), of: Default::default() };
        tally.ledger.enter(&crate::files::inputs::Input::StandardInput, [batch]).unwrap();
        let mut text = Vec::new();
        write_tallies(&tally, &identity, &mut text).unwrap();
        (identity, String::from_utf8(text).unwrap())
    }

    #[test]
    fn tallies_are_read_as_they_were_written() {
        let (identity, text) = tallied();
        let file = TalliesFile::read(text.clone()).unwrap();
        assert_eq!(file.specification(), Some(identity.specification.as_str()));
        assert_eq!(file.fingerprint().unwrap(), Some(identity.fingerprint));
        assert!(file.insecure().unwrap());
        assert_eq!((file.rejected().unwrap()[&Reason::Empty], file.batches().unwrap().unwrap()[0].n), (3, 4));
        assert_eq!(file.check(&Protocol::grr(3, 1.0).unwrap()).unwrap().n(), 4);
        // Laid out in another way they are the same tallies.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        TalliesFile::read(serde_json::to_string_pretty(&value).unwrap()).unwrap();
        TalliesFile::read(serde_json::to_string(&value).unwrap()).unwrap();
    }

    /// Any character may be wrong: the file is refused, or says what it said.
    #[test]
    fn every_changed_letter_is_seen() {
        let (_, text) = tallied();
        let protocol = Protocol::grr(3, 1.0).unwrap();
        let said = |text: String| {
            let file = TalliesFile::read(text).ok()?;
            let (counts, insecure) = (file.check(&protocol).ok()?, file.insecure().ok()?);
            Some((counts.counts().to_vec(), insecure, file.rejected().ok()?, file.batches().ok()?))
        };
        let whole = said(text.clone()).unwrap();
        for (at, old) in text.char_indices() {
            for new in ['0', '1', '7', 'e', 'x', ' ', '"', ','].into_iter().filter(|new| *new != old) {
                let mut changed = text.clone();
                changed.replace_range(at..at + old.len_utf8(), &new.to_string());
                assert!(said(changed.clone()).is_none_or(|found| found == whole), "{changed}");
            }
        }
    }
}
