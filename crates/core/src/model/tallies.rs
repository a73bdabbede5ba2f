//! What the aggregator keeps of the reports: how often each output was reported.
//!
//! The order of the reports tells nothing about `P` or `T` [paper, Lemma on tallies], so counts are all that any posterior or
//! estimate needs. [`Tallies`] that exist fit their protocol.

use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::protocol::Protocol;

/// How often each output was reported: `S`, with the outputs that never were left out.
///
/// ```
/// use sottovoce::{Output, Protocol, Tallies};
///
/// let grr = Protocol::grr(3, 1.0)?;
/// let tallies = Tallies::new(&grr, [(Output::Index(2), 5), (Output::Index(0), 7)])?;
/// assert_eq!(tallies.n(), 12);
/// assert!(Tallies::new(&grr, [(Output::Index(3), 1)]).is_err());
/// # Ok::<(), sottovoce::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallies {
    n: u64,
    counts: Vec<(Output, u64)>,
}

impl Tallies {
    /// The tallies of these counts, in any order; outputs counted 0 times are left out.
    ///
    /// # Errors
    /// An output does not exist for the protocol or is listed twice, or there are more reports than a `u64` counts.
    pub fn new(protocol: &Protocol, counts: impl IntoIterator<Item = (Output, u64)>) -> Result<Self> {
        let mut counts: Vec<(Output, u64)> = counts.into_iter().collect();
        for (output, _) in &counts {
            // Every protocol refuses an output that it does not have, before it looks at the input.
            protocol.ln_probability(output, 0)?;
        }
        counts.sort_unstable();
        if let Some(pair) = counts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::OutputTwice { output: pair[0].0.to_string() });
        }
        counts.retain(|(_, count)| *count > 0);
        let total = counts.iter().try_fold(0u64, |n, (_, count)| n.checked_add(*count));
        Ok(Tallies { n: total.ok_or(Error::TooManyReports)?, counts })
    }

    /// The number of reports.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The outputs that were reported, ascending, each with how often.
    pub fn counts(&self) -> &[(Output, u64)] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(y: usize, count: u64) -> (Output, u64) {
        (Output::Index(y), count)
    }

    #[test]
    fn order_and_zeros_do_not_matter() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let tallies = Tallies::new(&grr, [index(2, 5), index(0, 7), index(1, 0)]).unwrap();
        assert_eq!(tallies, Tallies::new(&grr, [index(0, 7), index(2, 5)]).unwrap());
        assert_eq!(tallies.counts(), [index(0, 7), index(2, 5)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let ue = Protocol::ue(3, 0.7, 0.2).unwrap();
        let refused = |counts: Vec<(Output, u64)>| Tallies::new(&ue, counts).unwrap_err();
        let subset = |members: &[usize]| Output::Subset(members.to_vec());
        assert!(matches!(refused(vec![index(0, 1)]), Error::NoSuchOutput { .. }));
        assert!(matches!(refused(vec![(subset(&[0, 3]), 1)]), Error::NoSuchOutput { .. }));
        assert!(matches!(refused(vec![(subset(&[1, 0]), 1)]), Error::NoSuchOutput { .. }));
        let twice = vec![(subset(&[1]), 1), (subset(&[]), 1), (subset(&[1]), 2)];
        assert_eq!(refused(twice), Error::OutputTwice { output: "[1]".into() });
        let many = vec![(subset(&[1]), u64::MAX), (subset(&[]), 1)];
        assert_eq!(refused(many), Error::TooManyReports);
    }
}
