//! What a direction would add to a protocol, and whether any adds more than it costs.
//!
//! At weights `θ` a direction `v` (a row of the protocol, up to a factor) gains
//! ```text
//! h(v) = E[ dᵀ J(P;θ)⁻¹ d / (v·P) ],   d_x = v_x − v_r
//! ```
//! `h` is convex and 1-homogeneous, and so is the leakage `ℓ`. The cone of allowed directions is cut by the orders of the inputs into
//! simplicial cones with the edges `1` and `1 + (e^ε − 1)·1_S` for growing `S`. On a simplicial cone with edges `u_i`, `v = Σ t_i u_i`,
//! ```text
//! h(v) − λᵀv − ν ℓ(v) ≤ Σ_i t_i [ h(u_i) − λᵀu_i − ν ∇ℓ(c)ᵀu_i ]        for any c inside
//! ```
//! by the convexity of both. Without `ν` the edges of the first cones decide: all rows of an optimum are two-valued. With it, cones are
//! halved until no bracket is above the tolerance.

use std::collections::{BinaryHeap, HashMap};

use rayon::prelude::*;

use super::direction::{Classes, Direction};
use super::program::{Column, information, reduced};
use super::rule::{Mean, Node, Rule};
use super::triangle::{inverse_factor, square_through};
use crate::dirichlet_mean::LinearForm;
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
            let mut pairs: Vec<_> =
                part.alpha().iter().copied().zip(direction.values.iter().copied()).collect();
            for (x, slope) in gradient.iter_mut().enumerate() {
                pairs[x].0 += 1.0;
                let mean_ln = LinearForm::from_coefficients(&pairs).mean_ln().value;
                pairs[x].0 -= 1.0;
                *slope += weight * pairs[x].0 / part.total() * (pairs[x].1.ln() - mean_ln);
            }
        }
        gradient
    }
}

/// Points of the prior that are worth a task of their own.
const POINTS_OF_A_TASK: usize = 2_048;

/// The gain `h` of every direction at fixed weights.
pub(super) struct Prices<'a> {
    rule: &'a Rule,
    /// `L⁻¹` of `J = L Lᵀ` at every point of the rule, check points last.
    factors: Vec<Vec<f64>>,
}

impl<'a> Prices<'a> {
    /// `None` if the information is singular somewhere.
    pub(super) fn new(rule: &'a Rule, columns: &[Column], theta: &[f64], inputs: usize) -> Option<Self> {
        let count = rule.nodes.len() + rule.check.len();
        let factor = |i: usize| inverse_factor(&information(columns, theta, i), inputs - 1);
        let factors = (0..count).into_par_iter().map(factor).collect::<Option<_>>()?;
        Some(Prices { rule, factors })
    }

    /// `h(v)`, averaged over the members of an orbit.
    pub(super) fn of_orbit(&self, members: &[Direction]) -> Mean {
        let inputs = members[0].values.len();
        let gain = |d: &mut Vec<f64>, (node, factor): (&Node, &Vec<f64>)| {
            let mut of = |member: &Direction| {
                let likelihood = reduced(member, node, d);
                square_through(factor, d) / likelihood
            };
            node.weight * members.iter().map(&mut of).sum::<f64>() / members.len() as f64
        };
        let nodes = self.rule.nodes.par_iter().chain(&self.rule.check).zip(&self.factors);
        let weighted: Vec<f64> =
            nodes.with_min_len(POINTS_OF_A_TASK).map_init(|| vec![0.0; inputs - 1], gain).collect();
        self.rule.mean(&weighted)
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
    fn linear(&self, direction: &Direction) -> f64 {
        self.lambda.iter().zip(&direction.values).map(|(lambda, v)| lambda * v).sum()
    }

    pub(super) fn at(&self, direction: &Direction) -> f64 {
        let limited = if self.nu > 0.0 { self.nu * self.leakage.at(direction) } else { 0.0 };
        self.linear(direction) + limited
    }
}

/// The directions that a requirement allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cone {
    /// `e^{−ε}`, or 0.
    pub floor: f64,
    /// `1 − e^{−ε}`.
    pub span: f64,
}

