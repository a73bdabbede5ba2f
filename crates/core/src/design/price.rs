//! What a direction would add to a protocol, and what it costs.
//!
//! At weights `θ` a direction `v` (a row of the protocol, up to a factor) gains
//! ```text
//! h(v) = E[ dᵀ J(P;θ)⁻¹ d / (v·P) ],   d_x = v_x − v_r
//! ```
//! `h` is convex and 1-homogeneous, and so is the leakage `ℓ`. With `K` such that `vᵀ K v = dᵀ J⁻¹ d` both `vᵀ K v` and `v·P` are sums of products
//! of something of the point and something of the direction, so that many points are priced side by side.

use crate::numerics::parallel::*;

use super::candid::Candid;
use super::direction::Direction;
use super::program::{Column, information};
use super::reference::Reference;
use super::rule::{Mean, Node, Rule};
use super::triangle::{entries, inverse_of_differences};
use crate::leakage;
use crate::model::prior::Dirichlet;
use crate::numerics::dirichlet_mean::{ln_leads, mean_products_over_form};

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

    /// `E P_x` of each input.
    pub(super) fn means(&self) -> Vec<f64> {
        let inputs = self.0[0].1.alpha().len();
        let mean =
            |x: usize| self.0.iter().map(|(weight, part)| weight * part.alpha()[x] / part.total()).sum();
        (0..inputs).map(mean).collect()
    }

    /// `ℓ(v) = ∇ℓ(v)ᵀv`, ten times faster than [`at`](LeakageOf::at) and right to `1e-12`, where no `v_x` is zero.
    pub(super) fn quick(&self, direction: &Direction) -> f64 {
        if direction.values.contains(&0.0) {
            return self.at(direction);
        }
        self.gradient(direction).iter().zip(&direction.values).map(|(slope, v)| slope * v).sum()
    }

    /// `∇ℓ(v)_x = w_x (ln v_x − E_x ln(v·P))`, where `E_x` is under the prior after one value `x`; all `v_x` must be positive.
    pub(super) fn gradient(&self, direction: &Direction) -> Vec<f64> {
        let mut gradient = vec![0.0; direction.values.len()];
        for (weight, part) in self.0 {
            let coefficients = direction.values.iter().copied().zip(direction.deviations.iter().copied());
            let terms: Vec<_> =
                part.alpha().iter().zip(coefficients).map(|(alpha, (v, d))| (*alpha, v, d)).collect();
            let slopes = gradient.iter_mut().zip(part.alpha()).zip(ln_leads(&terms));
            slopes.for_each(|((slope, alpha), lead)| *slope += weight * alpha / part.total() * lead);
        }
        gradient
    }

    /// `ℓ` about a direction of positive `v_x`: its value is `∇ℓ(v)ᵀv`, its curvature `[x = z] w_x/v_x − E[P_x P_z/(v·P)]`.
    pub(super) fn about(&self, direction: &Direction) -> SecondOrder {
        let slope = self.gradient(direction);
        let mut curvature = vec![0.0; entries(direction.values.len())];
        for (weight, part) in self.0 {
            let pairs: Vec<_> = part.alpha().iter().copied().zip(direction.values.iter().copied()).collect();
            let products = mean_products_over_form(&pairs);
            curvature.iter_mut().zip(products).for_each(|(entry, product)| *entry -= weight * product);
            for (x, (alpha, v)) in pairs.iter().enumerate() {
                curvature[entries(x) + x] += weight * alpha / part.total() / v;
            }
        }
        let value = slope.iter().zip(&direction.values).map(|(slope, v)| slope * v).sum();
        SecondOrder { value, slope, curvature }
    }
}

/// What directions gain at fixed weights.
pub(super) trait Gains: Sync {
    /// `h(v)` of each direction.
    fn of_each(&self, directions: &[Direction]) -> Vec<Mean>;

    /// `h` about a direction of positive `v_x`.
    fn about(&self, direction: &Direction) -> SecondOrder;

    /// The number of points that stand for the prior, without those of a check; none where gains are integrals.
    fn points(&self) -> usize;

