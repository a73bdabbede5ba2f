//! What the program is asked to do.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sottovoce_collect::Form;

const EXAMPLES: &str = "\
Examples:
  sottovoce-cluster tally 's3://bucket/days/*.parquet' -o tallies.json
      Reads an object store from this machine. Keys, region and endpoint come from AWS_… variables.

  sottovoce-cluster scheduler --bind 10.0.0.1
  sottovoce-cluster executor --scheduler 10.0.0.1:50050 --bind 10.0.0.2
  sottovoce-cluster tally --scheduler 10.0.0.1:50050 's3://bucket/days/*.parquet' -o tallies.json
      The same on many machines.

  sottovoce-cluster tally --by day,version days/ -o tallies/
      One file of tallies for each day and version.";

/// Tallies of reports in object stores, and on many machines.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Gives out the work. One for a cluster
    Scheduler(SchedulerArguments),
    /// Does the work. One or more for a cluster
    Executor(ExecutorArguments),
    /// Counts how often each output was reported
    Tally(TallyArguments),
}

/// Where a scheduler listens.
#[derive(Debug, Args)]
pub(crate) struct SchedulerArguments {
    /// The address to listen on. Whoever reaches it can have work done: there are no passwords and no encryption
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) bind: String,
    /// The port to listen on
    #[arg(long, default_value_t = 50050)]
    pub(crate) port: u16,
    /// Seconds after the last sign of life from an executor when its work is given to others
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(3..))]
    pub(crate) executor_timeout: u64,
    /// Seconds that work waits when all executors are gone
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    pub(crate) grace: u64,
}

/// What an executor has, and whom it works for.
#[derive(Debug, Args)]
pub(crate) struct ExecutorArguments {
    /// The scheduler
    #[arg(long, default_value = "127.0.0.1:50050", value_name = "HOST:PORT")]
    pub(crate) scheduler: String,
    /// The address to listen on, by which the scheduler and the other executors reach it
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) bind: String,
    /// The port for results
    #[arg(long, default_value_t = 50051)]
    pub(crate) port: u16,
    /// The port for commands
    #[arg(long, default_value_t = 50052)]
    pub(crate) command_port: u16,
    /// How many tasks run at once; the number of processors if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) tasks: Option<u64>,
    /// Directory for intermediate results; a temporary one if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,
}

/// What to tally.
#[derive(Debug, Args)]
pub(crate) struct TallyArguments {
    /// Parquet files: paths, directories, patterns, and URLs (s3://, http://, file://; patterns with s3:// too)
    #[arg(required = true)]
    pub(crate) reports: Vec<String>,
    /// The file of tallies, or the directory with --by
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The protocol, for files that do not name it; files that do must agree
    #[arg(short, long)]
    pub(crate) protocol: Option<String>,
    /// What to keep of the reports of unary encoding, subset selection and local hash
    #[arg(long, value_enum, default_value_t = FormArgument::Auto)]
    pub(crate) form: FormArgument,
    /// One tally for each combination of values in these columns
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) by: Vec<String>,
    /// Allow files to have reports in common
    #[arg(long)]
    pub(crate) allow_copies: bool,
    /// Have the work done by the executors of this scheduler, not by this machine
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) scheduler: Option<String>,
    /// How many tasks the work is cut into; 64 with a scheduler, else the number of processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) tasks: Option<u64>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What to keep of reports.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormArgument {
    /// Patterns if there are few, supports otherwise
    Auto,
    /// Each different report with its count
    Patterns,
    /// For each input how many reports support it
    Supports,
}

impl From<FormArgument> for Form {
    fn from(form: FormArgument) -> Self {
        match form {
            FormArgument::Auto => Form::Automatic,
            FormArgument::Patterns => Form::Patterns,
            FormArgument::Supports => Form::Supports,
        }
    }
}
