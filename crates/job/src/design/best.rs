//! The best protocol for one requirement, with its certificate and the usual protocols for comparison.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use sottovoce::design::optimal_parameter::best_block;
use sottovoce::design::{
    Certificate, Design, OneUserDesign, Requirement, UsersDesign, best_for_one_user, best_for_users,
    best_protocol,
};
use sottovoce::information::{Choice, Sampling};
use sottovoce::metric::Settings;
use sottovoce::{Analysis, Evaluation, Method, Metric, Observer, Prior, Protocol, unobserved};

use super::family::candidates;
use super::{Candidate, effort, search_heard};
use crate::contract::{EvaluationFields, Name, Number, Whole, as_texts, number};
use crate::error::Result;
use crate::metrics::MetricEvaluation;
use crate::spec::{PriorSpec, ProtocolSpec};

/// A valid request for the best protocol.
#[derive(Clone, Debug)]
pub struct BestJob {
    pub(super) requirement: Requirement,
    pub(super) prior_spec: PriorSpec,
    pub(super) prior: Prior,
    /// Number of users that the protocol is for; many if there is none.
    pub(super) users: Option<u64>,
    pub(super) settings: Settings,
}

/// The best protocol, its metrics, and those of others.
#[derive(Clone, Debug)]
pub struct BestProtocol {
    /// The requirement.
    pub requirement: Requirement,
    /// The prior.
    pub prior: PriorSpec,
    /// What was maximised: the effective participation, or what the reports of `users` tell about `P`.
    pub goal: Metric,
    /// The number of users that the protocol is for; many if there is none.
    pub users: Option<u64>,
    /// The best protocol.
    pub best: Candidate,
    /// Why no other is much better.
    pub certificate: Proof,
    /// The usual protocols under the same requirement.
    pub comparison: Vec<Candidate>,
    /// Protocols with fewer outputs that are nearly as good.
    pub alternatives: Vec<Candidate>,
    /// What a user of the protocol should know.
    pub remarks: Vec<Remark>,
}

/// What a user of the protocol should know; `Display` has the words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remark {
    /// Nothing limits the worst case.
    Unlimited(Unlimited),
    /// The gap of the certificate is larger than wanted.
    LargeGap {
        /// The wanted gap.
        wanted: f64,
    },
    /// The protocol is best for one report, but many of them cannot tell all distributions apart.
    NotFaithful {
        /// Its rank.
        rank: usize,
        /// Number of values.
        a: usize,
    },
}

/// What it means for a single user that nothing limits the worst case; `Display` has the words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unlimited {
    /// A report can be the plain truth.
    Reveals {
        /// With this probability.
        probability: f64,
    },
    /// A report can rule out values.
    RulesOut,
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
    /// For what the reports of several users tell about `P`: not a proof, but what is known.
    Search(SearchResult),
}

/// What a search for the best protocol for several users found. Optimality is not certified.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The number of users.
    pub users: u64,
    /// `I(Y⃗;P)` of the protocol found, exact or sampled where that is affordable.
    pub information: Evaluation,
    /// The protocol of largest asymptotic utility.
    pub asymptotic: ProtocolSpec,
    /// Its `I(Y⃗;P)` by the same method.
    pub asymptotic_information: Evaluation,
    /// By how much the protocol found tells more, in nats; 0 if it is that one.
    pub gain: Evaluation,
    /// No protocol tells more than this, in nats.
    pub bound: f64,
    /// How many protocols were evaluated.
    pub evaluated: usize,
}

/// The report as JSON has it: the best protocol is not one entry of a list, but the report itself.
#[derive(Serialize, JsonSchema)]
struct BestFields<'a> {
    /// The best protocol.
    protocol: &'a ProtocolSpec,
    /// The prior.
    prior: &'a PriorSpec,
    /// What was required.
    requirement: RequirementFields,
    /// Bits of a report.
    report_bits: f64,
    /// The metrics of the best protocol.
    evaluations: &'a [MetricEvaluation],
    /// Why no other protocol is much better.
    certificate: ProofFields<'a>,
    /// The usual protocols under the same requirement.
    comparison: &'a [Candidate],
    /// Protocols with fewer outputs that are nearly as good.
    alternatives: &'a [Candidate],
    /// What a user of the protocol should know.
    #[serde(serialize_with = "remarks_as_texts")]
    #[schemars(with = "Vec<String>")]
    remarks: &'a [Remark],
}

