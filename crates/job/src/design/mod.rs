//! The job `design`: the best protocol for a privacy requirement, how far from the best any other is, and a certificate.
//!
//! The protocol comes from [`sottovoce::design`]; its metrics and those of the usual protocols under the same requirement are computed as for
//! any other protocol, so that the comparison does not rest on the solver.

mod family;
mod frontier;

pub use family::{Candidate, Family, Sizing};
pub use frontier::{Axis, CURVES, Frontier, FrontierPoint, FrontierSpec};

use std::ops::ControlFlow;

use sottovoce::design::{
    Certificate, Design, Effort, OneUserDesign, Requirement, best_for_one_user, best_protocol,
    block_selection, difference_set,
};
use sottovoce::information::{Sampling, SamplingObserver};
use sottovoce::metric::{Observer, Progress, Settings, unobserved};
use sottovoce::{Analysis, Metric, Prior, Protocol};

use crate::error::{Error, Result};
use crate::metrics::MetricEvaluation;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::check_users;
use family::candidates;

/// What is required, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignSpec {
    /// Number of values `a`.
    pub inputs: usize,
    /// Largest LDP level.
    pub epsilon: Option<f64>,
    /// Least average privacy `S_μ`.
    pub least_average_privacy: Option<f64>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// Number of users for which the utilities are also told.
    pub users: Option<u64>,
    /// Tolerance (also of the gap), method and seed.
    pub settings: Settings,
}

/// A valid request for a design.
#[derive(Clone, Debug)]
pub struct DesignJob {
    requirement: Requirement,
    prior_spec: PriorSpec,
    prior: Prior,
    users: Option<u64>,
    settings: Settings,
}

/// The best protocol, what it is like, and what others are like.
#[derive(Clone, Debug)]
pub struct DesignReport {
    /// The requirement.
    pub requirement: Requirement,
    /// The prior.
    pub prior: PriorSpec,
    /// What was maximised: the effective participation, or what one report tells about `P`.
    pub goal: Metric,
    /// The best protocol.
    pub best: Candidate,
    /// Why no other is much better.
    pub certificate: Proof,
    /// The usual protocols under the same requirement.
    pub comparison: Vec<Candidate>,
    /// Protocols with fewer outputs that are nearly as good.
    pub alternatives: Vec<Candidate>,
    /// What a user of the protocol should know.
    pub remarks: Vec<String>,
}

/// Why no other protocol is much better.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// For the asymptotic utility.
    Utility {
        /// The multipliers and the gap in `U_as`.
        certificate: Certificate,
        /// The gap in `F_μ`.
        participation_gap: f64,
    },
    /// For what one report tells about `P`.
    Information {
        /// No protocol tells more than the one found plus this, in nats.
        gap: f64,
        /// `λ_x`.
        multipliers: Vec<f64>,
    },
}

impl DesignSpec {
    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// A number or the prior is out of range, or nothing is required.
    pub fn check(&self) -> Result<DesignJob> {
        let prior = self.prior.check(self.inputs)?;
        let requirement = Requirement::new(self.epsilon, self.least_average_privacy)?;
        check_users(self.users.as_slice())?;
        if !prior.is_continuous()
            && (self.least_average_privacy.is_some() || self.users.is_some_and(|n| n > 1))
        {
            return Err(Error::Setting {
                name: "prior",
                value: "points".into(),
                allowed: "used with an average privacy or more than one user: a design under finitely many points is for one user and epsilon",
            });
        }
        if let Some(tolerance) = self.settings.tolerance.filter(|t| !(*t > 0.0 && t.is_finite())) {
            let value = tolerance.to_string();
            return Err(Error::Setting { name: "tolerance", value, allowed: "above 0 and finite" });
        }
        Ok(DesignJob {
            requirement,
            prior_spec: self.prior.spec.clone(),
            prior,
            users: self.users,
            settings: self.settings,
        })
    }
}

/// The metrics that are told of every protocol.
const METRICS: [Metric; 4] = [
    Metric::EffectiveParticipation,
    Metric::AsymptoticUtility,
    Metric::AveragePrivacy,
    Metric::LocalPrivacyLevel,
];
/// The metrics that are told of every protocol for one report.
const ONE_REPORT: [Metric; 3] =
    [Metric::AggregatorDistribution, Metric::AveragePrivacy, Metric::LocalPrivacyLevel];
/// What is also told for a number of users.
const OF_USERS: [Metric; 2] = [Metric::DistributionUtility, Metric::DigitUtility];

/// The effort of a search whose progress is heard.
pub(crate) fn effort<'a>(settings: &Settings, observer: SamplingObserver<'a>) -> Effort<'a> {
    Effort { gap: settings.tolerance.unwrap_or(1e-4), seed: settings.seed, observer: Some(observer) }
}

/// Tells the observer how far the search is.
pub(crate) fn search_heard(observer: Observer<'_>, sampling: &Sampling) -> ControlFlow<()> {
    let Sampling { draws, error, tolerance, .. } = *sampling;
    observer(&Progress::Design { directions: draws, gap: error, tolerance })
}

