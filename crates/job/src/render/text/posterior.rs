//! The text of the job `posterior`.

use sottovoce::Method;
use sottovoce::posterior::{Posterior, Summary};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{WIDTH, collections, functional, heading, names, printable};
use crate::posterior::{MOST_COMPARED, PosteriorReport};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{rounded, short, with_error};

/// Columns of a label before a terminal cuts it.
const LABEL: usize = 14;

/// Most values that are listed; all are in the other formats.
const MOST_LINES: usize = MOST_COMPARED;

/// The report of the job `posterior`: a table of all values, and their intervals as a picture.
pub fn posterior(report: &PosteriorReport) -> Document {
    let mut document = Document::default();
    let found = &report.posterior;
    document.title("What the reports say");
    functional::answers(&mut document, &report.of, &report.labels, &names(&report.against), report.level);
    heading(&mut document, &report.protocol, &report.prior);
    collections(&mut document, &report.collections);
    document.fact("Reports", found.n.to_string());
    method(&mut document, found, report.level);
    document.line(Emphasis::Plain, "").table(table(report));
    if found.p.len() > MOST_LINES {
        let more = found.p.len() - MOST_LINES;
        document.paragraph(
            Emphasis::Faint,
            0,
            WIDTH,
            &format!("… and {more} more; JSON and CSV have all of them"),
        );
    }
    let words = format!(
        "P is the distribution that the values come from, T the tallies of these {} users themselves. Given the reports, each lies in its interval with \
         probability {} %, and as likely below as above.{}",
        found.n,
        percent(report.level),
        if linear(report).is_some() {
            " Linear is the unbiased linear estimate, which may be negative."
        } else {
            ""
        }
    );
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Faint, 0, WIDTH, &words);
    if let Some(words) = outside(report) {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, &words);
    }
    document.line(Emphasis::Plain, "").chart(intervals(report));
    if report.posterior.roughness.is_some() {
        document.picture(curve(report));
    }
    document
}

/// Which linear estimates lie outside their intervals, and what that may mean.
fn outside(report: &PosteriorReport) -> Option<String> {
    const NAMED: usize = 5;
    let found = report.linear_outside();
    let above_zero: Vec<(usize, f64)> = found.iter().copied().filter(|(_, linear)| *linear >= 0.0).collect();
    if found.is_empty() {
        return None;
    }
    let negative = found.len() - above_zero.len();
    let noise = match negative {
        0 => String::new(),
        1 => {
            "One linear estimate is negative, and so outside its interval: noise about a rare value. ".into()
        }
        _ => format!(
            "{negative} linear estimates are negative, and so outside their intervals: noise about rare values. "
        ),
    };
    if above_zero.is_empty() {
        return Some(noise.trim_end().into());
    }
    let names: Vec<String> =
        above_zero.iter().take(NAMED).map(|(x, _)| printable(&report.labels[*x])).collect();
    let more = if above_zero.len() > NAMED { ", …" } else { "" };
    Some(format!(
        "{noise}{} {} of {}{more} {}. There the prior expects something else than the reports alone say. For a rare value \
         that is as it should be: most high estimates among many rare values are noise. For a common value it is a warning that the prior does not fit; see whether \
         another prior gives the same answer.",
        if noise.is_empty() { "Note that" } else { "Moreover" },
        if above_zero.len() == 1 { "the linear estimate" } else { "the linear estimates" },
        names.join(", "),
        if above_zero.len() == 1 { "lies outside its interval" } else { "lie outside their intervals" },
    ))
}

fn linear(report: &PosteriorReport) -> Option<&[f64]> {
    report.compared.as_ref()?.linear.as_deref()
}

fn table(report: &PosteriorReport) -> Table {
    let (found, linear) = (&report.posterior, linear(report));
    let interval_name = format!("{} % interval", percent(report.level));
    let own = ["P", "mean", interval_name.as_str()].map(String::from);
    let others = linear.map(|_| "linear".to_owned());
    let header = own.into_iter().chain(others).chain(["T mean", "T interval"].map(String::from));
    let mut table = Table::new(header).names_within(LABEL);
    for (x, (p, t)) in found.p.iter().zip(&found.t).enumerate().take(MOST_LINES) {
        let name = printable(&report.labels[x]);
        let own = [name, format!("{:.4}", p.mean), interval(p, 4)];
        let others = linear.map(|values| format!("{:.4}", values[x]));
        let cells = own.into_iter().chain(others).chain([format!("{:.1}", t.mean), interval(t, 0)]);
        table.row(Emphasis::Plain, cells);
    }
    table
}