impl Cone {
    pub(super) fn two_valued(&self, members: &[bool]) -> Direction {
        Direction::two_valued(members, self.floor, self.span)
    }

    /// The edges of the cone of directions that fall along `order`.
    fn edges(&self, order: &[usize]) -> Vec<Direction> {
        let first = |k: usize| {
            let mut members = vec![false; order.len()];
            order[..k].iter().for_each(|&x| members[x] = true);
            self.two_valued(&members)
        };
        (1..order.len()).map(first).chain([Direction::constant(order.len())]).collect()
    }
}

/// The outcome of a search over all directions.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// No direction of mean one gains more than its cost plus this.
    pub bound: f64,
    /// The directions that were found to gain more than their cost, by how much; best first.
    pub found: Vec<(f64, Direction)>,
    /// How many directions were priced.
    pub priced: usize,
}

/// Prices all two-valued directions: enough where leakage is not limited.
pub(super) fn all_two_valued(prices: &Prices<'_>, cost: &Cost<'_>, classes: &Classes, cone: Cone) -> Search {
    let sets = classes.subsets();
    let priced: Vec<(f64, f64, Direction)> = sets
        .par_iter()
        .map(|set| {
            let direction = cone.two_valued(set);
            let gain = prices.of_orbit(&classes.orbit(&direction));
            let excess = gain.value - cost.at(&direction);
            (excess, excess + gain.error, direction)
        })
        .collect();
    let bound = priced.iter().map(|(_, bound, _)| *bound).fold(f64::NEG_INFINITY, f64::max);
    let constant = -cost.at(&Direction::constant(classes.inputs()));
    let mut found: Vec<_> =
        priced.into_iter().filter(|(e, ..)| *e > 0.0).map(|(e, _, direction)| (e, direction)).collect();
    found.sort_by(|l, r| r.0.total_cmp(&l.0));
    Search { bound: bound.max(constant), found, priced: sets.len() + 1 }
}

/// A cone between directions, by their places in the list of all, and its bound.
struct Cell {
    edges: Vec<usize>,
    bound: f64,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.bound == other.bound
    }
}
impl Eq for Cell {}
impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Cell {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

/// A direction with its price.
struct Priced {
    direction: Direction,
    /// Its gain, the error of its mean included if errors count.
    gain: f64,
    /// Gain beyond its cost, without the error.
    excess: f64,
}

/// How often a search says how far it is, in directions priced.
const PAUSE: usize = 64;

/// A bound is not pressed below so many times the gain of a direction that was seen.
const CLOSE: f64 = 1.1;

/// When a search may end.
pub(super) struct Patience<'a> {
    /// No direction can gain more than this beyond its cost, or little more than one that was seen.
    pub tolerance: f64,
    /// Whether the errors of means over the prior count as gains: for a certificate they do.
    pub errors_count: bool,
    /// So many directions are priced.
    pub most: usize,
    /// So many are priced in any case.
    pub least: usize,
    /// Somebody who hears of the directions priced and of the bound wants an end.
    pub is_over: &'a dyn Fn(usize, f64) -> bool,
}

/// Halves cones until no direction can gain much beyond its cost, or patience ends.
pub(super) struct BranchAndBound<'a> {
    prices: &'a Prices<'a>,
    cost: &'a Cost<'a>,
    patience: &'a Patience<'a>,
    all: Vec<Priced>,
    /// The largest gain beyond cost that was seen: no bound can be below.
    seen: f64,
    /// The middle of an edge, by its two ends.
    middles: HashMap<(usize, usize), usize>,
}

