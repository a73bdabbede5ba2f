//! A whole collection in one program: values become reports, reports become tallies, and tallies become frequencies with intervals.
//! `cargo run --release -p sottovoce-collect --example collect_and_estimate` prints
//!
//! ```text
//! drink   truth  posterior mean  linear estimate, 95 % confidence interval
//! tea     0.500  0.512           0.511, 0.485 to 0.538
//! coffee  0.300  0.296           0.296, 0.272 to 0.322
//! water   0.200  0.192           0.192, 0.168 to 0.217
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use sottovoce::estimate::{Estimation, Estimator, Reports};
use sottovoce::posterior::{PosteriorOptions, posterior};
use sottovoce::{Output, Prior, Protocol, Tallies};
use sottovoce_collect::randomise::{Generator, Randomiser, Randomness};

const DRINKS: [(&str, usize); 3] = [("tea", 5000), ("coffee", 3000), ("water", 2000)];

fn main() -> Result<(), Box<dyn Error>> {
    // A test seed, so that the output is the same each time. Real values need `Randomness::System`.
    print!("{}", survey(Randomness::InsecureTestSeed(1))?);
    Ok(())
}

/// Asks 10,000 guests what they drink, with epsilon = 1.
pub fn survey(randomness: Randomness) -> Result<String, Box<dyn Error>> {
    let protocol = Protocol::grr(DRINKS.len(), 1.0)?;
    let tallies = collect(&protocol, randomness)?;

    let found =
        posterior(&protocol, &Prior::jeffreys(DRINKS.len())?, &tallies, &PosteriorOptions::default())?;
    let estimation = Estimation::new(&protocol, Reports::Tallies(tallies), 0.95)?;
    let linear = estimation.estimate(Estimator::Linear)?;

    let mut table = "drink   truth  posterior mean  linear estimate, 95 % confidence interval\n".to_owned();
    for (x, (name, guests)) in DRINKS.into_iter().enumerate() {
        let (truth, interval) = (guests as f64 / 10_000.0, linear.intervals[x]);
        table += &format!(
            "{name:<6}  {truth:.3}  {:.3}           {:.3}, {:.3} to {:.3}\n",
            found.p[x].mean, linear.values[x], interval.low, interval.high
        );
    }
    Ok(table)
}

/// On each guest's device a report is drawn, by exact arithmetic; the aggregator counts the reports.
fn collect(protocol: &Protocol, randomness: Randomness) -> Result<Tallies, Box<dyn Error>> {
    let randomiser = Randomiser::new(protocol)?;
    assert!(randomiser.realised().loss.within(1.0), "the exact level is at most epsilon");
    let mut generator = Generator::new(randomness, 0)?;
    let mut counts = BTreeMap::<Output, u64>::new();
    for (x, (_, guests)) in DRINKS.into_iter().enumerate() {
        for _ in 0..guests {
            *counts.entry(randomiser.report(x, &mut generator)?).or_default() += 1;
        }
    }
    Ok(Tallies::new(protocol, counts)?)
}
