//! What a direction would add to a protocol, and what it costs.
//!
//! At weights `θ` a direction `v` (a row of the protocol, up to a factor) gains
//! ```text
//! h(v) = E[ dᵀ J(P;θ)⁻¹ d / (v·P) ],   d_x = v_x − v_r
//! ```
//! `h` is convex and 1-homogeneous, and so is the leakage `ℓ`. With `K` such that `vᵀ K v = dᵀ J⁻¹ d` both `vᵀ K v` and `v·P` are sums of products
//! of something of the point and something of the direction, so that many points are priced side by side.

use rayon::prelude::*;

use super::direction::Direction;
use super::program::{Column, information};
use super::rule::{Mean, Node, Rule};
use super::triangle::{entries, inverse_of_differences};
use crate::dirichlet_mean::mean_lns_after_one;
use crate::leakage;
use crate::prior::Dirichlet;

/// Leakage under a prior given by its Dirichlet parts.
pub(super) struct LeakageOf<'a>(pub &'a [(f64, &'a Dirichlet)]);

impl LeakageOf<'_> {
    /// `ℓ(v)`: its part of `I(X;Y|P)` for an output of likelihoods `v`.
    pub(super) fn at(&self, direction: &Direction) -> f64 {
        let base = direction.base();
        let part = |(weight, part): &(f64, &Dirichlet)| {
            let alphas = part.alpha().iter().copied();
            let mean: f64 =
                part.alpha().iter().zip(&direction.values).map(|(alpha, v)| alpha / part.total() * v).sum();
            weight
                * if base > 1e-3 {
                    let pairs: Vec<_> = alphas.zip(direction.deviations.iter().map(|d| d / base)).collect();
                    leakage::row_of_deviations(mean, &pairs, false).value
                } else {
                    let pairs: Vec<_> = alphas.zip(direction.values.iter().copied()).collect();
                    leakage::row(&pairs, false).value
                }
        };
        self.0.iter().map(part).sum()
    }

    /// `∇ℓ(v)_x = w_x (ln v_x − E_x ln(v·P))`, where `E_x` is under the prior after one value `x`; all `v_x` must be positive.
    pub(super) fn gradient(&self, direction: &Direction) -> Vec<f64> {
        let mut gradient = vec![0.0; direction.values.len()];
        for (weight, part) in self.0 {
            let pairs: Vec<_> = part.alpha().iter().copied().zip(direction.values.iter().copied()).collect();
            let slopes = gradient.iter_mut().zip(&pairs).zip(mean_lns_after_one(&pairs));
            slopes.for_each(|((slope, (alpha, v)), mean_ln)| {
                *slope += weight * alpha / part.total() * (v.ln() - mean_ln);
            });
        }
        gradient
    }
}

/// Points that are priced side by side.
const LANES: usize = 64;
/// Points times directions that are worth a task of their own.
const WORTH_A_TASK: usize = 16_384;

/// Points of one part of the rule, coordinate by coordinate; those that are missing have no weight.
struct Block {
    part: usize,
    weight: [f64; LANES],
    /// `p_x` of each point, for each `x`.
    p: Vec<[f64; LANES]>,
    /// `(K_xz)_{z ≤ x}` of each point, where `vᵀ K v = dᵀ J⁻¹ d`.
    form: Vec<[f64; LANES]>,
}

/// The gain `h` of every direction at fixed weights.
pub(super) struct Prices<'a> {
    rule: &'a Rule,
    blocks: Vec<Block>,
}

/// What a direction is multiplied with: `v_x`, and the products of deviations `d_x d_z`.
struct Factors<'a> {
    values: &'a [f64],
    products: Vec<f64>,
}

impl<'a> Factors<'a> {
    fn new(direction: &'a Direction) -> Self {
        let d = &direction.deviations;
        let product = |x: usize, z: usize| if z < x { 2.0 * d[x] * d[z] } else { d[x] * d[x] };
        let products = (0..d.len()).flat_map(|x| (0..=x).map(move |z| product(x, z))).collect();
        Factors { values: &direction.values, products }
    }
}

impl<'a> Prices<'a> {
    /// `None` if the information is singular somewhere.
    pub(super) fn new(rule: &'a Rule, columns: &[Column], theta: &[f64], inputs: usize) -> Option<Self> {
        let mut first = 0;
        let mut places = Vec::new();
        for (part, nodes) in rule.parts().enumerate() {
            for chunk in nodes.chunks(LANES) {
                places.push((part, first, chunk));
                first += chunk.len();
            }
        }
        let block = |(part, first, nodes): &(usize, usize, &[Node])| {
            let informations = (*first..).map(|i| information(columns, theta, i));
            Block::new(*part, nodes, informations, inputs)
        };
        let blocks = places.par_iter().map(block).collect::<Option<_>>()?;
        Some(Prices { rule, blocks })
    }

