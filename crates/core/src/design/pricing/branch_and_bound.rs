//! Branch and bound over the directions of a cone.
//!
//! The orders of the inputs cut the cone into simplicial cones (*cells*) with the extreme rays `1` and `1 + (e^ε − 1)·1_S` for growing sets `S`. The cell
//! with the largest [bound](super::cell_bounds) is halved at its longest edge, until no bound is above the tolerance.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::numerics::parallel::*;

use super::PricingResult;
use crate::design::certificate::nan_to_infinity;
use crate::design::cone::Cone;
use crate::design::cubature::EstimatedMean;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::sensitivity::Sensitivity;
use crate::design::symmetry::Symmetry;
use crate::design::tolerances::PricingTolerances;
use crate::numerics::stop::check;

/// A simplicial cone by the indices of its extreme rays among all priced directions, with the bound on its reduced costs.
pub(super) struct Cell {
    pub rays: Box<[u32]>,
    pub bound: f64,
    /// Whether the second-order bound was enough, if it was tried.
    pub second_order_sufficed: Option<bool>,
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

/// A direction with its reduced cost.
pub(super) struct PricedDirection {
    pub direction: Direction,
    /// `h(v) − λᵀv`, plus the error of `h(v)` if errors count.
    pub linear_part: f64,
    /// The error of `h(v)` if errors count, else 0.
    pub error: f64,
    /// `ρ(v)` without the error.
    pub reduced_cost: f64,
}

/// When a search ends.
pub(in crate::design) struct StoppingRule<'a> {
    /// No reduced cost can exceed this.
    pub aim: f64,
    /// The same, once more than `PricingTolerances::quick` directions were priced.
    pub tolerance: f64,
    /// Where errors count: a reduced cost above this was seen, so the certificate fails on these nodes.
    pub failure: f64,
    /// So many directions were priced.
    pub max_directions: usize,
    /// At least so many are priced before an interruption.
    pub min_directions: usize,
    /// Reports the number of priced directions and the bound; whether to interrupt.
    pub is_interrupted: &'a dyn Fn(usize, f64) -> bool,
}

/// The state of the search.
pub(in crate::design) struct BranchAndBound<'a> {
    pub(super) sensitivity: &'a dyn Sensitivity,
    pub(super) dual: &'a DualVariables<'a>,
    pub(super) tolerances: &'a PricingTolerances,
    /// Whether errors of sensitivities count as reduced cost: for a certificate they do.
    pub(super) errors_count: bool,
    pub(super) all: Vec<PricedDirection>,
    /// The largest reduced cost that was seen, plus its error if errors count.
    largest_seen: f64,
    /// The index of the midpoint of an edge, by its two ends.
    midpoints: HashMap<(u32, u32), u32>,
    /// How far second-order bounds are tried, see [`PricingTolerances::reach_ratio`].
    pub(super) reach: f64,
    /// The weight of each input in the length of an edge: half by the Hessian of the leakage, half by that of the sensitivity of erasure.
    edge_weights: Vec<f64>,
}

impl<'a> BranchAndBound<'a> {
    pub(in crate::design) fn new(
        sensitivity: &'a dyn Sensitivity,
        dual: &'a DualVariables<'a>,
        errors_count: bool,
        tolerances: &'a PricingTolerances,
    ) -> Self {
        let means = dual.leakage.prior_means();
        let edge_weights = means.iter().map(|mean| mean + 1.0 / means.len() as f64).collect();
        BranchAndBound {
            sensitivity,
            dual,
            tolerances,
            errors_count,
            all: Vec::new(),
            largest_seen: f64::NEG_INFINITY,
            midpoints: HashMap::new(),
            reach: 1.0,
            edge_weights,
        }
    }

