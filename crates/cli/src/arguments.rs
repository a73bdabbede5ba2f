//! The commands, and the flags that they have in common.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sottovoce_job::{Choice, Format};

use crate::command::{
    completions::CompletionsArguments, demo::DemoArguments, describe::DescribeArguments,
    metrics::MetricsArguments, schema::SchemaArguments,
};

/// How private is a local differential privacy protocol, and how useful?
///
/// Every user adds noise to a secret value before sending it. sottovoce says, in the units of information theory, how much
/// of each secret stays hidden and how much the reports tell about all users together.
#[derive(Debug, Parser)]
#[command(name = "sottovoce", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sottovoce demo                                          a complete small story
  sottovoce metrics -p grr:a=16,eps=1                     all metrics of randomised response
  sottovoce describe -p '{\"kind\":\"ue\",\"a\":3,\"kappa\":0.7,\"lambda\":0.2}'
  sottovoce schema protocol                               what a protocol file may contain

A protocol is a .json or .toml file, inline JSON, `-` for standard input, or a
shorthand:
  identity:a=3   grr:a=16,eps=1   ue:a=8,kappa=0.7,lambda=0.2   oue:a=100,eps=2
  lh:a=100,eps=1   subset:a=16,k=4,eps=1   deterministic:map=0/0/1
  erasure:a=4,reveal=0.3   matrix:rows=0.7/0.3//0.3/0.7

Exit codes: 0 done, 2 bad input, 1 anything else.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Privacy and utility of a protocol, metric by metric
    Metrics(MetricsArguments),
    /// What a protocol is: its outputs, matrix, LDP level and structure
    Describe(DescribeArguments),
    /// A complete small story on embedded data
    Demo(DemoArguments),
    /// The JSON schema of a protocol or prior
    Schema(SchemaArguments),
    /// A completion script for a shell
    Completions(CompletionsArguments),
}

/// Where the output goes, and how it looks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// How the output looks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: FormatArgument,
    /// Write to a file instead of standard output; an old file is replaced only when the new one is complete
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Say nothing on standard error but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How the computation runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct ComputationArguments {
    /// Seed of all random draws; the same seed gives the same output
    #[arg(long, default_value_t)]
    pub(crate) seed: u64,
    /// Number of threads [default: one for each processor]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

impl ComputationArguments {
    /// Sets the number of threads, if one was given.
    pub(crate) fn set_threads(&self) {
        if let Some(threads) = self.threads {
            // The pool is set up once in the life of the process, and nothing has used it before.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
            let _ = pool.build_global();
        }
    }
}

/// The formats of output, as arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArgument {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Self {
        match format {
            FormatArgument::Text => Format::Text,
            FormatArgument::Json => Format::Json,
            FormatArgument::Csv => Format::Csv,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        Arguments::command().debug_assert();
    }
}

/// Which method to use for what depends on the number of users.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum MethodArgument {
    /// Exact where that is affordable, Monte Carlo beyond
    #[default]
    Auto,
    /// Exact or not at all
    Exact,
    /// Monte Carlo, also where an exact method would do
    MonteCarlo,
    /// The limit for many users; its error is unknown
    Asymptote,
}

impl From<MethodArgument> for Choice {
    fn from(method: MethodArgument) -> Self {
        match method {
            MethodArgument::Auto => Choice::Automatic,
            MethodArgument::Exact => Choice::Exact,
            MethodArgument::MonteCarlo => Choice::MonteCarlo,
            MethodArgument::Asymptote => Choice::Asymptote,
        }
    }
}
