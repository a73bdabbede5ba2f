//! The search for the best protocol: solve for the weights of some directions, price all directions, add those that gain, repeat.

use super::certificate::Certificate;
use super::direction::{Classes, Direction};
use super::price::{BranchAndBound, Cone, Cost, LeakageOf, Patience, Prices, Search, all_two_valued};
use super::program::{Column, Program, Weights};
use super::requirement::Requirement;
use super::rule::Rule;
use super::{Design, Effort};
use crate::error::{Error, Result};
use crate::leakage::{UserPrior, user_entropy};
use crate::prior::Dirichlet;
use crate::protocol::Protocol;

/// Inputs for which all `2^a` two-valued directions are priced.
pub(super) const MOST_INPUTS: usize = 12;
/// Inputs for which directions inside the cone are searched if the prior tells inputs apart: their orders are as many as `a!`.
pub(super) const MOST_INPUTS_LIMITED: usize = 6;
/// The same if it does not: one order, but the rounds of an optimum's orbits grow quickly.
pub(super) const MOST_INPUTS_LIMITED_SYMMETRIC: usize = 10;

/// How many times fewer points are used to find the directions that count.
const ROUGHER: usize = 8;
/// Rounds of pricing at most.
const ROUNDS: usize = 40;
/// Directions that enter in one round.
const ENTERING: usize = 16;
/// Weights below this are dropped at the end, if the certificate stays as good.
const NEGLIGIBLE_WEIGHT: f64 = 1e-5;
/// Merging may multiply what is left to gain by so much.
const MERGING_COSTS: f64 = 1.5;
/// Directions as near as this (squares of differences of square roots) are tried as one.
const MERGED_WITHIN: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-12];
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
struct Candidate {
    columns: Vec<Column>,
    weights: Weights,
    search: Search,
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
            weight * user_entropy(&UserPrior::dirichlet(part.alpha())).value
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
        let points = self.effort.points(inputs, self.budget.is_some());
        let rule = |points: usize| Rule::new(self.parts, &self.classes, contrast, points, self.effort.seed);
        let leakage = LeakageOf(self.parts);
        let (rough, fine) = (rule(points / ROUGHER), rule(points));
        // Most rounds are spent on which directions count, and few points tell that.
        let solver = Solver { problem: self, rule: &rough, leakage: &leakage };
        let start = solver.run(solver.first_columns())?;
        let solver = Solver { problem: self, rule: &fine, leakage: &leakage };
        let found = solver.finished(solver.run(solver.taken_over(&start))?)?;
        Ok(solver.design(&found))
    }

    /// Tells of a bound on the gain beyond cost, and says whether to stop.
    fn is_over(&self, priced: usize, bound: f64) -> bool {
        self.effort.is_over(priced, bound.max(0.0) / (2.0 * (self.classes.inputs() as f64 - 1.0)))
    }

    /// The gain beyond cost that may be left: a quarter of the gap in the utility, because errors add to it.
    fn tolerance(&self) -> f64 {
        0.25 * self.effort.gap * 2.0 * (self.classes.inputs() as f64 - 1.0)
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
    leakage: &'a LeakageOf<'a>,
}

