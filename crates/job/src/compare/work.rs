//! What a report costs besides privacy: bits to send, and steps of the client and the aggregator.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use sottovoce::Protocol;

/// The cost of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Bits that a report takes when each output gets a code of the same length.
    pub bits: f64,
    /// Random draws of the client.
    pub client: f64,
    /// Counters or hash values that the aggregator evaluates.
    pub aggregator: f64,
}

/// The cost as JSON has it: nulls if there is none.
#[derive(Serialize, JsonSchema)]
pub(super) struct WorkFields {
    /// Bits of a report.
    report_bits: Option<f64>,
    /// Random draws of the client.
    client_draws: Option<f64>,
    /// Counters or hash values that the aggregator evaluates.
    aggregator_steps: Option<f64>,
}

pub(super) fn work_fields<S: Serializer>(work: &Option<Work>, serializer: S) -> Result<S::Ok, S::Error> {
    WorkFields {
        report_bits: work.map(|work| work.bits),
        client_draws: work.map(|work| work.client),
        aggregator_steps: work.map(|work| work.aggregator),
    }
    .serialize(serializer)
}

impl Work {
    /// The cost of a report of the protocol.
    pub fn of(protocol: &Protocol) -> Self {
        let (client, aggregator) = steps(protocol);
        Work { bits: protocol.report_bits(), client, aggregator }
    }
}

fn steps(protocol: &Protocol) -> (f64, f64) {
    let a = protocol.inputs() as f64;
    let sum = |parts: &[Protocol]| {
        parts.iter().map(steps).fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    };
    match protocol {
        // The truth, or a function of it, needs no draw.
        Protocol::Identity(_) | Protocol::Deterministic(_) => (0.0, 1.0),
        // A bit for each value, each drawn and each counted.
        Protocol::UnaryEncoding(_) => (a, a),
        // A hash function and a bucket; the aggregator hashes every value to see which ones fall into it.
        Protocol::LocalHash(_) => (2.0, a),
        Protocol::SubsetSelection(subset) => (subset.size() as f64, subset.size() as f64),
        // Whether the block is to contain the value, and which of those; the aggregator counts blocks.
        Protocol::Block(_) => (2.0, 1.0),
        Protocol::GeneralisedRandomisedResponse(_) | Protocol::Erasure(_) | Protocol::Matrix(_) => (1.0, 1.0),
        Protocol::Composition(composition) => {
            let last = composition.steps().last().map_or(0.0, |step| steps(step).1);
            (sum(composition.steps()).0, last)
        }
        Protocol::Product(product) => sum(product.factors()),
        Protocol::Mixture(mixture) => {
            let most =
                |of: fn((f64, f64)) -> f64| mixture.parts().iter().map(|p| of(steps(p))).fold(0.0, f64::max);
            (1.0 + most(|s| s.0), most(|s| s.1))
        }
    }
}
