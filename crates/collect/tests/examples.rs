//! The example prints what its first lines show.

use sottovoce_collect::randomise::Randomness;

#[allow(dead_code)] // Its `main`.
#[path = "../examples/collect_and_estimate.rs"]
mod collect_and_estimate;

#[test]
fn the_collection_ends_as_shown() {
    let source = include_str!("../examples/collect_and_estimate.rs");
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let lines = lines.take_while(|line| *line != "//! ```").map(|line| line.trim_start_matches("//! "));
    let printed = collect_and_estimate::survey(Randomness::InsecureTestSeed(1)).unwrap();
    assert_eq!(printed.lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>());
}
