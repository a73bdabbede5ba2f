//! The commands, and the flags that they have in common.

use std::path::PathBuf;

use anstyle::AnsiColor;
use clap::{Args, Parser, Subcommand, ValueEnum};
use sottovoce_job::render::Render;
use sottovoce_job::source::Written;
use sottovoce_job::spec::{PriorSpec, ProtocolSpec};
use sottovoce_job::{
    FormChoice, Format, KeptForm, MethodChoice, TallyReport, WrittenTallies, read_prior, read_protocol, share,
};

use crate::command::{
    accuracy::AccuracyArguments as AccuracyCommand, analyse::AnalyseArguments, budget::BudgetArguments,
    choose::ChooseArguments, compare::CompareArguments, completions::CompletionsArguments,
    demo::DemoArguments, describe::DescribeArguments, design::DesignArguments, estimate::EstimateArguments,
    explain::ExplainArguments, figures::FiguresArguments, manual::ManualArguments, merge::MergeArguments,
    metrics::MetricsArguments, plan::PlanArguments, posterior::PosteriorArguments,
    randomise::RandomiseArguments, run::RunArguments, schema::SchemaArguments, serve::ServeArguments,
    split::SplitArguments, tally::TallyArguments, trend::TrendArguments, users::UsersArguments,
};
use crate::failure::say;
use crate::limits::LimitArguments;
use crate::watch::Watch;

/// How private is a local differential privacy protocol, and how useful?
///
/// Every user adds noise to a secret value before sending it. sottovoce says, in the units of information theory, how much
/// of each secret stays hidden and how much the reports tell about all users together.
#[derive(Debug, Parser)]
#[command(name = "sottovoce", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Explain a metric: definition, meaning, range, cost
    #[arg(long, value_name = "METRIC")]
    pub(crate) explain: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

const EXAMPLES: &str = "\
Examples:
  sottovoce demo                                          a complete small story
  sottovoce metrics -p grr:a=16,eps=1                     all metrics of randomised response
  sottovoce split -p grr:a=3,eps=2 --n 100                who knows what, and who learns it
  sottovoce compare -p grr:a=16,eps=1 oue:a=16,eps=1      which of them is best
  sottovoce users -p grr:a=3,eps=2 --digits 1.5           how many users are needed
  sottovoce estimate -p grr:a=3,eps=2 --tallies t.json    from tallies to frequencies
  sottovoce accuracy -p grr:a=3,eps=2 --n 1000            how far off these would be
  sottovoce posterior -p grr:a=3,eps=2 --tallies T.json   frequencies, with intervals
  sottovoce describe -p '{\"kind\":\"ue\",\"a\":3,\"kappa\":0.7,\"lambda\":0.2}'
  sottovoce design --a 6 --epsilon 1                      the best protocol, with a proof
  sottovoce choose --a 16 --n 100000 --epsilon 1          which protocol to use
  sottovoce explain s_mu                                  what a metric means
  sottovoce figures --out figures                         the paper's pictures
  sottovoce run request.json                              any job, as a file asks for it
  sottovoce schema protocol                               what a protocol file may contain

A protocol is a .json or .toml file, inline JSON, `-` for standard input, or a
shorthand:
  identity:a=3   grr:a=16,eps=1   ue:a=8,kappa=0.7,lambda=0.2   oue:a=100,eps=2
  lh:a=100,eps=1   subset:a=16,k=4,eps=1   deterministic:map=0/0/1
  erasure:a=4,reveal=0.3   matrix:rows=0.7/0.3//0.3/0.7

Exit codes: 0 done, 2 bad input, 130 interrupted, 1 anything else.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Privacy and utility of a protocol, metric by metric
    Metrics(MetricsArguments),
    /// What n users know, and how much of it the reports reveal
    Split(SplitArguments),
    /// Several protocols side by side, and which is best
    Compare(CompareArguments),
    /// How many users a target needs
    Users(UsersArguments),
    /// Shares estimated from tallies, with confidence intervals
    Estimate(EstimateArguments),
    /// How far estimated frequencies are off on average
    Accuracy(AccuracyCommand),
    /// The posterior of the values' distribution given tallies, with credible intervals
    Posterior(PosteriorArguments),
    /// A share, a mean or a difference over several collections in order
    Trend(TrendArguments),
    /// What a protocol is: its outputs, matrix, LDP level and structure
    Describe(DescribeArguments),
    /// On the user's side: turn values into reports
    Randomise(RandomiseArguments),
    /// On the aggregator's side: count reports
    Tally(TallyArguments),
    /// Add up several tallies
    Merge(MergeArguments),
    /// How to ask several questions: strategy, protocols, expected errors
    Plan(PlanArguments),
    /// What the tallies of a study say: shares, cross-tables and means
    Analyse(AnalyseArguments),
    /// Collect the reports of a study over HTTP, and show what they say
    Serve(ServeArguments),
    /// The best protocol for a privacy requirement, with a certificate
    Design(DesignArguments),
    /// Which protocol, which epsilon, and are there enough users?
    Choose(ChooseArguments),
    /// What several protocols on the same value spend together
    Budget(BudgetArguments),
    /// What a metric means, how to read it, and what it costs
    Explain(ExplainArguments),
    /// The paper's figures and a few more, as SVG, PNG and CSV
    Figures(FiguresArguments),
    /// A complete small story on embedded data
    Demo(DemoArguments),
    /// Any job, as a JSON request asks for it
    Run(RunArguments),
    /// The JSON schema of a protocol, prior or study, or of a job's request and report
    Schema(SchemaArguments),
    /// A completion script for a shell
    Completions(CompletionsArguments),
    /// Manual pages
    Manual(ManualArguments),
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

