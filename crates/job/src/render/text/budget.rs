//! The text of the job `budget`.

use sottovoce::Metric;
use sottovoce::metric::{Answer, Value};

use super::design::{remarks, values};
use super::spending::spending;
use super::{INDENT, WIDTH, prior_text, summary};
use crate::budget::{Account, BudgetReport, Left};
use crate::render::document::{Document, Emphasis};
use crate::render::number::short;

/// The report of the job `budget`: what each protocol spends, what they spend together, and what is left.
pub fn budget(report: &BudgetReport) -> Document {
    let mut document = Document::default();
    document.title("What several protocols spend together");
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

fn section(document: &mut Document, report: &BudgetReport, account: &Account) {
    document.heading(account.metric.symbol());
    document.on_page(|page| page.paragraph(Emphasis::Faint, 0, WIDTH, account.metric.meaning()));
    let bound = account.bound.as_ref().ok().map(|bound| Answer::of(Value::Number(*bound)));
    let mut answers: Vec<(String, &Answer)> =
        report.protocols.iter().map(summary).zip(&account.each).collect();
    answers.push(("together".into(), &account.together));
    answers.extend(bound.iter().map(|bound| (bound_name(account).to_owned(), bound)));
    document.table(values("protocol", &answers));
    remarks(document, &answers);
    if let Err(absence) = &account.bound {
        document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string());
    }
    if let (Some(limit), Some(left)) = (account.limit, account.left) {
        let emphasis = if is_exceeded(left) { Emphasis::Warning } else { Emphasis::Strong };
        document.paragraph(emphasis, INDENT, WIDTH, &what_is_left(account, limit, left));
    }
    if let Some(chart) = spending(report, account) {
        document.picture(chart);
    }
}

fn bound_name(account: &Account) -> &'static str {
    match account.metric {
        Metric::LocalPrivacyLevel => "at most (sum of levels)",
        _ => "at least (sum of losses)",
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
