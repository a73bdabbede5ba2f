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
        Subject::under(protocol, prior, settings, Written::<PriorSpec>::check)
    }

    fn under(
        protocol: &Written<ProtocolSpec>,
        prior: &Written<PriorSpec>,
        settings: Settings,
        check: fn(&Written<PriorSpec>, usize) -> Result<Prior>,
    ) -> Result<Self> {
        let prior_spec = prior.spec.clone();
        let protocol = protocol.check(&prior_spec)?;
        admit(protocol_bytes(&protocol.protocol))?;
        admit(prior_bytes(&prior_spec, protocol.protocol.inputs()))?;
        let prior = check(prior, protocol.protocol.inputs())?;
        check_tolerance(settings.tolerance)?;
        Ok(Subject { protocol, prior_spec, prior, settings })
    }

    /// The subject of a posterior, whose prior need not be given. What a protocol leaves out was then filled in for
    /// the Jeffreys prior, as `randomise` does.
    pub(crate) fn collected(
        protocol: &Written<ProtocolSpec>,
        prior: Option<&Written<PriorSpec>>,
        settings: Settings,
    ) -> Result<Self> {
        if let Some(prior) = prior {
            return Subject::under(protocol, prior, settings, Written::<PriorSpec>::check_of_posterior);
        }
        let mut subject = Subject::new(protocol, &Written::default(), settings)?;
        let a = subject.protocol.protocol.inputs();
        subject.prior_spec = PriorSpec::usual(a);
        admit(prior_bytes(&subject.prior_spec, a))?;
        subject.prior = subject.prior_spec.build(a)?;
        Ok(subject)
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
