//! The distribution that the chains sample: `prior · e^{βL̂}`, where the surrogate `L̂` approximates the
//! log-likelihood `L`.
//!
//! # The surrogate likelihood
//! A step of a chain moves mass between two values and needs the change of `L`. Summed over all distinct
//! reports that is `O(n)` per step. So the rows are split in two:
//!
//! * *exact* rows, whose logarithm is far from quadratic over the posterior: few values, low privacy, rare
//!   values;
//! * all others, replaced by one *quadratic* expansion around the posterior mean, at `O(a)` per step whatever
//!   `n`.
//!
//! `L̂` is the sum of both, and `D = L − L̂` is the error of the expansion. Rows become exact in order of
//! their contribution to `D`, until the variance of `D` over the posterior is at most [`MAX_VARIANCE`]. With
//! few distinct reports all rows are exact and `D = 0`.
//!
//! # The moves
//! An *exchange* moves mass between two values, with `P_x + P_{x'}` fixed, by slice sampling in the log-odds,
//! shrinking from the whole range: no step sizes, no tuning, and it works at the boundary of the simplex. A
//! move *along a ridge* follows a direction in which the likelihood is nearly flat and which no pair of
//! values spans. It also uses slice sampling, in the log-odds along the chord of the simplex in that
//! direction. A protocol that is not faithful has such directions.

use faer::{Mat, Side};
use rand::{Rng, RngExt};

use super::concentration::{self, Orbit, prior_alpha};
use super::product_form::ProductForm;
use super::quadratic::Quadratic;
use crate::likelihood::dense_rows::DenseRows;
use crate::likelihood::{RowLikelihood, ln_product};
use crate::model::prior::{Component, CustomPrior, Dirichlet, PriorParts};
use crate::numerics::random::sample_ln_dirichlet;
use crate::numerics::stop::check;

/// Largest variance of `D` over the posterior. The evidence neglects terms of the order of the fifth cumulant
/// of `D` over 720.
const MAX_VARIANCE: f64 = 0.5;

/// Largest number of entries of exact rows: 128 MiB.
const MAX_EXACT_ENTRIES: usize = 1 << 24;

/// Largest number of entries of rows that are all exact from the start.
const MAX_FEW_ENTRIES: usize = 1 << 16;

/// Steps of expectation maximisation to find the first centre.
const MAXIMISATION_STEPS: usize = 30;

/// Sweeps of the chain that finds the centre, and how many of them are burn-in.
const CENTRE_SWEEPS: [usize; 2] = [80, 30];

/// Sweeps between two of the draws used to assess the expansion (thinning).
const DRAW_SPACING: usize = 2;

/// Rounds of centring and splitting.
const ROUNDS: usize = 5;

/// The parameter of the adaptive prior from which the first centre is found: the middle of its range.
const FIRST_ALPHA: f64 = 0.3;

/// Moves of the parameter of an adaptive prior per sweep, one of them along the orbit; and the number of
/// inputs above which that one is made less often.
const PARAMETER_MOVES: usize = 4;
const ORBIT_INPUTS: f64 = 128.0;

/// A direction is a ridge if the information along it is below this share of the largest.
const FLAT: f64 = 0.01;

/// The largest number of ridges, and the largest number of inputs for which we look for them.
const MAX_RIDGES: usize = 16;
const MAX_RIDGE_INPUTS: usize = 128;

/// The prior of the chains: a Dirichlet distribution, an adaptive one, or one given only by its density.
#[derive(Clone)]
pub(crate) enum ChainPrior<'a> {
    /// A Dirichlet distribution with these parameters.
    Dirichlet(Vec<f64>),
    /// The adaptive prior on so many values. Its parameter is part of the state of a chain.
    Adaptive(usize),
    /// A custom prior. Its chains move as if the prior were flat, and its density is a factor of the target.
    Custom(&'a dyn CustomPrior),
}

