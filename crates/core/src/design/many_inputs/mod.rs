//! The best mixture of subset selections for many inputs under a symmetric prior.
//!
//! At a node `p` of the prior the information of a mixture is a diagonal plus low rank, and so is its inverse `A` (orthogonal to `1`). The sensitivity of the size `k` is
//! ```text
//! tr(J⁻¹ J_k) = β² / (1 + βk/a) · E_S[ q(S) / (1 + β p(S)) ],   q(S) = 1_Sᵀ A 1_S,   S a random k-subset,   β = e^ε − 1
//! ```
//! which is averaged over the `a` windows of length `k` in a random circular order of the inputs (`windows`): sums over windows are differences of prefix
//! sums, `O(a · rank)` for each `k`. The weighted sensitivities of the mixture's own sizes add up to `a − 1` at every node. Their deviation from
//! that is a control variate: it is subtracted from all others.
//!
//! Not every `k` need be priced. A subset `T ⊃ S` of size `j > k` has `p(T) ≥ p(S)` and, for `T` uniform given `S`,
//! ```text
//! E q(T) = q(S)(1 − 2ρ + ρρ') + ρ(1 − ρ') tr_{S^c} A,   ρ = (j−k)/(a−k),  ρ' = (j−k−1)/(a−k−1)
//! ```
//! so two means at `k` bound the sensitivities of the sizes above it, and sizes are added where that bound exceeds the tolerance.

mod windows;

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use super::certificate::{Certificate, nan_to_infinity};
use super::cubature::EstimatedMean;
use super::tolerances::ManyInputsTolerances;
use super::{Design, Effort, subset_mixture};
use crate::design::optimal_parameter::best_subset_size;
use crate::fisher::expectation::quasi_monte_carlo::DirichletSequence;
use crate::fisher::{FisherInformation, Mixture, Point, SubsetSelection};
use crate::leakage::{GroupedPrior, subset_selection};
use crate::model::error::{Error, Result};
use crate::model::evaluation::Method;
use crate::model::prior::{Dirichlet, Prior};
use crate::numerics::stop::check;
use windows::Windows;

/// A design problem for many inputs.
pub(super) struct ManyInputs<'a> {
    dirichlet: &'a Dirichlet,
    epsilon: f64,
    effort: Effort<'a>,
    tolerances: ManyInputsTolerances,
}

/// Sizes with their weights in the mixture.
type Sizes = Vec<(usize, f64)>;

/// A node of the prior with an order of the inputs.
type OrderedNode = (Point, Vec<usize>);

impl<'a> ManyInputs<'a> {
    pub(super) fn new(
        dirichlet: &'a Dirichlet,
        epsilon: f64,
        effort: Effort<'a>,
        tolerances: ManyInputsTolerances,
    ) -> Self {
        ManyInputs { dirichlet, epsilon, effort, tolerances }
    }

    fn inputs(&self) -> usize {
        self.dirichlet.alpha().len()
    }

    /// Column generation over the sizes.
    pub(super) fn solve(&self) -> Result<Design> {
        let prior = Prior::Dirichlet(self.dirichlet.clone());
        let mut sizes: Sizes = vec![(best_subset_size(&prior, self.epsilon), 1.0)];
        let nodes = self.nodes();
        for round in 1.. {
            check();
            let priced = self.sizes_to_price(&sizes, &nodes[..self.tolerances.pilot_nodes])?;
            let reduced_costs = self.reduced_costs(&sizes, &priced, &nodes)?;
            let (best, most) = largest(&reduced_costs, |mean| mean.value);
            if most == f64::INFINITY {
                return Err(Error::DesignNotConverged);
            }
            if most <= self.entering_level() || round == self.tolerances.rounds {
                // The reduced costs of the mixture's own sizes are zero, except for the error of the eigenvalues.
                let rounding = self.tolerances.eigenvalues * self.inputs() as f64;
                let bound = largest(&reduced_costs, |mean| mean.value + mean.error).1.max(0.0) + rounding;
                return self.design(&sizes, bound, priced.len(), nodes.len());
            }
            sizes = self.with_size(sizes, best, &nodes)?;
        }
        Err(Error::DesignNotConverged)
    }

    /// The reduced cost above which a size enters.
    fn entering_level(&self) -> f64 {
        self.tolerances.entering_share * self.effort.gap * 2.0 * (self.inputs() as f64 - 1.0)
    }

