//! The errors of this crate.

use thiserror::Error;

use crate::numerics::stop::NoResult;

/// What is wrong, the offending value, and what is allowed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than two inputs, or more than we handle.
    #[error("a = {a} is outside 2 to {max} inputs", max = crate::model::protocol::MAX_INPUTS)]
    Inputs {
        /// The requested number of inputs.
        a: usize,
    },
    /// A number outside its range, or NaN.
    #[error("{name} = {value:?} is not {allowed}")]
    OutOfRange {
        /// The parameter's name.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed range in words.
        allowed: &'static str,
    },
    /// Unary encoding must set the true bit at least as often as any other bit.
    #[error(
        "kappa = {kappa} is smaller than lambda = {lambda}; kappa must be at least lambda (to report the opposite, swap the bits)"
    )]
    KappaBelowLambda {
        /// Probability that the true bit is set.
        kappa: f64,
        /// Probability that another bit is set.
        lambda: f64,
    },
    /// An integer outside its range.
    #[error("{name} = {value} is outside {low} to {high}")]
    Count {
        /// The parameter's name.
        name: &'static str,
        /// The given value.
        value: usize,
        /// Smallest allowed value.
        low: usize,
        /// Largest allowed value.
        high: usize,
    },
    /// Two bins of a number have values in common.
    #[error("the bins of values {first} and {second} overlap")]
    OverlappingBins {
        /// The value with the lower bin.
        first: usize,
        /// The other value.
        second: usize,
    },
    /// A functional of another number of values than the distribution has.
    #[error("a functional of {found} values was asked of a distribution of {expected}")]
    FunctionalSize {
        /// Number of values of the functional.
        found: usize,
        /// Number of values of the distribution.
        expected: usize,
    },
    /// Fewer draws of a posterior than its functionals need.
    #[error("{draws} draws of the posterior are too few for a functional of it; {least} are needed")]
    FewDraws {
        /// The number of draws.
        draws: usize,
        /// The least number.
        least: usize,
    },
    /// No difference set with these parameters is known.
    #[error(
        "there is no cyclic difference set of k = {k} residues modulo v = {v} among those of Singer, Paley, twin primes, fourth powers and their complements"
    )]
    NoDifferenceSet {
        /// The modulus.
        v: usize,
        /// The number of residues.
        k: usize,
    },
    /// No difference set of this size is known for so many inputs.
    #[error(
        "there is no cyclic difference set of k = {k} residues modulo {a} or more among those of Singer, Paley, twin primes, fourth powers and their complements"
    )]
    NoDifferenceSetOfSize {
        /// The number of inputs.
        a: usize,
        /// The number of residues.
        k: usize,
    },
    /// No difference set with this modulus is known but single residues and their complements.
    #[error(
        "there is no cyclic difference set modulo v = {v} among those of Singer, Paley, twin primes, fourth powers and their complements; leave v out for the best one, or set k = 1 for blocks of a single number"
    )]
    NoDifferenceSetModulo {
        /// The modulus.
        v: usize,
    },
    /// An empty list where at least one item is needed.
    #[error("{name} is empty; at least one entry is needed")]
    Empty {
        /// What is empty.
        name: &'static str,
    },
    /// A row of a matrix with the wrong length.
    #[error("row {row} has {found} entries; row 0 has {expected}")]
    RaggedRow {
        /// The offending row.
        row: usize,
        /// Its length.
        found: usize,
        /// The length of the first row.
        expected: usize,
    },
    /// A matrix entry that is not a probability.
    #[error("entry rows[{y}][{x}] = {value:?} is not a probability between 0 and 1")]
    Entry {
        /// Output (row).
        y: usize,
        /// Input (column).
        x: usize,
        /// The entry.
        value: f64,
    },
    /// A column of a matrix that is not a distribution.
    #[error("column {x} sums to {sum}, not 1 (tolerance {tolerance:e})")]
    ColumnSum {
        /// Input (column).
        x: usize,
        /// Its sum.
        sum: f64,
        /// The tolerance.
        tolerance: f64,
    },
    /// Weights or probabilities that do not sum to 1.
    #[error("{name} sum to {sum}, not 1 (tolerance {tolerance:e})")]
    WeightSum {
        /// Which weights.
        name: &'static str,
        /// Their sum.
        sum: f64,
        /// The tolerance.
        tolerance: f64,
    },
    /// Two lists that must have the same length but do not.
    #[error(
        "{left} has {left_length} entries but {right} has {right_length}; they must have the same length"
    )]
    Lengths {
        /// One list.
        left: &'static str,
        /// Its length.
        left_length: usize,
        /// The other list.
        right: &'static str,
        /// Its length.
        right_length: usize,
    },
    /// Combined protocols that do not fit together.
    #[error("{role} {position} takes {found} inputs, but {expected} are needed there")]
    Mismatch {
        /// `step`, `factor` or `part`.
        role: &'static str,
        /// Its position, from 0.
        position: usize,
        /// Its number of inputs.
        found: usize,
        /// The number of inputs that would fit.
        expected: usize,
    },
    /// A prior and a protocol with different numbers of inputs.
    #[error("the prior is on {prior} values, the protocol on {protocol}")]
    PriorSize {
        /// Number of values of the prior.
        prior: usize,
        /// Number of inputs of the protocol.
        protocol: usize,
    },
    /// The paper's first assumption on the prior.
    #[error(
        "under this prior all users surely hold the same value (all its mass is on the corners), so there is nothing to keep private"
    )]
    NothingPrivate,
    /// The paper's second assumption on the prior.
    #[error(
        "this prior allows only one distribution P, so there is nothing to learn; it needs at least two different points"
    )]
    NothingToLearn,
    /// An input that does not exist.
    #[error("input {x} does not exist; inputs are 0 to {last}")]
    NoSuchInput {
        /// The requested input.
        x: usize,
        /// The last input.
        last: usize,
    },
    /// An output that does not exist for this protocol.
    #[error("output {output} does not exist for this protocol: {reason}")]
    NoSuchOutput {
        /// The output in its JSON form.
        output: String,
        /// The expected form of an output.
        reason: &'static str,
    },
    /// An output listed twice among tallies.
    #[error("output {output} is listed twice; its counts belong in one entry")]
    OutputTwice {
        /// The output in its JSON form.
        output: String,
    },
    /// Reports that are impossible under the prior.
    #[error("these reports are impossible under every distribution that the prior allows")]
    ImpossibleReports,
    /// A kind of prior for which no posterior can be computed.
    #[error(
        "posteriors are found for Dirichlet priors, their mixtures, finitely many points and the smoothing prior; this prior is a custom one"
    )]
    PosteriorPrior,
    /// Supports under a prior that their chains do not have.
    #[error("the posterior given supports is found under a Dirichlet prior or the adaptive one")]
    SupportsPrior,
    /// Too few supports for a normal approximation.
    #[error(
        "the number of reports that support a value nobody holds has variance {expected:.2}; its normal approximation needs {least}. Count whole reports instead (patterns)"
    )]
    FewSupports {
        /// The variance of that number.
        expected: f64,
        /// The least variance.
        least: f64,
    },
    /// No exact method is affordable.
    #[error("no exact method is affordable for this posterior; use Markov chains")]
    NoExactPosterior,
    /// Markov chains that have not converged.
    #[error(
        "the chains have not converged: R-hat is {r_hat:.3} (allowed {allowed}), the smallest effective sample size {sample_size:.0} (wanted {wanted})"
    )]
    Unconverged {
        /// The largest split R-hat.
        r_hat: f64,
        /// The largest value allowed.
        allowed: f64,
        /// The smallest effective sample size.
        sample_size: f64,
        /// The sample size needed.
        wanted: f64,
    },
    /// Components of a mixture prior whose evidence is not accurate enough to weight them.
    #[error("the components of the prior cannot be weighted: {reason}")]
    PartsNotWeighed {
        /// Why the evidence is not accurate enough.
        reason: &'static str,
    },
    /// An answer that violates an identity which the correct answer satisfies.
    #[error("the answer fails its self-check: {what} is off by {off:.3e} (standard error {error:.1e})")]
    FailedCheck {
        /// The identity.
        what: &'static str,
        /// By how much it is violated.
        off: f64,
        /// The standard error of that amount.
        error: f64,
    },
    /// More reports than a counter can hold.
    #[error("the counts add up to more than {max} reports", max = u64::MAX)]
    TooManyReports,
    /// No reports, where at least one is needed.
    #[error("there are no reports to estimate from")]
    NoReports,
    /// A reported output that no input can produce.
    #[error("output {output} was reported, but no input can produce it under this protocol")]
    ImpossibleOutput {
        /// The output in its JSON form.
        output: String,
    },
    /// More reports that support an input than there are reports.
    #[error("supports[{x}] = {count} is more than the {n} reports")]
    Support {
        /// The input.
        x: usize,
        /// The given number of reports that support it.
        count: u64,
        /// The number of reports.
        n: u64,
    },
    /// Supports with the wrong sum, where each report supports the same number of inputs.
    #[error("the supports sum to {sum}; under this protocol {n} reports support {expected} inputs in all")]
    SupportSum {
        /// Their sum.
        sum: u128,
        /// The number of reports.
        n: u64,
        /// What the sum should be.
        expected: u128,
    },
    /// A protocol whose reports do not each support a set of inputs.
    #[error("reports of {kind} do not support single inputs; give the tallies of its outputs")]
    NoSupports {
        /// The protocol's kind.
        kind: &'static str,
    },
    /// Supports given where complete reports are needed.
    #[error(
        "{what} needs the tallies of whole reports; the number of reports that support each input is not enough"
    )]
    SupportsOnly {
        /// What needs complete reports.
        what: &'static str,
    },
    /// The frequencies are not identifiable from the reports.
    #[error(
        "the protocol is not faithful (rank {rank} < {a} inputs): different frequencies lead to the same reports, so none can be estimated"
    )]
    NotFaithful {
        /// `rk Q`.
        rank: usize,
        /// Number of inputs.
        a: usize,
    },
    /// No positive frequency is left to rescale.
    #[error("no linear estimate is positive, so clipping leaves nothing to normalise")]
    NothingPositive,
    /// The reports carry no information about the frequencies.
    #[error("all reports are blank, so they carry no information about the frequencies")]
    NothingTold,
    /// The search for the least favourable distribution was stopped.
    #[error("stopped after {tried} of {places} candidates for the worst distribution")]
    WorstUnknown {
        /// How many were tried.
        tried: usize,
        /// How many there are.
        places: usize,
    },
    /// More reports than a method can hold.
    #[error("{what} would hold {entries} entries; the limit is {max}")]
    TooMuch {
        /// What would be stored.
        what: &'static str,
        /// The number of entries.
        entries: u128,
        /// The largest number allowed.
        max: u128,
    },
    /// A dense matrix above the size limit.
    #[error("the dense matrix of {what} would have {outputs} outputs × {inputs} inputs; the limit is {max} entries", max = crate::model::protocol::MAX_ENTRIES)]
    TooLarge {
        /// Which protocol.
        what: &'static str,
        /// Number of outputs, as text because it may be astronomically large.
        outputs: String,
        /// Number of inputs.
        inputs: usize,
    },
    /// Combinations nested too deeply.
    #[error("combinations are nested {depth} deep; the limit is {max}", max = crate::model::protocol::MAX_DEPTH)]
    TooDeep {
        /// The nesting depth.
        depth: usize,
    },
    /// More inputs than a design can handle.
    #[error("no design for a = {a} inputs{}; the limit is {most}{}", if *.limited { " with a required average privacy" } else { "" }, design_hint(*.limited))]
    DesignSize {
        /// The requested number of inputs.
        a: usize,
        /// The largest number supported.
        most: usize,
        /// Whether average privacy is required.
        limited: bool,
    },
    /// A prior for which designs are not supported.
    #[error(
        "a design needs a Dirichlet prior or a mixture of Dirichlets; there is no method for finitely many points or custom priors"
    )]
    DesignPrior,
    /// A privacy requirement without any limit.
    #[error("nothing is required: give a maximum epsilon, a minimum average privacy, or both")]
    NothingRequired,
    /// The search for a design ended without a protocol.
    #[error("the search for the best protocol did not converge")]
    DesignNotConverged,
    /// An unknown name.
    #[error("there is no {what} named {name:?}")]
    UnknownName {
        /// The kind of thing that was looked up.
        what: &'static str,
        /// The name given.
        name: String,
    },
    /// The run was ended from outside ([`crate::numerics::stop`]).
    #[error("stopped before the result was complete")]
    Stopped,
    /// A job that would exceed its memory limit.
    #[error("would take about {} of memory; at most {} is allowed", in_bytes(*.bytes), in_bytes(*.allowed))]
    TooMuchMemory {
        /// An upper bound on what it needs.
        bytes: u64,
        /// The limit.
        allowed: u64,
    },
    /// The system could not provide threads.
    #[error("no threads to work on: {reason}")]
    NoThreads {
        /// The system's error message.
        reason: String,
    },
    /// A linear-algebra routine did not converge.
    #[error("the singular values of a {rows} × {columns} matrix did not converge")]
    SingularValues {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
}

