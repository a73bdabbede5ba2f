//! `sottovoce posterior`.

use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use clap::Args;
use sottovoce_job::posterior::{Draws, draws_csv, draws_parquet};
use sottovoce_job::render::Render;
use sottovoce_job::{PosteriorReport, PosteriorRequest, Result as JobResult, share};

use crate::arguments::{CollectedArguments, LongArguments, PictureArguments};
use crate::failure::{Failure, Result, say};
use crate::output::write_file;

const EXAMPLES: &str = "\
Examples:
  sottovoce posterior -p grr:a=16,eps=1 --tallies tallies.json
      The share of each value, with 90 % credible intervals.

  sottovoce posterior -t T.json --picture P.svg
      The tallies of `sottovoce tally` name their protocol. Also a picture of the intervals,
      with the prior and the linear estimate for comparison.

  sottovoce posterior -t T.json --draws 4000 --draws-out D.csv
      Also four thousand joint draws of all shares.

  sottovoce posterior -t T.json --of 'share(Masters, Doctorate)' --of 'Masters - Doctorate'
      The share of a group of values, and a difference, each with its interval.

  sottovoce posterior -t week2.json --against week1.json --of Masters
      How much a share has changed between two collections.

  sottovoce posterior -t version1.json -t version2.json
      Two collections of the same values under different protocols or epsilons, together.

  sottovoce posterior -p grr:a=2,eps=1.6 --level 0.95 \\
      --tallies '{\"counts\":[{\"y\":0,\"count\":1604},{\"y\":1,\"count\":831}]}'
      Tallies on the command line.

Expressions: LABEL or share(LABEL, …); mean() and quantile(Q) of labels that are numbers or bins such
as [20, 35) or 20-35; A - B and A / B of two of these, with spaces around the dash; rank(LABEL), top(K)
and largest(). Labels with spaces or special characters stand in double quotes.

A tallies file is {\"n\": 1000, \"counts\": [{\"y\": 0, \"count\": 17}, …]}, where y is an
output: a number; for unary encoding and subset selection the list of inputs
whose bit is set; for local hash [seed, z]; for a mixture [part, y]; for a
product [y, y, …].";

/// The posterior of the values' distribution and of the population's counts, given tallies.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PosteriorArguments {
    #[command(flatten)]
    collected: CollectedArguments,
    /// What is asked of the distribution, in terms of its labels; several times for several questions
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    of: Vec<String>,
    /// Tallies of another collection of the same values, with which --of is compared
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    against: Vec<String>,
    /// Probability of the credible intervals, such as 0.95 or 95%
    #[arg(long, value_name = "L", default_value = "0.9", value_parser = share, allow_negative_numbers = true)]
    level: f64,
    /// Number of joint draws to write
    #[arg(long, value_name = "K", default_value_t = 1000)]
    draws: usize,
    /// Write joint draws of all shares to this file: Parquet if its name ends in .parquet, CSV otherwise
    #[arg(long, value_name = "FILE")]
    draws_out: Option<PathBuf>,
    /// Points of each marginal density, in JSON
    #[arg(long, value_name = "K", default_value_t = 0)]
    grid: usize,
    /// Accept Markov chains that have not converged, with a warning
    #[arg(long)]
    allow_unconverged: bool,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &PosteriorArguments) -> Result {
    let job = request(arguments)?.check()?;
    arguments.long.output.check()?;
    let watch = arguments.long.watch();
    let mut report = job.run(&|progress| watch.hear(progress))?;
    if let Some(path) = &arguments.draws_out {
        write_draws(&report, path, arguments.draws)?;
        // They have a file of their own.
        report.posterior.draws = Draws::default();
    }
    arguments.picture.write(&report.text(), arguments.long.output.quiet)?;
    arguments.long.write(&watch, &report)
}

fn write_draws(report: &PosteriorReport, path: &Path, wanted: usize) -> Result {
    write_file(path, &draws(report, path)?)?;
    let available = report.posterior.draws.p.len();
    if available < wanted {
        let words = format!("{}: only {available} draws are available", path.display());
        say(AnsiColor::Yellow, "warning", &words);
    }
    Ok(())
}

/// The joint draws in the format that the name of the file asks for.
fn draws(report: &PosteriorReport, path: &Path) -> Result<Vec<u8>> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) {
        let unwritable = |error| Failure::Write { path: Some(path.to_owned()), error };
        return draws_parquet(report).map_err(unwritable);
    }
    Ok(draws_csv(report).into_bytes())
}

fn request(arguments: &PosteriorArguments) -> JobResult<PosteriorRequest> {
    Ok(PosteriorRequest {
        protocol: arguments.collected.protocol()?,
        prior: arguments.collected.prior()?,
        tallies: arguments.collected.written_tallies(),
        of: arguments.of.clone(),
        against: arguments.against.iter().map(|tallies| tallies.as_str().into()).collect(),
        level: arguments.level,
        draws: if arguments.draws_out.is_some() { arguments.draws } else { 0 },
        grid: arguments.grid,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
        allow_unconverged: arguments.allow_unconverged,
    })
}
