//! Intervals for a frequency, from an unbiased estimate whose variance is known at every frequency.
//!
//! # Definition
//! The estimate `t` of a frequency is the mean of `n` votes. A vote has mean `p`, the frequency, and its noise is known, so its second
//! moment is known too, and with it the variance of `t` at every `p` that may be the true one:
//! ```text
//! n Var(p) = p h + (1 − p) h' − p²,   h = E[vote² | the user holds the value],   h' = its mean over users who hold another
//! ```
//! Intervals are made of the `p` that agree with `t` *under the variance at `p`*. The variance at `t` itself would make intervals of no width where
//! few reports happen to agree.
//!
//! - The *score interval* (Wilson 1927) holds all `p` with `(t − p)² ≤ z² Var(p)`, the roots of a quadratic equation. It may leave `[0, 1]`, as `t` may.
//! - The *unified interval* (Feldman and Cousins 1998) knows that `0 ≤ p ≤ 1`. With `σ² = Var(p)` and the normal law, the likelihood ratio between `p` and the
//!   best frequency is
//! ```text
//! −2σ² ln R_p(t) = (t − p)² − (t − t̂)²,   t̂ = t moved into [0, 1]
//! ```
//!   and `p` is in the interval if `P_p(R_p(T) ≤ R_p(t)) ≥ 1 − level`, where `R_p(T) ≤ R_p(t)` says that `T` is outside an interval around `p` in closed form. It
//!   has its level at every `p` in `[0, 1]` as far as the normal law holds, always holds `t̂`, and is never empty, however far outside `t` is.
//!
//! # Accuracy
//! Votes of a few reports are coarse and skewed. The unified interval counts one report less than there are, which makes up for that: from 5 to 50 reports,
//! with matrices, mixtures, products and compositions of 2 to 8 values and `ε` from 0.5 to 4, intervals of 90 % hold 87 to 95 % on average over the values and a
//! uniform or Jeffreys prior (`tests/interval_coverage.rs`).

use crate::numerics::search::bisect;
use crate::numerics::special::normal_quantile;

/// Halvings of the search for the end of an interval: to a relative 1e-15.
const HALVINGS: usize = 50;

/// Where a true frequency is likely to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval widened to hold an estimate.
    pub(super) fn holding(self, estimate: f64) -> Self {
        Interval { low: self.low.min(estimate), high: self.high.max(estimate) }
    }
}

/// How intervals were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalMethod {
    /// Score intervals of the mean vote.
    Score,
    /// Unified intervals of the linear estimate, widened to hold the estimate.
    Carried,
    /// Unified intervals of one scoring step from the estimate, with the information of the likelihood; widened likewise.
    Information,
    /// Quantiles of the posterior.
    Credible,
}

impl IntervalMethod {
    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            IntervalMethod::Score => "score",
            IntervalMethod::Carried => "carried",
            IntervalMethod::Information => "information",
            IntervalMethod::Credible => "credible",
        }
    }

    /// How they were made, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            IntervalMethod::Credible => {
                "the frequency is inside with this probability, given prior and reports"
            }
            IntervalMethod::Score => {
                "score intervals: the frequencies that agree with the estimate, each with the variance it would have there"
            }
            IntervalMethod::Carried => {
                "the frequencies between 0 and 1 that agree with the linear estimate, widened to hold this one"
            }
            IntervalMethod::Information => {
                "the frequencies between 0 and 1 that agree with one scoring step from the estimate, which has the error that the information of the likelihood promises"
            }
        }
    }
}

/// An unbiased estimate of a frequency, with its variance at every frequency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The estimate `t`.
    pub(crate) estimate: f64,
    /// `h`: the second moment of the vote of a user who holds the value.
    pub(crate) own: f64,
    /// `h'`: that of a user who holds another.
    pub(crate) others: f64,
    /// What the variance is of that of the mean vote, at most 1.
    pub(crate) share: f64,
    /// The number of reports.
    pub(crate) n: f64,
}

impl Measured {
    /// The variance of the estimate where the frequency is `p`.
    pub(crate) fn variance(&self, p: f64) -> f64 {
        self.share * self.spread(p).max(0.0) / self.n
    }

    /// The standard error where the frequency is `p`, or half a user from 0 or 1 where `p` is not between them.
    pub(crate) fn standard_error(&self, p: f64) -> f64 {
        let half = 0.5 / (self.n + 1.0);
        self.variance(p.clamp(half, 1.0 - half)).sqrt()
    }

    /// The variance of one vote where the frequency is `p`.
    fn spread(&self, p: f64) -> f64 {
        p * self.own + (1.0 - p) * self.others - p * p
    }

    /// The score interval of the mean vote.
    pub(crate) fn score(&self, level: f64) -> Interval {
        let (t, slope) = (self.estimate, self.own - self.others);
        let z = normal_quantile(0.5 + 0.5 * level);
        let k = z * z / self.n;
        let centre = (t + 0.5 * k * slope) / (1.0 + k);
        // Beyond 0 and 1 the spread of votes is extrapolated and may be negative.
        let square = k * (self.spread(t).max(0.0) + k * (0.25 * slope * slope + self.others));
        let half = square.sqrt() / (1.0 + k);
        Interval { low: centre - half, high: centre + half }.holding(t)
    }

