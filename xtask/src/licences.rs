//! Refuses dependencies whose licence is not in the list of `deny.toml`.
//!
//! `cargo deny check licenses` does the same with that list; this check needs nothing but cargo.

use std::process::Command;

use serde_json::Value;

const DENY: &str = include_str!("../../deny.toml");

/// Checks every package that cargo knows for this workspace.
pub fn check() -> bool {
    println!("== licences");
    match allowed().and_then(|allowed| Ok((allowed, packages()?))) {
        Ok((allowed, packages)) => check_packages(&packages, &allowed),
        Err(reason) => {
            eprintln!("licences: {reason}");
            false
        }
    }
}

fn check_packages(packages: &[Value], allowed: &[String]) -> bool {
    let refused: Vec<String> = packages.iter().filter_map(|package| refusal(package, allowed)).collect();
    refused.iter().for_each(|line| eprintln!("licences: {line}"));
    println!("== licences: {} packages, {} refused", packages.len(), refused.len());
    refused.is_empty()
}

/// The licences that `deny.toml` allows.
fn allowed() -> Result<Vec<String>, String> {
    let deny: toml::Table = DENY.parse().map_err(|error| format!("deny.toml: {error}"))?;
    let list = deny.get("licenses").and_then(|section| section.get("allow")).and_then(toml::Value::as_array);
    let names = list.map(|list| list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect());
    names.ok_or_else(|| "deny.toml has no list `allow` in [licenses]".into())
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

fn refusal(package: &Value, allowed: &[String]) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    match package["license"].as_str() {
        Some(expression) if is_allowed(expression, allowed) => None,
        Some(expression) => {
            Some(format!("{name} is licensed under {expression}, which deny.toml does not allow"))
        }
        None => Some(format!("{name} names no licence")),
    }
}

/// Whether the allowed licences alone satisfy an SPDX expression. `A/B` is the old form of `A OR B`. Parentheses are dropped, which is
/// right for the forms that crates use: alternatives, and conjunctions of alternatives.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let flat = expression.replace('/', " OR ").replace(['(', ')'], "");
    let is_listed = |licence: &str| allowed.iter().any(|name| name == licence.trim());
    flat.split(" AND ").all(|part| part.split(" OR ").any(is_listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_deny_toml_decides() {
        let allowed = allowed().unwrap();
        for expression in [
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-3.0-only OR MIT",
        ] {
            assert!(is_allowed(expression, &allowed), "{expression}");
            assert!(!is_allowed(expression, &[]), "{expression}");
        }
        for expression in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MITx"] {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }

    #[test]
    fn a_package_without_an_allowed_licence_is_refused() {
        let package = |licence: Value| serde_json::json!({ "name": "x", "license": licence });
        let packages = [package("MIT".into()), package("GPL-3.0-only".into()), package(Value::Null)];
        let refused = |package: &&Value| refusal(package, &["MIT".into()]).is_some();
        assert_eq!(packages.iter().filter(refused).count(), 2);
        assert!(
            !check_packages(&packages, &["MIT".into()]) && check_packages(&packages[..1], &["MIT".into()])
        );
    }
}
