//! What can be wrong with a study, or with its files.

use thiserror::Error;

use super::file::VERSION;
use super::groups::MAX_CELLS;
use crate::error::Error;
use crate::source::Source;
use crate::spec::shown;

/// What is wrong with a study. Names are quoted in part if they are long.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StudyProblem {
    /// Something else than an object.
    #[error("{found} is not a study; a study is an object with the keys version, question and plan")]
    NoStudy {
        /// What was written.
        found: String,
    },
    /// A key or a type that does not fit.
    #[error("{message}")]
    Form {
        /// What the reader said.
        message: String,
    },
    /// A version that does not exist.
    #[error("version {found} does not exist; this program reads version {VERSION}")]
    Version {
        /// The version.
        found: u64,
    },
    /// No question at all.
    #[error("there is no question")]
    NoQuestion,
    /// A name that no file could have.
    #[error(
        "the question name `{}` cannot be that of a file; it has 1 to 100 bytes, none of / \\ : * ? \" < > | and control characters, and neither begins with a point nor begins or ends \
         with a space (the key `column` may name any column)",
        shown(name)
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two questions, or two groups of them, of one name.
    #[error("two questions or groups of questions have the name `{}`", shown(name))]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A question without possible answers, or with two kinds of them.
    #[error("the question `{}` needs either labels or bins", shown(name))]
    NoAnswers {
        /// The question.
        name: String,
    },
    /// Too few answers.
    #[error("the question `{}` has {found} possible answers; it needs at least 2", shown(name))]
    FewAnswers {
        /// The question.
        name: String,
        /// How many it has.
        found: usize,
    },
    /// Two answers with the same label.
    #[error("the question `{}` has the label `{}` twice", shown(name), shown(label))]
    DuplicateLabel {
        /// The question.
        name: String,
        /// The label.
        label: String,
    },
    /// Bins that overlap.
    #[error("the bins of the question `{}` overlap: the edge {edge} is not above {before}", shown(name))]
    Bins {
        /// The question.
        name: String,
        /// The edge.
        edge: f64,
        /// The edge before it.
        before: f64,
    },
    /// A prior of a question that is asked together with others.
    #[error("the question `{}` is part of a joint question and cannot have a prior of its own", shown(name))]
    JointPrior {
        /// The question.
        name: String,
    },
    /// A prior that does not fit its question.
    #[error("the prior of the question `{}`: {problem}", shown(name))]
    Prior {
        /// The question.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A joint question with an unknown part.
    #[error("a joint question names `{}`, which is no question", shown(name))]
    UnknownQuestion {
        /// The name.
        name: String,
    },
    /// A joint question of fewer than two questions.
    #[error("a joint question needs at least two different questions")]
    JointOfOne,
    /// Too many combinations of answers.
    #[error("the questions {group} have {cells} combinations of answers; at most {MAX_CELLS} can be asked together", group = shown(group))]
    TooLarge {
        /// The group of questions.
        group: String,
        /// How many combinations.
        cells: u128,
    },
    /// A number of the plan out of range.
    #[error("plan.{name} = {value} is not {allowed}")]
    PlanNumber {
        /// The key.
        name: &'static str,
        /// What was given.
        value: String,
        /// The allowed range in words.
        allowed: &'static str,
    },
    /// Planned collections that are not the groups of questions.
    #[error(
        "plan.collection must have one entry for each of the groups of questions, in this order: {groups}"
    )]
    OtherCollections {
        /// The groups.
        groups: String,
    },
    /// Shares of some collections only, or not adding up to 1.
    #[error(
        "the shares of plan.collection must be given for all or none, each above 0, and add up to 1 (they add up to {sum})"
    )]
    Shares {
        /// What they add up to.
        sum: f64,
    },
    /// Shares without the strategy that gives them their meaning.
    #[error("plan.collection has shares or protocols, which mean something only with plan.strategy")]
    NoStrategy,
    /// A study whose plan has not been completed.
    #[error(
        "the plan is not complete: it needs a strategy and the protocols of each collection, which the job `plan` fills in"
    )]
    NotPlanned,
    /// Another number of protocols than a collection needs.
    #[error("the collection `{}` has {found} protocols; with the strategy {strategy} it needs {needed}", shown(name), strategy = strategy)]
    ProtocolCount {
        /// The collection.
        name: String,
        /// The strategy.
        strategy: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A protocol that does not fit its question.
    #[error("the collection `{}`: {problem}", shown(name))]
    Protocol {
        /// The collection.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Protocols that spend more than the budget.
    #[error(
        "a person's reports would have LDP level {level} in each round, above the {allowed} that plan.epsilon allows"
    )]
    AboveBudget {
        /// The level of one round.
        level: f64,
        /// What one round may have.
        allowed: f64,
    },
    /// A round that does not exist.
    #[error("round {round} does not exist; the study has {rounds}")]
    NoRound {
        /// What was asked for.
        round: u64,
        /// How many there are.
        rounds: u64,
    },
    /// Rounds without the number of one.
    #[error("the study has {rounds} rounds; say which one this is")]
    WhichRound {
        /// How many there are.
        rounds: u64,
    },
    /// A memoised round without a memo.
    #[error(
        "the noise of this study is memoised: a round needs the memo of the permanent reports, and the column that names each person. Without them it would be drawn anew and spend epsilon again"
    )]
    NoMemo,
    /// A memo for a study whose noise is fresh.
    #[error(
        "the noise of this study is fresh, and no memo is used (plan.noise = \"memoised\" would use one)"
    )]
    NoUseForMemo,
    /// A later round whose memo is not there.
    #[error(
        "{memo}: this memo does not exist. It was made in round 1; with new permanent reports in round {round} all people would spend epsilon again"
    )]
    LostMemo {
        /// The file.
        memo: String,
        /// The round.
        round: u64,
    },
    /// Protocols for drawing from permanent reports that do not fit.
    #[error(
        "the collection `{}`: `then` says for each of its protocols how a round draws from the permanent report, and only if the noise is memoised",
        shown(name)
    )]
    Then {
        /// The collection.
        name: String,
    },
    /// A file that is not of this study.
    #[error(
        "{file}: was made for another version of the study: its protocol or its labels are not those of the collection `{}`. The study was changed after collection began; use the study as \
         it was, or begin again elsewhere",
        shown(collection)
    )]
    Changed {
        /// The file.
        file: String,
        /// The collection.
        collection: String,
    },
    /// A table of people without the column of a question, or of the person.
    #[error("{file}: has no column `{}`, which is needed for the study", shown(column))]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A collection without its file.
    #[error("{directory}: has no file of the collection `{}` ({wanted})", shown(collection))]
    NoFile {
        /// The directory.
        directory: String,
        /// The collection.
        collection: String,
        /// What its file would be called.
        wanted: String,
    },
    /// Neither a number of users nor a wanted accuracy.
    #[error("a plan needs a number of users n, a wanted accuracy, or both")]
    NothingAsked,
}

impl StudyProblem {
    /// The error that a study has this problem.
    pub(crate) fn found_in(self, source: &Source) -> Error {
        Error::Study { source_name: source.clone(), problem: Box::new(self) }
    }
}
