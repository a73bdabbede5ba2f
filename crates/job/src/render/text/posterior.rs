//! The text of the job `posterior`.

use sottovoce::Method;
use sottovoce::posterior::{Posterior, Summary};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{INDENT, WIDTH, clipped, heading};
use crate::posterior::PosteriorReport;
use crate::render::document::{Document, Emphasis};
use crate::render::number::{rounded, with_error};

/// Columns of the labels and of the picture.
const LABEL: usize = 14;
const PICTURE: usize = 24;

/// Most values that are listed; all are in the other formats.
const MOST_LINES: usize = 100;

/// The report of the job `posterior`: a line for each value, with its interval as a small picture.
pub fn posterior(report: &PosteriorReport) -> Document {
    let mut document = Document::default();
    let found = &report.posterior;
    document.title("What the reports say");
    heading(&mut document, &report.protocol, &report.prior);
    document.fact("Reports", found.n.to_string()).picture(intervals(report)).line(Emphasis::Plain, "");
    let level = format!("{} %", short_percent(report.level));
    document.line(
        Emphasis::Strong,
        format!(
            "{:<LABEL$}{:>9}{:>20}{:>10}{:>18}",
            "P",
            "mean",
            format!("{level} interval"),
            "T mean",
            "T interval"
        ),
    );
    let largest = found.p.iter().map(high).fold(0.0, f64::max);
    for (x, (p, t)) in found.p.iter().zip(&found.t).enumerate().take(MOST_LINES) {
        let label = clipped(&report.labels[x], LABEL - 1);
        let [p_interval, t_interval] = [interval(p, 4), interval(t, 0)];
        document.line(
            Emphasis::Plain,
            format!("{label:<LABEL$}{:>9.4}{p_interval:>20}{:>10.1}{t_interval:>18}", p.mean, t.mean),
        );
        document.line(Emphasis::Faint, format!("{:LABEL$}{}", "", picture(p, largest)));
    }
    if found.p.len() > MOST_LINES {
        document.line(
            Emphasis::Faint,
            format!("… and {} more; --format csv has all", found.p.len() - MOST_LINES),
        );
    }
    document.line(Emphasis::Plain, "");
    explanation(&mut document, report);
    document
}

/// The interval of each value, as a chart for pages and files.
fn intervals(report: &PosteriorReport) -> Chart {
    let shown = report.posterior.p.iter().take(MOST_LINES);
    let ends = |p: &Summary| p.quantiles.first().zip(p.quantiles.last()).map(|(low, high)| (low.1, high.1));
    let point = |(row, p): (usize, &Summary)| Point {
        x: p.mean,
        y: row as f64,
        interval: ends(p),
        label: Some(rounded(p.mean, 3)),
        note: None,
    };
    let level = short_percent(report.level);
    let rows = Axis::rows(report.labels.iter().take(MOST_LINES).cloned());
    Chart::new("How common each value is", Axis::new("share of the population", Scale::Linear), rows)
        .under(format!("posterior mean and {level} % interval, {} reports", report.posterior.n))
        .with(Series::new("P", Form::Marks, shown.enumerate().map(point).collect()))
        .saying(format!(
            "Given the reports, the share of each value lies in its interval with probability {level} %."
        ))
}

fn explanation(document: &mut Document, report: &PosteriorReport) {
    let found = &report.posterior;
    let level = short_percent(report.level);
    let words = format!(
        "P is the distribution that the values come from, T the tallies of these {} users themselves. Given the reports, each lies in its interval with \
         probability {level} %, and as likely below as above. In the picture, from 0 to the largest upper end, = is the interval and | the mean.",
        found.n
    );
    document.paragraph(Emphasis::Faint, 0, WIDTH, &words).line(Emphasis::Plain, "");
    document.line(Emphasis::Plain, format!("Method        {}", method(found)));
    match &found.log_evidence {
        Ok(e) => document.line(Emphasis::Plain, format!("Log evidence  {}", with_error(e.value, e.error))),
        Err(reason) => {
            document.paragraph(Emphasis::Plain, 0, WIDTH, &format!("Log evidence: none; {reason}"))
        }
    };
    let Some(d) = &found.diagnostics else { return };
    let words = format!(
        "{} of {} draws; R-hat {:.3}; effective: bulk {:.0}, tail {:.0}",
        d.chains, d.length, d.r_hat, d.bulk, d.tail
    );
    document.line(Emphasis::Plain, format!("Chains        {words}"));
    if !d.converged {
        document.paragraph(
            Emphasis::Warning,
            INDENT,
            WIDTH,
            "The chains have not converged: do not rely on these numbers.",
        );
    }
}

fn method(found: &Posterior) -> &'static str {
    match found.method {
        Method::ClosedForm => "closed form",
        Method::Quadrature => "quadrature",
        Method::Enumeration => "exact sum over all cases",
        _ => "Markov chains",
    }
}

fn short_percent(level: f64) -> String {
    crate::render::number::short(100.0 * level)
}

/// The upper end of the interval.
fn high(summary: &Summary) -> f64 {
    summary.quantiles.last().map_or(summary.mean, |(_, value)| *value)
}

fn interval(summary: &Summary, places: usize) -> String {
    let low = summary.quantiles.first().map_or(summary.mean, |(_, value)| *value);
    format!("{low:.places$} – {:.places$}", high(summary))
}

/// The interval and mean between 0 and `largest`.
fn picture(summary: &Summary, largest: f64) -> String {
    let column = |value: f64| (value / largest * PICTURE as f64).round() as usize;
    let low = summary.quantiles.first().map_or(summary.mean, |(_, value)| *value);
    let (low, mean, high) = (column(low), column(summary.mean), column(high(summary)));
    let mark = |at: usize| match at {
        _ if at == mean => '|',
        _ if (low..=high).contains(&at) => '=',
        _ => ' ',
    };
    (0..=high.max(mean)).map(mark).collect()
}
