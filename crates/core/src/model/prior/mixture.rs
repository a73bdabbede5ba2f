//! Mixtures of Dirichlet distributions.

use super::check_lengths;
use super::dirichlet::Dirichlet;
use crate::model::error::{Error, Result, distribution};

/// A mixture of Dirichlet distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct DirichletMixture {
    weights: Vec<f64>,
    parts: Vec<Dirichlet>,
}

impl DirichletMixture {
    /// The mixture of the components with the given weights; components of weight zero are dropped.
    ///
    /// # Errors
    /// There is no component, the weights are not a distribution, or the components have different numbers of
    /// values.
    pub fn new(weights: Vec<f64>, parts: Vec<Dirichlet>) -> Result<Self> {
        check_lengths(weights.len(), "parts", parts.len())?;
        let weights = distribution("weights", weights)?;
        let a = parts[0].alpha().len();
        if let Some(position) = parts.iter().position(|part| part.alpha().len() != a) {
            let found = parts[position].alpha().len();
            return Err(Error::Mismatch { role: "part", position, found, expected: a });
        }
        let (weights, parts) = weights.into_iter().zip(parts).filter(|(w, _)| *w > 0.0).unzip();
        Ok(DirichletMixture { weights, parts })
    }

    /// The weights, all positive.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The distribution of the frequencies of `map(x)`.
    ///
    /// # Errors
    /// Fewer than two images occur.
    pub fn merged(&self, map: &[usize]) -> Result<Self> {
        let parts = self.parts.iter().map(|part| part.merged(map)).collect::<Result<_>>()?;
        DirichletMixture::new(self.weights.clone(), parts)
    }

    /// The components.
    pub fn parts(&self) -> &[Dirichlet] {
        &self.parts
    }
}
