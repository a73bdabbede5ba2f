//! `sottovoce demo`.

use clap::Args;
use sottovoce_job::demo::DemoJob;
use sottovoce_job::render::Render;

use crate::arguments::{ComputationArguments, OutputArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce demo
      Six protocols compared, and the best one simulated.

  sottovoce demo --seed 7
      The same with other random draws.

  sottovoce demo --format csv -o frequencies.csv
      True and estimated frequencies as a table.";

/// A complete small story on embedded data.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &DemoArguments) -> Result {
    arguments.computation.set_threads();
    let report = DemoJob { seed: arguments.computation.seed }.run()?;
    arguments.output.write(&report.render(arguments.output.format.into()))
}
