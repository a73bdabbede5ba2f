//! `sottovoce._native`, the compiled part of the Python package.
//!
//! A job goes through the contract of every front end: request as JSON → check → run → report (`run.rs`). Columns of values and reports take a way of
//! their own, without JSON: Arrow, numpy and lists become columns (`column.rs`), are randomised (`protocol.rs`) and counted (`tally.rs`; `partial.rs` where several workers count). No Arrow type goes
//! further than this crate.
//!
//! Nothing here is for users: the modules in `python/sottovoce` are.

mod column;
mod errors;
mod partial;
mod protocol;
mod reports;
mod run;
mod tally;

use pyo3::prelude::*;

/// The compiled part of sottovoce.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::partial::{PartialTally, check_header};
    #[pymodule_export]
    use crate::protocol::Protocol;
    #[pymodule_export]
    use crate::reports::Reports;
    #[pymodule_export]
    use crate::run::{JobReport, jobs, run, schema};
    #[pymodule_export]
    use crate::tally::Tally;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
