//! The job `describe`: what a protocol is, in words and figures.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::protocol::{DifferenceSetFamily, MAX_ENTRIES};
use sottovoce::{Metric, Observer, Output, Protocol};
use sottovoce_client::Published;
use sottovoce_collect::Error as CollectError;
use sottovoce_collect::randomise::Randomiser;

use crate::admission::{admit, protocol_bytes};
use crate::contract::{Number, as_text, optional_number};
use crate::error::Result;
use crate::metrics::{MetricEvaluation, MetricsRequest};
use crate::render::text::summary;
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// A matrix is shown up to this many inputs.
pub const SHOWN_INPUTS: usize = 10;

/// A matrix is shown up to this many outputs.
pub const SHOWN_OUTPUTS: usize = 16;

/// The metrics that a description contains.
const METRICS: [Metric; 4] = [Metric::LocalPrivacyLevel, Metric::Rank, Metric::Faithful, Metric::Classes];

/// Which protocol to describe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// Whether the description has the published form, with which clients make reports.
    #[serde(default)]
    pub publish: bool,
}

/// A valid request for a description.
#[derive(Clone, Debug)]
pub struct DescribeJob {
    protocol: NamedProtocol,
    publish: bool,
}

/// What a protocol is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DescribeReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// What a report is; in JSON a sentence.
    #[serde(rename = "sentence", serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub mechanism: Mechanism,
    /// Number of inputs `a`.
    pub inputs: usize,
    /// Names of the inputs, if they were given.
    pub labels: Option<Vec<String>>,
    /// Number of outputs `b`, if it fits a machine word.
    pub outputs: Option<usize>,
    /// `log2 b`.
    pub outputs_bits: f64,
    /// Bits that a report costs when each output gets a code of the same length.
    pub report_bits: f64,
    /// The LDP level that the parameters promise, if they name one.
    #[serde(rename = "declared_ldp", serialize_with = "optional_number")]
    #[schemars(with = "Option<Number>")]
    pub declared_level: Option<f64>,
    /// The LDP level of reports as they are really drawn, from exact fractions; or why they cannot be drawn.
    #[serde(rename = "realised_ldp", serialize_with = "realised_fields")]
    #[schemars(with = "RealisedFields")]
    pub realised: Result<RealisedLevel, Arc<CollectError>>,
    /// LDP level of the matrix, rank, faithfulness and classes.
    #[serde(rename = "evaluations")]
    pub structure: Vec<MetricEvaluation>,
    /// The matrix, if it is small.
    pub matrix: Option<ShownMatrix>,
    /// The combination, if it is one.
    pub tree: Option<Branch>,
    /// The published form, if it was asked for: all that a client needs to make reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// What a report of a protocol is, with the figures that matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mechanism {
    /// The true value.
    Truth,
    /// The true value with probability `truth`, each of the others with probability `lie`.
    RandomisedResponse {
        /// Probability of the true value.
        truth: f64,
        /// Probability of each other value.
        lie: f64,
        /// Number of other values.
        others: usize,
    },
    /// A set of values.
    UnaryEncoding {
        /// Which setting of its parameters.
        setting: UnarySetting,
        /// Probability that the set contains the true value.
        kappa: f64,
        /// Probability that it contains each other value.
        lambda: f64,
        /// Number of other values.
        others: usize,
    },
    /// A random function into buckets, and the randomised bucket of the true value.
    LocalHash {
        /// Number of buckets.
        buckets: usize,
    },
    /// A set of values of fixed size.
    SubsetSelection {
        /// Its size.
        size: usize,
        /// Probability that it contains the true value.
        inclusion: f64,
    },
    /// One of several sets of values, the blocks of a design.
    Block {
        /// Number of blocks.
        blocks: usize,
        /// Residues in each of them.
        size: usize,
        /// How many blocks hold any two residues.
        together: usize,
        /// The difference set whose shifts they are.
        family: DifferenceSetFamily,
        /// Whether the difference set is the complement of the family's.
        is_complement: bool,
        /// Probability that the reported block contains the true value.
        inclusion: f64,
    },
    /// A function of the true value.
    Deterministic {
        /// Number of different results.
        results: usize,
    },
    /// The true value or a blank.
    Erasure {
        /// Probability of the true value.
        reveal: f64,
    },
    /// Probabilities in a matrix.
    Matrix,
    /// Steps one after another.
    Composition {
        /// Number of steps.
        steps: usize,
    },
    /// Several protocols on the same value.
    Product {
        /// Number of protocols.
        factors: usize,
    },
    /// One of several protocols, drawn at random.
    Mixture {
        /// Number of protocols.
        parts: usize,
    },
}

