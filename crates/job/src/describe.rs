//! The job `describe`: what a protocol is, in words and figures.

use sottovoce::protocol::MAX_ENTRIES;
use sottovoce::{Metric, Output, Protocol};
use sottovoce_collect::randomise::Randomiser;

use crate::admission::{admit, protocol_bytes};
use crate::error::Result;
use crate::metrics::{MetricEvaluation, MetricsSpec};
use crate::render::number::{level, tidy};
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// A matrix is shown up to this many inputs.
pub const SHOWN_INPUTS: usize = 10;

/// A matrix is shown up to this many outputs.
pub const SHOWN_OUTPUTS: usize = 16;

/// The metrics that a description contains.
const METRICS: [Metric; 4] = [Metric::LocalPrivacyLevel, Metric::Rank, Metric::Faithful, Metric::Classes];

/// Which protocol to describe, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeSpec {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
}

/// A valid request for a description.
#[derive(Clone, Debug)]
pub struct DescribeJob {
    protocol: NamedProtocol,
}

/// What a protocol is.
#[derive(Clone, Debug)]
pub struct Description {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// What a report is, in a sentence.
    pub sentence: String,
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
    pub declared_level: Option<f64>,
    /// The LDP level of reports as they are really drawn, from exact fractions; or why they cannot be.
    pub realised: Result<RealisedLevel, String>,
    /// LDP level of the matrix, rank, faithfulness and classes.
    pub structure: Vec<MetricEvaluation>,
    /// The matrix, if it is small.
    pub matrix: Option<ShownMatrix>,
    /// The combination, if it is one.
    pub tree: Option<Branch>,
}

/// The exact LDP level of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealisedLevel {
    /// The level, rounded up.
    pub level: f64,
    /// Whether it is reached; otherwise it is only known not to be exceeded.
    pub exact: bool,
}

/// A matrix with names for its rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownMatrix {
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// `rows[y][x]`.
    pub rows: Vec<Vec<f64>>,
}

/// A protocol in a tree of combinations.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The probability of this part, in a mixture.
    pub weight: Option<f64>,
    /// The protocol in a line.
    pub summary: String,
    /// What it combines.
    pub parts: Vec<Branch>,
}

impl DescribeSpec {
    /// The job, if the protocol is valid.
    ///
    /// # Errors
    /// As for [`Written::check`].
    pub fn check(&self) -> Result<DescribeJob> {
        let protocol = self.protocol.check(&PriorSpec::Jeffreys)?;
        admit(protocol_bytes(&protocol.protocol))?;
        Ok(DescribeJob { protocol })
    }
}

impl DescribeJob {
    /// The description.
    ///
    /// # Errors
    /// The Jeffreys prior, under which the structure is analysed, refuses the number of inputs.
    pub fn run(&self) -> Result<Description> {
        let NamedProtocol { spec, protocol, labels } = &self.protocol;
        let metrics = METRICS.iter().map(|metric| metric.name().to_owned()).collect();
        let structure = MetricsSpec { metrics, ..MetricsSpec::of(spec.clone()) }.check()?.run().evaluations;
        Ok(Description {
            protocol: spec.clone(),
            sentence: sentence(protocol, spec),
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
        })
    }
}

/// The level of the channel that [`Randomiser`] samples.
fn realised_level(protocol: &Protocol) -> Result<RealisedLevel, String> {
    let randomiser = Randomiser::new(protocol).map_err(|error| error.to_string())?;
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
        | K::Subset { epsilon, .. } => Some(*epsilon),
        K::Composition { steps } => declared_level(steps.first()?),
        K::Product { factors } => factors.iter().map(declared_level).sum(),
        K::Mixture { parts, .. } => {
            parts.iter().try_fold(0.0, |most: f64, part| Some(most.max(declared_level(part)?)))
        }
        _ => None,
    }
}

