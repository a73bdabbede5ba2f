//! Randomised response with any number of reports: independent shares conditioned to sum to 1.
//!
//! # The picture
//! Under a Dirichlet prior the posterior density after reports of randomised response is a product of one
//! factor per value,
//!
//! ```text
//! p(P | s) ∝ Π_x f_x(P_x)  on  Σ_x P_x = 1,      f_x(p) = p^{α_x−1} (1 + βp)^{s_x} e^{−λp},      β = e^ε − 1
//! ```
//!
//! The tilt `e^{−λp}` is constant where the sum is 1, and makes each `f_x` an integrable density on `(0, ∞)`
//! with integral `F_x`. So the posterior is the law of *independent* shares `P_x ~ f_x/F_x`, conditioned to
//! sum to 1.
//!
//! # Method
//! With `d` the density of the sum of the shares,
//! `E[Π_x (1 + βP_x)^{s_x}] = Γ(α0)/ΠΓ(α_x) · e^λ ΠF_x · d(1)`. `d` is an inverse Fourier transform of the
//! product of the characteristic functions `ψ_x`. The trapezoidal rule gives it to full accuracy from a few
//! dozen frequencies: the only error is aliasing, `d` many standard deviations away. The marginal density of
//! `P_x` is `f_x(p) d_x(1 − p)`, where `d_x` is the density of the sum of the others. `λ` is chosen so that
//! the means of the shares sum to about 1.
//!
//! Around its peak `p*`, in `v = ln p/p*`, a factor can be written without cancellation, whatever `s`:
//!
//! ```text
//! ln p f(p) = const + s L(β(p − p*)/(1 + βp*)) − α (e^v − 1 − v),      L(z) = ln(1 + z) − z
//! ```
//!
//! Draws are exact and independent: the widest of the shares that are away from 0 is left out, all others are
//! drawn, and the draw is accepted with probability proportional to the density of that share at the
//! remainder to 1.
//!
//! # Cost
//! About a thousand nodes times a hundred frequencies for each *different* share, whatever the number of
//! reports: values with the same parameter and the same number of reports have the same share. A draw takes
//! about `√a` proposals.
//!
//! # Where it does not apply
//! `d_x` is smooth if at least one of the other shares is several of its standard deviations away from 0.
//! Where one value has nearly all the mass and the rest cannot be distinguished from 0, [`Shares::without`]
//! returns `None`.

use std::collections::HashMap;
use std::f64::consts::PI;

use faer::c64;
use rand::{Rng, RngExt};

use crate::numerics::panels::Panels;
use crate::numerics::search::bisect;
use crate::numerics::special::{exp_m1_excess, ln_gamma, ln1p_excess};
use crate::numerics::stop;

/// Distance of the aliases of the density of a sum, in standard deviations.
const PERIOD: f64 = 40.0;

/// Largest frequency, in units of the inverse standard deviation of the sum; the nodes resolve no more.
const MAX_FREQUENCY: f64 = 20.0;

/// A characteristic function is cut off below this: rounding errors are then a tenth of it.
const ENDED: f64 = 1e-14;

/// Densities of a sum below this share of the largest are rounding errors.
const ROUNDING: f64 = 1e-13;

/// Relative agreement of the rules that integrate a factor.
const AGREEMENT: f64 = 1e-14;

/// The means of the shares sum to 1 within this many standard deviations.
const MAX_OFFSET: f64 = 0.5;

/// The factor of one value, as a density on `(0, ∞)`.
pub(crate) struct Share {
    alpha: f64,
    reports: f64,
    /// The peak `p*` of `p f(p)`, and `βp*/(1 + βp*)`.
    peak: f64,
    reach: f64,
    /// `ln F`.
    ln_total: f64,
    panels: Panels,
    /// `p − μ` with masses.
    nodes: Vec<(f64, f64)>,
    mean: f64,
    variance: f64,
    envelope: Envelope,
}

