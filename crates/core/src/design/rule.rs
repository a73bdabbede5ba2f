//! Points of the prior at which a design is judged, and how far means over them may be off.

use crate::numerics::parallel::*;

use super::calibration::{calibration, mean_product};
use super::direction::Classes;
use crate::fisher::Point;
use crate::fisher::expectation::cubature::{gauss_points, logit_points};
use crate::fisher::expectation::quasi_monte_carlo::DirichletSequence;
use crate::model::evaluation::Method;
use crate::model::prior::Dirichlet;

/// A point of the simplex with its weight.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub weight: f64,
    pub p: Vec<f64>,
    /// The input of largest probability: coordinates are taken relative to it.
    pub reference: usize,
}

/// Weighted points that stand for the prior, in blocks.
///
/// Few inputs get tensor rules, of which the coarser ones only tell how far off the first may be. More inputs get
/// independent quasi-random replicates with [calibrated](super::calibration) weights, whose spread tells it. Where a value is rare now and
/// then, more of their points are there than the prior has (`Sources`).
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The points that the optimum is found on; replicates one after the other, all of the same length.
    pub nodes: Vec<Node>,
    /// The points of coarser rules, if there are any.
    checks: Vec<Vec<Node>>,
    /// Number of replicates, 1 for a tensor rule.
    pub replicates: usize,
    /// Whether more points would make no other rule.
    pub is_converged: bool,
    /// The weight of the points that were left out.
    left_out: f64,
}

/// A mean over the prior, and the error that its rule states for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub value: f64,
    pub error: f64,
}

/// Replicates of the quasi-random rule: enough for a Student error.
const REPLICATES: usize = 16;
/// Standard errors that count as the error of a random mean: the chance of 16 replicates (15 degrees of freedom) to be off by more is
/// `1e-3` for four.
const STANDARD_ERRORS: f64 = 4.0;
/// A tensor rule is used where its error in a mean is about this.
const GAUSS_TOLERANCE: f64 = 1e-6;
/// Trapezoids need so many more nodes that only few inputs can afford them, and the last only if a Gauss rule is no choice.
const MOST_INPUTS_OF_TRAPEZOID: usize = 4;
/// How many times longer the steps of their checks are. One difference may be small by chance.
const COARSER: [f64; 2] = [1.4, 1.7];

/// Points of a tensor rule of less weight are left out: half of all, in the far tails.
const NEGLIGIBLE_WEIGHT: f64 = 1e-13;

/// Directions of a larger contrast `max v/min v − 1` gain like `1/P_x` where `P_x` is small.
const STEEP: f64 = 100.0;

/// What a rule is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Points at most.
    pub points: usize,
    /// The largest `max v/min v − 1` of the directions.
    pub contrast: f64,
    /// The [form](super::calibration) of the protocol that is to be judged, if it is known about.
    pub form: Option<&'a [f64]>,
    pub seed: u64,
}

/// Points of a prior with their weights.
type WeightedPoints = Vec<(f64, Point)>;

impl Rule {
    /// A rule for a prior given by its Dirichlet parts.
    pub(super) fn new(parts: &[(f64, &Dirichlet)], classes: &Classes, wanted: &Wanted<'_>) -> Self {
        let (inputs, contrast) = (classes.inputs(), wanted.contrast);
        let share = wanted.points / parts.len().max(1);
        let tensor = |points: &dyn Fn(&[f64]) -> WeightedPoints| {
            let of_part = |(weight, part): &(f64, &Dirichlet)| {
                let weight = *weight;
                let counting = points(part.alpha()).into_iter().filter(|(w, _)| *w > NEGLIGIBLE_WEIGHT);
                counting.map(move |(w, point)| Node::new(weight * w, &point))
            };
            parts.iter().flat_map(of_part).collect::<Vec<_>>()
        };
        let trapezoid = || {
            let rule = |coarser: f64| {
                tensor(&|alpha| {
                    logit_points(alpha, contrast, coarser * trapezoid_step(alpha, contrast, share))
                })
            };
            Rule::tensor(rule(1.0), COARSER.map(rule).to_vec(), false)
        };
        if inputs < MOST_INPUTS_OF_TRAPEZOID {
            return trapezoid();
        }
        let order = gauss_order(contrast);
        if (order as f64).powi(inputs as i32 - 1) <= share as f64 {
            let rule = |order: usize| tensor(&|alpha| gauss_points(alpha, order));
            return Rule::tensor(rule(order), vec![rule(order - 1)], true);
        }
        if inputs == MOST_INPUTS_OF_TRAPEZOID {
            return trapezoid();
        }
        let turns = turns(classes);
        let length = (share / (REPLICATES * turns.len())).max(1);
        let nodes = quasi_random(parts, &turns, length, wanted);
        Rule { nodes, checks: vec![], replicates: REPLICATES, is_converged: false, left_out: 0.0 }
    }

