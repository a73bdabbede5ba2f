//! What the users know: the upper half of the information split.
//!
//! ```text
//! H(X⃗) = I(X⃗;P) + H(T|P) + H(X⃗|T),    H(T) = I(X⃗;P) + H(T|P)        [paper, Table "information split"]
//! ```
//!
//! # Method
//! Under `P ~ Dirichlet(α)` the tally `T_x` is Beta-binomial, and all of these are sums over `x` of expectations of one `T_x`
//! ([`super::lattice`]). The paper's sums over all `n^{a−1}` tallies are not needed. Written plainly the terms are of order
//! `n ln n` and the result of order `ln n`; so Stirling's leading terms are cancelled on paper. With `z = α_x + T_x`,
//! `m = E T_x`, `ε = T_x/m − 1`, `δ = z/E z − 1`, `φ(δ) = (1+δ) ln(1+δ) − δ` and the remainders `R`, `S` of [`crate::numerics::stirling`]:
//!
//! ```text
//! I(X⃗;P) = K(α0, n) − Σ_x E[ K(α_x, T_x) + α_x (ln(1+δ) − δ) ],
//!          K(α, t) = −½ ln(1+t/α) + R(z) − R(α) + t/(2z) − t R'(z)
//! H(T)   = Σ_x E[ m φ(ε) + S(T_x) − V(α_x, T_x) − E z · φ(δ) ] − S(n) + V(α0, n)        for large α0
//!          V(α, t) = −½ ln(1+t/α) + R(z) − R(α)
//! H(T)   = Σ_x ( ln Γ(α_x) + E ln Γ(T_x+1)/Γ(T_x+α_x) ) − (the same of α0, n)             for small α0
//! H(X⃗|T) = S(n) − Σ_x E[ T_x ln(T_x/n) + S(T_x) ]
//! ```
//!
//! The linear terms of `ε` and `δ` are left out because their expectations are 0. The two forms of `H(T)` lose about
//! `(n/α0) · 1e-16` and `α0 ln n · 1e-16`; the better one is taken.
//!
//! # Accuracy
//! Relative error below `1e-12` against 40-digit sums for `n ≤ 3000` and `1e-3 ≤ α ≤ 1e6`, and below `1e-11` between the sum over
//! all numbers and the sum over panels at `n = 2·10^5` (tests).

use super::lattice::Lattice;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Component;
use crate::model::prior::{Dirichlet, Prior};
use crate::numerics::special::{excess_entropy, ln1p_excess};
use crate::numerics::stirling::{factorial_remainder, ln_gamma_ratio, remainder, remainder_slope};
use crate::numerics::stop::check;

/// Nodes a panel, and the fewer ones that show the error.
const ORDERS: [usize; 2] = [20, 14];

/// Below this number of users every tally is visited, so that the sum is exact.
const ALL_VISITED: u64 = 64;

/// What the users know, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsersSide {
    /// `I(X⃗;P)`, what all values together tell about the distribution.
    pub distribution: Evaluation,
    /// `H(T|P)`, what the tallies tell about this group beyond the distribution.
    pub group: Evaluation,
    /// `H(X⃗|T)`, who holds what once the tallies are known.
    pub individual: Evaluation,
}

impl UsersSide {
    /// `H(T)`.
    pub fn tally(&self) -> Evaluation {
        sum(&[self.distribution, self.group])
    }

    /// `H(X⃗|P)`.
    pub fn private(&self) -> Evaluation {
        sum(&[self.group, self.individual])
    }

    /// `H(X⃗)`.
    pub fn total(&self) -> Evaluation {
        sum(&[self.distribution, self.group, self.individual])
    }
}

/// A sum of numbers, with their errors added and their weakest method.
pub(crate) fn sum(parts: &[Evaluation]) -> Evaluation {
    let start = Evaluation::new(0.0, 0.0, Method::ClosedForm);
    parts
        .iter()
        .fold(start, |s, p| Evaluation::new(s.value + p.value, s.error + p.error, s.method.max(p.method)))
}

