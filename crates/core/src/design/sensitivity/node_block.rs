//! Sensitivities at many nodes side by side.
//!
//! With `K` such that `vᵀ K v = dᵀ J⁻¹ d`, both `vᵀ K v` and `v·P` are sums of products of a number of the node and a number of the direction, so
//! the nodes of a block are the lanes of vector instructions.

use crate::design::cubature::CubatureNode;
use crate::design::direction::Direction;
use crate::design::expansion::Expansion;
use crate::design::packed_symmetric::entries;

/// Nodes in a block: the length of arrays, and therefore not among the tolerances.
pub(super) const LANES: usize = 64;

/// Nodes of one part of a cubature, coordinate by coordinate; missing nodes have weight 0.
pub(super) struct NodeBlock {
    pub part: usize,
    weight: [f64; LANES],
    /// `p_x` of each node, for each `x`.
    p: Vec<[f64; LANES]>,
    /// `(K_xz)_{z ≤ x}` of each node.
    pub inverse: Vec<[f64; LANES]>,
}

/// What a direction contributes to the products: `v_x` and `d_x d_z`.
pub(super) struct DirectionFactors<'a> {
    values: &'a [f64],
    products: Vec<f64>,
}

impl<'a> DirectionFactors<'a> {
    pub(super) fn new(direction: &'a Direction) -> Self {
        let d = &direction.offsets;
        let product = |x: usize, z: usize| if z < x { 2.0 * d[x] * d[z] } else { d[x] * d[x] };
        let products = (0..d.len()).flat_map(|x| (0..=x).map(move |z| product(x, z))).collect();
        DirectionFactors { values: &direction.values, products }
    }
}

/// The sensitivity at the nodes of a block.
pub(super) struct BlockSum {
    /// Its sum with the weights of the nodes.
    pub weighted: f64,
    /// Its largest modulus.
    pub largest: f64,
}

impl NodeBlock {
    /// `inverses` yields the triangle of `K` at each node; `None` if one of them is singular.
    pub(super) fn new(
        part: usize,
        nodes: &[CubatureNode],
        inverses: impl Iterator<Item = Option<Vec<f64>>>,
    ) -> Option<Self> {
        let inputs = nodes[0].p.len();
        let mut block = NodeBlock {
            part,
            weight: [0.0; LANES],
            p: vec![[1.0; LANES]; inputs],
            inverse: vec![[0.0; LANES]; entries(inputs)],
        };
        for (lane, (node, inverse)) in nodes.iter().zip(inverses).enumerate() {
            block.weight[lane] = node.weight;
            block.p.iter_mut().zip(&node.p).for_each(|(lanes, p_x)| lanes[lane] = *p_x);
            block.inverse.iter_mut().zip(inverse?).for_each(|(lanes, entry)| lanes[lane] = entry);
        }
        Some(block)
    }

    /// The mean sensitivity of the members of an orbit.
    pub(super) fn sum(&self, members: &[DirectionFactors<'_>]) -> BlockSum {
        let mut sum = [0.0; LANES];
        for DirectionFactors { values, products } in members {
            let mut likelihood = [0.0; LANES];
            add_multiples(&mut likelihood, &self.p, values);
            let mut square = [0.0; LANES];
            add_multiples(&mut square, &self.inverse, products);
            for lane in 0..LANES {
                sum[lane] += square[lane] / likelihood[lane];
            }
        }
        let (mut weighted, mut largest) = (0.0, 0.0f64);
        for (sum, weight) in sum.iter().zip(&self.weight) {
            let sensitivity = sum / members.len() as f64;
            weighted += weight * sensitivity;
            largest = largest.max(sensitivity.abs());
        }
        BlockSum { weighted, largest }
    }

    /// Adds the expansion at a direction. With `k = K v`, `q = vᵀ K v` and `π = P/(v·P)`, a node adds
    /// ```text
    /// q/(v·P)   to the value,   (2k − q π)/(v·P)   to the gradient,   2 (K − k πᵀ − π kᵀ + q π πᵀ)/(v·P)   to the Hessian
    /// ```
    pub(super) fn add_expansion(&self, direction: &Direction, sum: &mut Expansion) {
        let inputs = self.p.len();
        let mut likelihood = [0.0; LANES];
        add_multiples(&mut likelihood, &self.p, &direction.values);
        let d = &direction.offsets;
        let k = self.inverse_times(d);
        let mut q = [0.0; LANES];
        add_multiples(&mut q, &k, d);
        let mut share = self.weight;
        divide(&mut share, &likelihood);
        sum.value += dot(&share, &q);
        let mut pi = self.p.clone();
        pi.iter_mut().for_each(|pi| divide(pi, &likelihood));
        for x in 0..inputs {
            let (k_x, pi_x) = (&k[x], &pi[x]);
            let (mut of_k, mut of_pi) = ([0.0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                of_k[lane] = share[lane] * pi_x[lane];
                of_pi[lane] = of_k[lane] * q[lane] - share[lane] * k_x[lane];
            }
            sum.gradient[x] += dot(&share, k_x) - dot(&of_pi, &[1.0; LANES]);
            for z in 0..=x {
                let place = entries(x) + z;
                sum.hessian[place] +=
                    2.0 * (dot(&share, &self.inverse[place]) + dot(&of_pi, &pi[z]) - dot(&of_k, &k[z]));
            }
        }
    }

    /// `K d` at each node.
    fn inverse_times(&self, d: &[f64]) -> Vec<[f64; LANES]> {
        let inputs = self.p.len();
        let mut k = vec![[0.0; LANES]; inputs];
        for x in 0..inputs {
            let row = &self.inverse[entries(x)..=entries(x) + x];
            add_multiples(&mut k[x], row, d);
            for (z, entry) in row[..x].iter().enumerate() {
                add_multiples(&mut k[z], std::slice::from_ref(entry), &d[x..=x]);
            }
        }
        k
    }
}

fn divide(lanes: &mut [f64; LANES], by: &[f64; LANES]) {
    for lane in 0..LANES {
        lanes[lane] /= by[lane];
    }
}

fn dot(left: &[f64; LANES], right: &[f64; LANES]) -> f64 {
    // Eight independent sums, which the processor can add at the same time.
    let mut sums = [0.0; 8];
    for (left, right) in left.chunks_exact(8).zip(right.chunks_exact(8)) {
        for i in 0..8 {
            sums[i] += left[i] * right[i];
        }
    }
    sums.iter().sum()
}

/// Adds `Σ_k f_k · term_k`, lane by lane.
fn add_multiples(sum: &mut [f64; LANES], terms: &[[f64; LANES]], factors: &[f64]) {
    for (term, factor) in terms.iter().zip(factors).filter(|(_, factor)| **factor != 0.0) {
        for lane in 0..LANES {
            sum[lane] += factor * term[lane];
        }
    }
}