/// The settings of unary encoding that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnarySetting {
    /// Any parameters.
    General,
    /// Basic RAPPOR.
    Rappor,
    /// Optimised unary encoding.
    Optimised,
    /// Binary local hash.
    BinaryLocalHash,
}

/// The exact LDP level of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealisedLevel {
    /// The level, rounded up.
    pub level: f64,
    /// Whether it is reached; otherwise it is only known not to be exceeded.
    pub exact: bool,
}

/// A realised level as JSON has it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RealisedLevel")]
struct RealisedFields {
    /// The level, rounded up; null if reports cannot be drawn.
    value: Option<Number>,
    /// Whether the level is reached; otherwise it is only known not to be exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    /// Why reports cannot be drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn realised_fields<S: Serializer>(
    realised: &Result<RealisedLevel, Arc<CollectError>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let level = realised.as_ref().ok();
    RealisedFields {
        value: level.map(|realised| Number(realised.level)),
        exact: level.map(|realised| realised.exact),
        reason: realised.as_ref().err().map(ToString::to_string),
    }
    .serialize(serializer)
}

/// A matrix with names for its rows and columns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ShownMatrix {
    /// Names of the inputs.
    #[serde(skip)]
    pub inputs: Vec<String>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// `rows[y][x]`.
    pub rows: Vec<Vec<f64>>,
}

/// A protocol in a tree of combinations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Branch {
    /// The probability of this part, in a mixture.
    pub weight: Option<f64>,
    /// The protocol; in JSON in a line.
    #[serde(rename = "summary", serialize_with = "summarised")]
    #[schemars(with = "String")]
    pub protocol: ProtocolSpec,
    /// What it combines.
    pub parts: Vec<Branch>,
}

fn summarised<S: Serializer>(protocol: &ProtocolSpec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&summary(protocol))
}

impl DescribeRequest {
    /// The job, if the protocol is valid.
    ///
    /// # Errors
    /// As for [`Written::check`].
    pub fn check(&self) -> Result<DescribeJob> {
        let protocol = self.protocol.check(&PriorSpec::Jeffreys)?;
        admit(protocol_bytes(&protocol.protocol))?;
        Ok(DescribeJob { protocol, publish: self.publish })
    }
}

impl DescribeJob {
    /// The description.
    ///
    /// # Errors
    /// The Jeffreys prior, under which the structure is analysed, refuses the number of inputs.
    pub fn run(&self, observer: Observer<'_>) -> Result<DescribeReport> {
        let NamedProtocol { spec, protocol, labels } = &self.protocol;
        let metric = METRICS.iter().map(|metric| metric.name().to_owned()).collect();
        let structure = MetricsRequest { metric, ..MetricsRequest::of(spec.clone()) };
        let structure = structure.check()?.run(observer)?.evaluations;
        Ok(DescribeReport {
            protocol: spec.clone(),
            mechanism: mechanism(protocol, spec),
            inputs: protocol.inputs(),
            labels: labels.clone(),
            outputs: protocol.outputs(),
            outputs_bits: outputs_bits(protocol),
            report_bits: protocol.report_bits(),
            declared_level: declared_level(spec),
            realised: realised_level(protocol),
            structure,
            matrix: shown_matrix(&self.protocol),
            tree: (!spec.parts().is_empty()).then(|| branch(spec, None)),
            published: self.publish.then(|| published(&self.protocol)).transpose()?,
        })
    }
}

/// The published form of a protocol.
///
/// # Errors
/// Its reports cannot be drawn.
pub fn published(named: &NamedProtocol) -> Result<Published> {
    // Unwrap safety: our types have text keys, and writing to a string does not fail.
    let specification = serde_json::to_string(&named.spec).unwrap();
    let published = Published::new(&named.protocol, &specification, named.labels.as_deref());
    Ok(published?)
}