fn remarks_as_texts<S: Serializer>(remarks: &&[Remark], serializer: S) -> Result<S::Ok, S::Error> {
    as_texts(remarks, serializer)
}

/// A requirement.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Requirement")]
struct RequirementFields {
    /// Largest LDP level, if limited.
    epsilon: Option<f64>,
    /// Least average privacy, if limited.
    min_average_privacy: Option<f64>,
}

/// A certificate.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Certificate")]
#[serde(untagged)]
enum ProofFields<'a> {
    /// For the asymptotic utility.
    Utility(UtilityFields<'a>),
    /// For what one report tells about the distribution.
    Information(InformationFields<'a>),
    /// What a search for several users found; not certified.
    Search(SearchFields<'a>),
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct UtilityFields<'a> {
    /// What was maximised.
    metric: Name<Metric>,
    /// No protocol has a `u_as` larger by more than this, in nats.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    gap: f64,
    /// No protocol has an `f_mu` larger by more than this.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    gap_f_mu: f64,
    /// The multipliers of the columns.
    lambda: &'a [f64],
    /// The multiplier of the average privacy, 0 where it does not bind.
    nu: f64,
    /// The largest leakage that the average privacy allows, in nats, where it binds.
    leakage_budget: Option<f64>,
    /// How many directions of rows were evaluated.
    directions: usize,
    /// Whether directions inside the cone were bounded too; else its edges suffice.
    whole_cone: bool,
    /// How many points stand for the prior; 0 if all means over it are integrals.
    points: usize,
    /// How means over the prior were found.
    method: Name<Method>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct InformationFields<'a> {
    /// What was maximised.
    metric: Name<Metric>,
    /// No protocol tells more by more than this, in nats.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    gap: f64,
    /// The multipliers of the columns.
    lambda: &'a [f64],
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct SearchFields<'a> {
    /// What was maximised.
    metric: Name<Metric>,
    /// The number of users.
    #[schemars(with = "Whole")]
    n: u64,
    /// Optimality is not certified.
    certified: bool,
    /// What the reports tell, exact or sampled where that is affordable.
    information: EvaluationFields,
    /// The protocol of largest asymptotic utility.
    asymptotic_design: &'a ProtocolSpec,
    /// What its reports tell, by the same method.
    asymptotic_information: EvaluationFields,
    /// By how much the protocol tells more, in nats.
    gain: EvaluationFields,
    /// No protocol tells more than this, in nats.
    #[serde(serialize_with = "number")]
    #[schemars(with = "Number")]
    bound: f64,
    /// How many protocols were evaluated.
    evaluated: usize,
}

impl<'a> From<&'a SearchResult> for SearchFields<'a> {
    fn from(result: &'a SearchResult) -> Self {
        SearchFields {
            metric: Name(Metric::AggregatorDistribution),
            n: result.users,
            certified: false,
            information: (&result.information).into(),
            asymptotic_design: &result.asymptotic,
            asymptotic_information: (&result.asymptotic_information).into(),
            gain: (&result.gain).into(),
            bound: result.bound,
            evaluated: result.evaluated,
        }
    }
}

impl<'a> From<&'a Proof> for ProofFields<'a> {
    fn from(proof: &'a Proof) -> Self {
        match proof {
            Proof::Utility { certificate, participation_gap } => ProofFields::Utility(UtilityFields {
                metric: Name(Metric::AsymptoticUtility),
                gap: certificate.gap,
                gap_f_mu: *participation_gap,
                lambda: &certificate.multipliers,
                nu: certificate.privacy_multiplier,
                leakage_budget: certificate.leakage_budget,
                directions: certificate.priced,
                whole_cone: certificate.whole_cone,
                points: certificate.points,
                method: Name(certificate.method),
            }),
            Proof::Information { gap, multipliers } => ProofFields::Information(InformationFields {
                metric: Name(Metric::AggregatorDistribution),
                gap: *gap,
                lambda: multipliers,
            }),
            Proof::Search(result) => ProofFields::Search(result.into()),
        }
    }
}