/// All of the users' side under a Dirichlet prior.
pub fn users_side(prior: &Dirichlet, n: u64) -> UsersSide {
    let [fine, coarse] = ORDERS.map(|order| DirichletSums::new(prior, n, order));
    let method = if n < ALL_VISITED { Method::Enumeration } else { Method::Quadrature };
    let evaluation = |part: fn(&DirichletSums) -> Sum| part(&fine).evaluation(&part(&coarse), method);
    UsersSide {
        distribution: evaluation(|s| s.distribution),
        group: evaluation(|s| s.tally.minus(&s.distribution)),
        individual: evaluation(|s| s.individual),
    }
}

/// `H(T|P)` under a prior of any kind that has one exactly: Dirichlet distributions, their mixtures, and points.
pub fn group_private(prior: &Prior, n: u64) -> Option<Evaluation> {
    average(prior, n, |side| side.group, |s| s.tally)
}

/// `H(T|P)` under parts of a prior.
pub(crate) fn group_of_components(parts: &[(f64, Component)], n: u64) -> Evaluation {
    let of_component = |component: &Component| match component {
        // Unwrap safety: parameters of a valid prior, or sums of such, are valid; large sums are cut to the limit.
        Component::Dirichlet(alpha) => {
            users_side(&Dirichlet::new(alpha.iter().map(|a| a.min(1e8)).collect()).unwrap(), n).group
        }
        Component::Point(p) => of_point(p, n, |sums| sums.tally),
    };
    sum(&parts.iter().map(|(w, law)| of_component(law).times(*w)).collect::<Vec<_>>())
}

/// `H(T|P=p)`, the entropy of a multinomial distribution.
pub(crate) fn multinomial_entropy(p: &[f64], n: u64) -> f64 {
    PointSums::new(p, n, ORDERS[1]).tally.value
}

/// `H(X⃗|T)`, likewise.
pub fn individual_private(prior: &Prior, n: u64) -> Option<Evaluation> {
    average(prior, n, |side| side.individual, |s| s.individual)
}

/// An expectation over the prior, which is linear in it.
fn average(
    prior: &Prior,
    n: u64,
    of_dirichlet: fn(&UsersSide) -> Evaluation,
    part: fn(&PointSums) -> Sum,
) -> Option<Evaluation> {
    let parts: Vec<Evaluation> = match prior {
        Prior::Points(points) => points
            .weights()
            .iter()
            .zip(points.points())
            .map(|(w, p)| of_point(p, n, part).times(*w))
            .collect(),
        _ => prior.dirichlets()?.into_iter().map(|(w, d)| of_dirichlet(&users_side(d, n)).times(w)).collect(),
    };
    Some(sum(&parts))
}

/// A sum of a known distribution.
fn of_point(p: &[f64], n: u64, part: fn(&PointSums) -> Sum) -> Evaluation {
    let [fine, coarse] = ORDERS.map(|order| PointSums::new(p, n, order));
    let method = if n < ALL_VISITED { Method::Enumeration } else { Method::Quadrature };
    part(&fine).evaluation(&part(&coarse), method)
}

/// A sum and the size of its terms, which tells the rounding error.
#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    size: f64,
}

impl Sum {
    fn new(value: f64) -> Self {
        Sum { value, size: value.abs() }
    }

    fn add(&mut self, count: f64, part: f64) {
        self.value += count * part;
        self.size += (count * part).abs();
    }

    fn minus(&self, other: &Sum) -> Sum {
        Sum { value: self.value - other.value, size: self.size + other.size }
    }

    fn evaluation(&self, coarse: &Sum, method: Method) -> Evaluation {
        let rounding = 4.0 * f64::EPSILON * self.size;
        Evaluation::new(self.value, (self.value - coarse.value).abs() + rounding, method)
    }
}

/// The sums of a Dirichlet prior.
struct DirichletSums {
    distribution: Sum,
    tally: Sum,
    individual: Sum,
}