    fn tensor(nodes: Vec<Node>, checks: Vec<Vec<Node>>, is_converged: bool) -> Self {
        let kept: f64 = nodes.iter().map(|node| node.weight).sum();
        Rule { nodes, checks, replicates: 1, is_converged, left_out: (1.0 - kept).max(0.0) }
    }

    /// How means over the rule are found.
    pub(super) fn method(&self) -> Method {
        if self.replicates > 1 { Method::MonteCarlo } else { Method::Quadrature }
    }

    /// All points, those of the checks last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().chain(self.checks.iter().flatten())
    }

    /// The points by the parts whose sums tell the error: replicates, or the rule and its checks.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[Node]> {
        let checks = self.checks.iter().map(Vec::as_slice);
        self.nodes.chunks((self.nodes.len() / self.replicates).max(1)).chain(checks)
    }

    /// The mean of a function that is at most `highest`, from its weighted sums over [`parts`](Rule::parts).
    pub(super) fn mean(&self, sums: &[f64], highest: f64) -> Mean {
        if self.replicates == 1 {
            let off = sums[1..].iter().map(|check| (sums[0] - check).abs()).fold(0.0, larger_error);
            return Mean { value: sums[0], error: off + self.left_out * highest };
        }
        let count = self.replicates as f64;
        let value: f64 = sums.iter().sum();
        let squares: f64 = sums.iter().map(|sum| (sum * count - value).powi(2)).sum();
        Mean { value, error: STANDARD_ERRORS * (squares / (count * (count - 1.0))).sqrt() }
    }
}

/// The larger of two errors, or that which is no number.
pub(super) fn larger_error(left: f64, right: f64) -> f64 {
    if right > left || right.is_nan() { right } else { left }
}

impl Node {
    fn new(weight: f64, point: &Point) -> Self {
        // Below 1e-280 the squares of a Fisher information would overflow; so small a p_x has no part in any mean.
        let p = point.p().iter().map(|p_x| p_x.max(1e-280)).collect();
        Node { weight, p, reference: point.mode() }
    }
}

/// Where a mean of functions with singularities at `p = −1/c` converges like `ρ^{−2n}`, the order `n` that reaches the tolerance.
fn gauss_order(contrast: f64) -> usize {
    let z = 1.0 + 2.0 / contrast;
    let rate = 2.0 * (z + (z * z - 1.0).sqrt()).ln();
    ((-GAUSS_TOLERANCE.ln() / rate).ceil() as usize).max(4)
}

/// The smallest step whose rule has at most `budget` points that count.
fn trapezoid_step(alpha: &[f64], contrast: f64, budget: usize) -> f64 {
    let steps = (0..24).map(|level| 4.0 / 1.2f64.powi(level));
    let counts = |(weight, _): &&(f64, Point)| *weight > NEGLIGIBLE_WEIGHT;
    let affordable =
        |step: &f64| logit_points(alpha, contrast, *step).iter().filter(counts).count() <= budget;
    steps.take_while(affordable).last().unwrap_or(4.0)
}

fn quasi_random(
    parts: &[(f64, &Dirichlet)],
    turns: &[Vec<usize>],
    length: usize,
    wanted: &Wanted<'_>,
) -> Vec<Node> {
    let blocks: Vec<(usize, usize)> =
        (0..REPLICATES).flat_map(|replicate| (0..parts.len()).map(move |part| (replicate, part))).collect();
    let block = |&(replicate, i): &(usize, usize)| {
        let (weight, part) = parts[i];
        let sources = Sources::new(part, wanted, length);
        let points = sources.points(wanted.seed, replicate * parts.len() + i);
        let turned = points.iter().flat_map(|point| turns.iter().map(move |turn| turned(point, turn)));
        let mut nodes: Vec<Node> = turned.map(|point| Node::new(1.0, &point)).collect();
        nodes.iter_mut().for_each(|node| node.weight = sources.importance(&node.p));
        let factors = calibration(part, &sources.powers(), wanted.form, &nodes, length);
        let even = weight / (nodes.len() * REPLICATES) as f64;
        nodes.iter_mut().zip(factors).for_each(|(node, factor)| node.weight *= even * factor);
        nodes
    };
    blocks.par_iter().flat_map_iter(block).collect()
}