impl Serialize for BestProtocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BestFields {
            protocol: &self.best.protocol,
            prior: &self.prior,
            requirement: RequirementFields {
                epsilon: self.requirement.epsilon(),
                min_average_privacy: self.requirement.average_privacy(),
            },
            report_bits: self.best.report_bits,
            evaluations: &self.best.evaluations,
            certificate: (&self.certificate).into(),
            comparison: &self.comparison,
            alternatives: &self.alternatives,
            remarks: &self.remarks,
        }
        .serialize(serializer)
    }
}

impl JsonSchema for BestProtocol {
    fn schema_name() -> Cow<'static, str> {
        "BestProtocol".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BestFields::json_schema(generator)
    }
}

/// The metrics that are reported of every protocol.
const METRICS: [Metric; 4] = [
    Metric::EffectiveParticipation,
    Metric::AsymptoticUtility,
    Metric::AveragePrivacy,
    Metric::LocalPrivacyLevel,
];
/// The metrics that are reported of every protocol for a number of users.
const AT_USERS: [Metric; 3] =
    [Metric::AggregatorDistribution, Metric::AveragePrivacy, Metric::LocalPrivacyLevel];
/// The metrics that are also reported of the best protocol for several users.
const UTILITIES: [Metric; 3] =
    [Metric::DistributionUtility, Metric::DigitUtility, Metric::EffectiveParticipation];