/// What a report of the protocol is.
fn sentence(protocol: &Protocol, spec: &ProtocolSpec) -> String {
    let others = protocol.inputs() - 1;
    let each_other =
        if others == 1 { "the other value".into() } else { format!("each of the {others} others") };
    match protocol {
        Protocol::Identity(_) => "Reports the true value.".into(),
        Protocol::GeneralisedRandomisedResponse(grr) => format!(
            "Randomised response: reports the true value with probability {:.4} and {each_other} with probability {:.4}.",
            grr.truth(),
            grr.lie()
        ),
        Protocol::UnaryEncoding(ue) => format!(
            "{}: reports a set that contains the true value with probability {:.4} and {each_other} with probability {:.4}.",
            unary_name(spec),
            ue.bits().kappa,
            ue.bits().lambda
        ),
        Protocol::LocalHash(hash) => format!(
            "Local hash: draws a random function from the values to {} buckets and reports it with the bucket of the true value, passed through randomised response.",
            hash.buckets()
        ),
        Protocol::SubsetSelection(subset) => format!(
            "Subset selection: reports a set of {} values that contains the true one with probability {:.4}.",
            subset.size(),
            subset.inclusion()
        ),
        Protocol::Deterministic(map) => {
            format!("Reports a function of the true value that has {} different results.", map.values().len())
        }
        Protocol::Erasure(erasure) => {
            format!("Reports the true value with probability {:.4}, and a blank otherwise.", erasure.reveal())
        }
        Protocol::Matrix(_) => {
            "Reports output y for value x with the probability in row y, column x of a matrix.".into()
        }
        Protocol::Composition(c) => format!(
            "Passes the value through {} steps, one after another, and reports what the last one gives.",
            c.steps().len()
        ),
        Protocol::Product(p) => {
            format!("Reports the results of {} protocols on the same value, all together.", p.factors().len())
        }
        Protocol::Mixture(m) => {
            format!(
                "Draws one of {} protocols at random, and reports which one and its result.",
                m.parts().len()
            )
        }
    }
}

fn unary_name(spec: &ProtocolSpec) -> &'static str {
    match spec.kind {
        ProtocolKind::Rappor { .. } => "Basic RAPPOR",
        ProtocolKind::Oue { .. } => "Optimised unary encoding",
        ProtocolKind::Blh { .. } => "Binary local hash",
        _ => "Unary encoding",
    }
}

/// A protocol in a line: its kind and parameters.
pub fn summary(spec: &ProtocolSpec) -> String {
    summarised(spec, |epsilon| tidy(epsilon).to_string())
}

/// As [`summary`], with a level that was solved for in few digits, cut toward privacy.
pub(crate) fn brief(spec: &ProtocolSpec) -> String {
    summarised(spec, level)
}

fn summarised(spec: &ProtocolSpec, level: impl Fn(f64) -> String) -> String {
    use ProtocolKind as K;
    let name = spec.name();
    let level = |epsilon: &f64| format!("epsilon = {}", level(*epsilon));
    match &spec.kind {
        K::Identity { a } => format!("{name}, a = {a}"),
        K::Grr { a, epsilon } | K::Rappor { a, epsilon } | K::Oue { a, epsilon } | K::Blh { a, epsilon } => {
            format!("{name}, a = {a}, {}", level(epsilon))
        }
        K::Ue { a, kappa, lambda } => {
            format!("{name}, a = {a}, kappa = {}, lambda = {}", tidy(*kappa), tidy(*lambda))
        }
        K::Lh { a, g: Some(g), epsilon } => format!("{name}, a = {a}, g = {g}, {}", level(epsilon)),
        K::Subset { a, k: Some(k), epsilon } => format!("{name}, a = {a}, k = {k}, {}", level(epsilon)),
        K::Lh { a, epsilon, .. } | K::Subset { a, epsilon, .. } => {
            format!("{name}, a = {a}, {}", level(epsilon))
        }
        K::Deterministic { map } => format!("{name}, a = {}", map.len()),
        K::Erasure { a, reveal } => format!("{name}, a = {a}, reveal = {}", tidy(*reveal)),
        K::Matrix { rows } => {
            format!("{name}, {} outputs of {} inputs", rows.len(), rows.first().map_or(0, Vec::len))
        }
        K::Composition { steps } => format!("{name} of {} steps", steps.len()),
        K::Product { factors } => format!("{name} of {} factors", factors.len()),
        K::Mixture { parts, .. } => format!("{name} of {} parts", parts.len()),
    }
}

fn branch(spec: &ProtocolSpec, weight: Option<f64>) -> Branch {
    let weight_of = |position: usize| match &spec.kind {
        ProtocolKind::Mixture { weights, .. } => weights.get(position).copied(),
        _ => None,
    };
    let parts = spec.parts().iter().enumerate().map(|(i, part)| branch(part, weight_of(i))).collect();
    Branch { weight, summary: summary(spec), parts }
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

    fn describe(argument: &str) -> Description {
        DescribeSpec { protocol: read_protocol(argument).unwrap() }.check().unwrap().run().unwrap()
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
        assert_eq!(description.realised, Ok(RealisedLevel { level: 0.0, exact: true }));
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
