//! The metrics of the paper, one file each, and [`Analysis`], which answers any of them by name.
//!
//! ```
//! use sottovoce::{Analysis, Metric, Prior, Protocol};
//!
//! let (protocol, prior) = (Protocol::grr(16, 2.0)?, Prior::jeffreys(16)?);
//! let analysis = Analysis::new(&protocol, &prior)?;
//! let privacy = analysis.answer(Metric::WorstCasePrivacy, None);
//! assert!((privacy.number().unwrap().value - (-2f64).exp()).abs() < 1e-15);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod analysis;
mod answer;
mod limit;
mod name;
mod one_dimensional_image;
mod worst_case_privacy;

pub use analysis::{Analysis, Settings};
pub use answer::{Absence, Answer, Value};
pub use limit::{distribution_utility_limit, tally_utility_limit};
pub use name::Metric;
pub use worst_case_privacy::{local_privacy_level, worst_case_privacy};
