//! A protocol under a prior with everything removed that tells nothing.
//!
//! Outputs with proportional rows are merged and impossible ones dropped, inputs with equal columns are merged (their
//! Dirichlet parameters add up). `I(Y⃗;P)` and `I(Y⃗;T)` do not change. Probabilities are kept relative to those of a *typical*
//! report, `Q_{y|x} = π_y c_{yx}` with `π = Q E P`: at high privacy all `c` are close to 1, and what is learned is of the order of
//! their squared deviations, which differences of entropies would lose.

use std::collections::HashMap;

use crate::model::error::Result;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::excess_entropy;
use crate::numerics::special::{ln_beta, ln_gamma};
use crate::numerics::stirling::ln_factorial;

/// Columns are merged when they agree to this many binary digits relative to the largest entry of their row.
const EQUAL_BITS: i32 = 44;

/// A protocol under a prior, reduced.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    /// `π_y`, the probability of each output.
    pub typical: Vec<f64>,
    /// `c_{yx}`, by output.
    pub ratios: Vec<Vec<f64>>,
    /// The parts of the prior with their weights.
    pub parts: Vec<(f64, Law)>,
}

/// One part of a prior.
#[derive(Clone, Debug)]
pub(crate) enum Law {
    /// A Dirichlet distribution with parameters `α`.
    Dirichlet(Vec<f64>),
    /// A known distribution.
    Point(Vec<f64>),
}

impl Law {
    fn map(&self, inputs: usize, image: &[usize]) -> Law {
        let merged = |values: &[f64]| {
            let mut sums = vec![0.0; inputs];
            image.iter().zip(values).for_each(|(x, v)| sums[*x] += v);
            sums
        };
        match self {
            Law::Dirichlet(alpha) => Law::Dirichlet(merged(alpha)),
            Law::Point(p) => Law::Point(merged(p)),
        }
    }

    /// `E P`.
    pub(crate) fn mean(&self) -> Vec<f64> {
        match self {
            Law::Dirichlet(alpha) => {
                let total: f64 = alpha.iter().sum();
                alpha.iter().map(|a| a / total).collect()
            }
            Law::Point(p) => p.clone(),
        }
    }

    /// `ln P(T = t)`.
    pub(crate) fn ln_tally(&self, t: &[u32]) -> f64 {
        let n: u32 = t.iter().sum();
        let terms = |f: &dyn Fn(usize, f64) -> f64| {
            t.iter().enumerate().map(|(x, &t)| f(x, f64::from(t))).sum::<f64>()
        };
        let own = match self {
            Law::Dirichlet(alpha) => {
                let total: f64 = alpha.iter().sum();
                terms(&|x, t| ln_rising(alpha[x], t)) - ln_rising(total, f64::from(n))
            }
            Law::Point(p) => terms(&|x, t| if t == 0.0 { 0.0 } else { t * p[x].ln() }),
        };
        own + ln_factorial(f64::from(n)) - terms(&|_, t| ln_factorial(t))
    }

    /// `E φ(R)` of `R = Σ_x c_x P_x`, with `φ(t) = t ln t − t + 1`.
    ///
    /// With `m = E R` it is `φ(m) + m E φ(R/m)`, of which the last is [`LinearForm::mean_excess`].
    pub(crate) fn mean_excess(&self, c: &[f64]) -> Evaluation {
        let deviation: f64 = self.mean().iter().zip(c).map(|(p_x, c_x)| (c_x - 1.0) * p_x).sum();
        let of_mean = Evaluation::closed_form(excess_entropy(deviation), 8);
        match self {
            Law::Point(_) => of_mean,
            Law::Dirichlet(alpha) => {
                let pairs: Vec<(f64, f64)> =
                    alpha.iter().copied().zip(c.iter().map(|c_x| c_x - 1.0)).collect();
                let around = LinearForm::from_deviations(&pairs).mean_excess();
                of_mean.plus(
                    Evaluation::new(around.value, around.error, Method::ClosedForm).times(1.0 + deviation),
                )
            }
        }
    }
}

