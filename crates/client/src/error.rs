//! What can go wrong on the user's side. No message has a value in it.

use thiserror::Error;

/// Why there is no report.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A value that is none of the protocol's.
    #[error("the value is outside the protocol's domain")]
    NotInDomain,
    /// The operating system gives no random numbers.
    #[error("the operating system provides no randomness: {message}")]
    NoRandomness {
        /// What it said.
        message: String,
    },
    /// A published protocol that must not be used.
    #[error("the published protocol cannot be used: {0}")]
    Published(#[from] Fault),
    /// A level that whole multiples of `2^-64` cannot keep.
    #[cfg(feature = "protocol")]
    #[error(
        "{kind} with LDP level {declared} cannot be sampled with 64-bit words: the reports would have level {realised:e}; use a larger level, larger probabilities or fewer inputs"
    )]
    NotRealisable {
        /// The kind of protocol.
        kind: &'static str,
        /// The declared level.
        declared: f64,
        /// What would be realised.
        realised: f64,
    },
    /// Something else than a permanent report, where a round reports on one.
    #[cfg(feature = "protocol")]
    #[error("this is not a permanent report of the protocol")]
    NotPermanent,
    /// What the protocol itself says.
    #[cfg(feature = "protocol")]
    #[error(transparent)]
    Protocol(#[from] sottovoce::Error),
}

/// What is wrong with a published protocol.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Not the JSON of a published protocol: no JSON, or a key or kind is missing, unknown or of the wrong type.
    #[error("it is not the JSON of a published protocol, or of a newer one")]
    Form,
    /// Another format or version.
    #[error("its format or version is unknown")]
    Version,
    /// A specification without a canonical form.
    #[error("its specification is incomplete")]
    Specification,
    /// Another fingerprint than that of the specification.
    #[error("its fingerprint is not that of its specification")]
    Fingerprint,
    /// Another number of inputs or other labels than the specification's, or equal labels.
    #[error("its inputs, labels and draw do not belong together")]
    Inputs,
    /// Thresholds that do not sum to all words, sizes out of range, or steps that do not fit.
    #[error("its thresholds do not fit together")]
    Draw,
    /// A draw of another kind or size than the specification's, or with a higher level than that declares.
    #[error("its draw is not that of its specification")]
    Specified,
    /// A draw with a higher level than the document states.
    #[error("its draw has a higher LDP level than it states")]
    Level,
}

/// The result of a function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
