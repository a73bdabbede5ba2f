//! The job `trend`: a share, or whatever else is asked of the distribution, over several collections in order.
//!
//! Each collection has its own posterior under the same prior. They are independent, so that changes between them are differences of
//! independent numbers.

mod fields;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::information::Sampling;
use sottovoce::posterior::{
    Contrast, FunctionalSummary, Posterior, PosteriorOptions, posterior_of_collections,
};
use sottovoce::{Observer, Prior, Progress};

use crate::admission::{admit, posterior_bytes};
use crate::collection::WrittenTallies;
use crate::contract::{MethodChoice, OneOrMore, Whole, one_or_more, whole};
use crate::error::{Error, Result};
use crate::functional::{Expression, Question};
use crate::gathered::{Gathered, Gathering, stem};
use crate::posterior::{check_level, draws, interval_probabilities, other_seed, usual_level};
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::Subject;

/// How many values are followed if nothing is asked: the most common ones of the last collection.
const FOLLOWED: usize = 5;

/// Posteriors that are held at a time: the first, the one before, and the present one.
const HELD: f64 = 3.0;

/// What is to be followed over which collections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrendRequest {
    /// The tallies of the collections, in order.
    #[serde(deserialize_with = "one_or_more::<_, WrittenTallies, _>")]
    #[schemars(with = "OneOrMore<WrittenTallies>")]
    pub tallies: Vec<WrittenTallies>,
    /// The protocol, for tallies that do not name it.
    #[serde(default)]
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The prior; by default adaptive for more than two values, and Jeffreys for two.
    #[serde(default)]
    pub prior: Option<Written<PriorSpec>>,
    /// What is followed: expressions as in the job `posterior`, except ranks. By default the shares of the five values that are most common in
    /// the last collection.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<String>")]
    pub of: Vec<String>,
    /// Probability of the credible intervals, equally split to both sides.
    #[serde(default = "usual_level")]
    pub level: f64,
    /// Which method.
    #[serde(default)]
    pub method: MethodChoice,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
    /// Whether answers of Markov chains that have not converged are wanted.
    #[serde(default)]
    pub allow_unconverged: bool,
}

/// A valid request for a trend.
#[derive(Clone, Debug)]
pub struct TrendJob {
    points: Vec<(String, Gathered)>,
    prior_spec: PriorSpec,
    prior: Prior,
    of: Vec<Expression>,
    request: TrendRequest,
}

/// What was followed over the collections.
#[derive(Clone, Debug)]
pub struct TrendReport {
    /// The prior.
    pub prior: PriorSpec,
    /// Probability of the intervals.
    pub level: f64,
    /// The collections in order, with their names.
    pub points: Vec<(String, Gathering)>,
    /// One entry for each expression.
    pub trends: Vec<Trend>,
}

/// A number over the collections.
#[derive(Clone, Debug)]
pub struct Trend {
    /// What was followed.
    pub expression: Expression,
    /// The number in each collection.
    pub values: Vec<FunctionalSummary>,
    /// Each collection minus the one before.
    pub steps: Vec<FunctionalSummary>,
    /// The last collection minus the first.
    pub overall: FunctionalSummary,
}

