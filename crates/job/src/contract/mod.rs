//! The contract of every job, whoever asks: request → check → job → run → report.
//!
//! A request is what JSON such as `{"job": "metrics", "protocol": "grr:a=16,eps=1", "n": 1000}` says, a report is what
//! `--format json` prints. Both are plain types with serde and a JSON schema. Requests refuse unknown fields, and never open a
//! file that a protocol or a prior names: a text there is a shorthand.
//!
//! | file | what |
//! |---|---|
//! | `jobs.rs` | the list of all jobs: [`Request`], [`Job`], [`Report`] |
//! | `written.rs`, `whole.rs`, `method.rs` | protocols, priors, whole numbers, lists and methods in requests |
//! | `number.rs`, `name.rs`, `answer.rs`, `text.rs` | numbers, names, answers and sentences in reports |
//! | `schema.rs` | JSON schemas of both |

mod answer;
mod jobs;
mod method;
mod name;
mod number;
mod schema;
mod text;
mod whole;
mod written;

pub(crate) use answer::{AnswerFields, EvaluationFields, answer, answers, evaluation, optional_evaluation};
pub use jobs::{Job, Report, Request, read_request};
pub use method::MethodChoice;
pub(crate) use name::{Name, NameOrAll, Named, by_name};
pub use number::Number;
pub(crate) use number::{number, optional_number};
pub(crate) use text::{as_optional_text, as_text, as_texts};
pub(crate) use whole::{OneOrMore, Whole, count, one_or_more, optional_count, optional_whole, whole};
pub(crate) use written::Specification;
