//! The memo: the permanent reports of people, from round to round.
//!
//! A permanent report is drawn once from a person's value. Each round reports on it, so that all rounds together tell no more than it does. A client keeps its own; a simulation of many
//! clients keeps them in a file. The file is secret as the clients' memories are: whoever has it knows each permanent report, which stands for far more than one noisy round. Losing it is a
//! loss too, since permanent reports that are drawn again spend epsilon again. So it names the protocols and says how many people it has, and what does not fit is refused.
//!
//! ```text
//! {"format":"sottovoce memo","version":1,"people":2,"fingerprints":["…","…"]}
//! ["p17",["3",null]]
//! ["p18",[null,"0a"]]
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sottovoce::Output;

use crate::error::{Error, MemoProblem, Result};
use crate::files::inputs::Input;
use crate::layout::Layout;

/// The format's name in a memo.
const FORMAT: &str = "sottovoce memo";

/// The version of the format.
const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Heading {
    format: String,
    version: u32,
    people: usize,
    fingerprints: Vec<String>,
}

/// What is remembered of a person: for each collection the permanent report, if the person takes part in it.
pub type Remembered = Vec<Option<Output>>;

/// Permanent reports by person.
#[derive(Clone, Debug, PartialEq)]
pub struct Memo {
    fingerprints: Vec<String>,
    layouts: Vec<Layout>,
    people: BTreeMap<String, Vec<Option<String>>>,
}

impl Memo {
    /// An empty memo for collections whose permanent reports have these fingerprints and layouts.
    pub fn new(fingerprints: Vec<String>, layouts: Vec<Layout>) -> Self {
        Memo { fingerprints, layouts, people: BTreeMap::new() }
    }

    /// Reads what is remembered for the same collections.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is of other collections. No message repeats what stands in it.
    pub fn read(self, path: &Path) -> Result<Self> {
        let name = || Input::File(path.to_owned()).to_string();
        let unreadable = |error: io::Error| Error::Unreadable { file: name(), error };
        let damaged = |line: u64| Error::Memo { file: name(), problem: MemoProblem::Line { line } };
        let mut lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
        let first = lines.next().transpose().map_err(unreadable)?.unwrap_or_default();
        let heading = serde_json::from_str::<Heading>(&first).ok().filter(|heading| heading.format == FORMAT);
        let of = |problem: MemoProblem| Error::Memo { file: name(), problem };
        let heading = heading.ok_or_else(|| of(MemoProblem::NoMemo))?;
        if heading.version != VERSION {
            return Err(of(MemoProblem::Version { version: heading.version }));
        }
        if heading.fingerprints != self.fingerprints {
            return Err(of(MemoProblem::Other));
        }
        let mut memo = self;
        for (line, at) in lines.zip(2..) {
            let line = line.map_err(unreadable)?;
            let found: (String, Vec<Option<String>>) =
                serde_json::from_str(&line).map_err(|_| damaged(at))?;
            let fits = found.1.len() == memo.layouts.len() && memo.outputs(&found.1).is_some();
            if !fits || memo.people.insert(found.0, found.1).is_some() {
                return Err(damaged(at));
            }
        }
        match memo.people.len() == heading.people {
            true => Ok(memo),
            false => Err(of(MemoProblem::People { found: memo.people.len(), expected: heading.people })),
        }
    }

    /// How many people it knows.
    pub fn len(&self) -> usize {
        self.people.len()
    }

    /// Whether it knows nobody.
    pub fn is_empty(&self) -> bool {
        self.people.is_empty()
    }

    /// What is remembered of a person.
    pub fn get(&self, person: &str) -> Option<Remembered> {
        self.outputs(self.people.get(person)?)
    }

    fn outputs(&self, texts: &[Option<String>]) -> Option<Remembered> {
        let output = |(layout, text): (&Layout, &Option<String>)| {
            let Some(text) = text else { return Some(None) };
            let mut bytes = vec![0; layout.length()];
            layout.read_text(text.as_bytes(), &mut bytes).ok()?;
            Some(Some(layout.output(&bytes)))
        };
        self.layouts.iter().zip(texts).map(output).collect()
    }

    /// Remembers the permanent reports of a person who is not known yet.
    ///
    /// # Errors
    /// One of them is no report of its collection.
    pub fn remember(&mut self, person: &str, reports: &Remembered) -> Result<()> {
        let text = |(layout, report): (&Layout, &Option<Output>)| {
            let Some(report) = report else { return Ok(None) };
            let (mut bytes, mut text) = (vec![0; layout.length()], Vec::new());
            layout.write(report, &mut bytes).ok_or(sottovoce_client::Error::NotPermanent)?;
            layout.write_text(&bytes, &mut text);
            Ok(Some(String::from_utf8_lossy(&text).into_owned()))
        };
        let texts = self.layouts.iter().zip(reports).map(text).collect::<Result<Vec<_>>>()?;
        self.people.entry(person.to_owned()).or_insert(texts);
        Ok(())
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let (format, fingerprints) = (FORMAT.to_owned(), self.fingerprints.clone());
        let heading = Heading { format, version: VERSION, people: self.people.len(), fingerprints };
        serde_json::to_writer(&mut writer, &heading)?;
        writer.write_all(b"\n")?;
        for person in &self.people {
            serde_json::to_writer(&mut writer, &person)?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn empty() -> Memo {
        let layouts = vec![Layout::Number { outputs: 12 }, Layout::Set { inputs: 9, size: None }];
        Memo::new(vec!["one".into(), "two".into()], layouts)
    }

    fn problem(text: &str) -> MemoProblem {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("memo.jsonl");
        fs::write(&path, text).unwrap();
        match empty().read(&path).unwrap_err() {
            Error::Memo { problem, .. } => problem,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_remembered_is_read_again_and_nothing_else() {
        let mut memo = empty();
        let ada = vec![Some(Output::Index(3)), None];
        let bob = vec![None, Some(Output::Subset(vec![0, 8]))];
        memo.remember("Ada \"L\"", &ada).unwrap();
        memo.remember("bob", &bob).unwrap();
        memo.remember("bob", &ada).unwrap(); // The first stays.
        assert!(memo.remember("cleo", &vec![Some(Output::Index(12)), None]).is_err());
        let mut text = Vec::new();
        memo.write(&mut text).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("memo.jsonl");
        fs::write(&path, &text).unwrap();
        let again = empty().read(&path).unwrap();
        assert_eq!(
            (again.get("Ada \"L\""), again.get("bob"), again.get("cleo")),
            (Some(ada), Some(bob), None)
        );
        assert_eq!(again, memo);

        let text = String::from_utf8(text).unwrap();
        let cut: String = text.lines().take(2).map(|line| line.to_owned() + "\n").collect();
        assert!(matches!(problem(&cut), MemoProblem::People { found: 1, expected: 2 }));
        assert!(matches!(problem(&text.replace("\"one\"", "\"other\"")), MemoProblem::Other));
        assert!(matches!(
            problem(&text.replace("\"version\":1", "\"version\":2")),
            MemoProblem::Version { .. }
        ));
        assert!(matches!(problem(&text.replace("\"03\"", "\"12\"")), MemoProblem::Line { line: 2 }));
        assert!(matches!(problem(&text.replace("\"bob\"", "bob")), MemoProblem::Line { line: 3 }));
        let twice: String = text.clone() + text.lines().last().unwrap();
        assert!(matches!(problem(&twice), MemoProblem::Line { line: 4 }));
        assert!(matches!(problem("person,report\n"), MemoProblem::NoMemo));
    }
}
