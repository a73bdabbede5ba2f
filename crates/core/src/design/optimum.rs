//! The search for the best protocol: solve for the weights of some directions, price all directions, add those that gain, repeat.

use crate::numerics::parallel::*;

use super::branch_and_bound::{BranchAndBound, CLOSE, Cone, Patience, Search, all_two_valued};
use super::candid::{Candid, Multipliers};
use super::certificate::Certificate;
use super::direction::{Classes, Direction};
use super::price::{Cost, Gains, LeakageOf, Prices};
use super::program::{Column, Program, Weights, utility};
use super::reference::Reference;
use super::requirement::Requirement;
use super::rows::Rows;
use super::rule::{Rule, Wanted, larger_error};
use super::toward_privacy::{with_blank, within};
use super::triangle::entries;
use super::{Design, Effort};
use crate::leakage::{GroupedPrior, user_entropy};
use crate::model::error::{Error, Result};
use crate::model::evaluation::Method;
use crate::model::prior::Dirichlet;
use crate::model::protocol::Protocol;
use crate::numerics::stop::check;

/// Inputs for which all `2^a` two-valued directions are priced.
pub(super) const MOST_INPUTS: usize = 12;
/// Inputs for which directions inside the cone are searched if the prior tells inputs apart: their orders are as many as `a!`.
pub(super) const MOST_INPUTS_LIMITED: usize = 6;
/// The same if it does not: one order, but the rounds of an optimum's orbits grow quickly.
pub(super) const MOST_INPUTS_LIMITED_SYMMETRIC: usize = 10;

/// Shares of the gap to aim at: what rounds may leave to gain, what merging directions may, what a thorough search may find and leave, and
/// where its bound rests.
const LEFT_BY_ROUNDS: f64 = 0.25;
const LEFT_BY_MERGING: f64 = 0.375;
const LEFT_IN_THE_END: f64 = 0.5;
const CERTIFIED: f64 = 0.6;
/// Shares that the multiplier of leakage is raised for, in rounds and for a certificate. Where little may leak, what a direction gains is as many times larger as it
/// leaks more than the budget, and so is the error of its mean. The raise allows each direction as much more as it leaks, and costs what the budget leaks.
const RAISED_BY_ROUNDS: f64 = 0.1;
const RAISED: f64 = 0.25;
/// How many times fewer points are used to find the directions that count.
const ROUGHER: usize = 8;
/// And how many times more where the errors of means over the prior are in the way.
const GROWTH: usize = 4;
/// Rounds of pricing at most.
const ROUNDS: usize = 40;
/// Directions that enter in one round.
const ENTERING: usize = 16;
/// What a direction that enters takes at most of another row, and of the leakage.
const ENTERING_SHARE: f64 = 0.1;
/// Shares below this are dropped at the end, if the certificate stays as good.
const NEGLIGIBLE_SHARE: f64 = 1e-5;
/// Directions as near as this (squares of differences of square roots) are tried as one.
const MERGED_WITHIN: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-12];
/// And as one row that moves. Its entries are at least so much of their mean, unless it is a truth.
const MOVED_WITHIN: [f64; 3] = [0.5, 0.1, 0.01];
const LEAST_ENTRY: f64 = 1e-4;
/// Errors are in the way if they are more than this share of what a direction may seem to gain; to be beside a protocol of known gains is worth its time if it leaves less
/// than this share of them.
const IN_THE_WAY: f64 = 0.5;
const WORTH_IT: f64 = 0.25;
/// Values below this share of the largest are hardly there.
const HARDLY: f64 = 2e-4;
/// The form of a protocol is taken to be between these.
const LEAST_FORM: f64 = 1e-6;
const MOST_FORM: f64 = 1e12;
/// The share of a protocol that says nothing in a design: some units of the last place, and far below any error.
const BLANK: f64 = 1e-14;
/// The budget is missed by so much on the safe side, more than its evaluation is off by.
const SAFETY: f64 = 1e-10;

/// A design problem for few inputs.
pub(super) struct Problem<'a> {
    parts: &'a [(f64, &'a Dirichlet)],
    classes: Classes,
    cone: Cone,
    /// `(1 − L) H(X|P)`, if average privacy is required.
    budget: Option<f64>,
    epsilon: Option<f64>,
    /// The least average privacy, if required.
    average_privacy: Option<f64>,
    effort: Effort<'a>,
}

/// Columns with their best weights, and what was learned by pricing.
#[derive(Clone)]
struct Candidate {
    columns: Vec<Column>,
    weights: Weights,
    search: Search,
    /// The directions that would gain most, and by how much beyond their cost; none if the search bounds what they could.
    gaining: Vec<(f64, Direction)>,
    /// How many points stood for the prior, none if there were integrals instead.
    points: usize,
}

