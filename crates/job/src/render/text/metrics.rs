//! The text of the job `metrics`.

use sottovoce::Metric;
use sottovoce::metric::Value;
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{heading, in_row, prior_text, value_cells};
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::render::document::{Document, Emphasis, Listing, Shown};
use crate::render::number::rounded;
use crate::render::text::summary;

/// The report of the job `metrics`: two lines for each metric, its value and what it means.
pub fn metrics(report: &MetricsReport) -> Document {
    let mut document = Document::default();
    document.title("Privacy and utility");
    heading(&mut document, &report.protocol, &report.prior);
    for group in report.evaluations.chunk_by(|l, r| l.users == r.users) {
        match group[0].users {
            Some(n) => document.heading(format!("n = {n} users")),
            None => document.line(Emphasis::Plain, ""),
        };
        document.listing(listing(group));
    }
    shares(report).into_iter().for_each(|chart| {
        document.picture(chart);
    });
    document
}

/// Whether both have no value, for the same reason, which a terminal then shows once.
fn absent_alike(left: &MetricEvaluation, right: &MetricEvaluation) -> bool {
    left.answer.value.is_err() && left.answer == right.answer
}

/// Columns of the names in a terminal. Longer ones take what they need and a space.
const NAME_COLUMNS: usize = 15;

fn listing(group: &[MetricEvaluation]) -> Listing {
    let mut listing = Listing::default().in_terminal(NAME_COLUMNS).column("metric", 13).in_terminal(25);
    listing = listing.on_page("value").on_page("measured in").on_page("error").column("method", 0);
    for alike in group.chunk_by(absent_alike) {
        for (position, evaluation) in alike.iter().enumerate() {
            listing.entry(cells(evaluation));
            notes(&mut listing, evaluation, position + 1 == alike.len());
        }
    }
    listing
}

fn cells(MetricEvaluation { metric, answer, .. }: &MetricEvaluation) -> [String; 7] {
    let [value, alone, unit, error, method] = value_cells(*metric, answer);
    [metric.name().into(), metric.symbol().into(), value, alone, unit, error, method]
}

/// What it means, or why it has no value; a terminal shows the reason beneath the last of those that share it.
fn notes(listing: &mut Listing, evaluation: &MetricEvaluation, last: bool) {
    let answer = &evaluation.answer;
    match &answer.value {
        Ok(_) => listing.note(Shown::Everywhere, Emphasis::Faint, meaning(evaluation)),
        Err(absence) => {
            let shown = if last { Shown::Everywhere } else { Shown::Page };
            listing.note(Shown::Page, Emphasis::Faint, meaning(evaluation));
            listing.note(shown, Emphasis::Warning, absence.to_string())
        }
    };
    if let Some(warning) = &answer.warning {
        let shown = if last { Shown::Everywhere } else { Shown::Page };
        listing.note(shown, Emphasis::Warning, format!("warning: {warning}"));
    }
}

/// What the metric means; for digits also as decimal ones.
fn meaning(evaluation: &MetricEvaluation) -> String {
    let meaning = evaluation.metric.meaning();
    match evaluation.answer.number().filter(|_| evaluation.metric == Metric::DigitUtility) {
        Some(digits) => {
            format!("{meaning} ({} decimal digits)", rounded(digits.value / std::f64::consts::LN_10, 3))
        }
        None => meaning.into(),
    }
}

/// The metrics that are shares of a whole, as bars; none where a single one would be drawn.
fn shares(report: &MetricsReport) -> Option<Chart> {
    const SHARES: [Metric; 5] = [
        Metric::WorstCasePrivacy,
        Metric::AveragePrivacy,
        Metric::EffectiveParticipation,
        Metric::DistributionUtility,
        Metric::TallyUtility,
    ];
    let known = |e: &&MetricEvaluation| matches!(e.answer.value, Ok(Value::Number(_)));
    let shares: Vec<&MetricEvaluation> =
        report.evaluations.iter().filter(|e| SHARES.contains(&e.metric)).filter(known).collect();
    let name = |e: &&MetricEvaluation| {
        let what = if e.metric <= Metric::AveragePrivacy { "hidden" } else { "useful" };
        let users = e.users.map(|n| format!(", n = {n}")).unwrap_or_default();
        format!("{what}: {}{users}", e.metric.symbol())
    };
    let bar = |(row, e): (usize, &&MetricEvaluation)| -> Option<Point> {
        let number = e.answer.number()?;
        let percent = number.times(100.0);
        Some(in_row(row, &percent, format!("{} %", rounded(percent.value, 3))))
    };
    let chart = Chart::new(
        "How much stays hidden, and how much the reports are worth",
        Axis::new("percent", Scale::Linear).between(0.0, 100.0),
        Axis::rows(shares.iter().map(name)),
    )
    .under(format!("{}; {}", summary(&report.protocol), prior_text(&report.prior)))
    .with(Series::new("share", Form::Bars, shares.iter().enumerate().filter_map(bar).collect()))
    .saying(
        "Long bars are good. Hidden: the share of a user's value that a report does not reveal. Useful: the share of the information in the \
         true values that the reports keep. Whiskers are two standard errors where a number comes from random draws.",
    );
    (shares.len() > 1).then_some(chart)
}