impl ChainPrior<'_> {
    /// A draw of the common parameter, if it is unknown, and of `ln P`.
    pub(super) fn sample_ln(&self, rng: &mut dyn Rng) -> (Option<f64>, Vec<f64>) {
        match self {
            ChainPrior::Custom(custom) => (None, custom.sample_ln(rng)),
            ChainPrior::Dirichlet(alpha) => (None, sample_ln_dirichlet(alpha.iter().copied(), rng)),
            ChainPrior::Adaptive(a) => {
                let alpha = prior_alpha(*a, rng);
                (Some(alpha), sample_ln_dirichlet(std::iter::repeat_n(alpha, *a), rng))
            }
        }
    }

    /// The Dirichlet parameter of a value, where `common` is that of the adaptive prior; 1 (flat) for a
    /// custom prior.
    pub(crate) fn alpha(&self, x: usize, common: Option<f64>) -> f64 {
        match self {
            ChainPrior::Dirichlet(alpha) => alpha[x],
            ChainPrior::Adaptive(_) => common.unwrap_or(FIRST_ALPHA),
            ChainPrior::Custom(_) => 1.0,
        }
    }

    /// The sum of all Dirichlet parameters.
    pub(crate) fn total(&self, common: Option<f64>, a: usize) -> f64 {
        match self {
            ChainPrior::Dirichlet(alpha) => alpha.iter().sum(),
            _ => a as f64 * self.alpha(0, common),
        }
    }

    /// Whether the common parameter is unknown.
    pub(crate) fn is_adaptive(&self) -> bool {
        matches!(self, ChainPrior::Adaptive(_))
    }
}

impl<'a> ChainPrior<'a> {
    /// The chain prior for one component of a prior; `None` for a point.
    pub(crate) fn of_part(parts: &PriorParts<'a>, part: usize) -> Option<Self> {
        match parts {
            PriorParts::Custom(custom) => Some(ChainPrior::Custom(*custom)),
            PriorParts::Known(parts) => match &parts[part].1 {
                Component::Dirichlet(alpha) => Some(ChainPrior::Dirichlet(alpha.clone())),
                Component::Point(_) => None,
            },
        }
    }
}

impl From<&Dirichlet> for ChainPrior<'_> {
    fn from(prior: &Dirichlet) -> Self {
        ChainPrior::Dirichlet(prior.alpha().to_vec())
    }
}

/// The position of a chain.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) ln_p: Vec<f64>,
    pub(crate) p: Vec<f64>,
    /// The parameter of an adaptive prior.
    pub(crate) alpha: Option<f64>,
    /// The gradient of the quadratic expansion.
    gradient: Vec<f64>,
    /// `R_i` of the exact rows.
    ratios: Vec<f64>,
}

/// The family of distributions `prior · e^{βL̂}`.
pub(crate) struct Target<'a> {
    prior: ChainPrior<'a>,
    exact: ExactRows,
    expanded: Option<Expanded<'a>>,
    quadratic: Option<Quadratic>,
    ridges: Vec<Ridge>,
    /// How the parameter of an adaptive prior moves.
    orbit: Option<Orbit>,
    centre: Vec<f64>,
    /// `L` at the centre. The chains work with `L̂` relative to this.
    pub(crate) origin: f64,
}

/// The exact rows, one column for each input.
struct ExactRows {
    counts: Vec<f64>,
    columns: Vec<f64>,
    origin: f64,
}

impl ExactRows {
    fn new(rows: &DenseRows) -> Self {
        let (a, len) = (rows.a, rows.counts.len());
        let mut columns = vec![0.0; a * len];
        for (i, (row, _)) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(x, entry)| columns[x * len + i] = *entry);
        }
        ExactRows { counts: rows.counts.clone(), columns, origin: 0.0 }
    }

    fn column(&self, x: usize) -> &[f64] {
        &self.columns[x * self.counts.len()..][..self.counts.len()]
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        let mut ratios = vec![0.0; self.counts.len()];
        for (x, p_x) in p.iter().enumerate() {
            ratios.iter_mut().zip(self.column(x)).for_each(|(ratio, entry)| *ratio += entry * p_x);
        }
        ratios
    }

    fn ln_likelihood(&self, ratios: &[f64]) -> f64 {
        self.counts.iter().zip(ratios).map(|(s, ratio)| s * ratio.ln()).sum()
    }
}

/// The expanded rows.
struct Expanded<'a> {
    rows: ExpandedRows<'a>,
    origin: f64,
}

/// All rows of a likelihood, or those that are not exact.
enum ExpandedRows<'a> {
    All(&'a dyn RowLikelihood),
    Rest(Box<dyn RowLikelihood>),
}

