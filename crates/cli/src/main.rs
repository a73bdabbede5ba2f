//! The command line tool `sottovoce`: arguments in, text out.
//!
//! Each command is a file in `command/` that reads as its walk: specification → check → run → render → write. All that is
//! not arguments, colours, files or exit codes lives in `sottovoce_job`.

mod arguments;
mod command;
mod failure;
mod hint;
mod limits;
mod output;
mod signals;
mod watch;

use std::process::ExitCode;
use std::time::Instant;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let start = Instant::now();
    signals::watch();
    let parsed = Arguments::command().try_get_matches().and_then(|matches| {
        // Commands that compute have the number of threads.
        let threads = |(_, of): (_, &ArgMatches)| of.try_get_one::<u16>("threads").ok().flatten().copied();
        Ok((matches.subcommand().and_then(threads), Arguments::from_arg_matches(&matches)?))
    });
    let (threads, arguments) = match parsed {
        Ok(parsed) => parsed,
        Err(usage) => {
            // Nobody is left to be told that the pipe is closed.
            let _ = usage.print();
            return ExitCode::from(usage.exit_code() as u8);
        }
    };
    let limits = arguments.limits;
    let work = || match (arguments.command, arguments.explain) {
        (Some(command), _) => run(command),
        (None, Some(metric)) => command::explain::named(&metric),
        // Without arguments the parser has printed the help.
        (None, None) => Ok(()),
    };
    let done = limits::enforced(&limits, threads, start, work);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> failure::Result {
    match command {
        Command::Metrics(arguments) => command::metrics::run(&arguments),
        Command::Split(arguments) => command::split::run(&arguments),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Users(arguments) => command::users::run(&arguments),
        Command::Estimate(arguments) => command::estimate::run(&arguments),
        Command::Accuracy(arguments) => command::accuracy::run(&arguments),
        Command::Posterior(arguments) => command::posterior::run(&arguments),
        Command::Trend(arguments) => command::trend::run(&arguments),
        Command::Describe(arguments) => command::describe::run(&arguments),
        Command::Randomise(arguments) => command::randomise::run(&arguments),
        Command::Tally(arguments) => command::tally::run(&arguments),
        Command::Merge(arguments) => command::merge::run(&arguments),
        Command::Plan(arguments) => command::plan::run(&arguments),
        Command::Analyse(arguments) => command::analyse::run(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Design(arguments) => command::design::run(&arguments),
        Command::Choose(arguments) => command::choose::run(&arguments),
        Command::Budget(arguments) => command::budget::run(&arguments),
        Command::Explain(arguments) => command::explain::run(&arguments),
        Command::Figures(arguments) => command::figures::run(&arguments),
        Command::Demo(arguments) => command::demo::run(&arguments),
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Schema(arguments) => command::schema::run(&arguments),
        Command::Completions(arguments) => command::completions::run(&arguments),
        Command::Manual(arguments) => command::manual::run(&arguments),
    }
}