    /// The unified interval, inside `[0, 1]`.
    pub(crate) fn unified(&self, level: f64) -> Interval {
        let (best, refused) = (self.estimate.clamp(0.0, 1.0), 1.0 - level);
        let end = |outside: f64| {
            if self.tail(outside) >= refused {
                return outside;
            }
            bisect(best, outside, HALVINGS, |p| self.tail(p) >= refused).0
        };
        Interval { low: end(0.0), high: end(1.0) }
    }

    /// `P_p(R_p(T) ≤ R_p(t))`: how likely an estimate is, where the frequency is `p`, that agrees no better with it than this one.
    fn tail(&self, p: f64) -> f64 {
        let (t, best) = (self.estimate, self.estimate.clamp(0.0, 1.0));
        let variance = self.variance(p) * self.n / (self.n - 1.0).max(1.0);
        if variance == 0.0 {
            return if t == p { 1.0 } else { 0.0 };
        }
        let distance = ((t - p) * (t - p) - (t - best) * (t - best)).max(0.0);
        // An estimate at `p ± reach` agrees as well with `p` as this one does.
        let below = reach(distance, p);
        let above = reach(distance, 1.0 - p);
        let beyond = |reach: f64| 0.5 * libm::erfc(reach / (2.0 * variance).sqrt());
        beyond(below) + beyond(above)
    }
}

/// How far from `p` an estimate is for which `(t − p)² − (t − t̂)²` is `distance`, on the side where the boundary of the frequencies is `room` away.
fn reach(distance: f64, room: f64) -> f64 {
    if distance <= room * room {
        distance.sqrt()
    } else {
        // Outside the boundary, r² − (r − room)² = distance; without room, no estimate agrees less.
        0.5 * (distance / room + room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Votes of randomised response: λ = 0.2, κ = 0.7.
    fn response(estimate: f64, n: f64) -> Measured {
        let (own, others) = ((0.7 * 0.64 + 0.3 * 0.04) / 0.25, 0.16 / 0.25);
        Measured { estimate, own, others, share: 1.0, n }
    }

    /// At the ends of the score interval the estimate is `z` standard deviations away.
    #[test]
    fn the_ends_of_the_score_interval_are_as_far_as_they_say() {
        for (estimate, n) in [(0.3, 5.0), (-0.4, 5.0), (1.2, 17.0), (0.0, 1e6)] {
            let measured = response(estimate, n);
            let z = normal_quantile(0.95);
            let Interval { low, high } = measured.score(0.9);
            for end in [low, high] {
                let share = 0.2 + 0.5 * end;
                let deviation = (share * (1.0 - share) / n).sqrt() / 0.5;
                assert!(
                    ((estimate - end).abs() - z * deviation).abs() < 1e-9,
                    "{estimate} {end} {deviation}"
                );
            }
        }
    }

    /// Under the normal law the unified interval holds every frequency as often as it says, the boundary too. The integral over the estimates is a sum over
    /// 20,000 cells of a hundredth of the range each way, in which the ends are sharp to one cell.
    #[test]
    fn the_unified_interval_has_its_level_everywhere() {
        for n in [2.0, 30.0, 1e4] {
            for p in [0.0, 0.01, 0.3, 0.5, 0.9, 1.0] {
                let deviation = (response(0.0, n).variance(p) * n / (n - 1.0)).sqrt();
                let cells = 20_000;
                let held: f64 = (0..cells)
                    .map(|i| -5.0 + 10.0 * (f64::from(i) + 0.5) / f64::from(cells))
                    .filter(|u| {
                        let Interval { low, high } = response(p + deviation * u, n).unified(0.9);
                        low <= p && p <= high
                    })
                    .map(|u| {
                        (-0.5 * u * u).exp() * 10.0 / f64::from(cells) / (2.0 * std::f64::consts::PI).sqrt()
                    })
                    .sum();
                assert!((held - 0.9).abs() < 1e-3, "{n} {p}: {held}");
            }
        }
    }

    #[test]
    fn no_interval_is_empty_or_a_point() {
        for n in [1.0, 2.0, 5.0, 1000.0] {
            for estimate in [-50.0, -1.0, 0.0, 0.4, 1.0, 1.5, 80.0] {
                let Interval { low, high } = response(estimate, n).unified(0.9);
                assert!(0.0 <= low && low < high && high <= 1.0, "{n} {estimate}: {low} {high}");
                assert!(low <= estimate.clamp(0.0, 1.0) && estimate.clamp(0.0, 1.0) <= high);
            }
        }
    }

    /// Without noise a value that nobody reported may still be held by some.
    #[test]
    fn the_truth_about_nobody_leaves_room() {
        let nobody = Measured { estimate: 0.0, own: 1.0, others: 0.0, share: 1.0, n: 50.0 };
        let Interval { low, high } = nobody.unified(0.9);
        assert!(low == 0.0 && (0.02..0.1).contains(&high), "{high}");
    }
}