/// `ln Γ(α + t)/Γ(α)`.
pub(crate) fn ln_rising(alpha: f64, t: f64) -> f64 {
    if t < 16.0 {
        return (0..t as u32).map(|k| (alpha + f64::from(k)).ln()).sum();
    }
    if alpha > SURE {
        return ln_gamma(t) - ln_beta(alpha, t);
    }
    libm::lgamma(alpha + t) - libm::lgamma(alpha)
}

/// Parameters beyond which the two log-gammas of `Γ(α + t)/Γ(α)` have more digits in common than is good: at `1e8` eight of the last.
const SURE: f64 = 1e4;

impl Reduced {
    /// Reduces a protocol under a prior; `None` for a prior of one's own.
    ///
    /// # Errors
    /// The canonical matrix is too large.
    pub(crate) fn new(protocol: &Protocol, prior: &Prior) -> Result<Option<Reduced>> {
        let Some(parts) = laws(prior) else { return Ok(None) };
        let matrix = protocol.canonical_matrix()?;
        let rows: Vec<Vec<f64>> = matrix.rows().map(<[f64]>::to_vec).collect();
        let (inputs, image) = equal_columns(&rows);
        let mut first = vec![usize::MAX; inputs];
        image.iter().enumerate().rev().for_each(|(x, to)| first[*to] = x);
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| first.iter().map(|x| row[*x]).collect()).collect();
        let parts: Vec<(f64, Law)> = parts.into_iter().map(|(w, law)| (w, law.map(inputs, &image))).collect();
        let mut mean = vec![0.0; inputs];
        for (w, law) in &parts {
            mean.iter_mut().zip(law.mean()).for_each(|(m, p)| *m += w * p);
        }
        let typical = |row: &[f64]| row.iter().zip(&mean).map(|(q, p)| q * p).sum::<f64>();
        let rows: Vec<(f64, Vec<f64>)> =
            rows.into_iter().map(|row| (typical(&row), row)).filter(|(pi, _)| *pi > 0.0).collect();
        Ok(Some(Reduced {
            typical: rows.iter().map(|(pi, _)| *pi).collect(),
            ratios: rows.iter().map(|(pi, row)| row.iter().map(|q| q / pi).collect()).collect(),
            parts,
        }))
    }

    /// Only the outputs reduced, for a prior of one's own, whose parts are not known.
    ///
    /// # Errors
    /// The canonical matrix is too large.
    pub(crate) fn of_outputs(protocol: &Protocol) -> Result<Reduced> {
        let matrix = protocol.canonical_matrix()?;
        let a = protocol.inputs();
        let typical: Vec<f64> = matrix.rows().map(|row| row.iter().sum::<f64>() / a as f64).collect();
        let ratio = |(row, pi): (&[f64], &f64)| row.iter().map(|q| q / pi).collect();
        let ratios = matrix.rows().zip(&typical).map(ratio).collect();
        Ok(Reduced { typical, ratios, parts: Vec::new() })
    }

    /// Number of inputs that differ.
    pub(crate) fn inputs(&self) -> usize {
        self.ratios[0].len()
    }

    /// Number of outputs that differ.
    pub(crate) fn outputs(&self) -> usize {
        self.typical.len()
    }

    /// `Q_{·|x}`.
    pub(crate) fn column(&self, x: usize) -> Vec<f64> {
        self.typical.iter().zip(&self.ratios).map(|(pi, c)| pi * c[x]).collect()
    }

    /// `Q p`.
    pub(crate) fn push_forward(&self, p: &[f64]) -> Vec<f64> {
        let ratio = |c: &[f64]| c.iter().zip(p).map(|(c_x, p_x)| c_x * p_x).sum::<f64>();
        self.typical.iter().zip(&self.ratios).map(|(pi, c)| pi * ratio(c)).collect()
    }

    /// `I(Y;P)` of one report, `Σ_y π_y E φ(R_y)`.
    pub(crate) fn one_report(&self) -> Evaluation {
        let outputs = self.typical.iter().zip(&self.ratios);
        let terms = outputs
            .flat_map(|(pi, c)| self.parts.iter().map(move |(w, law)| law.mean_excess(c).times(pi * w)));
        terms.fold(Evaluation::closed_form(0.0, 0), Evaluation::plus)
    }

    /// `ln P(T = t)`.
    pub(crate) fn ln_tally(&self, t: &[u32]) -> f64 {
        if let [(_, law)] = &self.parts[..] {
            return law.ln_tally(t);
        }
        self.parts.iter().map(|(w, law)| w * law.ln_tally(t).exp()).sum::<f64>().ln()
    }
}