    /// Independent nodes, each with an order of the inputs.
    fn nodes(&self) -> Vec<OrderedNode> {
        let count = (self.tolerances.nodes_times_inputs / self.inputs()).max(self.tolerances.min_nodes);
        let node = |i: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.effort.seed);
            rng.set_stream(i as u64);
            let mut order: Vec<usize> = (0..self.inputs()).collect();
            order.shuffle(&mut rng);
            let sequence = DirichletSequence::new(self.effort.seed, i as u32);
            (sequence.point(0, self.dirichlet.alpha()), order)
        };
        (0..count).into_par_iter().map(node).collect()
    }

    /// The mixture with one more size: multiplicative steps on the weights.
    fn with_size(&self, mut sizes: Sizes, entering: usize, nodes: &[OrderedNode]) -> Result<Sizes> {
        let weight = self.tolerances.entering_weight;
        sizes.iter_mut().for_each(|(_, other)| *other *= 1.0 - weight);
        sizes.push((entering, weight));
        let priced: Vec<usize> = sizes.iter().map(|(k, _)| *k).collect();
        for _ in 0..self.tolerances.multiplicative_steps {
            check();
            let reduced_costs = self.reduced_costs(&sizes, &priced, nodes)?;
            let level = self.inputs() as f64 - 1.0;
            let factor = |k: usize| (1.0 + reduced_costs[k - 1].value / level).powi(self.tolerances.exponent);
            sizes.iter_mut().for_each(|(k, weight)| *weight *= factor(*k));
            normalise(&mut sizes);
        }
        sizes.retain(|(_, weight)| *weight > self.tolerances.negligible_weight);
        normalise(&mut sizes);
        Ok(sizes)
    }

    /// Sizes such that the bound on those between them is below the tolerance on a few nodes.
    fn sizes_to_price(&self, sizes: &Sizes, pilots: &[OrderedNode]) -> Result<Vec<usize>> {
        let inputs = self.inputs();
        let mut priced: Vec<usize> = (0..)
            .map(|i| self.tolerances.size_ratio.powi(i) as usize)
            .take_while(|k| *k < inputs)
            .chain(sizes.iter().map(|(k, _)| *k))
            .collect();
        priced.sort_unstable();
        priced.dedup();
        let level = self.tolerances.bound_share * self.entering_level();
        loop {
            check();
            let bounds = self.reduced_costs(sizes, &priced, pilots)?;
            let ends = priced.iter().skip(1).copied().chain([inputs]);
            let midpoint = |(low, high): (&usize, usize)| {
                let between = (low + 1..high).map(|k| bounds[k - 1].value).fold(f64::NEG_INFINITY, f64::max);
                (between > level).then_some(low + (high - low) / 2)
            };
            let added: Vec<usize> = priced.iter().zip(ends).filter_map(midpoint).collect();
            if added.is_empty() {
                return Ok(priced);
            }
            priced.extend(added);
            priced.sort_unstable();
        }
    }

    /// For each size its reduced cost, a mean over the nodes; for sizes that are not `priced` a bound on it.
    fn reduced_costs(
        &self,
        sizes: &Sizes,
        priced: &[usize],
        nodes: &[OrderedNode],
    ) -> Result<Vec<EstimatedMean>> {
        let ManyInputsTolerances { eigenvalues, dependence, .. } = self.tolerances;
        let parts = sizes.iter().map(|(k, weight)| {
            let part = SubsetSelection::new(self.inputs(), *k, self.epsilon, eigenvalues);
            (*weight, Box::new(part) as Box<dyn FisherInformation + Send>)
        });
        let mixture = Mixture::new(parts.collect(), eigenvalues);
        let at = |(point, order): &OrderedNode| {
            let inverse = mixture.structure(point)?.inverse_off_one(dependence)?;
            Some(Windows::new(&inverse, point, order, self.epsilon).reduced_costs(sizes, priced))
        };
        let values: Option<Vec<Vec<f64>>> = nodes.par_iter().map(at).collect();
        let values = values.ok_or(Error::DesignNotConverged)?;
        let of_size = |i: usize| {
            EstimatedMean::of_sample(values.iter().map(|value| value[i]), self.tolerances.standard_errors)
        };
        Ok((0..self.inputs() - 1).map(of_size).collect())
    }

    fn design(&self, sizes: &Sizes, bound: f64, priced: usize, nodes: usize) -> Result<Design> {
        let a = self.inputs();
        let (ks, weights): (Vec<usize>, Vec<f64>) = sizes.iter().copied().unzip();
        let prior = GroupedPrior::dirichlet_groups(&[(self.dirichlet.alpha()[0], a)]);
        let part = |(k, weight): &(usize, f64)| weight * subset_selection(*k, self.epsilon, &prior).value;
        let level = a as f64 - 1.0;
        Ok(Design {
            protocol: subset_mixture(a, self.epsilon, &ks, &weights)?,
            leakage: sizes.iter().map(part).sum(),
            certificate: Certificate {
                gap: bound / (2.0 * level),
                multipliers: vec![(level + bound) / a as f64; a],
                privacy_multiplier: 0.0,
                leakage_budget: None,
                priced,
                whole_cone: false,
                points: nodes,
                method: Method::MonteCarlo,
            },
        })
    }
}

/// Divides the weights by their sum.
fn normalise(sizes: &mut Sizes) {
    let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    sizes.iter_mut().for_each(|(_, weight)| *weight /= total);
}

/// The size (from 1) that is largest by some number, and the number. NaN counts as infinite.
fn largest(means: &[EstimatedMean], by: impl Fn(&EstimatedMean) -> f64) -> (usize, f64) {
    let by = |mean: &EstimatedMean| nan_to_infinity(by(mean));
    let best = (0..means.len()).max_by(|&i, &j| by(&means[i]).total_cmp(&by(&means[j]))).unwrap_or(0);
    (best + 1, by(&means[best]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_that_is_nan_is_the_largest() {
        let mean = |value: f64, error: f64| EstimatedMean { value, error };
        for unknown in [mean(f64::NAN, 0.1), mean(-f64::NAN, 0.1), mean(0.0, -f64::NAN)] {
            let means = [mean(1.0, 0.1), unknown, mean(2.0, 0.1)];
            assert_eq!(largest(&means, |mean| mean.value + mean.error), (2, f64::INFINITY));
        }
        assert_eq!(largest(&[mean(1.0, 0.1), mean(2.0, 0.5)], |mean| mean.value), (2, 2.0));
    }
}
