//! `sottovoce plan`.

use clap::{Args, ValueEnum};
use sottovoce_job::render::{Document, Render};
use sottovoce_job::study::Strategy;
use sottovoce_job::{Format, PlanReport, PlanRequest, Result as JobResult, read_study, share};

use crate::arguments::{OutputArguments, PictureArguments, number_of_users};
use crate::failure::Result;
use crate::watch::Watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce plan study.toml --n 30000
      Which strategy and which protocols give the smallest errors.

  sottovoce plan study.toml --accuracy 1% -o planned.toml
      How many people are needed for one percentage point in all tables; the completed study goes
      to planned.toml.

A study file:
  version = 1
  [[question]]
  name = \"hours\"
  bins = [0, 20, 40, 60, 100]
  [[question]]
  name = \"sex\"
  labels = [\"Female\", \"Male\"]
  [[joint]]
  questions = [\"hours\", \"sex\"]
  [plan]
  epsilon = 2";

/// How to ask the questions of a study: strategy, protocols, expected errors, people needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArguments {
    /// The study: a TOML or JSON file, inline JSON, or `-` for standard input
    study: String,
    /// Plan this strategy instead of the study's, or of comparing all
    #[arg(long, value_enum, value_name = "NAME")]
    strategy: Option<StrategyArgument>,
    /// Number of people
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = number_of_users, required_unless_present = "accuracy")]
    users: Option<u64>,
    /// Largest typical error of any share, such as 0.01 or 1% for one percentage point
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share)]
    accuracy: Option<f64>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

/// The strategies, as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StrategyArgument {
    /// Each person answers one group of questions, with the whole epsilon
    Sample,
    /// Each person answers every question by itself, with a share of epsilon
    Split,
    /// Each person answers every group of questions with one report, with a share of epsilon
    Joint,
}

impl From<StrategyArgument> for Strategy {
    fn from(strategy: StrategyArgument) -> Self {
        match strategy {
            StrategyArgument::Sample => Strategy::Sample,
            StrategyArgument::Split => Strategy::Split,
            StrategyArgument::Joint => Strategy::Joint,
        }
    }
}

/// `-o` is the file for the completed study, and the report goes to standard output, unless the study does (`-o -`). For pages and tables, `-o` is the file
/// for the report.
pub(crate) fn run(arguments: &PlanArguments) -> Result {
    let format: Format = arguments.output.format.into();
    let job = request(arguments)?.check()?;
    arguments.output.check()?;
    let watch = Watch::new(arguments.output.quiet);
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.picture.write(&report.text(), arguments.output.quiet)?;
    if matches!(format, Format::Html | Format::Csv) {
        return watch.write(&arguments.output, &report.render(format));
    }
    if arguments.output.output.is_some() {
        watch.write(&arguments.output, &Document::plain(completed(arguments, &report)))?;
        if arguments.output.file().is_none() {
            return Ok(());
        }
    }
    watch.print(&arguments.output, &report.render(format))
}

/// The completed study, in the format that the name of its file asks for.
fn completed(arguments: &PlanArguments, report: &PlanReport) -> String {
    let json = arguments
        .output
        .file()
        .and_then(|path| path.extension())
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if json { report.study.json() } else { report.study.toml() }
}

fn request(arguments: &PlanArguments) -> JobResult<PlanRequest> {
    Ok(PlanRequest {
        study: read_study(&arguments.study)?,
        strategy: arguments.strategy.map(Strategy::from),
        n: arguments.users,
        accuracy: arguments.accuracy,
    })
}
