//! Many values at once, on all threads.

use rayon::prelude::*;
use sottovoce::stop::check;

use super::{Generator, Randomiser, Randomness};
use crate::error::{Error, Result};

/// Values that share a generator.
const CHUNK: usize = 1 << 13;

/// Draws reports on batch after batch of values, each chunk of them from a generator of its own: keyed by the operating system, or a stream
/// of the test seed that depends only on the place of the chunk.
#[derive(Debug)]
pub struct Batches<'r> {
    randomiser: &'r Randomiser,
    randomness: Randomness,
    stream: u64,
}

impl<'r> Batches<'r> {
    /// No batch yet.
    pub fn new(randomiser: &'r Randomiser, randomness: Randomness) -> Self {
        Batches { randomiser, randomness, stream: 0 }
    }

    /// The bytes of the reports on these values, one after another.
    ///
    /// # Errors
    /// A value is outside the protocol's domain, or the operating system provides no randomness.
    pub fn reports(&mut self, values: &[usize]) -> Result<Vec<u8>> {
        self.reports_on(values.len(), |place| Ok(values[place]))
    }

    /// The bytes of the reports on so many values, which `input` reads.
    ///
    /// # Errors
    /// Any error of `input`; or as for [`reports`](Batches::reports).
    pub fn reports_on<E: From<Error> + Send>(
        &mut self,
        count: usize,
        input: impl Fn(usize) -> std::result::Result<usize, E> + Sync,
    ) -> std::result::Result<Vec<u8>, E> {
        let (length, first) = (self.randomiser.layout().length(), self.stream);
        self.stream += count.div_ceil(CHUNK) as u64;
        let mut reports = vec![0; count * length];
        reports.par_chunks_mut(CHUNK * length).enumerate().try_for_each(|(chunk, reports)| {
            check();
            let mut generator = Generator::new(self.randomness, first + chunk as u64).map_err(Error::from)?;
            reports.chunks_exact_mut(length).enumerate().try_for_each(|(place, report)| {
                let x = input(chunk * CHUNK + place)?;
                self.randomiser.report_into(x, &mut generator, report).map_err(|error| E::from(error.into()))
            })
        })?;
        Ok(reports)
    }
}