/// Where the result of a collection goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CollectionOutput {
    /// The file to write; an old file is replaced only when the new one is complete
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How the summary on standard output looks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: FormatArgument,
    /// Print no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Number of threads [default: one for each processor]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Pictures of the charts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PictureArguments {
    /// Also draw the charts: .svg or .png; a second chart goes to FILE-2
    #[arg(long, value_name = "FILE", value_parser = picture_file)]
    pub(crate) picture: Option<PathBuf>,
}

/// A file that ends in .svg or .png.
fn picture_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let known =
        path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg") || e.eq_ignore_ascii_case("png"));
    if known { Ok(path) } else { Err("a picture is a file that ends in .svg or .png".into()) }
}

/// What it is all about.
#[derive(Debug, Args)]
pub(crate) struct SubjectArguments {
    /// The protocol: a file, inline JSON, `-`, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    pub(crate) protocol: String,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    pub(crate) prior: String,
}

/// What was collected.
#[derive(Debug, Args)]
pub(crate) struct CollectedArguments {
    /// The protocol, if the tallies do not name it: a file, inline JSON, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    protocol: Option<String>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand such as
    /// jeffreys; by default adaptive for more than two values, jeffreys for two
    #[arg(short = 'r', long, value_name = "R")]
    prior: Option<String>,
    /// The tallies: a JSON file, inline JSON, or `-` for standard input; several times for collections of the same
    /// values under different protocols or epsilons
    #[arg(short, long, value_name = "T", required = true, allow_hyphen_values = true)]
    pub(crate) tallies: Vec<String>,
}

impl CollectedArguments {
    /// The protocol, if it was given.
    pub(crate) fn protocol(&self) -> sottovoce_job::Result<Option<Written<ProtocolSpec>>> {
        self.protocol.as_deref().map(read_protocol).transpose()
    }

    /// The tallies.
    pub(crate) fn written_tallies(&self) -> Vec<WrittenTallies> {
        self.tallies.iter().map(|tallies| tallies.as_str().into()).collect()
    }

    /// The prior, if it was given.
    pub(crate) fn prior(&self) -> sottovoce_job::Result<Option<Written<PriorSpec>>> {
        self.prior.as_deref().map(read_prior).transpose()
    }
}

/// How good the numbers are to be.
#[derive(Debug, Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct AccuracyArguments {
    /// Wanted absolute error, in nats [default: 1e-4, and 0.01 for Monte Carlo at a finite number of users]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Method for what depends on the number of users
    #[arg(long, value_enum, default_value_t)]
    pub(crate) method: MethodArgument,
}

/// What every computation that may take long can be told: how good, how, and where its results go.
#[derive(Debug, Args)]
pub(crate) struct LongArguments {
    #[command(flatten)]
    pub(crate) accuracy: AccuracyArguments,
    #[command(flatten)]
    pub(crate) computation: ComputationArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

impl LongArguments {
    /// Begins to watch.
    pub(crate) fn watch(&self) -> Watch {
        Watch::new(self.output.quiet)
    }

    /// Writes the report in the format asked for.
    pub(crate) fn write(&self, watch: &Watch, report: &impl Render) -> crate::failure::Result {
        watch.write(&self.output, &report.render(self.output.format.into()))
    }
}

/// A number of users, also as `1e6` or `1_000_000`.
pub(crate) fn number_of_users(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let whole = |n: f64| n.fract() == 0.0 && (1.0..=9e15).contains(&n);
    match (digits.parse::<u64>(), digits.parse::<f64>()) {
        (Ok(n), _) if n > 0 => Ok(n),
        (Err(_), Ok(n)) if whole(n) => Ok(n as u64),
        _ => Err("a number of users is a whole number of 1 or more, such as 1000 or 1e6".into()),
    }
}

/// What an error is.
#[derive(Debug, Args)]
pub(crate) struct ErrorArguments {
    /// How errors are measured, with --accuracy: l1, l2, l2sq, rms or max [default: rms]
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["digits", "decimal_digits", "u_distr"])]
    pub(crate) distance: Option<String>,
    /// The estimator, with --accuracy: linear, clip, norm, norm_mul, norm_sub, base_cut, ml or posterior_mean [default: linear]
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["digits", "decimal_digits", "u_distr"])]
    pub(crate) estimator: Option<String>,
}