/// The parts of a prior; `None` for a prior of one's own.
pub(crate) fn laws(prior: &Prior) -> Option<Vec<(f64, Law)>> {
    match prior {
        Prior::Points(p) => {
            Some(p.weights().iter().copied().zip(p.points().iter().cloned().map(Law::Point)).collect())
        }
        _ => Some(
            prior.dirichlets()?.into_iter().map(|(w, d)| (w, Law::Dirichlet(d.alpha().to_vec()))).collect(),
        ),
    }
}

/// Numbers the different columns in order of appearance: how many there are, and the number of each.
fn equal_columns(rows: &[Vec<f64>]) -> (usize, Vec<usize>) {
    let scales: Vec<f64> = rows
        .iter()
        .map(|row| f64::from(EQUAL_BITS).exp2() / row.iter().copied().fold(0.0, f64::max))
        .collect();
    let mut numbers = HashMap::new();
    let image: Vec<usize> = (0..rows[0].len())
        .map(|x| {
            let digits = |(row, scale): (&Vec<f64>, &f64)| {
                if row[x] > 0.0 { 1 + (row[x] * scale).round() as u64 } else { 0 }
            };
            let key: Vec<u64> = rows.iter().zip(&scales).map(digits).collect();
            let next = numbers.len();
            *numbers.entry(key).or_insert(next)
        })
        .collect();
    (numbers.len(), image)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the series of moments, `E φ(1+D) = Σ_k (−1)^k E D^k / (k(k−1))`, of which the second and third are closed forms.
    #[test]
    fn the_mean_excess_has_its_first_moments() {
        let (alpha, scale) = (vec![0.3, 1.2, 2.5], 1e-4);
        let c = [1.0 + 4.0 * scale, 1.0 - 3.0 * scale, 1.0 + 0.96 * scale];
        let law = Law::Dirichlet(alpha.clone());
        let total: f64 = alpha.iter().sum();
        let power = |k: i32| alpha.iter().zip(&c).map(|(a, c_x)| a * f64::powi(c_x - 1.0, k)).sum::<f64>();
        let second = (power(2) + power(1).powi(2)) / (total * (total + 1.0));
        let third = (2.0 * power(3) + 3.0 * power(1) * power(2) + power(1).powi(3))
            / (total * (total + 1.0) * (total + 2.0));
        let found = law.mean_excess(&c);
        assert!((found.value / (second / 2.0 - third / 6.0) - 1.0).abs() < 1e-7, "{found:?}");
    }

    #[test]
    fn inputs_that_no_report_tells_apart_are_merged() {
        let protocol = Protocol::deterministic(vec![1, 0, 1, 0]).unwrap();
        let reduced = Reduced::new(&protocol, &Prior::jeffreys(4).unwrap()).unwrap().unwrap();
        assert_eq!((reduced.inputs(), reduced.outputs()), (2, 2));
        assert!(matches!(&reduced.parts[0].1, Law::Dirichlet(alpha) if alpha == &[1.0, 1.0]));
    }
}
