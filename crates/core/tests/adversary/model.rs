//! The problem as the independent methods see it: rows of likelihoods, a mixture of Dirichlet distributions,
//! and simulated reports.

use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution as _, Gamma};

/// A prior: Dirichlet distributions with their weights.
#[derive(Clone, Debug)]
pub struct Mixture {
    pub weights: Vec<f64>,
    pub parts: Vec<Vec<f64>>,
}

impl Mixture {
    pub fn single(alpha: Vec<f64>) -> Self {
        Mixture { weights: vec![1.0], parts: vec![alpha] }
    }

    pub fn inputs(&self) -> usize {
        self.parts[0].len()
    }

    /// Draws `ln P`.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        ln_dirichlet(&self.parts[categorical(&self.weights, rng)], rng)
    }

    /// `ln` of the density with respect to `Π_x d ln P_x`, on the simplex: `Σ_x α_x ln p_x − ln B(α)` for one
    /// component.
    pub fn ln_density(&self, ln_p: &[f64]) -> f64 {
        let part = |(w, alpha): (&f64, &Vec<f64>)| {
            w.ln() - ln_beta(alpha) + alpha.iter().zip(ln_p).map(|(a, l)| a * l).sum::<f64>()
        };
        ln_sum_exp(&self.weights.iter().zip(&self.parts).map(part).collect::<Vec<_>>())
    }
}

/// How reports are generated.
#[derive(Clone, Debug)]
pub enum Source {
    /// `rows[y][x]`, the probability of `y` given `x`.
    Rows(Vec<Vec<f64>>),
    /// Independent bits: the user's value is set with probability `kappa`, any other with probability
    /// `lambda`.
    Bits { a: usize, kappa: f64, lambda: f64 },
}

impl Source {
    /// Simulates `n` users: their reports and the values behind them.
    pub fn collect(&self, ln_p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Collection {
        let p = exp(ln_p);
        let mut rows = Distinct::default();
        let senders = (0..n)
            .map(|_| {
                let x = categorical(&p, rng);
                (rows.number(self.report(x, rng)), x)
            })
            .collect();
        Collection { rows: rows.rows, senders }
    }

    /// Counts of the reports of `n` users, without their values: one binomial draw per output.
    pub fn tally(&self, ln_p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Reports {
        let Source::Rows(rows) = self else { return self.collect(ln_p, n, rng).reports() };
        let p = exp(ln_p);
        let shares: Vec<f64> = rows.iter().map(|row| mean(row, &p)).collect();
        let counts = multinomial(n, &shares, rng);
        let seen = rows.iter().zip(counts).filter(|(_, count)| *count > 0);
        Reports::new(seen.map(|(row, count)| (row.clone(), count)).collect())
    }

    /// The likelihood row of the report of a user with value `x`, up to a factor.
    fn report(&self, x: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Source::Rows(rows) => {
                let column: Vec<f64> = rows.iter().map(|row| row[x]).collect();
                rows[categorical(&column, rng)].clone()
            }
            Source::Bits { a, kappa, lambda } => {
                let set = |z: usize, rng: &mut ChaCha8Rng| {
                    rng.random::<f64>() < if z == x { *kappa } else { *lambda }
                };
                let bits: Vec<bool> = (0..*a).map(|z| set(z, rng)).collect();
                bits.into_iter().map(|bit| self.weight(bit)).collect()
            }
        }
    }

    /// The likelihood ratio of a value whose bit is set, or is not, to a value that no user holds.
    fn weight(&self, bit: bool) -> f64 {
        match self {
            Source::Bits { kappa, lambda, .. } if bit => kappa / lambda,
            Source::Bits { kappa, lambda, .. } => (1.0 - kappa) / (1.0 - lambda),
            Source::Rows(_) => unreachable!("rows have no bits"),
        }
    }
}

/// Distinct reports, numbered in order of first appearance.
#[derive(Default)]
struct Distinct {
    rows: Vec<Vec<f64>>,
    numbers: std::collections::HashMap<Vec<u64>, usize>,
}

impl Distinct {
    fn number(&mut self, row: Vec<f64>) -> usize {
        let key = row.iter().map(|q| q.to_bits()).collect();
        let next = self.rows.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.rows.push(row);
        }
        number
    }
}

/// Simulated reports in order, each with the index of its row and the value of its sender.
pub struct Collection {
    pub rows: Vec<Vec<f64>>,
    pub senders: Vec<(usize, usize)>,
}

