//! A protocol under a prior, reduced to what carries information.
//!
//! Outputs with proportional rows are merged and impossible ones dropped; inputs with equal columns are
//! merged (their Dirichlet parameters add). `I(Y⃗;P)` and `I(Y⃗;T)` do not change. Probabilities are stored
//! relative to those of a *typical* report, `Q_{y|x} = π_y c_{yx}` with `π = Q E P`: at high privacy all `c`
//! are close to 1, and the information is of the order of their squared deviations, which differences of
//! entropies would lose.

use std::collections::HashMap;

use crate::model::error::Result;
use crate::model::evaluation::Evaluation;
use crate::model::prior::{Component, Prior, PriorParts};
use crate::model::protocol::Protocol;

/// Columns are merged when they agree to this many binary digits relative to the largest entry of their row.
const EQUAL_BITS: i32 = 44;

/// A protocol under a prior, reduced.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    /// `π_y`, the probability of each output.
    pub typical: Vec<f64>,
    /// `c_{yx}`, by output.
    pub ratios: Vec<Vec<f64>>,
    /// The components of the prior with their weights.
    pub parts: Vec<(f64, Component)>,
}

impl Reduced {
    /// Reduces a protocol under a prior; `None` for a custom prior.
    ///
    /// # Errors
    /// The canonical matrix is too large.
    pub(crate) fn new(protocol: &Protocol, prior: &Prior) -> Result<Option<Reduced>> {
        let Some(parts) = Component::parts_of(prior) else { return Ok(None) };
        let matrix = protocol.canonical_matrix()?;
        let rows: Vec<Vec<f64>> = matrix.rows().map(<[f64]>::to_vec).collect();
        let (inputs, image) = equal_columns(&rows);
        let mut first = vec![usize::MAX; inputs];
        image.iter().enumerate().rev().for_each(|(x, to)| first[*to] = x);
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| first.iter().map(|x| row[*x]).collect()).collect();
        let parts: Vec<(f64, Component)> =
            parts.into_iter().map(|(w, law)| (w, law.merged(inputs, &image))).collect();
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

    /// Reduces only the outputs, for a custom prior, whose components are unknown.
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

    /// Number of distinct inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.ratios[0].len()
    }

    /// Number of distinct outputs.
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

/// The components of a prior, on the remaining inputs if the protocol was reduced.
pub(crate) fn prior_parts<'a>(prior: &'a Prior, reduced: Option<&Reduced>) -> PriorParts<'a> {
    match (prior, reduced) {
        (Prior::Smooth(_) | Prior::Custom(_), _) | (_, None) => PriorParts::new(prior),
        (_, Some(reduced)) => PriorParts::Known(reduced.parts.clone()),
    }
}

/// Numbers the distinct columns in order of appearance: how many there are, and the index of each column.
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

    #[test]
    fn inputs_that_no_report_tells_apart_are_merged() {
        let protocol = Protocol::deterministic(vec![1, 0, 1, 0]).unwrap();
        let reduced = Reduced::new(&protocol, &Prior::jeffreys(4).unwrap()).unwrap().unwrap();
        assert_eq!((reduced.inputs(), reduced.outputs()), (2, 2));
        assert!(matches!(&reduced.parts[0].1, Component::Dirichlet(alpha) if alpha == &[1.0, 1.0]));
    }
}