impl Share {
    fn new(alpha: f64, reports: f64, beta: f64, lambda: f64) -> Self {
        let peak = peak(alpha, reports, beta, lambda);
        let reach = beta * peak / (1.0 + beta * peak);
        let panels = Panels::new(&|v| ln_fall(alpha, reports, reach, v), 0.0, AGREEMENT);
        let top = alpha * peak.ln() + reports * (beta * peak).ln_1p() - lambda * peak;
        let mean_excess = panels.nodes().map(|(v, mass)| mass * v.exp_m1()).sum::<f64>();
        let nodes: Vec<(f64, f64)> =
            panels.nodes().map(|(v, mass)| (peak * (v.exp_m1() - mean_excess), mass)).collect();
        let variance = nodes.iter().map(|(off, mass)| mass * off * off).sum();
        let envelope = Envelope::new(&panels, &|v| ln_fall(alpha, reports, reach, v));
        let mean = peak * (1.0 + mean_excess);
        let ln_total = top + panels.ln_total();
        Share { alpha, reports, peak, reach, ln_total, panels, nodes, mean, variance, envelope }
    }

    /// `ln p f(p)` at `v = ln p/p*`, relative to the peak.
    fn ln_fall(&self, v: f64) -> f64 {
        ln_fall(self.alpha, self.reports, self.reach, v)
    }

    /// `ψ(jδ) = E e^{−ijδ(P − μ)}` for `j` below `count`.
    fn transform(&self, step: f64, count: usize) -> Vec<c64> {
        stop::check();
        let mut sums = vec![c64::new(0.0, 0.0); count];
        for (off, mass) in &self.nodes {
            let turn = c64::from_polar(1.0, -step * off);
            let mut term = c64::new(*mass, 0.0);
            for sum in &mut sums {
                *sum += term;
                term *= turn;
            }
        }
        sums
    }

    /// `ln f(p)`, up to a constant; `−∞` below 0.
    fn ln_density(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let v = (p / self.peak).ln();
        self.ln_fall(v) - v
    }

    /// The mode of `f` itself away from 0: the larger root of `α − 1 + sβp/(1 + βp) = λp`.
    fn density_peak(&self, beta: f64, lambda: f64) -> f64 {
        let (less, b) = (self.alpha - 1.0, lambda - (self.alpha - 1.0 + self.reports) * beta);
        let root = (b * b + 4.0 * lambda * beta * less).max(0.0).sqrt();
        (root - b) / (2.0 * lambda * beta)
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        self.peak * self.envelope.draw(&|v| self.ln_fall(v), rng).exp()
    }
}

/// The root of `α + sβp/(1 + βp) = λp`.
fn peak(alpha: f64, reports: f64, beta: f64, lambda: f64) -> f64 {
    let b = lambda - (alpha + reports) * beta;
    let root = (b * b + 4.0 * lambda * beta * alpha).sqrt();
    if b > 0.0 { 2.0 * alpha / (b + root) } else { (root - b) / (2.0 * lambda * beta) }
}

fn ln_fall(alpha: f64, reports: f64, reach: f64, v: f64) -> f64 {
    let own = if reports > 0.0 { reports * ln1p_excess(reach * v.exp_m1()) } else { 0.0 };
    own - alpha * exp_m1_excess(v)
}

/// A step function above a unimodal density, for rejection sampling.
struct Envelope {
    /// Ends of the steps, and the cumulative masses.
    edges: Vec<f64>,
    below: Vec<f64>,
    ln_heights: Vec<f64>,
}

impl Envelope {
    /// The largest value in a panel is at the end closer to the peak, which is at 0 and is itself an edge.
    fn new(panels: &Panels, ln_at: &dyn Fn(f64) -> f64) -> Self {
        let edges = panels.edges_between();
        let at: Vec<f64> = edges.iter().map(|v| ln_at(*v)).collect();
        let ln_heights: Vec<f64> = at.windows(2).map(|ends| ends[0].max(ends[1])).collect();
        let mut total = 0.0;
        let masses = edges.windows(2).zip(&ln_heights).map(|(ends, ln)| (ends[1] - ends[0]) * ln.exp());
        let below = masses.map(|mass| {
            total += mass;
            total
        });
        let below = below.collect();
        Envelope { edges, below, ln_heights }
    }