impl DirichletSums {
    fn new(prior: &Dirichlet, n: u64, order: usize) -> Self {
        let (alpha_0, users) = (prior.total(), n as f64);
        let concentrated = alpha_0 * (users + 2.0).ln() > users / alpha_0;
        let whole = if concentrated {
            variation(alpha_0, users) - factorial_remainder(users)
        } else {
            -spread(alpha_0, users)
        };
        let mut sums = DirichletSums {
            distribution: Sum::new(distribution_term(alpha_0, users)),
            tally: Sum::new(whole),
            individual: Sum::new(factorial_remainder(users)),
        };
        for group in prior.groups() {
            check();
            let marginal = Marginal { n, alpha: group.alpha, rest: rest_of(prior, group.alpha) };
            let (count, nodes) = (group.count as f64, marginal.nodes(order));
            let tally = |t: f64| if concentrated { marginal.concentrated(t) } else { spread(group.alpha, t) };
            sums.distribution.add(count, -mean(&nodes, |t| marginal.distribution_term(t)));
            sums.tally.add(count, mean(&nodes, tally));
            sums.individual.add(count, mean(&nodes, |t| individual_term(t, users)));
        }
        sums
    }
}

/// `α0 − α` without cancellation.
fn rest_of(prior: &Dirichlet, alpha: f64) -> f64 {
    let of_group =
        |g: &crate::model::prior::Group| g.alpha * (g.count - usize::from(g.alpha == alpha)) as f64;
    prior.groups().iter().map(of_group).sum()
}

/// The mean of `f` over weighted nodes.
pub(crate) fn mean(nodes: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
    nodes.iter().map(|(t, w)| w * f(*t)).sum()
}

/// `V(α, t)`.
fn variation(alpha: f64, t: f64) -> f64 {
    -0.5 * (t / alpha).ln_1p() + remainder(alpha + t) - remainder(alpha)
}

/// `K(α, t)`.
fn distribution_term(alpha: f64, t: f64) -> f64 {
    let z = alpha + t;
    variation(alpha, t) + t / (2.0 * z) - t * remainder_slope(z)
}

/// `ln Γ(α) + ln Γ(t+1)/Γ(t+α)`.
fn spread(alpha: f64, t: f64) -> f64 {
    libm::lgamma(alpha) - ln_gamma_ratio(t, alpha)
}

/// `−t ln(t/n) − S(t)`.
fn individual_term(t: f64, n: f64) -> f64 {
    let ln_share = if t > 0.5 * n { ((t - n) / n).ln_1p() } else { (t / n).ln() };
    -factorial_remainder(t) - if t == 0.0 { 0.0 } else { t * ln_share }
}

/// The tally of one value: Beta-binomial.
pub(crate) struct Marginal {
    pub n: u64,
    pub alpha: f64,
    /// `α0 − α`.
    pub rest: f64,
}

impl Marginal {
    fn mean(&self) -> f64 {
        self.n as f64 * (self.alpha / (self.alpha + self.rest))
    }

    /// `δ = z/E z − 1`.
    fn deviation(&self, t: f64) -> f64 {
        (t - self.mean()) / (self.alpha + self.mean())
    }

    fn distribution_term(&self, t: f64) -> f64 {
        distribution_term(self.alpha, t) + self.alpha * ln1p_excess(self.deviation(t))
    }

    fn concentrated(&self, t: f64) -> f64 {
        let m = self.mean();
        m * excess_entropy(t / m - 1.0) + factorial_remainder(t)
            - variation(self.alpha, t)
            - (self.alpha + m) * excess_entropy(self.deviation(t))
    }

    /// Nodes and weights.
    pub(crate) fn nodes(&self, order: usize) -> Vec<(f64, f64)> {
        let (n, alpha, rest) = (self.n as f64, self.alpha, self.rest);
        let alpha_0 = alpha + rest;
        let other = Marginal { n: self.n, alpha: rest, rest: alpha };
        let concentrated = alpha_0 * (n + 2.0).ln() > n / alpha_0;
        let ln_weight = |t: f64| {
            if concentrated {
                -self.concentrated(t) - other.concentrated(n - t)
            } else {
                ln_gamma_ratio(t, alpha) + ln_gamma_ratio(n - t, rest)
            }
        };
        let variance = n * (alpha / alpha_0) * (rest / alpha_0) * (alpha_0 + n) / (alpha_0 + 1.0);
        let centre = match (alpha > 1.0, rest > 1.0) {
            (true, true) => n * (alpha - 1.0) / (alpha_0 - 2.0),
            (true, false) => n,
            (false, true) => 0.0,
            (false, false) => n / 2.0,
        };
        Lattice {
            n: self.n,
            ln_weight: &ln_weight,
            centre,
            scale: &|_| 2.0 * variance.sqrt(),
            falls_left: alpha > 1.0,
            falls_right: rest > 1.0,
        }
        .nodes(order)
    }
}

