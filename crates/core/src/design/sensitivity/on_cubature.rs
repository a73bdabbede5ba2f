//! Sensitivities as means over the nodes of a cubature.

use rayon::prelude::*;

use super::Sensitivity;
use super::node_block::{BlockSum, DirectionFactors, LANES, NodeBlock};
use crate::design::column::{Column, information};
use crate::design::control_variate::ControlVariate;
use crate::design::cubature::{Cubature, CubatureNode, EstimatedMean};
use crate::design::direction::Direction;
use crate::design::expansion::Expansion;
use crate::design::packed_symmetric::{entries, inverse_of_differences};
use crate::design::partial_disclosure::PartialDisclosure;

/// `h` at fixed weights, on the nodes of a cubature.
pub(in crate::design) struct CubatureSensitivity<'a> {
    cubature: &'a Cubature,
    blocks: Vec<NodeBlock>,
    /// With a control variate, the blocks hold `K − K₀`, and the exact `h₀` of this protocol is added.
    control: Option<&'a PartialDisclosure<'a>>,
    work_per_task: usize,
}

impl<'a> CubatureSensitivity<'a> {
    /// At the weights `theta` of the columns; `None` if the information is singular at a node.
    pub(in crate::design) fn new(
        cubature: &'a Cubature,
        columns: &[Column],
        theta: &[f64],
        work_per_task: usize,
    ) -> Option<Self> {
        CubatureSensitivity::from_inverses(cubature, work_per_task, |i, node| {
            inverse_of_differences(&information(columns, theta, i), node.p.len(), node.mode)
        })
    }

    /// From the triangle of `K` at each node, given the node's index and the node.
    pub(in crate::design) fn from_inverses(
        cubature: &'a Cubature,
        work_per_task: usize,
        inverse: impl Fn(usize, &CubatureNode) -> Option<Vec<f64>> + Sync,
    ) -> Option<Self> {
        let mut first = 0;
        let mut places = Vec::new();
        for (part, nodes) in cubature.parts().enumerate() {
            for chunk in nodes.chunks(LANES) {
                places.push((part, first, chunk));
                first += chunk.len();
            }
        }
        let block = |(part, first, nodes): &(usize, usize, &[CubatureNode])| {
            let inverses = nodes.iter().zip(*first..).map(|(node, i)| inverse(i, node));
            NodeBlock::new(*part, nodes, inverses)
        };
        let blocks = places.par_iter().map(block).collect::<Option<_>>()?;
        Some(CubatureSensitivity { cubature, blocks, control: None, work_per_task })
    }

    /// The same sensitivities, with the sampling error that the control variate leaves.
    pub(in crate::design) fn with_control_variate(mut self, variate: &'a ControlVariate<'a>) -> Self {
        let known = variate.on_nodes.blocks.iter().flat_map(|block| &block.inverse);
        for (entry, known) in self.blocks.iter_mut().flat_map(|block| &mut block.inverse).zip(known) {
            entry.iter_mut().zip(known).for_each(|(entry, known)| *entry -= known);
        }
        self.control = Some(&variate.exact);
        self
    }

    /// `h(v)`, averaged over the members of each orbit.
    pub(in crate::design) fn of_orbits(&self, orbits: &[&[Direction]]) -> Vec<EstimatedMean> {
        let factors: Vec<Vec<DirectionFactors<'_>>> =
            orbits.iter().map(|members| members.iter().map(DirectionFactors::new).collect()).collect();
        let size: usize = orbits.iter().map(|members| members.len()).sum();
        let sums: Vec<Vec<BlockSum>> = self
            .blocks
            .par_iter()
            .with_min_len(self.work_per_task / (LANES * size.max(1)))
            .map(|block| factors.iter().map(|members| block.sum(members)).collect())
            .collect();
        let mut means: Vec<EstimatedMean> = (0..orbits.len()).map(|orbit| self.mean(&sums, orbit)).collect();
        if let Some(control) = self.control {
            add_exact(control, orbits, &mut means);
        }
        means
    }

    /// The mean of an orbit from the sums of all blocks.
    fn mean(&self, block_sums: &[Vec<BlockSum>], orbit: usize) -> EstimatedMean {
        let mut sums = vec![0.0; self.cubature.parts().count()];
        let mut largest = 0.0f64;
        for (block, block_sums) in self.blocks.iter().zip(block_sums) {
            sums[block.part] += block_sums[orbit].weighted;
            largest = largest.max(block_sums[orbit].largest);
        }
        self.cubature.mean(&sums, largest)
    }
}

