//! Studies: several questions to the same people, as ordinary collections.
//!
//! A study has questions, joint questions (whose cross-table is wanted) and a plan. Joint questions link their questions to *groups*; the domain of a
//! group is the product of those of its questions. For each group there is a *collection*: an ordinary protocol on that domain, with ordinary files of
//! reports and tallies. As one protocol on the product `X` of all domains, the study is
//!
//! ```text
//! sample  mixture of (project on group g, then Q_g) with weights w_g    LDP = max_g ε_g    S_μ = 1 − Σ w_g I_g / Σ H_g
//! split   product of (project on question j, then Q_j)                  LDP = Σ_j ε_j      S_μ = 1 − Σ I_g / Σ H_g
//! joint   product of (project on group g, then Q_g)                     LDP = Σ_g ε_g      S_μ = 1 − Σ I_g / Σ H_g
//! ```
//!
//! where the distributions of different groups are independent under the prior, `I_g = I(X_g; Y_g | P)` and `H_g = H(X_g | P)`.
//!
//! | file | what |
//! |---|---|
//! | `file.rs` | a study as written |
//! | `groups.rs` | a valid study: groups and collections |
//! | `problem.rs` | what can be wrong with it |
//! | `expected.rs` | expected errors, in closed form |
//! | `memoised.rs` | permanent reports and rounds that draw from them |
//! | `strategies.rs` | how each strategy spends epsilon or people best |
//! | `plan.rs` | the job `plan` |
//! | `randomise.rs`, `tally.rs` | the jobs `randomise_study` and `tally_study` |
//! | `analyse.rs` | the job `analyse` |

mod analyse;
mod expected;
mod file;
mod groups;
mod memoised;
mod plan;
mod problem;
mod randomise;
mod strategies;
mod tally;

pub use analyse::{
    AnalyseJob, AnalyseReport, AnalyseRequest, Believed, CollectionPosterior, CrossRow, CrossTable,
    LabelledShare, NumberSummary, QuestionShares,
};
pub use file::{
    Edge, Joint, Noise, Plan, PlannedCollection, Question, Strategy, StudyFile, VERSION, read_study,
    study_schema,
};
pub use groups::{Collection, Group, MAX_CELLS, Study};
pub use plan::{
    CollectionPlan, OtherProtocol, PlanJob, PlanReport, PlanRequest, PlannedRounds, PlannedStrategy,
    TableError,
};
pub use problem::StudyProblem;
pub use randomise::{
    CollectionReports, RandomiseStudyJob, RandomiseStudyReport, RandomiseStudyRequest, Remembering,
    ReportFormat,
};
pub use tally::{CollectionTallies, TallyStudyJob, TallyStudyReport, TallyStudyRequest};
