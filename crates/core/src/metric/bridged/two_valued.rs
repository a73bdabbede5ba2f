//! The information of a two-valued problem at any number of users.

use std::sync::OnceLock;

use crate::information::one_dimensional;
use crate::likelihood::reduced::Reduced;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Component;
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::{digamma_difference, ln_beta};

/// Beyond this number of users the remainder beyond the asymptote is extrapolated by a power of `n`: the nodes of
/// the exact sum take memory of order `√n`.
const MOST_EXACT: u64 = 1_000_000_000;

/// Two inputs and two outputs.
#[derive(Debug)]
pub(super) struct TwoValued {
    problem: Reduced,
    growth: OnceLock<Evaluation>,
    tail: OnceLock<Tail>,
}

/// The remainder `R(n) = I(n) − ½ ln n − r` for many users, `R(n₀) (n₀/n)^power`.
#[derive(Clone, Copy, Debug)]
struct Tail {
    remainder: f64,
    power: f64,
    /// How much the power still changes by a factor of 16 in `n`.
    drift: f64,
}

impl TwoValued {
    pub(super) fn new(problem: Reduced) -> Self {
        TwoValued { problem, growth: OnceLock::new(), tail: OnceLock::new() }
    }

    /// The same problem under each component of its prior alone.
    pub(super) fn components(problem: &Reduced) -> Vec<TwoValued> {
        let alone =
            |part: &(f64, Component)| Reduced { parts: vec![(1.0, part.1.clone())], ..problem.clone() };
        problem.parts.iter().map(|part| TwoValued::new(alone(part))).collect()
    }

    /// `I(n)`.
    pub(super) fn information(&self, n: u64) -> Evaluation {
        if n <= MOST_EXACT || self.problem.parts.len() > 1 {
            return one_dimensional::distribution(&self.problem, n);
        }
        let tail = self.tail.get_or_init(|| self.tail());
        let ratio = MOST_EXACT as f64 / n as f64;
        let remainder = tail.remainder * ratio.powf(tail.power);
        let doubt = remainder.abs() * (ratio.powf(-tail.drift) - 1.0).abs().min(1.0);
        let growth = self.growth_constant();
        Evaluation::new(
            0.5 * (n as f64).ln() + growth.value + remainder,
            growth.error + doubt,
            Method::Approximation,
        )
    }

    /// `I(n)` at a real `n`: linear between integers.
    pub(super) fn information_at(&self, n: f64) -> f64 {
        if n > 1000.0 {
            // Between integers only ½ ln n matters.
            let whole = n.round();
            return self.information(whole as u64).value + 0.5 * (n / whole).ln();
        }
        let (below, share) = (n.floor(), n.fract());
        let at = |n: f64| if n < 1.0 { 0.0 } else { self.information(n as u64).value };
        if share == 0.0 { at(below) } else { (1.0 - share) * at(below) + share * at(below + 1.0) }
    }

    fn tail(&self) -> Tail {
        let growth = self.growth_constant().value;
        let remainder =
            |n: u64| one_dimensional::distribution(&self.problem, n).value - 0.5 * (n as f64).ln() - growth;
        let [few, more, most] = [MOST_EXACT / 256, MOST_EXACT / 16, MOST_EXACT].map(remainder);
        let power = |early: f64, late: f64| {
            let power = (early / late).ln() / 16f64.ln();
            // A remainder that is lost in rounding decays like 1/n.
            if power.is_finite() { power.clamp(0.0, 1.0) } else { 1.0 }
        };
        let (early, late) = (power(few, more), power(more, most));
        Tail { remainder: most, power: late, drift: (late - early).abs() }
    }

    /// `r` in `I(n) → ½ ln n + r`: `h(P) + ½ E ln J − ½ ln(2πe)`, for one component.
    pub(super) fn growth_constant(&self) -> Evaluation {
        *self.growth.get_or_init(|| {
            let [own, other] = [self.problem.column(0), self.problem.column(1)];
            let [Component::Dirichlet(alpha)] = [&self.problem.parts[0].1] else {
                return Evaluation::new(f64::NAN, f64::INFINITY, Method::ClosedForm);
            };
            let mean_ln = |y: usize| {
                let form = LinearForm::from_coefficients(&[(alpha[0], own[y]), (alpha[1], other[y])]);
                let mean = form.mean_ln();
                Evaluation::new(mean.value, mean.error, Method::Quadrature)
            };
            let outputs = mean_ln(0).plus(mean_ln(1));
            let information =
                Evaluation::closed_form(2.0 * (own[0] - other[0]).abs().ln(), 2).plus(outputs.times(-1.0));
            let constant = -0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln();
            information
                .times(0.5)
                .plus(Evaluation::closed_form(beta_entropy(alpha[0], alpha[1]) + constant, 8))
        })
    }
}

/// The differential entropy of a Beta distribution.
fn beta_entropy(alpha: f64, rest: f64) -> f64 {
    let part = |own: f64, other: f64| (own - 1.0) * digamma_difference(own, other);
    ln_beta(alpha, rest) + part(alpha, rest) + part(rest, alpha)
}
