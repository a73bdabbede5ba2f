//! The text of the job `users`.

use sottovoce::Metric;
use std::f64::consts::LN_10;

use super::{INDENT, WIDTH, heading, method, value_text};
use crate::metrics::MetricEvaluation;
use crate::render::document::{Document, Emphasis};
use crate::render::number::{rounded, short};
use crate::users::{Count, Found, Ratio, Target, UsersReport};

/// Where the values start.
const COLUMN: usize = 15;

/// The asymptotic factor is trusted when it is this close to the real one.
const TRUSTED: f64 = 0.05;

/// The report of the job `users`: the number, the number of true values, their quotient, and whether `F_μ` says the same.
pub fn users(report: &UsersReport) -> Document {
    let mut document = Document::default();
    document.title("How many users");
    heading(&mut document, &report.protocol, &report.prior);
    document.fact("Wanted", target(report.target)).line(Emphasis::Plain, "");
    count(&mut document, "users", "who report through the protocol", &report.needed);
    if report.truth.found.as_ref().err() != report.needed.found.as_ref().err() || report.ratio.is_some() {
        count(&mut document, "true values", "that would tell as much about P", &report.truth);
    }
    if let Some(ratio) = report.ratio {
        line(&mut document, "ratio", &ratio_text(&ratio));
        explain(&mut document, "true values over users: what a report is worth at this number of users");
    }
    let factor = &report.participation;
    match &factor.answer.value {
        Ok(value) => line(&mut document, factor.metric.symbol(), &value_text(value)),
        Err(_) => line(&mut document, factor.metric.symbol(), "no value"),
    }
    match &factor.answer.value {
        Ok(_) => explain(&mut document, "the same for infinitely many users"),
        Err(absence) => warn(&mut document, &absence.to_string()),
    }
    if let (Some(ratio), Some(factor)) = (report.ratio, factor.answer.number()) {
        document.line(Emphasis::Plain, "");
        document.paragraph(Emphasis::Plain, 0, WIDTH, &trust(&ratio, factor.value, report));
    }
    document
}

fn target(target: Target) -> String {
    match target {
        Target::Digits(_) | Target::DecimalDigits(_) => {
            let natural = target.value();
            format!("U_digit = {} ({} decimal digits)", short(natural), rounded(natural / LN_10, 3))
        }
        Target::DistributionUtility(share) => format!("U_distr = {}", short(share)),
    }
}

fn count(document: &mut Document, name: &str, what: &str, count: &Count) {
    match &count.found {
        Ok(found) => line(document, name, &format!("{}  {what}", found_text(found))),
        Err(obstacle) => {
            line(document, name, "no number");
            warn(document, &obstacle.to_string());
        }
    }
    for evaluation in &count.evaluations {
        explain(document, &at(evaluation));
        if let Some(warning) = &evaluation.answer.warning {
            warn(document, &format!("warning: {warning}"));
        }
    }
}

fn found_text(found: &Found) -> String {
    let range = if found.is_exact() { String::new() } else { format!(" ({} to {})", found.low, found.high) };
    format!("{}{range}", found.n)
}

/// The metric at a number of users.
fn at(evaluation: &MetricEvaluation) -> String {
    let MetricEvaluation { metric, users, answer } = evaluation;
    let n = users.unwrap_or_default();
    match &answer.value {
        // One user more or less shows only in the later digits.
        Ok(value) => {
            let text = answer.number().filter(|e| e.error < 1e-9).map(|e| rounded(e.value, 9));
            let text = text.unwrap_or_else(|| value_text(value));
            format!("{} = {text} at n = {n} ({})", metric.symbol(), method(value))
        }
        Err(absence) => format!("{} at n = {n}: {absence}", metric.symbol()),
    }
}

fn ratio_text(ratio: &Ratio) -> String {
    let range = if ratio.low == ratio.high {
        String::new()
    } else {
        format!(" ({} to {})", rounded(ratio.low, 3), rounded(ratio.high, 3))
    };
    format!("{}{range}", rounded(ratio.value, 4))
}

/// Whether the asymptotic factor can be used at this number of users.
fn trust(ratio: &Ratio, factor: f64, report: &UsersReport) -> String {
    let off = factor / ratio.value - 1.0;
    // One true value more or less is rounding, not a failure of the asymptote.
    let rounding = report.truth.found.as_ref().map_or(0.0, |found| 1.0 / found.n as f64);
    let percent = format!("{} %", rounded(100.0 * off.abs(), 2));
    let covered = ratio.low * (1.0 - rounding) <= factor && factor <= ratio.high * (1.0 + rounding);
    let side = if off > 0.0 { "more" } else { "less" };
    let symbol = Metric::EffectiveParticipation.symbol();
    if off.abs() <= TRUSTED {
        format!("At this number of users the asymptotic factor {symbol} can be trusted: it is {percent} off.")
    } else if covered {
        format!("{symbol} is within the uncertainty of the ratio, which is too wide to say more.")
    } else {
        format!(
            "At this number of users the asymptotic factor {symbol} cannot be trusted: it promises {percent} {side} than \
             a report is worth."
        )
    }
}

fn line(document: &mut Document, name: &str, value: &str) {
    document.push(Emphasis::Strong, format!("{name:<COLUMN$}")).line(Emphasis::Plain, value);
}

fn explain(document: &mut Document, words: &str) {
    document.paragraph(Emphasis::Faint, INDENT, WIDTH, words);
}

fn warn(document: &mut Document, words: &str) {
    document.paragraph(Emphasis::Warning, INDENT, WIDTH, words);
}
