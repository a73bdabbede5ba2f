//! Packages every crate that is to be published, as `cargo publish` would, and looks into the packages.

use std::process::Command;

use serde_json::Value;

/// Files that every package must contain, because its licences and crates.io ask for them.
const REQUIRED: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "README.md"];

/// Files that some packages must contain in addition: notices of the fonts and of the demo's data.
const NOTICES: [(&str, &str); 3] =
    [("sottovoce-chart", "LICENSE-DEJAVU-FONTS"), ("sottovoce-chart", "NOTICE"), ("sottovoce-job", "NOTICE")];

/// Packages the crates; with `verify`, also builds each package, its dependencies on the others included.
pub fn check(verify: bool) -> bool {
    println!("== packages");
    match published().and_then(|names| packaged(&names, verify).map(|()| names)) {
        Ok(names) => {
            println!("== packages: {} made{}", names.len(), if verify { " and built" } else { "" });
            true
        }
        Err(reason) => {
            eprintln!("packages: {reason}");
            false
        }
    }
}

/// The crates of the workspace that may be published.
fn published() -> Result<Vec<String>, String> {
    let text = cargo(&["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    // `publish = false` is an empty list of registries here.
    let publishable = packages.iter().filter(|package| package["publish"].is_null());
    Ok(publishable.filter_map(|package| package["name"].as_str().map(str::to_owned)).collect())
}

fn packaged(names: &[String], verify: bool) -> Result<(), String> {
    for name in names {
        let files = cargo(&["package", "--list", "--allow-dirty", "--locked", "--package", name])?;
        let missing = missing(name, &files);
        if !missing.is_empty() {
            return Err(format!("the package of {name} lacks {}", missing.join(", ")));
        }
    }
    let chosen = names.iter().flat_map(|name| ["--package", name]);
    let how = if verify { None } else { Some("--no-verify") };
    let arguments: Vec<&str> =
        ["package", "--allow-dirty", "--locked"].into_iter().chain(how).chain(chosen).collect();
    cargo(&arguments).map(|_| ())
}

/// The required files that are not in the list, one a line.
fn missing(name: &str, files: &str) -> Vec<&'static str> {
    let notices = NOTICES.iter().filter(|(package, _)| *package == name).map(|(_, file)| *file);
    REQUIRED.into_iter().chain(notices).filter(|file| !files.lines().any(|line| line == *file)).collect()
}

/// What cargo prints, or what it complains about.
fn cargo(arguments: &[&str]) -> Result<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo).args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("cargo {}\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_its_licences_is_noticed() {
        let files = "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert!(missing("sottovoce", files).is_empty());
        assert_eq!(missing("sottovoce-chart", files), ["LICENSE-DEJAVU-FONTS", "NOTICE"]);
        assert_eq!(missing("sottovoce", "src/LICENSE-MIT\nREADME.md"), ["LICENSE-MIT", "LICENSE-APACHE"]);
    }
}