impl Candidate {
    /// What the best direction would gain.
    fn left(&self) -> f64 {
        self.gaining.iter().map(|(excess, _)| *excess).fold(0.0, f64::max)
    }
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        parts: &'a [(f64, &'a Dirichlet)],
        requirement: &Requirement,
        effort: Effort<'a>,
    ) -> Result<Self> {
        let inputs = parts[0].1.alpha().len();
        let keys: Vec<Vec<u64>> =
            (0..inputs).map(|x| parts.iter().map(|(_, part)| part.alpha()[x].to_bits()).collect()).collect();
        let classes = Classes::new(&keys);
        let limited = requirement.average_privacy().is_some();
        let most = match (limited, classes.sizes.len()) {
            (false, _) => MOST_INPUTS,
            (true, 1) => MOST_INPUTS_LIMITED_SYMMETRIC,
            (true, _) => MOST_INPUTS_LIMITED,
        };
        if inputs > most {
            return Err(Error::DesignSize { a: inputs, most, limited });
        }
        let entropy = |(weight, part): &(f64, &Dirichlet)| {
            weight * user_entropy(&GroupedPrior::dirichlet(part.alpha())).value
        };
        let hidden = |privacy: f64| (1.0 - privacy) * parts.iter().map(entropy).sum::<f64>() * (1.0 - SAFETY);
        let (floor, span) = requirement.epsilon().map_or((0.0, 1.0), |e| ((-e).exp(), -(-e).exp_m1()));
        Ok(Problem {
            parts,
            classes,
            cone: Cone { floor, span },
            budget: requirement.average_privacy().map(hidden),
            epsilon: requirement.epsilon(),
            average_privacy: requirement.average_privacy(),
            effort,
        })
    }

    /// The best protocol and its certificate. A limit on leakage that the best protocol without it meets is dropped.
    pub(super) fn solve(&self) -> Result<Design> {
        if self.budget.is_some() && self.epsilon.is_some() {
            let free = Problem { budget: None, classes: self.classes.clone(), ..*self }.solve_as_given()?;
            if free.leakage <= self.budget.unwrap_or(f64::INFINITY) {
                return Ok(free);
            }
        }
        self.solve_as_given()
    }

    fn solve_as_given(&self) -> Result<Design> {
        let inputs = self.classes.inputs();
        // With a zero in a direction only the trapezoid rule knows how far to go.
        let contrast = if self.cone.floor > 0.0 { self.cone.span / self.cone.floor } else { 1e6 };
        let seed = self.effort.seed;
        let rule = |points: usize, form: Option<&[f64]>| {
            Rule::new(self.parts, &self.classes, &Wanted { points, contrast, form, seed })
        };
        let leakage = LeakageOf(self.parts);
        let mut points = self.effort.points(inputs, self.budget.is_some());
        // Most rounds are spent on which directions count, and few points tell that.
        let rough = rule(points / ROUGHER, None);
        let solver =
            Solver { problem: self, rule: &rough, reference: None, leakage: &leakage, is_last: false };
        let first = match solver.candid() {
            Some((candid, true)) => return Ok(solver.design(&candid)),
            Some((candid, false)) => solver.with(candid),
            None => solver.first_columns(),
        };
        let mut found = solver.run(first)?;
        loop {
            check();
            let form = self.form(&found);
            let rule = rule(points, form.as_deref());
            let is_last = rule.is_converged || points * GROWTH > most_points(inputs);
            let solver = Solver { problem: self, rule: &rule, reference: None, leakage: &leakage, is_last };
            let reference = form.and_then(|form| solver.reference(&found, form));
            let solver = Solver { reference: reference.as_ref(), ..solver };
            found = solver.finished(solver.run(solver.taken_over(&found))?)?;
            let Search { priced, bound, seen, .. } = found.search;
            // More points do not help where it is the bound that is loose.
            if is_last || seen <= self.most_seen() {
                return Ok(solver.design(&found));
            }
            if self.is_over(priced, bound) {
                // A search that was given up for more points, which there is no time for.
                let solver = Solver { is_last: true, ..solver };
                let found = solver.judged(found.columns, found.weights, Purpose::Certificate)?;
                return Ok(solver.design(&found));
            }
            points *= GROWTH;
        }
    }

    /// The [form](super::calibration) of a protocol of limited leakage: what is said by rows that are about no value in particular is the one thing.
    fn form(&self, found: &Candidate) -> Option<Vec<f64>> {
        self.budget?;
        let inputs = self.classes.inputs();
        let mut vague = vec![0.0; inputs];
        for (column, theta) in found.columns.iter().zip(&found.weights.theta) {
            let is_vague = |member: &&Direction| member.values.iter().all(|v| *v < 0.5 * inputs as f64);
            let share = theta / column.members.len() as f64;
            for member in column.members.iter().filter(is_vague) {
                vague.iter_mut().zip(&member.values).for_each(|(sum, v)| *sum += share * v);
            }
        }
        // Rounding must not tell apart what the prior does not.
        let of_class = |class: &usize| {
            let members = (0..inputs).filter(|x| self.classes.of[*x] == *class);
            members.map(|x| vague[x]).sum::<f64>() / self.classes.sizes[*class] as f64
        };
        let odds = |share: f64| (share / (1.0 - share).max(0.0)).clamp(LEAST_FORM, MOST_FORM);
        Some(self.classes.of.iter().map(of_class).map(odds).collect())
    }

    /// Tells of a bound on the gain beyond cost, and says whether to stop.
    fn is_over(&self, priced: usize, bound: f64) -> bool {
        let beyond = bound.max(0.0) + self.raise(RAISED);
        self.effort.is_over(priced, beyond / (2.0 * (self.classes.inputs() as f64 - 1.0)))
    }

    /// The gain beyond cost that makes a share of the gap to aim at.
    fn gain(&self, share: f64) -> f64 {
        share * self.effort.gap * 2.0 * (self.classes.inputs() as f64 - 1.0)
    }

    /// The gain beyond cost, errors included, that may be seen of a direction if the gap is to be reached: the bound rests a little above it.
    fn most_seen(&self) -> f64 {
        (self.gain(1.0) - self.raise(RAISED)) / CLOSE
    }

    /// The part of a gain that the multiplier of leakage is raised for, if leakage is limited.
    fn raise(&self, share: f64) -> f64 {
        self.budget.map_or(0.0, |_| self.gain(share))
    }
}