impl ExpandedRows<'_> {
    fn rows(&self) -> &dyn RowLikelihood {
        match self {
            ExpandedRows::All(rows) => *rows,
            ExpandedRows::Rest(rows) => &**rows,
        }
    }
}

impl<'a> Expanded<'a> {
    /// The rows and their expansion.
    fn new(rows: ExpandedRows<'a>, centre: Vec<f64>, thorough: bool) -> (Self, Quadratic) {
        let expansion = rows.rows().expansion(&centre, thorough);
        let origin = rows.rows().ln_likelihood(&centre);
        (Expanded { rows, origin }, Quadratic::new(centre, expansion))
    }
}

impl<'a> Target<'a> {
    /// The posterior of these reports, with its rows split as needed.
    pub(crate) fn new(rows: &'a dyn RowLikelihood, prior: ChainPrior<'a>, rng: &mut dyn Rng) -> Self {
        let counts = rows.counts();
        let mut exact = vec![few(counts.len(), rows.inputs()); counts.len()];
        let mut centre = maximisation(rows, &counts, &prior);
        for round in 0..ROUNDS {
            check();
            let target = Target::with_rows(rows, &prior, &exact, centre, false);
            if target.expanded.is_none() {
                return target;
            }
            let draws = target.draws(rng);
            centre = mean(&draws);
            let more = rows_to_follow(rows, &counts, &exact, &draws, &centre);
            // The first centre is often far off, so an expansion there is uninformative.
            if more.is_empty() && round > 0 {
                return Target::with_rows(rows, &prior, &exact, centre, true);
            }
            more.into_iter().for_each(|i| exact[i] = true);
        }
        if counts.len() * rows.inputs() <= MAX_EXACT_ENTRIES {
            exact.fill(true);
        }
        Target::with_rows(rows, &prior, &exact, centre, true)
    }

    /// Treats the marked rows exactly, and the others by their expansion around `centre`, thorough or not.
    pub(crate) fn with_rows(
        rows: &'a dyn RowLikelihood,
        prior: &ChainPrior<'a>,
        exact: &[bool],
        centre: Vec<f64>,
        thorough: bool,
    ) -> Target<'a> {
        let (dense, rest) = if exact.iter().any(|exact| *exact) {
            let (dense, rest) = rows.split(exact);
            (dense, ExpandedRows::Rest(rest))
        } else {
            (DenseRows { a: rows.inputs(), ..DenseRows::default() }, ExpandedRows::All(rows))
        };
        let mut exact_rows = ExactRows::new(&dense);
        exact_rows.origin = exact_rows.ln_likelihood(&exact_rows.ratios(&centre));
        let all = exact.iter().all(|exact| *exact);
        let (expanded, quadratic) = (!all).then(|| Expanded::new(rest, centre.clone(), thorough)).unzip();
        let origin =
            exact_rows.origin + expanded.as_ref().map_or(0.0, |expanded: &Expanded<'_>| expanded.origin);
        let (prior, ridges) = (prior.clone(), Vec::new());
        let mut target =
            Target { prior, exact: exact_rows, expanded, quadratic, ridges, orbit: None, centre, origin };
        target.orbit = target.prior.is_adaptive().then(|| target.orbit());
        target
    }

    /// The values that the reports can hardly tell from 0: the noise of a share is the inverse root of the
    /// information along an exchange with the most common value.
    fn orbit(&self) -> Orbit {
        let ratios = self.exact.ratios(&self.centre);
        Orbit::new(&self.centre, |x, main| {
            let columns = self.exact.column(x).iter().zip(self.exact.column(main));
            let rows = columns.zip(ratios.iter().zip(&self.exact.counts));
            let exact: f64 = rows.map(|((own, other), (ratio, s))| s * ((own - other) / ratio).powi(2)).sum();
            let expanded = self.quadratic.as_ref().map_or(0.0, |q| q.curvature_between(x, main));
            1.0 / (exact + expanded).max(f64::MIN_POSITIVE).sqrt()
        })
    }