    fn draw(&self, ln_at: &dyn Fn(f64) -> f64, rng: &mut dyn Rng) -> f64 {
        let total = self.below[self.below.len() - 1];
        loop {
            let mass = rng.random::<f64>() * total;
            let i = self.below.partition_point(|below| *below <= mass).min(self.ln_heights.len() - 1);
            let v = self.edges[i] + rng.random::<f64>() * (self.edges[i + 1] - self.edges[i]);
            if rng.random::<f64>().ln() < ln_at(v) - self.ln_heights[i] {
                return v;
            }
        }
    }
}

/// The shares of all values.
pub(crate) struct Shares {
    /// The different shares, how many values have each, and that of each value.
    kinds: Vec<Share>,
    counts: Vec<usize>,
    kind: Vec<usize>,
    lambda: f64,
    /// The sum of all means minus 1.
    offset: f64,
    variance: f64,
    /// The share that draws leave out, and the largest value of its `ln f`.
    last: Option<(usize, f64)>,
}

impl Shares {
    /// For the Dirichlet parameters `alpha` and the number of reports of each value.
    pub(crate) fn new(alpha: &[f64], beta: f64, s: &[u64]) -> Self {
        let mut shares = Shares::tilted(alpha, beta, s, first_tilt(alpha, beta, s));
        // Newton's method: d/dλ of the sum of the means is minus the variance of the sum.
        for _ in 0..8 {
            if shares.offset.abs() <= MAX_OFFSET * shares.variance.sqrt() {
                break;
            }
            let lambda = shares.lambda + shares.offset / shares.variance;
            shares = Shares::tilted(alpha, beta, s, lambda.max(0.5 * shares.lambda));
        }
        shares
    }

