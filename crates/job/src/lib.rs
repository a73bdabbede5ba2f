//! What the front ends of sottovoce share: specifications in, jobs run, answers rendered.
//!
//! Each job is the same walk, whether it starts on a command line, in Python or on a web page:
//!
//! ```text
//! Spec (what the user wrote) → check() → Job (valid) → run() → Report → render → text | json | csv | html
//! ```
//!
//! ```
//! use sottovoce_job::{MetricsSpec, read_protocol};
//!
//! let spec = MetricsSpec { metrics: vec!["ldp".into()], ..MetricsSpec::of(read_protocol("grr:a=16,eps=1")?) };
//! let report = spec.check()?.run();
//! assert_eq!(report.evaluations[0].answer.number().unwrap().value, 1.0);
//! # Ok::<(), sottovoce_job::Error>(())
//! ```
//!
//! Nothing here prints, colours or parses arguments.

pub mod accuracy;
pub mod admission;
pub mod budget;
pub mod choose;
pub mod collection;
pub mod compare;
pub mod demo;
pub mod describe;
pub mod design;
pub mod error;
pub mod estimate;
pub mod expected_error;
pub mod explain;
pub mod figures;
pub mod merge;
pub mod metrics;
pub mod posterior;
pub mod quantity;
pub mod randomise;
pub mod render;
pub mod share;
pub mod source;
pub mod spec;
pub mod split;
mod subject;
mod suggestion;
pub mod tally;
pub mod users;

pub use accuracy::{AccuracyReport, AccuracySpec};
pub use budget::{BudgetReport, BudgetSpec};
pub use choose::{ChooseReport, ChooseSpec};
pub use collection::Summary;
pub use compare::{CompareSpec, Comparison};
pub use describe::{DescribeSpec, Description};
pub use design::{Axis, DesignReport, DesignSpec, Frontier, FrontierSpec};
pub use error::{Error, ErrorKind, Expected, FieldProblem, Result, Specified};
pub use estimate::{EstimateReport, EstimateSpec};
pub use expected_error::ErrorMeasure;
pub use sottovoce::{Error as NumbersError, Metric, Protocol, Stop, stop};

pub use merge::MergeSpec;
pub use metrics::{MetricsJob, MetricsReport, MetricsSpec};
pub use posterior::{PosteriorReport, PosteriorSpec};
pub use randomise::RandomiseSpec;
pub use render::Format;
pub use share::share;
pub use sottovoce::information::{Choice, Progress};
pub use sottovoce::metric::{Settings, Sought, Step, Watcher};
pub use sottovoce_collect::tally::Counted;
pub use sottovoce_collect::{
    Contents, EndProblem, Error as CollectionError, Form, Replacement, ValueProblem, destination, replacement,
};
pub use source::{Source, Written};
pub use spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec, read_prior, read_protocol};
pub use split::{Split, SplitSpec};
pub use tally::TallySpec;
pub use users::{ExpectedError, Target, UsersReport, UsersSpec, Wanted};