    /// The prior.
    pub(crate) fn prior(&self) -> &ChainPrior<'a> {
        &self.prior
    }

    /// The family for `λ L̂ + (1 − λ) L°`, with a product form `L°` around the same centre.
    pub(crate) fn between(&self, product: &ProductForm, lambda: f64) -> Target<'a> {
        let a = self.centre.len();
        let flat = || Quadratic::new(self.centre.clone(), (vec![0.0; a], vec![0.0; a * a]));
        let quadratic = self.quadratic.as_ref().map_or_else(
            || flat().mixed(lambda, &product.slopes, &product.curvatures),
            |quadratic| quadratic.mixed(lambda, &product.slopes, &product.curvatures),
        );
        let counts = self.exact.counts.iter().map(|count| lambda * count).collect();
        let exact =
            ExactRows { counts, columns: self.exact.columns.clone(), origin: lambda * self.exact.origin };
        Target {
            prior: self.prior.clone(),
            exact,
            expanded: None,
            quadratic: Some(quadratic),
            ridges: Vec::new(),
            orbit: None,
            centre: self.centre.clone(),
            origin: lambda * self.origin,
        }
    }

    /// The same with moves along ridges. Draws need them and the evidence does not: along a ridge the
    /// likelihood hardly changes.
    pub(crate) fn with_ridges(mut self, rows: &dyn RowLikelihood) -> Self {
        self.ridges = ridges(&self, rows, &self.centre);
        self
    }

    fn ridge(&self, mut direction: Vec<f64>) -> Ridge {
        let mean = direction.iter().sum::<f64>() / direction.len() as f64;
        direction.iter_mut().for_each(|v| *v -= mean);
        let curvature = self.quadratic.as_ref().map_or(0.0, |quadratic| {
            quadratic.pull(&direction).iter().zip(&direction).map(|(j, v)| j * v).sum()
        });
        Ridge { rows: self.exact.ratios(&direction), direction, curvature }
    }

    /// Whether some rows are expanded, so that `D` is not 0.
    pub(crate) fn is_expanded(&self) -> bool {
        self.expanded.is_some()
    }

    /// Approximate elementary steps per sweep: a slice takes about eight evaluations of the exact rows and
    /// of the prior, which takes as long as a hundred rows, and one update of the gradient.
    pub(crate) fn steps_a_sweep(&self) -> f64 {
        let a = self.centre.len() as f64;
        a * (8.0 * (100.0 + self.exact.counts.len() as f64) + if self.is_expanded() { a } else { 0.0 })
    }

    /// A state at a draw of the prior.
    pub(crate) fn prior_state(&self, rng: &mut dyn Rng) -> State {
        let (alpha, ln_p) = self.prior.sample_ln(rng);
        self.state(ln_p, alpha)
    }

    /// The state at `e^{ln_p}`, with this parameter of an adaptive prior.
    pub(crate) fn state(&self, ln_p: Vec<f64>, alpha: Option<f64>) -> State {
        let p: Vec<f64> = ln_p.iter().map(|l| l.exp()).collect();
        let gradient = self.quadratic.as_ref().map(|quadratic| quadratic.gradient_at(&p));
        State { ratios: self.exact.ratios(&p), gradient: gradient.unwrap_or_default(), ln_p, p, alpha }
    }

    /// `L̂`, relative to the origin.
    pub(crate) fn followed(&self, state: &State) -> f64 {
        self.exact.ln_likelihood(&state.ratios) - self.exact.origin + self.quadratic(state)
    }

    /// `D = L − L̂`.
    pub(crate) fn difference(&self, state: &State) -> f64 {
        self.expanded.as_ref().map_or(0.0, |expanded| {
            let exact = expanded.rows.rows().ln_likelihood(&state.p) - expanded.origin;
            exact - self.quadratic(state)
        })
    }

    /// `D` at several states, in one pass over the reports.
    pub(crate) fn differences(&self, states: &[State]) -> Vec<f64> {
        let Some(expanded) = &self.expanded else { return vec![0.0; states.len()] };
        let points: Vec<&[f64]> = states.iter().map(|state| &state.p[..]).collect();
        let exact = expanded.rows.rows().ln_likelihoods(&points);
        exact.iter().zip(states).map(|(ln, state)| ln - expanded.origin - self.quadratic(state)).collect()
    }

    /// The part of `L̂` that is expanded.
    fn quadratic(&self, state: &State) -> f64 {
        self.quadratic.as_ref().map_or(0.0, |quadratic| quadratic.value(&state.p, &state.gradient))
    }

    /// Draws of the surrogate posterior, for its mean and for the error of the expansion.
    fn draws(&self, rng: &mut dyn Rng) -> Vec<Vec<f64>> {
        let [sweeps, before] = CENTRE_SWEEPS;
        let mut state = self.prior_state(rng);
        let mut draws = Vec::new();
        for sweep in 0..sweeps {
            check();
            self.sweep(&mut state, 1.0, rng);
            if sweep >= before && sweep.is_multiple_of(DRAW_SPACING) {
                draws.push(state.p.clone());
            }
        }
        draws
    }

    /// One move for each value. Reversible.
    pub(crate) fn sweep(&self, state: &mut State, beta: f64, rng: &mut dyn Rng) {
        self.moves(state, state.p.len(), beta, rng);
    }

    /// The given number of moves, each between two random values, along a random ridge, or of the parameter
    /// of an adaptive prior. Reversible.
    pub(crate) fn moves(&self, state: &mut State, count: usize, beta: f64, rng: &mut dyn Rng) {
        let a = state.p.len();
        // Ratios that have become small still carry the rounding errors from when they were large.
        state.ratios = self.exact.ratios(&state.p);
        for _ in 0..count {
            check();
            let parameter_moves = if self.orbit.is_some() { PARAMETER_MOVES } else { 0 };
            let number = rng.random_range(0..a + self.ridges.len() + parameter_moves);
            match (number.checked_sub(a), &self.orbit) {
                (None, _) => {}
                (Some(ridge), _) if ridge < self.ridges.len() => {
                    self.along(state, &self.ridges[ridge], beta, rng);
                    continue;
                }
                (Some(other), Some(orbit)) if other == self.ridges.len() => {
                    // A move along the orbit costs as much as ten sweeps of a thousand values.
                    if rng.random::<f64>() < ORBIT_INPUTS / a as f64 {
                        self.along_orbit(state, orbit, beta, rng);
                    }
                    continue;
                }
                _ => {
                    reparametrise(state, rng);
                    continue;
                }
            }
            let other = rng.random_range(0..a - 1);
            self.exchange(state, number, if other < number { other } else { other + 1 }, beta, rng);
        }
    }

    /// Moves mass between two values by slice sampling in the log-odds of their shares.
    fn exchange(&self, state: &mut State, x: usize, other: usize, beta: f64, rng: &mut dyn Rng) {
        // If two values have all the mass, rounding may push the total above 1, and a quantile to
        // 1.0000000000000002.
        let ln_total = ln_add(state.ln_p[x], state.ln_p[other]).min(0.0);
        let (total, here) = (ln_total.exp(), state.p[x]);
        let terms = self.terms(state, x, other);
        let slope = self.quadratic.as_ref().map_or((0.0, 0.0), |quadratic| {
            (state.gradient[x] - state.gradient[other], quadratic.curvature_between(x, other))
        });
        let (alpha, rest) = (self.prior.alpha(x, state.alpha), self.prior.alpha(other, state.alpha));
        let ln_density = |u: f64| {
            let (ln_share, ln_rest) = shares(u);
            let (p_x, p_other) = (total * ln_share.exp(), total * ln_rest.exp());
            let prior = match self.prior {
                ChainPrior::Dirichlet(_) | ChainPrior::Adaptive(_) => 0.0,
                ChainPrior::Custom(custom) => {
                    let mut ln_p = state.ln_p.clone();
                    (ln_p[x], ln_p[other]) = (ln_total + ln_share, ln_total + ln_rest);
                    custom.ln_density(&ln_p)
                }
            };
            let step = p_x - here;
            let likelihood = step * (slope.0 - 0.5 * slope.1 * step)
                + ln_product(terms.iter().map(|t| (t.base + t.own * p_x + t.other * p_other, t.count)));
            alpha * ln_share + rest * ln_rest + prior + beta * likelihood
        };
        let now = state.ln_p[x] - state.ln_p[other];
        let Some(u) = slice(&ln_density, now, alpha, rest, rng) else { return };
        let (ln_share, ln_rest) = shares(u);
        let step = total * ln_share.exp() - here;
        (state.ln_p[x], state.ln_p[other]) = (ln_total + ln_share, ln_total + ln_rest);
        (state.p[x], state.p[other]) = (state.ln_p[x].exp(), state.ln_p[other].exp());
        let (p_x, p_other) = (state.p[x], state.p[other]);
        for term in terms {
            state.ratios[term.row] = term.base + term.own * p_x + term.other * p_other;
        }
        if let Some(quadratic) = &self.quadratic {
            quadratic.exchange(&mut state.gradient, x, other, step);
        }
    }

    /// The exact rows that distinguish two values.
    fn terms(&self, state: &State, x: usize, other: usize) -> Vec<Term> {
        let (p_x, p_other) = (state.p[x], state.p[other]);
        let rows = self.exact.column(x).iter().zip(self.exact.column(other)).enumerate();
        rows.filter(|(_, (own, other))| own != other)
            .map(|(row, (own, other))| Term {
                row,
                base: (state.ratios[row] - own * p_x - other * p_other).max(0.0),
                own: *own,
                other: *other,
                count: self.exact.counts[row],
            })
            .collect()
    }

    /// Moves along a ridge by slice sampling in the log-odds of the chord of the simplex in its direction.
    fn along(&self, state: &mut State, ridge: &Ridge, beta: f64, rng: &mut dyn Rng) {
        let Some(chord) = Chord::new(&state.ln_p, &ridge.direction) else { return };
        let slope: f64 = state.gradient.iter().zip(&ridge.direction).map(|(g, v)| g * v).sum();
        let ln_density = |u: f64| {
            let step = chord.step(u);
            let ln_p = chord.ln_p(&state.p, &ridge.direction, u);
            let prior = match &self.prior {
                ChainPrior::Custom(custom) => custom.ln_density(&ln_p),
                ChainPrior::Dirichlet(alpha) => {
                    alpha.iter().zip(&ln_p).map(|(alpha, ln)| (alpha - 1.0) * ln).sum()
                }
                ChainPrior::Adaptive(_) => {
                    (self.prior.alpha(0, state.alpha) - 1.0) * ln_p.iter().sum::<f64>()
                }
            };
            let rows = state.ratios.iter().zip(&ridge.rows).zip(&self.exact.counts);
            let likelihood = step * (slope - 0.5 * ridge.curvature * step)
                + ln_product(rows.map(|((ratio, d), s)| ((ratio + step * d).max(0.0), *s)));
            let (ln_share, ln_rest) = shares(u);
            ln_share + ln_rest + prior + beta * likelihood
        };
        let alpha = |x: usize| self.prior.alpha(x, state.alpha);
        let (low, high) = (alpha(chord.low.0), alpha(chord.high.0));
        let Some(u) = slice(&ln_density, chord.now(), low, high, rng) else { return };
        *state = self.state(chord.ln_p(&state.p, &ridge.direction, u), state.alpha);
    }

    /// Moves the parameter of an adaptive prior together with the rare shares, see [`concentration`].
    fn along_orbit(&self, state: &mut State, orbit: &Orbit, beta: f64, rng: &mut dyn Rng) {
        let Some(now) = state.alpha else { return };
        let ln_at = |alpha: f64| {
            let Some((ln_p, ln_prior)) = orbit.moved(&state.ln_p, now, alpha) else {
                return f64::NEG_INFINITY;
            };
            let step: Vec<f64> = ln_p.iter().zip(&state.p).map(|(ln, p)| ln.exp() - p).collect();
            let expanded = self.quadratic.as_ref().map_or(0.0, |quadratic| {
                let pull = quadratic.pull(&step);
                let both = state.gradient.iter().zip(&pull).zip(&step);
                both.map(|((gradient, pull), step)| (gradient - 0.5 * pull) * step).sum()
            });
            let rows = state.ratios.iter().zip(self.exact.ratios(&step)).zip(&self.exact.counts);
            let exact = ln_product(rows.map(|((ratio, d), s)| ((ratio + d).max(0.0), *s)));
            ln_prior + beta * (expanded + exact)
        };
        let alpha = concentration::slice(state.p.len(), &ln_at, now, rng);
        if let Some((ln_p, _)) = orbit.moved(&state.ln_p, now, alpha) {
            *state = self.state(ln_p, Some(alpha));
        }
    }
}

