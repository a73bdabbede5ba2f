//! Reports of a protocol, with their exact privacy loss.

use sottovoce::protocol::UnarySetting;
use sottovoce::{Output, Protocol};

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::loss::Loss;
use crate::realised::{ExactMatrix, Realised};
use crate::sampler::Sampler;
use crate::words::Words;

/// The share of a level that roundings must leave.
const KEPT: f64 = 0.99;

/// Up to this level: higher ones are lowered by what 64-bit words can tell, to 44 or, for large sets of subset selection, less.
const REACHED: f64 = 20.0;

/// By this factor the level of a combination may be above what was computed for its real numbers.
const ROUNDED: f64 = 1.0 + 1e-9;

/// Draws reports of one protocol, with a known privacy loss.
#[derive(Clone, Debug)]
pub struct Randomiser {
    inputs: usize,
    sampler: Sampler,
    layout: Layout,
    length: usize,
    realised: Realised,
}

impl Randomiser {
    /// The randomiser of a protocol.
    ///
    /// # Errors
    /// [`Error::NotRealisable`] if whole multiples of `2^−64` would exceed the level that some part of the protocol declares, or lose
    /// more than a hundredth of it.
    pub fn new(protocol: &Protocol) -> Result<Self> {
        check_levels(protocol)?;
        let (inputs, sampler) = (protocol.inputs(), Sampler::new(protocol));
        let realised = sampler.realised(inputs);
        check_whole(protocol, &realised)?;
        let layout = Layout::of(protocol);
        Ok(Randomiser { inputs, sampler, length: layout.length(), layout, realised })
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// The exact privacy loss of the reports.
    pub fn realised(&self) -> &Realised {
        &self.realised
    }

    /// How a report is laid out in bytes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The exact matrix that is sampled, if it is small. Rows are numbered as the protocol's; local hash is over all functions.
    pub fn matrix(&self) -> Option<ExactMatrix> {
        self.sampler.matrix()
    }

    /// A report on the value `x`.
    ///
    /// # Errors
    /// The input does not exist; nothing is drawn.
    pub fn report(&self, x: usize, words: &mut impl Words) -> Result<Output> {
        let mut bytes = vec![0; self.length];
        self.report_into(x, words, &mut bytes)?;
        Ok(self.layout.output(&bytes))
    }

    /// Writes the bytes of a report on the value `x`.
    ///
    /// # Errors
    /// The input does not exist; nothing is drawn.
    ///
    /// # Panics
    /// `bytes` are not as many as the layout's [`length`](Layout::length).
    #[inline]
    pub fn report_into(&self, x: usize, words: &mut impl Words, bytes: &mut [u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.length, "length of a report");
        if x >= self.inputs {
            return Err(sottovoce::Error::NoSuchInput { x, last: self.inputs - 1 }.into());
        }
        self.sampler.report(x, words, bytes);
        Ok(())
    }
}

/// Refuses a protocol with a part that declares a level and would not keep it. What the parts keep, combinations keep, up to what the level
/// of the combination itself is rounded.
fn check_levels(protocol: &Protocol) -> Result<()> {
    protocol.parts().iter().try_for_each(check_levels)?;
    let refused = |declared: f64, loss: Loss| Error::NotRealisable {
        kind: protocol.kind(),
        declared,
        realised: loss.level(),
    };
    if let Protocol::Matrix(_) = protocol {
        // A level that only rare outputs have may get lost: that takes away nothing.
        let (level, loss) = (protocol.level()?, Sampler::new(protocol).realised(protocol.inputs()).loss);
        return if loss.within(level) { Ok(()) } else { Err(refused(level, loss)) };
    }
    let Some(declared) = declared_level(protocol) else { return Ok(()) };
    let loss = Sampler::new(protocol).realised(protocol.inputs()).loss;
    if loss.within(declared) && loss.level() >= KEPT * protocol.level()?.min(REACHED) {
        return Ok(());
    }
    Err(refused(declared, loss))
}

/// Refuses a combination whose level is above that of its real numbers, by more than those are rounded.
fn check_whole(protocol: &Protocol, realised: &Realised) -> Result<()> {
    if protocol.parts().is_empty() || !realised.exact {
        return Ok(());
    }
    let declared = protocol.level()?;
    match realised.loss.within(declared * ROUNDED) {
        true => Ok(()),
        false => {
            Err(Error::NotRealisable { kind: protocol.kind(), declared, realised: realised.loss.level() })
        }
    }
}

/// The level that a protocol declares by itself.
fn declared_level(protocol: &Protocol) -> Option<f64> {
    match protocol {
        Protocol::GeneralisedRandomisedResponse(grr) => Some(grr.epsilon()),
        Protocol::LocalHash(hash) => Some(hash.epsilon()),
        Protocol::SubsetSelection(subset) => Some(subset.epsilon()),
        Protocol::Block(block) => Some(block.epsilon()),
        Protocol::UnaryEncoding(unary) => match unary.setting() {
            UnarySetting::Rappor { epsilon }
            | UnarySetting::Oue { epsilon }
            | UnarySetting::Blh { epsilon } => Some(epsilon),
            _ => None,
        },
        _ => None,
    }
}