    /// Prices the extreme rays, then the `known` directions of a protocol, then halves cells. If a known direction already rules the certificate out,
    /// nothing else need be priced.
    pub(in crate::design) fn run(
        mut self,
        symmetry: &Symmetry,
        cone: Cone,
        known: Vec<Direction>,
        rule: &StoppingRule<'_>,
    ) -> PricingResult {
        let mut open: BinaryHeap<Cell> = self.first_cells(symmetry, cone, rule.aim).into();
        self.price(known);
        // The largest bound of the cells that need not be halved.
        let mut closed_bound = f64::NEG_INFINITY;
        while let Some(bound) = open.peek().map(|cell| cell.bound) {
            check();
            let enough = self.sufficient_bound(rule);
            if self.must_stop(bound, rule) || bound <= enough {
                break;
            }
            let cells = worst_cells(&mut open, enough, self.tolerances.batch);
            let halves = self.halves(&cells, enough);
            self.adapt_reach(&halves);
            for half in halves {
                if half.bound > rule.aim {
                    open.push(half);
                } else {
                    closed_bound = closed_bound.max(half.bound);
                }
            }
        }
        let bound = open.peek().map_or(closed_bound, |cell| closed_bound.max(cell.bound));
        let all = self.all.into_iter().map(|priced| (priced.reduced_cost, priced.direction)).collect();
        PricingResult::new(bound, self.largest_seen, all, self.tolerances.kept)
    }

    /// The bound at which the search may rest.
    fn sufficient_bound(&self, rule: &StoppingRule<'_>) -> f64 {
        let tolerance = if self.all.len() < self.tolerances.quick { rule.aim } else { rule.tolerance };
        tolerance.max(self.tolerances.bound_ratio * self.largest_seen)
    }

    fn must_stop(&self, bound: f64, rule: &StoppingRule<'_>) -> bool {
        let priced = self.all.len();
        let is_interrupted = (rule.is_interrupted)(priced, bound) && priced >= rule.min_directions;
        let has_failed = self.errors_count && self.largest_seen > rule.failure;
        priced >= rule.max_directions || is_interrupted || has_failed
    }

    /// Adapts the reach so that half of the second-order bounds that are tried are enough.
    fn adapt_reach(&mut self, cells: &[Cell]) {
        let tried = || cells.iter().filter_map(|cell| cell.second_order_sufficed);
        let (tries, hits) = (tried().count(), tried().filter(|hit| *hit).count());
        let PricingTolerances { reach_ratio, min_reach, max_reach, .. } = *self.tolerances;
        if tries > 0 {
            let step = if 2 * hits > tries { reach_ratio } else { 1.0 / reach_ratio };
            self.reach = (self.reach * step).clamp(min_reach, max_reach);
        }
    }

    /// The cones of directions whose entries fall along an order of the inputs, one of each orbit.
    fn first_cells(&mut self, symmetry: &Symmetry, cone: Cone, enough: f64) -> Vec<Cell> {
        let orders = symmetry.order_representatives();
        let first = |order: &[usize], k: usize| order[..k].iter().map(|x| 1u32 << x).sum::<u32>();
        let sets = |order: &Vec<usize>| (1..=order.len()).map(|k| first(order, k)).collect::<Vec<u32>>();
        let all_sets: BTreeSet<u32> = orders.iter().flat_map(sets).collect();
        let places: HashMap<u32, u32> = all_sets.iter().copied().zip(0..).collect();
        let members = |set: &u32| (0..symmetry.inputs()).map(|x| set >> x & 1 == 1).collect::<Vec<bool>>();
        self.price(all_sets.iter().map(|set| cone.vertex(&members(set))).collect());
        let rays = |order: &Vec<usize>| sets(order).iter().map(|set| places[set]).collect::<Box<[u32]>>();
        orders.par_iter().map(|order| self.cell(rays(order), f64::INFINITY, enough)).collect()
    }

    fn price(&mut self, directions: Vec<Direction>) {
        let cost = |direction: &Direction| (self.dual.linear_cost(direction), self.dual.cost(direction));
        let costs: Vec<(f64, f64)> = directions.par_iter().map(cost).collect();
        let sensitivities = self.sensitivity.of_each(&directions);
        for (direction, (EstimatedMean { value, error }, (linear, cost))) in
            directions.into_iter().zip(sensitivities.into_iter().zip(costs))
        {
            let error = if self.errors_count { error } else { 0.0 };
            self.largest_seen = self.largest_seen.max(nan_to_infinity(value + error - cost));
            let (linear_part, reduced_cost) = (value + error - linear, value - cost);
            self.all.push(PricedDirection { direction, linear_part, error, reduced_cost });
        }
    }

