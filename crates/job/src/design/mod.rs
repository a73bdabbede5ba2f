//! The job `design`: the best protocol for a privacy requirement, how far from the best any other is, and a certificate.
//!
//! The protocol comes from [`sottovoce::design`]; its metrics and those of the usual protocols under the same requirement are computed as for
//! any other protocol, so that the comparison does not rest on the solver.

mod best;
mod family;
mod frontier;

pub use best::{BestJob, BestProtocol, Proof, Remark, SearchResult, Unlimited};
pub use family::{Candidate, Family, Sizing};
pub use frontier::{Axis, CURVES, Frontier, FrontierJob, FrontierPoint, Participation};

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::design::{Effort, Requirement};
use sottovoce::information::{Sampling, SamplingObserver};
use sottovoce::metric::Settings;
use sottovoce::{Observer, Prior, Progress};

use crate::contract::{MethodChoice, Whole, count, optional_count, optional_whole, whole};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::PriorSpec;
use crate::subject::{check_tolerance, check_users};

/// What is required: the best protocol for `epsilon`, `min_average_privacy` or both, or with `frontier` the best at each level of privacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignRequest {
    /// Number of values.
    #[serde(deserialize_with = "count")]
    #[schemars(with = "Whole")]
    pub a: usize,
    /// Largest LDP level.
    #[serde(default)]
    pub epsilon: Option<f64>,
    /// Least average privacy.
    #[serde(default)]
    pub min_average_privacy: Option<f64>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// Number of users that the protocol is for: what their reports tell about the distribution is maximised, instead of the asymptotic utility.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub n: Option<u64>,
    /// The whole curve of utility against privacy instead of one protocol.
    #[serde(default)]
    pub frontier: bool,
    /// The privacy along the curve; by default `s_mu`.
    #[serde(default)]
    pub against: Option<Axis>,
    /// Number of points of the curve; by default 19.
    #[serde(default, deserialize_with = "optional_count")]
    #[schemars(with = "Option<Whole>")]
    pub points: Option<usize>,
    /// Wanted absolute error of the numbers, and wanted gap of the certificate, in nats; by default 1e-4.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Which method to use for metrics that depend on the number of users.
    #[serde(default)]
    pub method: MethodChoice,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request for a design.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DesignJob {
    /// One protocol.
    Best(BestJob),
    /// The curve.
    Frontier(FrontierJob),
}

/// The best protocol, or the curve.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum DesignReport {
    /// One protocol.
    Best(Box<BestProtocol>),
    /// The curve.
    Frontier(Frontier),
}

/// Number of points of a curve by default.
pub const DEFAULT_POINTS: usize = 19;

impl DesignRequest {
    /// A design for `a` values under the Jeffreys prior; what is required is still to be filled in.
    pub fn of(a: usize) -> Self {
        DesignRequest {
            a,
            epsilon: None,
            min_average_privacy: None,
            prior: Written::default(),
            n: None,
            frontier: false,
            against: None,
            points: None,
            tolerance: None,
            method: MethodChoice::Auto,
            seed: 0,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// A number or the prior is out of range, nothing is required, or fields do not fit together.
    pub fn check(&self) -> Result<DesignJob> {
        let prior = self.prior.check(self.a)?;
        check_tolerance(self.tolerance)?;
        check_users(self.n.as_slice())?;
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.method.into() };
        if self.frontier { self.frontier(prior, settings) } else { self.best(prior, settings) }
    }

    fn best(&self, prior: Prior, settings: Settings) -> Result<DesignJob> {
        let of_curves = [("against", self.against.is_some()), ("points", self.points.is_some())];
        if let Some((field, _)) = of_curves.into_iter().find(|(_, given)| *given) {
            return Err(Error::Needs { field, needed: "frontier" });
        }
        let requirement = Requirement::new(self.epsilon, self.min_average_privacy)?;
        let many = self.n.is_some_and(|n| n > 1);
        if !prior.is_continuous() && (self.min_average_privacy.is_some() || many) {
            let allowed =
                "possible here: a prior of finitely many points has designs for one user and epsilon only";
            return Err(Error::Setting { name: "prior", value: "points".into(), allowed });
        }
        let prior_spec = self.prior.spec.clone();
        Ok(DesignJob::Best(BestJob { requirement, prior_spec, prior, users: self.n, settings }))
    }

    fn frontier(&self, prior: Prior, settings: Settings) -> Result<DesignJob> {
        let of_one = [("min_average_privacy", self.min_average_privacy.is_some()), ("n", self.n.is_some())];
        if let Some((first, _)) = of_one.into_iter().find(|(_, given)| *given) {
            return Err(Error::Together { first, second: "frontier" });
        }
        if self.epsilon.is_some() {
            Requirement::new(self.epsilon, None)?;
        }
        let points = self.points.unwrap_or(DEFAULT_POINTS);
        FrontierJob::check_points(points)?;
        Ok(DesignJob::Frontier(FrontierJob {
            axis: self.against.unwrap_or_default(),
            epsilon: self.epsilon,
            prior_spec: self.prior.spec.clone(),
            prior,
            points,
            settings,
        }))
    }
}

impl DesignJob {
    /// The design. A search that the observer stops gives the best protocol so far with the gap that is certified for it, or the points of
    /// the curve so far.
    ///
    /// # Errors
    /// Too many inputs, or a search that does not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<DesignReport> {
        match self {
            DesignJob::Best(job) => job.run(observer).map(Box::new).map(DesignReport::Best),
            DesignJob::Frontier(job) => job.run(observer).map(DesignReport::Frontier),
        }
    }
}

/// The effort of a search whose progress is observed.
pub(crate) fn effort<'a>(settings: &Settings, observer: SamplingObserver<'a>) -> Effort<'a> {
    Effort { gap: settings.tolerance.unwrap_or(1e-4), seed: settings.seed, observer: Some(observer) }
}

/// Reports the progress of the search to the observer.
pub(crate) fn search_heard(observer: Observer<'_>, sampling: &Sampling) -> ControlFlow<()> {
    let Sampling { draws, error, tolerance, .. } = *sampling;
    observer(&Progress::Design { directions: draws, gap: error, tolerance })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_kind_of_design_are_refused_in_the_other() {
        let request = DesignRequest { epsilon: Some(1.0), ..DesignRequest::of(3) };
        let refused = |request: DesignRequest| request.check().unwrap_err();
        let points = DesignRequest { points: Some(3), ..request.clone() };
        assert!(matches!(refused(points), Error::Needs { field: "points", needed: "frontier" }));
        let users = DesignRequest { frontier: true, n: Some(3), ..request.clone() };
        assert!(matches!(refused(users), Error::Together { first: "n", second: "frontier" }));
        let none = DesignRequest { frontier: true, points: Some(0), ..request };
        assert!(matches!(refused(none), Error::Setting { name: "points", .. }));
    }
}
