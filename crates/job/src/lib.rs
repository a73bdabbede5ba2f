//! What the front ends of sottovoce share: requests in, jobs run, reports rendered.
//!
//! Each job is the same walk, whether it starts on a command line, in Python or on a web page:
//!
//! ```text
//! Request (what the user wants) → check() → Job (valid) → run(observer) → Report → render → text | json | csv | html
//! ```
//!
//! ```
//! use sottovoce_job::{MetricsRequest, read_protocol, unobserved};
//!
//! let protocol = read_protocol("grr:a=16,eps=1")?;
//! let request = MetricsRequest { metric: vec!["ldp".into()], ..MetricsRequest::of(protocol) };
//! let report = request.check()?.run(&unobserved)?;
//! assert_eq!(report.evaluations[0].answer.number().unwrap().value, 1.0);
//! # Ok::<(), sottovoce_job::Error>(())
//! ```
//!
//! A request is also JSON, and so is its report ([`Request`], [`Report`]):
//!
//! ```
//! use sottovoce_job::{Request, render::Render, unobserved};
//!
//! let request = Request::of_json(r#"{"job": "metrics", "protocol": "grr:a=16,eps=1", "metric": "ldp"}"#)?;
//! let json = request.check()?.run(&unobserved)?.json();
//! assert!(json.contains(r#""metric":"ldp","n":null,"value":1.0"#));
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
pub mod contract;
pub mod demo;
pub mod describe;
pub mod design;
pub mod error;
pub mod estimate;
pub mod expected_error;
pub mod explain;
pub mod figures;
pub mod functional;
pub mod gathered;
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
pub mod study;
mod subject;
mod suggestion;
pub mod tally;
pub mod time;
pub mod trend;
pub mod users;

pub use accuracy::{AccuracyReport, AccuracyRequest};
pub use budget::{BudgetReport, BudgetRequest};
pub use choose::{ChooseReport, ChooseRequest};
pub use collection::{Identified, WrittenTallies};
pub use compare::{CompareReport, CompareRequest};
pub use contract::{Job, MethodChoice, Report, Request, read_request};
pub use demo::{DemoReport, DemoRequest};
pub use describe::{DescribeReport, DescribeRequest, published};
pub use design::{Axis, DesignReport, DesignRequest};
pub use error::{Error, ErrorKind, Expected, FieldProblem, Result, Specified};
pub use estimate::{EstimateReport, EstimateRequest};
pub use expected_error::ErrorMeasure;
pub use explain::{ExplainReport, ExplainRequest};
pub use figures::{FiguresReport, FiguresRequest};
pub use sottovoce::{Error as NumbersError, Metric, Observer, Progress, Protocol, Stop, stop, unobserved};

pub use merge::{MergeRequest, read_tally};
pub use metrics::{MetricsJob, MetricsReport, MetricsRequest};
pub use posterior::{PosteriorReport, PosteriorRequest};
pub use randomise::{OnError, RandomiseReport, RandomiseRequest};
pub use render::Format;
pub use share::share;
pub use sottovoce::information::{Choice, Sampling};
pub use sottovoce::metric::Settings;
pub use sottovoce_collect::{
    Contents, EndProblem, Error as CollectionError, Replacement, ValueProblem, destination, replacement,
};
pub use source::{Source, Written};
pub use spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec, read_prior, read_protocol};
pub use split::{SplitReport, SplitRequest};
pub use study::{
    AnalyseReport, AnalyseRequest, PlanReport, PlanRequest, RandomiseStudyReport, RandomiseStudyRequest,
    StudyFile, StudyProblem, TallyStudyReport, TallyStudyRequest, read_study, study_schema,
};
pub use tally::{FormChoice, KeptForm, TallyReport, TallyRequest};
pub use trend::{TrendReport, TrendRequest};
pub use users::{ExpectedError, Target, UsersReport, UsersRequest, Wanted};
