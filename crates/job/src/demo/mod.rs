//! The demo: a complete small story on embedded data.
//!
//! ```text
//! counts → compare protocols → pick the best → randomise → tally → estimate frequencies
//! ```

mod education;

use sottovoce::Protocol;
use sottovoce::estimate::{LeftInverse, SupportRates};
use sottovoce_collect::randomise::{Batches, Randomiser, Randomness};
use sottovoce_collect::{Form, Tally, read_reports, write_tallies};

pub use education::{EDUCATION, SOURCE};

use crate::collection::Identified;
use crate::error::Result;
use crate::metrics::{MetricsReport, MetricsSpec};
use crate::spec::{PriorSpec, ProtocolKind, ProtocolSpec};

/// The LDP level of all protocols in the story.
pub const EPSILON: f64 = 1.0;

/// The metrics that are compared.
const METRICS: [&str; 4] = ["ldp", "s_wc", "s_mu", "f_mu"];

/// What to vary in the story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemoJob {
    /// Seed of the simulation.
    pub seed: u64,
}

/// The story's figures.
#[derive(Clone, Debug)]
pub struct DemoReport {
    /// Number of people.
    pub users: u64,
    /// The LDP level of all protocols.
    pub epsilon: f64,
    /// Seed of the simulation.
    pub seed: u64,
    /// The metrics of each protocol.
    pub comparison: Vec<MetricsReport>,
    /// The typical standard error of an estimated frequency, for each protocol.
    pub standard_errors: Vec<f64>,
    /// The protocol that is simulated.
    pub best: usize,
    /// In what it is best.
    pub best_by: &'static str,
    /// True and estimated frequencies.
    pub frequencies: Vec<Frequency>,
}

/// A true frequency and what the reports say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequency {
    /// The level of education.
    pub label: &'static str,
    /// Its share of the people.
    pub truth: f64,
    /// The unbiased estimate, which may be negative.
    pub estimate: f64,
    /// The standard error of the estimate.
    pub standard_error: f64,
}

impl DemoJob {
    /// Tells the story.
    ///
    /// # Errors
    /// A protocol refuses its parameters, which would be a mistake in the story.
    pub fn run(&self) -> Result<DemoReport> {
        let users = education::users();
        let protocols = candidates().into_iter().map(check).collect::<Result<Vec<_>>>()?;
        let comparison = protocols.iter().map(|(spec, _)| compare(spec)).collect::<Result<Vec<_>>>()?;
        let rates = protocols.iter().filter_map(|(_, protocol)| SupportRates::of(protocol));
        let standard_errors: Vec<f64> = rates.map(|rates| typical_error(&rates, users)).collect();
        let (best, best_by) = best(&comparison, &standard_errors);
        let frequencies = self.collect(&protocols[best].0)?;
        let (epsilon, seed) = (EPSILON, self.seed);
        Ok(DemoReport { users, epsilon, seed, comparison, standard_errors, best, best_by, frequencies })
    }

    /// Each person's value goes the way of a collection: a report, the tallies file of all reports, and from that alone the estimates.
    fn collect(&self, spec: &ProtocolSpec) -> Result<Vec<Frequency>> {
        let Identified { named, identity } = Identified::written(&spec.clone().into())?;
        let (randomiser, seed) = (Randomiser::new(&named.protocol)?, Randomness::InsecureTestSeed(self.seed));
        let reports = Batches::new(&randomiser, seed).reports(&education::values())?;
        let mut tally = Tally::new(&named.protocol, Form::Automatic);
        for report in reports.chunks_exact(randomiser.layout().length()) {
            // Unwrap safety: what a randomiser writes is a report of its protocol.
            tally.add_report(report).unwrap();
        }
        let mut file = Vec::new();
        // Unwrap safety: writing to memory does not fail.
        write_tallies(&tally, &identity, &mut file).unwrap();
        let reports = read_reports(&String::from_utf8_lossy(&file), &named.protocol)?;
        let linear = LeftInverse::of(&named.protocol)?.estimate(&named.protocol, &reports)?;
        let estimates = linear.values().iter().zip(linear.standard_errors());
        let frequency =
            |(&(label, count), (&estimate, standard_error)): (&(&'static str, u64), (&f64, f64))| Frequency {
                label,
                truth: count as f64 / education::users() as f64,
                estimate,
                standard_error,
            };
        Ok(EDUCATION.iter().zip(estimates).map(frequency).collect())
    }
}

/// The standard error of the estimate of a value that one of so many values is on average.
fn typical_error(rates: &SupportRates, users: u64) -> f64 {
    let share = rates.rate(1.0 / EDUCATION.len() as f64);
    (share * (1.0 - share) / users as f64).sqrt() / rates.difference
}

/// The protocols of the story.
fn candidates() -> Vec<ProtocolSpec> {
    let (a, epsilon) = (EDUCATION.len(), EPSILON);
    let kinds = [
        ProtocolKind::Grr { a, epsilon },
        ProtocolKind::Rappor { a, epsilon },
        ProtocolKind::Oue { a, epsilon },
        ProtocolKind::Blh { a, epsilon },
        ProtocolKind::Lh { a, g: None, epsilon },
        ProtocolKind::Subset { a, k: None, epsilon },
    ];
    kinds.into_iter().map(ProtocolSpec::from).collect()
}

fn check(spec: ProtocolSpec) -> Result<(ProtocolSpec, Protocol)> {
    let named = crate::Written::from(spec).check(&PriorSpec::Jeffreys)?;
    Ok((named.spec, named.protocol))
}

fn compare(spec: &ProtocolSpec) -> Result<MetricsReport> {
    let metrics = METRICS.map(String::from).to_vec();
    Ok(MetricsSpec { metrics, ..MetricsSpec::of(spec.clone()) }.check()?.run())
}

/// The protocol with the highest effective participation or, until all have a value, the smallest standard error.
fn best(comparison: &[MetricsReport], standard_errors: &[f64]) -> (usize, &'static str) {
    let participation = |report: &MetricsReport| Some(report.evaluations.last()?.answer.number()?.value);
    let known: Option<Vec<f64>> = comparison.iter().map(participation).collect();
    let (merit, by) = match known {
        Some(participation) => (participation, "highest F_mu"),
        None => (standard_errors.iter().map(|error| -error).collect(), "smallest error"),
    };
    // Of equals, the first.
    let best = (0..merit.len()).rev().max_by(|l, r| merit[*l].total_cmp(&merit[*r]));
    (best.unwrap_or(0), by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimates_are_close_to_the_truth() {
        // 16 labels and 5 seeds: a false alarm beyond 5 standard errors has probability 80 · 6e-7 = 5e-5.
        for seed in 0..5 {
            let job = DemoJob { seed };
            for f in job.run().unwrap().frequencies {
                assert!((f.estimate - f.truth).abs() < 5.0 * f.standard_error, "{f:?}");
            }
        }
    }

    #[test]
    fn the_story_is_the_same_each_time() {
        let frequencies = || DemoJob { seed: 7 }.run().unwrap().frequencies;
        assert_eq!(frequencies(), frequencies());
    }
}
