//! What several protocols spend together, as a chart.

use sottovoce::metric::Answer;
use sottovoce::{Evaluation, Metric};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use crate::budget::{Account, BudgetReport};
use crate::render::number::rounded;
use crate::render::text::brief;

/// What each protocol spends, end to end, above what they spend together, with the limit; none if a value is missing or infinite.
pub(super) fn spending(report: &BudgetReport, account: &Account) -> Option<Chart> {
    let spent = |answer: &Answer| Some(spent(account, answer.number()?)).filter(|value| value.is_finite());
    let each: Vec<f64> = account.each.iter().map(spent).collect::<Option<_>>()?;
    // Of a bracket, the less private end counts.
    let together = match account.together.bracket() {
        Some((low, high)) => {
            let (one, other) = (spent_of(account, low), spent_of(account, high));
            Some(one.max(other)).filter(|most| most.is_finite())?
        }
        None => spent(&account.together)?,
    };
    let part =
        |x: f64, row: usize| Point { x, y: row as f64, label: Some(rounded(x, 3)), ..Point::default() };
    let (title, unit) = words(account.metric);
    let axis = Axis::new(unit, Scale::Linear);
    let mut chart = Chart::new(title, axis, Axis::rows(["sum", "together"]));
    for (protocol, x) in report.protocols.iter().zip(each) {
        chart = chart.with(Series::new(brief(protocol), Form::Stacked, vec![part(x, 0)]));
    }
    let name = if account.together.bracketed { "all together, at most" } else { "all together" };
    chart = chart.with(Series::new(name, Form::Stacked, vec![part(together, 1)]));
    if let Some(limit) = account.limit {
        let limit = match account.metric {
            Metric::LocalPrivacyLevel => limit,
            _ => 100.0 * (1.0 - limit),
        };
        let mark = |row: usize| Point { x: limit, y: row as f64, ..Point::default() };
        chart = chart.with(Series::new("limit", Form::Marks, vec![mark(0), mark(1)]).as_reference());
    }
    let limit = if account.limit.is_some() {
        " Bars that end before the vertical line are within the limit."
    } else {
        ""
    };
    Some(chart.saying(format!(
        "Top: the sum of what each protocol spends alone. Bottom: what their reports on the same value spend together, which is never more.{limit}"
    )))
}

/// The level in the worst case, and the percentage that is revealed on average.
fn spent(account: &Account, e: Evaluation) -> f64 {
    spent_of(account, e.value)
}

fn spent_of(account: &Account, value: f64) -> f64 {
    match account.metric {
        Metric::LocalPrivacyLevel => value,
        _ => 100.0 * (1.0 - value),
    }
}

fn words(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::LocalPrivacyLevel => ("Privacy spent in the worst case", "LDP level, lower is more private"),
        _ => ("Privacy spent on average", "% of the secret revealed, lower is more private"),
    }
}
