//! Information-theoretic privacy and utility of local differential privacy protocols: the numbers.

pub mod error;
pub mod evaluation;
pub mod information;
pub mod metric;
pub mod output;
pub mod prior;
pub mod protocol;
pub mod special;

pub use error::{Error, ErrorKind, Result};
pub use evaluation::{Evaluation, Method};
pub use metric::{Analysis, Metric};
pub use output::Output;
pub use prior::Prior;
pub use protocol::{Channel, Protocol};