/// Moves the parameter of an adaptive prior given the distribution.
fn reparametrise(state: &mut State, rng: &mut dyn Rng) {
    state.alpha = state.alpha.map(|now| concentration::given_shares(&state.ln_p, now, rng));
}

/// An exact row as a function of two values: `R = base + own·p_x + other·p_x'`.
struct Term {
    row: usize,
    base: f64,
    own: f64,
    other: f64,
    count: f64,
}

/// A direction in which the likelihood is nearly flat.
struct Ridge {
    /// Sums to 0.
    direction: Vec<f64>,
    /// How the exact rows change along it.
    rows: Vec<f64>,
    /// The curvature of the expansion along it.
    curvature: f64,
}

/// The part of a line that lies in the simplex: from where one value vanishes to where another does.
struct Chord {
    /// The value that vanishes, and the logarithm of the distance to that point.
    low: (usize, f64),
    high: (usize, f64),
    ln_length: f64,
}

impl Chord {
    fn new(ln_p: &[f64], direction: &[f64]) -> Option<Self> {
        let end = |sign: f64| {
            let distances = ln_p.iter().zip(direction).enumerate().filter(|(_, (_, v))| sign * **v > 0.0);
            distances.map(|(x, (ln, v))| (x, ln - (sign * v).ln())).min_by(|l, r| l.1.total_cmp(&r.1))
        };
        let (low, high) = (end(1.0)?, end(-1.0)?);
        let ln_length = ln_add(low.1, high.1);
        ln_length.is_finite().then_some(Chord { low, high, ln_length })
    }

