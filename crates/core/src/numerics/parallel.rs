//! Loops on all threads of a run, or on one without the feature `parallel`.
//!
//! All loops collect their results in the order of their input, so both give the same bits.

#[cfg(feature = "parallel")]
pub(crate) use rayon::prelude::*;

#[cfg(not(feature = "parallel"))]
pub(crate) use sequential::*;

/// The rayon traits that this crate uses, on one thread.
#[cfg(not(feature = "parallel"))]
mod sequential {
    use std::slice::{Chunks, ChunksMut, Iter, IterMut};

    pub(crate) trait IntoParallelIterator: IntoIterator + Sized {
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    pub(crate) trait ParallelSlice<T> {
        fn par_iter(&self) -> Iter<'_, T>;
        fn par_iter_mut(&mut self) -> IterMut<'_, T>;
        fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_iter_mut(&mut self) -> IterMut<'_, T> {
            self.iter_mut()
        }

        fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
            self.chunks(size)
        }

        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
            self.chunks_mut(size)
        }
    }

    pub(crate) trait ParallelIterator: Iterator + Sized {
        /// Nothing to split.
        fn with_min_len(self, _: usize) -> Self {
            self
        }

        fn flat_map_iter<I: IntoIterator>(
            self,
            f: impl FnMut(Self::Item) -> I,
        ) -> impl Iterator<Item = I::Item> {
            self.flat_map(f)
        }
    }

    impl<I: Iterator> ParallelIterator for I {}
}
