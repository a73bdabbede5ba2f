//! The job `estimate`: shares estimated from tallies, by several estimators side by side, always with intervals.

mod fields;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::{Estimate, Estimation, Estimator, GAP};
use sottovoce::{Observer, Prior};

use crate::admission::{admit, estimate_bytes};
use crate::collection::WrittenTallies;
use crate::contract::{NameOrAll, OneOrMore, one_or_more};
use crate::error::{Error, Result};
use crate::gathered::{Gathered, Gathering};
use crate::posterior::usual_level;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec, shown};

/// The estimators that are shown when none is asked for: what is usual, what is nearest, what is most likely.
pub const DEFAULT: [Estimator; 3] = [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood];

/// Most inputs of a covariance matrix that is given out.
const MAX_COVARIANCE: usize = 1024;

/// What is to be estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EstimateRequest {
    /// The protocol that made the reports; by default the one that the tallies name.
    #[serde(default)]
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The prior of the posterior mean; by default adaptive for more than two values, and Jeffreys for two.
    #[serde(default)]
    pub prior: Option<Written<PriorSpec>>,
    /// The tallies or supports; several if the same values were collected under different protocols or privacy levels.
    #[serde(deserialize_with = "one_or_more::<_, WrittenTallies, _>")]
    #[schemars(with = "OneOrMore<WrittenTallies>")]
    pub tallies: Vec<WrittenTallies>,
    /// Names of estimators, or `all`; none stands for `linear`, `norm_sub` and `ml`.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<NameOrAll<Estimator>>")]
    pub estimator: Vec<String>,
    /// The level of the confidence intervals.
    #[serde(default = "usual_level")]
    pub level: f64,
    /// Largest gap, in nats, between the likelihood found and its maximum; by default 1e-6.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Whether the covariance of the linear estimate is wanted.
    #[serde(default)]
    pub covariance: bool,
}

/// A valid request for estimates.
#[derive(Clone, Debug)]
pub struct EstimateJob {
    gathered: Gathered,
    prior: Prior,
    estimators: Vec<Estimator>,
    level: f64,
    tolerance: f64,
    covariance: bool,
}

impl EstimateRequest {
    /// Estimates from these tallies with the usual settings.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>, tallies: impl Into<WrittenTallies>) -> Self {
        EstimateRequest {
            protocol: Some(protocol.into()),
            prior: None,
            tallies: vec![tallies.into()],
            estimator: vec![],
            level: usual_level(),
            tolerance: None,
            covariance: false,
        }
    }

    /// The job, if the protocol and the prior are valid, the tallies fit, and the estimators exist.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<EstimateJob> {
        // What a protocol leaves out is filled in for the Jeffreys prior unless another is given, as `randomise` does.
        let filling = self.prior.as_ref().map_or(PriorSpec::Jeffreys, |prior| prior.spec.clone());
        let gathered = Gathered::read(&self.tallies, self.protocol.as_ref(), &filling)?;
        let protocol = &gathered.named;
        let a = protocol.protocol.inputs();
        let prior = self
            .prior
            .as_ref()
            .map_or_else(|| PriorSpec::usual(a).build(a), |prior| prior.check_of_posterior(a))?;
        let estimators = estimators(&self.estimator)?;
        admit(estimate_bytes(&protocol.protocol, estimators.len()))?;
        if self.covariance && protocol.protocol.inputs() > MAX_COVARIANCE {
            let value = protocol.protocol.inputs().to_string();
            return Err(Error::Setting { name: "a", value, allowed: "at most 1024 for a covariance matrix" });
        }
        let (level, tolerance, covariance) = (self.level, self.tolerance.unwrap_or(GAP), self.covariance);
        Ok(EstimateJob { gathered, prior, estimators, level, tolerance, covariance })
    }
}