/// The interval of each value, with what was believed before and the linear estimate beside it.
fn intervals(report: &PosteriorReport) -> Chart {
    let level = percent(report.level);
    let point = |(row, p): (usize, &Summary)| Point {
        x: p.mean,
        y: row as f64,
        interval: ends(p),
        label: Some(rounded(p.mean, 3)),
        note: ends(p).map(|(low, high)| {
            format!(
                "{}: {}, {level} % from {} to {}",
                report.labels[row],
                rounded(p.mean, 4),
                rounded(low, 4),
                rounded(high, 4)
            )
        }),
    };
    let points = |summaries: &[Summary]| summaries.iter().take(MOST_LINES).enumerate().map(point).collect();
    let before = |summaries: &[Summary]| {
        let plain = |p: Point| Point { label: None, note: None, ..p };
        Vec::into_iter(points(summaries)).map(plain).collect()
    };
    let rows = Axis::rows(report.labels.iter().take(MOST_LINES).map(|label| printable(label)));
    let mut chart =
        Chart::new("How common each value is", Axis::new("share of the population", Scale::Linear), rows)
            .under(format!("posterior mean and {level} % interval, {} reports", report.posterior.n));
    if let Some(compared) = &report.compared {
        chart = chart.with(Series::new("prior", Form::Marks, before(&compared.prior)).as_reference());
    }
    chart = chart.with(Series::new("posterior", Form::Marks, points(&report.posterior.p)));
    if let Some(values) = linear(report) {
        let place = |(row, value): (usize, &f64)| Point { x: *value, y: row as f64, ..Point::default() };
        chart =
            chart.with(Series::new("linear", Form::Marks, values.iter().enumerate().map(place).collect()));
    }
    chart.saying(format!(
        "Given the reports, the share of each value lies in its interval with probability {level} %. The thin line is where it was believed to be before."
    ))
}

/// The shares of ordered values as a curve with a band.
fn curve(report: &PosteriorReport) -> Chart {
    let level = percent(report.level);
    let point = |(x, p): (usize, &Summary)| Point {
        x: x as f64 + 1.0,
        y: 100.0 * p.mean,
        interval: ends(p).map(|(low, high)| (100.0 * low, 100.0 * high)),
        label: None,
        note: Some(format!("{}: {} %", report.labels[x], rounded(100.0 * p.mean, 3))),
    };
    let points = report.posterior.p.iter().enumerate().map(point).collect();
    let (first, last) = (&report.labels[0], &report.labels[report.labels.len() - 1]);
    let axis = format!("value, in order from {} to {}", printable(first), printable(last));
    Chart::new(
        "The distribution as a curve",
        Axis::new(axis, Scale::Linear),
        Axis::new("% of the population", Scale::Linear),
    )
    .under(format!("posterior mean and {level} % band, {} reports", report.posterior.n))
    .with(Series::new("posterior", Form::Line, points))
    .saying(format!(
        "The shares of neighbouring values are taken to form a smooth curve. A share lies in the band with probability {level} %, given the reports."
    ))
}

fn method(document: &mut Document, found: &Posterior, level: f64) {
    let name = match found.method {
        Method::ClosedForm => "closed form",
        Method::Quadrature => "quadrature",
        Method::Enumeration => "exact sum over all cases",
        Method::Approximation => "Markov chains, with a normal approximation of what supports say",
        _ => "Markov chains",
    };
    document.fact("Method", name);
    if let Some(d) = &found.diagnostics {
        let words = format!(
            "{} of {} draws; R-hat {:.3}; effective: bulk {:.0}, tail {:.0}",
            d.chains, d.length, d.r_hat, d.bulk, d.tail
        );
        document.fact("Chains", words);
    }
    let parameters = [("Alpha", &found.alpha, ""), ("Roughness", &found.roughness, "")];
    for (name, parameter, meaning) in parameters {
        let Some(parameter) = parameter else { continue };
        let ends = ends(parameter).map_or_else(String::new, |(low, high)| {
            format!(" ({} %: {} to {})", percent(level), rounded(low, 2), rounded(high, 2))
        });
        document.fact(name, format!("{}{meaning}{ends}", rounded(parameter.mean, 2)));
    }
    let evidence = match &found.log_evidence {
        Ok(e) => format!("{} (natural logarithm)", with_error(e.value, e.error)),
        Err(reason) => format!("none; {reason}"),
    };
    document.fact("Evidence", evidence);
    if found.diagnostics.as_ref().is_some_and(|d| !d.converged) {
        let words = "The chains have not converged: do not rely on these numbers.";
        document.paragraph(Emphasis::Warning, 0, WIDTH, words);
    }
}

fn percent(level: f64) -> String {
    short(100.0 * level)
}

/// The ends of the interval.
fn ends(summary: &Summary) -> Option<(f64, f64)> {
    summary.quantiles.first().zip(summary.quantiles.last()).map(|(low, high)| (low.1, high.1))
}

fn interval(summary: &Summary, places: usize) -> String {
    let (low, high) = ends(summary).unwrap_or((summary.mean, summary.mean));
    format!("{low:.places$} – {high:.places$}")
}
