//! The list of all jobs.

use std::io;

use schemars::Schema;
use serde::{Deserialize, Serialize};
use sottovoce::Observer;

use super::schema::{report_schema, request_schema};
use crate::accuracy::{AccuracyJob, AccuracyReport, AccuracyRequest};
use crate::budget::{BudgetJob, BudgetReport, BudgetRequest};
use crate::choose::{ChooseJob, ChooseReport, ChooseRequest};
use crate::compare::{CompareJob, CompareReport, CompareRequest};
use crate::demo::{DemoJob, DemoReport, DemoRequest};
use crate::describe::{DescribeJob, DescribeReport, DescribeRequest};
use crate::design::{DesignJob, DesignReport, DesignRequest};
use crate::error::{Error, Result};
use crate::estimate::{EstimateJob, EstimateReport, EstimateRequest};
use crate::explain::{ExplainJob, ExplainReport, ExplainRequest};
use crate::figures::{FiguresJob, FiguresReport, FiguresRequest};
use crate::merge::{MergeJob, MergeRequest};
use crate::metrics::{MetricsJob, MetricsReport, MetricsRequest};
use crate::posterior::{PosteriorJob, PosteriorReport, PosteriorRequest};
use crate::randomise::{RandomiseJob, RandomiseReport, RandomiseRequest};
use crate::render::{Document, Render};
use crate::source::{Source, Syntax, locate};
use crate::spec::Tree;
use crate::split::{SplitJob, SplitReport, SplitRequest};
use crate::study::{
    AnalyseJob, AnalyseReport, AnalyseRequest, PlanJob, PlanReport, PlanRequest, RandomiseStudyJob,
    RandomiseStudyReport, RandomiseStudyRequest, TallyStudyJob, TallyStudyReport, TallyStudyRequest,
};
use crate::tally::{TallyJob, TallyReport, TallyRequest};
use crate::trend::{TrendJob, TrendReport, TrendRequest};
use crate::users::{UsersJob, UsersReport, UsersRequest};

