//! What several protocols or rounds spend together, as a chart.

use sottovoce::metric::Answer;
use sottovoce::{Evaluation, Method, Metric};
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

/// What is spent after each number of rounds, with what is spent in the limit and the limit that was set; none if fewer than two
/// values are known.
pub(super) fn rounds(report: &BudgetReport, account: &Account) -> Option<Chart> {
    let point = |(rounds, answer): (u64, &Answer)| {
        let e = answer.number()?;
        let ends = match answer.bracket() {
            None if e.method == Method::MonteCarlo => {
                Some((e.value - 2.0 * e.error, e.value + 2.0 * e.error))
            }
            ends => ends,
        };
        let interval = ends.map(|(low, high)| {
            let (one, other) = (spent_of(account, low), spent_of(account, high));
            (one.min(other), one.max(other))
        });
        let y = spent(account, e);
        let note = Some(format!("{} after {rounds} rounds", rounded(y, 4)));
        Some(Point { x: rounds as f64, y, interval, label: None, note }).filter(|point| point.y.is_finite())
    };
    let after = account.after.iter().filter_map(|after| Some((after.rounds?, &after.answer)));
    let points: Vec<Point> = after.filter_map(point).collect();
    let (first, last) = (points.first()?.x, points.last()?.x);
    let level = |name: &str, y: f64| Series::line(name, [(first, y), (last, y)]).as_reference();
    let in_the_end = account.after.last()?.answer.number().map(|e| spent(account, e));
    let (title, unit) = words(account.metric);
    let mut chart = Chart::new(
        format!("{title}, round after round"),
        Axis::new("rounds", Scale::Logarithmic),
        Axis::new(unit, Scale::Linear),
    )
    .with(Series::new("spent", Form::Line, points));
    let mut caption = String::from("What all reports so far spend together.");
    if let Some(y) = in_the_end.filter(|y| y.is_finite()) {
        chart = chart.with(level("after infinitely many", y));
        caption += " It never exceeds the dashed line, which infinitely many rounds approach.";
    } else {
        caption += " It grows without bound.";
    }
    if let Some(limit) = account.limit {
        chart = chart.with(level("limit", spent_of(account, limit)));
        caption += " Rounds below the line of the limit are within it.";
    }
    let protocols = report.protocols.iter().map(brief).collect::<Vec<_>>().join(", ");
    let noise = match report.repetition.as_ref().and_then(|repetition| repetition.then.as_ref()) {
        Some(then) => format!("{protocols}, remembered, then {}", brief(then)),
        None => format!("{protocols}, fresh noise"),
    };
    (first < last).then(|| chart.under(noise).saying(caption))
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
