//! The overlap of the two-valued problems: frequencies sum to 1, so their information counts one degree of
//! freedom too many.

use super::two_valued::TwoValued;
use crate::likelihood::reduced::Reduced;
use crate::model::evaluation::Evaluation;
use crate::model::prior::Component;
use crate::model::protocol::BitNoise;
use crate::numerics::search::bisect;

/// The largest `s` of the prior `Beta(s, s)`; beyond, the problem is as good as Gaussian.
const LARGEST: f64 = 60.0;

/// If the problem would have to be seen this often at `n = 1`, `s` is far too small.
const MOST_SEEN: f64 = 1e6;

/// Halvings of the search for `s`.
const HALVINGS: usize = 30;

/// `B(n)` with the limit `½ ln n − c`.
#[derive(Debug)]
pub(super) struct Overlap {
    /// `c`.
    limit: Evaluation,
    /// The two-valued problem with the prior `Beta(s, s)`, and `ρ`.
    problem: Option<(TwoValued, f64)>,
}

impl Overlap {
    /// The overlap with the limit `c` and, if it is known, the value at `n = 1`. `smallest` is the smallest
    /// parameter of the prior: that of two values, where the overlap is largest.
    pub(super) fn new(bits: &[BitNoise], limit: Evaluation, at_one: Option<f64>, smallest: f64) -> Self {
        let mut overlap = Overlap { limit, problem: None };
        let gaussian = overlap.gaussian(1.0);
        // The error of c is an error of the Gaussian overlap.
        let doubt = gaussian * (2.0 * limit.error).exp_m1() + 1e-12;
        let Some(at_one) = at_one.filter(|at_one| *at_one > gaussian + doubt) else { return overlap };
        let count = bits.len() as f64;
        let mean = |of: fn(&BitNoise) -> f64| bits.iter().map(of).sum::<f64>() / count;
        let bit = BitNoise::new(mean(|bit| bit.kappa), mean(|bit| bit.lambda));
        let problem = |ln_s: f64| {
            let problem = TwoValued::new(symmetric(&bit, ln_s.exp()));
            let share = (-2.0 * (limit.value + problem.growth_constant().value)).exp();
            (problem, share)
        };
        let too_large = |ln_s: f64| {
            let (problem, share) = problem(ln_s);
            share > MOST_SEEN || problem.information_at(share) > at_one
        };
        let (low, high) = (smallest.min(LARGEST / 2.0).ln(), LARGEST.ln());
        if !too_large(high) {
            let (_, found) = bisect(low, high, HALVINGS, too_large);
            overlap.problem = Some(problem(found));
        }
        overlap
    }

    /// `½ ln(1 + n e^{−2c})`.
    fn gaussian(&self, n: f64) -> f64 {
        let ln_signal = n.ln() - 2.0 * self.limit.value;
        0.5 * if ln_signal > 40.0 { ln_signal } else { ln_signal.exp().ln_1p() }
    }

    /// `B(n)`.
    pub(super) fn at(&self, n: f64) -> f64 {
        match &self.problem {
            Some((problem, share)) => problem.information_at(share * n),
            None => self.gaussian(n),
        }
    }
}

/// The two-valued problem with the prior `Beta(s, s)`.
fn symmetric(bit: &BitNoise, s: f64) -> Reduced {
    let rows = [[bit.kappa, bit.lambda], [bit.kappa_complement, bit.lambda_complement]];
    let typical = rows.map(|[own, other]| 0.5 * (own + other));
    let ratios = rows.iter().zip(typical).map(|(row, pi)| row.map(|q| q / pi).to_vec()).collect();
    Reduced { typical: typical.to_vec(), ratios, parts: vec![(1.0, Component::Dirichlet(vec![s, s]))] }
}
