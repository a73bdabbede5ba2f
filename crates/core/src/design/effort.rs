//! How much work a design may take.

use crate::information::{Sampling, SamplingObserver};

/// How much work a design may take.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// The optimality gap in `U_as` to aim at.
    pub gap: f64,
    /// The seed of random nodes, if there are any.
    pub seed: u64,
    /// Receives the number of directions priced in the last search (`draws`, 0 at the start), the optimality gap that is left (`error`) and the one
    /// to aim at. When it breaks, the best protocol so far is returned, with the gap that is certified for it.
    pub observer: Option<SamplingObserver<'a>>,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Effort { gap: 1e-4, seed: 0, observer: None }
    }
}

impl Effort<'_> {
    /// Reports progress; whether the observer breaks.
    pub(super) fn is_interrupted(&self, priced: usize, gap: f64) -> bool {
        let draws = priced as u64;
        let progress = Sampling { draws, assessed: draws, value: f64::NAN, error: gap, tolerance: self.gap };
        self.observer.is_some_and(|observer| observer(&progress).is_break())
    }
}
