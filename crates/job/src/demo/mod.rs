//! The demo: a complete small story on embedded data, told by the same jobs as the commands.
//!
//! ```text
//! counts → protocols at several levels of noise → one of them → everybody randomises → tallies
//!        → posterior beside the truth, which is known here → what one report gives away
//! ```

mod collection;
mod education;
mod fields;
mod ladder;
mod person;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::{Estimator, SupportRates};
use sottovoce::{Observer, unobserved};

pub use education::{EDUCATION, SOURCE};
pub use ladder::{EPSILONS, Rung, WANTED};
pub use person::{Guesses, Person};

use crate::collection::Identified;
use crate::contract::{Whole, whole};
use crate::error::Result;
use crate::estimate::EstimateRequest;
use crate::posterior::{PosteriorReport, PosteriorRequest};
use crate::source::Written;
use crate::spec::ProtocolSpec;

/// Probability of the intervals.
pub const LEVEL: f64 = 0.95;

/// The answers of the people who are looked at closely: a common, a less common and a rare one.
const PEOPLE: [usize; 3] = [8, 12, 15];

/// The first seed from 0 on with an ordinary collection, in which one of the sixteen intervals misses. (From 0 to 11 there are 13, 16, 16, 16, 16, 14, 16, 16, 16, 16, 15
/// and 16 that hold.)
pub const SEED: u64 = 10;

/// What to vary in the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemoRequest {
    /// Seed of the randomisation, and of the Markov chains.
    #[serde(default = "usual_seed", deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

fn usual_seed() -> u64 {
    SEED
}

impl Default for DemoRequest {
    fn default() -> Self {
        DemoRequest { seed: SEED }
    }
}

impl DemoRequest {
    /// The job; every seed is valid.
    ///
    /// # Errors
    /// None.
    pub fn check(&self) -> Result<DemoJob> {
        Ok(DemoJob { seed: self.seed })
    }
}

/// A valid request for the story.
#[derive(Clone, Copy, Debug)]
pub struct DemoJob {
    seed: u64,
}

/// The story's figures.
#[derive(Clone, Debug)]
pub struct DemoReport {
    /// Number of people.
    pub users: u64,
    /// Seed of the randomisation.
    pub seed: u64,
    /// Names of the protocols that are compared.
    pub names: Vec<String>,
    /// The protocols at several LDP levels.
    pub ladder: Vec<Rung>,
    /// The rung that is taken.
    pub chosen: usize,
    /// The protocol that is used.
    pub protocol: ProtocolSpec,
    /// How often its reports speak for the true answer and for another.
    pub rates: SupportRates,
    /// The LDP level of the reports as they are really drawn.
    pub realised_level: f64,
    /// How many different reports were sent.
    pub different: usize,
    /// Some people, closely.
    pub people: Vec<Person>,
    /// How well the reports let the collector guess answers.
    pub guesses: Guesses,
    /// What the tallies say.
    pub posterior: PosteriorReport,
    /// True and estimated shares.
    pub shares: Vec<Share>,
}

/// A true share of the people, and what the reports say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The answer.
    pub label: &'static str,
    /// Its share of the people.
    pub truth: f64,
    /// The unbiased linear estimate, which may be negative.
    pub linear: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The posterior mean.
    pub mean: f64,
    /// The posterior interval of probability [`LEVEL`].
    pub interval: (f64, f64),
}

impl Share {
    /// Whether the interval holds the truth.
    pub fn is_covered(&self) -> bool {
        (self.interval.0..=self.interval.1).contains(&self.truth)
    }
}

impl DemoReport {
    /// The rung that is taken.
    pub fn rung(&self) -> &Rung {
        &self.ladder[self.chosen]
    }
}

impl DemoJob {
    /// Computes the story's numbers, while the observer hears of metrics and of the sampler.
    ///
    /// # Errors
    /// A job refuses its parameters, which would be a mistake in the story, or the Markov chains do not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<DemoReport> {
        self.tell(ladder::ladder(observer)?, observer)
    }

    /// The story from a ladder on, which is the same for every seed.
    fn tell(&self, (names, ladder): (Vec<String>, Vec<Rung>), observer: Observer<'_>) -> Result<DemoReport> {
        let chosen = ladder::chosen(&ladder);
        let labels = EDUCATION.iter().map(|(label, _)| (*label).to_owned()).collect();
        let spec = ProtocolSpec { labels: Some(labels), ..ladder[chosen].best().protocol.clone() };
        let identified = Identified::written(&Written::from(spec.clone()))?;
        let protocol = &identified.named.protocol;
        let sent = collection::collect(&identified, self.seed)?;
        let people = PEOPLE.map(|answer| person::person(protocol, &sent, answer));
        let people = people.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
        let posterior = posterior(&spec, &sent.tallies, self.seed, observer)?;
        Ok(DemoReport {
            users: education::users(),
            seed: self.seed,
            names,
            ladder,
            chosen,
            // Unwrap safety: the reports of all protocols of the ladder support answers.
            rates: SupportRates::of(protocol).unwrap(),
            realised_level: sent.realised_level,
            different: sent.different,
            people,
            guesses: person::guesses(protocol, &sent)?,
            shares: shares(&spec, &sent.tallies, &posterior)?,
            posterior,
            protocol: spec,
        })
    }
}

