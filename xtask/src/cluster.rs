//! The crate `sottovoce-cluster`: its lints and tests, in a debug build without debug information.
//!
//! DataFusion and Ballista take more than an hour of processor time in a release build and a quarter of that in this one, and it is fast enough for the
//! tests. All other crates are built in release only, and this crate in this way only.

use crate::step;

/// What the other steps leave out.
pub const PACKAGE: &str = "sottovoce-cluster";

/// No debug information, by which the build takes half the time and a quarter of the room.
const LEAN: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "0");

/// Checks and tests the crate.
pub fn test(variables: &[(&str, &str)]) -> bool {
    let variables = [&[LEAN], variables].concat();
    // One test at a time: each has a scheduler and executors of its own.
    step("cluster", &["test", "-p", PACKAGE, "--quiet", "--", "--test-threads", "1"], &variables)
        && step(
            "lints of the cluster",
            &["clippy", "-p", PACKAGE, "--all-targets", "--no-deps", "--quiet", "--", "-D", "warnings"],
            &variables,
        )
}