    /// The log-odds of the current position.
    fn now(&self) -> f64 {
        self.low.1 - self.high.1
    }

    /// The step from the current position to log-odds `u`.
    fn step(&self, u: f64) -> f64 {
        (self.ln_length + shares(u).0).exp() - self.low.1.exp()
    }

    /// `ln p` at the log-odds `u`, accurate also for the two values that may vanish.
    fn ln_p(&self, p: &[f64], direction: &[f64], u: f64) -> Vec<f64> {
        let (step, (ln_share, ln_rest)) = (self.step(u), shares(u));
        let moved = |(p_x, v): (&f64, &f64)| (p_x + step * v).max(f64::MIN_POSITIVE).ln();
        let mut ln_p: Vec<f64> = p.iter().zip(direction).map(moved).collect();
        ln_p[self.low.0] = direction[self.low.0].ln() + self.ln_length + ln_share;
        ln_p[self.high.0] = (-direction[self.high.0]).ln() + self.ln_length + ln_rest;
        ln_p
    }
}

/// A draw by slice sampling, shrinking from the whole range towards `now`; `None` if none was found.
pub(super) fn slice(
    ln_density: &dyn Fn(f64) -> f64,
    now: f64,
    alpha_low: f64,
    alpha_high: f64,
    rng: &mut dyn Rng,
) -> Option<f64> {
    const MOST_TRIALS: usize = 200;
    let floor = ln_density(now) + (1.0 - rng.random::<f64>()).ln();
    // Only e^−40 of the prior's mass lies beyond these log-odds.
    let (mut low, mut high) =
        ((-40.0 / alpha_low.min(1.0)).min(now - 1.0), (40.0 / alpha_high.min(1.0)).max(now + 1.0));
    for _ in 0..MOST_TRIALS {
        let u = low + (high - low) * rng.random::<f64>();
        if ln_density(u) > floor {
            return Some(u);
        }
        if u < now { low = u } else { high = u }
    }
    None
}