impl Collection {
    pub fn reports(&self) -> Reports {
        let mut counts = vec![0; self.rows.len()];
        self.senders.iter().for_each(|(y, _)| counts[*y] += 1);
        Reports::new(self.rows.iter().cloned().zip(counts).collect())
    }
}

/// Distinct reports with their counts.
#[derive(Clone, Debug)]
pub struct Reports {
    pub rows: Vec<(Vec<f64>, u64)>,
}

impl Reports {
    /// Reports with equal likelihoods are merged.
    pub fn new(rows: Vec<(Vec<f64>, u64)>) -> Self {
        let (mut distinct, mut counts) = (Distinct::default(), Vec::new());
        for (row, count) in rows.into_iter().filter(|(_, count)| *count > 0) {
            let number = distinct.number(row);
            counts.resize(distinct.rows.len(), 0);
            counts[number] += count;
        }
        Reports { rows: distinct.rows.into_iter().zip(counts).collect() }
    }

    pub fn n(&self) -> f64 {
        self.rows.iter().map(|(_, count)| *count as f64).sum()
    }

    /// `ln f(y⃗|p)`, for one ordering.
    pub fn ln_likelihood(&self, ln_p: &[f64]) -> f64 {
        let p = exp(ln_p);
        self.rows.iter().map(|(row, count)| *count as f64 * mean(row, &p).ln()).sum()
    }

    /// Means and variances of the senders' tallies given `p`: a multinomial for each distinct report.
    pub fn tally_moments(&self, ln_p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (a, p) = (ln_p.len(), exp(ln_p));
        let (mut means, mut variances) = (vec![0.0; a], vec![0.0; a]);
        for (row, count) in &self.rows {
            let total = mean(row, &p);
            for x in 0..a {
                let share = row[x] * p[x] / total;
                means[x] += *count as f64 * share;
                variances[x] += *count as f64 * share * (1.0 - share);
            }
        }
        (means, variances)
    }
}

/// `Σ_x q_x p_x`.
pub fn mean(row: &[f64], p: &[f64]) -> f64 {
    row.iter().zip(p).map(|(q, p_x)| q * p_x).sum()
}

pub fn exp(ln_p: &[f64]) -> Vec<f64> {
    ln_p.iter().map(|l| l.exp()).collect()
}

pub fn ln_gamma(z: f64) -> f64 {
    libm::lgamma(z)
}

/// `ψ(z)`: recursion to `z ≥ 10`, then the asymptotic series.
pub fn digamma(z: f64) -> f64 {
    if z < 10.0 {
        return digamma(z + 1.0) - 1.0 / z;
    }
    let s = 1.0 / (z * z);
    z.ln()
        - 0.5 / z
        - s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s / 132.0))))
}

/// `ln B(α)`.
pub fn ln_beta(alpha: &[f64]) -> f64 {
    alpha.iter().map(|a| ln_gamma(*a)).sum::<f64>() - ln_gamma(alpha.iter().sum())
}

pub fn ln_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.iter().map(|v| (v - largest).exp()).sum::<f64>().ln()
}

/// An index with probability proportional to its weight.
pub fn categorical(weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut rest = rng.random::<f64>() * weights.iter().sum::<f64>();
    for (i, w) in weights.iter().enumerate() {
        rest -= w;
        if rest < 0.0 {
            return i;
        }
    }
    weights.iter().rposition(|w| *w > 0.0).unwrap()
}

/// Draws `ln P` of a Dirichlet distribution: `Gamma(α) = Gamma(α+1) U^{1/α}`, in log space.
pub fn ln_dirichlet(alpha: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let draw = |a: &f64, rng: &mut ChaCha8Rng| {
        let boosted: f64 = Gamma::new(a + 1.0, 1.0).unwrap().sample(rng);
        boosted.ln() + (1.0 - rng.random::<f64>()).ln() / a
    };
    let ln_g: Vec<f64> = alpha.iter().map(|a| draw(a, rng)).collect();
    let total = ln_sum_exp(&ln_g);
    ln_g.into_iter().map(|l| l - total).collect()
}

/// Multinomial counts, by successive binomial draws.
pub fn multinomial(n: u64, weights: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
    let mut rest = n;
    let mut tail: f64 = weights.iter().sum();
    weights
        .iter()
        .map(|w| {
            let share = if *w >= tail { 1.0 } else { (w / tail).clamp(0.0, 1.0) };
            let count = if rest == 0 { 0 } else { Binomial::new(rest, share).unwrap().sample(rng) };
            rest -= count;
            tail -= w;
            count
        })
        .collect()
}
