//! How much noise, and of which kind: levels of noise from much to little, and the usual protocols at each.

use sottovoce::accuracy::{AccuracyOptions as Effort, Distance, Place, accuracy};
use sottovoce::estimate::Estimator;
use sottovoce::{Evaluation, Metric, Observer};

use super::{EDUCATION, education};
use crate::compare::{CompareRequest, Contender, Round};
use crate::error::Result;
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// The LDP levels that are tried, from most private.
pub const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The metrics that are compared.
const METRICS: [&str; 4] = ["ldp", "s_wc", "s_mu", "f_mu"];

/// The largest typical error of a share that is good enough: one percentage point.
pub const WANTED: f64 = 0.01;

/// The protocols at one LDP level.
#[derive(Clone, Debug)]
pub struct Rung {
    /// The LDP level.
    pub epsilon: f64,
    /// The protocols, the most useful first.
    pub round: Round,
    /// How far an estimated share is typically off, for each of them.
    pub typical_errors: Vec<Evaluation>,
}

impl Rung {
    /// The most useful protocol.
    pub fn best(&self) -> &Contender {
        &self.round.contenders[0]
    }

    /// How far an estimated share is typically off with the most useful protocol.
    pub fn typical_error(&self) -> Evaluation {
        self.typical_errors[0]
    }

    /// A metric of the most useful protocol.
    pub fn number(&self, metric: Metric) -> f64 {
        self.best().number(metric).map_or(f64::NAN, |e| e.value)
    }
}

/// Names of the protocols and all rungs.
pub(super) fn ladder(observer: Observer<'_>) -> Result<(Vec<String>, Vec<Rung>)> {
    let mut names = Vec::new();
    let mut rungs = Vec::new();
    for epsilon in EPSILONS {
        let mut comparison = CompareRequest {
            metric: METRICS.map(String::from).to_vec(),
            ..CompareRequest::of(candidates(epsilon).into_iter().map(Written::from).collect())
        }
        .check()?
        .run(observer)?;
        let round = comparison.rounds.remove(0);
        let typical_errors =
            round.contenders.iter().map(|c| typical_error(&c.protocol)).collect::<Result<_>>()?;
        names = comparison.names;
        rungs.push(Rung { epsilon, round, typical_errors });
    }
    Ok((names, rungs))
}

/// The first rung, the most private, that is good enough; the last if none is.
pub(super) fn chosen(rungs: &[Rung]) -> usize {
    let enough = |rung: &Rung| rung.typical_error().value <= WANTED;
    rungs.iter().position(enough).unwrap_or(rungs.len() - 1)
}

/// The protocols that are compared.
fn candidates(epsilon: f64) -> Vec<ProtocolSpec> {
    let a = EDUCATION.len();
    let kinds = [
        ProtocolKind::Grr { a, epsilon },
        ProtocolKind::Rappor { a, epsilon },
        ProtocolKind::Oue { a, epsilon },
        ProtocolKind::Blh { a, epsilon },
        ProtocolKind::Lh { a, g: None, epsilon },
        ProtocolKind::Subset { a, k: None, epsilon },
        ProtocolKind::Block { a, v: None, k: None, epsilon },
    ];
    kinds.into_iter().map(ProtocolSpec::from).collect()
}

/// The root of the mean squared error of a share: of its linear estimate, over all answers and the prior.
fn typical_error(protocol: &ProtocolSpec) -> Result<Evaluation> {
    let NamedProtocol { protocol, .. } = Written::from(protocol.clone()).check(&PriorSpec::Jeffreys)?;
    let prior = Written::from(PriorSpec::Jeffreys).check(protocol.inputs())?;
    let place = Place::Prior(&prior);
    let (linear, typical) = (Estimator::Linear, Distance::RootMeanSquare);
    Ok(accuracy(&protocol, education::users(), linear, typical, place, &Effort::default())?.evaluation)
}
