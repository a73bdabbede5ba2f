//! The prior as Monte Carlo sees it: something to draw from, part by part.

use rand::Rng;

use super::monte_carlo::pick;
use super::reduced::{Law, Reduced};
use crate::prior::{Dirichlet, OwnPrior, Prior};

/// The prior as the chains see it.
pub(crate) struct Belief<'a> {
    pub parts: Vec<(f64, Law)>,
    pub own: Option<&'a dyn OwnPrior>,
}

impl<'a> Belief<'a> {
    pub(crate) fn new(prior: &'a Prior, reduced: Option<&Reduced>) -> Self {
        if let Prior::Own(own) = prior {
            return Belief { parts: Vec::new(), own: Some(&**own) };
        }
        let parts =
            reduced.map(|r| r.parts.clone()).or_else(|| super::reduced::laws(prior)).unwrap_or_default();
        Belief { parts, own: None }
    }

    pub(crate) fn points(&self) -> bool {
        self.parts.iter().any(|(_, law)| matches!(law, Law::Point(_)))
    }

    /// A draw of `ln P` and the parameters of the part it is from.
    pub(crate) fn sample(&self, rng: &mut dyn Rng) -> (Vec<f64>, Vec<f64>) {
        if let Some(own) = self.own {
            let ln_p = own.sample_ln(rng);
            let flat = vec![1.0; ln_p.len()];
            return (ln_p, flat);
        }
        let weights: Vec<f64> = self.parts.iter().map(|(w, _)| *w).collect();
        match &self.parts[pick(&weights, 1.0, rng)].1 {
            // Unwrap safety: parameters of a valid prior, or sums of such, are valid; large sums are cut to the limit.
            Law::Dirichlet(alpha) => {
                let valid = Dirichlet::new(alpha.iter().map(|a| a.min(1e8)).collect()).unwrap();
                (valid.sample_ln(rng), alpha.clone())
            }
            Law::Point(p) => (p.iter().map(|p_x| p_x.ln()).collect(), Vec::new()),
        }
    }

    /// Draws the part again, given the distribution; its parameters replace `parameters`.
    pub(crate) fn resample_part(&self, ln_p: &[f64], parameters: &mut Vec<f64>, rng: &mut dyn Rng) {
        if self.parts.len() < 2 {
            return;
        }
        let ln_weight = |(w, law): &(f64, Law)| match law {
            Law::Dirichlet(alpha) => {
                let powers: f64 = alpha.iter().zip(ln_p).map(|(a, ln)| a * ln).sum();
                let normaliser: f64 = alpha.iter().map(|a| libm::lgamma(*a)).sum();
                w.ln() + powers - normaliser + libm::lgamma(alpha.iter().sum())
            }
            Law::Point(_) => f64::NEG_INFINITY,
        };
        let logs: Vec<f64> = self.parts.iter().map(ln_weight).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
        if let Law::Dirichlet(alpha) = &self.parts[pick(&weights, weights.iter().sum(), rng)].1 {
            parameters.clone_from(alpha);
        }
    }
}