/// Where random points come from: the prior, and if directions are steep, for each input that is rare now and then the prior with up to one value `x` less. Its density is in
/// proportion to that of the prior times a power of `1/P_x`, so it has the points that make the mean of `1/P_x`.
struct Sources<'a> {
    prior: &'a Dirichlet,
    rare: Vec<Rare>,
    /// Points of the prior itself, and of each other source.
    plain: usize,
    each: usize,
}

/// An input that is rare now and then.
struct Rare {
    input: usize,
    /// Its parameter in the source.
    alpha: f64,
    /// `E P_x^{alpha − α_x}` under the prior.
    norm: f64,
}

/// Inputs of smaller parameters are rare anyhow, and those of larger ones so seldom that `1/P_x` has a variance.
const RARE: std::ops::RangeInclusive<f64> = 0.2..=2.0;
/// If `1/P_x` has no mean, what the truth about `x` gains is like it only down to where the least of the form is as much as `x` makes of it: that is far down if the form has
/// so many times its least at `x`.
const FAR: f64 = 10.0;
/// The smallest parameter in a source.
const LEAST_PARAMETER: f64 = 0.1;

impl<'a> Sources<'a> {
    fn new(prior: &'a Dirichlet, wanted: &Wanted<'_>, length: usize) -> Self {
        let alpha = prior.alpha();
        let source = |input: usize| {
            let less = (alpha[input] - 1.0).max(LEAST_PARAMETER);
            let mut exponents = vec![0.0; alpha.len()];
            exponents[input] = less - alpha[input];
            Rare { input, alpha: less, norm: mean_product(alpha, &exponents) }
        };
        let is_far = |x: usize| {
            let least = |form: &[f64]| form.iter().copied().fold(f64::INFINITY, f64::min);
            wanted.form.is_some_and(|form| form[x] > FAR * least(form))
        };
        let is_rare = |x: &usize| {
            wanted.contrast > STEEP && RARE.contains(&alpha[*x]) && (alpha[*x] > 1.0 || is_far(*x))
        };
        let rare: Vec<Rare> = (0..alpha.len()).filter(is_rare).map(source).collect();
        let each = length / (2 * rare.len().max(1));
        Sources { prior, plain: length - each * rare.len(), rare, each }
    }

    /// All points of a replicate.
    fn points(&self, seed: u64, replicate: usize) -> Vec<Point> {
        let alpha = self.prior.alpha();
        let from = |source: usize, count: usize, alpha: Vec<f64>| {
            let sequence = DirichletSequence::new(seed, (replicate * (alpha.len() + 1) + source) as u32);
            (0..count as u32).map(move |j| sequence.point(j, &alpha))
        };
        let rare = self.rare.iter().flat_map(|rare| {
            let mut alpha = alpha.to_vec();
            alpha[rare.input] = rare.alpha;
            from(1 + rare.input, self.each, alpha)
        });
        from(0, self.plain, alpha.to_vec()).chain(rare).collect()
    }

    /// The density of the prior over that of the points.
    fn importance(&self, p: &[f64]) -> f64 {
        // The density of a source over that of the prior.
        let ratio = |rare: &Rare| p[rare.input].powf(rare.alpha - self.prior.alpha()[rare.input]) / rare.norm;
        let rare: f64 = self.rare.iter().map(ratio).sum();
        let (plain, each) = (self.plain as f64, self.each as f64);
        (plain + each * self.rare.len() as f64) / (plain + each * rare)
    }

    /// The lowest power of each `P_x` whose mean over the points has a variance, but none below −1: that of a truth's gain.
    fn powers(&self) -> Vec<f64> {
        let mut infinite: Vec<f64> = self.prior.alpha().iter().map(|alpha| -0.5 * alpha).collect();
        for Rare { input, alpha, .. } in &self.rare {
            infinite[*input] = 0.5 * alpha - self.prior.alpha()[*input];
        }
        infinite.iter().map(|power| if *power < -1.0 { -1.0 } else { JUST_ABOVE * power }).collect()
    }
}