/// `ln 1/(1 + e^−u)` and `ln 1/(1 + e^u)`.
pub(super) fn shares(u: f64) -> (f64, f64) {
    let tail = (-u.abs()).exp().ln_1p();
    if u < 0.0 { (u - tail, -tail) } else { (-tail, -u - tail) }
}

/// `ln(e^l + e^r)`.
pub(super) fn ln_add(l: f64, r: f64) -> f64 {
    let (high, low) = if l > r { (l, r) } else { (r, l) };
    high + (low - high).exp().ln_1p()
}

/// The directions in which the observed information at the centre is below [`FLAT`] of its largest.
fn ridges(target: &Target<'_>, rows: &dyn RowLikelihood, centre: &[f64]) -> Vec<Ridge> {
    let a = centre.len();
    if a > MAX_RIDGE_INPUTS {
        return Vec::new();
    }
    let curvature = rows.expansion(centre, false).1;
    // Only differences of distributions matter: centre rows and columns.
    let line_mean = |x: usize| curvature[x * a..][..a].iter().sum::<f64>() / a as f64;
    let means: Vec<f64> = (0..a).map(line_mean).collect();
    let mean = means.iter().sum::<f64>() / a as f64;
    let centred = |x: usize, z: usize| curvature[x * a + z] - means[x] - means[z] + mean;
    // The direction of all ones leaves the simplex. It gets the mean curvature, so that it is not taken for a
    // ridge.
    let ones = (0..a).map(|x| centred(x, x)).sum::<f64>() / (a * a) as f64;
    let lifted = Mat::from_fn(a, a, |x, z| centred(x, z) + ones);
    let Ok(eigen) = lifted.self_adjoint_eigen(Side::Lower) else { return Vec::new() };
    let (vectors, values) = (eigen.U(), eigen.S());
    (0..a)
        .filter(|k| values[*k] < FLAT * values[a - 1])
        .take(MAX_RIDGES)
        .map(|k| target.ridge((0..a).map(|x| vectors[(x, k)]).collect()))
        .collect()
}