/// The level of the channel that [`Randomiser`] samples.
fn realised_level(protocol: &Protocol) -> Result<RealisedLevel, Arc<CollectError>> {
    let randomiser = Randomiser::new(protocol).map_err(CollectError::from)?;
    let realised = randomiser.realised();
    Ok(RealisedLevel { level: realised.loss.level(), exact: realised.exact })
}

/// `log2` of the number of outputs. Local hash sends a seed instead of one of its `g^a` functions, so its outputs are more
/// than its reports have bits.
fn outputs_bits(protocol: &Protocol) -> f64 {
    match protocol {
        Protocol::LocalHash(hash) => (protocol.inputs() as f64 + 1.0) * (hash.buckets() as f64).log2(),
        Protocol::Composition(composition) => composition.steps().last().map_or(0.0, outputs_bits),
        Protocol::Product(product) => product.factors().iter().map(outputs_bits).sum(),
        Protocol::Mixture(mixture) => {
            let bits: Vec<f64> = mixture.parts().iter().map(outputs_bits).collect();
            let most = bits.iter().copied().fold(0.0, f64::max);
            most + bits.iter().map(|b| (b - most).exp2()).sum::<f64>().log2()
        }
        other => other.outputs().map_or_else(|| other.report_bits(), |b| (b as f64).log2()),
    }
}

/// The LDP level that the parameters promise: for a product the sum, for a mixture the largest, and for a composition that
/// of its first step, since later steps only lose information.
fn declared_level(spec: &ProtocolSpec) -> Option<f64> {
    use ProtocolKind as K;
    match &spec.kind {
        K::Grr { epsilon, .. }
        | K::Rappor { epsilon, .. }
        | K::Oue { epsilon, .. }
        | K::Blh { epsilon, .. }
        | K::Lh { epsilon, .. }
        | K::Subset { epsilon, .. }
        | K::Block { epsilon, .. } => Some(*epsilon),
        K::Composition { steps } => declared_level(steps.first()?),
        K::Product { factors } => factors.iter().map(declared_level).sum(),
        K::Mixture { parts, .. } => {
            parts.iter().try_fold(0.0, |most: f64, part| Some(most.max(declared_level(part)?)))
        }
        _ => None,
    }
}

/// What a report of the protocol is.
fn mechanism(protocol: &Protocol, spec: &ProtocolSpec) -> Mechanism {
    let others = protocol.inputs() - 1;
    match protocol {
        Protocol::Identity(_) => Mechanism::Truth,
        Protocol::GeneralisedRandomisedResponse(grr) => {
            Mechanism::RandomisedResponse { truth: grr.truth(), lie: grr.lie(), others }
        }
        Protocol::UnaryEncoding(ue) => {
            let (kappa, lambda) = (ue.bits().kappa, ue.bits().lambda);
            Mechanism::UnaryEncoding { setting: unary_setting(spec), kappa, lambda, others }
        }
        Protocol::LocalHash(hash) => Mechanism::LocalHash { buckets: hash.buckets() },
        Protocol::SubsetSelection(subset) => {
            Mechanism::SubsetSelection { size: subset.size(), inclusion: subset.inclusion() }
        }
        Protocol::Block(block) => Mechanism::Block {
            blocks: block.order(),
            size: block.size(),
            together: block.index(),
            family: block.set().family(),
            is_complement: block.set().is_complement(),
            inclusion: block.inclusion(),
        },
        Protocol::Deterministic(map) => Mechanism::Deterministic { results: map.values().len() },
        Protocol::Erasure(erasure) => Mechanism::Erasure { reveal: erasure.reveal() },
        Protocol::Matrix(_) => Mechanism::Matrix,
        Protocol::Composition(composition) => Mechanism::Composition { steps: composition.steps().len() },
        Protocol::Product(product) => Mechanism::Product { factors: product.factors().len() },
        Protocol::Mixture(mixture) => Mechanism::Mixture { parts: mixture.parts().len() },
    }
}

