//! `sottovoce run`.

use clap::Args;
use sottovoce_job::read_request;
use sottovoce_job::render::Render;

use crate::arguments::OutputArguments;
use crate::failure::Result;
use crate::watch::Watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce run request.json --format json
      The job that the file asks for, with its report as JSON.

  echo '{\"job\": \"metrics\", \"protocol\": \"grr:a=16,eps=1\"}' | sottovoce run -
      A request from standard input.

  sottovoce run '{\"job\": \"split\", \"protocol\": {\"kind\": \"grr\", \"a\": 3, \"epsilon\": 2}, \"n\": 100}'
      A request on the command line.

The key `job` has the name of a command; the other keys are its long flags, with
`_` for `-`. A protocol or prior is an object or a shorthand, but not a file.
`sottovoce schema JOB` prints what a request may contain.";

/// Any job, as a JSON request asks for it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArguments {
    /// The request: a JSON file, inline JSON, or `-` for standard input
    request: String,
    /// Number of threads [default: one for each processor]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &RunArguments) -> Result {
    let job = read_request(&arguments.request)?.check()?;
    let watch = Watch::new(arguments.output.quiet);
    let report = job.run(&|progress| watch.hear(progress))?;
    watch.write(&arguments.output, &report.render(arguments.output.format.into()))
}