/// What is wanted of a collection. A share is a fraction from 0 to 1 or a percentage with its sign, here and everywhere.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Wanted digits of each frequency, in base e: the metric u_digit
    #[arg(long, value_name = "D", allow_negative_numbers = true, group = "target")]
    pub(crate) digits: Option<f64>,
    /// Wanted decimal digits of each frequency: u_digit / ln 10
    #[arg(long, value_name = "D", allow_negative_numbers = true, group = "target")]
    pub(crate) decimal_digits: Option<f64>,
    /// Wanted share of what the true values tell about their distribution, such as 0.5 or 50%: the metric u_distr
    #[arg(long, value_name = "U", allow_negative_numbers = true, value_parser = share, group = "target")]
    pub(crate) u_distr: Option<f64>,
    /// Largest typical error of a value's share, on average over the prior, such as 0.01 or 1% for one percentage point;
    /// --distance and --estimator choose another error
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share, group = "target")]
    pub(crate) accuracy: Option<f64>,
    #[command(flatten)]
    pub(crate) error: ErrorArguments,
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

/// How reports or tallies are put together.
#[derive(Debug, Args)]
pub(crate) struct CountingArguments {
    /// The protocol, if the files do not name it; files that do must agree
    #[arg(short, long, value_name = "P")]
    protocol: Option<String>,
    /// What to keep of the reports of unary encoding, subset selection and local hash
    #[arg(long, value_enum, default_value_t)]
    pub(crate) form: FormArgument,
    /// Accept files that have reports in common; by default they are refused
    #[arg(long)]
    pub(crate) allow_copies: bool,
}

impl CountingArguments {
    /// Warns where the form `auto` gave up patterns, even if no summary is wanted: `posterior` needs them.
    pub(crate) fn warn(&self, report: &TallyReport, quiet: bool) {
        if quiet && self.form == FormArgument::Auto && report.form == KeptForm::Supports {
            let words = "kept as supports; `posterior` answers with an approximation, or exactly with --form patterns";
            say(AnsiColor::Yellow, "warning", words);
        }
    }

    /// The protocol, if it was given.
    pub(crate) fn protocol(&self) -> sottovoce_job::Result<Option<Written<ProtocolSpec>>> {
        self.protocol.as_deref().map(read_protocol).transpose()
    }
}

/// The forms of tallies, as arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArgument {
    /// Patterns if there are few, supports otherwise
    #[default]
    Auto,
    /// Each different report with its count, which keeps all information
    Patterns,
    /// For each input how many reports support it, enough for linear estimates
    Supports,
}

impl From<FormArgument> for FormChoice {
    fn from(form: FormArgument) -> Self {
        match form {
            FormArgument::Auto => FormChoice::Auto,
            FormArgument::Patterns => FormChoice::Patterns,
            FormArgument::Supports => FormChoice::Supports,
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
    /// For a browser: one file that needs nothing else
    Html,
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Self {
        match format {
            FormatArgument::Text => Format::Text,
            FormatArgument::Json => Format::Json,
            FormatArgument::Csv => Format::Csv,
            FormatArgument::Html => Format::Html,
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

    #[test]
    fn numbers_of_users_are_whole_and_positive() {
        assert_eq!(number_of_users("1e6"), Ok(1_000_000));
        assert_eq!(number_of_users("10_000"), Ok(10_000));
        for bad in ["0", "-1", "1.5", "nan", "1e99", "", "many"] {
            assert!(number_of_users(bad).is_err(), "{bad}");
        }
    }
}

/// Which method to use for what depends on the number of users.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum MethodArgument {
    /// Exact where that takes less than a second, then the approximation if it is accurate enough, then Monte Carlo
    #[default]
    Auto,
    /// Exact or not at all
    Exact,
    /// The calibrated approximation, also where an exact method would do
    Approximation,
    /// Monte Carlo, also where an exact method would do
    MonteCarlo,
    /// The asymptote, as n grows; its error is unknown
    Asymptote,
}

impl From<MethodArgument> for MethodChoice {
    fn from(method: MethodArgument) -> Self {
        match method {
            MethodArgument::Auto => MethodChoice::Auto,
            MethodArgument::Exact => MethodChoice::Exact,
            MethodArgument::Approximation => MethodChoice::Approximation,
            MethodArgument::MonteCarlo => MethodChoice::MonteCarlo,
            MethodArgument::Asymptote => MethodChoice::Asymptote,
        }
    }
}
