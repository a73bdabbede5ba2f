//! The best protocol for `n` users: the paper's own problem, to maximise `I(Y⃗;P)` at `n`.
//!
//! # Method
//! For one report the problem is linear and solved exactly ([`one_user`](super::one_user)). For more, `I(Y⃗;P)` is no known concave
//! function of the weights of rows, so the result is the best that a search finds:
//!
//! 1. *Elementary protocols* that meet the requirement ([`elementary`]). Their mixtures meet it too: the level of a mixture is the largest of
//!    its parts, and its average privacy is their mean.
//! 2. The exchange algorithm of experimental design over the weights of a mixture ([`exchange`]), where a mixture is judged by the bridged
//!    approximation of `I(Y⃗;P)`.
//! 3. The mixture found and the protocol of largest asymptotic utility are compared by exact or sampled values, and the better
//!    one is the design.
//!
//! # Bound
//! Reports are independent given `P`, so `I(Y⃗;P) ≤ n I(Y;P)`: no protocol tells more than `n` times what the best single report
//! tells. Nor does it tell more than the true values, `I(X⃗;P)`. The first is sharp for few users and high privacy, the second for many users
//! and low privacy.

mod elementary;
mod exchange;

use std::ops::ControlFlow;

use super::problem::symmetry_of;
use super::{Design, Effort, Requirement, best_for_one_user, best_protocol};
use crate::information::{Choice, InformationOptions, Sampling, distribution_information, users_side_of};
use crate::metric::{Analysis, Metric, Settings};
use crate::model::error::{Error, Result};
use crate::model::evaluation::Evaluation;
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use exchange::Exchange;

/// Two designs whose approximated information differs by less than this are taken to be equally good, in nats.
const NEGLIGIBLE_GAIN: f64 = 1e-3;

/// Standard error of the sampled information: this share of the gain by the approximation, but at least
/// [`LEAST_TOLERANCE`].
const SAMPLED_SHARE: f64 = 0.25;
const LEAST_TOLERANCE: f64 = 2e-3;

/// Most draws for that.
const MOST_DRAWS: u64 = 1 << 14;

/// Users times values beyond which the comparison rests on the approximation: sampling would take minutes.
const MOST_SAMPLED: f64 = 2e6;

/// Largest number of steps of an exact method: about a second.
const QUICK: f64 = 1e9;

/// The best protocol found for a number of users.
#[derive(Clone, Debug)]
pub struct UsersDesign {
    /// The protocol.
    pub protocol: Protocol,
    /// Its `I(Y⃗;P)` at `n`.
    pub information: Evaluation,
    /// The protocol of largest asymptotic utility, with its certificate.
    pub asymptotic: Design,
    /// The `I(Y⃗;P)` of that one at `n`, by the same method.
    pub asymptotic_information: Evaluation,
    /// No protocol that meets the requirement tells more, in nats.
    pub bound: f64,
    /// How many protocols were evaluated.
    pub evaluated: usize,
}

impl UsersDesign {
    /// By how much it beats the design for many users, in nats, with the errors of both.
    pub fn gain(&self) -> Evaluation {
        if self.protocol == self.asymptotic.protocol {
            return Evaluation::closed_form(0.0, 0);
        }
        self.information.plus(self.asymptotic_information.times(-1.0))
    }
}