/// Why directions are priced.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// To find some that gain, on the points of the rule as they are.
    Round,
    /// To bound what all gain, with the errors of the rule.
    Certificate,
}

struct Solver<'a> {
    problem: &'a Problem<'a>,
    rule: &'a Rule,
    /// A protocol near the one that is looked for, if that makes means over the points better.
    reference: Option<&'a Reference<'a>>,
    leakage: &'a LeakageOf<'a>,
    /// Whether there is no rule of more points to turn to.
    is_last: bool,
}

impl Solver<'_> {
    /// Columns and their best weights, such that no direction gains more than rounds may leave, as far as it was searched.
    fn run(&self, (mut columns, mut start): (Vec<Column>, Vec<f64>)) -> Result<Candidate> {
        for round in 1.. {
            check();
            let weights = self.weights(&columns, &start)?;
            let found = self.moved(self.judged(columns, weights, Purpose::Round)?)?;
            let over = self.problem.is_over(found.search.priced, found.search.bound);
            if found.left() <= self.problem.gain(LEFT_BY_ROUNDS) || round == ROUNDS || over {
                return Ok(found);
            }
            (columns, start) = self.with(found);
        }
        Err(Error::DesignNotConverged)
    }

    /// The budget, if rows have no orbits and may have any direction: those can [move](super::rows).
    fn budget_of_moving_rows(&self) -> Option<f64> {
        let Problem { classes, cone, budget, .. } = self.problem;
        budget.filter(|_| cone.floor == 0.0 && classes.sizes.len() == classes.inputs())
    }

    /// With the rows that those found [move](super::rows) to, if they are better.
    fn moved(&self, found: Candidate) -> Result<Candidate> {
        let inputs = self.problem.classes.inputs();
        let Some(budget) = self.budget_of_moving_rows() else { return Ok(found) };
        let utility =
            |candidate: &Candidate| utility(self.rule, &candidate.columns, &candidate.weights.theta);
        let mut tried = 0;
        for near in MOVED_WITHIN {
            let rows: Vec<Vec<f64>> = groups(&found, near).iter().map(|group| row(group)).collect();
            if rows.len() == tried {
                continue;
            }
            tried = rows.len();
            let Cost { lambda, nu, .. } = self.cost(&found.weights, Purpose::Certificate);
            let Some(moved) =
                (Rows { rows, lambda, nu }).settled(self.rule, self.reference, self.leakage, budget)
            else {
                continue;
            };
            let directions = moved.rows.iter().filter_map(|row| Direction::of_heights(row, 0.0, 1.0));
            let columns = directions.map(|direction| self.column(&direction)).collect();
            let theta = moved.rows.iter().map(|row| row.iter().sum::<f64>() / inputs as f64).collect();
            let lambda = moved.lambda.iter().map(|lambda| lambda * inputs as f64);
            let lambda = lambda.chain([moved.nu * budget]).collect();
            let moved = self.judged(columns, Weights { theta, lambda }, Purpose::Round)?;
            if utility(&moved) > utility(&found) {
                return Ok(moved);
            }
        }
        Ok(found)
    }

    /// The columns of a design on other points.
    fn taken_over(&self, design: &Candidate) -> (Vec<Column>, Vec<f64>) {
        let counting =
            design.columns.iter().zip(&design.weights.theta).filter(|(column, t)| counts(column, **t));
        counting.map(|(column, t)| (self.column(&column.members[0]), t.max(1e-3))).unzip()
    }

    fn column(&self, direction: &Direction) -> Column {
        let budget = self.problem.budget;
        let leakage = budget.map_or(0.0, |budget| self.leakage.at(direction) / budget);
        let mut column = Column::new(direction, leakage, &self.problem.classes, self.rule);
        column.correction = self.reference.map_or(0.0, |reference| reference.correction(&column.members));
        column
    }

    /// Randomised response with the protocol that says nothing, within half the budget.
    fn first_columns(&self) -> (Vec<Column>, Vec<f64>) {
        let classes = &self.problem.classes;
        let single = |set: &Vec<bool>| set.iter().filter(|member| **member).count() == 1;
        let singles = classes.subsets().into_iter().filter(single);
        let mut columns: Vec<Column> =
            singles.map(|set| self.column(&self.problem.cone.two_valued(&set))).collect();
        let size = |column: &Column| column.members.len() as f64 / classes.inputs() as f64;
        let leakage: f64 = columns.iter().map(|column| size(column) * column.leakage).sum();
        let share = 0.5 / leakage.max(1.0);
        let mut start: Vec<f64> = columns.iter().map(|column| share * size(column)).collect();
        columns.push(self.column(&Direction::constant(classes.inputs())));
        start.push(1.0 - share);
        (columns, start)
    }

    fn weights(&self, columns: &[Column], start: &[f64]) -> Result<Weights> {
        let program = Program {
            classes: &self.problem.classes,
            rule: self.rule,
            columns,
            limited: self.problem.budget.is_some(),
        };
        program.solve(start).ok_or(Error::DesignNotConverged)
    }

    /// What directions must gain less than, with the multiplier of leakage raised.
    fn cost(&self, weights: &Weights, purpose: Purpose) -> Cost<'_> {
        let classes = &self.problem.classes;
        let lambda =
            classes.of.iter().map(|&class| weights.lambda[class] / classes.inputs() as f64).collect();
        let raise = self.problem.raise(match purpose {
            Purpose::Round => RAISED_BY_ROUNDS,
            Purpose::Certificate => RAISED,
        });
        let nu = |budget: f64| (weights.lambda[classes.sizes.len()] + raise) / budget;
        let nu = self.problem.budget.map_or(0.0, nu);
        Cost { lambda, nu, leakage: self.leakage }
    }

    /// The best [candid](super::candid) protocol, if any direction is allowed and leakage is limited, and whether it is the best of all.
    fn candid(&self) -> Option<(Candidate, bool)> {
        let Problem { parts, classes, cone, budget, .. } = self.problem;
        let budget = budget.filter(|_| cone.floor == 0.0)?;
        let (candid, Multipliers { lambda, nu }) = Candid::best(parts, classes, self.leakage, budget)?;
        let (columns, theta) = candid.rows(classes).iter().map(|(t, row)| (self.column(row), *t)).unzip();
        let inputs = classes.inputs() as f64;
        let of_class =
            |class: usize| lambda[classes.of.iter().position(|of| *of == class).unwrap_or(0)] * inputs;
        let lambda = (0..classes.sizes.len()).map(of_class).chain([nu * budget]).collect();
        let weights = Weights { theta, lambda };
        let is_best = |found: &Candidate| found.left() <= self.problem.gain(LEFT_IN_THE_END);
        let found = self.judged_by(&candid, columns, weights, Purpose::Round);
        if !is_best(&found) {
            return Some((found, false));
        }
        let found = self.judged_by(&candid, found.columns, found.weights, Purpose::Certificate);
        let is_best = is_best(&found);
        Some((found, is_best))
    }

    /// The gains at some weights, beside the reference if there is one; `None` if the information is singular somewhere.
    fn prices(&self, columns: &[Column], theta: &[f64]) -> Option<Prices<'_>> {
        let prices = Prices::new(self.rule, columns, theta, self.problem.classes.inputs())?;
        Some(match self.reference {
            Some(reference) => prices.beside(reference),
            None => prices,
        })
    }

    /// The candid protocol of a form, if the errors of means over the points are in the way of a protocol that was found on others, and less beside it.
    fn reference(&self, found: &Candidate, form: Vec<f64>) -> Option<Reference<'_>> {
        let Problem { parts, cone, .. } = self.problem;
        if cone.floor > 0.0 {
            return None;
        }
        let columns: Vec<Column> =
            found.columns.iter().map(|column| self.column(&column.members[0])).collect();
        let theta = &found.weights.theta;
        let worst = |solver: &Solver<'_>| {
            let of_column = |column: &Column, prices: &Prices<'_>| {
                let allowed = self.problem.most_seen() + self.problem.raise(RAISED) * column.leakage;
                prices.of_each(&column.members[..1])[0].error / allowed
            };
            let prices = solver.prices(&columns, theta)?;
            Some(columns.iter().map(|column| of_column(column, &prices)).fold(0.0, larger_error))
        };
        let plain = worst(self).filter(|worst| *worst > IN_THE_WAY)?;
        let reference = Reference::new(Candid::beside_points(parts, form), self.rule);
        let beside = worst(&Solver { reference: Some(&reference), ..*self })?;
        (beside < WORTH_IT * plain).then_some(reference)
    }

    /// What any direction would gain with these weights, on the points of the rule.
    fn judged(&self, columns: Vec<Column>, weights: Weights, purpose: Purpose) -> Result<Candidate> {
        let prices = self.prices(&columns, &weights.theta).ok_or(Error::DesignNotConverged)?;
        if self.problem.budget.is_some() {
            return Ok(self.judged_by(&prices, columns, weights, purpose));
        }
        let Problem { classes, cone, .. } = self.problem;
        let search = all_two_valued(&prices, &self.cost(&weights, purpose), classes, *cone);
        let least = 0.1 * self.problem.gain(LEFT_BY_ROUNDS);
        let gaining = search.found.iter().filter(|(excess, _)| *excess > least);
        let gaining = gaining.take(ENTERING).cloned().collect();
        Ok(Candidate { columns, weights, search, gaining, points: prices.points() })
    }

    /// The same where leakage is limited.
    fn judged_by(
        &self,
        prices: &dyn Gains,
        columns: Vec<Column>,
        weights: Weights,
        purpose: Purpose,
    ) -> Candidate {
        let cost = self.cost(&weights, purpose);
        let known = columns.iter().map(|column| column.members[0].clone()).collect();
        let search = self.search(prices, &cost, known, purpose);
        let mut found = Candidate { columns, weights, search, gaining: Vec::new(), points: prices.points() };
        if found.search.bound > self.problem.gain(LEFT_BY_ROUNDS) {
            found.gaining = self.gaining(&found, prices, &cost);
        }
        found
    }

    fn search(&self, prices: &dyn Gains, cost: &Cost<'_>, known: Vec<Direction>, purpose: Purpose) -> Search {
        let Problem { classes, cone, .. } = self.problem;
        let most = match purpose {
            Purpose::Round => SEARCH_DIRECTIONS,
            Purpose::Certificate => CERTIFYING_DIRECTIONS,
        };
        let (aim, tolerance) = (self.problem.gain(LEFT_BY_ROUNDS), self.problem.gain(CERTIFIED));
        let is_over = &|priced: usize, bound: f64| self.problem.is_over(priced, bound);
        let hopeless = if self.is_last { f64::INFINITY } else { self.problem.most_seen() };
        let patience = Patience { aim, tolerance, hopeless, most, least: SEARCH_DIRECTIONS, is_over };
        let errors_count = purpose == Purpose::Certificate;
        BranchAndBound::new(prices, cost, errors_count).run(classes, *cone, known, &patience)
    }

    /// The directions that gain most and by how much, apart from each other; where any direction is allowed, the best near each.
    fn gaining(&self, found: &Candidate, prices: &dyn Gains, cost: &Cost<'_>) -> Vec<(f64, Direction)> {
        let least = 0.1 * self.problem.gain(LEFT_BY_ROUNDS);
        let cone = self.problem.cone;
        // At high privacy all directions are near each other.
        let same = SAME * cone.span.powi(2);
        let mut climbed: Vec<(f64, Direction)> = starts(found, cone)
            .par_iter()
            .map(|start| climbed(prices, cost, cone, start, 0.1 * least))
            .collect();
        climbed.sort_by(|l, r| r.0.total_cmp(&l.0));
        let mut chosen: Vec<(f64, Direction)> = Vec::new();
        for (excess, direction) in climbed.into_iter().filter(|(excess, _)| *excess > least) {
            let direction = self.told_plainly(direction);
            // A rule need not be as symmetric as the prior: what a member of a present orbit seems to gain is an error of the rule.
            let present = |column: &Column| column.members.iter().any(|m| m.distance(&direction) < same);
            if !found.columns.iter().any(present)
                && chosen.iter().all(|(_, other)| other.distance(&direction) > same)
                && chosen.len() < ENTERING
            {
                chosen.push((excess, direction));
            }
        }
        chosen
    }

    /// The columns that count, with those that gain.
    fn with(&self, found: Candidate) -> (Vec<Column>, Vec<f64>) {
        let entering = self.entering(&found);
        let counting =
            found.columns.into_iter().zip(found.weights.theta).filter(|(column, t)| counts(column, *t));
        let entering = entering.iter().map(|direction| (self.column(direction), 1e-2));
        counting.chain(entering).map(|(column, t)| (column, t.max(1e-3))).unzip()
    }

    /// The directions that gain. Few rows that have moved leave no room for them, so each comes with what it leaves of the row of most weight.
    fn entering(&self, found: &Candidate) -> Vec<Direction> {
        let gaining = found.gaining.iter().map(|(_, direction)| direction.clone());
        let Some(budget) = self.budget_of_moving_rows() else { return gaining.collect() };
        let weighty = found.columns.iter().zip(&found.weights.theta).max_by(|l, r| l.1.total_cmp(r.1));
        let left = |direction: &Direction| {
            let row = &weighty?.0.members[0].values;
            let ratios = direction.values.iter().zip(row).map(|(v, w)| v / w);
            let most = ratios.fold(0.0, f64::max) * (self.leakage.quick(direction) / budget).max(1.0);
            let rest: Vec<f64> =
                row.iter().zip(&direction.values).map(|(w, v)| w - ENTERING_SHARE / most * v).collect();
            Direction::of_heights(&rest, 0.0, 1.0).filter(|_| most.is_finite())
        };
        gaining.flat_map(|direction| [left(&direction), Some(direction)]).flatten().collect()
    }

    /// With as few directions as leave little more to gain, and a bound on what all directions gain. What the thorough search for it
    /// finds to gain is added.
    fn finished(&self, mut found: Candidate) -> Result<Candidate> {
        for _ in 0..REPAIRS {
            check();
            if self.problem.is_over(found.search.priced, found.search.bound) {
                break;
            }
            let few = self.simplified(&found)?;
            let few = self.judged(few.columns, few.weights, Purpose::Certificate)?;
            if few.left() <= self.problem.gain(LEFT_IN_THE_END) {
                return Ok(few);
            }
            found = self.run(self.with(few))?;
        }
        self.judged(found.columns, found.weights, Purpose::Certificate)
    }

    /// With fewer directions, if little is lost.
    fn simplified(&self, found: &Candidate) -> Result<Candidate> {
        let most = self.problem.gain(LEFT_BY_MERGING).max(found.left());
        for near in MERGED_WITHIN {
            // At high privacy all directions are near each other.
            let columns = self.merged(found, near * self.problem.cone.span.powi(2));
            let start = vec![1.0 / columns.len() as f64; columns.len()];
            // What is left may not meet the constraints.
            let Ok(Weights { theta, .. }) = self.weights(&columns, &start) else { continue };
            // Few columns leave multipliers free that more of them held.
            let weights = Weights { theta, lambda: found.weights.lambda.clone() };
            let few = self.judged(columns, weights, Purpose::Round)?;
            if few.left() <= most {
                return Ok(few);
            }
        }
        Ok(found.clone())
    }

    /// The columns that are some share of the protocol, those nearer to each other than `near` replaced by their mean.
    fn merged(&self, found: &Candidate, near: f64) -> Vec<Column> {
        let groups = groups(found, near);
        let tied =
            |group: &Vec<(f64, &Direction)>| Direction::combination(group).tied(&self.problem.classes, near);
        let mut columns: Vec<Column> = Vec::new();
        let plain = groups.iter().map(tied).map(|direction| self.told_plainly(direction));
        for direction in plain.chain(self.needed_truths()) {
            // Two may have become one.
            if columns.iter().flat_map(|column| &column.members).all(|other| *other != direction) {
                columns.push(self.column(&direction));
            }
        }
        columns
    }

    /// The truths that every optimum tells some users if zeros are allowed: without, they would gain without limit, `E[1/P_x] = ∞`.
    fn needed_truths(&self) -> Vec<Direction> {
        let Problem { classes, cone, parts, .. } = self.problem;
        let rare = |x: &usize| cone.floor == 0.0 && parts.iter().any(|(_, part)| part.alpha()[*x] <= 1.0);
        let first = |x: &usize| !classes.of[..*x].contains(&classes.of[*x]);
        let truth = |x: usize| (0..classes.inputs()).map(|z| z == x).collect::<Vec<bool>>();
        (0..classes.inputs()).filter(rare).filter(first).map(|x| cone.two_valued(&truth(x))).collect()
    }

    /// The truth about a value that every optimum needs instead of what hardly differs from it. If a row were that and not the truth, what the truth gains
    /// would depend on how rare the value can be, further down than random points reach.
    fn told_plainly(&self, direction: Direction) -> Direction {
        let Problem { cone, parts, .. } = self.problem;
        let reached = self.rule.method() == Method::Quadrature || cone.floor > 0.0;
        let (truth, largest) = direction
            .values
            .iter()
            .enumerate()
            .fold((0, 0.0), |l, r| if *r.1 > l.1 { (r.0, *r.1) } else { l });
        let needed = parts.iter().any(|(_, part)| part.alpha()[truth] <= 1.0);
        let others = (0..direction.values.len()).filter(|x| *x != truth);
        if reached || !needed || others.map(|x| direction.values[x]).any(|v| v > HARDLY * largest) {
            return direction;
        }
        let members: Vec<bool> = (0..direction.values.len()).map(|x| x == truth).collect();
        cone.two_valued(&members)
    }

    fn design(&self, found: &Candidate) -> Design {
        let Problem { classes, budget, .. } = self.problem;
        let inputs = classes.inputs() as f64;
        let beyond = found.search.bound.max(0.0);
        let cost = self.cost(&found.weights, Purpose::Certificate);
        let multipliers: Vec<f64> = cost.lambda.iter().map(|lambda| lambda + beyond / inputs).collect();
        let total = multipliers.iter().sum::<f64>() + cost.nu * budget.unwrap_or(0.0);
        let leakage = found.columns.iter().zip(&found.weights.theta);
        let leakage = leakage.map(|(column, t)| t * self.leakage.at(&column.members[0])).sum();
        Design {
            protocol: self.protocol(found),
            leakage,
            certificate: Certificate {
                gap: (total - (inputs - 1.0)).max(0.0) / (2.0 * (inputs - 1.0)),
                multipliers,
                privacy_multiplier: cost.nu,
                leakage_budget: *budget,
                priced: found.search.priced,
                whole_cone: budget.is_some(),
                points: found.points,
                method: if found.points == 0 { Method::Quadrature } else { self.rule.method() },
            },
        }
    }

    /// By name where it has one, else as a matrix.
    fn protocol(&self, found: &Candidate) -> Protocol {
        let named = self.subsets(found).or_else(|| self.erasure(found));
        named.unwrap_or_else(|| self.matrix(found))
    }

    /// A mixture of subset selections. Under a prior that tells inputs apart only randomised response is known by its rows alone: no other weights
    /// of theirs add up to one.
    fn subsets(&self, found: &Candidate) -> Option<Protocol> {
        let epsilon = self.problem.epsilon?;
        let inputs = self.problem.classes.inputs();
        let size = |column: &Column| {
            let high = |v: &&f64| **v > 1.0;
            let members: Vec<bool> = column.members[0].values.iter().map(|v| high(&v)).collect();
            let size = members.iter().filter(|member| **member).count();
            let extreme = self.problem.cone.two_valued(&members);
            (size > 0 && extreme.distance(&column.members[0]) < 1e-16 * self.problem.cone.span.powi(2))
                .then_some(size)
        };
        let sizes: Vec<usize> = found.columns.iter().map(size).collect::<Option<_>>()?;
        if self.problem.classes.sizes.len() > 1 {
            return sizes
                .iter()
                .all(|size| *size == 1)
                .then(|| Protocol::grr(inputs, epsilon).ok())
                .flatten();
        }
        super::subset_mixture(inputs, epsilon, &sizes, &found.weights.theta).ok()
    }

    /// The truth or a blank.
    fn erasure(&self, found: &Candidate) -> Option<Protocol> {
        if self.problem.epsilon.is_some() || self.problem.classes.sizes.len() > 1 {
            return None;
        }
        let truth = |column: &Column| column.members[0].values.iter().filter(|v| **v == 0.0).count();
        let inputs = self.problem.classes.inputs();
        let zeros: Vec<usize> = found.columns.iter().map(truth).collect();
        let constant = |column: &Column| column.members[0].deviations.iter().all(|d| *d == 0.0);
        match (&zeros[..], &found.columns[..]) {
            ([one, 0], [_, blank]) if *one == inputs - 1 && constant(blank) => {
                let reveal = found.weights.theta[0];
                // Up to rounding it is what the requirement leaves, which is a rounder number.
                let left = self.problem.average_privacy.map_or(reveal, |least| 1.0 - least);
                let round = (left - reveal).abs() < 1e-7 && Some(1.0 - left) >= self.problem.average_privacy;
                Protocol::erasure(inputs, if round { left } else { reveal }).ok()
            }
            _ => None,
        }
    }

    fn matrix(&self, found: &Candidate) -> Protocol {
        let rows = found.columns.iter().zip(&found.weights.theta).flat_map(|(column, theta)| {
            let weight = theta / column.members.len() as f64;
            column
                .members
                .iter()
                .map(move |member| member.values.iter().map(|v| weight * v).collect::<Vec<f64>>())
        });
        let mut rows: Vec<Vec<f64>> = rows.collect();
        for x in 0..self.problem.classes.inputs() {
            let sum: f64 = rows.iter().map(|row| row[x]).sum();
            rows.iter_mut().for_each(|row| row[x] /= sum);
        }
        // Rounding must not raise the level: a trace of the protocol that says nothing, with the same weights.
        // Without a level the zeros stay zeros.
        let blank = self.problem.epsilon.map_or(0.0, |epsilon| BLANK / epsilon.min(1.0));
        let epsilon = self.problem.epsilon.unwrap_or(f64::INFINITY);
        // Unwrap safety: the weights meet the constraints, so the columns are distributions.
        within(with_blank(&rows, blank), epsilon).unwrap()
    }
}

