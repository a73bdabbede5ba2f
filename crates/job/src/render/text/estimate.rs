//! The text of the job `estimate`.

use sottovoce::estimate::{Certificate, Estimate, Estimator};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series, columns};

use super::{INDENT, WIDTH, collections, printable};
use crate::estimate::{Column, EstimateReport};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{rounded, short};
use crate::render::text::summary;

/// Most columns of a label.
const LABEL: usize = 16;

/// Most values in the chart.
const MOST_ROWS: usize = 24;

/// Most estimators in the chart: more cannot be told apart in a row.
const MOST_SERIES: usize = 4;

/// The report of the job `estimate`: the estimates side by side with their intervals, then how each was made.
pub fn estimate(report: &EstimateReport) -> Document {
    let mut document = Document::default();
    document.title("Estimated frequencies");
    document.fact("Protocol", summary(&report.protocol));
    collections(&mut document, &report.collections);
    document.fact("Reports", report.n.to_string());
    document.fact("Intervals", format!("{} %", rounded(100.0 * report.level, 6))).line(Emphasis::Plain, "");
    let found: Vec<&Estimate> = report.columns.iter().filter_map(|c| c.estimate.as_ref().ok()).collect();
    let label = report.labels.iter().map(|l| columns::width(l)).max().unwrap_or(0).clamp(5, LABEL);
    let places = places(&found);
    let cell = 3 * (places + 3) + 7;
    for group in found.chunks(((WIDTH - label) / cell).max(1)) {
        document.table(table(report, group, places)).line(Emphasis::Plain, "");
    }
    report.columns.iter().for_each(|column| explanation(&mut document, column));
    if report.collections.len() > 1 {
        let words = "linear is the mean of the linear estimates of the collections, weighted by their inverse variances: one weight for all values of a \
                     collection, one over the sum of the variances that its estimates would have if all values were equally common. What is made of it has \
                     the same weights; ml and posterior_mean are those of all reports together.";
        document.paragraph(Emphasis::Faint, 0, WIDTH, words);
    }
    if !found.is_empty() {
        document.picture(estimate_chart(report));
    }
    document
}

/// The estimates of each value with their intervals, those of different estimators one below the other.
pub fn estimate_chart(report: &EstimateReport) -> Chart {
    let found: Vec<&Estimate> = report.columns.iter().filter_map(|c| c.estimate.as_ref().ok()).collect();
    let percent = rounded(100.0 * report.level, 6);
    let point = |e: &Estimate, x: usize| {
        let (low, high) = (e.intervals[x].low, e.intervals[x].high);
        let note = format!(
            "{}, {}: {}, {percent} % from {} to {}",
            report.labels[x],
            e.estimator.name(),
            rounded(e.values[x], 4),
            rounded(low, 4),
            rounded(high, 4)
        );
        Point { x: e.values[x], y: x as f64, interval: Some((low, high)), label: None, note: Some(note) }
    };
    let rows = report.labels.len().min(MOST_ROWS);
    let chart = Chart::new(
        "How common each value is",
        Axis::new("share of the population", Scale::Linear),
        Axis::rows(report.labels.iter().take(rows).map(|label| printable(label))),
    )
    .under(format!("estimates with their {percent} % intervals, {} reports", report.n));
    let more = if rows < report.labels.len() || found.len() > MOST_SERIES {
        " The tables have the values and estimators for which there is no room here."
    } else {
        ""
    };
    drawn(&found)
        .into_iter()
        .fold(chart, |chart, e| {
            let points = (0..rows).map(|x| point(e, x)).collect();
            chart.with(Series::new(e.estimator.name(), Form::Marks, points))
        })
        .saying(format!(
            "A dot is the estimated share of a value, the line through it its interval. A share is never below 0 or above 1; the linear estimate, \
             which is right on average, may be.{more}"
        ))
}

/// The estimates in the chart: all, or if they are too many, those that differ most in kind.
fn drawn<'a>(found: &[&'a Estimate]) -> Vec<&'a Estimate> {
    const KINDS: [Estimator; MOST_SERIES] =
        [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood, Estimator::PosteriorMean];
    let mut drawn = found.to_vec();
    if drawn.len() > MOST_SERIES {
        drawn.sort_by_key(|e| !KINDS.contains(&e.estimator));
        drawn.truncate(MOST_SERIES);
    }
    drawn
}

/// Decimal places that show two digits of the narrowest interval.
fn places(found: &[&Estimate]) -> usize {
    let widths = found.iter().flat_map(|e| e.intervals.iter().map(|i| i.high - i.low));
    let narrowest = widths.filter(|w| *w > 0.0).fold(1.0, f64::min);
    (1.0 - narrowest.log10()).ceil().clamp(3.0, 6.0) as usize
}

/// Some of the estimates side by side, each with its interval.
fn table(report: &EstimateReport, group: &[&Estimate], places: usize) -> Table {
    let width = places + 3;
    let header = std::iter::once("").chain(group.iter().map(|e| e.estimator.name()));
    let mut table = Table::new(header).names_within(LABEL);
    for (x, name) in report.labels.iter().enumerate() {
        let text = |e: &&Estimate| {
            let (value, low, high) = (e.values[x], e.intervals[x].low, e.intervals[x].high);
            format!("{value:.places$} [{low:>width$.places$}, {high:>width$.places$}]")
        };
        table.row(Emphasis::Plain, std::iter::once(printable(name)).chain(group.iter().map(text)));
    }
    // Under the estimates, not under their intervals.
    let sum = |e: &&Estimate| format!("{:.places$}{:2$}", e.values.iter().sum::<f64>(), "", 2 * width + 5);
    table.row(Emphasis::Faint, std::iter::once("sum".to_owned()).chain(group.iter().map(sum)));
    table
}

fn explanation(document: &mut Document, column: &Column) {
    let words = format!("{}: {}", column.estimator.name(), column.estimator.meaning());
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words);
    match &column.estimate {
        Ok(found) => {
            let words = format!("intervals: {}", found.interval_method.meaning());
            document.paragraph(Emphasis::Faint, INDENT, WIDTH, &words);
            found.certificate.iter().for_each(|c| certificate(document, c));
            if let Some(errors) = &found.monte_carlo_errors {
                let largest = errors.iter().copied().fold(0.0, f64::max);
                let words =
                    format!("from Markov chains: Monte Carlo standard errors of at most {largest:.1e}");
                document.paragraph(Emphasis::Faint, INDENT, WIDTH, &words);
            }
        }
        Err(reason) => {
            document.paragraph(Emphasis::Warning, INDENT, WIDTH, &format!("no estimate: {reason}"));
        }
    }
}

fn certificate(document: &mut Document, certificate: &Certificate) {
    let gap = short(certificate.gap);
    let (emphasis, words) = if certificate.passes == 0 && certificate.holds() {
        (Emphasis::Faint, "closed form: the largest log-likelihood, but for rounding".into())
    } else if certificate.holds() {
        let passes = certificate.passes;
        let words = format!(
            "certified: at most {gap} nats below the largest log-likelihood ({passes} passes over the reports)"
        );
        (Emphasis::Faint, words)
    } else {
        let passes = certificate.passes;
        let wanted = short(certificate.tolerance);
        (
            Emphasis::Warning,
            format!(
                "warning: not certified: the log-likelihood may be up to {gap} nats below its maximum after {passes} passes, where {wanted} was asked for"
            ),
        )
    };
    document.paragraph(emphasis, INDENT, WIDTH, &words);
}
