//! What the aggregator learns: the lower half of the information split, and the choice of a method for it.

use super::enumeration;
use super::progress::Observer;
use super::reduced::Reduced;
use crate::evaluation::{Evaluation, Method};
use crate::metric::Absence;
use crate::prior::Prior;
use crate::protocol::Protocol;

/// Which method to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Exact where that fits the work budget, Monte Carlo beyond.
    #[default]
    Automatic,
    /// Exact or not at all.
    Exact,
    /// Monte Carlo, also where an exact method would do.
    MonteCarlo,
}

/// What the caller may choose about a finite-n computation.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Which method.
    pub choice: Choice,
    /// Wanted standard error of Monte Carlo, in nats.
    pub tolerance: f64,
    /// Most draws of Monte Carlo.
    pub draws: u64,
    /// Seed of all draws. The same seed gives the same answer on any number of threads.
    pub seed: u64,
    /// Most elementary steps of an exact method, of which a core makes about 10⁹ in a second.
    pub work_budget: f64,
    /// Hears of progress, and may stop a Monte Carlo computation.
    pub observer: Option<Observer<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            choice: Choice::Automatic,
            tolerance: 1e-2,
            draws: 1 << 24,
            seed: 0,
            work_budget: enumeration::WORK_BUDGET,
            observer: None,
        }
    }
}

/// `I(Y⃗;P)`, what `n` reports tell about the distribution.
///
/// # Errors
/// No method fits the choice, or the protocol is too large for the only one that does.
pub fn distribution_information(
    protocol: &Protocol,
    prior: &Prior,
    n: u64,
    options: &Options<'_>,
) -> Result<Evaluation, Absence> {
    let reduced = Reduced::new(protocol, prior)?.ok_or(NO_METHOD)?;
    if reduced.inputs() == 1 || n == 0 {
        return Ok(NOTHING);
    }
    Ok(enumeration::distribution(&reduced, n))
}

/// `I(Y⃗;T)`, what `n` reports tell about the tallies of the values.
///
/// # Errors
/// As for [`distribution_information`].
pub fn tally_information(
    protocol: &Protocol,
    prior: &Prior,
    n: u64,
    options: &Options<'_>,
) -> Result<Evaluation, Absence> {
    let reduced = Reduced::new(protocol, prior)?.ok_or(NO_METHOD)?;
    if reduced.inputs() == 1 || n == 0 {
        return Ok(NOTHING);
    }
    Ok(enumeration::tally(&reduced, n))
}

const NO_METHOD: Absence = Absence::NoMethod { what: "the number of users with this protocol and prior" };

/// A protocol that ignores its input tells nothing.
const NOTHING: Evaluation = Evaluation { value: 0.0, error: 0.0, method: Method::ClosedForm };
