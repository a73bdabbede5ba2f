//! The information split and the three utilities, from their parts, with errors carried along.
//!
//! ```text
//! I(Y⃗;X⃗) = I(Y⃗;P) + I(Y⃗;T|P) + I(Y⃗;X⃗|T),      I(Y⃗;T) = I(Y⃗;P) + I(Y⃗;T|P),      I(Y⃗;X⃗|P) = n I(X;Y|P)
//! U^distr = I(Y⃗;P)/I(X⃗;P),      U^tally = I(Y⃗;T)/H(T),      U^digit = (I(Y⃗;P) − h(P))/(a−1)
//! ```
//! [paper, Table "information split", Def. "utility", Def. "digit utility"]

use super::aggregator::{InformationOptions, distribution_information};
use super::users::{UsersSide, group_private, individual_private, users_side};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;

/// What the aggregator learns, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AggregatorSide {
    /// `I(Y⃗;P)`, about the distribution.
    pub distribution: Evaluation,
    /// `I(Y⃗;T)`, about the tallies.
    pub tally: Evaluation,
    /// `I(Y⃗;X⃗|P)`, the privacy leakage of all users together.
    pub private: Evaluation,
    /// Whether the tally was found as the distribution and the group: then its random error contains that of the distribution.
    pub nested: bool,
}

impl AggregatorSide {
    /// The split from `I(Y⃗;P)`, `I(Y⃗;T)` and the leakage `I(X;Y|P)` of one user.
    pub fn new(distribution: Evaluation, tally: Evaluation, leakage: Evaluation, n: u64) -> Self {
        let users = n as f64;
        let private = Evaluation::new(users * leakage.value, users * leakage.error, leakage.method);
        AggregatorSide { distribution, tally, private, nested: false }
    }

    /// `I(Y⃗;T|P)`, about this group beyond the distribution.
    pub fn group(&self) -> Evaluation {
        let group = combination(&[(1.0, self.tally), (-1.0, self.distribution)]);
        let [whole, part] = [self.tally.error, self.distribution.error];
        let own = (whole * whole - part * part).max(0.0).sqrt();
        if self.nested { Evaluation::new(group.value, own, group.method) } else { group }
    }

    /// `I(Y⃗;X⃗|T)`, about who holds what.
    pub fn individual(&self) -> Evaluation {
        combination(&[(1.0, self.private), (-1.0, self.group())])
    }

    /// `I(Y⃗;X⃗)`, in total.
    pub fn total(&self) -> Evaluation {
        combination(&[(1.0, self.distribution), (1.0, self.private)])
    }
}

/// The users' side under any prior for which it can be found; Monte Carlo where the prior is a mixture.
///
/// # Errors
/// The prior is one's own, or nothing but an exact method is allowed and none fits.
pub fn users_side_of(prior: &Prior, n: u64, options: &InformationOptions<'_>) -> Result<UsersSide, Absence> {
    if let Prior::Dirichlet(dirichlet) = prior {
        return Ok(users_side(dirichlet, n));
    }
    let own = Absence::NoMethod { what: "the users' side under a prior of one's own" };
    let (Some(group), Some(individual)) = (group_private(prior, n), individual_private(prior, n)) else {
        return Err(own);
    };
    let truth = Protocol::identity(prior.inputs())?;
    Ok(UsersSide { distribution: distribution_information(&truth, prior, n, options)?, group, individual })
}

/// `U^distr = I(Y⃗;P)/I(X⃗;P)`, the share of what the values tell about the distribution that the reports tell.
pub fn distribution_utility(aggregator: Evaluation, users: Evaluation) -> Evaluation {
    ratio(aggregator, users)
}

/// `U^tally = I(Y⃗;T)/H(T)`, the share of the tallies that the reports tell.
pub fn tally_utility(aggregator: Evaluation, users: Evaluation) -> Evaluation {
    ratio(aggregator, users)
}

/// `U^digit = (I(Y⃗;P) − h(P))/(a−1)`, how many digits of each frequency the reports tell, in base e; divide by `ln 10` for
/// decimal ones. For faithful protocols and continuous priors.
pub fn digit_utility(aggregator: Evaluation, prior_entropy: Evaluation, a: usize) -> Evaluation {
    let share = 1.0 / (a as f64 - 1.0);
    combination(&[(share, aggregator), (-share, prior_entropy)])
}

/// A linear combination. Independent standard errors add in squares; bounds add up.
fn combination(parts: &[(f64, Evaluation)]) -> Evaluation {
    let value = parts.iter().map(|(c, e)| c * e.value).sum();
    let method = parts.iter().map(|(_, e)| e.method).max().unwrap_or(Method::ClosedForm);
    let random = |e: &Evaluation| e.method == Method::MonteCarlo;
    let spread =
        parts.iter().filter(|(_, e)| random(e)).map(|(c, e)| (c * e.error).powi(2)).sum::<f64>().sqrt();
    let bound: f64 = parts.iter().filter(|(_, e)| !random(e)).map(|(c, e)| (c * e.error).abs()).sum();
    Evaluation::new(value, spread + bound, method)
}

fn ratio(numerator: Evaluation, denominator: Evaluation) -> Evaluation {
    if denominator.value == 0.0 {
        return Evaluation::new(f64::NAN, f64::INFINITY, numerator.method.max(denominator.method));
    }
    let value = numerator.value / denominator.value;
    let scaled = |c: f64, e: Evaluation| (c / denominator.value, e);
    let difference = combination(&[scaled(1.0, numerator), scaled(-value, denominator)]);
    Evaluation::new(value, difference.error + f64::EPSILON * value.abs(), difference.method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_split_add_up() {
        let exact = |value: f64| Evaluation::new(value, 1e-12, Method::Enumeration);
        let side = AggregatorSide::new(exact(1.0), exact(1.5), exact(0.25), 4);
        assert!(
            (side.distribution.value + side.group().value + side.individual().value - side.total().value)
                .abs()
                < 1e-15
        );
        assert!((side.group().value + side.individual().value - side.private.value).abs() < 1e-15);
        assert_eq!(side.total().method, Method::Enumeration);
    }

    #[test]
    fn random_errors_add_in_squares() {
        let random = |value: f64, error: f64| Evaluation::new(value, error, Method::MonteCarlo);
        let side = AggregatorSide::new(random(1.0, 0.03), random(1.5, 0.05), random(0.25, 0.0), 4);
        assert!((side.group().error - 0.0034f64.sqrt()).abs() < 1e-15);
        let nested = AggregatorSide { nested: true, ..side };
        assert!(
            (nested.group().error - 0.04).abs() < 1e-15 && (nested.individual().error - 0.04).abs() < 1e-15
        );
        let utility = distribution_utility(random(3.0, 0.03), random(4.0, 0.04));
        assert!((utility.value - 0.75).abs() < 1e-15);
        assert!((utility.error - 0.75 * 0.01 * 2f64.sqrt()).abs() < 1e-10, "{utility:?}");
    }
}
