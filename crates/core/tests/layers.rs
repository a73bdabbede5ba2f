//! The layers of this crate: a module uses only modules that stand before it in `LAYERS`, so there is no cycle. The map is in ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest. Modules of one line stand side by side and do not use each other.
const LAYERS: [&[&str]; 11] = [
    &["numerics"],
    &["model"],
    &["leakage", "fisher"],
    &["likelihood"],
    &["mcmc"],
    &["information"],
    &["metric"],
    &["posterior"],
    &["estimate"],
    &["accuracy"],
    &["design"],
];

#[test]
fn no_module_uses_one_above_it() {
    let sources = sources(&root());
    assert!(sources.len() > 100, "only {} source files found", sources.len());
    let upward: Vec<String> = sources.iter().flat_map(|path| upward_uses(path)).collect();
    assert!(upward.is_empty(), "these point up:\n{}", upward.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let lib = fs::read_to_string(root().join("lib.rs")).unwrap();
    let modules: Vec<&str> = lib.lines().filter_map(declared_module).collect();
    assert!(modules.iter().all(|module| layer(module).is_some()), "{modules:?}");
    assert_eq!(modules.len(), LAYERS.iter().map(|side_by_side| side_by_side.len()).sum::<usize>());
}

#[test]
fn an_upward_use_is_found() {
    let found = |line: &str| problems("model", line).len();
    assert_eq!(found("use crate::numerics::special::ln_gamma;"), 0);
    assert_eq!(found("use super::protocol::Protocol; use crate::model::error::Error;"), 0);
    assert_eq!(found("    let gap = crate::metric::Metric::all();"), 1);
    assert_eq!(found("use crate::fisher::Point;"), 1);
    assert_eq!(found("use crate::{estimate::Estimator, numerics::special};"), 1);
    // The names that the crate exports at its root hide which layer they come from.
    assert_eq!(found("use crate::Protocol;"), 1);
    assert_eq!(found("/// See [`crate::metric::Metric`]."), 0);
    assert_eq!(problems("leakage", "use crate::fisher::Point;").len(), 1);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| sources(folder));
    files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs")).chain(below).collect()
}

fn declared_module(line: &str) -> Option<&str> {
    line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|side_by_side| side_by_side.contains(&module))
}

/// All uses of a file that point up or sideways. `lib.rs` only lists and re-exports.
fn upward_uses(path: &Path) -> Vec<String> {
    let relative = path.strip_prefix(root()).unwrap();
    let Some(module) = relative.components().next().filter(|_| relative.components().count() > 1) else {
        assert_eq!(relative, Path::new("lib.rs"), "a file outside of every layer");
        return Vec::new();
    };
    let module = module.as_os_str().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(i, line)| {
            problems(module, line).into_iter().map(move |target| (i + 1, target)).collect::<Vec<_>>()
        })
        .map(|(line, target)| format!("{}:{line}: {module} uses {target}", relative.display()))
        .collect()
}

/// What a line of a module uses of this crate, unless it stands in a lower layer. Comments may point anywhere.
fn problems(module: &str, line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let heads = code.split("crate::").skip(1).flat_map(targets);
    let allowed = |target: &String| {
        target == module || matches!((layer(target), layer(module)), (Some(used), Some(user)) if used < user)
    };
    heads.filter(|target| !allowed(target)).collect()
}

/// The modules named right after `crate::`, one or a list in braces.
fn targets(path: &str) -> Vec<String> {
    let head = |path: &str| path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match path.strip_prefix('{') {
        Some(list) => list.trim_end_matches([';', '}']).split(',').map(head).collect(),
        None => vec![head(path)],
    }
}
