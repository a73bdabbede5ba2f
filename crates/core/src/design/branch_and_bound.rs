//! Whether any direction of a cone gains more than it costs.
//!
//! The cone of allowed directions is cut by the orders of the inputs into simplicial cones with the edges `1` and
//! `1 + (e^ε − 1)·1_S` for growing `S`. On a simplicial cone with edges `u_i`, `v = Σ t_i u_i`,
//! ```text
//! h(v) − λᵀv − ν ℓ(v) ≤ Σ_i t_i [ h(u_i) − λᵀu_i − ν ∇ℓ(c)ᵀu_i ]        for any c inside
//! ```
//! by the convexity of both `h` and `ℓ`. Without `ν` the edges of the first cones decide: all rows of an optimum are two-valued. With it,
//! cones are halved until no bracket is above the tolerance.
//!
//! Where `h` and `νℓ` nearly cancel, as at high privacy, where both are nearly quadratic, their brackets are far above their difference. There the difference itself is
//! bounded, by what both are to second order (`second_order`).

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::numerics::parallel::*;

use super::direction::{Classes, Direction};
use super::price::{Cost, Gains, Prices};
use super::rule::Mean;
use super::simplex::largest_on_simplex;
use super::triangle::bilinear;
use crate::numerics::stop::check;

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
}

/// The outcome of a search over all directions.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// No direction of mean one gains more than its cost plus this.
    pub bound: f64,
    /// The directions that gain most beyond their cost, by how much (which may be below zero); best first.
    pub found: Vec<(f64, Direction)>,
    /// The largest gain beyond cost of a direction that was priced, with its error where errors count.
    pub seen: f64,
    /// How many directions were priced.
    pub priced: usize,
}

/// Directions that a search remembers.
const REMEMBERED: usize = 256;

impl Search {
    fn new(bound: f64, seen: f64, mut found: Vec<(f64, Direction)>) -> Self {
        let priced = found.len();
        found.sort_by(|l, r| r.0.total_cmp(&l.0));
        found.truncate(REMEMBERED);
        Search { bound, found, seen, priced }
    }
}

/// Prices all two-valued directions: enough where leakage is not limited.
pub(super) fn all_two_valued(prices: &Prices<'_>, cost: &Cost<'_>, classes: &Classes, cone: Cone) -> Search {
    let directions = classes.subsets().into_iter().map(|set| cone.two_valued(&set));
    let directions: Vec<Direction> = directions.chain([Direction::constant(classes.inputs())]).collect();
    let orbits: Vec<Vec<Direction>> = directions.iter().map(|direction| classes.orbit(direction)).collect();
    let members: Vec<&[Direction]> = orbits.iter().map(Vec::as_slice).collect();
    let gains = prices.of_orbits(&members);
    let excesses: Vec<f64> =
        directions.iter().zip(&gains).map(|(direction, gain)| gain.value - cost.at(direction)).collect();
    let bounds = excesses.iter().zip(&gains).map(|(excess, gain)| excess + gain.error);
    let bound = bounds.fold(f64::NEG_INFINITY, f64::max);
    Search::new(bound, bound, excesses.into_iter().zip(directions).collect())
}

/// A cone between directions, by their places in the list of all, and its bound.
struct Cell {
    edges: Box<[u32]>,
    bound: f64,
    /// Whether a bound of second order was enough, if one was tried.
    is_enough: Option<bool>,
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
    /// Its gain beyond the linear cost, the error of its mean included if errors count.
    gain: f64,
    /// The error of its mean if errors count, else 0.
    error: f64,
    /// Gain beyond all its cost, without the error.
    excess: f64,
}

/// A bound of second order is tried where what it loses, by a rough guess, is within reach of what it may lose. The reach is changed by this factor, between
/// these limits, so that half of those that are tried are enough.
const REACH_STEP: f64 = 1.2;
const REACHES: (f64, f64) = (1.0 / 16.0, 16.0);
/// And where it spares cells whose plain bounds take as long: that of one takes as long as so many points in a bound of second order.
const POINTS_OF_A_CELL: f64 = 200.0;

/// Cells that are halved together.
const TOGETHER: usize = 256;