    /// Both halves of each cell, at the midpoint of its longest edge.
    fn halves(&mut self, cells: &[Cell], enough: f64) -> Vec<Cell> {
        let longest: Vec<(usize, usize)> = cells.iter().map(|cell| self.longest_edge(cell)).collect();
        let ends = |(cell, (i, j)): (&Cell, &(usize, usize))| {
            let (one, other) = (cell.rays[*i], cell.rays[*j]);
            (one.min(other), one.max(other))
        };
        let ends: Vec<(u32, u32)> = cells.iter().zip(&longest).map(ends).collect();
        self.price_midpoints(&ends);
        let half = |(place, replaces_first): (usize, bool)| {
            let (i, j) = longest[place];
            let mut rays = cells[place].rays.clone();
            rays[if replaces_first { i } else { j }] = self.midpoints[&ends[place]];
            self.cell(rays, cells[place].bound, enough)
        };
        let halves: Vec<(usize, bool)> =
            (0..cells.len()).flat_map(|place| [(place, false), (place, true)]).collect();
        halves.into_par_iter().map(half).collect()
    }

    /// Prices the midpoints of edges, given by their ends, that are not priced yet.
    fn price_midpoints(&mut self, ends: &[(u32, u32)]) {
        let first = self.all.len();
        let mut new = Vec::new();
        for &ends in ends {
            if let Entry::Vacant(vacant) = self.midpoints.entry(ends) {
                vacant.insert((first + new.len()) as u32);
                new.push(ends);
            }
        }
        let direction = |end: u32| &self.all[end as usize].direction;
        self.price(new.iter().map(|&(l, r)| direction(l).midpoint(direction(r))).collect());
        // h is convex: a midpoint has at most the mean of its ends, whatever the error of its own estimate.
        for (place, (l, r)) in new.into_iter().enumerate() {
            let most = 0.5 * (self.all[l as usize].linear_part + self.all[r as usize].linear_part);
            let linear_part = &mut self.all[first + place].linear_part;
            *linear_part = linear_part.min(most);
        }
    }