    /// The number of points on which a gain to second order takes as long.
    fn effort(&self) -> usize;
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
    /// A protocol whose gains are known; the blocks have what others gain beyond it.
    known: Option<&'a Candid<'a>>,
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
        Prices::of_forms(rule, |i, node| {
            inverse_of_differences(&information(columns, theta, i), inputs, node.reference)
        })
    }

    /// From the triangle of `K` at every point, of which the place and the point itself are given.
    pub(super) fn of_forms(
        rule: &'a Rule,
        form: impl Fn(usize, &Node) -> Option<Vec<f64>> + Sync,
    ) -> Option<Self> {
        let mut first = 0;
        let mut places = Vec::new();
        for (part, nodes) in rule.parts().enumerate() {
            for chunk in nodes.chunks(LANES) {
                places.push((part, first, chunk));
                first += chunk.len();
            }
        }
        let block = |(part, first, nodes): &(usize, usize, &[Node])| {
            let forms = nodes.iter().zip(*first..).map(|(node, i)| form(i, node));
            Block::new(*part, nodes, forms)
        };
        let blocks = places.par_iter().map(block).collect::<Option<_>>()?;
        Some(Prices { rule, blocks, known: None })
    }

    /// The same with less noise, if the reference is near.
    pub(super) fn beside(mut self, reference: &'a Reference<'a>) -> Self {
        let known = reference.on_points.blocks.iter().flat_map(|block| &block.form);
        for (entry, known) in self.blocks.iter_mut().flat_map(|block| &mut block.form).zip(known) {
            entry.iter_mut().zip(known).for_each(|(entry, known)| *entry -= known);
        }
        self.known = Some(&reference.exact);
        self
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
        let mut means: Vec<Mean> = (0..orbits.len()).map(mean).collect();
        if let Some(known) = self.known {
            let mut gains = known.of_each(&orbits.concat()).into_iter();
            for (mean, members) in means.iter_mut().zip(orbits) {
                for gain in gains.by_ref().take(members.len()) {
                    mean.value += gain.value / members.len() as f64;
                    mean.error += gain.error / members.len() as f64;
                }
            }
        }
        means
    }
}

impl Gains for Prices<'_> {
    fn of_each(&self, directions: &[Direction]) -> Vec<Mean> {
        let orbits: Vec<&[Direction]> = directions.iter().map(std::slice::from_ref).collect();
        self.of_orbits(&orbits)
    }

    /// On the points of the rule as they are.
    fn about(&self, direction: &Direction) -> SecondOrder {
        let inputs = direction.values.len();
        let mut sum =
            SecondOrder { value: 0.0, slope: vec![0.0; inputs], curvature: vec![0.0; entries(inputs)] };
        let blocks = self.blocks.iter().filter(|block| block.part < self.rule.replicates);
        blocks.for_each(|block| block.add_about(direction, &mut sum));
        match self.known {
            Some(known) => sum.plus(&known.about(direction), 1.0),
            None => sum,
        }
    }

    fn points(&self) -> usize {
        self.rule.nodes.len()
    }

    fn effort(&self) -> usize {
        self.points() + self.known.map_or(0, Gains::effort)
    }
}

/// A function of directions to second order about one of them, by its derivatives in `v_x`.
#[derive(Clone, Debug)]
pub(super) struct SecondOrder {
    pub value: f64,
    pub slope: Vec<f64>,
    /// The triangle of second derivatives.
    pub curvature: Vec<f64>,
}

impl SecondOrder {
    /// With `factor` times another.
    pub(super) fn plus(mut self, other: &SecondOrder, factor: f64) -> Self {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from)
        };
        self.value += factor * other.value;
        add(&mut self.slope, &other.slope);
        add(&mut self.curvature, &other.curvature);
        self
    }
}

/// The gain at the points of a block.
struct Gain {
    /// Its sum with the weights of the points.
    weighted: f64,
    /// Its largest absolute value.
    highest: f64,
}

impl Block {
    fn new(part: usize, nodes: &[Node], forms: impl Iterator<Item = Option<Vec<f64>>>) -> Option<Self> {
        let inputs = nodes[0].p.len();
        let mut block = Block {
            part,
            weight: [0.0; LANES],
            p: vec![[1.0; LANES]; inputs],
            form: vec![[0.0; LANES]; entries(inputs)],
        };
        for (lane, (node, form)) in nodes.iter().zip(forms).enumerate() {
            block.weight[lane] = node.weight;
            block.p.iter_mut().zip(&node.p).for_each(|(lanes, p_x)| lanes[lane] = *p_x);
            block.form.iter_mut().zip(form?).for_each(|(lanes, entry)| lanes[lane] = entry);
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
            highest = highest.max(gain.abs());
        }
        Gain { weighted, highest }
    }