impl EstimateJob {
    /// The estimates. There is nothing to observe: they take no random draws.
    ///
    /// # Errors
    /// There are no reports, the protocol is not faithful, or the level or tolerance is out of range.
    pub fn run(&self, _: Observer<'_>) -> Result<EstimateReport> {
        let estimation = Estimation::of_collections(&self.gathered.combination, self.level)?
            .with_tolerance(self.tolerance)?
            .with_prior(self.prior.clone())?;
        let column = |estimator: &Estimator| Column {
            estimator: *estimator,
            estimate: estimation.estimate(*estimator),
        };
        Ok(EstimateReport {
            labels: self.gathered.labels(),
            n: estimation.n(),
            level: self.level,
            columns: self.estimators.iter().map(column).collect(),
            covariance: self
                .covariance
                .then(|| covariance(&estimation, self.gathered.named.protocol.inputs())),
            protocol: self.gathered.named.spec.clone(),
            collections: self.gathered.collections.clone(),
        })
    }
}

fn covariance(estimation: &Estimation<'_>, a: usize) -> Vec<Vec<f64>> {
    (0..a).map(|x| (0..a).map(|z| estimation.linear().covariance(x, z)).collect()).collect()
}

/// The estimators with these names.
pub(crate) fn estimators(names: &[String]) -> Result<Vec<Estimator>> {
    if names.is_empty() {
        return Ok(DEFAULT.to_vec());
    }
    let mut found: Vec<Estimator> = Vec::new();
    for name in names {
        let named = match name.as_str() {
            "all" => Estimator::ALL.to_vec(),
            name => vec![estimator(name).map_err(Error::or_all)?],
        };
        found.extend(named.into_iter().filter(|e| !found.contains(e)).collect::<Vec<_>>());
    }
    Ok(found)
}

/// The estimator with this name.
pub(crate) fn estimator(name: &str) -> Result<Estimator> {
    name.parse::<Estimator>().map_err(|_| Error::UnknownName {
        what: "estimator",
        name: shown(name),
        allowed: Estimator::ALL.map(Estimator::name).join(", "),
    })
}

/// Frequencies according to several estimators.
#[derive(Clone, Debug)]
pub struct EstimateReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The collections.
    pub collections: Vec<Gathering>,
    /// The names of the inputs.
    pub labels: Vec<String>,
    /// The number of reports.
    pub n: u64,
    /// The level of the intervals.
    pub level: f64,
    /// One entry for each estimator.
    pub columns: Vec<Column>,
    /// The covariance of the linear estimate, if it was asked for.
    pub covariance: Option<Vec<Vec<f64>>>,
}

/// What one estimator says.
#[derive(Clone, Debug)]
pub struct Column {
    /// The estimator.
    pub estimator: Estimator,
    /// Its frequencies, or why it has none.
    pub estimate: Result<Estimate, sottovoce::Error>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_protocol;

    fn run(estimators: &[&str], tallies: &str) -> Result<EstimateReport> {
        let request = EstimateRequest::of(read_protocol("grr:a=2,eps=1.6094379124341003").unwrap(), tallies);
        let estimator = estimators.iter().map(|e| (*e).into()).collect();
        EstimateRequest { estimator, ..request }.check()?.run(&sottovoce::unobserved)
    }

    const SURVEY: &str = r#"{"n": 2435, "counts": [{"y": 0, "count": 1604}, {"y": 1, "count": 831}]}"#;

    #[test]
    fn a_survey_has_one_answer_inside_the_simplex() {
        let report = run(&["all"], SURVEY).unwrap();
        assert_eq!(report.columns.len(), 8);
        for column in report.columns {
            let found = column.estimate.unwrap();
            // The prior pulls the posterior mean by a share of 1/2435 of the way to 1/2, times what noise costs.
            let margin = if column.estimator == Estimator::PosteriorMean { 1e-3 } else { 1e-9 };
            assert!((found.values[1] - 0.261_909_650_924).abs() < margin, "{found:?}");
        }
    }

    #[test]
    fn names_and_tallies_are_checked() {
        assert!(matches!(run(&["lineal"], SURVEY), Err(Error::UnknownName { .. })));
        let bad = SURVEY.replace("831", "830");
        assert!(matches!(run(&[], &bad), Err(Error::Tallies { .. })));
        assert!(matches!(run(&[], "no/such/file.json"), Err(Error::UnreadableTallies { .. })));
        assert!(matches!(run(&[], r#"{"n": 0, "counts": []}"#), Err(Error::Numbers(_))));
    }
}