/// The sums of a known distribution `p`.
struct PointSums {
    /// `H(T|P=p)`.
    tally: Sum,
    individual: Sum,
}

impl PointSums {
    fn new(p: &[f64], n: u64, order: usize) -> Self {
        let whole = factorial_remainder(n as f64);
        let mut sums = PointSums { tally: Sum::new(-whole), individual: Sum::new(whole) };
        for &p_x in p.iter().filter(|p_x| **p_x > 0.0) {
            check();
            let nodes = binomial_nodes(n, p_x, order);
            sums.tally.add(1.0, mean(&nodes, |t| point_term(t, n as f64 * p_x)));
            sums.individual.add(1.0, mean(&nodes, |t| individual_term(t, n as f64)));
        }
        sums
    }
}

/// `m φ(t/m − 1) + S(t)`.
pub(crate) fn point_term(t: f64, m: f64) -> f64 {
    m * excess_entropy(t / m - 1.0) + factorial_remainder(t)
}

/// Nodes and weights of a binomial distribution.
pub(crate) fn binomial_nodes(n: u64, p: f64, order: usize) -> Vec<(f64, f64)> {
    let users = n as f64;
    if p >= 1.0 {
        return vec![(users, 1.0)];
    }
    let ln_weight = |t: f64| -point_term(t, users * p) - point_term(users - t, users * (1.0 - p));
    let lattice = Lattice {
        n,
        ln_weight: &ln_weight,
        centre: users * p,
        scale: &|_| 2.0 * (users * p * (1.0 - p)).sqrt(),
        falls_left: true,
        falls_right: true,
    };
    lattice.nodes(order)
}

#[cfg(test)]
#[allow(clippy::excessive_precision)] // Reference values keep the digits they were found with.
mod tests {
    use super::*;
    use crate::model::prior::Points;

    fn symmetric(a: usize, alpha: f64) -> Dirichlet {
        Dirichlet::symmetric(a, alpha).unwrap()
    }

    fn close(found: Evaluation, expected: f64, tolerance: f64) {
        let off = (found.value / expected - 1.0).abs();
        assert!(off < tolerance, "{found:?}, expected {expected}: off by {off:e}");
    }

    #[test]
    fn agrees_with_forty_digit_sums() {
        // Sums over all tallies in 45-digit arithmetic: I(X⃗;P), H(T|P), H(X⃗|T).
        let cases: [(&[f64], u64, f64, f64, f64); 6] = [
            (&[0.5; 3], 3000, 7.028815160047336, 7.849834189947799, 1992.1501658100522),
            (&[0.3, 1.2, 2.5], 777, 4.7144197737638915, 6.206417439229099, 511.3113662632855),
            (&[0.001, 0.002], 500, 0.701840020654497, 0.02613252026911886, 1.0668955288544826),
            (&[1e6, 2e6], 2000, 0.00033322226232715413, 4.46732997848585, 1268.5606732778713),
            (&[30.0, 5.0, 0.05], 3000, 2.935242966025566, 4.856109680099296, 1204.0255864899927),
            (&[100.0, 400.0], 1500, 0.6928633629026434, 4.157001313114127, 744.9492589689783),
        ];
        for (alpha, n, distribution, group, individual) in cases {
            let side = users_side(&Dirichlet::new(alpha.to_vec()).unwrap(), n);
            close(side.distribution, distribution, 1e-12);
            close(side.group, group, 1e-12);
            close(side.individual, individual, 1e-12);
        }
    }

    #[test]
    fn one_user_has_only_one_value() {
        let side = users_side(&symmetric(3, 0.5), 1);
        close(side.distribution, 0.43194562200144304, 1e-14);
        close(side.group, 2.0 / 3.0, 1e-14);
        assert!(side.individual.value.abs() < 1e-15);
    }

