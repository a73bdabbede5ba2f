//! The whole curve: the largest effective participation at each level of privacy, with the usual protocols below it.

use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::design::{Requirement, best_protocol};
use sottovoce::information::{Sampling, SamplingObserver};
use sottovoce::metric::{Settings, asymptotic_utility, effective_participation, truth_utility};
use sottovoce::{Evaluation, Metric, Observer, Prior, Protocol};

use super::{Family, Sizing, effort, search_heard};
use crate::contract::{EvaluationFields, Number, number};
use crate::error::{Error, Result};
use crate::spec::PriorSpec;

/// Which privacy the curve is drawn against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Axis {
    /// Average privacy `S_μ`.
    #[default]
    #[serde(rename = "s_mu")]
    Average,
    /// Worst-case privacy `S^wc = e^{−LDP}`.
    #[serde(rename = "s_wc")]
    WorstCase,
}

impl Axis {
    /// The metric along the axis.
    pub fn metric(self) -> Metric {
        match self {
            Axis::Average => Metric::AveragePrivacy,
            Axis::WorstCase => Metric::WorstCasePrivacy,
        }
    }
}

/// A valid request for a curve.
#[derive(Clone, Debug)]
pub struct FrontierJob {
    pub(crate) axis: Axis,
    /// Largest LDP level, with the average privacy as axis.
    pub(crate) epsilon: Option<f64>,
    pub(crate) prior_spec: PriorSpec,
    pub(crate) prior: Prior,
    /// Number of points of the curve.
    pub(crate) points: usize,
    /// Tolerance (also of the gap) and seed.
    pub(crate) settings: Settings,
}

/// The families whose curves are below the optimum.
pub const CURVES: [Family; 4] = [Family::Grr, Family::Rappor, Family::Oue, Family::Blh];

/// The curve.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Frontier {
    /// Number of values.
    #[serde(rename = "a")]
    pub inputs: usize,
    /// The prior.
    pub prior: PriorSpec,
    /// The privacy of the axis.
    #[serde(rename = "privacy")]
    pub axis: Axis,
    /// Largest LDP level, if limited.
    pub epsilon: Option<f64>,
    /// From low privacy to high.
    pub points: Vec<FrontierPoint>,
}

/// The curves at one level of privacy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrontierPoint {
    /// `S_μ` or `S^wc`.
    pub privacy: f64,
    /// No protocol has an `F_μ` larger than the optimum by more than this.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    pub gap: f64,
    /// The kind of the best protocol.
    pub kind: &'static str,
    /// `F_μ` of the best protocol and of the families.
    #[serde(rename = "f_mu", serialize_with = "participation_fields")]
    #[schemars(with = "ParticipationFields")]
    pub participation: Participation,
}

/// `F_μ` at one level of privacy.
#[derive(Clone, Copy, Debug)]
pub struct Participation {
    /// Of the best protocol.
    pub optimum: Evaluation,
    /// Of each of [`CURVES`], where the family reaches the level.
    pub families: [Option<Evaluation>; 4],
}

/// The same as JSON has it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Participation")]
struct ParticipationFields {
    /// The best protocol.
    optimum: EvaluationFields,
    /// Generalised randomised response, where it reaches the level.
    grr: Option<EvaluationFields>,
    /// RAPPOR, where it reaches the level.
    rappor: Option<EvaluationFields>,
    /// Optimised unary encoding, where it reaches the level.
    oue: Option<EvaluationFields>,
    /// Binary local hash, where it reaches the level.
    blh: Option<EvaluationFields>,
}

fn participation_fields<S: Serializer>(
    participation: &Participation,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let [grr, rappor, oue, blh] = participation.families.map(|e| e.as_ref().map(EvaluationFields::from));
    let optimum = EvaluationFields::from(&participation.optimum);
    ParticipationFields { optimum, grr, rappor, oue, blh }.serialize(serializer)
}

impl FrontierJob {
    /// Most points of a curve.
    const MOST_POINTS: usize = 1000;

    /// Refuses a number of points that is 0 or too large.
    pub(super) fn check_points(points: usize) -> Result<()> {
        if (1..=Self::MOST_POINTS).contains(&points) {
            return Ok(());
        }
        Err(Error::Setting { name: "points", value: points.to_string(), allowed: "from 1 to 1000" })
    }

    /// The curve; if the observer stops the search, the points so far.
    ///
    /// # Errors
    /// There are too many inputs, or the prior is not continuous.
    pub fn run(&self, observer: Observer<'_>) -> Result<Frontier> {
        let level = |i: usize| (i as f64 + 1.0) / (self.points as f64 + 1.0);
        let mut points = Vec::new();
        for i in 0..self.points {
            let over = AtomicBool::new(false);
            let hear = |sampling: &Sampling| {
                let flow = search_heard(observer, sampling);
                over.fetch_or(flow.is_break(), Ordering::Relaxed);
                flow
            };
            let point = self.point(level(i), &hear)?;
            // A point whose search was stopped does not belong to the curve.
            if over.into_inner() {
                break;
            }
            points.push(point);
        }
        let (axis, epsilon, prior) = (self.axis, self.epsilon, self.prior_spec.clone());
        Ok(Frontier { inputs: self.prior.inputs(), prior, axis, epsilon, points })
    }

    fn requirement(&self, privacy: f64) -> Result<Requirement> {
        Ok(match self.axis {
            Axis::Average => Requirement::new(self.epsilon, Some(privacy))?,
            Axis::WorstCase => Requirement::new(Some(-privacy.ln()), None)?,
        })
    }

    fn point(&self, privacy: f64, observer: SamplingObserver<'_>) -> Result<FrontierPoint> {
        let requirement = self.requirement(privacy)?;
        let design = best_protocol(&self.prior, &requirement, effort(&self.settings, observer))?;
        let optimum =
            self.participation(&design.protocol).ok_or(Error::Numbers(sottovoce::Error::DesignPrior))?;
        let family = |family: Family| {
            let (protocol, _) = family.tuned(&self.prior, &requirement, &self.settings, Sizing::Utility)?;
            self.participation(&protocol)
        };
        Ok(FrontierPoint {
            privacy,
            gap: design.certificate.participation_gap(optimum.value),
            kind: design.protocol.kind(),
            participation: Participation { optimum, families: CURVES.map(family) },
        })
    }

    fn participation(&self, protocol: &Protocol) -> Option<Evaluation> {
        let truth = truth_utility(&self.prior, &self.settings).ok()?;
        effective_participation(asymptotic_utility(protocol, &self.prior, &self.settings), truth).ok()
    }
}