/// Directions that are priced in a moment.
const FEW: usize = 4_000;

/// A bound is not pressed below so many times the gain of a direction that was seen.
pub(super) const CLOSE: f64 = 1.1;

/// When a search may end.
pub(super) struct Patience<'a> {
    /// No direction can gain more than this beyond its cost, or little more than one that was seen.
    pub aim: f64,
    /// What is good enough once more than a few thousand directions were priced.
    pub tolerance: f64,
    /// Where errors count, it is given up when a direction may gain more than this beyond its cost.
    pub hopeless: f64,
    /// So many directions are priced.
    pub most: usize,
    /// So many are priced in any case.
    pub least: usize,
    /// Somebody who hears of the directions priced and of the bound wants an end.
    pub is_over: &'a dyn Fn(usize, f64) -> bool,
}

/// Halves cones until no direction can gain much beyond its cost, or patience ends.
pub(super) struct BranchAndBound<'a> {
    prices: &'a dyn Gains,
    cost: &'a Cost<'a>,
    /// Whether the errors of means over the prior count as gains: for a certificate they do.
    errors_count: bool,
    all: Vec<Priced>,
    /// The largest gain beyond cost that was seen, its error included if errors count.
    seen: f64,
    /// The middle of an edge, by its two ends.
    middles: HashMap<(u32, u32), u32>,
    /// How far bounds of second order are tried.
    reach: f64,
    /// What a difference of each input counts in the length of an edge: half as the leakage bends, half as the gain does where all inputs are told alike.
    counts: Vec<f64>,
}

impl<'a> BranchAndBound<'a> {
    pub(super) fn new(prices: &'a dyn Gains, cost: &'a Cost<'a>, errors_count: bool) -> Self {
        let means = cost.leakage.means();
        let counts = means.iter().map(|mean| mean + 1.0 / means.len() as f64).collect();
        let (all, middles, seen) = (Vec::new(), HashMap::new(), f64::NEG_INFINITY);
        BranchAndBound { prices, cost, errors_count, all, seen, middles, reach: 1.0, counts }
    }

    /// Prices `known` directions, those of a protocol, before any others inside the cone: where they are hopeless the rest need not be looked at.
    pub(super) fn run(
        mut self,
        classes: &Classes,
        cone: Cone,
        known: Vec<Direction>,
        patience: &Patience<'_>,
    ) -> Search {
        let mut open: BinaryHeap<Cell> = self.first_cells(classes, cone, patience.aim).into();
        self.price(known);
        // The largest bound of the cells that need not be halved.
        let mut settled = f64::NEG_INFINITY;
        while let Some(bound) = open.peek().map(|cell| cell.bound) {
            check();
            let tolerance = if self.all.len() < FEW { patience.aim } else { patience.tolerance };
            let enough = tolerance.max(CLOSE * self.seen);
            let over = (patience.is_over)(self.all.len(), bound) && self.all.len() >= patience.least;
            let hopeless = self.errors_count && self.seen > patience.hopeless;
            if bound <= enough || self.all.len() >= patience.most || over || hopeless {
                break;
            }
            let above = |open: &BinaryHeap<Cell>| open.peek().is_some_and(|cell| cell.bound > enough);
            let best = std::iter::from_fn(|| above(&open).then(|| open.pop()).flatten());
            let cells: Vec<Cell> = best.take(TOGETHER).collect();
            let halves = self.halves(&cells, enough);
            self.reach_as_far_as_is_enough(&halves);
            for half in halves {
                if half.bound > patience.aim {
                    open.push(half);
                } else {
                    settled = settled.max(half.bound);
                }
            }
        }
        let bound = open.peek().map_or(settled, |cell| settled.max(cell.bound));
        let found = self.all.into_iter().map(|priced| (priced.excess, priced.direction)).collect();
        Search::new(bound, self.seen, found)
    }

    fn reach_as_far_as_is_enough(&mut self, cells: &[Cell]) {
        let tried = || cells.iter().filter_map(|cell| cell.is_enough);
        let (tries, hits) = (tried().count(), tried().filter(|hit| *hit).count());
        if tries > 0 {
            let step = if 2 * hits > tries { REACH_STEP } else { 1.0 / REACH_STEP };
            self.reach = (self.reach * step).clamp(REACHES.0, REACHES.1);
        }
    }

