//! What a job would take, known before it begins.

use std::cell::Cell;

use sottovoce::{Error as NumbersError, Protocol};

use crate::error::Result;

thread_local! {
    /// What jobs of this thread may take.
    static ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Does some work whose jobs may take so many bytes; half of what is free if nothing is said.
pub fn allowing<T>(bytes: Option<u64>, work: impl FnOnce() -> T) -> T {
    let before = ALLOWED.replace(bytes);
    let done = work();
    ALLOWED.set(before);
    done
}