    fn tilted(alpha: &[f64], beta: f64, s: &[u64], lambda: f64) -> Self {
        let (mut kinds, mut counts, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        let mut kind_of = |(alpha, s): (&f64, &u64)| {
            let kind = *known.entry((alpha.to_bits(), *s)).or_insert_with(|| {
                kinds.push(Share::new(*alpha, *s as f64, beta, lambda));
                counts.push(0);
                kinds.len() - 1
            });
            counts[kind] += 1;
            kind
        };
        let kind: Vec<usize> = alpha.iter().zip(s).map(&mut kind_of).collect();
        let all = |of: fn(&Share) -> f64| {
            kinds.iter().zip(&counts).map(|(share, count)| *count as f64 * of(share)).sum::<f64>()
        };
        let (offset, variance) = (all(|share| share.mean) - 1.0, all(|share| share.variance));
        let last = last_drawn(&kinds, beta, lambda)
            .and_then(|(last, ln_top)| Some((kind.iter().position(|kind| *kind == last)?, ln_top)));
        Shares { kinds, counts, kind, lambda, offset, variance, last }
    }

    /// The share of a value.
    fn share(&self, x: usize) -> &Share {
        &self.kinds[self.kind[x]]
    }

    /// The different shares, with how many values have each.
    fn counted(&self) -> impl Iterator<Item = (&Share, usize)> {
        self.kinds.iter().zip(self.counts.iter().copied())
    }

    /// The log density of the sum of all shares at 1, or `None` if it is not smooth.
    pub(crate) fn ln_sum_at_1(&self) -> Option<f64> {
        let density = self.sum()?.at(-self.offset);
        (density > 0.0).then(|| density.ln())
    }

    /// `ln E[Π_x (1 + βP_x)^{s_x}]`, given [`Shares::ln_sum_at_1`].
    pub(crate) fn ln_evidence(&self, ln_sum_at_1: f64) -> f64 {
        let alpha_0: f64 = self.counted().map(|(share, count)| count as f64 * share.alpha).sum();
        let total = |(share, count): (&Share, usize)| count as f64 * (share.ln_total - ln_gamma(share.alpha));
        let totals: f64 = self.counted().map(total).sum();
        ln_gamma(alpha_0) + self.lambda + totals + ln_sum_at_1
    }

    /// The distribution of the sum of all shares.
    fn sum(&self) -> Option<Sum> {
        let grid = Grid::new(self.variance);
        let mut product = vec![c64::new(1.0, 0.0); grid.count];
        for (share, count) in self.counted() {
            times(&mut product, &power(share.transform(grid.step, grid.count), count));
        }
        Sum::new(product, grid, self.variance)
    }

    /// For each different share the distribution of the sum of the others; `None` if one of them is not
    /// smooth.
    pub(crate) fn without(&self) -> Option<Vec<Sum>> {
        let grid = Grid::new(self.variance);
        let transforms: Vec<Vec<c64>> =
            self.kinds.iter().map(|share| share.transform(grid.step, grid.count)).collect();
        let powers: Vec<Vec<c64>> =
            transforms.iter().zip(&self.counts).map(|(psi, count)| power(psi.clone(), *count)).collect();
        let mut after = vec![vec![c64::new(1.0, 0.0); grid.count]];
        for power in powers[1..].iter().rev() {
            let mut next = after[after.len() - 1].clone();
            times(&mut next, power);
            after.push(next);
        }
        let mut before = vec![c64::new(1.0, 0.0); grid.count];
        let mut sums = Vec::with_capacity(self.kinds.len());
        for (kind, after) in after.iter().rev().enumerate() {
            let mut others = before.clone();
            times(&mut others, after);
            times(&mut others, &power(transforms[kind].clone(), self.counts[kind] - 1));
            let variance = self.variance_without(kind);
            // Where this share is most of the sum, the others need their own grid.
            let own = variance < 0.5 * self.variance;
            sums.push(if own { self.sum_without(kind) } else { Sum::new(others, grid, variance) }?);
            times(&mut before, &powers[kind]);
        }
        Some(sums)
    }

    /// The different shares, with how many values other than one of this kind have each.
    fn others(&self, kind: usize) -> impl Iterator<Item = (&Share, usize)> {
        self.counted().enumerate().map(move |(k, (share, count))| (share, count - usize::from(k == kind)))
    }

    fn variance_without(&self, kind: usize) -> f64 {
        self.others(kind).map(|(share, count)| count as f64 * share.variance).sum()
    }

    fn sum_without(&self, kind: usize) -> Option<Sum> {
        let variance = self.variance_without(kind);
        let grid = Grid::new(variance);
        let mut product = vec![c64::new(1.0, 0.0); grid.count];
        for (share, count) in self.others(kind).filter(|(_, count)| *count > 0) {
            times(&mut product, &power(share.transform(grid.step, grid.count), count));
        }
        Sum::new(product, grid, variance)
    }

    /// The log posterior density of `ln P_x` at `ln p`, up to a constant, from what [`Shares::without`] says.
    pub(crate) fn ln_marginal(&self, x: usize, sums: &[Sum], ln_p: f64) -> f64 {
        let (share, others) = (self.share(x), &sums[self.kind[x]]);
        let v = ln_p - share.peak.ln();
        share.ln_fall(v) + others.ln_at(share.mean - share.peak - share.peak * v.exp_m1() - self.offset)
    }

    /// The log of the integral that the exponential of [`Shares::ln_marginal`] must have, given
    /// [`Shares::ln_sum_at_1`].
    pub(crate) fn ln_marginal_total(&self, x: usize, ln_sum_at_1: f64) -> f64 {
        ln_sum_at_1 + self.share(x).panels.ln_total()
    }

    /// Relative errors of [`Shares::ln_marginal`] due to the rounding of `ln p`.
    pub(crate) fn rounding(&self, x: usize) -> f64 {
        (32.0 * f64::EPSILON * self.share(x).mean / self.share(x).variance.sqrt()).max(1e-13)
    }

    /// Whether draws are possible: at least one share is away from 0.
    pub(crate) fn has_draws(&self) -> bool {
        self.last.is_some()
    }

    /// An exact draw of the distribution; empty if draws are not possible.
    pub(crate) fn draw(&self, rng: &mut dyn Rng) -> Vec<f64> {
        let Some((last, ln_top)) = self.last else { return Vec::new() };
        loop {
            stop::check();
            let values = 0..self.kind.len();
            let mut p: Vec<f64> =
                values.map(|x| if x == last { 0.0 } else { self.share(x).draw(rng) }).collect();
            let missing = 1.0 - p.iter().sum::<f64>();
            if rng.random::<f64>().ln() < self.share(last).ln_density(missing) - ln_top {
                p[last] = missing;
                return p;
            }
        }
    }
}

/// The widest of the shares that are away from 0, with the largest value of its `ln f`. Closer to 0 a density
/// with `α < 1` is unbounded, and may have most of its mass there.
fn last_drawn(shares: &[Share], beta: f64, lambda: f64) -> Option<(usize, f64)> {
    /// Standard deviations between a share and 0: a normal density is `e^−40` there.
    const AWAY: f64 = 9.0;
    let away = |share: &Share| share.mean > AWAY * share.variance.sqrt();
    let candidates = (0..shares.len()).filter(|x| away(&shares[*x]));
    let last = candidates.max_by(|x, y| shares[*x].variance.total_cmp(&shares[*y].variance))?;
    let ln_top = shares[last].ln_density(shares[last].density_peak(beta, lambda));
    ln_top.is_finite().then_some((last, ln_top))
}

/// A tilt for which the peaks of the shares sum to 1, by bisection; `α0 ≤ λ ≤ α0 + n`.
fn first_tilt(alpha: &[f64], beta: f64, s: &[u64]) -> f64 {
    let alpha_0: f64 = alpha.iter().sum();
    let n = s.iter().sum::<u64>() as f64;
    let peaks = |tilt: f64| alpha.iter().zip(s).map(move |(alpha, s)| peak(*alpha, *s as f64, beta, tilt));
    let (low, high) = bisect(alpha_0, alpha_0 + n, 60, |tilt| peaks(tilt).sum::<f64>() > 1.0);
    0.5 * (low + high)
}

/// Each entry to a power.
fn power(transform: Vec<c64>, count: usize) -> Vec<c64> {
    if count == 1 {
        return transform;
    }
    // A characteristic function is at most 1 in modulus, so its logarithm never overflows.
    let to_the = |psi: c64| {
        let (ln_modulus, angle) = (psi.norm().ln(), psi.arg());
        c64::from_polar((count as f64 * ln_modulus).exp(), count as f64 * angle)
    };
    transform.into_iter().map(|psi| if count == 0 { c64::new(1.0, 0.0) } else { to_the(psi) }).collect()
}

fn times(product: &mut [c64], factor: &[c64]) {
    product.iter_mut().zip(factor).for_each(|(product, factor)| *product *= factor);
}

/// The frequencies `jδ` at which characteristic functions are evaluated.
#[derive(Clone, Copy)]
struct Grid {
    step: f64,
    count: usize,
}

impl Grid {
    fn new(variance: f64) -> Self {
        let step = 2.0 * PI / (PERIOD * variance.sqrt());
        Grid { step, count: (MAX_FREQUENCY * PERIOD / (2.0 * PI)) as usize }
    }
}

/// The density of a sum of shares, around its mean.
pub(crate) struct Sum {
    transform: Vec<c64>,
    step: f64,
    variance: f64,
    /// Densities below this are rounding errors.
    rounding: f64,
}

impl Sum {
    /// From its characteristic function, if that decays far enough.
    fn new(mut transform: Vec<c64>, grid: Grid, variance: f64) -> Option<Self> {
        let end = transform.iter().rposition(|psi| psi.norm_sqr() > ENDED * ENDED)?;
        if end + 1 >= transform.len() {
            return None;
        }
        transform.truncate(end + 1);
        let top = transform.iter().map(|psi| psi.norm()).sum::<f64>() * grid.step / PI;
        Some(Sum { transform, step: grid.step, variance, rounding: ROUNDING * top })
    }

