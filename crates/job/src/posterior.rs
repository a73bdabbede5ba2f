//! The job `posterior`: from tallies to what they say about the distribution and the population.

mod fields;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::{Combination, LinearEstimate};
use sottovoce::information::Sampling;
pub use sottovoce::posterior::Draws;
use sottovoce::posterior::{
    FUNCTIONAL_DRAWS, Posterior, PosteriorOptions, Summary, posterior, posterior_of_collections,
};
use sottovoce::{Observer, Prior, Progress, Protocol, Tallies};

use crate::admission::{admit, posterior_bytes};
use crate::collection::WrittenTallies;
use crate::contract::{MethodChoice, OneOrMore, Whole, count, one_or_more, whole};
use crate::error::{Error, Result};
use crate::functional::{Asked, Expression};
use crate::gathered::{Gathered, Gathering};
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::Subject;

/// Whose posterior is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PosteriorRequest {
    /// The protocol; by default the one that the tallies name.
    #[serde(default)]
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The prior; by default adaptive for more than two values, and Jeffreys for two.
    #[serde(default)]
    pub prior: Option<Written<PriorSpec>>,
    /// The tallies; several if the same values were collected under different protocols or privacy levels.
    #[serde(deserialize_with = "one_or_more::<_, WrittenTallies, _>")]
    #[schemars(with = "OneOrMore<WrittenTallies>")]
    pub tallies: Vec<WrittenTallies>,
    /// What is asked of the distribution: expressions over the labels, such as `share(tea, coffee)`, `tea - coffee`, `tea / coffee`, `mean()`,
    /// `quantile(0.5)`, `rank(tea)`, `top(3)` and `largest()`.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<String>")]
    pub of: Vec<String>,
    /// The tallies of another collection of the same values, with which `of` is compared.
    #[serde(default, deserialize_with = "one_or_more::<_, WrittenTallies, _>")]
    #[schemars(with = "OneOrMore<WrittenTallies>")]
    pub against: Vec<WrittenTallies>,
    /// Probability of the credible intervals, equally split to both sides.
    #[serde(default = "usual_level")]
    pub level: f64,
    /// Number of joint draws of the shares in the report.
    #[serde(default, deserialize_with = "count")]
    #[schemars(with = "Whole")]
    pub draws: usize,
    /// Points of each marginal density; 0 for none.
    #[serde(default, deserialize_with = "count")]
    #[schemars(with = "Whole")]
    pub grid: usize,
    /// Which method.
    #[serde(default)]
    pub method: MethodChoice,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
    /// Whether an answer of Markov chains that have not converged is wanted.
    #[serde(default)]
    pub allow_unconverged: bool,
}

/// The level of intervals where nothing else is asked for.
pub(crate) fn usual_level() -> f64 {
    0.9
}

/// A valid request for a posterior.
#[derive(Clone, Debug)]
pub struct PosteriorJob {
    prior_spec: PriorSpec,
    prior: Prior,
    gathered: Gathered,
    against: Option<Gathered>,
    of: Vec<Expression>,
    request: PosteriorRequest,
}

/// A posterior with the names of its values.
#[derive(Clone, Debug)]
pub struct PosteriorReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// Probability of the intervals.
    pub level: f64,
    /// Names of the values.
    pub labels: Vec<String>,
    /// The posterior.
    pub posterior: Posterior,
    /// The collections.
    pub collections: Vec<Gathering>,
    /// Those that `of` was compared with.
    pub against: Vec<Gathering>,
    /// The answers to what was asked.
    pub of: Vec<Asked>,
    /// What it is compared with, for at most [`MOST_COMPARED`] values.
    pub compared: Option<Compared>,
}