/// The directions that are some share of a protocol, with their weights, those nearer to each other than `near` together.
fn groups(found: &Candidate, near: f64) -> Vec<Vec<(f64, &Direction)>> {
    let mut groups: Vec<Vec<(f64, &Direction)>> = Vec::new();
    for (column, theta) in with_share(found) {
        // Next to the truth about a value is not the truth: what it is worth where the value is rare has no limit.
        let member = |group: &[(f64, &Direction)]| {
            let near = |member: &&Direction| member.distance(group[0].1) < near;
            let truths = group[0].1.is_truth() == column.members[0].is_truth();
            column.members.iter().find(near).filter(|_| truths)
        };
        match groups.iter_mut().find_map(|group| member(group).map(|member| (group, member))) {
            Some((group, member)) => group.push((theta, member)),
            None => groups.push(vec![(theta, &column.members[0])]),
        }
    }
    groups
}

fn with_share(found: &Candidate) -> impl Iterator<Item = (&Column, f64)> {
    let columns = found.columns.iter().zip(found.weights.theta.iter().copied());
    columns.filter(|(column, theta)| share(column, *theta) > NEGLIGIBLE_SHARE)
}

/// A group of directions as one row.
fn row(group: &[(f64, &Direction)]) -> Vec<f64> {
    let theta: f64 = group.iter().map(|(theta, _)| theta).sum();
    let mean = Direction::combination(group);
    let least = if mean.is_truth() { 0.0 } else { LEAST_ENTRY };
    mean.values.iter().map(|v| theta * v.max(least)).collect()
}