    #[test]
    fn panels_agree_with_the_sum_over_all_numbers() {
        for (alpha, rest) in [(0.5, 1.0), (0.05, 0.2), (3.0, 40.0), (0.5, 2000.0), (2000.0, 0.5)] {
            let marginal = Marginal { n: 200_000, alpha, rest };
            let f = |t: f64| spread(alpha, t);
            let panels = mean(&marginal.nodes(20), f);
            let ln_w = |t: f64| ln_gamma_ratio(t, alpha) + ln_gamma_ratio(2e5 - t, rest);
            let all = (0..=200_000)
                .map(|t| (ln_w(f64::from(t)) - ln_w(if alpha > rest { 2e5 } else { 0.0 })).exp());
            let (sum, total) =
                all.zip(0..).fold((0.0, 0.0), |(s, w), (p, t)| (s + p * f(f64::from(t)), w + p));
            assert!(
                (panels - sum / total).abs() < 1e-11 * panels.abs(),
                "{alpha} {rest}: {panels} {}",
                sum / total
            );
        }
    }

    #[test]
    fn a_million_million_users_follow_the_expansion() {
        // I(X⃗;P) = ((a−1)/2) ln(n/(2πe)) + h(P) + ½ Σ E(−ln P_x)/… + O(1/n) for Dirichlet(α) with α > 1:
        // the next term is of order 1/n, here 1e-12.
        let (alpha, n) = ([3.0, 4.0], 1e12);
        let side = users_side(&Dirichlet::new(alpha.to_vec()).unwrap(), n as u64);
        let psi = crate::numerics::special::digamma;
        let h = libm::lgamma(3.0) + libm::lgamma(4.0) - libm::lgamma(7.0) - 2.0 * psi(3.0) - 3.0 * psi(4.0)
            + 5.0 * psi(7.0);
        let fisher = -0.5 * (psi(3.0) + psi(4.0) - 2.0 * psi(7.0));
        let expected = 0.5 * (n / (2.0 * std::f64::consts::PI * std::f64::consts::E)).ln() + h + fisher;
        close(side.distribution, expected, 1e-12);
        assert!(side.distribution.error < 1e-10);
        // H(T) → ln n + h(P).
        close(side.tally(), n.ln() + h, 1e-12);
    }

    #[test]
    fn a_point_prior_is_the_limit_of_concentrated_ones() {
        let points =
            Prior::Points(Points::new(vec![0.5, 0.5], vec![vec![0.25, 0.75], vec![0.75, 0.25]]).unwrap());
        let dirichlet = users_side(&Dirichlet::new(vec![0.25e8, 0.75e8]).unwrap(), 100);
        close(group_private(&points, 100).unwrap(), dirichlet.group.value, 1e-6);
        close(individual_private(&points, 100).unwrap(), dirichlet.individual.value, 1e-6);
        // Two fair coins: H(T|P) = 1.5 ln 2 and H(X⃗|T) = 0.5 ln 2.
        let coin = Prior::Points(Points::new(vec![0.9, 0.1], vec![vec![0.5, 0.5], vec![1.0, 0.0]]).unwrap());
        close(group_private(&coin, 2).unwrap(), 0.9 * 1.5 * 2f64.ln(), 1e-14);
        close(individual_private(&coin, 2).unwrap(), 0.9 * 0.5 * 2f64.ln(), 1e-14);
    }

    #[test]
    fn large_groups_and_tiny_parameters_stay_finite() {
        for (a, alpha, n) in
            [(1_000_000, 0.5, 1000), (3, 1e-4, 1_000_000_000_000), (3, 1e8, 1), (4, 1e8, 10_000_000)]
        {
            let side = users_side(&symmetric(a, alpha), n);
            assert!(
                side.distribution.value > 0.0 && side.group.value > 0.0 && side.individual.value > -1e-12,
                "{side:?}"
            );
            assert!(side.distribution.error < 1e-9 * side.distribution.value.max(1e-3), "{side:?}");
        }
        // I(X;P) = (a−1)/(2α0) for one user and a concentrated prior.
        close(users_side(&symmetric(3, 1e8), 1).distribution, 1.0 / 3e8, 1e-7);
    }
}
