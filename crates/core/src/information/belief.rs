//! The prior as Monte Carlo sees it: something to draw from, part by part.

use rand::Rng;

use crate::likelihood::reduced::{Law, Reduced};
use crate::mcmc::target::ChainPrior;
use crate::model::prior::{OwnPrior, Prior};
use crate::numerics::random::pick;

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
        let parts = reduced
            .map(|r| r.parts.clone())
            .or_else(|| crate::likelihood::reduced::laws(prior))
            .unwrap_or_default();
        Belief { parts, own: None }
    }

    /// A draw of `ln P`.
    pub(crate) fn sample(&self, rng: &mut dyn Rng) -> Vec<f64> {
        if let Some(own) = self.own {
            return own.sample_ln(rng);
        }
        let weights: Vec<f64> = self.parts.iter().map(|(w, _)| *w).collect();
        self.sample_part(pick(&weights, 1.0, rng), rng)
    }

    /// A draw of `ln P` from one part.
    pub(crate) fn sample_part(&self, part: usize, rng: &mut dyn Rng) -> Vec<f64> {
        match &self.parts[part].1 {
            Law::Dirichlet(alpha) => ChainPrior::Dirichlet(alpha.clone()).sample_ln(rng),
            Law::Point(p) => p.iter().map(|p_x| p_x.ln()).collect(),
        }
    }

    /// The prior of chains on one part; `None` for a point.
    pub(crate) fn chain_prior(&self, part: usize) -> Option<ChainPrior<'a>> {
        if let Some(own) = self.own {
            return Some(ChainPrior::Custom(own));
        }
        match &self.parts[part].1 {
            Law::Dirichlet(alpha) => Some(ChainPrior::Dirichlet(alpha.clone())),
            Law::Point(_) => None,
        }
    }
}
