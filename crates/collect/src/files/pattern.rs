//! The paths that a pattern such as `days/*/*.csv` matches.
//!
//! A directory that cannot be read, or a link on the way that leads nowhere, is an error: what lies behind it might be half of the reports.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::inputs::{Input, unreadable};
use crate::error::{Error, Result};

/// A name that begins with a point is matched by a pattern that begins with one only.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// The paths, sorted. `**` stands for any number of directories.
///
/// # Errors
/// The pattern is not well-formed, or a directory on the way cannot be read.
pub(super) fn matches(argument: &str) -> Result<Vec<PathBuf>> {
    let mut parts: Vec<&str> = Vec::new();
    let mut base = PathBuf::new();
    for component in Path::new(argument).components() {
        match component {
            Component::Normal(part) => parts.extend(part.to_str()),
            Component::ParentDir if !parts.is_empty() => parts.push(".."),
            place => base.push(place),
        }
    }
    let mut found = expanded(base, &parts, argument)?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn expanded(base: PathBuf, parts: &[&str], argument: &str) -> Result<Vec<PathBuf>> {
    let Some((part, rest)) = parts.split_first() else { return Ok(vec![base]) };
    if *part == "**" {
        let mut found = expanded(base.clone(), rest, argument)?;
        // Links are not followed here: they may lead back.
        for path in entries(&base)?.into_iter().filter(|path| !path.is_symlink()) {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden && path.is_dir() {
                found.extend(expanded(path, parts, argument)?);
            }
        }
        return Ok(found);
    }
    let mut found = Vec::new();
    for path in candidates(&base, part, argument)? {
        if rest.is_empty() || metadata(&path)?.is_dir() {
            found.extend(expanded(path, rest, argument)?);
        }
    }
    Ok(found)
}

/// What is there under a name, or under the names that match a pattern.
fn candidates(base: &Path, part: &str, argument: &str) -> Result<Vec<PathBuf>> {
    if !part.contains(['*', '?', '[']) {
        let path = base.join(part);
        return Ok(Vec::from_iter(fs::symlink_metadata(&path).is_ok().then_some(path)));
    }
    let pattern = Pattern::new(part).map_err(|_| Error::NoFiles { argument: argument.to_owned() })?;
    let matching = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        pattern.matches_with(&name, OPTIONS)
    };
    Ok(entries(base)?.into_iter().filter(matching).collect())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = fs::read_dir(here).and_then(|all| all.collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(|error| unreadable(&Input::File(here.to_owned()), error))?;
    Ok(entries.into_iter().map(|entry| directory.join(entry.file_name())).collect())
}

/// What is behind a path and its links.
pub(super) fn metadata(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|error| unreadable(&Input::File(path.to_owned()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for file in ["a/1.csv", "a/2.csv", "a/.3.csv", "a/3.txt", "b/c/4.csv", "b/5.csv", ".h/6.csv", "7.csv"]
        {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        tree
    }

    fn matched(tree: &Path, pattern: &str) -> Result<Vec<String>> {
        let all = matches(&tree.join(pattern).to_string_lossy())?;
        let name = |path: PathBuf| path.strip_prefix(tree).unwrap().to_string_lossy().into_owned();
        Ok(all.into_iter().map(name).collect())
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let tree = tree();
        for (pattern, expected) in [
            ("*/*.csv", &["a/1.csv", "a/2.csv", "b/5.csv"][..]),
            ("a/[12].csv", &["a/1.csv", "a/2.csv"]),
            ("a/.*.csv", &["a/.3.csv"]),
            ("?", &["a", "b"]),
            ("**/*.csv", &["7.csv", "a/1.csv", "a/2.csv", "b/5.csv", "b/c/4.csv"]),
            ("*/../7.csv", &["a/../7.csv", "b/../7.csv"]),
            ("*/none*.csv", &[]),
            ("none/*.csv", &[]),
        ] {
            assert_eq!(matched(tree.path(), pattern).unwrap(), expected, "{pattern}");
        }
        assert!(matches!(matched(tree.path(), "[a/*"), Err(Error::NoFiles { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_on_the_way_is_an_error() {
        let tree = tree();
        std::os::unix::fs::symlink("nowhere", tree.path().join("day")).unwrap();
        assert!(
            matches!(matched(tree.path(), "*/*.csv"), Err(Error::Unreadable { file, .. }) if file.ends_with("day"))
        );
        assert!(matches!(matched(tree.path(), "day/*.csv"), Err(Error::Unreadable { .. })));
        assert_eq!(matched(tree.path(), "d*").unwrap(), ["day"]);
    }
}
