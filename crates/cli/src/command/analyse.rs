//! `sottovoce analyse`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{AnalyseRequest, Result as JobResult, read_study, share};

use crate::arguments::{ComputationArguments, OutputArguments, PictureArguments};
use crate::failure::Result;
use crate::watch::Watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce analyse planned.toml tallies/
      The shares of each question, cross-tables, and means of numbers, with intervals.

  sottovoce analyse planned.toml tallies/ --level 95% --format html -o result.html
      The same as a page.";

/// What the tallies of a study say: shares, cross-tables and means, with intervals.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AnalyseArguments {
    /// The study, with its plan: a TOML or JSON file, inline JSON, or `-` for standard input
    study: String,
    /// The directory of the tallies, as `sottovoce tally --study` writes them
    tallies: String,
    /// Which round of the study, if it has several
    #[arg(long, value_name = "K")]
    round: Option<u64>,
    /// Probability of the credible intervals, such as 0.9 or 90%
    #[arg(long, value_name = "L", default_value = "0.9", value_parser = share)]
    level: f64,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &AnalyseArguments) -> Result {
    let job = request(arguments)?.check()?;
    arguments.output.check()?;
    let watch = Watch::new(arguments.output.quiet);
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.picture.write(&report.text(), arguments.output.quiet)?;
    watch.write(&arguments.output, &report.render(arguments.output.format.into()))
}

fn request(arguments: &AnalyseArguments) -> JobResult<AnalyseRequest> {
    Ok(AnalyseRequest {
        study: read_study(&arguments.study)?,
        tallies: arguments.tallies.clone(),
        round: arguments.round,
        level: arguments.level,
        seed: arguments.computation.seed,
    })
}