impl PosteriorReport {
    /// The values whose linear estimate lies outside the interval of their share, farthest first in units of the
    /// interval.
    pub fn linear_outside(&self) -> Vec<(usize, f64)> {
        let linear =
            self.compared.as_ref().and_then(|compared| compared.linear.as_deref()).unwrap_or_default();
        let distance = |(x, (p, linear)): (usize, (&Summary, &f64))| {
            let (low, high) = (p.quantiles.first()?.1, p.quantiles.last()?.1);
            let off = (low - linear).max(linear - high);
            // Rounding must not call an estimate at the end of a narrow interval outside.
            (off > 1e-9).then_some((off / (high - low), x, *linear))
        };
        let mut found: Vec<(f64, usize, f64)> =
            self.posterior.p.iter().zip(linear).enumerate().filter_map(distance).collect();
        found.sort_by(|l, r| r.0.total_cmp(&l.0));
        found.into_iter().map(|(_, x, linear)| (x, linear)).collect()
    }
}

/// What a posterior is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What was believed about `P` before the reports.
    pub prior: Vec<Summary>,
    /// The linear estimate, if the protocol has one and there are reports.
    pub linear: Option<Vec<f64>>,
}

/// Most values whose posterior is compared with the prior and the linear estimate: as many as a picture has rows.
pub const MOST_COMPARED: usize = 100;

impl PosteriorRequest {
    /// The posterior of these tallies under the usual prior, with 90 % intervals.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>, tallies: impl Into<WrittenTallies>) -> Self {
        PosteriorRequest {
            protocol: Some(protocol.into()),
            prior: None,
            tallies: vec![tallies.into()],
            of: vec![],
            against: vec![],
            level: usual_level(),
            draws: 0,
            grid: 0,
            method: MethodChoice::Auto,
            seed: 0,
            allow_unconverged: false,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior or a setting is out of range, or the tallies do not fit the protocol.
    pub fn check(&self) -> Result<PosteriorJob> {
        check_level(self.level)?;
        let settings = sottovoce::metric::Settings { seed: self.seed, ..Default::default() };
        // What a protocol leaves out is filled in for the Jeffreys prior unless another is given, as `randomise` does.
        let filling = self.prior.as_ref().map_or(PriorSpec::Jeffreys, |prior| prior.spec.clone());
        let gathered = Gathered::read(&self.tallies, self.protocol.as_ref(), &filling)?;
        let labels = gathered.labels();
        let of = self.of.iter().map(|text| Expression::read(text, &labels)).collect::<Result<Vec<_>>>()?;
        let against = self.against(&gathered, &of, &filling)?;
        let Subject { prior_spec, prior, .. } =
            Subject::collected(gathered.named.clone(), self.prior.as_ref(), settings)?;
        for gathered in std::iter::once(&gathered).chain(&against) {
            let protocol = &gathered.named.protocol;
            let draws = draws(self.draws, !of.is_empty(), protocol.inputs());
            admit(posterior_bytes(protocol, gathered.combination.reports.n(), draws, self.grid))?;
        }
        Ok(PosteriorJob { prior_spec, prior, gathered, against, of, request: self.clone() })
    }

    /// The collection that is compared with, which names its own protocol.
    fn against(
        &self,
        gathered: &Gathered,
        of: &[Expression],
        filling: &PriorSpec,
    ) -> Result<Option<Gathered>> {
        if self.against.is_empty() {
            return Ok(None);
        }
        if of.is_empty() {
            return Err(Error::Needs { field: "against", needed: "of" });
        }
        of.iter().try_for_each(Expression::check_comparable)?;
        let against = Gathered::read(&self.against, None, filling)?;
        gathered.check_independent(&against)?;
        Ok(Some(against))
    }
}

/// The number of joint draws: those that are wanted, or as many as functionals need if these fit into memory.
pub(crate) fn draws(wanted: usize, functionals: bool, a: usize) -> usize {
    const MAX_NUMBERS: usize = 20_000_000;
    if functionals { wanted.max(FUNCTIONAL_DRAWS.min(MAX_NUMBERS / a)).max(100) } else { wanted }
}

/// Another seed, for a posterior that must be independent of that with the first one.
pub(crate) fn other_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Refuses a level that is not a probability.
pub(crate) fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    let value = level.to_string();
    Err(Error::Setting { name: "level", value, allowed: "a probability above 0 and below 1" })
}