fn posterior(
    protocol: &ProtocolSpec,
    tallies: &str,
    seed: u64,
    observer: Observer<'_>,
) -> Result<PosteriorReport> {
    let request = PosteriorRequest::of(protocol.clone(), tallies);
    PosteriorRequest { level: LEVEL, seed, ..request }.check()?.run(observer)
}

/// The shares among these people, not those of the distribution that they come from: only for these is the truth known.
fn shares(protocol: &ProtocolSpec, tallies: &str, posterior: &PosteriorReport) -> Result<Vec<Share>> {
    let estimator = vec![Estimator::Linear.name().to_owned()];
    let request = EstimateRequest::of(protocol.clone(), tallies);
    let estimates = EstimateRequest { estimator, level: LEVEL, ..request }.check()?.run(&unobserved)?;
    // Unwrap safety: the usual protocols are faithful, so they have a linear estimate, and it has standard errors.
    let linear = estimates.columns[0].estimate.as_ref().unwrap();
    let errors = linear.standard_errors.as_ref().unwrap();
    let n = posterior.posterior.n as f64;
    let share = |(x, t): (usize, &sottovoce::posterior::Summary)| {
        let ends = (t.quantiles.first(), t.quantiles.last());
        let end = |end: Option<&(f64, f64)>| end.map_or(t.mean, |(_, quantile)| *quantile) / n;
        Share {
            label: EDUCATION[x].0,
            truth: EDUCATION[x].1 as f64 / n,
            linear: linear.values[x],
            standard_error: errors[x],
            mean: t.mean / n,
            interval: (end(ends.0), end(ends.1)),
        }
    };
    Ok(posterior.posterior.t.iter().enumerate().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stories() -> Vec<DemoReport> {
        let seeds = if std::env::var_os("SOTTOVOCE_FULL").is_some_and(|v| v == "1") { 20 } else { 3 };
        let ladder = ladder::ladder(&unobserved).unwrap();
        (0..seeds).map(|seed| DemoJob { seed }.tell(ladder.clone(), &unobserved).unwrap()).collect()
    }

    /// Of 48 intervals of 95 %, 10 or more miss with probability 1.1e-4 if they miss independently; those of one collection miss a little less than
    /// independently, since shares add up to 1. Of 320, 34 or more miss with probability 3.5e-5. Estimates beyond 5 standard errors have probability 6e-7
    /// each, 3e-5 and 2e-4 together.
    #[test]
    fn the_story_is_true() {
        let stories = stories();
        let most = if stories.len() == 3 { 9 } else { 33 };
        let shares = || stories.iter().flat_map(|story| &story.shares);
        let missed = shares().filter(|share| !share.is_covered()).count();
        assert!(missed <= most, "{missed}");
        for share in shares() {
            assert!((share.linear - share.truth).abs() < 5.0 * share.standard_error, "{share:?}");
        }
        // The collector's best guess is better with reports, but far from certain. 32.25 % ± 0.26 % are right without them.
        for story in &stories {
            let Guesses { without, with } = story.guesses;
            assert!(without < with && with < 0.5, "{:?}", story.guesses);
            for person in &story.people {
                let odds = |belief: f64| belief / (1.0 - belief);
                let shift = odds(person.after) / odds(person.before);
                assert!(shift.ln().abs() <= story.rung().epsilon + 1e-9, "{person:?}");
            }
            assert!(story.realised_level <= story.rung().epsilon);
            assert!(story.rung().typical_error().value <= WANTED);
        }
        assert_ne!(stories[0].shares, stories[1].shares);
    }

    /// The typical error, which comes from a closed form under the prior, is that of the collections.
    #[test]
    fn the_ladder_is_true() {
        let (names, rungs) = ladder::ladder(&unobserved).unwrap();
        assert_eq!(names.len(), 7);
        let errors: Vec<f64> = rungs.iter().map(|rung| rung.typical_error().value).collect();
        assert!(errors.is_sorted_by(|l, r| l > r), "{errors:?}");
        assert_eq!(ladder::chosen(&rungs), 1);
        // By hand, for subset selection with k = 4: p = 4e/(4e + 12), q = (4 − p)/15; at 1/16 on average.
        let e = 1f64.exp();
        let p = 4.0 * e / (4.0 * e + 12.0);
        let q = (4.0 - p) / 15.0;
        let rate = q + (p - q) / 16.0;
        let by_hand = (rate * (1.0 - rate) / 32_561.0).sqrt() / (p - q);
        assert!((errors[1] / by_hand - 1.0).abs() < 0.02, "{} {by_hand}", errors[1]);
    }
}