    /// `h(v)` of each direction.
    pub(super) fn of_each(&self, directions: &[Direction]) -> Vec<Mean> {
        let orbits: Vec<&[Direction]> = directions.iter().map(std::slice::from_ref).collect();
        self.of_orbits(&orbits)
    }

    /// `h(v)`, averaged over the members of each orbit.
    pub(super) fn of_orbits(&self, orbits: &[&[Direction]]) -> Vec<Mean> {
        let factors: Vec<Vec<Factors<'_>>> =
            orbits.iter().map(|members| members.iter().map(Factors::new).collect()).collect();
        let size: usize = orbits.iter().map(|members| members.len()).sum();
        let gains: Vec<Vec<Gain>> = self
            .blocks
            .par_iter()
            .with_min_len(WORTH_A_TASK / (LANES * size.max(1)))
            .map(|block| factors.iter().map(|members| block.gain(members)).collect())
            .collect();
        let mean = |orbit: usize| {
            let mut sums = vec![0.0; self.rule.parts().count()];
            let mut highest = 0.0f64;
            for (block, gains) in self.blocks.iter().zip(&gains) {
                sums[block.part] += gains[orbit].weighted;
                highest = highest.max(gains[orbit].highest);
            }
            self.rule.mean(&sums, highest)
        };
        (0..orbits.len()).map(mean).collect()
    }
}

/// The gain at the points of a block.
struct Gain {
    /// Its sum with the weights of the points.
    weighted: f64,
    /// Its largest value.
    highest: f64,
}

impl Block {
    fn new(
        part: usize,
        nodes: &[Node],
        informations: impl Iterator<Item = Vec<f64>>,
        inputs: usize,
    ) -> Option<Self> {
        let mut block = Block {
            part,
            weight: [0.0; LANES],
            p: vec![[1.0; LANES]; inputs],
            form: vec![[0.0; LANES]; entries(inputs)],
        };
        for (lane, (node, information)) in nodes.iter().zip(informations).enumerate() {
            block.weight[lane] = node.weight;
            block.p.iter_mut().zip(&node.p).for_each(|(lanes, p_x)| lanes[lane] = *p_x);
            let form = inverse_of_differences(&information, inputs, node.reference)?;
            block.form.iter_mut().zip(form).for_each(|(lanes, entry)| lanes[lane] = entry);
        }
        Some(block)
    }

    /// The mean of the gains of the members of an orbit.
    fn gain(&self, members: &[Factors<'_>]) -> Gain {
        let mut sum = [0.0; LANES];
        for Factors { values, products } in members {
            let mut likelihood = [0.0; LANES];
            add_multiples(&mut likelihood, &self.p, values);
            let mut square = [0.0; LANES];
            add_multiples(&mut square, &self.form, products);
            for lane in 0..LANES {
                sum[lane] += square[lane] / likelihood[lane];
            }
        }
        let (mut weighted, mut highest) = (0.0, 0.0f64);
        for (sum, weight) in sum.iter().zip(&self.weight) {
            let gain = sum / members.len() as f64;
            weighted += weight * gain;
            highest = highest.max(gain);
        }
        Gain { weighted, highest }
    }
}

/// Adds `Σ_k f_k · term_k`, lane by lane.
fn add_multiples(sum: &mut [f64; LANES], terms: &[[f64; LANES]], factors: &[f64]) {
    for (term, factor) in terms.iter().zip(factors).filter(|(_, factor)| **factor != 0.0) {
        for lane in 0..LANES {
            sum[lane] += factor * term[lane];
        }
    }
}

/// What a direction must not exceed: `λᵀv + ν ℓ(v)`.
#[derive(Clone, Debug)]
pub(super) struct Cost<'a> {
    /// `λ_x`.
    pub lambda: Vec<f64>,
    /// `ν`, 0 where leakage is not limited.
    pub nu: f64,
    pub leakage: &'a LeakageOf<'a>,
}

impl std::fmt::Debug for LeakageOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(weight, _)| weight)).finish()
    }
}

impl Cost<'_> {
    pub(super) fn linear(&self, direction: &Direction) -> f64 {
        self.lambda.iter().zip(&direction.values).map(|(lambda, v)| lambda * v).sum()
    }

    pub(super) fn at(&self, direction: &Direction) -> f64 {
        let limited = if self.nu > 0.0 { self.nu * self.leakage.at(direction) } else { 0.0 };
        self.linear(direction) + limited
    }
}
