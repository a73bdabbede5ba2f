//! Taking typed fields out of a tree, with the path in hand so that an error names the place.

use std::fmt;

use super::tree::{Tree, shown};
use crate::error::{Error, Expected, FieldProblem, Result, Specified};
use crate::source::Source;
use crate::suggestion::closest;

/// The way from the top of a specification to a field. A chain on the stack: nothing is written out unless it is needed.
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// The error that this place has the given problem.
    pub(crate) fn error(&self, problem: FieldProblem) -> Error {
        Error::Field { source_name: Source::Program, path: self.to_string(), problem: Box::new(problem) }
    }

    /// The error that `tree` stands here where something else is needed.
    pub(crate) fn wrong_type(&self, tree: &Tree, expected: Expected) -> Error {
        self.error(FieldProblem::WrongType { found: tree.description(), expected })
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A kind of protocol or prior, and the keys it has besides `kind`.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) required: &'static [&'static str],
    pub(crate) optional: &'static [&'static str],
}

impl Kind {
    /// The kind that a tree names, with the fields of the tree.
    pub(crate) fn of<'p>(
        tree: Tree,
        path: &'p Path<'p>,
        what: Specified,
        kinds: &'static [Kind],
    ) -> Result<Fields<'p>> {
        let Tree::Object(entries) = tree else {
            return Err(path.wrong_type(&tree, Expected::Specified(what)));
        };
        let kind = named(&entries, path, what, kinds)?;
        let fields = Fields { kind, path, entries };
        fields.check_keys()?;
        Ok(fields)
    }

    fn keys(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.required.iter().chain(self.optional).copied()
    }
}

fn named(
    entries: &[(String, Tree)],
    path: &Path<'_>,
    what: Specified,
    kinds: &'static [Kind],
) -> Result<&'static Kind> {
    let names = || kinds.iter().map(|kind| kind.name);
    let allowed = names().collect::<Vec<_>>().join(", ");
    match entries.iter().find(|(key, _)| key == "kind").map(|(_, tree)| tree) {
        None => {
            let needed = format!("`kind`, one of {allowed}");
            Err(path.error(FieldProblem::Missing { key: "kind", owner: format!("a {what}"), needed }))
        }
        Some(Tree::Text(name)) => kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let suggestion = closest(name, names().collect::<Vec<_>>());
            let kind = shown(name);
            Path::Key(path, "kind").error(FieldProblem::UnknownKind { kind, what, allowed, suggestion })
        }),
        Some(tree) => Err(Path::Key(path, "kind").wrong_type(tree, Expected::KindName)),
    }
}

/// The fields of a protocol or prior whose keys are those of its kind.
pub(crate) struct Fields<'p> {
    pub(crate) kind: &'static Kind,
    path: &'p Path<'p>,
    entries: Vec<(String, Tree)>,
}

impl Fields<'_> {
    /// Refuses unknown keys first: a misspelt key is also a missing one, and the spelling is the better news.
    fn check_keys(&self) -> Result<()> {
        let is_known = |key: &str| key == "kind" || self.kind.keys().any(|known| known == key);
        if let Some((key, _)) = self.entries.iter().find(|(key, _)| !is_known(key)) {
            let unused: Vec<_> = self.kind.keys().filter(|known| !self.has(known)).collect();
            let problem = FieldProblem::UnknownKey {
                key: shown(key),
                owner: format!("`{}`", self.kind.name),
                allowed: words(self.kind.keys()),
                suggestion: closest(key, unused),
            };
            return Err(self.path.error(problem));
        }
        match self.kind.required.iter().find(|key| !self.has(key)) {
            Some(key) => {
                let (owner, needed) =
                    (format!("`{}`", self.kind.name), words(self.kind.required.iter().copied()));
                Err(self.path.error(FieldProblem::Missing { key, owner, needed }))
            }
            None => Ok(()),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _)| known == key)
    }

    /// Takes a field that is there.
    pub(crate) fn take<T>(&mut self, key: &str, read: impl Fn(Tree, &Path<'_>) -> Result<T>) -> Result<T> {
        let entry = self.entries.iter_mut().find(|(known, _)| known == key);
        let tree = entry.map_or(Tree::Null, |(_, tree)| std::mem::replace(tree, Tree::Null));
        read(tree, &Path::Key(self.path, key))
    }

    /// Takes a field that may be absent, or null, which means the same.
    pub(crate) fn take_optional<T>(
        &mut self,
        key: &str,
        read: impl Fn(Tree, &Path<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let is_absent = |(known, tree): &(String, Tree)| known == key && *tree == Tree::Null;
        if !self.has(key) || self.entries.iter().any(is_absent) {
            return Ok(None);
        }
        self.take(key, read).map(Some)
    }
}

fn words<'k>(keys: impl Iterator<Item = &'k str>) -> String {
    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    if keys.is_empty() { "no keys".into() } else { keys.join(", ") }
}

/// A number; whether it is in range is for the numerical library to say.
pub(crate) fn number(tree: Tree, path: &Path<'_>) -> Result<f64> {
    match tree {
        Tree::Number(value) => Ok(value),
        other => Err(path.wrong_type(&other, Expected::Number)),
    }
}

/// A whole number that fits a machine word.
pub(crate) fn count(tree: Tree, path: &Path<'_>) -> Result<usize> {
    match tree {
        Tree::Number(value) if value.fract() == 0.0 && (0.0..usize::MAX as f64).contains(&value) => {
            Ok(value as usize)
        }
        Tree::Number(value) if value.fract() == 0.0 && value > 0.0 => {
            Err(path.wrong_type(&Tree::Number(value), Expected::SmallCount))
        }
        other => Err(path.wrong_type(&other, Expected::Count)),
    }
}

/// A text.
pub(crate) fn text(tree: Tree, path: &Path<'_>) -> Result<String> {
    match tree {
        Tree::Text(text) => Ok(text),
        other => Err(path.wrong_type(&other, Expected::Text)),
    }
}

/// A list whose items are read by `item`; `expected` says of what.
pub(crate) fn list<T>(
    expected: Expected,
    item: impl Fn(Tree, &Path<'_>) -> Result<T>,
) -> impl Fn(Tree, &Path<'_>) -> Result<Vec<T>> {
    move |tree, path| match tree {
        Tree::List(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(index, tree)| item(tree, &Path::Index(path, index))).collect()
        }
        other => Err(path.wrong_type(&other, expected)),
    }
}

/// A list of numbers.
pub(crate) fn numbers(tree: Tree, path: &Path<'_>) -> Result<Vec<f64>> {
    list(Expected::Numbers, number)(tree, path)
}

/// A list of lists of numbers.
pub(crate) fn rows(tree: Tree, path: &Path<'_>) -> Result<Vec<Vec<f64>>> {
    list(Expected::Rows, numbers)(tree, path)
}
