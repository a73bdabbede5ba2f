//! The information of reports about the group beyond the distribution, `I(Y⃗;T|P)`, by Monte Carlo for every
//! protocol.
//!
//! # Definition
//! ```text
//! I(Y⃗;T|P) = E[ ln P(T|Y⃗,P) − ln P(T|P) ],      I(Y⃗;T) = I(Y⃗;P) + I(Y⃗;T|P)
//! ```
//! Given the distribution and the reports, users are independent: `q_i(x) ∝ Q(y_i|x) P_x`. So the first
//! logarithm is the log probability of a tally of independent users ([`super::tally_probability`]), and no
//! evidence is needed.
//!
//! # Method
//! Draws are independent: a distribution, the values of `n` users and their reports. The control variates,
//! whose means are exactly 0:
//!
//! * `−ln P(T|P)` minus its mean `H(T|P)`, which is known ([`super::users`]);
//! * `H(T|P=p)` minus its mean, for all users and for an eighth of them: the information depends mostly on
//!   how many values are rare;
//! * `(T − E[T|Y⃗,P])ᵀ (C + 1)⁻¹ (T − E[T|Y⃗,P])` minus its mean, the local asymptotic form of `ln P(T|Y⃗,P)`
//!   with the covariance `C = Cov(T|Y⃗,P)`. Adding 1 suppresses values that hardly any user has, whose
//!   contribution is heavy-tailed.
//!
//! # Error
//! Each draw has a lower and an upper bound for its logarithm, from some walks and from the true values. The
//! number of walks is raised until half the distance of the mean bounds is below a tenth of the tolerance.
//! That half distance, as measured, is part of the stated error. It is conservative: the midpoint is off by
//! much less.
//!
//! # Cost
//! `O(n a²)` per draw and `O(n a)` per walk. Each thread stores `n·a` numbers.

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use faer::prelude::Solve;
use faer::{Mat, Side};
use rand::Rng;
use rand::seq::SliceRandom;

use super::aggregator::InformationOptions;
use super::monte_carlo::mean;
use super::reports::{Source, Subsets};
use super::sampling::Sampling;
use super::tally_probability::{Bounds, Independent, Moments};
use super::users::{group_of_components, multinomial_entropy};
use crate::likelihood::reduced::{Reduced, prior_parts};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Prior, PriorParts};
use crate::model::protocol::Protocol;
use crate::numerics::random::{generator, multinomial, pick};
use crate::numerics::split_mix::split_mix;
use crate::numerics::stirling::ln_factorial;
use crate::numerics::stop::check;

/// Largest number of users times values.
const MOST_NUMBERS: f64 = 1.7e7;

/// Pilot draws that determine how many walks are needed; their random streams are far from those of the
/// others.
const PILOT: std::ops::Range<u64> = 1 << 40..(1 << 40) + 64;

/// Smallest and largest number of walks.
const WALKS: [usize; 2] = [2, 256];

/// `I(Y⃗;T) = I(Y⃗;P) + I(Y⃗;T|P)`, from `I(Y⃗;P)`.
pub(crate) fn tally(
    protocol: &Protocol,
    prior: &Prior,
    reduced: Option<&Reduced>,
    n: u64,
    distribution: Evaluation,
    options: &InformationOptions<'_>,
) -> Result<Evaluation, Absence> {
    let source = Source::new(protocol, reduced, n)?;
    if n as f64 * source.inputs() as f64 > MOST_NUMBERS {
        return Err(Absence::NoMethod { what: "I(Y;T|P) of more than 17 million users times values" });
    }
    let parts = prior_parts(prior, reduced);
    let of_components = |n: u64| group_of_components(parts.known(), n).value;
    let entropies = (!parts.known().is_empty()).then(|| [of_components(n), of_components(an_eighth(n))]);
    let sampler = Sampler { source, prior: parts, n, entropies };
    // Use different draws than for `I(Y⃗;P)`, so that the two errors are independent.
    let options = &InformationOptions { seed: split_mix(options.seed, 0), ..*options };
    let (walks, bias) = sampler.walks(options);
    let offset = Evaluation::new(distribution.value, distribution.error.hypot(bias), Method::MonteCarlo);
    mean(offset, options, &|rng: &mut ChaCha8Rng| sampler.draw(walks, rng).1)
}