/// A local maximum of gain beyond cost, by steps along each coordinate that gain at least `least`.
fn climbed(
    prices: &dyn Gains,
    cost: &Cost<'_>,
    cone: Cone,
    from: &Direction,
    least: f64,
) -> (f64, Direction) {
    let Cone { floor, span } = cone;
    let mut heights = from.heights(floor, span);
    let mut best = (prices.of_each(std::slice::from_ref(from))[0].value - cost.at(from), from.clone());
    let mut step = 0.1;
    while step > SHORTEST_STEP {
        let moves = (0..heights.len()).flat_map(|x| [(x, -step), (x, step)]).filter_map(|(x, step)| {
            let mut tried = heights.clone();
            // Steps in the square root reach the boundary, where the leakage bends most.
            tried[x] = (tried[x].sqrt() + step).clamp(0.0, 1.0).powi(2);
            Some((Direction::of_heights(&tried, floor, span)?, tried))
        });
        let (directions, moves): (Vec<Direction>, Vec<Vec<f64>>) = moves.unzip();
        let gains = prices.of_each(&directions);
        let excesses = directions.iter().zip(&gains).map(|(v, gain)| gain.value - cost.at(v));
        let (place, excess) =
            excesses.enumerate().max_by(|l, r| l.1.total_cmp(&r.1)).unwrap_or((0, f64::NEG_INFINITY));
        if excess > best.0 + least {
            best = (excess, directions[place].clone());
            heights.clone_from(&moves[place]);
        } else {
            step *= 0.4;
        }
    }
    best
}

