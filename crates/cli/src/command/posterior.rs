//! `sottovoce posterior`.

use std::path::PathBuf;

use clap::Args;
use sottovoce_job::posterior::draws_csv;
use sottovoce_job::render::Render;
use sottovoce_job::{PosteriorSpec, Result as JobResult, read_prior, read_protocol};

use crate::arguments::{LongArguments, PictureArguments, SubjectArguments};
use crate::failure::Result;
use crate::output::write_file;

const EXAMPLES: &str = "\
Examples:
  sottovoce posterior -p grr:a=16,eps=1 --tallies tallies.json
      How common each value is, with 90 % intervals.

  sottovoce posterior -p P.json --tallies T.json --picture P.svg
      Also a picture: intervals, the prior behind and the linear estimate beside them.

  sottovoce posterior -p P.json --tallies T.json --draws 4000 --draws-out D.csv
      Also four thousand joint draws of all frequencies.

  sottovoce posterior -p grr:a=2,eps=1.6 --level 0.95 \\
      --tallies '{\"counts\":[{\"y\":0,\"count\":1604},{\"y\":1,\"count\":831}]}'
      Tallies may be written on the command line.

A tallies file is {\"n\": 1000, \"counts\": [{\"y\": 0, \"count\": 17}, …]}, where y is an
output: a number; for unary encoding and subset selection the list of inputs
whose bit is set; for local hash [seed, z]; for a mixture [part, y]; for a
product [y, y, …].";

/// What tallies say about the distribution of the values, and about the population itself.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PosteriorArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// The tallies: a file, inline JSON, or `-`
    #[arg(long, value_name = "T")]
    tallies: String,
    /// Probability of the intervals
    #[arg(long, value_name = "L", default_value_t = 0.9, allow_negative_numbers = true)]
    level: f64,
    /// Number of joint draws to write; Markov chains keep at most 4000
    #[arg(long, value_name = "K", default_value_t = 1000)]
    draws: usize,
    /// Write joint draws of all frequencies to this CSV file
    #[arg(long, value_name = "FILE.csv")]
    draws_out: Option<PathBuf>,
    /// Points of each marginal density, in JSON
    #[arg(long, value_name = "K", default_value_t = 0)]
    grid: usize,
    /// Give the answer of Markov chains that have not converged, with a warning
    #[arg(long)]
    allow_unconverged: bool,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &PosteriorArguments) -> Result {
    let job = spec(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(Some(&|progress| watch.hear_draws(progress)))?;
    if let Some(path) = &arguments.draws_out {
        write_file(path, draws_csv(&report).as_bytes())?;
    }
    arguments.picture.write(&report.text(), arguments.long.output.quiet)?;
    arguments.long.write(&watch, &report)
}

fn spec(arguments: &PosteriorArguments) -> JobResult<PosteriorSpec> {
    Ok(PosteriorSpec {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        tallies: arguments.tallies.clone(),
        level: arguments.level,
        draws: if arguments.draws_out.is_some() { arguments.draws } else { 0 },
        grid: arguments.grid,
        choice: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
        unconverged: arguments.allow_unconverged,
    })
}
