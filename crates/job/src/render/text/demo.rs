//! The text of the job `demo`.

use sottovoce::Metric;

use super::WIDTH;
use crate::demo::{DemoReport, Frequency, SOURCE};
use crate::describe::summary;
use crate::metrics::MetricEvaluation;
use crate::render::document::{Document, Emphasis};
use crate::render::number::rounded;

/// Significant digits in the table of protocols.
const DIGITS: i32 = 4;

/// The report of the job `demo`: the story in three parts.
pub fn demo(report: &DemoReport) -> Document {
    let mut document = Document::default();
    document.title("Sixteen levels of education");
    question(&mut document, report);
    comparison(&mut document, report);
    recovery(&mut document, report);
    document
}

fn question(document: &mut Document, report: &DemoReport) {
    document.line(Emphasis::Strong, "1. A question one would rather not answer");
    let words = format!(
        "{} people are asked for their highest level of education, one of {}. Each randomises the answer \
         before sending it, with LDP level epsilon = {}. Which protocol hides most of each person's answer, and \
         which tells us most about all of them?",
        report.users,
        report.frequencies.len(),
        report.epsilon
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words);
    document.paragraph(Emphasis::Faint, 0, WIDTH, &format!("Data: {SOURCE}."));
}

fn comparison(document: &mut Document, report: &DemoReport) {
    document.line(Emphasis::Plain, "").line(Emphasis::Strong, "2. The protocols compared");
    let metrics: Vec<Metric> = report.comparison[0].evaluations.iter().map(|e| e.metric).collect();
    let header: String = metrics.iter().map(|m| format!("{:>10}", m.symbol())).collect();
    document.line(Emphasis::Faint, format!("{:<10}{header}{:>10}", "protocol", "error"));
    for (position, row) in report.comparison.iter().enumerate() {
        let best = position == report.best;
        let cell = |e: &MetricEvaluation| e.answer.number().map_or("-".into(), |n| rounded(n.value, DIGITS));
        let cells: String = row.evaluations.iter().map(|e| format!("{:>10}", cell(e))).collect();
        let error = format!("{:>10.4}", report.standard_errors[position]);
        let emphasis = if best { Emphasis::Strong } else { Emphasis::Plain };
        let mark = if best { format!("  {}", report.best_by) } else { String::new() };
        document.line(emphasis, format!("{:<10}{cells}{error}{mark}", row.protocol.name()));
    }
    legend(document, report, &metrics);
    answer(document, report);
}

/// The answer to the question, in words.
fn answer(document: &mut Document, report: &DemoReport) {
    let value = |row: usize, metric: Metric| {
        report.comparison[row]
            .evaluations
            .iter()
            .find(|e| e.metric == metric)?
            .answer
            .number()
            .map(|n| n.value)
    };
    let privacies =
        (0..report.comparison.len()).filter_map(|row| Some((row, value(row, Metric::AveragePrivacy)?)));
    let most_private = privacies.max_by(|l, r| l.1.total_cmp(&r.1));
    let (Some((private, privacy)), Some(participation)) =
        (most_private, value(report.best, Metric::EffectiveParticipation))
    else {
        return;
    };
    let name = |row: usize| report.comparison[row].protocol.name();
    let words = format!(
        "So at the same worst-case guarantee {} hides most on average ({:.1} % of a person's secret), and {} tells most about \
         all: its {} reports are worth about {:.0} honest answers (F_mu = {:.4}).",
        name(private),
        100.0 * privacy,
        name(report.best),
        report.users,
        participation * report.users as f64,
        participation
    );
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, &words);
}

fn legend(document: &mut Document, report: &DemoReport, metrics: &[Metric]) {
    for metric in metrics {
        document.paragraph(Emphasis::Faint, 2, WIDTH, &format!("{}: {}", metric.symbol(), metric.meaning()));
    }
    document.paragraph(Emphasis::Faint, 2, WIDTH, "error: typical standard error of an estimated frequency");
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for evaluation in report.comparison.iter().flat_map(|row| &row.evaluations) {
        let Err(absence) = &evaluation.answer.value else { continue };
        let (reason, symbol) = (absence.to_string(), evaluation.metric.symbol());
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, symbols)) if symbols.contains(&symbol) => {}
            Some((_, symbols)) => symbols.push(symbol),
            None => reasons.push((reason, vec![symbol])),
        }
    }
    for (reason, symbols) in reasons {
        document.paragraph(Emphasis::Warning, 2, WIDTH, &format!("- for {}: {reason}", symbols.join(", ")));
    }
}

fn recovery(document: &mut Document, report: &DemoReport) {
    let best = summary(&report.comparison[report.best].protocol);
    document.line(Emphasis::Plain, "").line(Emphasis::Strong, "3. What the reports still tell");
    let words = format!(
        "A simulation (seed {}): each person sends one report of {best}. From the reports alone, the frequencies \
         are estimated without bias (#), with one standard error behind ±; the truth is marked with |. An estimate without \
         bias may fall below zero where the truth is small.",
        report.seed
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words);
    document.line(Emphasis::Faint, format!("{:<13}{:>7}{:>10}", "education", "truth", "estimate"));
    let largest = report.frequencies.iter().map(|f| f.truth.max(f.estimate)).fold(0.0, f64::max);
    for f in &report.frequencies {
        document.push(Emphasis::Plain, format!("{:<13}{:>7.4}{:>10.4}", f.label, f.truth, f.estimate));
        document.push(Emphasis::Faint, format!(" ± {:.4}  ", f.standard_error));
        document.line(Emphasis::Strong, bar(f, largest));
    }
    let caught =
        report.frequencies.iter().filter(|f| (f.estimate - f.truth).abs() <= 2.0 * f.standard_error).count();
    let words = format!(
        "{caught} of {} truths lie within two standard errors of their estimate, and no report tells anybody's answer for sure.",
        report.frequencies.len()
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words);
}

/// A bar for the estimate, with a mark at the truth.
fn bar(frequency: &Frequency, largest: f64) -> String {
    const COLUMNS: f64 = 36.0;
    let column = |value: f64| (value.max(0.0) / largest * COLUMNS).round() as usize;
    let (estimate, truth) = (column(frequency.estimate), column(frequency.truth));
    let mark = |at: usize| match at {
        _ if at == truth => '|',
        _ if at < estimate => '#',
        _ => ' ',
    };
    (0..=estimate.max(truth)).map(mark).collect()
}
