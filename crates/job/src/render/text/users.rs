//! The text of the job `users`.

use sottovoce::Metric;
use std::f64::consts::LN_10;

use super::{INDENT, WIDTH, heading, method, value_text};
use crate::render::document::{Document, Emphasis};
use crate::render::number::{rounded, short};
use crate::users::{Count, Evaluated, ExpectedError, Found, Ratio, Target, UsersReport, Wanted};

/// Where the values start.
const COLUMN: usize = 15;

/// The asymptotic factor is trusted when it is this close to the real one.
const TRUSTED: f64 = 0.05;

/// The report of the job `users`: the number, the number of true values, their quotient, and whether `F_μ` says the same.
pub fn users(report: &UsersReport) -> Document {
    let mut document = Document::default();
    document.title("How many users");
    heading(&mut document, &report.protocol, &report.prior);
    document.fact("Wanted", wanted(report.wanted)).line(Emphasis::Plain, "");
    count(&mut document, "users", "who report through the protocol", &report.needed);
    if report.truth.found.as_ref().err() != report.needed.found.as_ref().err() || report.ratio.is_some() {
        let what = match report.wanted {
            Wanted::Utility(_) => "that would tell as much about P",
            Wanted::Accuracy(_) => "that would be as accurate",
        };
        count(&mut document, "true values", what, &report.truth);
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
        Ok(_) => explain(&mut document, participation(report.wanted)),
        Err(absence) => warn(&mut document, &absence.to_string()),
    }
    if let (Some(ratio), Some(factor), Wanted::Utility(_)) =
        (report.ratio, factor.answer.number(), report.wanted)
    {
        document.line(Emphasis::Plain, "");
        document.paragraph(Emphasis::Plain, 0, WIDTH, &trust(&ratio, factor.value, report));
    }
    document
}

/// What `F_μ` has to do with the quotient.
fn participation(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Utility(_) => "the same for infinitely many users",
        Wanted::Accuracy(_) => {
            "what a report is worth for infinitely many users and the best use of them, in information"
        }
    }
}

fn wanted(wanted: Wanted) -> String {
    match wanted {
        Wanted::Utility(target) => utility(target),
        Wanted::Accuracy(ExpectedError { distance, estimator, most }) => {
            format!(
                "expected {} error at most {} ({} estimate)",
                distance.name(),
                short(most),
                estimator.name()
            )
        }
    }
}

fn utility(target: Target) -> String {
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
fn at(evaluated: &Evaluated) -> String {
    let Evaluated { quantity, users: n, answer } = evaluated;
    match &answer.value {
        // One user more or less shows only in the later digits.
        Ok(value) => {
            let text = answer.number().filter(|e| e.error < 1e-9).map(|e| rounded(e.value, 9));
            let text = text.unwrap_or_else(|| value_text(value));
            format!("{} = {text} at n = {n} ({})", quantity.symbol(), method(value))
        }
        Err(absence) => format!("{} at n = {n}: {absence}", quantity.symbol()),
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
