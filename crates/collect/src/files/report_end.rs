//! Whether the reports of a file are those that its end tells of.
//!
//! A file is read in parts, on many threads; what is found in them is put together in order.

use super::inputs::Input;
use crate::digest::Digest;
use crate::error::{EndProblem, Error, Result};
use crate::header::{End, Header};

/// A header with its text.
pub(super) type Headed = Option<(Header, Vec<u8>)>;

/// What was found in a part of a file.
#[derive(Default)]
pub(super) struct Found {
    pub(super) digest: Digest,
    /// The first line that is not blank.
    pub(super) first: Option<u64>,
    /// The end.
    pub(super) end: Option<End>,
    /// The first line after the end.
    pub(super) after: Option<u64>,
}

impl Found {
    /// A line that is not blank.
    pub(super) fn line(&mut self, line: u64) {
        self.first.get_or_insert(line);
        if self.end.is_some() {
            self.after.get_or_insert(line);
        }
    }

    /// Adds the part that follows.
    pub(super) fn append(&mut self, next: Found) {
        self.digest.append(next.digest);
        if self.end.is_some() {
            self.after = self.after.or(next.first);
        } else {
            (self.end, self.after) = (next.end, next.after);
        }
        self.first = self.first.or(next.first);
    }

    /// The digest of the reports, if they are what the file says of them.
    pub(super) fn checked(self, input: &Input, header: &Headed) -> Result<Digest> {
        let announced = header.as_ref().is_some_and(|(header, _)| header.has_end());
        let problem = match self.end {
            None if announced => EndProblem::Missing,
            None => return Ok(self.digest),
            Some(end) => {
                let belongs = announced && header.as_ref().is_some_and(|(_, text)| end.is_after(text));
                match (self.after, self.digest.reports()) {
                    _ if !belongs => EndProblem::WithoutHeader,
                    (Some(line), _) => EndProblem::After { line },
                    (_, found) if found != end.reports => EndProblem::Count { found, announced: end.reports },
                    _ if self.digest.to_string() != end.digest => EndProblem::Digest,
                    _ => return Ok(self.digest),
                }
            }
        };
        Err(Error::Incomplete { file: input.to_string(), problem })
    }
}