    /// The cones of directions that fall along an order of the inputs.
    fn first_cells(&mut self, classes: &Classes, cone: Cone, enough: f64) -> Vec<Cell> {
        let orders = classes.orders();
        let first = |order: &[usize], k: usize| order[..k].iter().map(|x| 1u32 << x).sum::<u32>();
        let sets = |order: &Vec<usize>| (1..=order.len()).map(|k| first(order, k)).collect::<Vec<u32>>();
        let all_sets: BTreeSet<u32> = orders.iter().flat_map(sets).collect();
        let places: HashMap<u32, u32> = all_sets.iter().copied().zip(0..).collect();
        let members = |set: &u32| (0..classes.inputs()).map(|x| set >> x & 1 == 1).collect::<Vec<bool>>();
        self.price(all_sets.iter().map(|set| cone.two_valued(&members(set))).collect());
        let edges = |order: &Vec<usize>| sets(order).iter().map(|set| places[set]).collect::<Box<[u32]>>();
        orders.par_iter().map(|order| self.cell(edges(order), f64::INFINITY, enough)).collect()
    }

    fn price(&mut self, directions: Vec<Direction>) {
        let cost = |direction: &Direction| (self.cost.linear(direction), self.cost.at(direction));
        let costs: Vec<(f64, f64)> = directions.par_iter().map(cost).collect();
        let gains = self.prices.of_each(&directions);
        for (direction, (Mean { value, error }, (linear, cost))) in
            directions.into_iter().zip(gains.into_iter().zip(costs))
        {
            let error = if self.errors_count { error } else { 0.0 };
            self.seen = self.seen.max(told(value + error - cost));
            self.all.push(Priced { direction, gain: value + error - linear, error, excess: value - cost });
        }
    }

    /// The cone between `edges`, inside one of the bound `outer`. Where the tangent in the middle does not bring the bound below `enough`, a
    /// second one nearer to the edge that gains most often does: any mean of tangents is below the leakage.
    fn cell(&self, edges: Box<[u32]>, outer: f64, enough: f64) -> Cell {
        let even = 1.0 / edges.len() as f64;
        let mut excesses = self.excesses(&edges, &vec![even; edges.len()]);
        let (most, excess) = largest(&excesses);
        if excess > enough {
            let mut shares = vec![0.5 * even; edges.len()];
            shares[most] += 0.5;
            excesses = lowest_mean(&excesses, &self.excesses(&edges, &shares));
        }
        let plain = largest(&excesses).1;
        let bound = plain.min(outer);
        // Rounds only look for directions: a rough bound serves them.
        let is_tried = bound > enough && self.errors_count;
        let second = is_tried.then(|| self.second_order(&edges, plain, enough)).flatten();
        Cell {
            edges,
            bound: second.map_or(bound, |second| bound.min(second)),
            is_enough: second.map(|second| second <= enough),
        }
    }

