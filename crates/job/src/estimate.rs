//! The job `estimate`: from tallies to frequencies, by several estimators side by side, always with intervals.

use sottovoce::estimate::{Estimate, Estimation, Estimator, GAP};

use crate::admission::{admit, estimate_bytes};
use crate::collection::Collected;
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolSpec, shown};

/// The estimators that are shown when none is asked for: what is usual, what is nearest, what is most likely.
pub const DEFAULT: [Estimator; 3] = [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood];

/// Most inputs of a covariance matrix that is given out.
const MAX_COVARIANCE: usize = 1024;

/// What is to be estimated, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimateSpec {
    /// The protocol that made the reports; unsaid, the one that the tallies name.
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The prior of the posterior mean.
    pub prior: Written<PriorSpec>,
    /// A file of tallies or supports, inline JSON, or `-`.
    pub tallies: String,
    /// Names of estimators, or `all`; none stands for [`DEFAULT`].
    pub estimators: Vec<String>,
    /// The level of the intervals.
    pub level: f64,
    /// The gap in nats within which the search for the maximum of the likelihood ends.
    pub tolerance: Option<f64>,
    /// Whether the covariance of the linear estimate is wanted.
    pub covariance: bool,
}

impl EstimateSpec {
    /// Estimates from these tallies with the usual settings.
    pub fn of(protocol: Written<ProtocolSpec>, tallies: &str) -> Self {
        EstimateSpec {
            protocol: Some(protocol),
            prior: PriorSpec::Jeffreys.into(),
            tallies: tallies.to_owned(),
            estimators: vec![],
            level: 0.9,
            tolerance: None,
            covariance: false,
        }
    }

    /// The estimates.
    ///
    /// # Errors
    /// The protocol is wrong or not faithful, the tallies do not fit it, an estimator does not exist, or a setting is out of range.
    pub fn run(&self) -> Result<EstimateReport> {
        let collected = Collected::read(&self.tallies)?;
        let named = collected.protocol(self.protocol.as_ref())?.check(&self.prior.spec)?;
        let prior = self.prior.check(named.protocol.inputs())?;
        let estimators = estimators(&self.estimators)?;
        admit(estimate_bytes(&named.protocol, estimators.len()))?;
        let reports = collected.of(&named, |file| file.reports(&named.protocol))?;
        drop(collected);
        let estimation = Estimation::new(&named.protocol, reports, self.level)?
            .with_tolerance(self.tolerance.unwrap_or(GAP))?
            .with_prior(prior)?;
        if self.covariance && named.protocol.inputs() > MAX_COVARIANCE {
            let value = named.protocol.inputs().to_string();
            return Err(Error::Setting { name: "a", value, allowed: "at most 1024 for a covariance matrix" });
        }
        let column = |estimator| Column {
            estimator,
            estimate: estimation.estimate(estimator).map_err(|error| error.to_string()),
        };
        Ok(EstimateReport {
            labels: labels(&named),
            n: estimation.n(),
            level: self.level,
            columns: estimators.into_iter().map(column).collect(),
            covariance: self.covariance.then(|| covariance(&estimation, named.protocol.inputs())),
            protocol: named.spec,
        })
    }
}

fn labels(named: &NamedProtocol) -> Vec<String> {
    (0..named.protocol.inputs()).map(|x| named.input(x)).collect()
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
    pub estimate: Result<Estimate, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_protocol;

    fn run(estimators: &[&str], tallies: &str) -> Result<EstimateReport> {
        let spec = EstimateSpec::of(read_protocol("grr:a=2,eps=1.6094379124341003").unwrap(), tallies);
        EstimateSpec { estimators: estimators.iter().map(|e| (*e).into()).collect(), ..spec }.run()
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