/// An eighth of the users, but at least one.
fn an_eighth(n: u64) -> u64 {
    (n / 8).max(1)
}

struct Sampler<'a> {
    source: Source<'a>,
    prior: PriorParts<'a>,
    n: u64,
    /// `H(T|P)` of all users and of an eighth of them, if known.
    entropies: Option<[f64; 2]>,
}

impl Sampler<'_> {
    /// The number of walks needed, and half the distance of their bounds. An observer may end the search.
    fn walks(&self, options: &InformationOptions<'_>) -> (usize, f64) {
        let target = 0.1 * options.tolerance;
        let (mut walks, mut half) = (WALKS[0], f64::INFINITY);
        loop {
            let gaps: Vec<f64> = PILOT.into_par_iter().filter_map(|i| self.gap(i, walks, options)).collect();
            if !gaps.is_empty() {
                half = 0.5 * (gaps.iter().sum::<f64>() / gaps.len() as f64).abs();
            }
            if half <= target || walks >= WALKS[1] || gaps.len() < (PILOT.end - PILOT.start) as usize {
                return (walks, half);
            }
            // The distance falls at least as fast as the inverse number of walks.
            let needed = walks as f64 * half / target;
            walks = (needed as usize).next_power_of_two().clamp(2 * walks, WALKS[1]);
        }
    }

    /// The distance of the bounds of a pilot draw, unless the observer has stopped; the first few are always
    /// drawn.
    fn gap(&self, i: u64, walks: usize, options: &InformationOptions<'_>) -> Option<f64> {
        let nothing = Sampling { draws: 1, tolerance: options.tolerance, ..Sampling::BEGUN };
        let stopped = options.observer.is_some_and(|observer| observer(&nothing).is_break());
        let first = walks == WALKS[0] && i < PILOT.start + 4;
        (first || !stopped).then(|| self.draw(walks, &mut generator(options.seed, i)).0)
    }

    /// The distance of the bounds of one draw, and its value with control variates.
    fn draw(&self, walks: usize, rng: &mut ChaCha8Rng) -> (f64, Vec<f64>) {
        let ln_p = self.prior.sample_ln(rng);
        let group = Group::draw(&self.source, &ln_p, self.n, rng);
        let t = group.tally();
        let Bounds { lower, upper } = group.ln_probability(&t, walks, rng);
        let ln_given_p = ln_multinomial(&t, &ln_p);
        let mut values = vec![0.5 * (lower + upper) - ln_given_p, group.local_form(&t)];
        if let Some([all, eighth]) = self.entropies {
            let p: Vec<f64> = ln_p.iter().map(|l| l.exp()).collect();
            let entropy = |n: u64| multinomial_entropy(&p, n);
            values.extend([-ln_given_p - all, entropy(self.n) - all, entropy(an_eighth(self.n)) - eighth]);
        }
        (upper - lower, values)
    }
}

/// `ln P(T = t | P)`.
fn ln_multinomial(t: &[u64], ln_p: &[f64]) -> f64 {
    let n: u64 = t.iter().sum();
    let term =
        |(t_x, ln): (&u64, &f64)| if *t_x == 0 { 0.0 } else { *t_x as f64 * ln - ln_factorial(*t_x as f64) };
    ln_factorial(n as f64) + t.iter().zip(ln_p).map(term).sum::<f64>()
}

/// Users with known reports and distribution, and their true values.
struct Group {
    users: Independent,
    truth: Vec<u32>,
}

impl Group {
    fn draw(source: &Source<'_>, ln_p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Self {
        let p: Vec<f64> = ln_p.iter().map(|l| l.exp()).collect();
        match source {
            Source::Matrix(reduced) => Group::of_matrix(reduced, &p, n, rng),
            Source::Subsets(subsets) => Group::of_subsets(subsets, &p, n, rng),
        }
    }