    /// A bound from the gain beyond cost to second order about the middle `c` of the edges, if that is worth its time.
    /// With `w = v − c`, exactly
    /// ```text
    /// h(v) − h(c) − ∇h(c)ᵀw = E[ yᵀ K y/(v·P) ],   y = w − c (w·P)/(c·P),
    /// ```
    /// which is at most `½ wᵀ∇²h(c)w` times the largest `c_x/v_x`; and the same difference of `ℓ` is at least `½ wᵀ∇²ℓ(c)w` times the smallest.
    /// So where both bend alike, as at high privacy, only what they differ by counts.
    fn second_order(&self, edges: &[u32], plain: f64, enough: f64) -> Option<f64> {
        let priced: Vec<&Priced> = edges.iter().map(|edge| &self.all[*edge as usize]).collect();
        let parts: Vec<(f64, &Direction)> = priced.iter().map(|edge| (1.0, &edge.direction)).collect();
        let middle = Direction::combination(&parts);
        let ratios = priced.iter().flat_map(|edge| middle.values.iter().zip(&edge.direction.values));
        let (smallest, largest) = ratios
            .map(|(c, v)| c / v)
            .fold((f64::INFINITY, 0.0f64), |(s, l), ratio| (s.min(ratio), l.max(ratio)));
        let corner = priced.iter().map(|edge| edge.excess + edge.error).fold(f64::NEG_INFINITY, f64::max);
        // What is below the plain bound, and what may be above the corners; about how loose this bound will be, and how many halvings it spares.
        let (loose, room) = (plain - corner, (enough - corner).max(0.0));
        let loss = (largest - smallest) * loose;
        let spared = (loose / room).powf(0.5 * (edges.len() as f64 - 1.0));
        let is_worth_it =
            loss <= self.reach * room && spared * POINTS_OF_A_CELL > self.prices.effort() as f64;
        if !is_worth_it {
            return None;
        }
        let Cost { lambda, nu, leakage } = self.cost;
        let (gain, leakage) = (self.prices.about(&middle), leakage.about(&middle));
        let excess = gain.value - self.cost.linear(&middle) - nu * leakage.value;
        let slope = |x: usize| gain.slope[x] - lambda[x] - nu * leakage.slope[x];
        let slope: Vec<f64> = (0..lambda.len()).map(slope).collect();
        let bend = |(h, l): (&f64, &f64)| 0.5 * (largest * h - nu * smallest * l);
        let bend: Vec<f64> = gain.curvature.iter().zip(&leakage.curvature).map(bend).collect();
        let steps: Vec<Vec<f64>> = priced.iter().map(|edge| edge.direction.minus(&middle)).collect();
        let rise = |step: &Vec<f64>| excess + slope.iter().zip(step).map(|(s, w)| s * w).sum::<f64>();
        let rises: Vec<f64> = steps.iter().map(rise).collect();
        let places = (0..steps.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let form: Vec<f64> = places.map(|(i, j)| bilinear(&bend, &steps[i], &steps[j])).collect();
        // Errors are taken to be largest at the corners, as they nearly are: they are estimates themselves.
        let error = priced.iter().map(|edge| edge.error).fold(0.0, f64::max);
        Some(told(error + largest_on_simplex(&rises, &form, enough - error)))
    }

    /// Of each edge, the gain beyond cost if the leakage is replaced by its tangent at the mean of the edges with `shares`.
    fn excesses(&self, edges: &[u32], shares: &[f64]) -> Vec<f64> {
        let priced = |edge: &u32| &self.all[*edge as usize];
        let parts: Vec<(f64, &Direction)> =
            edges.iter().zip(shares).map(|(edge, share)| (*share, &priced(edge).direction)).collect();
        let slope = self.cost.leakage.gradient(&Direction::combination(&parts));
        let excess = |edge: &u32| {
            let Priced { direction, gain, .. } = priced(edge);
            let leakage: f64 = slope.iter().zip(&direction.values).map(|(s, v)| s * v).sum();
            told(gain - self.cost.nu * leakage)
        };
        edges.iter().map(excess).collect()
    }

    /// Both halves of each cell, between which the middle of its longest edge lies.
    fn halves(&mut self, cells: &[Cell], enough: f64) -> Vec<Cell> {
        let longest: Vec<(usize, usize)> = cells.iter().map(|cell| self.longest(cell)).collect();
        let ends = |(cell, (i, j)): (&Cell, &(usize, usize))| {
            let (one, other) = (cell.edges[*i], cell.edges[*j]);
            (one.min(other), one.max(other))
        };
        let ends: Vec<(u32, u32)> = cells.iter().zip(&longest).map(ends).collect();
        self.price_middles(&ends);
        let half = |(place, moved): (usize, bool)| {
            let (i, j) = longest[place];
            let mut edges = cells[place].edges.clone();
            edges[if moved { i } else { j }] = self.middles[&ends[place]];
            self.cell(edges, cells[place].bound, enough)
        };
        let halves: Vec<(usize, bool)> =
            (0..cells.len()).flat_map(|place| [(place, false), (place, true)]).collect();
        halves.into_par_iter().map(half).collect()
    }

    /// Prices the middles of edges, given by their ends, that have no price yet.
    fn price_middles(&mut self, ends: &[(u32, u32)]) {
        let first = self.all.len();
        let mut new = Vec::new();
        for &ends in ends {
            if let Entry::Vacant(vacant) = self.middles.entry(ends) {
                vacant.insert((first + new.len()) as u32);
                new.push(ends);
            }
        }
        let priced = |end: u32| &self.all[end as usize];
        let middle = |&(l, r): &(u32, u32)| priced(l).direction.midpoint(&priced(r).direction);
        self.price(new.iter().map(middle).collect());
        // A middle gains no more than its ends do on average, whatever the error of its own mean.
        for (place, (l, r)) in new.into_iter().enumerate() {
            let most = 0.5 * (self.all[l as usize].gain + self.all[r as usize].gain);
            let gain = &mut self.all[first + place].gain;
            *gain = gain.min(most);
        }
    }

    /// The longest edge of a cell, by the places of its ends in it.
    fn longest(&self, cell: &Cell) -> (usize, usize) {
        let direction = |i: usize| &self.all[cell.edges[i] as usize].direction;
        let pairs = (1..cell.edges.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        let length =
            |(i, j): (usize, usize)| (direction(i).counted_distance(direction(j), &self.counts), (i, j));
        pairs.map(length).max_by(|l, r| l.0.total_cmp(&r.0)).map_or((0, 1), |(_, pair)| pair)
    }
}

/// What cannot be told is no bound.
fn told(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

/// The largest value and its place.
fn largest(values: &[f64]) -> (usize, f64) {
    let told = values.iter().map(|value| told(*value));
    told.enumerate().fold((0, f64::NEG_INFINITY), |l, r| if r.1 > l.1 { r } else { l })
}

/// The mean of two lists, with some weight, whose largest value is least.
fn lowest_mean(left: &[f64], right: &[f64]) -> Vec<f64> {
    let mean = |s: f64| left.iter().zip(right).map(|(l, r)| l + s * (r - l)).collect::<Vec<f64>>();
    let (mut low, mut high) = (0.0, 1.0);
    // The largest value is convex in s, and its slope is that of the place where it is reached.
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let (place, _) = largest(&mean(middle));
        if right[place] > left[place] {
            high = middle;
        } else {
            low = middle;
        }
    }
    mean(0.5 * (low + high))
}

/// Of the interval of weights: one in four thousand is near enough.
const HALVINGS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::price::LeakageOf;
    use crate::design::program::Column;
    use crate::design::rule::{Rule, Wanted};
    use crate::model::prior::Dirichlet;

    #[test]
    fn at_high_privacy_few_directions_are_enough() {
        // With a price on leakage just above what any direction gains, gain and cost bend alike, and plain bounds are far above both.
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let classes = Classes::new(prior.alpha());
        let parts = [(1.0, &prior)];
        let (floor, span) = ((-1e-3f64).exp(), -(-1e-3f64).exp_m1());
        let cone = Cone { floor, span };
        let wanted = Wanted { points: 1_500, contrast: 1e-3, form: None, seed: 0 };
        let rule = Rule::new(&parts, &classes, &wanted);
        let column = |x: usize| {
            let members: Vec<bool> = (0..3).map(|z| z == x).collect();
            Column::new(&cone.two_valued(&members), 0.0, &classes, &rule)
        };
        let columns: Vec<Column> = (0..3).map(column).collect();
        let prices = Prices::new(&rule, &columns, &[1.0 / 3.0; 3], 3).unwrap();
        let leakage = LeakageOf(&parts);
        let directions = grid(cone);
        let gains = prices.of_each(&directions);
        let worth = |(direction, gain): (&Direction, &Mean)| gain.value / leakage.at(direction).max(1e-12);
        let nu = 1.02 * directions.iter().zip(&gains).map(worth).fold(0.0, f64::max);
        let cost = Cost { lambda: vec![0.0; 3], nu, leakage: &leakage };
        let tolerance = 1e-3 * gains.iter().map(|gain| gain.value).fold(0.0, f64::max);
        let search = |errors_count: bool| {
            let patience = Patience {
                aim: tolerance,
                tolerance,
                hopeless: f64::INFINITY,
                most: 100_000,
                least: 0,
                is_over: &|_, _| false,
            };
            BranchAndBound::new(&prices, &cost, errors_count).run(&classes, cone, vec![], &patience)
        };
        let (plain, second_order) = (search(false), search(true));
        assert!(second_order.bound <= tolerance && plain.bound <= tolerance);
        assert!(5 * second_order.priced < plain.priced, "{} {}", second_order.priced, plain.priced);
    }

    /// Directions of three inputs, a triangle of them.
    fn grid(cone: Cone) -> Vec<Direction> {
        let steps = 60;
        let height = |i: usize| i as f64 / steps as f64;
        let heights = (0..=steps).flat_map(|i| (0..=steps).map(move |j| [height(i), height(j)]));
        let turned = heights.flat_map(|[l, m]| [[1.0, l, m], [l, 1.0, m], [l, m, 1.0]]);
        turned.filter_map(|heights| Direction::of_heights(&heights, cone.floor, cone.span)).collect()
    }

    #[test]
    fn the_bound_is_above_every_direction_and_not_by_much() {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let classes = Classes::new(prior.alpha());
        let parts = [(1.0, &prior)];
        let leakage = LeakageOf(&parts);
        for (epsilon, errors_count) in [(f64::INFINITY, false), (2.0, false), (2.0, true), (0.02, true)] {
            let cone = Cone { floor: (-epsilon).exp(), span: -(-epsilon).exp_m1() };
            let contrast = if epsilon < 1.0 { epsilon } else { 1e4 };
            let wanted = Wanted { points: 1_500, contrast, form: None, seed: 0 };
            let rule = Rule::new(&parts, &classes, &wanted);
            let truths = [[true, false, false], [false, true, false], [false, false, true]];
            let columns: Vec<Column> = truths
                .iter()
                .map(|truth| Column::new(&cone.two_valued(truth), 0.0, &classes, &rule))
                .collect();
            let prices = Prices::new(&rule, &columns, &[0.2; 3], 3).unwrap();
            let directions = grid(cone);
            let gains = prices.of_each(&directions);
            // From where all gain to where nothing does.
            for (lambda, nu) in [(0.0, 3.0), (-1.0, 30.0), (1.0, 12.0), (3.0, 40.0), (12.0, 1.0)] {
                let nu = nu / cone.span.powi(2);
                let cost = Cost { lambda: vec![lambda, 0.5 * lambda, 2.0 * lambda], nu, leakage: &leakage };
                let counted = |gain: &Mean| gain.value + if errors_count { gain.error } else { 0.0 };
                let excess = |(direction, gain): (&Direction, &Mean)| counted(gain) - cost.at(direction);
                let most = directions.iter().zip(&gains).map(excess).fold(f64::NEG_INFINITY, f64::max);
                let patience = Patience {
                    aim: most.abs() * 1e-3,
                    tolerance: most.abs() * 1e-3,
                    hopeless: f64::INFINITY,
                    most: 100_000,
                    least: 0,
                    is_over: &|_, _| false,
                };
                let search =
                    BranchAndBound::new(&prices, &cost, errors_count).run(&classes, cone, vec![], &patience);
                let bound = search.bound;
                assert!(bound >= most - 1e-9 * most.abs(), "{epsilon} {lambda} {nu}: {bound} below {most}");
                let slack = (CLOSE - 1.0) * most.max(0.0) + 2e-3 * most.abs();
                assert!(
                    bound <= most.max(patience.tolerance) + slack,
                    "{epsilon} {lambda} {nu}: {bound} {most}"
                );
            }
        }
    }

    #[test]
    fn two_tangents_are_mixed_to_the_lowest_bound() {
        let mixed = lowest_mean(&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.2]);
        assert!((largest(&mixed).1 - 1.0 / 11.0).abs() < 1e-3, "{mixed:?}");
        assert!((largest(&lowest_mean(&[2.0, 3.0], &[0.0, 1.0])).1 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn what_cannot_be_told_is_no_bound() {
        assert_eq!(largest(&[1.0, f64::NAN, 2.0]), (1, f64::INFINITY));
        let unknown = [f64::INFINITY, 1.0];
        assert_eq!(largest(&lowest_mean(&unknown, &unknown)).1, f64::INFINITY);
    }
}