/// What a column is of a protocol: of its reports, or of the leakage that it may have if that is more.
fn share(column: &Column, theta: f64) -> f64 {
    theta * column.leakage.max(1.0)
}

/// Whether a column stays while others enter. Truths do: an optimum may need some, however little.
fn counts(column: &Column, theta: f64) -> bool {
    share(column, theta) > 1e-6 || column.members[0].is_truth()
}

/// Points of the largest rule: a column holds a triangle of numbers for each.
fn most_points(inputs: usize) -> usize {
    (1 << 21) / entries(inputs - 1)
}

/// Where to look for directions that gain more: near those that count, and those that gained most.
fn starts(found: &Candidate, cone: Cone) -> Vec<&Direction> {
    let mut starts: Vec<&Direction> = with_share(found).map(|(column, _)| &column.members[0]).collect();
    let most = starts.len() + CLIMBED;
    let apart = APART * cone.span.powi(2);
    for (place, (_, direction)) in found.search.found.iter().enumerate() {
        // Next to the truth about a value is not the truth, and what is between may gain less than both.
        let is_apart = |other: &&Direction| {
            direction.distance(other) > apart || direction.is_truth() != other.is_truth()
        };
        // The best may be along a ridge from one that counts, where steps in single coordinates do not arrive.
        if starts.len() < most && (place == 0 || starts.iter().all(is_apart)) {
            starts.push(direction);
        }
    }
    starts
}

/// How often a thorough search may find a gain that is added.
const REPAIRS: usize = 4;
/// Directions priced in a round, and for the certificate.
const SEARCH_DIRECTIONS: usize = 400;
const CERTIFYING_DIRECTIONS: usize = 400_000;
/// Directions that are improved in a round, how far apart they begin, and the shortest step, in square roots of heights.
const CLIMBED: usize = 6;
const APART: f64 = 0.05;
const SHORTEST_STEP: f64 = 1e-5;
/// Directions nearer than this are one.
const SAME: f64 = 1e-10;
