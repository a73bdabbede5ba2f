//! Maximum likelihood of block designs by spectral projected gradients.
//!
//! The columns of a design's incidence matrix are nearly orthogonal, `BᵀB = (k − λ)I + λ11ᵀ`, so on differences of distributions the information
//! `β² Bᵀ diag(s_y/(1 + βp(B_y))²) B` is nearly a multiple of the identity unless the level is high. Then the distance to the maximum shrinks by a
//! constant factor a step, whatever the number of inputs, where expectation maximisation needs thousands of steps at high privacy.

use std::collections::VecDeque;

use super::maximum_likelihood::{Certificate, MaximumLikelihood};
use super::post_processing::norm_sub;
use crate::likelihood::{Likelihood, Slope};
use crate::numerics::stop::check;

/// Passes over the reports after which the search ends without having reached its tolerance.
const MOST_PASSES: usize = 400;

/// Below this share of the number of reports a gap is rounding if so many passes have not lowered it.
pub(crate) const ROUNDING: (f64, usize) = (1e-12, 10);

/// A step must exceed the least of so many last values of the likelihood.
const REMEMBERED: usize = 10;

/// Share of the increase that the gradient promises which a step must reach.
const SUFFICIENT: f64 = 1e-4;

/// The maximum of the likelihood, from a distribution that gives every report a positive probability, where the information along a difference of
/// distributions is about `curvature`. The result is the point with the smallest gap.
///
/// # Method and cost
/// Birgin, Martínez and Raydan (2000): a step along the gradient, projected onto the simplex, as long as the change of the gradient over the last
/// step suggests; it is halved while the likelihood is below its least recent value. `O(passes · (v log v + a log a))`.
pub(crate) fn projected_gradient(
    likelihood: &dyn Likelihood,
    start: Vec<f64>,
    curvature: f64,
    tolerance: f64,
) -> MaximumLikelihood {
    let n = likelihood.reports();
    let (mut p, mut slope, mut passes) = (start.clone(), likelihood.slope(&start), 1);
    let (mut best, mut gap, mut found_at) = (start, slope.gap(n), passes);
    let mut recent = VecDeque::from([slope.value]);
    let mut length = 1.0 / curvature;
    let is_rounding = |gap: f64, since: usize| gap < ROUNDING.0 * n && since > ROUNDING.1;
    while gap > tolerance && passes < MOST_PASSES && !is_rounding(gap, passes - found_at) {
        check();
        let least = recent.iter().copied().fold(f64::INFINITY, f64::min);
        let Some((next, next_slope, tried)) = step(likelihood, &p, &slope, length, least) else { break };
        passes += tried;
        length = spectral_length(&p, &slope, &next, &next_slope).unwrap_or(1.0 / curvature);
        (p, slope) = (next, next_slope);
        recent.push_back(slope.value);
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
        if slope.gap(n) < gap {
            (best, gap, found_at) = (p.clone(), slope.gap(n), passes);
        }
    }
    MaximumLikelihood { values: best, certificate: Certificate { gap, tolerance, passes } }
}

/// The next point, its slope, and the passes that it took; `None` if the likelihood does not increase along the gradient.
fn step(
    likelihood: &dyn Likelihood,
    p: &[f64],
    slope: &Slope,
    length: f64,
    least: f64,
) -> Option<(Vec<f64>, Slope, usize)> {
    let moved: Vec<f64> = p.iter().zip(&slope.excess).map(|(p_x, e)| p_x + length * e).collect();
    let direction: Vec<f64> = norm_sub(&moved).iter().zip(p).map(|(to, from)| to - from).collect();
    let promised: f64 = direction.iter().zip(&slope.excess).map(|(d, e)| d * e).sum();
    let rounding = 1e-14 * (slope.value.abs() + likelihood.reports());
    (0..30).find_map(|halvings| {
        let share = 0.5f64.powi(halvings);
        let next: Vec<f64> = p.iter().zip(&direction).map(|(p_x, d)| (p_x + share * d).max(0.0)).collect();
        let next_slope = likelihood.slope(&next);
        let enough = next_slope.value >= least + SUFFICIENT * share * promised - rounding;
        enough.then(|| (next, next_slope, halvings as usize + 1))
    })
}

/// `sᵀs/(−sᵀd)` of the last step `s` and the change `d` of the gradient: the inverse of a mean curvature. `None` if the step or its curvature is 0.
fn spectral_length(p: &[f64], slope: &Slope, next: &[f64], next_slope: &Slope) -> Option<f64> {
    let (mut squares, mut bend) = (0.0, 0.0);
    for ((p, next), (e, next_e)) in p.iter().zip(next).zip(slope.excess.iter().zip(&next_slope.excess)) {
        squares += (next - p) * (next - p);
        bend -= (next - p) * (next_e - e);
    }
    let length = squares / bend;
    (length.is_finite() && length > 0.0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::super::newton::newton;
    use super::*;
    use crate::likelihood::blocks::Blocks;
    use crate::model::output::Output;
    use crate::model::protocol::Protocol;
    use crate::model::tallies::Tallies;
    use crate::numerics::split_mix::split_mix;

    /// Two methods that share only the gradient reach the same likelihood, within their stated gaps: with many reports of each block, and with few.
    #[test]
    fn it_finds_the_maximum_that_newton_finds() {
        for (a, v, k, epsilon, most) in [(9, 13, 4, 0.5, 1000), (57, 57, 8, 2.0, 50), (100, 121, 40, 1.0, 4)]
        {
            let protocol = Protocol::block(a, v, k, epsilon).unwrap();
            let counts = (0..v).map(|y| (Output::Index(y), split_mix(1, y as u64) % most));
            let tallies = Tallies::new(&protocol, counts).unwrap();
            let Protocol::Block(block) = &protocol else { unreachable!() };
            let blocks = Blocks::of(block, &tallies);
            let uniform = vec![1.0 / a as f64; a];
            let found = projected_gradient(&blocks, uniform.clone(), blocks.curvature(&uniform), 1e-7);
            let expected = newton(&blocks, uniform, 1e-7);
            assert!(found.certificate.holds() && expected.certificate.holds(), "{found:?} {expected:?}");
            let [l, r] = [&found, &expected].map(|s| blocks.slope(&s.values).value);
            assert!((l - r).abs() < 2e-7, "{l} {r}");
            assert!(found.certificate.passes < 300, "{found:?}");
        }
    }
}