    /// The density at distance `off` from the mean.
    fn at(&self, off: f64) -> f64 {
        let turn = c64::from_polar(1.0, self.step * off);
        // Horner's scheme for Σ_j ψ_j turn^j.
        let sum = self.transform.iter().rev().fold(c64::new(0.0, 0.0), |sum, psi| sum * turn + psi);
        (2.0 * sum.re - 1.0) * self.step / (2.0 * PI)
    }

    /// Its logarithm. Where the density is lost in rounding errors, that of a normal density, so that there
    /// is only one peak.
    fn ln_at(&self, off: f64) -> f64 {
        let density = if off * off > 144.0 * self.variance { 0.0 } else { self.at(off) };
        if density > self.rounding {
            return density.ln();
        }
        (-off * off / (2.0 * self.variance)).min(-30.0) + self.rounding.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::super::polynomials::{EXACT_CUTOFF, Polynomials};
    use super::*;
    use crate::model::prior::Dirichlet;
    use crate::numerics::random::generator;

    /// The products of polynomials are exact, but their cost grows with the number of reports.
    #[test]
    fn evidence_is_that_of_the_polynomials() {
        for (alpha, epsilon, s) in [
            (vec![0.5; 3], 1.0f64, vec![5_000, 3_000, 2_000]),
            (vec![0.5; 3], 1.0, vec![5_000, 2_100, 2_080]),
            (vec![0.3, 2.0, 0.1, 40.0], 0.2, vec![9_000, 8_000, 8_100, 8_500]),
            (vec![0.05; 4], 3.0, vec![20_000, 300, 290, 310]),
            (vec![1.0; 2], 2.0, vec![70, 30]),
            (vec![0.5; 16], 0.5, (0..16).map(|x| 1000 + 40 * x).collect()),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let beta = epsilon.exp_m1();
            let polynomials = Polynomials::of_tally(&prior, beta, &s, EXACT_CUTOFF);
            let factors = s.iter().zip(prior.alpha()).map(|(s, alpha)| polynomials.factor(*alpha, *s));
            let exact = polynomials.ln_evidence(factors.collect());
            let shares = Shares::new(prior.alpha(), beta, &s);
            let found = shares.ln_evidence(shares.ln_sum_at_1().unwrap());
            assert!((found - exact).abs() < 1e-12 * (1.0 + exact.abs()), "{found} {exact} {epsilon} {s:?}");
        }
    }

    /// Means and variances of 4,000 draws against the marginals; each is off by more than 4 of its standard
    /// errors with probability 6e-5. The second case has a value that is either absent or 2.5 standard
    /// deviations of its noise: its density has an infinite peak at 0 and another mode beside it.
    #[test]
    fn draws_have_the_moments_of_the_marginals() {
        let lies = 1e9 / (2.0 + 0.1f64.exp());
        let rare = (lies + 2.5 * lies.sqrt()) as u64;
        let half = (1_000_000_000 - rare) / 2;
        for (alpha, epsilon, s) in [
            (vec![0.5; 4], 1f64, vec![30_000_000, 20_000_000, 10_000_000, 9_000_000]),
            (vec![0.01; 3], 0.1, vec![half, half, rare]),
        ] {
            let shares = Shares::new(&alpha, epsilon.exp_m1(), &s);
            let sums = shares.without().unwrap();
            let draws: Vec<Vec<f64>> = (0..4000).map(|i| shares.draw(&mut generator(5, i))).collect();
            let ln_sum = shares.ln_sum_at_1().unwrap();
            for x in 0..alpha.len() {
                let peak = shares.share(x).peak.ln();
                let panels = Panels::new(&|ln_p| shares.ln_marginal(x, &sums, ln_p), peak, 1e-9);
                let mean_of =
                    |f: &dyn Fn(f64) -> f64| panels.nodes().map(|(u, mass)| mass * f(u.exp())).sum::<f64>();
                let average = |f: &dyn Fn(f64) -> f64| draws.iter().map(|p| f(p[x])).sum::<f64>() / 4000.0;
                let mean = mean_of(&|p| p);
                let square = |p: f64| (p - mean) * (p - mean);
                for f in [&|p: f64| p - mean, &square as &dyn Fn(f64) -> f64] {
                    let expected = mean_of(f);
                    let error = (mean_of(&|p| (f(p) - expected).powi(2)) / 4000.0).sqrt();
                    assert!(
                        (average(f) - expected).abs() < 4.0 * error,
                        "{x}: {} {expected} {error}",
                        average(f)
                    );
                }
                let total = shares.ln_marginal_total(x, ln_sum);
                assert!((panels.ln_total() - total).abs() < 1e-8, "{x}: {} {total}", panels.ln_total());
            }
        }
    }
}