    /// The longest edge of a cell, by the positions of its ends among the rays.
    fn longest_edge(&self, cell: &Cell) -> (usize, usize) {
        let direction = |i: usize| &self.all[cell.rays[i] as usize].direction;
        let pairs = (1..cell.rays.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        let length = |(i, j): (usize, usize)| {
            (direction(i).weighted_squared_distance(direction(j), &self.edge_weights), (i, j))
        };
        pairs.map(length).max_by(|l, r| l.0.total_cmp(&r.0)).map_or((0, 1), |(_, pair)| pair)
    }
}

/// Takes the cells of the largest bounds above `enough`.
fn worst_cells(open: &mut BinaryHeap<Cell>, enough: f64, batch: usize) -> Vec<Cell> {
    let is_above = |open: &BinaryHeap<Cell>| open.peek().is_some_and(|cell| cell.bound > enough);
    std::iter::from_fn(|| is_above(open).then(|| open.pop()).flatten()).take(batch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::column::Column;
    use crate::design::cubature::{Cubature, CubatureRequest};
    use crate::design::row_leakage::RowLeakage;
    use crate::design::sensitivity::CubatureSensitivity;
    use crate::design::tolerances::Tolerances;
    use crate::model::prior::Dirichlet;

    #[test]
    fn at_high_privacy_few_directions_are_enough() {
        // With ν such that no reduced cost is positive by a small margin, sensitivity and leakage bend alike, and linear bounds are far too large.
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let tolerances = PricingTolerances::default();
        let symmetry = Symmetry::new(prior.alpha());
        let components = [(1.0, &prior)];
        let cone = Cone::new(Some(1e-3));
        let request = CubatureRequest { max_nodes: 1_500, contrast: 1e-3, disclosure_odds: None, seed: 0 };
        let cubature = Cubature::new(&components, &symmetry, &request, &Tolerances::default());
        let column = |x: usize| {
            let members: Vec<bool> = (0..3).map(|z| z == x).collect();
            Column::new(&cone.vertex(&members), 0.0, &symmetry, &cubature)
        };
        let columns: Vec<Column> = (0..3).map(column).collect();
        let sensitivity = CubatureSensitivity::new(&cubature, &columns, &[1.0 / 3.0; 3], 16_384).unwrap();
        let leakage = RowLeakage(&components);
        let directions = grid(cone);
        let sensitivities = sensitivity.of_each(&directions);
        let ratio = |(direction, h): (&Direction, &EstimatedMean)| h.value / leakage.of(direction).max(1e-12);
        let nu = 1.02 * directions.iter().zip(&sensitivities).map(ratio).fold(0.0, f64::max);
        let dual = DualVariables { lambda: vec![0.0; 3], nu, leakage: &leakage };
        let tolerance = 1e-3 * sensitivities.iter().map(|h| h.value).fold(0.0, f64::max);
        let search = |errors_count: bool| {
            let rule = StoppingRule {
                aim: tolerance,
                tolerance,
                failure: f64::INFINITY,
                max_directions: 100_000,
                min_directions: 0,
                is_interrupted: &|_, _| false,
            };
            BranchAndBound::new(&sensitivity, &dual, errors_count, &tolerances).run(
                &symmetry,
                cone,
                vec![],
                &rule,
            )
        };
        let (linear, second_order) = (search(false), search(true));
        assert!(second_order.bound <= tolerance && linear.bound <= tolerance);
        assert!(5 * second_order.priced < linear.priced, "{} {}", second_order.priced, linear.priced);
    }

    /// Directions of three inputs, a triangle of them.
    fn grid(cone: Cone) -> Vec<Direction> {
        let steps = 60;
        let height = |i: usize| i as f64 / steps as f64;
        let heights = (0..=steps).flat_map(|i| (0..=steps).map(move |j| [height(i), height(j)]));
        let turned = heights.flat_map(|[l, m]| [[1.0, l, m], [l, 1.0, m], [l, m, 1.0]]);
        turned.filter_map(|heights| Direction::from_heights(&heights, cone.floor, cone.span)).collect()
    }

    #[test]
    fn the_bound_is_above_every_direction_and_not_by_much() {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let tolerances = PricingTolerances::default();
        let symmetry = Symmetry::new(prior.alpha());
        let components = [(1.0, &prior)];
        let leakage = RowLeakage(&components);
        for (epsilon, errors_count) in [(f64::INFINITY, false), (2.0, false), (2.0, true), (0.02, true)] {
            let cone = Cone { floor: (-epsilon).exp(), span: -(-epsilon).exp_m1() };
            let contrast = if epsilon < 1.0 { epsilon } else { 1e4 };
            let request = CubatureRequest { max_nodes: 1_500, contrast, disclosure_odds: None, seed: 0 };
            let cubature = Cubature::new(&components, &symmetry, &request, &Tolerances::default());
            let units = [[true, false, false], [false, true, false], [false, false, true]];
            let columns: Vec<Column> =
                units.iter().map(|unit| Column::new(&cone.vertex(unit), 0.0, &symmetry, &cubature)).collect();
            let sensitivity = CubatureSensitivity::new(&cubature, &columns, &[0.2; 3], 16_384).unwrap();
            let directions = grid(cone);
            let sensitivities = sensitivity.of_each(&directions);
            // From where all reduced costs are positive to where none is.
            for (lambda, nu) in [(0.0, 3.0), (-1.0, 30.0), (1.0, 12.0), (3.0, 40.0), (12.0, 1.0)] {
                let nu = nu / cone.span.powi(2);
                let dual =
                    DualVariables { lambda: vec![lambda, 0.5 * lambda, 2.0 * lambda], nu, leakage: &leakage };
                let counted = |h: &EstimatedMean| h.value + if errors_count { h.error } else { 0.0 };
                let reduced_cost =
                    |(direction, h): (&Direction, &EstimatedMean)| counted(h) - dual.cost(direction);
                let most =
                    directions.iter().zip(&sensitivities).map(reduced_cost).fold(f64::NEG_INFINITY, f64::max);
                let rule = StoppingRule {
                    aim: most.abs() * 1e-3,
                    tolerance: most.abs() * 1e-3,
                    failure: f64::INFINITY,
                    max_directions: 100_000,
                    min_directions: 0,
                    is_interrupted: &|_, _| false,
                };
                let search = BranchAndBound::new(&sensitivity, &dual, errors_count, &tolerances).run(
                    &symmetry,
                    cone,
                    vec![],
                    &rule,
                );
                let bound = search.bound;
                assert!(bound >= most - 1e-9 * most.abs(), "{epsilon} {lambda} {nu}: {bound} below {most}");
                let slack = (tolerances.bound_ratio - 1.0) * most.max(0.0) + 2e-3 * most.abs();
                assert!(bound <= most.max(rule.tolerance) + slack, "{epsilon} {lambda} {nu}: {bound} {most}");
            }
        }
    }
}