impl Solver<'_> {
    /// Columns and their best weights, such that no direction gains more than the tolerance, as far as it was searched.
    fn run(&self, (mut columns, mut start): (Vec<Column>, Vec<f64>)) -> Result<Candidate> {
        for round in 1.. {
            let weights = self.weights(&columns, &start)?;
            let search = self.search(&columns, &weights, Purpose::Round)?;
            let entering = self.entering(&columns, &weights, &search)?;
            let over = self.problem.is_over(search.priced, search.bound);
            if search.bound <= self.problem.tolerance() || entering.is_empty() || round == ROUNDS || over {
                return Ok(Candidate { columns, weights, search });
            }
            (columns, start) = self.with(columns, &weights, &entering);
        }
        Err(Error::DesignNotConverged)
    }

    /// The columns of a design on other points.
    fn taken_over(&self, design: &Candidate) -> (Vec<Column>, Vec<f64>) {
        let counting = design.columns.iter().zip(&design.weights.theta).filter(|(_, t)| **t > 1e-6);
        counting.map(|(column, t)| (self.column(&column.members[0]), t.max(1e-3))).unzip()
    }

    fn column(&self, direction: &Direction) -> Column {
        let budget = self.problem.budget;
        let leakage = budget.map_or(0.0, |budget| self.leakage.at(direction) / budget);
        Column::new(direction, leakage, &self.problem.classes, self.rule)
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

    fn cost(&self, weights: &Weights) -> Cost<'_> {
        let classes = &self.problem.classes;
        let lambda =
            classes.of.iter().map(|&class| weights.lambda[class] / classes.inputs() as f64).collect();
        let nu = self.problem.budget.map_or(0.0, |budget| weights.lambda[classes.sizes.len()] / budget);
        Cost { lambda, nu, leakage: self.leakage }
    }

    fn search(&self, columns: &[Column], weights: &Weights, purpose: Purpose) -> Result<Search> {
        let Problem { classes, cone, .. } = self.problem;
        let prices = Prices::new(self.rule, columns, &weights.theta, classes.inputs())
            .ok_or(Error::DesignNotConverged)?;
        let cost = self.cost(weights);
        if self.problem.budget.is_none() {
            return Ok(all_two_valued(&prices, &cost, classes, *cone));
        }
        let patience = Patience {
            tolerance: self.problem.tolerance(),
            errors_count: purpose == Purpose::Certificate,
            most: if purpose == Purpose::Certificate { CERTIFYING_DIRECTIONS } else { SEARCH_DIRECTIONS },
            least: SEARCH_DIRECTIONS,
            is_over: &|priced: usize, bound: f64| self.problem.is_over(priced, bound),
        };
        Ok(BranchAndBound::new(&prices, &cost, &patience).run(classes, *cone))
    }

    /// The directions that gain most, apart from each other; where any direction is allowed, the best near each.
    fn entering(&self, columns: &[Column], weights: &Weights, search: &Search) -> Result<Vec<Direction>> {
        let gaining = search.found.iter().filter(|(excess, _)| *excess > 0.1 * self.problem.tolerance());
        let mut chosen: Vec<Direction> = Vec::new();
        if self.problem.budget.is_none() {
            return Ok(gaining.take(ENTERING).map(|(_, direction)| direction.clone()).collect());
        }
        let prices = Prices::new(self.rule, columns, &weights.theta, self.problem.classes.inputs())
            .ok_or(Error::DesignNotConverged)?;
        let cost = self.cost(weights);
        for (_, direction) in gaining {
            if chosen.len() == CLIMBED {
                break;
            }
            if chosen.iter().all(|other| direction.distance(other) > APART) {
                let climbed = self.climbed(&prices, &cost, direction);
                // A rule need not be as symmetric as the prior: what a member of a present orbit seems to gain is an error of the rule.
                let present = |column: &Column| column.members.iter().any(|m| m.distance(&climbed) < SAME);
                if !columns.iter().any(present) {
                    chosen.push(climbed);
                }
            }
        }
        Ok(chosen)
    }

    /// A local maximum of gain beyond cost, by steps along each coordinate.
    fn climbed(&self, prices: &Prices<'_>, cost: &Cost<'_>, from: &Direction) -> Direction {
        let Cone { floor, span } = self.problem.cone;
        let excess = |direction: &Direction| {
            prices.of_orbit(std::slice::from_ref(direction)).value - cost.at(direction)
        };
        let mut heights = from.heights(floor, span);
        let mut best = (excess(from), from.clone());
        let mut step = 0.1;
        while step > 1e-4 {
            let mut moved = false;
            for x in 0..heights.len() {
                for sign in [-1.0, 1.0] {
                    let mut tried = heights.clone();
                    // Steps in the square root reach the boundary, where the leakage bends most.
                    tried[x] = (tried[x].sqrt() + sign * step).clamp(0.0, 1.0).powi(2);
                    let Some(direction) = Direction::of_heights(&tried, floor, span) else { continue };
                    let value = excess(&direction);
                    if value > best.0 {
                        (best, heights, moved) = ((value, direction), tried, true);
                    }
                }
            }
            step *= if moved { 1.0 } else { 0.4 };
        }
        best.1
    }

    /// The columns that count, with the entering ones.
    fn with(
        &self,
        columns: Vec<Column>,
        weights: &Weights,
        entering: &[Direction],
    ) -> (Vec<Column>, Vec<f64>) {
        let (mut kept, mut start): (Vec<Column>, Vec<f64>) =
            columns.into_iter().zip(&weights.theta).filter(|(_, t)| **t > 1e-6).map(|(c, t)| (c, *t)).unzip();
        for direction in entering {
            kept.push(self.column(direction));
            start.push(1e-2);
        }
        (kept, start.into_iter().map(|t| t.max(1e-3)).collect())
    }

    /// With as few directions as leave little more to gain, and searched more thoroughly.
    fn finished(&self, found: Candidate) -> Result<Candidate> {
        if self.problem.is_over(found.search.priced, found.search.bound) {
            return self.certified(found);
        }
        let left = found.search.found.first().map_or(0.0, |(excess, _)| *excess);
        let most = MERGING_COSTS * self.problem.tolerance().max(left);
        for near in MERGED_WITHIN {
            // At high privacy all directions are near each other.
            let columns = self.merged(&found, near * self.problem.cone.span.powi(2));
            let start = vec![1.0 / columns.len() as f64; columns.len()];
            // What is left may not meet the constraints.
            let Ok(weights) = self.weights(&columns, &start) else { continue };
            let search = self.search(&columns, &weights, Purpose::Round)?;
            if search.found.first().is_none_or(|(excess, _)| *excess <= most) {
                return self.certified(Candidate { columns, weights, search });
            }
        }
        self.certified(found)
    }

    fn certified(&self, found: Candidate) -> Result<Candidate> {
        let search = self.search(&found.columns, &found.weights, Purpose::Certificate)?;
        Ok(Candidate { search, ..found })
    }

    /// The columns with weight, those nearer to each other than `near` replaced by their mean.
    fn merged(&self, found: &Candidate, near: f64) -> Vec<Column> {
        let mut groups: Vec<Vec<(f64, &Direction)>> = Vec::new();
        let weighty = found.columns.iter().zip(&found.weights.theta).filter(|(_, t)| **t > NEGLIGIBLE_WEIGHT);
        for (column, &theta) in weighty {
            let member = |group: &[(f64, &Direction)]| {
                column.members.iter().find(|member| member.distance(group[0].1) < near)
            };
            match groups.iter_mut().find_map(|group| member(group).map(|member| (group, member))) {
                Some((group, member)) => group.push((theta, member)),
                None => groups.push(vec![(theta, &column.members[0])]),
            }
        }
        let tied =
            |group: &Vec<(f64, &Direction)>| Direction::combination(group).tied(&self.problem.classes, near);
        groups.iter().map(|group| self.column(&tied(group))).collect()
    }

    fn design(&self, found: &Candidate) -> Design {
        let Problem { classes, budget, .. } = self.problem;
        let inputs = classes.inputs() as f64;
        let beyond = found.search.bound.max(0.0);
        let cost = self.cost(&found.weights);
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
                points: self.rule.nodes.len(),
                method: self.rule.method(),
            },
        }
    }

    /// By name where it has one, else as a matrix.
    fn protocol(&self, found: &Candidate) -> Protocol {
        let named = self.subsets(found).or_else(|| self.erasure(found));
        named.unwrap_or_else(|| self.matrix(found))
    }

    /// A mixture of subset selections.
    fn subsets(&self, found: &Candidate) -> Option<Protocol> {
        let epsilon = self.problem.epsilon.filter(|_| self.problem.classes.sizes.len() == 1)?;
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
        let blank = if self.problem.epsilon.is_some() { BLANK } else { 0.0 };
        for row in &mut rows {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            row.iter_mut().for_each(|q| *q += blank * (mean - *q));
        }
        // Unwrap safety: the weights meet the constraints, so the columns are distributions.
        Protocol::matrix(rows).unwrap()
    }
}

/// Directions priced in a round, and for the certificate.
const SEARCH_DIRECTIONS: usize = 1_500;
const CERTIFYING_DIRECTIONS: usize = 40_000;
/// Directions that are improved in a round, and how far apart they begin.
const CLIMBED: usize = 6;
const APART: f64 = 0.05;
/// Directions nearer than this are one.
const SAME: f64 = 1e-10;
