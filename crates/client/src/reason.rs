//! Why something is not a report. What it says goes into no message: it may be a value.

use serde::{Deserialize, Serialize};

/// Why something is not a report of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing is there.
    Empty,
    /// Too short or too long.
    Length,
    /// A character that is not a digit.
    NotDigits,
    /// A number that is too large.
    OutOfRange,
    /// Bits or bytes that must be 0 are not.
    Padding,
    /// A set with another number of members than the protocol's.
    SetSize,
    /// A line that is not `{"report": "…"}`, or a row with another number of fields than the header.
    Line,
}

impl Reason {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Empty => "empty",
            Reason::Length => "too short or too long",
            Reason::NotDigits => "a character that is not a digit",
            Reason::OutOfRange => "a number that is too large",
            Reason::Padding => "bits that must be 0 are not",
            Reason::SetSize => "a set of the wrong size",
            Reason::Line => "not a line of the format",
        }
    }
}
