//! The text of the job `budget`.

use sottovoce::metric::{Answer, Value};
use sottovoce::{Method, Metric};

use super::design::{remarks, values};
use super::spending::{rounds, spending};
use super::{INDENT, WIDTH, prior_text, summary};
use crate::budget::{Account, BudgetReport, Left, Repetition};
use crate::render::document::{Document, Emphasis};
use crate::render::number::short;

/// The report of the job `budget`: what each protocol spends, what they spend together, and what is left.
pub fn budget(report: &BudgetReport) -> Document {
    let mut document = Document::default();
    document.title(match &report.repetition {
        Some(_) => "What several rounds spend together",
        None => "What several protocols spend together",
    });
    if let Some(repetition) = &report.repetition {
        facts(&mut document, report, repetition);
    }
    document.fact("Prior", prior_text(&report.prior));
    let accounts = [&report.worst_case, &report.average];
    let broken: Vec<String> = accounts.into_iter().filter_map(exceeded).collect();
    if !broken.is_empty() {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, &broken.join(" "));
    }
    for account in accounts {
        section(&mut document, report, account);
    }
    document
}

/// What is repeated, and how.
fn facts(document: &mut Document, report: &BudgetReport, repetition: &Repetition) {
    let protocols = report.protocols.iter().map(summary).collect::<Vec<_>>().join("; ");
    match &repetition.then {
        Some(then) => {
            let bits = if repetition.bit_by_bit { ", bit by bit from that" } else { ", from that" };
            document.fact("Once", protocols + ", remembered");
            document.fact("Round", summary(then) + bits);
        }
        None => {
            document.fact("Round", protocols + ", fresh noise");
        }
    }
    document.fact("Rounds", repetition.times.to_string());
}

fn section(document: &mut Document, report: &BudgetReport, account: &Account) {
    document.heading(account.metric.symbol());
    document.on_page(|page| page.paragraph(Emphasis::Faint, 0, WIDTH, account.metric.meaning()));
    let bound = account.bound.as_ref().ok().map(|bound| Answer::of(Value::Number(*bound)));
    let repeated = report.repetition.is_some();
    let mut answers: Vec<(String, &Answer)> = if repeated {
        let name = |rounds: Option<u64>| rounds.map_or("limit of many".into(), |rounds| rounds.to_string());
        account.after.iter().map(|after| (name(after.rounds), &after.answer)).collect()
    } else {
        let each = report.protocols.iter().map(summary).zip(&account.each);
        each.chain([("together".into(), &account.together)]).collect()
    };
    let bound_name = bound_name(account, report.repetition.as_ref());
    answers.extend(bound.iter().map(|bound| (bound_name.to_owned(), bound)));
    document.table(values(if repeated { "rounds" } else { "protocol" }, &answers));
    remarks(document, &answers);
    if repeated {
        document.paragraph(Emphasis::Plain, INDENT, WIDTH, exactness(account));
    }
    if let Err(absence) = &account.bound {
        document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string());
    }
    if let (Some(limit), Some(left)) = (account.limit, account.left) {
        let emphasis = if is_exceeded(left) { Emphasis::Warning } else { Emphasis::Strong };
        document.paragraph(emphasis, INDENT, WIDTH, &what_is_left(account, limit, left));
    }
    let chart = if repeated { rounds(report, account) } else { spending(report, account) };
    if let Some(chart) = chart {
        document.picture(chart);
    }
}

fn bound_name(account: &Account, repetition: Option<&Repetition>) -> &'static str {
    let is_memoised = repetition.is_some_and(|repetition| repetition.then.is_some());
    match account.metric {
        Metric::LocalPrivacyLevel if is_memoised => "at most (permanent report)",
        Metric::LocalPrivacyLevel => "at most (sum of levels)",
        _ if is_memoised => "at least (permanent report)",
        _ => "at least (sum of losses)",
    }
}

/// Which of the values after some rounds are exact.
fn exactness(account: &Account) -> &'static str {
    let drawn = |answer: &Answer| answer.number().is_some_and(|e| e.method == Method::MonteCarlo);
    if account.after.iter().any(|after| drawn(&after.answer)) {
        return "Monte Carlo: from random reports, with the standard error. The rest is exact up to rounding.";
    }
    match account.after.iter().any(|after| after.answer.bracketed || after.answer.value.is_err()) {
        true => "Values with a method other than a bracket are exact up to rounding.",
        false => "All values are exact up to rounding.",
    }
}

fn is_exceeded(left: Left) -> bool {
    left.together.is_some_and(|left| left < 0.0)
}

/// Says that a limit is exceeded, or may be.
fn exceeded(account: &Account) -> Option<String> {
    let (limit, left) = (account.limit?, account.left?);
    let limit = match account.metric {
        Metric::LocalPrivacyLevel => format!("LDP at most {limit}"),
        metric => format!("{} at least {limit}", metric.symbol()),
    };
    let words = if account.together.bracketed { "Limit possibly not met" } else { "Limit not met" };
    is_exceeded(left).then(|| format!("{words}: {limit}."))
}

/// What is left of the limit by the value of all together, and by the bound.
fn what_is_left(account: &Account, limit: f64, left: Left) -> String {
    let over = if account.metric == Metric::LocalPrivacyLevel { "exceeded" } else { "missed" };
    let words = |left: Option<f64>| match left {
        Some(left) if left < 0.0 => format!("{over} by {}", short(-left)),
        Some(left) => format!("{} left", short(left)),
        None => "not known".into(),
    };
    let doubt = match left.together {
        Some(left) if account.together.bracketed && left < 0.0 => "possibly ",
        Some(_) if account.together.bracketed => "at least ",
        _ => "",
    };
    format!("Limit {limit}: {doubt}{} (by the bound: {}).", words(left.together), words(left.bound))
}
