//! Nodes and weights that stand for the prior, with an error for every mean over them.
//!
//! - `tensor`: Gauss rules or logit trapezoids for few inputs. Coarser rules give the error.
//! - `quasi_random`: independent replicates of quasi-random nodes for more inputs. Their spread gives the error.
//! - `importance_sampling`: more nodes where a value is rare, weighted by the ratio of densities.
//! - `calibrated_weights`: weights under which some known means are exact.

mod calibrated_weights;
mod importance_sampling;
mod quasi_random;
mod tensor;

use super::PriorComponents;
use super::symmetry::Symmetry;
use super::tolerances::Tolerances;
use crate::fisher::Point;
use crate::model::evaluation::Method;

/// A point of the simplex with its weight.
#[derive(Clone, Debug)]
pub(super) struct CubatureNode {
    pub weight: f64,
    pub p: Vec<f64>,
    /// The input of largest probability: Fisher information is in the coordinates `p_x` of all others.
    pub mode: usize,
}

/// Weighted nodes.
#[derive(Clone, Debug)]
pub(super) struct Cubature {
    /// The nodes on which the optimum is found; replicates one after the other, all of the same length.
    pub nodes: Vec<CubatureNode>,
    /// The nodes of coarser tensor rules.
    coarser: Vec<Vec<CubatureNode>>,
    /// The number of replicates, 1 for a tensor rule.
    pub replicates: usize,
    /// Whether a larger node count would change nothing.
    pub is_converged: bool,
    /// The total weight of the nodes that were omitted.
    omitted_weight: f64,
    /// Standard errors that count as the error of a mean over replicates.
    standard_errors: f64,
}

/// A mean over the prior with its estimated error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EstimatedMean {
    pub value: f64,
    pub error: f64,
}

impl EstimatedMean {
    /// The sample mean of independent values, with so many standard errors.
    pub(super) fn of_sample(values: impl Iterator<Item = f64> + Clone, standard_errors: f64) -> Self {
        let count = values.clone().count() as f64;
        let value = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|v| (v - value).powi(2)).sum();
        EstimatedMean { value, error: standard_errors * (squares / (count * (count - 1.0))).sqrt() }
    }
}

/// What a cubature is built for.
#[derive(Clone, Copy, Debug)]
pub(super) struct CubatureRequest<'a> {
    /// Nodes at most.
    pub max_nodes: usize,
    /// The largest `max v/min v − 1` of the directions.
    pub contrast: f64,
    /// The odds `w` of a partial disclosure protocol close to the optimum, if there is one (see `calibrated_weights`).
    pub disclosure_odds: Option<&'a [f64]>,
    pub seed: u64,
}

impl Cubature {
    /// A Gauss rule if it fits into the node count, else trapezoids for few inputs and quasi-random nodes for more.
    pub(super) fn new(
        components: &PriorComponents<'_>,
        symmetry: &Symmetry,
        request: &CubatureRequest<'_>,
        tolerances: &Tolerances,
    ) -> Self {
        let inputs = symmetry.inputs();
        let trapezoid_inputs = tolerances.cubature.trapezoid_inputs;
        let trapezoid = || tensor::trapezoid(components, request, &tolerances.cubature);
        if inputs < trapezoid_inputs {
            return trapezoid();
        }
        if let Some(gauss) = tensor::gauss(components, request, &tolerances.cubature) {
            return gauss;
        }
        if inputs == trapezoid_inputs {
            return trapezoid();
        }
        quasi_random::replicates(components, symmetry, request, tolerances)
    }

    /// How means are computed.
    pub(super) fn method(&self) -> Method {
        if self.replicates > 1 { Method::MonteCarlo } else { Method::Quadrature }
    }

    /// All nodes, those of coarser rules last.
    pub(super) fn all_nodes(&self) -> impl Iterator<Item = &CubatureNode> {
        self.nodes.iter().chain(self.coarser.iter().flatten())
    }