fn unary_setting(spec: &ProtocolSpec) -> UnarySetting {
    match spec.kind {
        ProtocolKind::Rappor { .. } => UnarySetting::Rappor,
        ProtocolKind::Oue { .. } => UnarySetting::Optimised,
        ProtocolKind::Blh { .. } => UnarySetting::BinaryLocalHash,
        _ => UnarySetting::General,
    }
}

fn branch(spec: &ProtocolSpec, weight: Option<f64>) -> Branch {
    let weight_of = |position: usize| match &spec.kind {
        ProtocolKind::Mixture { weights, .. } => weights.get(position).copied(),
        _ => None,
    };
    let parts = spec.parts().iter().enumerate().map(|(i, part)| branch(part, weight_of(i))).collect();
    Branch { weight, protocol: spec.clone(), parts }
}

fn shown_matrix(named: &NamedProtocol) -> Option<ShownMatrix> {
    let protocol = &named.protocol;
    let (a, b) = (protocol.inputs(), protocol.outputs()?);
    // Only compositions can be small outside and too large inside, and `to_matrix` then says so.
    if a > SHOWN_INPUTS || b > SHOWN_OUTPUTS || a * b > MAX_ENTRIES {
        return None;
    }
    let matrix = protocol.to_matrix().ok()?;
    Some(ShownMatrix {
        inputs: (0..a).map(|x| named.input(x)).collect(),
        outputs: (0..b).map(|y| output_name(named, &protocol.output(y))).collect(),
        rows: matrix.rows().map(<[f64]>::to_vec).collect(),
    })
}

/// An output in the words of the inputs, where it consists of inputs.
fn output_name(named: &NamedProtocol, output: &Output) -> String {
    match (output, &named.protocol) {
        (Output::Subset(members), _) => {
            let members: Vec<String> = members.iter().map(|x| named.input(*x)).collect();
            format!("{{{}}}", members.join(","))
        }
        (Output::Index(y), Protocol::Erasure(_)) if *y == named.protocol.inputs() => "blank".into(),
        (
            Output::Index(y),
            Protocol::Identity(_) | Protocol::GeneralisedRandomisedResponse(_) | Protocol::Erasure(_),
        ) => named.input(*y),
        _ => output.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_protocol;

    fn describe(argument: &str) -> DescribeReport {
        let request = DescribeRequest { protocol: read_protocol(argument).unwrap(), publish: false };
        request.check().unwrap().run(&sottovoce::unobserved).unwrap()
    }

    #[test]
    fn a_small_matrix_is_shown_with_the_users_words() {
        let matrix = describe("erasure:a=2,reveal=0.25,labels=no/yes").matrix.unwrap();
        assert_eq!(matrix.outputs, ["no", "yes", "blank"]);
        assert_eq!(matrix.rows, [[0.25, 0.0], [0.0, 0.25], [0.75, 0.75]]);
    }

    #[test]
    fn a_huge_protocol_is_described_without_its_matrix() {
        let description = describe("oue:a=10000,eps=1");
        assert_eq!((description.outputs, description.outputs_bits), (None, 10_000.0));
        assert!(description.matrix.is_none());
    }

    #[test]
    fn declared_and_realised_levels_can_differ() {
        let description = describe("lh:a=3,g=1,eps=1");
        assert_eq!(description.declared_level, Some(1.0));
        assert_eq!(description.realised.unwrap(), RealisedLevel { level: 0.0, exact: true });
        // No chance is between 0 and 2^-64.
        let truthful = describe("grr:a=3,eps=100").realised.unwrap();
        assert!((truthful.level - 64.0 * 2f64.ln()).abs() < 1e-15 * 64.0 && truthful.exact);
    }

    #[test]
    fn a_combination_has_a_tree() {
        let tree = describe(
            r#"{"kind":"mixture","weights":[0.25,0.75],"parts":[{"kind":"identity","a":2},
                {"kind":"product","factors":[{"kind":"grr","a":2,"epsilon":1}]}]}"#,
        )
        .tree
        .unwrap();
        assert_eq!((tree.parts[1].weight, tree.parts[1].parts.len()), (Some(0.75), 1));
    }
}
