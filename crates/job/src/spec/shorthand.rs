//! The shorthand: `kind:key=value,key=value`.
//!
//! Values are numbers or texts; `/` separates the entries of a list and `//` the rows of a list of lists, so that nothing
//! needs quoting in a shell: `matrix:rows=0.7/0.3//0.3/0.7`. It is for people and may change.

use super::tree::{Tree, shown};
use crate::error::{Error, Result};
use crate::source::{Source, Syntax};

/// Keys whose value is a list even if it has a single entry.
const LISTS: [&str; 4] = ["map", "weights", "labels", "rows"];

/// Parses a shorthand into the tree that JSON with the same meaning would give.
pub(crate) fn parse(text: &str, source: &Source) -> Result<Tree> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut entries = vec![("kind".to_owned(), Tree::Text(kind.to_owned()))];
    let mut column = kind.chars().count() + 2;
    for pair in rest.split(',').filter(|_| !rest.trim().is_empty()) {
        let fail = |message: String| {
            let (source_name, format) = (source.clone(), Syntax::Shorthand);
            Err(Error::Syntax { source_name, format, message, ends_early: false, line: 1, column })
        };
        let Some((key, value)) = pair.split_once('=') else {
            return fail(format!("`{}` is not of the form key=value", shown(pair)));
        };
        let key = full_name(key.trim());
        if entries.iter().any(|(known, _)| known == key) {
            return fail(format!("the key `{}` occurs twice", shown(key)));
        }
        entries.push((key.to_owned(), tree(key, value.trim())));
        column += pair.chars().count() + 1;
    }
    Ok(Tree::Object(entries))
}

fn full_name(key: &str) -> &str {
    match key {
        "e" | "eps" => "epsilon",
        other => other,
    }
}

fn tree(key: &str, value: &str) -> Tree {
    if key == "labels" {
        return Tree::List(value.split('/').map(|label| Tree::Text(label.to_owned())).collect());
    }
    if value.contains("//") || key == "rows" {
        return Tree::List(value.split("//").map(list).collect());
    }
    if value.contains('/') || LISTS.contains(&key) { list(value) } else { scalar(value) }
}

fn list(value: &str) -> Tree {
    Tree::List(value.split('/').map(|item| scalar(item.trim())).collect())
}

fn scalar(value: &str) -> Tree {
    value.parse().map_or_else(|_| Tree::Text(value.to_owned()), Tree::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(short: &str, json: &str) {
        let source = Source::Shorthand(short.to_owned());
        assert_eq!(parse(short, &source).unwrap(), Tree::of_json(json, &source).unwrap());
    }

    #[test]
    fn a_shorthand_is_the_json_of_its_keys() {
        same("grr:a=16,eps=1", r#"{"kind": "grr", "a": 16, "epsilon": 1}"#);
        same("jeffreys", r#"{"kind": "jeffreys"}"#);
        same("deterministic:map=0/0/1", r#"{"kind": "deterministic", "map": [0, 0, 1]}"#);
        same("matrix:rows=0.7/0.3//0.3/0.7", r#"{"kind": "matrix", "rows": [[0.7, 0.3], [0.3, 0.7]]}"#);
        same("grr:a=2, e=1, labels=1/no", r#"{"kind": "grr", "a": 2, "epsilon": 1, "labels": ["1", "no"]}"#);
    }

    #[test]
    fn a_key_without_a_value_is_told_with_its_place() {
        let error = parse("grr:a=16,eps", &Source::Shorthand("grr:a=16,eps".into())).unwrap_err();
        assert!(matches!(error, Error::Syntax { column: 10, .. }), "{error}");
    }
}