    /// The nodes by the parts whose sums give the error: replicates, or the rule and its coarser ones.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[CubatureNode]> {
        let coarser = self.coarser.iter().map(Vec::as_slice);
        self.nodes.chunks((self.nodes.len() / self.replicates).max(1)).chain(coarser)
    }

    /// The mean of a function of modulus at most `largest`, from its weighted sums over [`parts`](Cubature::parts).
    pub(super) fn mean(&self, sums: &[f64], largest: f64) -> EstimatedMean {
        if self.replicates == 1 {
            let off = sums[1..].iter().map(|coarser| (sums[0] - coarser).abs()).fold(0.0, max_or_nan);
            return EstimatedMean { value: sums[0], error: off + self.omitted_weight * largest };
        }
        let count = self.replicates as f64;
        let value: f64 = sums.iter().sum();
        let squares: f64 = sums.iter().map(|sum| (sum * count - value).powi(2)).sum();
        EstimatedMean { value, error: self.standard_errors * (squares / (count * (count - 1.0))).sqrt() }
    }
}

/// The larger of two errors. NaN is kept: it must not pass for a small error.
pub(super) fn max_or_nan(left: f64, right: f64) -> f64 {
    if right > left || right.is_nan() { right } else { left }
}

impl CubatureNode {
    fn new(weight: f64, point: &Point, min_probability: f64) -> Self {
        let p = point.p().iter().map(|p_x| p_x.max(min_probability)).collect();
        CubatureNode { weight, p, mode: point.mode() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::prior::Dirichlet;

    fn cubature(alpha: &[f64], contrast: f64) -> Cubature {
        let prior = Dirichlet::new(alpha.to_vec()).unwrap();
        let request = CubatureRequest { max_nodes: 1 << 15, contrast, disclosure_odds: None, seed: 0 };
        Cubature::new(&[(1.0, &prior)], &Symmetry::new(alpha), &request, &Tolerances::default())
    }

    fn mean(cubature: &Cubature, f: impl Fn(&[f64]) -> f64, largest: f64) -> EstimatedMean {
        let sum = |nodes: &[CubatureNode]| nodes.iter().map(|node| node.weight * f(&node.p)).sum::<f64>();
        cubature.mean(&cubature.parts().map(sum).collect::<Vec<f64>>(), largest)
    }

    #[test]
    fn every_kind_of_cubature_has_the_moments_of_the_prior() {
        for (alpha, contrast) in [(vec![0.5, 1.5, 2.0], 1.7), (vec![0.5; 4], 0.5), (vec![0.5; 6], 50.0)] {
            let total: f64 = alpha.iter().sum();
            let exact = alpha[0] * (alpha[0] + 1.0) / (total * (total + 1.0));
            let mean = mean(&cubature(&alpha, contrast), |p| p[0] * p[0], 1.0);
            assert!((mean.value - exact).abs() <= mean.error + 1e-12, "{alpha:?} {mean:?} {exact}");
            assert!(mean.error < 1e-3, "{alpha:?} {mean:?}");
        }
    }

    /// `1/(P_1 + 10⁻⁶)` is nearly `1/P_1`, which has a mean under `Dirichlet(1.1, …)` but no variance.
    #[test]
    fn importance_sampling_reaches_rare_values() {
        let alpha = [1.1, 0.7, 2.5, 1.5, 3.0];
        let f = |p: f64| 1.0 / (p + 1e-6);
        // P_1 ~ Beta(1.1, 7.7), in ln P_1 by the midpoint rule.
        let nodes = (0..60_000).map(|i| (-1e-3 * (f64::from(i) + 0.5)).exp());
        let (sum, norm) = nodes.fold((0.0, 0.0), |(sum, norm), p| {
            let density = p.powf(1.1) * (1.0 - p).powf(6.7);
            (sum + f(p) * density, norm + density)
        });
        let mean = |contrast: f64| mean(&cubature(&alpha, contrast), |p| f(p[0]), 1e6);
        let (steep, flat) = (mean(1e6), mean(0.99 * Tolerances::default().cubature.steep_contrast));
        assert!((steep.value - sum / norm).abs() <= steep.error, "{steep:?} {}", sum / norm);
        assert!(steep.error < 2e-3 * steep.value && steep.error < 0.05 * flat.error, "{steep:?} {flat:?}");
    }
}
