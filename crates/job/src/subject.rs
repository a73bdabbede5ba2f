//! What most jobs are about: a protocol under a prior, with the settings of the computation.

use sottovoce::metric::{Observer, Settings};
use sottovoce::{Analysis, Metric, Prior, Protocol};

use crate::admission::{admit, metric_bytes, prior_bytes, protocol_bytes};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolSpec};

/// A valid protocol under a valid prior.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub protocol: NamedProtocol,
    pub prior_spec: PriorSpec,
    pub prior: Prior,
    pub settings: Settings,
}

impl Subject {
    /// The subject, if all of it is valid.
    pub(crate) fn new(
        protocol: &Written<ProtocolSpec>,
        prior: &Written<PriorSpec>,
        settings: Settings,
    ) -> Result<Self> {
        let prior_spec = prior.spec.clone();
        let protocol = protocol.check(&prior_spec)?;
        admit(protocol_bytes(&protocol.protocol))?;
        admit(prior_bytes(&prior_spec, protocol.protocol.inputs()))?;
        let prior = prior.check(protocol.protocol.inputs())?;
        check_tolerance(settings.tolerance)?;
        Ok(Subject { protocol, prior_spec, prior, settings })
    }

    /// The subject of a posterior, whose prior need not be given.
    pub(crate) fn collected(
        protocol: NamedProtocol,
        prior: Option<&Written<PriorSpec>>,
        settings: Settings,
    ) -> Result<Self> {
        let a = protocol.protocol.inputs();
        let prior_spec = prior.map_or_else(|| PriorSpec::usual(a), |prior| prior.spec.clone());
        admit(prior_bytes(&prior_spec, a))?;
        let prior = prior.map_or_else(|| prior_spec.build(a), |prior| prior.check_of_posterior(a))?;
        check_tolerance(settings.tolerance)?;
        Ok(Subject { protocol, prior_spec, prior, settings })
    }

    /// Refuses a metric that would take too much memory.
    pub(crate) fn admit(&self, metric: Metric, users: Option<u64>) -> sottovoce::Result<()> {
        admit(metric_bytes(&self.protocol.protocol, &self.prior, metric, users, self.settings.choice))
    }

    /// The protocol under the prior.
    pub(crate) fn analysis<'a>(&'a self, observer: Observer<'a>) -> Analysis<'a> {
        self.analysis_of(&self.protocol.protocol, observer)
    }

    /// Another protocol with the same inputs under the same prior.
    pub(crate) fn analysis_of<'a>(&'a self, protocol: &'a Protocol, observer: Observer<'a>) -> Analysis<'a> {
        // Unwrap safety: `new` made the prior for the inputs of the protocol.
        Analysis::with_settings(protocol, &self.prior, self.settings).unwrap().observed_by(observer)
    }
}

/// Refuses a number of users of 0.
pub(crate) fn check_users(users: &[u64]) -> Result<()> {
    if users.contains(&0) {
        return Err(Error::Setting { name: "n", value: "0".into(), allowed: "a number of users above 0" });
    }
    Ok(())
}

/// Refuses a tolerance that is not a positive number.
pub(crate) fn check_tolerance(tolerance: Option<f64>) -> Result<()> {
    match tolerance.filter(|t| !(*t > 0.0 && t.is_finite())) {
        Some(tolerance) => {
            let value = tolerance.to_string();
            Err(Error::Setting { name: "tolerance", value, allowed: "above 0 and finite" })
        }
        None => Ok(()),
    }
}