impl DesignJob {
    /// The design. A search that the observer ends gives the best protocol so far, with the gap that is certified for it.
    ///
    /// # Errors
    /// Too many inputs, or a search that does not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<DesignReport> {
        match (&self.prior, self.requirement.epsilon()) {
            (Prior::Points(_), Some(epsilon)) => self.for_one_user(epsilon),
            _ => self.for_many_users(observer),
        }
    }

    fn for_many_users(&self, observer: Observer<'_>) -> Result<DesignReport> {
        let hear = |sampling: &Sampling| search_heard(observer, sampling);
        let effort = effort(&self.settings, &hear);
        let Design { protocol, certificate, .. } = best_protocol(&self.prior, &self.requirement, effort)?;
        let mut best = self.candidate("best", &protocol, protocol.specification().into(), &METRICS, None);
        if let Some(n) = self.users {
            best.evaluations.extend(self.evaluations(&protocol, &OF_USERS, Some(n), observer));
        }
        let found = best.number(Metric::EffectiveParticipation).unwrap_or(0.0);
        let participation_gap = certificate.participation_gap(found);
        let comparison = candidates(&self.prior, &self.requirement, &self.settings)
            .into_iter()
            .map(|(name, protocol, spec)| self.candidate(name, &protocol, spec, &METRICS, None))
            .collect();
        Ok(DesignReport {
            requirement: self.requirement,
            prior: self.prior_spec.clone(),
            goal: Metric::EffectiveParticipation,
            alternatives: self.alternatives(&protocol)?,
            remarks: remarks(&protocol, &best, &certificate, effort.gap),
            best,
            certificate: Proof::Utility { certificate, participation_gap },
            comparison,
        })
    }

    fn for_one_user(&self, epsilon: f64) -> Result<DesignReport> {
        let OneUserDesign { protocol, gap, multipliers, .. } = best_for_one_user(&self.prior, epsilon)?;
        let candidate =
            |name, protocol: &Protocol, spec| self.candidate(name, protocol, spec, &ONE_REPORT, Some(1));
        let rank = protocol.rank()?.value;
        let mut remarks = Vec::new();
        if rank < protocol.inputs() {
            remarks.push(format!(
                "This protocol is for telling the given points apart: its rank is {rank}, so that it cannot tell all distributions of {} \
                 values apart.",
                protocol.inputs()
            ));
        }
        Ok(DesignReport {
            requirement: self.requirement,
            prior: self.prior_spec.clone(),
            goal: Metric::AggregatorDistribution,
            best: candidate("best", &protocol, protocol.specification().into()),
            certificate: Proof::Information { gap, multipliers },
            comparison: candidates(&self.prior, &self.requirement, &self.settings)
                .into_iter()
                .map(|(name, protocol, spec)| candidate(name, &protocol, spec))
                .collect(),
            alternatives: Vec::new(),
            remarks,
        })
    }

    fn evaluations(
        &self,
        protocol: &Protocol,
        metrics: &[Metric],
        users: Option<u64>,
        observer: Observer<'_>,
    ) -> Vec<MetricEvaluation> {
        // Unwrap safety: the protocol is on the inputs of the prior.
        let analysis = Analysis::with_settings(protocol, &self.prior, self.settings).unwrap();
        let analysis = analysis.observed_by(observer);
        let evaluation = |&metric: &Metric| {
            let users = users.filter(|_| metric.needs_users());
            MetricEvaluation { metric, users, answer: analysis.answer(metric, users) }
        };
        metrics.iter().map(evaluation).collect()
    }

    fn candidate(
        &self,
        name: &'static str,
        protocol: &Protocol,
        spec: ProtocolSpec,
        metrics: &[Metric],
        users: Option<u64>,
    ) -> Candidate {
        Candidate {
            name,
            evaluations: self.evaluations(protocol, metrics, users, &unobserved),
            report_bits: protocol.report_bits(),
            outputs: protocol.outputs(),
            protocol: spec,
        }
    }

    /// Block designs with as few outputs as inputs, where the best is a subset selection and one of its size exists.
    fn alternatives(&self, best: &Protocol) -> Result<Vec<Candidate>> {
        let Protocol::SubsetSelection(subset) = best else { return Ok(Vec::new()) };
        let a = best.inputs();
        if a > MOST_INPUTS_OF_BLOCKS {
            return Ok(Vec::new());
        }
        let Some(set) = difference_set(a, subset.size()) else { return Ok(Vec::new()) };
        let protocol = block_selection(a, &set, subset.epsilon())?;
        let spec = ProtocolSpec::from(protocol.specification());
        Ok(vec![self.candidate("block design", &protocol, spec, &METRICS, None)])
    }
}

/// A block design is given as a matrix.
const MOST_INPUTS_OF_BLOCKS: usize = 200;

/// What a user of the protocol should know.
fn remarks(protocol: &Protocol, best: &Candidate, certificate: &Certificate, wanted: f64) -> Vec<String> {
    let mut remarks: Vec<String> = unlimited(protocol, best).into_iter().collect();
    if certificate.gap > wanted {
        remarks.push(format!(
            "The gap is larger than the {wanted:e} asked for: the error of the means over the prior, or the limit of the search, is in it."
        ));
    }
    remarks
}

/// What it means for a single user that nothing limits the worst case.
pub(crate) fn unlimited(protocol: &Protocol, candidate: &Candidate) -> Option<String> {
    if candidate.number(Metric::LocalPrivacyLevel).is_none_or(f64::is_finite) {
        return None;
    }
    let told = revealed(protocol);
    Some(if told > 0.0 {
        format!(
            "For a single user this means: with probability {told:.3} the report is the plain truth, and only on average over users is \
             anything hidden. Add --epsilon to limit what any one report can tell."
        )
    } else {
        "For a single user this means: some reports rule out values for certain, and only on average over users is as much hidden as \
         required. Add --epsilon to limit what any one report can tell."
            .into()
    })
}

/// The largest probability, over the inputs, of a report that only this input can cause.
fn revealed(protocol: &Protocol) -> f64 {
    let Ok(matrix) = protocol.to_matrix() else { return 0.0 };
    let mut told = vec![0.0; protocol.inputs()];
    for row in matrix.rows() {
        let mut possible = row.iter().enumerate().filter(|(_, q)| **q > 0.0);
        if let (Some((x, q)), None) = (possible.next(), possible.next()) {
            told[x] += q;
        }
    }
    told.into_iter().fold(0.0, f64::max)
}