    /// Equal reports are adjacent.
    fn of_matrix(reduced: &Reduced, p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Self {
        let a = reduced.inputs();
        let t = multinomial(n, p, rng);
        let reports: Vec<Vec<u64>> = (0..a).map(|x| multinomial(t[x], &reduced.column(x), rng)).collect();
        let rows: Vec<f64> = reduced
            .ratios
            .iter()
            .flat_map(|c| {
                let mut row = c.clone();
                condition(&mut row, p);
                row
            })
            .collect();
        let (mut row_of, mut truth) = (Vec::with_capacity(n as usize), Vec::with_capacity(n as usize));
        for y in by_certainty(a, &rows) {
            check();
            let start = truth.len();
            reports.iter().enumerate().for_each(|(x, s)| truth.extend((0..s[y as usize]).map(|_| x as u32)));
            truth[start..].shuffle(rng);
            row_of.resize(truth.len(), y);
        }
        Group { users: Independent { a, rows, row_of }, truth }
    }

    /// Every user has their own row.
    fn of_subsets(subsets: &Subsets, p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Self {
        let a = subsets.a;
        let values: Vec<u32> = (0..n).map(|_| pick(p, 1.0, rng) as u32).collect();
        let mut rows = vec![0.0; a * n as usize];
        for (row, x) in rows.chunks_exact_mut(a).zip(&values) {
            check();
            subsets.report(*x as usize, row, rng);
            condition(row, p);
        }
        let row_of = by_certainty(a, &rows);
        let truth = row_of.iter().map(|i| values[*i as usize]).collect();
        Group { users: Independent { a, rows, row_of }, truth }
    }

    fn tally(&self) -> Vec<u64> {
        let mut t = vec![0; self.users.a];
        self.truth.iter().for_each(|x| t[*x as usize] += 1);
        t
    }

    /// Bounds for `ln P(T = t | Y⃗, P)`. Values that no user has are left out: all users avoid them.
    fn ln_probability(&self, t: &[u64], walks: usize, rng: &mut dyn Rng) -> Bounds {
        let a = self.users.a;
        let held: Vec<usize> = (0..a).filter(|x| t[*x] > 0).collect();
        let mut number = vec![u32::MAX; a];
        held.iter().enumerate().for_each(|(i, x)| number[*x] = i as u32);
        let mut rows = Vec::with_capacity(self.users.rows.len() / a * held.len());
        let mut ln_held = Vec::with_capacity(self.users.rows.len() / a);
        for row in self.users.rows.chunks_exact(a) {
            check();
            let share: f64 = held.iter().map(|x| row[*x]).sum();
            rows.extend(held.iter().map(|x| row[*x] / share));
            ln_held.push(share.ln());
        }
        let avoided: f64 =
            if held.len() < a { self.users.row_of.iter().map(|i| ln_held[*i as usize]).sum() } else { 0.0 };
        let truth: Vec<u32> = self.truth.iter().map(|x| number[*x as usize]).collect();
        let users = Independent { a: held.len(), rows, row_of: self.users.row_of.clone() };
        let Bounds { lower, upper } = users.ln_probability(&truth, walks, rng);
        Bounds { lower: avoided + lower, upper: avoided + upper }
    }

    /// `(t − μ)ᵀ (C + 1)⁻¹ (t − μ)` minus its mean, `tr (C + 1)⁻¹ C`.
    fn local_form(&self, t: &[u64]) -> f64 {
        let a = self.users.a;
        let mut counts = vec![0.0; self.users.rows.len() / a];
        self.users.row_of.iter().for_each(|row| counts[*row as usize] += 1.0);
        let mut moments = Moments::new(a);
        for (row, count) in self.users.rows.chunks_exact(a).zip(&counts).filter(|(_, count)| **count > 0.0) {
            check();
            moments.add(row, *count);
        }
        let covariance = |x: usize, y: usize| moments.covariance[x * a + y] + f64::from(u8::from(x == y));
        let Ok(factor) = Mat::from_fn(a, a, covariance).llt(Side::Lower) else { return 0.0 };
        let inverse = factor.solve(Mat::<f64>::identity(a, a));
        let off: Vec<f64> = t.iter().zip(&moments.mean).map(|(t_x, m)| *t_x as f64 - m).collect();
        let form: f64 = (0..a).map(|x| (0..a).map(|y| off[x] * inverse[(x, y)] * off[y]).sum::<f64>()).sum();
        form - (0..a).map(|x| 1.0 - inverse[(x, x)]).sum::<f64>()
    }
}

/// Turns likelihoods into posterior probabilities of the values.
fn condition(row: &mut [f64], p: &[f64]) {
    if row.iter().all(|r| *r == 0.0) {
        // If only true bits are ever set, a report without a set bit carries no information.
        row.fill(1.0);
    }
    row.iter_mut().zip(p).for_each(|(r, p_x)| *r *= p_x);
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|r| *r /= total);
}

/// The row indices, most certain rows first.
fn by_certainty(a: usize, rows: &[f64]) -> Vec<u32> {
    let certainty: Vec<f64> = rows.chunks_exact(a).map(|row| row.iter().map(|q| q * q).sum()).collect();
    let mut order: Vec<u32> = (0..certainty.len() as u32).collect();
    order.sort_by(|l, r| certainty[*r as usize].total_cmp(&certainty[*l as usize]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::information::enumeration;
    use crate::model::prior::Points;

    #[test]
    fn agrees_with_the_enumeration() {
        // Off by 4 standard errors with probability 6e-5 for each of these fixed seeds.
        let cases = [
            (Protocol::oue(3, 1.0), 8),
            (Protocol::lh(3, 3, 2.0), 8),
            (Protocol::subset(4, 2, 2.0), 6),
            (Protocol::erasure(3, 0.5), 20),
            (Protocol::grr(4, 4.0), 12),
            (Protocol::ue(3, 0.7, 0.0), 10),
            (Protocol::deterministic(vec![0, 1, 1, 2]), 12),
        ];
        for (protocol, n) in cases {
            let protocol = protocol.unwrap();
            let prior = Prior::jeffreys(protocol.inputs()).unwrap();
            let reduced = Reduced::new(&protocol, &prior).unwrap().unwrap();
            let (known, exact) = (enumeration::distribution(&reduced, n), enumeration::tally(&reduced, n));
            let subsets = matches!(
                protocol,
                Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_)
            );
            // Unary encoding and similar protocols, both as a matrix and report by report.
            for table in [Some(&reduced), None].into_iter().take(1 + usize::from(subsets)) {
                let options = InformationOptions { tolerance: 0.02, ..InformationOptions::default() };
                let found = tally(&protocol, &prior, table, n, known, &options).unwrap();
                let off = (found.value - exact.value).abs();
                assert!(off < 4.0 * found.error + 1e-12, "{} {n}: {found:?} {exact:?}", protocol.kind());
                assert!(found.error <= 0.02);
            }
        }
    }

    #[test]
    fn points_have_tallies_too() {
        let points = vec![vec![0.2, 0.3, 0.5], vec![0.6, 0.4, 0.0]];
        let prior = Prior::Points(Points::new(vec![0.5, 0.5], points).unwrap());
        let protocol = Protocol::oue(3, 2.0).unwrap();
        let reduced = Reduced::new(&protocol, &prior).unwrap().unwrap();
        let exact = enumeration::tally(&reduced, 8);
        let known = enumeration::distribution(&reduced, 8);
        let options = InformationOptions { tolerance: 0.01, ..InformationOptions::default() };
        let found = tally(&protocol, &prior, Some(&reduced), 8, known, &options).unwrap();
        assert!((found.value - exact.value).abs() < 4.0 * found.error, "{found:?} {exact:?}");
    }
}