/// A number of bytes in the unit that leaves few digits.
fn in_bytes(bytes: u64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB"];
    let thousands = (bytes.max(1).ilog10() / 3).min(units.len() as u32 - 1);
    let number = bytes as f64 / 1000f64.powi(thousands as i32);
    let rounded = if number < 10.0 { (number * 10.0).round() / 10.0 } else { number.round() };
    format!("{rounded} {}", units[thousands as usize])
}

fn design_hint(limited: bool) -> &'static str {
    if limited {
        " (6 for asymmetric priors, 10 for symmetric ones)"
    } else {
        ", or 10000 under a symmetric prior"
    }
}

/// The kinds of error that front ends distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is wrong.
    InvalidInput,
    /// A computation gave up before reaching its accuracy.
    NotConverged,
    /// The input is valid, but beyond what we support.
    Unsupported,
    /// The run was ended from outside.
    Stopped,
}

impl From<NoResult> for Error {
    fn from(reason: NoResult) -> Self {
        match reason {
            NoResult::Stopped => Error::Stopped,
            NoResult::NoThreads { reason } => Error::NoThreads { reason },
        }
    }
}

impl Error {
    /// Which kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::TooLarge { .. }
            | Error::TooMuch { .. }
            | Error::PosteriorPrior
            | Error::SupportsPrior
            | Error::FewSupports { .. }
            | Error::NoExactPosterior
            | Error::DesignSize { .. }
            | Error::NoThreads { .. }
            | Error::TooMuchMemory { .. }
            | Error::DesignPrior => ErrorKind::Unsupported,
            Error::Stopped => ErrorKind::Stopped,
            Error::SingularValues { .. }
            | Error::DesignNotConverged
            | Error::Unconverged { .. }
            | Error::PartsNotWeighed { .. }
            | Error::FailedCheck { .. }
            | Error::WorstUnknown { .. } => ErrorKind::NotConverged,
            _ => ErrorKind::InvalidInput,
        }
    }
}

/// The result of a function of this crate that may reject its input.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Checks that `value` lies in a range; written so that NaN fails.
pub(crate) fn in_range(
    name: &'static str,
    value: f64,
    inside: impl Fn(f64) -> bool,
    allowed: &'static str,
) -> Result<f64> {
    if inside(value) { Ok(value) } else { Err(Error::OutOfRange { name, value, allowed }) }
}

/// Checks that weights are probabilities that sum to 1; returns them divided by their sum.
pub(crate) fn distribution(name: &'static str, weights: Vec<f64>) -> Result<Vec<f64>> {
    const TOLERANCE: f64 = 1e-9;
    if weights.is_empty() {
        return Err(Error::Empty { name });
    }
    for &w in &weights {
        in_range(name, w, |w| (0.0..=1.0).contains(&w), "a probability between 0 and 1")?;
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > TOLERANCE {
        return Err(Error::WeightSum { name, sum, tolerance: TOLERANCE });
    }
    Ok(weights.into_iter().map(|w| w / sum).collect())
}