/// Makes [`Request`], [`Job`] and [`Report`] from one line for each job: its variant, its name, and its three types.
macro_rules! jobs {
    ($($variant:ident $name:literal: $request:ty => $job:ty => $report:ty;)+) => {
        /// What any job can be asked. In JSON, the key `job` has the name of the job.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "job")]
        #[non_exhaustive]
        pub enum Request {
            $(
                #[doc = concat!("The job `", $name, "`.")]
                #[serde(rename = $name)]
                $variant($request),
            )+
        }

        /// A valid request of any job.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant)] // There is one job at a time.
        pub enum Job {
            $(#[doc = concat!("The job `", $name, "`.")] $variant($job),)+
        }

        /// The report of any job. In JSON it is that of the job itself.
        #[derive(Clone, Debug, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant)] // There is one report at a time, and nothing copies it.
        pub enum Report {
            $(#[doc = concat!("The report of the job `", $name, "`.")] $variant($report),)+
        }

        impl Request {
            /// The names of all jobs.
            pub const JOBS: &[&str] = &[$($name),+];

            /// The name of the job.
            pub fn job(&self) -> &'static str {
                match self {
                    $(Request::$variant(_) => $name,)+
                }
            }

            /// The job, if the request is valid.
            ///
            /// # Errors
            /// Those of the job.
            pub fn check(&self) -> Result<Job> {
                match self {
                    $(Request::$variant(request) => request.check().map(Job::$variant),)+
                }
            }

            /// The JSON schema of the requests of a job, if there is such a job.
            pub fn schema(job: &str) -> Option<Schema> {
                match job {
                    $($name => Some(request_schema::<$request>($name)),)+
                    _ => None,
                }
            }
        }

        impl Job {
            /// Does the job.
            ///
            /// # Errors
            /// Those of the job.
            pub fn run(&self, observer: Observer<'_>) -> Result<Report> {
                match self {
                    $(Job::$variant(job) => job.run(observer).map(Report::$variant),)+
                }
            }
        }

        impl Report {
            /// The JSON schema of the reports of a job, if there is such a job.
            pub fn schema(job: &str) -> Option<Schema> {
                match job {
                    $($name => Some(report_schema::<$report>()),)+
                    _ => None,
                }
            }
        }

        impl Render for Report {
            fn text(&self) -> Document {
                match self {
                    $(Report::$variant(report) => report.text(),)+
                }
            }

            fn json(&self) -> String {
                match self {
                    $(Report::$variant(report) => report.json(),)+
                }
            }

            fn csv(&self) -> String {
                match self {
                    $(Report::$variant(report) => report.csv(),)+
                }
            }
        }

        $(
            impl From<$request> for Request {
                fn from(request: $request) -> Self {
                    Request::$variant(request)
                }
            }
        )+
    };
}

jobs! {
    Metrics "metrics": MetricsRequest => MetricsJob => MetricsReport;
    Describe "describe": DescribeRequest => DescribeJob => DescribeReport;
    Split "split": SplitRequest => SplitJob => SplitReport;
    Accuracy "accuracy": AccuracyRequest => AccuracyJob => AccuracyReport;
    Posterior "posterior": PosteriorRequest => PosteriorJob => PosteriorReport;
    Trend "trend": TrendRequest => TrendJob => TrendReport;
    Estimate "estimate": EstimateRequest => EstimateJob => EstimateReport;
    Randomise "randomise": RandomiseRequest => RandomiseJob => RandomiseReport;
    Tally "tally": TallyRequest => TallyJob => TallyReport;
    Merge "merge": MergeRequest => MergeJob => TallyReport;
    Figures "figures": FiguresRequest => FiguresJob => FiguresReport;
    Demo "demo": DemoRequest => DemoJob => DemoReport;
    Explain "explain": ExplainRequest => ExplainJob => ExplainReport;
    Budget "budget": BudgetRequest => BudgetJob => BudgetReport;
    Users "users": UsersRequest => UsersJob => UsersReport;
    Design "design": DesignRequest => DesignJob => DesignReport;
    Choose "choose": ChooseRequest => ChooseJob => ChooseReport;
    Compare "compare": CompareRequest => CompareJob => CompareReport;
    Plan "plan": PlanRequest => PlanJob => PlanReport;
    RandomiseStudy "randomise_study": RandomiseStudyRequest => RandomiseStudyJob => RandomiseStudyReport;
    TallyStudy "tally_study": TallyStudyRequest => TallyStudyJob => TallyStudyReport;
    Analyse "analyse": AnalyseRequest => AnalyseJob => AnalyseReport;
}

/// A request that would do.
const EXAMPLE: &str = r#"{"job": "metrics", "protocol": "grr:a=16,eps=1"}"#;

impl Request {
    /// Reads a request from JSON. No key may occur twice.
    ///
    /// # Errors
    /// The text is not JSON, has a key twice, names no job, or has a field that is unknown, missing or of the wrong type.
    pub fn of_json(text: &str) -> Result<Self> {
        Self::read(text, &Source::InlineJson)
    }

    fn read(text: &str, source: &Source) -> Result<Self> {
        // Syntax and keys that occur twice are reported with their place, which the second reading no longer knows.
        let tree = Tree::of_json(text, source)?;
        if !matches!(tree, Tree::Object(_)) {
            let problem =
                format!("{} is not a request; a request is an object such as {EXAMPLE}", tree.description());
            return Err(Error::Request { source_name: source.clone(), problem });
        }
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default().to_owned();
            Error::Request { source_name: source.clone(), problem }
        })
    }
}

/// Reads a request: a path to a JSON file, inline JSON, or `-` for standard input.
///
/// # Errors
/// The text cannot be read, or as for [`Request::of_json`].
pub fn read_request(argument: &str) -> Result<Request> {
    let (source, syntax, text) = locate(argument, &[], EXAMPLE)?;
    if syntax == Syntax::Shorthand {
        let (source_name, error) = (Source::File(argument.into()), io::ErrorKind::NotFound.into());
        return Err(Error::Unreadable { source_name, error });
    }
    Request::read(&text, &source)
}