/// Whether there are so few distinct reports that all rows are treated exactly. With a thousand values and
/// rows a sweep would take a tenth of a second, where their expansion takes milliseconds.
pub(crate) fn few(rows: usize, a: usize) -> bool {
    rows <= 3 * a + 16 && rows * a <= MAX_FEW_ENTRIES
}

/// Steps of expectation maximisation towards the posterior mean: `p_x ← (p_x ∂L/∂p_x + α_x)/(n + α_0)`.
fn maximisation(rows: &dyn RowLikelihood, counts: &[f64], prior: &ChainPrior<'_>) -> Vec<f64> {
    let a = rows.inputs();
    let total = counts.iter().sum::<f64>() + prior.total(None, a);
    let mut p = vec![1.0 / a as f64; a];
    for _ in 0..MAXIMISATION_STEPS {
        check();
        let gradient = rows.gradient(&p);
        p = (0..a).map(|x| (p[x] * gradient[x] + prior.alpha(x, None)) / total).collect();
    }
    p
}

/// The mean of distributions, which sums to 1.
fn mean(draws: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; draws[0].len()];
    for p in draws {
        sum.iter_mut().zip(p).for_each(|(sum, p)| *sum += p);
    }
    let total: f64 = sum.iter().sum();
    sum.iter().map(|s| s / total).collect()
}

/// The additional rows that must be exact to bring the variance of `D` below [`MAX_VARIANCE`].
fn rows_to_follow(
    rows: &dyn RowLikelihood,
    counts: &[f64],
    exact: &[bool],
    draws: &[Vec<f64>],
    centre: &[f64],
) -> Vec<usize> {
    let at_centre = rows.ratios(centre);
    let mut left_out = vec![vec![0.0; draws.len()]; counts.len()];
    for (k, p) in draws.iter().enumerate() {
        check();
        for (i, ratio) in rows.ratios(p).iter().enumerate().filter(|(i, _)| !exact[*i]) {
            let d = ratio / at_centre[i] - 1.0;
            left_out[i][k] = counts[i] * (d.ln_1p() - d + 0.5 * d * d);
        }
    }
    let mut rest = vec![0.0; draws.len()];
    left_out.iter().for_each(|row| rest.iter_mut().zip(row).for_each(|(sum, r)| *sum += r));
    if variance(&rest) <= MAX_VARIANCE {
        return Vec::new();
    }
    let mut order: Vec<(usize, f64)> =
        left_out.iter().enumerate().map(|(i, row)| (i, variance(row))).filter(|(i, _)| !exact[*i]).collect();
    order.sort_by(|l, r| r.1.total_cmp(&l.1));
    let most = (MAX_EXACT_ENTRIES / centre.len()).saturating_sub(exact.iter().filter(|e| **e).count());
    let mut more = Vec::new();
    for (i, _) in order.into_iter().take(most) {
        // Aim at half the limit, so that the next round seldom needs more.
        if variance(&rest) <= 0.5 * MAX_VARIANCE {
            break;
        }
        rest.iter_mut().zip(&left_out[i]).for_each(|(sum, r)| *sum -= r);
        more.push(i);
    }
    more
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)
}