/// Powers above the one whose variance is infinite.
const JUST_ABOVE: f64 = 0.9;

/// The prior does not tell the inputs of a class apart, so each point counts in every rotation of its classes. The gain of a
/// protocol's own rows is then exact under a symmetric prior, where their sum is known, and the noise of the others is less.
fn turns(classes: &Classes) -> Vec<Vec<usize>> {
    let mut turns = vec![(0..classes.inputs()).collect::<Vec<usize>>()];
    for class in 0..classes.sizes.len() {
        let places: Vec<usize> = (0..classes.inputs()).filter(|&x| classes.of[x] == class).collect();
        let shifted = |turn: &Vec<usize>, shift: usize| {
            let mut turn = turn.clone();
            places.iter().enumerate().for_each(|(i, &x)| turn[x] = places[(i + shift) % places.len()]);
            turn
        };
        turns = turns
            .iter()
            .flat_map(|turn| (0..places.len()).map(|s| shifted(turn, s)).collect::<Vec<_>>())
            .collect();
    }
    turns
}

fn turned(point: &Point, turn: &[usize]) -> Point {
    Point::from_ln_weights(turn.iter().map(|&x| point.ln_p()[x]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_no_small_error() {
        let rule = Rule::tensor(vec![], vec![vec![]; 2], false);
        assert!(
            [[1.0, f64::NAN, 1.1], [1.0, 1.1, f64::NAN]]
                .iter()
                .all(|sums| rule.mean(sums, 1.0).error.is_nan())
        );
        assert!((rule.mean(&[1.0, 1.1, 1.3], 0.0).error - 0.3).abs() < 1e-15);
    }

    #[test]
    fn every_kind_of_rule_has_the_moments_of_the_prior() {
        for (alpha, contrast) in [(vec![0.5, 1.5, 2.0], 1.7), (vec![0.5; 4], 0.5), (vec![0.5; 6], 50.0)] {
            let prior = Dirichlet::new(alpha.clone()).unwrap();
            let wanted = Wanted { points: 1 << 15, contrast, form: None, seed: 0 };
            let rule = Rule::new(&[(1.0, &prior)], &Classes::new(&alpha), &wanted);
            let total = prior.total();
            let square = |nodes: &[Node]| nodes.iter().map(|node| node.weight * node.p[0] * node.p[0]).sum();
            let squares: Vec<f64> = rule.parts().map(square).collect();
            let exact = alpha[0] * (alpha[0] + 1.0) / (total * (total + 1.0));
            let mean = rule.mean(&squares, 1.0);
            assert!((mean.value - exact).abs() <= mean.error + 1e-12, "{alpha:?} {mean:?} {exact}");
            assert!(mean.error < 1e-3, "{alpha:?} {mean:?}");
        }
    }

    /// `1/(P_1 + 10⁻⁶)` is nearly `1/P_1`, which has a mean under `Dirichlet(1.1, …)` but no variance.
    #[test]
    fn values_that_are_rare_now_and_then_are_met() {
        let alpha = [1.1, 0.7, 2.5, 1.5, 3.0];
        let prior = Dirichlet::new(alpha.to_vec()).unwrap();
        let f = |p: f64| 1.0 / (p + 1e-6);
        // P_1 ~ Beta(1.1, 7.7), in ln P_1 by the midpoint rule.
        let nodes = (0..60_000).map(|i| (-1e-3 * (f64::from(i) + 0.5)).exp());
        let (sum, norm) = nodes.fold((0.0, 0.0), |(sum, norm), p| {
            let density = p.powf(1.1) * (1.0 - p).powf(6.7);
            (sum + f(p) * density, norm + density)
        });
        let mean = |contrast: f64| {
            let wanted = Wanted { points: 1 << 15, contrast, form: None, seed: 0 };
            let rule = Rule::new(&[(1.0, &prior)], &Classes::new(&alpha), &wanted);
            let sum = |nodes: &[Node]| nodes.iter().map(|node| node.weight * f(node.p[0])).sum::<f64>();
            rule.mean(&rule.parts().map(sum).collect::<Vec<f64>>(), 1e6)
        };
        let (steep, flat) = (mean(1e6), mean(0.99 * STEEP));
        assert!((steep.value - sum / norm).abs() <= steep.error, "{steep:?} {}", sum / norm);
        assert!(steep.error < 2e-3 * steep.value && steep.error < 0.05 * flat.error, "{steep:?} {flat:?}");
    }
}
