//! `sottovoce split`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{Result as JobResult, SplitRequest, read_prior, read_protocol};

use crate::arguments::{LongArguments, PictureArguments, SubjectArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce split -p grr:a=3,eps=2 --n 100
      What 100 users know, and how much of it randomised response reveals to the aggregator.

  sottovoce split -p grr:a=16,eps=1 --n 10000 --tolerance 0.05
      Too many cases to visit them all: Monte Carlo with a standard error.

  sottovoce split -p grr:a=3,eps=2 --n 100 --format html -o split.html --picture split.svg
      The same as a page for a browser, and its charts as pictures.

  sottovoce split -p protocol.toml -r symmetric:alpha=1 --n 1000 --format json
      For a program to read.";

/// What the users know and what the reports reveal, as the paper's information split.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SplitArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// Number of users
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = number_of_users)]
    users: u64,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &SplitArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let split = job.run(&|progress| watch.hear(progress))?;
    arguments.picture.write(&split.text(), arguments.long.output.quiet)?;
    arguments.long.write(&watch, &split)
}

fn request(arguments: &SplitArguments) -> JobResult<SplitRequest> {
    Ok(SplitRequest {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        n: arguments.users,
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}