impl<'a> BranchAndBound<'a> {
    pub(super) fn new(prices: &'a Prices<'a>, cost: &'a Cost<'a>, patience: &'a Patience<'a>) -> Self {
        let (all, middles) = (Vec::new(), HashMap::new());
        BranchAndBound { prices, cost, patience, all, seen: f64::NEG_INFINITY, middles }
    }

    pub(super) fn run(mut self, classes: &Classes, cone: Cone) -> Search {
        let patience = self.patience;
        let mut cells = BinaryHeap::new();
        let mut known: Vec<(Direction, usize)> = Vec::new();
        for order in classes.orders() {
            let edges: Vec<usize> = cone
                .edges(&order)
                .into_iter()
                .map(|edge| match known.iter().find(|(direction, _)| *direction == edge) {
                    Some((_, place)) => *place,
                    None => {
                        let place = self.price(edge.clone());
                        known.push((edge, place));
                        place
                    }
                })
                .collect();
            cells.push(self.cell(edges));
        }
        let (mut bound, mut said) = (f64::INFINITY, 0);
        while let Some(cell) = cells.pop() {
            bound = cell.bound;
            if bound <= patience.tolerance.max(CLOSE * self.seen) || self.all.len() >= patience.most {
                break;
            }
            if self.all.len() >= said + PAUSE {
                said = self.all.len();
                if (patience.is_over)(said, bound) && said >= patience.least {
                    break;
                }
            }
            let halves = self.halves(&cell);
            halves.into_iter().for_each(|edges| cells.push(self.cell(edges)));
        }
        let priced = self.all.len();
        let mut found: Vec<_> =
            self.all.into_iter().filter(|p| p.excess > 0.0).map(|p| (p.excess, p.direction)).collect();
        found.sort_by(|l, r| r.0.total_cmp(&l.0));
        Search { bound, found, priced }
    }

    fn price(&mut self, direction: Direction) -> usize {
        let Mean { value, error } = self.prices.of_orbit(std::slice::from_ref(&direction));
        let cost = self.cost.at(&direction);
        let gain = value + if self.patience.errors_count { error } else { 0.0 };
        self.seen = self.seen.max(gain - cost);
        self.all.push(Priced { direction, gain, excess: value - cost });
        self.all.len() - 1
    }

    fn cell(&self, edges: Vec<usize>) -> Cell {
        let parts: Vec<(f64, &Direction)> =
            edges.iter().map(|&edge| (1.0, &self.all[edge].direction)).collect();
        let slope = self.cost.leakage.gradient(&Direction::combination(&parts));
        let excess = |&edge: &usize| {
            let Priced { direction, gain, .. } = &self.all[edge];
            let leakage: f64 = slope.iter().zip(&direction.values).map(|(s, v)| s * v).sum();
            gain - self.cost.linear(direction) - self.cost.nu * leakage
        };
        let bound = edges.iter().map(excess).fold(f64::NEG_INFINITY, f64::max);
        Cell { edges, bound }
    }

    /// The two cones between which the middle of the longest edge lies.
    fn halves(&mut self, cell: &Cell) -> [Vec<usize>; 2] {
        let mut longest = (0, 1, -1.0);
        for i in 1..cell.edges.len() {
            for j in 0..i {
                let length = self.all[cell.edges[i]].direction.distance(&self.all[cell.edges[j]].direction);
                if length > longest.2 {
                    longest = (j, i, length);
                }
            }
        }
        let (i, j, _) = longest;
        let ends = (cell.edges[i].min(cell.edges[j]), cell.edges[i].max(cell.edges[j]));
        let middle = match self.middles.get(&ends) {
            Some(&known) => known,
            None => {
                let direction = self.all[ends.0].direction.midpoint(&self.all[ends.1].direction);
                let place = self.price(direction);
                self.middles.insert(ends, place);
                place
            }
        };
        [i, j].map(|moved| {
            let mut edges = cell.edges.clone();
            edges[moved] = middle;
            edges
        })
    }
}
