//! What a Parquet file of reports says about itself in its metadata: the header and the end.

use super::inputs::Input;
use super::report_end::{Found, Headed};
use crate::digest::Digest;
use crate::error::{EndProblem, Error, HeaderPlace, Result};
use crate::header::{End, Header, HeaderProblem};

/// The header and the end of a Parquet file, as far as it has them.
pub struct ReportFooter {
    header: Headed,
    end: Option<Vec<u8>>,
}

impl ReportFooter {
    /// The footer with these texts: the values of the keys [`METADATA`](super::report_writer::METADATA) and
    /// [`END_METADATA`](super::report_writer::END_METADATA) of the file's metadata.
    ///
    /// # Errors
    /// The header is damaged or of a newer version.
    pub fn new(input: &Input, header: Option<Vec<u8>>, end: Option<Vec<u8>>) -> Result<Self> {
        let header = header.map(|text| headed(input, text, HeaderPlace::Metadata)).transpose()?.flatten();
        Ok(ReportFooter { header, end })
    }

    /// The header, if there is one.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref().map(|(header, _)| header)
    }

    /// The digest of the reports, if they are what the footer says of them.
    ///
    /// # Errors
    /// They are not, or the end is not that of the header.
    pub fn check(&self, input: &Input, digest: Digest) -> Result<Digest> {
        let end = self.end.as_deref().map(|text| End::read(text).ok_or(EndProblem::Missing)).transpose();
        let end = end.map_err(|problem| Error::Incomplete { file: input.to_string(), problem })?;
        Found { digest, end, ..Found::default() }.checked(input, &self.header)
    }
}

/// A header, which must be one if it looks like one: else a letter that changes would take away what it says.
pub(super) fn headed(input: &Input, text: Vec<u8>, place: HeaderPlace) -> Result<Headed> {
    let file = input.to_string();
    match Header::read(&text) {
        Ok(header) => Ok(Some((header, text))),
        Err(HeaderProblem::None(fault)) => Err(Error::BadHeader { file, place, fault }),
        Err(HeaderProblem::Version(version)) => Err(Error::Version { file, version }),
    }
}