impl TrendRequest {
    /// The usual trend over these tallies, which name their protocols.
    pub fn of(tallies: Vec<WrittenTallies>) -> Self {
        TrendRequest {
            tallies,
            protocol: None,
            prior: None,
            of: vec![],
            level: usual_level(),
            method: MethodChoice::Auto,
            seed: 0,
            allow_unconverged: false,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// There are fewer than two collections, they are about different values or share reports, or something else is not valid.
    pub fn check(&self) -> Result<TrendJob> {
        check_level(self.level)?;
        if self.tallies.len() < 2 {
            let value = self.tallies.len().to_string();
            return Err(Error::Setting { name: "tallies", value, allowed: "two collections or more" });
        }
        let filling = self.prior.as_ref().map_or(PriorSpec::Jeffreys, |prior| prior.spec.clone());
        let mut points: Vec<(String, Gathered)> = Vec::new();
        for (written, name) in self.tallies.iter().zip(names(&self.tallies)) {
            let gathered = Gathered::read(std::slice::from_ref(written), self.protocol.as_ref(), &filling)?;
            points.iter().try_for_each(|(_, earlier)| earlier.check_independent(&gathered))?;
            let (protocol, n) = (&gathered.named.protocol, gathered.combination.reports.n());
            admit(HELD * posterior_bytes(protocol, n, draws(0, true, protocol.inputs()), 0))?;
            points.push((name, gathered));
        }
        let first = &points[0].1;
        let labels = first.labels();
        let of = self.of.iter().map(|text| Expression::read(text, &labels)).collect::<Result<Vec<_>>>()?;
        of.iter().try_for_each(Expression::check_comparable)?;
        let settings = sottovoce::metric::Settings { seed: self.seed, ..Default::default() };
        let Subject { prior_spec, prior, .. } =
            Subject::collected(first.named.clone(), self.prior.as_ref(), settings)?;
        Ok(TrendJob { points, prior_spec, prior, of, request: self.clone() })
    }
}

/// The names of the files, or where these do not differ their paths; numbers for what is not a file.
fn names(tallies: &[WrittenTallies]) -> Vec<String> {
    let short: Vec<Option<String>> = tallies.iter().map(stem).collect();
    let name = |(i, written): (usize, &WrittenTallies)| {
        let alone = short.iter().filter(|other| **other == short[i]).count() == 1;
        match (&short[i], written) {
            (Some(name), _) if alone => name.clone(),
            (_, WrittenTallies::File(path) | WrittenTallies::Path(path)) => path.display().to_string(),
            _ => (i + 1).to_string(),
        }
    };
    tallies.iter().enumerate().map(name).collect()
}

impl TrendJob {
    /// The trend, while the observer hears of the samplers.
    ///
    /// # Errors
    /// Those of the posteriors.
    pub fn run(&self, observer: Observer<'_>) -> Result<TrendReport> {
        let last = self.points.len() - 1;
        let probabilities = interval_probabilities(self.request.level);
        let final_one = self.posterior(last, observer)?;
        let of = if self.of.is_empty() { self.most_common(&final_one)? } else { self.of.clone() };
        let mut trends = Vec::new();
        let first = self.posterior(0, observer)?;
        for expression in of {
            let Question::Number(functional) = &expression.question else { continue };
            let values = vec![first.functional(functional, &probabilities)?];
            let overall = final_one.contrast(&first, functional, Contrast::Difference, &probabilities)?;
            trends.push(Trend { expression, values, steps: vec![], overall });
        }
        let mut before = first;
        for i in 1..=last {
            let now = if i == last { final_one.clone() } else { self.posterior(i, observer)? };
            for trend in &mut trends {
                let Question::Number(functional) = &trend.expression.question else { continue };
                trend.values.push(now.functional(functional, &probabilities)?);
                trend.steps.push(now.contrast(&before, functional, Contrast::Difference, &probabilities)?);
            }
            before = now;
        }
        let point = |(name, gathered): &(String, Gathered)| {
            gathered.collections.first().map(|collection| (name.clone(), collection.clone()))
        };
        Ok(TrendReport {
            prior: self.prior_spec.clone(),
            level: self.request.level,
            points: self.points.iter().filter_map(point).collect(),
            trends,
        })
    }

    fn posterior(&self, number: usize, observer: Observer<'_>) -> Result<Posterior> {
        let hear = |sampling: &Sampling| observer(&Progress::Posterior { sampling: *sampling });
        let collections = &self.points[number].1.combination;
        let options = PosteriorOptions {
            choice: self.request.method.into(),
            probabilities: interval_probabilities(self.request.level),
            draws: draws(0, true, collections.protocol.inputs()),
            grid: 0,
            seed: other_seed(self.request.seed, number as u64),
            unconverged: self.request.allow_unconverged,
            observer: Some(&hear),
        };
        Ok(posterior_of_collections(collections, &self.prior, &options)?)
    }

    /// The shares of the most common values.
    fn most_common(&self, posterior: &Posterior) -> Result<Vec<Expression>> {
        let labels = self.points[0].1.labels();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|l, r| posterior.p[*r].mean.total_cmp(&posterior.p[*l].mean));
        order.into_iter().take(FOLLOWED).map(|x| Expression::share_of(&labels, x)).collect()
    }
}
