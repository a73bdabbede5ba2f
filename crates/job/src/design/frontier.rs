//! The whole curve: the largest effective participation at each level of privacy, with the usual protocols below it.

use std::sync::atomic::{AtomicBool, Ordering};

use sottovoce::design::{Requirement, best_protocol};
use sottovoce::information::{Sampling, SamplingObserver};
use sottovoce::metric::{Observer, Settings, asymptotic_utility, effective_participation, truth_utility};
use sottovoce::{Evaluation, Metric, Prior, Protocol};

use super::{Family, Sizing, effort, search_heard};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::PriorSpec;

/// Which privacy the curve is drawn against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// Average privacy `S_μ`.
    #[default]
    Average,
    /// Worst-case privacy `S^wc = e^{−LDP}`.
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

/// Which curve is wanted, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierSpec {
    /// Number of values `a`.
    pub inputs: usize,
    /// The privacy of the axis.
    pub axis: Axis,
    /// Largest LDP level; with the average privacy as axis.
    pub epsilon: Option<f64>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// Number of points of the curve.
    pub points: usize,
    /// Tolerance (also of the gap) and seed.
    pub settings: Settings,
}

/// The families whose curves stand below the optimum.
pub const CURVES: [Family; 4] = [Family::Grr, Family::Rappor, Family::Oue, Family::Blh];

/// The curve.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// Number of values `a`.
    pub inputs: usize,
    /// The privacy of the axis.
    pub axis: Axis,
    /// Largest LDP level, if limited.
    pub epsilon: Option<f64>,
    /// The prior.
    pub prior: PriorSpec,
    /// From low privacy to high.
    pub points: Vec<FrontierPoint>,
}

/// The curves at one level of privacy.
#[derive(Clone, Debug)]
pub struct FrontierPoint {
    /// `S_μ` or `S^wc`.
    pub privacy: f64,
    /// `F_μ` of the best protocol.
    pub best: Evaluation,
    /// No protocol has an `F_μ` larger by more than this.
    pub gap: f64,
    /// The kind of the best protocol.
    pub kind: &'static str,
    /// `F_μ` of each of [`CURVES`], where the family reaches the level.
    pub curves: [Option<Evaluation>; 4],
}

impl FrontierSpec {
    /// The curve; if the observer stops the search, the points so far.
    ///
    /// # Errors
    /// A number or the prior is out of range, or there are too many inputs.
    pub fn run(&self, observer: Observer<'_>) -> Result<Frontier> {
        let prior = self.prior.check(self.inputs)?;
        if !(1..=1000).contains(&self.points) {
            let value = self.points.to_string();
            return Err(Error::Setting { name: "points", value, allowed: "from 1 to 1000" });
        }
        let level = |i: usize| (i as f64 + 1.0) / (self.points as f64 + 1.0);
        let mut points = Vec::new();
        for i in 0..self.points {
            let over = AtomicBool::new(false);
            let hear = |sampling: &Sampling| {
                let flow = search_heard(observer, sampling);
                over.fetch_or(flow.is_break(), Ordering::Relaxed);
                flow
            };
            let point = self.point(&prior, level(i), &hear)?;
            // A point that was not searched to its end does not belong to the curve.
            if over.into_inner() {
                break;
            }
            points.push(point);
        }
        Ok(Frontier {
            inputs: self.inputs,
            axis: self.axis,
            epsilon: self.epsilon,
            prior: self.prior.spec.clone(),
            points,
        })
    }

    fn requirement(&self, privacy: f64) -> Result<Requirement> {
        Ok(match self.axis {
            Axis::Average => Requirement::new(self.epsilon, Some(privacy))?,
            Axis::WorstCase => Requirement::new(Some(-privacy.ln()), None)?,
        })
    }

    fn point(&self, prior: &Prior, privacy: f64, observer: SamplingObserver<'_>) -> Result<FrontierPoint> {
        let requirement = self.requirement(privacy)?;
        let design = best_protocol(prior, &requirement, effort(&self.settings, observer))?;
        let best = self
            .participation(&design.protocol, prior)
            .ok_or(Error::Numbers(sottovoce::Error::DesignPrior))?;
        let curve = |family: Family| {
            let (protocol, _) = family.tuned(prior, &requirement, &self.settings, Sizing::Utility)?;
            self.participation(&protocol, prior)
        };
        Ok(FrontierPoint {
            privacy,
            gap: design.certificate.participation_gap(best.value),
            kind: design.protocol.kind(),
            best,
            curves: CURVES.map(curve),
        })
    }

    fn participation(&self, protocol: &Protocol, prior: &Prior) -> Option<Evaluation> {
        let truth = truth_utility(prior, &self.settings).ok()?;
        effective_participation(asymptotic_utility(protocol, prior, &self.settings), truth).ok()
    }
}