/// Adds the exact sensitivities of the control variate, averaged over each orbit.
fn add_exact(control: &PartialDisclosure<'_>, orbits: &[&[Direction]], means: &mut [EstimatedMean]) {
    let mut exact = control.of_each(&orbits.concat()).into_iter();
    for (mean, members) in means.iter_mut().zip(orbits) {
        for known in exact.by_ref().take(members.len()) {
            mean.value += known.value / members.len() as f64;
            mean.error += known.error / members.len() as f64;
        }
    }
}

impl Sensitivity for CubatureSensitivity<'_> {
    fn of_each(&self, directions: &[Direction]) -> Vec<EstimatedMean> {
        let orbits: Vec<&[Direction]> = directions.iter().map(std::slice::from_ref).collect();
        self.of_orbits(&orbits)
    }

    /// On the nodes as they are, without their error.
    fn expansion(&self, direction: &Direction) -> Expansion {
        let inputs = direction.values.len();
        let mut sum =
            Expansion { value: 0.0, gradient: vec![0.0; inputs], hessian: vec![0.0; entries(inputs)] };
        let blocks = self.blocks.iter().filter(|block| block.part < self.cubature.replicates);
        blocks.for_each(|block| block.add_expansion(direction, &mut sum));
        match self.control {
            Some(control) => sum.plus(&control.expansion(direction), 1.0),
            None => sum,
        }
    }

    fn nodes(&self) -> usize {
        self.cubature.nodes.len()
    }

    fn expansion_cost(&self) -> usize {
        self.nodes() + self.control.map_or(0, Sensitivity::expansion_cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::cone::Cone;
    use crate::design::cubature::CubatureRequest;
    use crate::design::packed_symmetric::bilinear;
    use crate::design::row_leakage::RowLeakage;
    use crate::design::symmetry::Symmetry;
    use crate::design::tolerances::Tolerances;
    use crate::model::prior::Dirichlet;
    use crate::numerics::split_mix::split_mix;

    #[test]
    fn sensitivity_and_leakage_are_between_the_second_order_bounds() {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5, 0.8]).unwrap();
        let symmetry = Symmetry::new(prior.alpha());
        let (components, tolerances) = ([(1.0, &prior)], Tolerances::default());
        let leakage = RowLeakage(&components);
        for epsilon in [2.0f64, 1e-4] {
            let cone = Cone::new(Some(epsilon));
            let request = CubatureRequest {
                max_nodes: 2_000,
                contrast: epsilon.exp_m1(),
                disclosure_odds: None,
                seed: 0,
            };
            let cubature = Cubature::new(&components, &symmetry, &request, &tolerances);
            let column = |x: usize| {
                let members: Vec<bool> = (0..4).map(|z| z == x).collect();
                Column::new(&cone.vertex(&members), 0.0, &symmetry, &cubature)
            };
            let columns: Vec<Column> = (0..4).map(column).collect();
            let sensitivity =
                CubatureSensitivity::new(&cubature, &columns, &[0.1, 0.2, 0.3, 0.4], 16_384).unwrap();
            let random = |i: u64| {
                let heights: Vec<f64> = (0..4).map(|x| split_mix(i, x) as f64 / u64::MAX as f64).collect();
                Direction::from_heights(&heights, cone.floor, cone.span)
            };
            let directions: Vec<Direction> = (0..40).filter_map(random).collect();
            for pair in directions.chunks_exact(2) {
                let (c, v) = (&pair[0], &pair[1]);
                let step = v.difference(c);
                let ratios = c.values.iter().zip(&v.values).map(|(c, v)| c / v);
                let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(r), m.max(r)));
                for (at_c, there, name) in [
                    (sensitivity.expansion(c), sensitivity.of(v).value, "sensitivity"),
                    (leakage.expansion(c), leakage.of(v), "leakage"),
                ] {
                    let slope: f64 = at_c.gradient.iter().zip(&step).map(|(s, w)| s * w).sum();
                    let remainder = there - at_c.value - slope;
                    let second = 0.5 * bilinear(&at_c.hessian, &step, &step);
                    // What rounding leaves of a difference of three numbers.
                    let rounding = 1e-9 * (there + at_c.value);
                    assert!(
                        remainder <= most * second + rounding && remainder >= least * second - rounding,
                        "{epsilon} {name}: {remainder} is not {least} to {most} times {second}"
                    );
                }
            }
        }
    }
}
