//! The crate `sottovoce-cluster`: its lints and tests, in a debug build without debug information.
//!
//! DataFusion and Ballista take more than an hour of processor time in a release build and a quarter of that in this one, and it is fast enough for the
//! tests. All other crates are built in release only, and this crate in this way only.

use crate::step;

/// What the other steps leave out.
pub const PACKAGE: &str = "sottovoce-cluster";

/// No debug information, by which the build takes half the time and a quarter of the room.
const LEAN: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "0");

/// How cargo calls Clippy. `cargo clippy` would check DataFusion and all that it needs a second time; so the linter takes the compiler's place for our own
/// crates alone, as `cargo clippy` does itself.
const LINTER: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
];

/// Checks and tests the crate.
pub fn test(variables: &[(&str, &str)]) -> bool {
    let lints = [&[LEAN][..], &LINTER].concat();
    let variables = [&[LEAN], variables].concat();
    // One test at a time: each has a scheduler and executors of its own.
    step("cluster", &["test", "-p", PACKAGE, "--quiet", "--", "--test-threads", "1"], &variables)
        && step("lints of the cluster", &["build", "-p", PACKAGE, "--all-targets", "--quiet"], &lints)
}