impl BestJob {
    /// The best protocol. A search that the observer stops gives the best protocol so far, with the gap that is certified for it.
    ///
    /// # Errors
    /// Too many inputs, or a search that does not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<BestProtocol> {
        match (self.requirement.epsilon(), self.requirement.average_privacy(), self.users) {
            (Some(epsilon), None, Some(1)) => self.for_one_user(epsilon),
            (Some(epsilon), None, None) if !self.prior.is_continuous() => self.for_one_user(epsilon),
            (_, _, Some(users)) => self.for_users(users, observer),
            (_, _, None) => self.for_many_users(observer),
        }
    }

    fn for_many_users(&self, observer: Observer<'_>) -> Result<BestProtocol> {
        let hear = |sampling: &Sampling| search_heard(observer, sampling);
        let effort = effort(&self.settings, &hear);
        let Design { protocol, certificate, .. } = best_protocol(&self.prior, &self.requirement, effort)?;
        let best = self.candidate("best", &protocol, protocol.specification().into(), &METRICS, None);
        let found = best.number(Metric::EffectiveParticipation).unwrap_or(0.0);
        let participation_gap = certificate.participation_gap(found);
        let comparison = candidates(&self.prior, &self.requirement, &self.settings)
            .into_iter()
            .map(|(name, protocol, spec)| self.candidate(name, &protocol, spec, &METRICS, None))
            .collect();
        Ok(BestProtocol {
            requirement: self.requirement,
            prior: self.prior_spec.clone(),
            goal: Metric::EffectiveParticipation,
            users: None,
            alternatives: self.alternatives(&protocol)?,
            remarks: remarks(&protocol, &best, &certificate, effort.gap),
            best,
            certificate: Proof::Utility { certificate, participation_gap },
            comparison,
        })
    }

    fn for_one_user(&self, epsilon: f64) -> Result<BestProtocol> {
        let OneUserDesign { protocol, gap, multipliers, .. } = best_for_one_user(&self.prior, epsilon)?;
        let candidate =
            |name, protocol: &Protocol, spec| self.candidate(name, protocol, spec, &AT_USERS, Some(1));
        let rank = protocol.rank()?.value;
        let a = protocol.inputs();
        let remarks = (rank < a).then_some(Remark::NotFaithful { rank, a }).into_iter().collect();
        Ok(BestProtocol {
            requirement: self.requirement,
            prior: self.prior_spec.clone(),
            goal: Metric::AggregatorDistribution,
            users: Some(1),
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

    /// The same job with another method for numbers that depend on the number of users.
    fn choosing(&self, choice: Choice) -> Self {
        BestJob { settings: Settings { choice, ..self.settings }, ..self.clone() }
    }

    fn for_users(&self, users: u64, observer: Observer<'_>) -> Result<BestProtocol> {
        let hear = |sampling: &Sampling| search_heard(observer, sampling);
        let found = best_for_users(&self.prior, &self.requirement, users, effort(&self.settings, &hear))?;
        let gain = found.gain();
        let UsersDesign {
            protocol,
            information,
            asymptotic: Design { protocol: asymptotic, .. },
            asymptotic_information,
            bound,
            evaluated,
        } = found;
        // All protocols of the comparison by the same method.
        let job = match self.settings.choice {
            Choice::Automatic => self.choosing(Choice::Approximation),
            _ => self.clone(),
        };
        let candidate =
            |name, protocol: &Protocol, spec| job.candidate(name, protocol, spec, &AT_USERS, Some(users));
        let mut best = candidate("best", &protocol, protocol.specification().into());
        best.evaluations.extend(job.evaluations(&protocol, &UTILITIES, Some(users), observer));
        let many = ProtocolSpec::from(asymptotic.specification());
        // Hash range and subset size are the best for many users, so these are not the best of their kinds here.
        let renamed = |name| match name {
            "best LH" => "LH",
            "best subset" => "subset",
            other => other,
        };
        let usual = candidates(&self.prior, &self.requirement, &self.settings)
            .into_iter()
            .map(|(name, protocol, spec)| (renamed(name), protocol, spec));
        let comparison = std::iter::once(("for many users", asymptotic, many.clone()))
            .chain(usual)
            .map(|(name, protocol, spec)| candidate(name, &protocol, spec))
            .collect();
        Ok(BestProtocol {
            requirement: self.requirement,
            prior: self.prior_spec.clone(),
            goal: Metric::AggregatorDistribution,
            users: Some(users),
            remarks: Unlimited::of(&protocol, &best).map(Remark::Unlimited).into_iter().collect(),
            best,
            certificate: Proof::Search(SearchResult {
                users,
                information,
                asymptotic: many,
                asymptotic_information,
                gain,
                bound,
                evaluated,
            }),
            comparison,
            alternatives: Vec::new(),
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

    /// The block design of the same level, where the best is a subset selection: nearly its utility with short reports.
    fn alternatives(&self, best: &Protocol) -> Result<Vec<Candidate>> {
        let Protocol::SubsetSelection(subset) = best else { return Ok(Vec::new()) };
        let (a, epsilon) = (best.inputs(), subset.epsilon());
        // Blocks of one number are randomised response.
        let Some((v, k)) = best_block(&self.prior, epsilon, None, None).filter(|(_, k)| *k > 1) else {
            return Ok(Vec::new());
        };
        let protocol = Protocol::block(a, v, k, epsilon)?;
        let spec = ProtocolSpec::from(protocol.specification());
        Ok(vec![self.candidate("block design", &protocol, spec, &METRICS, None)])
    }
}

/// What a user of the protocol should know.
fn remarks(protocol: &Protocol, best: &Candidate, certificate: &Certificate, wanted: f64) -> Vec<Remark> {
    let unlimited = Unlimited::of(protocol, best).map(Remark::Unlimited);
    let gap = (certificate.gap > wanted).then_some(Remark::LargeGap { wanted });
    unlimited.into_iter().chain(gap).collect()
}

impl Unlimited {
    /// What it means if the candidate has no finite level; `None` if it has one.
    pub(crate) fn of(protocol: &Protocol, candidate: &Candidate) -> Option<Self> {
        if candidate.number(Metric::LocalPrivacyLevel).is_none_or(f64::is_finite) {
            return None;
        }
        let probability = revealed(protocol);
        Some(if probability > 0.0 { Unlimited::Reveals { probability } } else { Unlimited::RulesOut })
    }
}

/// The largest probability, over the inputs, of a report that only this input can cause.
fn revealed(protocol: &Protocol) -> f64 {
    let Ok(matrix) = protocol.to_matrix() else { return 0.0 };
    let mut revealed = vec![0.0; protocol.inputs()];
    for row in matrix.rows() {
        let mut possible = row.iter().enumerate().filter(|(_, q)| **q > 0.0);
        if let (Some((x, q)), None) = (possible.next(), possible.next()) {
            revealed[x] += q;
        }
    }
    revealed.into_iter().fold(0.0, f64::max)
}
