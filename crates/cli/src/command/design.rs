//! `sottovoce design`.

use clap::{Args, ValueEnum};
use sottovoce_job::render::{Document, Render};
use sottovoce_job::{Axis, DesignReport, DesignRequest, Format, Result as JobResult, read_prior, share};

use crate::arguments::{LongArguments, PictureArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce design --a 6 --epsilon 1
      The protocol with the largest asymptotic utility at LDP level 1, with a proof
      that none is better, and the usual protocols for comparison.

  sottovoce design --a 4 --epsilon 2 --min-average-privacy 0.7 -o best.json
      Limits the worst case and the average; the protocol goes to a file that every
      other command reads.

  sottovoce design --a 6 --epsilon 1 --n 500
      The best protocol that a search finds for 500 users, how much better it is there
      than the one for many users, and a bound on all others.

  sottovoce design --a 4 --epsilon 2 -o - | sottovoce describe -p -
      The protocol alone, for another command.

  sottovoce design --a 3 --frontier --format csv
      The best F_mu at every level of average privacy, with GRR, RAPPOR, OUE and
      BLH below it.

  sottovoce design --a 3 --epsilon 0.5 -r '{\"kind\":\"points\",
      \"weights\":[0.5,0.5],\"points\":[[0.6,0.3,0.1],[0.2,0.3,0.5]]}'
      The protocol whose single report tells two hypotheses apart best.";

/// The best protocol for a privacy requirement, with a certificate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DesignArguments {
    /// Number of values
    #[arg(long = "a", value_name = "A")]
    inputs: usize,
    /// Largest LDP level
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Least average privacy S_mu, such as 0.9 or 90%
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = share)]
    min_average_privacy: Option<f64>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    /// The protocol whose reports tell most about the distribution at this number of users, instead of asymptotically
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = number_of_users, conflicts_with = "frontier")]
    users: Option<u64>,
    /// The whole curve of utility against privacy; with it, -o is the file for the curve
    #[arg(long, conflicts_with = "min_average_privacy")]
    frontier: bool,
    /// The privacy along the curve
    #[arg(long, value_enum, default_value_t, requires = "frontier")]
    against: AxisArgument,
    /// Number of points of the curve
    #[arg(long, value_name = "COUNT", default_value_t = 19, requires = "frontier")]
    points: usize,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

/// The privacy along the curve, as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AxisArgument {
    /// Average privacy: up to 6 values for asymmetric priors, 10 for symmetric ones
    #[default]
    #[value(name = "s_mu")]
    Average,
    /// Worst-case privacy
    #[value(name = "s_wc")]
    WorstCase,
}

/// `-o` is the file for the protocol, and the report goes to standard output, unless the protocol does (`-o -`). With `--frontier`, and for pages
/// and tables, `-o` is the file for the report.
pub(crate) fn run(arguments: &DesignArguments) -> Result {
    let format: Format = arguments.long.output.format.into();
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    if !watch.interrupted() {
        arguments.picture.write(&report.text(), arguments.long.output.quiet)?;
    }
    match &report {
        DesignReport::Best(found) if !matches!(format, Format::Html | Format::Csv) => {
            let asked = arguments.long.output.output.is_some() && !watch.interrupted();
            if asked {
                // Unwrap safety: a specification has text keys, and writing to a string does not fail.
                let protocol = serde_json::to_string(&found.best.protocol).unwrap() + "\n";
                watch.write(&arguments.long.output, &Document::plain(protocol))?;
            }
            if asked && arguments.long.output.file().is_none() {
                return Ok(());
            }
            watch.print(&arguments.long.output, &report.render(format))
        }
        _ => watch.write(&arguments.long.output, &report.render(format)),
    }
}

fn request(arguments: &DesignArguments) -> JobResult<DesignRequest> {
    let against = match arguments.against {
        AxisArgument::Average => Axis::Average,
        AxisArgument::WorstCase => Axis::WorstCase,
    };
    Ok(DesignRequest {
        a: arguments.inputs,
        epsilon: arguments.epsilon,
        min_average_privacy: arguments.min_average_privacy,
        prior: read_prior(&arguments.prior)?,
        n: arguments.users,
        frontier: arguments.frontier,
        against: arguments.frontier.then_some(against),
        points: arguments.frontier.then_some(arguments.points),
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}
