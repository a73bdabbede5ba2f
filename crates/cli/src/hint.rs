//! The next step to try after an error, in the words of the command line: the libraries do not know the names of its flags.

use sottovoce_job::{CollectionError, Contents, EndProblem, Error, NumbersError, StudyProblem, ValueProblem};
use sottovoce_server::Error as ServiceError;
use sottovoce_server::store::StoreProblem;

/// What to try next, if there is a likely remedy.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::Collection(problem) | Error::Tallies { problem, .. } => hint_for_files(problem)?,
        Error::Numbers(NumbersError::TooMuchMemory { .. }) => "allow more with --max-memory",
        Error::Numbers(NumbersError::Unconverged { .. }) => {
            "allow more time with --time-limit, or take the answer as it is with --allow-unconverged"
        }
        Error::MissingUsers { .. } => "give the number of users with --n",
        Error::NothingWanted => "give --digits, --decimal-digits, --u-distr or --accuracy",
        Error::Setting { name: "accuracy", .. } => "write 0.01 or 1% for one percentage point",
        Error::Study { problem, .. } => hint_for_study(problem)?,
        other => return other.hint(),
    };
    Some(hint.into())
}

/// What to try next with a service.
pub(crate) fn hint_for_service(error: &ServiceError) -> Option<&'static str> {
    match error {
        ServiceError::Address { .. } => {
            Some("name another address with --address; port 0 takes any free one")
        }
        ServiceError::Store(StoreProblem::OtherStudy { .. }) => {
            Some("name another directory with --data, or another database with --store")
        }
        ServiceError::Store(StoreProblem::InUse { .. }) => {
            Some("several services side by side need a database: --store postgres://…")
        }
        _ => None,
    }
}

/// What to try next with a study.
fn hint_for_study(problem: &StudyProblem) -> Option<&'static str> {
    match problem {
        StudyProblem::NotPlanned => {
            Some("complete it with `sottovoce plan STUDY --n N -o FILE`, and use that file")
        }
        StudyProblem::WhichRound { .. } => Some("name the round with --round"),
        StudyProblem::NoMemo => {
            Some("give the file with --memo, and the column of the person's name with --person")
        }
        StudyProblem::LostMemo { .. } => Some(
            "find the memo; without it, only people who were not asked before may be asked, as round 1 of a study of their own",
        ),
        _ => None,
    }
}

/// What to try next with the files of a collection.
fn hint_for_files(problem: &CollectionError) -> Option<&'static str> {
    use CollectionError as Problem;
    let hint = match problem {
        Problem::Value { problem: ValueProblem::NoLabels, .. } => {
            "nothing was written; name the values in the protocol, as in grr:a=3,eps=1,labels=red/green/blue"
        }
        Problem::Value { problem: ValueProblem::NumberForLabel, .. } => {
            "nothing was written; if this is the wrong column, name the right one with --column"
        }
        Problem::Value { .. } => {
            "nothing was written; --on-error skip leaves such values out and counts them"
        }
        Problem::ColumnValue { .. } => {
            "nothing was written; --on-error skip leaves such people out and counts them"
        }
        Problem::NoColumn { wanted: Contents::Values, .. } => "name the column of the values with --column",
        Problem::NoColumn { wanted: Contents::Reports, .. }
        | Problem::NoValueColumn { wanted: Contents::Reports, .. } => {
            "reports have a column `report`; `sottovoce randomise` makes reports from values"
        }
        Problem::NoValueColumn { wanted: Contents::Values, .. } => {
            "the first line must name the columns; say which one has the values with --column"
        }
        Problem::NoProtocol { .. } => "give the protocol with --protocol",
        Problem::NoPatterns => "tally the reports with --form patterns",
        Problem::TooManyPatterns { .. } => "use --form supports",
        Problem::Overlap { .. } => {
            "if these are different collections that happen to agree, use --allow-copies"
        }
        Problem::Incomplete { problem: EndProblem::After { .. }, .. } => {
            "give several files one by one, instead of joining them into one"
        }
        Problem::WrongDigest => "if the change was intended, remove the key `digest`",
        Problem::NotAFile { .. } => "name it by itself, or use a pattern such as 'days/*/*.csv'",
        _ => return None,
    };
    Some(hint)
}
