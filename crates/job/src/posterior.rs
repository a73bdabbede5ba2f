//! The job `posterior`: from tallies to what they say about the distribution and the population.

mod fields;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::{LeftInverse, Reports};
use sottovoce::information::Sampling;
pub use sottovoce::posterior::Draws;
use sottovoce::posterior::{Posterior, PosteriorOptions, Summary, posterior, posterior_of_supports};
use sottovoce::{Observer, Progress, Protocol, Tallies};

use crate::admission::{admit, posterior_bytes};
use crate::collection::{Collected, WrittenTallies};
use crate::contract::{MethodChoice, Whole, count, whole};
use crate::error::{Error, Result};
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
    /// The tallies.
    pub tallies: WrittenTallies,
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
    subject: Subject,
    reports: Reports,
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
            tallies: tallies.into(),
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
        if !(self.level > 0.0 && self.level < 1.0) {
            let value = self.level.to_string();
            return Err(Error::Setting {
                name: "level",
                value,
                allowed: "a probability above 0 and below 1",
            });
        }
        let settings = sottovoce::metric::Settings { seed: self.seed, ..Default::default() };
        let collected = Collected::read(&self.tallies)?;
        let protocol = collected.protocol(self.protocol.as_ref())?;
        let subject = Subject::collected(&protocol, self.prior.as_ref(), settings)?;
        let reports = collected.of(&subject.protocol, |file| file.reports(&subject.protocol.protocol))?;
        admit(posterior_bytes(&subject.protocol.protocol, reports.n(), self.draws, self.grid))?;
        Ok(PosteriorJob { subject, reports, request: self.clone() })
    }
}

impl PosteriorJob {
    /// The posterior, while the observer hears of the sampler.
    ///
    /// # Errors
    /// The reports are impossible, no method fits, or the chains did not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<PosteriorReport> {
        let hear = |sampling: &Sampling| observer(&Progress::Posterior { sampling: *sampling });
        let options = PosteriorOptions {
            choice: self.request.method.into(),
            probabilities: self.probabilities(),
            draws: self.request.draws,
            grid: self.request.grid,
            seed: self.request.seed,
            unconverged: self.request.allow_unconverged,
            observer: Some(&hear),
        };
        let named = &self.subject.protocol;
        let prior = &self.subject.prior;
        let found = match &self.reports {
            Reports::Tallies(tallies) => posterior(&named.protocol, prior, tallies, &options)?,
            Reports::Supports(supports) => posterior_of_supports(&named.protocol, prior, supports, &options)?,
        };
        let compared = (named.protocol.inputs() <= MOST_COMPARED).then(|| self.compared()).transpose()?;
        Ok(PosteriorReport {
            protocol: named.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            level: self.request.level,
            labels: (0..named.protocol.inputs()).map(|x| named.input(x)).collect(),
            posterior: found,
            compared,
        })
    }

    /// The prior is the posterior of no report at all.
    fn compared(&self) -> Result<Compared> {
        let (protocol, prior) = (&self.subject.protocol.protocol, &self.subject.prior);
        let silent = Protocol::identity(protocol.inputs())?;
        let none = Tallies::new(&silent, [])?;
        let options = PosteriorOptions { probabilities: self.probabilities(), ..PosteriorOptions::default() };
        let linear = LeftInverse::of(protocol).and_then(|inverse| inverse.estimate(protocol, &self.reports));
        Ok(Compared {
            prior: posterior(&silent, prior, &none, &options)?.p,
            linear: linear.ok().map(|linear| linear.values().to_vec()),
        })
    }

    fn probabilities(&self) -> Vec<f64> {
        interval_probabilities(self.request.level)
    }
}

/// The ends of an interval, and the median.
pub(crate) fn interval_probabilities(level: f64) -> Vec<f64> {
    // As a person would write it: 1 − 0.9 is not 0.1 in binary.
    let tail = (0.5e12 * (1.0 - level)).round() / 1e12;
    vec![tail, 0.5, 1.0 - tail]
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
