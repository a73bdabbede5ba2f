//! Mixtures of structured protocols: their Fisher informations add up.

use super::low_rank::DiagonalPlusLowRank;
use super::{FisherInformation, Point};

/// The mixture that uses each part with its weight: `M = Σ_j w_j M_j`.
///
/// # Method and cost
/// A sum of diagonal matrices and rank-one terms is one again ([`FisherInformation::structure`]): the sum of the costs of the parts.
///
/// # Accuracy
/// `ln det` within `1e-11` of enumeration at `a = 7` for mixtures of all structured kinds.
pub struct Mixture {
    parts: Vec<(f64, Box<dyn FisherInformation + Send>)>,
    tolerance: f64,
}

impl Mixture {
    /// The mixture of at least one part, all on the same inputs and each with a structure, to a relative `tolerance` of each
    /// eigenvalue.
    pub fn new(parts: Vec<(f64, Box<dyn FisherInformation + Send>)>, tolerance: f64) -> Self {
        Mixture { parts, tolerance }
    }
}

impl FisherInformation for Mixture {
    fn inputs(&self) -> usize {
        self.parts[0].1.inputs()
    }

    fn ln_det(&self, point: &Point) -> f64 {
        let sum = self.structure(point).and_then(|sum| sum.ln_det_off_one(self.tolerance * 1e-2));
        sum.unwrap_or(f64::NAN)
    }

    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        let part = |(weight, part): &(f64, Box<dyn FisherInformation + Send>)| {
            Some(part.structure(point)?.times(weight.ln()))
        };
        Some(DiagonalPlusLowRank::sum(self.parts.iter().map(part).collect::<Option<_>>()?))
    }

    fn operations(&self, smallest: f64) -> f64 {
        // The rank of the sum is that of all parts together.
        self.parts.iter().map(|(_, part)| part.operations(smallest)).sum::<f64>() * self.parts.len() as f64
    }

    /// All parts at once, and their sum.
    fn numbers(&self, smallest: f64) -> f64 {
        2.0 * self.parts.iter().map(|(_, part)| part.numbers(smallest)).sum::<f64>()
    }

    fn ln_det_error(&self) -> f64 {
        self.parts.iter().map(|(_, part)| part.ln_det_error()).fold(0.0, f64::max)
    }

    fn contrast(&self) -> f64 {
        self.parts.iter().map(|(_, part)| part.contrast()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fisher::{DenseMatrix, Identity, RandomizedResponse, SubsetSelection, UnaryEncoding};
    use crate::model::protocol::{BitNoise, Protocol};

    #[test]
    fn agrees_with_enumeration() {
        for epsilon in [0.01, 1.0, 6.0] {
            let weights = [0.1, 0.2, 0.3, 0.25, 0.15];
            let protocols = vec![
                Protocol::identity(7).unwrap(),
                Protocol::grr(7, epsilon).unwrap(),
                Protocol::oue(7, epsilon).unwrap(),
                Protocol::subset(7, 3, epsilon).unwrap(),
                Protocol::ue(7, 1.0, 0.3).unwrap(),
            ];
            let kernels: [Box<dyn FisherInformation + Send>; 5] = [
                Box::new(Identity { inputs: 7 }),
                Box::new(RandomizedResponse { inputs: 7, epsilon }),
                Box::new(UnaryEncoding::new(7, &BitNoise::oue(epsilon), 1e-13)),
                Box::new(SubsetSelection::new(7, 3, epsilon, 1e-13)),
                Box::new(UnaryEncoding::new(7, &BitNoise::new(1.0, 0.3), 1e-13)),
            ];
            let mixture = Mixture::new(weights.into_iter().zip(kernels).collect(), 1e-13);
            let dense = Protocol::mixture(weights.to_vec(), protocols).unwrap().to_matrix().unwrap();
            let dense = DenseMatrix::new(7, dense.rows().flatten().copied().collect());
            for slope in [0.0, 0.3, -2.0, -20.0] {
                let point = Point::from_ln_weights((0..7).map(|x| slope * f64::from(x)).collect());
                let (fast, exact) = (mixture.ln_det(&point), dense.ln_det(&point));
                assert!(
                    (fast - exact).abs() < 1e-11 * exact.abs().max(1.0),
                    "{epsilon} {slope}: {fast} {exact}"
                );
            }
        }
    }
}
