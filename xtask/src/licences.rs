//! Refuses a dependency whose licence we have not agreed to.

use std::process::Command;

use serde_json::Value;

/// Licences that may be linked into a program under MIT or Apache-2.0 without further duties.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks every package that cargo knows for this workspace.
pub fn check() -> bool {
    println!("== licences");
    let packages = match packages() {
        Ok(packages) => packages,
        Err(why) => {
            eprintln!("licences: {why}");
            return false;
        }
    };
    let refused: Vec<String> = packages.iter().filter_map(refusal).collect();
    refused.iter().for_each(|line| eprintln!("licences: {line}"));
    println!("== licences: {} packages, {} refused", packages.len(), refused.len());
    refused.is_empty()
}

fn packages() -> Result<Vec<Value>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let mut metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    match metadata["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => Err("cargo metadata lists no packages".into()),
    }
}

fn refusal(package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    match package["license"].as_str() {
        Some(expression) if is_allowed(expression) => None,
        Some(expression) => Some(format!("{name} is under {expression}")),
        None => Some(format!("{name} names no licence")),
    }
}

/// Whether an SPDX expression can be met by allowed licences alone. `A/B` is the old form of `A OR B`. Parentheses are
/// read as far as crates use them: a conjunction of alternatives.
fn is_allowed(expression: &str) -> bool {
    let flat = expression.replace('/', " OR ").replace(['(', ')'], "");
    flat.split(" AND ").all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_crates_write_them() {
        assert!(is_allowed("MIT OR Apache-2.0"));
        assert!(is_allowed("MIT/Apache-2.0"));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(is_allowed("GPL-3.0-only OR MIT"));
        assert!(!is_allowed("GPL-3.0-only"));
        assert!(!is_allowed("MIT AND GPL-3.0-only"));
    }
}