    /// Adds the gain about a direction: with `k = K v`, `q = vᵀ K v` and `π = P/(v·P)` the terms of
    /// `q/(v·P)`, of its slope `(2k − q π)/(v·P)` and of its curvature `2 (K − k πᵀ − π kᵀ + q π πᵀ)/(v·P)`.
    fn add_about(&self, direction: &Direction, sum: &mut SecondOrder) {
        let inputs = self.p.len();
        let mut likelihood = [0.0; LANES];
        add_multiples(&mut likelihood, &self.p, &direction.values);
        let d = &direction.deviations;
        let mut k = vec![[0.0; LANES]; inputs];
        for x in 0..inputs {
            let row = &self.form[entries(x)..=entries(x) + x];
            add_multiples(&mut k[x], row, d);
            for (z, entry) in row[..x].iter().enumerate() {
                add_multiples(&mut k[z], std::slice::from_ref(entry), &d[x..=x]);
            }
        }
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
            sum.slope[x] += dot(&share, k_x) - dot(&of_pi, &[1.0; LANES]);
            for z in 0..=x {
                let place = entries(x) + z;
                sum.curvature[place] +=
                    2.0 * (dot(&share, &self.form[place]) + dot(&of_pi, &pi[z]) - dot(&of_k, &k[z]));
            }
        }
    }
}

fn divide(lanes: &mut [f64; LANES], by: &[f64; LANES]) {
    for lane in 0..LANES {
        lanes[lane] /= by[lane];
    }
}

fn dot(left: &[f64; LANES], right: &[f64; LANES]) -> f64 {
    // Sums that do not wait for each other.
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
        let limited = if self.nu > 0.0 { self.nu * self.leakage.quick(direction) } else { 0.0 };
        self.linear(direction) + limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::direction::Classes;
    use crate::design::rule::Wanted;
    use crate::design::triangle::bilinear;
    use crate::numerics::split_mix::split_mix;

    #[test]
    fn gain_and_leakage_are_between_the_bounds_of_second_order() {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5, 0.8]).unwrap();
        let classes = Classes::new(prior.alpha());
        let parts = [(1.0, &prior)];
        let leakage = LeakageOf(&parts);
        for epsilon in [2.0f64, 1e-4] {
            let (floor, span) = ((-epsilon).exp(), -(-epsilon).exp_m1());
            let wanted = Wanted { points: 2_000, contrast: epsilon.exp_m1(), form: None, seed: 0 };
            let rule = Rule::new(&parts, &classes, &wanted);
            let column = |x: usize| {
                let members: Vec<bool> = (0..4).map(|z| z == x).collect();
                Column::new(&Direction::two_valued(&members, floor, span), 0.0, &classes, &rule)
            };
            let columns: Vec<Column> = (0..4).map(column).collect();
            let prices = Prices::new(&rule, &columns, &[0.1, 0.2, 0.3, 0.4], 4).unwrap();
            let random = |i: u64| {
                let heights: Vec<f64> = (0..4).map(|x| split_mix(i, x) as f64 / u64::MAX as f64).collect();
                Direction::of_heights(&heights, floor, span)
            };
            let directions: Vec<Direction> = (0..40).filter_map(random).collect();
            for pair in directions.chunks_exact(2) {
                let (c, v) = (&pair[0], &pair[1]);
                let step = v.minus(c);
                let ratios = c.values.iter().zip(&v.values).map(|(c, v)| c / v);
                let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(r), m.max(r)));
                let gain = prices.of_each(std::slice::from_ref(v))[0].value;
                for (about, there, name) in
                    [(prices.about(c), gain, "gain"), (leakage.about(c), leakage.at(v), "leakage")]
                {
                    let slope: f64 = about.slope.iter().zip(&step).map(|(s, w)| s * w).sum();
                    let beyond = there - about.value - slope;
                    let bend = 0.5 * bilinear(&about.curvature, &step, &step);
                    // What rounding leaves of a difference of three numbers.
                    let rounding = 1e-9 * (there + about.value);
                    assert!(
                        beyond <= most * bend + rounding && beyond >= least * bend - rounding,
                        "{epsilon} {name}: {beyond} is not {least} to {most} times {bend}"
                    );
                }
            }
        }
    }
}
