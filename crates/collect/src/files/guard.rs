//! A guard around the reader of Parquet files, which panics on some damaged ones: files come from strangers, and what is wrong with one
//! of them must not end the program.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

use parquet::errors::{ParquetError, Result};
use sottovoce::stop::Stopped;

thread_local! {
    /// Whether a panic of this thread is caught here, so that nothing need be printed about it.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the reader; a panic is an error like any other. What the call has touched must not be used after an error.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                others(panic)
            }
        }));
    });
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.unwrap_or_else(|payload| {
        if payload.is::<Stopped>() {
            // Not the file is at fault: the run is to end.
            resume_unwind(payload);
        }
        Err(ParquetError::General("its contents contradict each other".into()))
    })
}
