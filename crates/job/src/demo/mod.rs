//! The demo: a complete small story on embedded data.
//!
//! ```text
//! counts → compare protocols → pick the best → simulate reports → estimate frequencies
//! ```

mod education;
mod support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sottovoce::Protocol;

pub use education::{EDUCATION, SOURCE};
pub use support::Support;

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
        let supports: Vec<Support> = protocols.iter().filter_map(|(_, p)| Support::of(p)).collect();
        let standard_errors: Vec<f64> =
            supports.iter().map(|s| s.standard_error(1.0 / EDUCATION.len() as f64, users)).collect();
        let (best, best_by) = best(&comparison, &standard_errors);
        let frequencies = self.simulate(&protocols[best].1, &supports[best])?;
        let (epsilon, seed) = (EPSILON, self.seed);
        Ok(DemoReport { users, epsilon, seed, comparison, standard_errors, best, best_by, frequencies })
    }

    /// Draws a report for each person and estimates the frequencies from the reports alone.
    fn simulate(&self, protocol: &Protocol, support: &Support) -> Result<Vec<Frequency>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut tally = vec![0; EDUCATION.len()];
        for (x, (_, count)) in EDUCATION.iter().enumerate() {
            for _ in 0..*count {
                support.add(&protocol.sample(x, &mut rng)?, &mut tally);
            }
        }
        let users = education::users();
        let frequency = |(&(label, count), &supporting): (&(&'static str, u64), &u64)| {
            let truth = count as f64 / users as f64;
            let estimate = support.frequency(supporting, users);
            Frequency { label, truth, estimate, standard_error: support.standard_error(estimate, users) }
        };
        Ok(EDUCATION.iter().zip(&tally).map(frequency).collect())
    }
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