/// The probabilities of the ends of an interval, and of the median.
pub(crate) fn interval_probabilities(level: f64) -> Vec<f64> {
    // As a person would write it: 1 − 0.9 is not 0.1 in binary.
    let tail = (0.5e12 * (1.0 - level)).round() / 1e12;
    vec![tail, 0.5, 1.0 - tail]
}

impl PosteriorJob {
    /// The posterior, while the observer hears of the sampler.
    ///
    /// # Errors
    /// The reports are impossible, no method fits, or the chains did not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<PosteriorReport> {
        let named = &self.gathered.named;
        let mut found = self.posterior(&self.gathered.combination, 0, observer)?;
        let other = self.against.as_ref();
        let other = other.map(|other| self.posterior(&other.combination, 1, observer)).transpose()?;
        let probabilities = interval_probabilities(self.request.level);
        let answer = |expression: &Expression| expression.answer(&found, other.as_ref(), &probabilities);
        let of = self.of.iter().map(answer).collect::<Result<Vec<Asked>>>()?;
        found.draws.p.truncate(self.request.draws);
        found.draws.t.truncate(self.request.draws);
        let compared = (named.protocol.inputs() <= MOST_COMPARED).then(|| self.compared()).transpose()?;
        Ok(PosteriorReport {
            protocol: named.spec.clone(),
            prior: self.prior_spec.clone(),
            level: self.request.level,
            labels: self.gathered.labels(),
            posterior: found,
            collections: self.gathered.collections.clone(),
            against: self.against.as_ref().map(|other| other.collections.clone()).unwrap_or_default(),
            of,
            compared,
        })
    }

    fn posterior(&self, collections: &Combination, number: u64, observer: Observer<'_>) -> Result<Posterior> {
        let hear = |sampling: &Sampling| observer(&Progress::Posterior { sampling: *sampling });
        let options = PosteriorOptions {
            choice: self.request.method.into(),
            probabilities: interval_probabilities(self.request.level),
            draws: draws(self.request.draws, !self.of.is_empty(), collections.protocol.inputs()),
            grid: if number == 0 { self.request.grid } else { 0 },
            seed: other_seed(self.request.seed, number),
            unconverged: self.request.allow_unconverged,
            observer: Some(&hear),
        };
        Ok(posterior_of_collections(collections, &self.prior, &options)?)
    }

    /// The prior is the posterior of no report at all.
    fn compared(&self) -> Result<Compared> {
        let prior = &self.prior;
        let silent = Protocol::identity(prior.inputs())?;
        let none = Tallies::new(&silent, [])?;
        let probabilities = interval_probabilities(self.request.level);
        let options = PosteriorOptions { probabilities, ..PosteriorOptions::default() };
        let linear = LinearEstimate::of_collections(&self.gathered.combination);
        Ok(Compared {
            prior: posterior(&silent, prior, &none, &options)?.p,
            linear: linear.ok().map(|linear| linear.values().to_vec()),
        })
    }
}

/// The joint draws of `P` as Parquet: a column of doubles for each value.
///
/// # Errors
/// The writer refuses a label.
pub fn draws_parquet(report: &PosteriorReport) -> std::io::Result<Vec<u8>> {
    sottovoce_collect::files::number_table::parquet_table(&report.labels, &report.posterior.draws.p)
}

/// The joint draws of `P` as CSV: a column for each value, a line for each draw.
pub fn draws_csv(report: &PosteriorReport) -> String {
    let mut text = crate::render::csv::line(report.labels.iter().cloned());
    for p in &report.posterior.draws.p {
        text += &crate::render::csv::line(p.iter().map(|p_x| format!("{p_x:?}")));
    }
    text
}