/// The protocol of largest `I(Y⃗;P)` for `n` users that the search finds among those that meet the requirement.
///
/// # Method and cost
/// See the module. Under a prior that treats all values alike, mixtures of subset selections; otherwise mixtures of randomised response about
/// every set of values, up to six of them. Seconds for symmetric priors, up to a minute for others.
///
/// # Accuracy
/// The information has the error of its method. Optimality is not certified; [`UsersDesign::bound`] bounds all protocols.
///
/// # Example
/// ```
/// use sottovoce::{Prior, design::{Effort, Requirement, best_for_users}};
/// let requirement = Requirement::new(Some(0.5), None)?;
/// let design = best_for_users(&Prior::jeffreys(4)?, &requirement, 10, Effort::default())?;
/// assert!(design.information.value >= design.asymptotic_information.value);
/// assert!(design.information.value < design.bound);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// As for [`best_protocol`].
pub fn best_for_users(
    prior: &Prior,
    requirement: &Requirement,
    n: u64,
    effort: Effort<'_>,
) -> Result<UsersDesign> {
    let asymptotic = best_protocol(prior, requirement, effort)?;
    let search = Search { prior, requirement, n, effort };
    let candidates = search.elementary(&asymptotic.protocol)?;
    let value = |protocol: &Protocol| search.approximation(protocol);
    // The gap is not known: this is a search.
    let is_interrupted = |evaluated: usize| effort.is_interrupted(evaluated, f64::INFINITY);
    let found = Exchange::new(candidates, &value, &is_interrupted).best()?;
    let asymptotic_value = search.approximation(&asymptotic.protocol).unwrap_or(f64::NEG_INFINITY);
    let gain = found.value - asymptotic_value;
    let (mut protocol, mut information, asymptotic_information) = if gain < NEGLIGIBLE_GAIN {
        let choice = if found.interrupted { Choice::Approximation } else { Choice::Automatic };
        let information = search.information(&asymptotic.protocol, choice);
        let information = information.ok_or(Error::DesignNotConverged)?;
        (asymptotic.protocol.clone(), information, information)
    } else {
        let affordable = !found.interrupted;
        let (information, there) =
            search.compared(&found.protocol, &asymptotic.protocol, gain, affordable)?;
        (found.protocol, information, there)
    };
    if information.value < asymptotic_information.value {
        (protocol, information) = (asymptotic.protocol.clone(), asymptotic_information);
    }
    let (bound, evaluated) = (search.bound(), found.evaluated);
    Ok(UsersDesign { protocol, information, asymptotic, asymptotic_information, bound, evaluated })
}

/// What is searched for.
struct Search<'a> {
    prior: &'a Prior,
    requirement: &'a Requirement,
    n: u64,
    effort: Effort<'a>,
}

impl Search<'_> {
    /// The approximated `I(Y⃗;P)`; `None` if there is none, for protocols that are not faithful.
    fn approximation(&self, protocol: &Protocol) -> Option<f64> {
        Some(self.information(protocol, Choice::Approximation)?.value)
    }

    fn information(&self, protocol: &Protocol, choice: Choice) -> Option<Evaluation> {
        let settings = Settings { choice, seed: self.effort.seed, tolerance: None };
        let analysis = Analysis::with_settings(protocol, self.prior, settings).ok()?;
        analysis.answer(Metric::AggregatorDistribution, Some(self.n)).number()
    }

    /// The information of both protocols by the same method: exact if that is quick, sampled where that is affordable, else approximated. The
    /// error of sampled numbers is a part of the `gain` that is to be confirmed.
    fn compared(
        &self,
        found: &Protocol,
        asymptotic: &Protocol,
        gain: f64,
        affordable: bool,
    ) -> Result<(Evaluation, Evaluation)> {
        let a = self.prior.inputs() as f64;
        let tolerance = (SAMPLED_SHARE * gain).max(LEAST_TOLERANCE);
        let hear = |_: &Sampling| match self.effort.is_interrupted(0, f64::INFINITY) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = InformationOptions {
            observer: Some(&hear),
            choice: Choice::Automatic,
            tolerance,
            draws: MOST_DRAWS,
            seed: self.effort.seed,
            work_budget: QUICK,
            ..InformationOptions::default()
        };
        let sampled = |protocol: &Protocol| {
            let affordable = affordable && self.n as f64 * a <= MOST_SAMPLED;
            let found = || distribution_information(protocol, self.prior, self.n, &options).ok();
            affordable.then(found).flatten().filter(|found| found.value.is_finite())
        };
        let approximated = |protocol: &Protocol| self.information(protocol, Choice::Approximation);
        let both = |of: &dyn Fn(&Protocol) -> Option<Evaluation>| Some((of(found)?, of(asymptotic)?));
        both(&sampled).or_else(|| both(&approximated)).ok_or(Error::DesignNotConverged)
    }

    /// A bound on the information of all protocols that meet the requirement.
    fn bound(&self) -> f64 {
        let users = users_side_of(self.prior, self.n, &InformationOptions::default());
        let truth = users.map_or(f64::INFINITY, |side| side.distribution.value + side.distribution.reach());
        let Some(epsilon) = self.requirement.epsilon() else { return truth };
        // More than twelve values that are not alike have no bound from a single report.
        let single = best_for_one_user(self.prior, epsilon).ok();
        let reports =
            single.map_or(f64::INFINITY, |design| self.n as f64 * (design.information + design.gap));
        truth.min(reports)
    }

    /// Whether the prior treats all values alike.
    fn is_symmetric(&self) -> bool {
        self.prior.dirichlets().is_some_and(|components| symmetry_of(&components).is_full())
    }
}
