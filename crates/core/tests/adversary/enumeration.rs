//! The evidence of few users as a literal sum over the tallies of their values.

use std::collections::HashMap;

use super::model::{Mixture, Reports, ln_beta, ln_sum_exp};

/// `ln m(y⃗) = ln Σ_t c_t E[Π_x P_x^{t_x}]`, where `c_t` are the coefficients of the polynomial `Π_i Σ_x q_{y_i x} p_x`.
pub fn ln_evidence(reports: &Reports, prior: &Mixture) -> f64 {
    let mut polynomial = HashMap::from([(vec![0u16; prior.inputs()], 1.0)]);
    for (row, count) in &reports.rows {
        for _ in 0..*count {
            polynomial = times(&polynomial, row);
        }
    }
    let term = |(t, c): (&Vec<u16>, &f64)| c.ln() + ln_moment(t, prior);
    ln_sum_exp(&polynomial.iter().filter(|(_, c)| **c > 0.0).map(term).collect::<Vec<_>>())
}

fn times(polynomial: &HashMap<Vec<u16>, f64>, row: &[f64]) -> HashMap<Vec<u16>, f64> {
    let mut product = HashMap::new();
    for (t, c) in polynomial {
        for (x, q) in row.iter().enumerate() {
            let mut t = t.clone();
            t[x] += 1;
            *product.entry(t).or_insert(0.0) += c * q;
        }
    }
    product
}

/// `ln E[Π_x P_x^{t_x}]`.
fn ln_moment(t: &[u16], prior: &Mixture) -> f64 {
    let part = |(w, alpha): (&f64, &Vec<f64>)| {
        let posterior: Vec<f64> = alpha.iter().zip(t).map(|(a, t)| a + f64::from(*t)).collect();
        w.ln() + ln_beta(&posterior) - ln_beta(alpha)
    };
    ln_sum_exp(&prior.weights.iter().zip(&prior.parts).map(part).collect::<Vec<_>>())
}
