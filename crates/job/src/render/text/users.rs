//! The text of the job `users`.

use sottovoce::accuracy::Distance;
use sottovoce::metric::Value;
use sottovoce::{Method, Metric};
use sottovoce_chart::{Annotation, Axis, Chart, Form, Point, Scale, Series};
use std::f64::consts::LN_10;

use super::confirmation::confirmation;
use super::{WIDTH, error, heading, method, prior_text, value_alone, value_text, without_error};
use crate::expected_error::{ErrorMeasure, ExpectedError};
use crate::render::document::{Document, Emphasis, Listing, Shown, Table};
use crate::render::number::{points_word, rounded, short};
use crate::render::text::summary;
use crate::users::{Count, Evaluated, Found, Ratio, Target, UsersReport, Wanted};

/// Where the values start.
const COLUMN: usize = 15;

/// The asymptotic factor is trusted if it is this close to the ratio, relative to it.
const TRUSTED: f64 = 0.05;

/// The report of the job `users`: the number, the number of true values, their quotient, and whether `F_μ` agrees.
pub fn users(report: &UsersReport) -> Document {
    let mut document = Document::default();
    document.title("How many users");
    heading(&mut document, &report.protocol, &report.prior);
    document.fact("Wanted", wanted(report.wanted)).line(Emphasis::Plain, "");
    document.on_page(|page| page.paragraph(Emphasis::Strong, 0, WIDTH, &answer(report)));
    document.listing(listing(report));
    if let Some(checked) = &report.confirmation {
        document.line(Emphasis::Plain, "");
        document.paragraph(Emphasis::Faint, 0, WIDTH, &confirmation(checked));
    }
    if let (Some(ratio), Some(factor), Wanted::Utility(_)) =
        (report.ratio, report.participation.answer.number(), report.wanted)
    {
        document.line(Emphasis::Plain, "");
        document.paragraph(Emphasis::Plain, 0, WIDTH, &trust(&ratio, factor.value, report));
    }
    if let Some(chart) = chart(report) {
        document.picture(chart);
    }
    if !report.needed.probes.is_empty() {
        document
            .on_page(|page| page.heading("Numbers of users evaluated by the search").table(probes(report)));
    }
    document
}

/// The number in a sentence.
fn answer(report: &UsersReport) -> String {
    let goal = wanted(report.wanted);
    match (&report.needed.found, &report.truth.found) {
        (Err(obstacle), _) => format!("No number of users for {goal}: {obstacle}."),
        (Ok(needed), truth) => {
            let honest = |truth: &Found| format!("; {} true values would be enough", found_text(truth));
            let honest = truth.as_ref().map(honest).unwrap_or_default();
            format!("Reaching {goal} takes {} users{honest}.", found_text(needed))
        }
    }
}

fn listing(report: &UsersReport) -> Listing {
    let mut listing = Listing::default().column("", COLUMN).in_terminal(0).on_page("number");
    listing = listing.on_page("meaning").on_page("error").on_page("method");
    count(&mut listing, "users", "who report through the protocol", &report.needed);
    if report.truth.found.as_ref().err() != report.needed.found.as_ref().err() || report.ratio.is_some() {
        let what = match report.wanted {
            Wanted::Utility(_) => "that would tell as much about P",
            Wanted::Accuracy(_) => "that would be as accurate",
        };
        count(&mut listing, "true values", what, &report.truth);
    }
    if let Some(ratio) = report.ratio {
        let (text, words) =
            (ratio_text(&ratio), "true values over users: what a report is worth at this number of users");
        listing.entry(["ratio", &text, &text, words, "", "quotient"]).note(
            Shown::Terminal,
            Emphasis::Faint,
            words,
        );
    }
    factor(&mut listing, report);
    listing
}

/// The asymptotic factor, or why there is none.
fn factor(listing: &mut Listing, report: &UsersReport) {
    let factor = &report.participation;
    let symbol = factor.metric.symbol();
    match &factor.answer.value {
        Ok(value) => {
            let (text, words) = (value_text(value), participation(report.wanted));
            listing.entry([symbol, &text, &value_alone(value), words, &error(value), &method(value)]);
            listing.note(Shown::Terminal, Emphasis::Faint, words)
        }
        Err(absence) => listing.entry([symbol, "no value", "no value", "", "", ""]).note(
            Shown::Everywhere,
            Emphasis::Warning,
            absence.to_string(),
        ),
    };
}

/// The quantity at every number of users that the search evaluated.
fn probes(report: &UsersReport) -> Table {
    let mut table = Table::new(["who", "number", "result", "error", "method"]);
    for (who, count) in [("users", &report.needed), ("true values", &report.truth)] {
        let found = count.found.as_ref().ok().map(|found| found.n);
        for Evaluated { quantity, users, answer } in &count.probes {
            let (value, error, method) = match &answer.value {
                Ok(value) => (without_error(&precise(value)), error(value), method(value)),
                Err(absence) => (absence.to_string(), String::new(), String::new()),
            };
            let emphasis = if found == *users { Emphasis::Strong } else { Emphasis::Plain };
            let value = format!("{} = {value}", quantity.symbol());
            let users = users.map(|n| n.to_string()).unwrap_or_default();
            table.row(emphasis, [who.into(), users, value, error, method]);
        }
    }
    table
}

/// The quantity against the number of users, with the target; none if it was evaluated at one number only.
fn chart(report: &UsersReport) -> Option<Chart> {
    let quantity = report.wanted.quantity();
    let same = |probe: &&Evaluated| probe.quantity == quantity;
    let series =
        |count: &Count| -> Vec<Point> { count.probes.iter().filter(same).filter_map(point).collect() };
    let (reports, truth) = (series(&report.needed), series(&report.truth));
    let ends = || reports.iter().chain(&truth).map(|point| point.x);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    if low >= high || reports.is_empty() {
        return None;
    }
    let (scale, symbol, what) = match report.wanted {
        Wanted::Utility(_) => (Scale::Linear, quantity.symbol().to_owned(), "higher is more useful"),
        Wanted::Accuracy(error) => {
            let symbol = match error.measure.distance {
                Distance::RootMeanSquare => "Typical error of a share".to_owned(),
                distance => format!("Expected {} error", distance.name()),
            };
            (Scale::Logarithmic, symbol, "lower is better")
        }
    };
    let goal = report.wanted.value();
    let mut chart = Chart::new(
        format!("{symbol} against the number of users"),
        Axis::new("users", Scale::Logarithmic),
        Axis::new(format!("{symbol}, {what}"), scale),
    )
    .under(format!("{}; {}", summary(&report.protocol), prior_text(&report.prior)))
    .with(Series::new("reports", Form::Line, reports))
    .with(Series::line("wanted", [(low, goal), (high, goal)]).as_reference());
    if !truth.is_empty() {
        chart = chart.with(Series::new("true values", Form::Line, truth).coloured(1));
    }
    let drawn = [("users", &report.needed), ("true values", &report.truth)];
    for (who, count) in drawn.into_iter().take(chart.series.len() - 1) {
        if let Ok(found) = &count.found {
            let label = format!("{} {who}", found.n);
            chart = chart.remarking(Annotation::Mark { x: found.n as f64, y: goal, label });
        }
    }
    Some(chart.saying(format!(
        "{} The lines connect the numbers of users that the search evaluated.",
        answer(report)
    )))
}

fn point(probe: &Evaluated) -> Option<Point> {
    let e = probe.answer.number().filter(|e| e.value.is_finite())?;
    let interval = (e.method == Method::MonteCarlo && e.error.is_finite())
        .then_some((e.value - 2.0 * e.error, e.value + 2.0 * e.error));
    let n = probe.users?;
    let note = format!("{n} users: {} {}", probe.quantity.symbol(), short(e.value));
    Some(Point { x: n as f64, y: e.value, interval, label: None, note: Some(note) })
}

/// What `F_μ` has to do with the quotient.
fn participation(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Utility(_) => "the same, asymptotically",
        Wanted::Accuracy(_) => "what a report is worth asymptotically, in information",
    }
}

fn wanted(wanted: Wanted) -> String {
    match wanted {
        Wanted::Utility(target) => utility(target),
        Wanted::Accuracy(ExpectedError { measure: ErrorMeasure { distance, estimator }, most }) => {
            let estimator = estimator.name();
            if distance == Distance::RootMeanSquare {
                let points = rounded(100.0 * most, 6);
                let unit = points_word(&points);
                return format!(
                    "a typical error of a share of at most {points} {unit} ({estimator} estimate)"
                );
            }
            format!("an expected {} error of at most {} ({estimator} estimate)", distance.name(), short(most))
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

fn count(listing: &mut Listing, name: &str, what: &str, count: &Count) {
    match &count.found {
        Ok(found) => {
            let number = found_text(found);
            listing.entry([name, &format!("{number}  {what}"), &number, what, doubt(found), "search"]);
        }
        Err(obstacle) => {
            listing.entry([name, "no number", "no number", what, "", ""]);
            listing.note(Shown::Everywhere, Emphasis::Warning, obstacle.to_string());
        }
    }
    for evaluation in &count.evaluations {
        listing.note(Shown::Terminal, Emphasis::Faint, at(evaluation));
        if let Some(warning) = &evaluation.answer.warning {
            listing.note(Shown::Everywhere, Emphasis::Warning, format!("warning: {warning}"));
        }
    }
}

/// How sure the number is.
fn doubt(found: &Found) -> &'static str {
    if found.is_exact() { "none" } else { "two standard errors" }
}

fn found_text(found: &Found) -> String {
    let range = if found.is_exact() { String::new() } else { format!(" ({} to {})", found.low, found.high) };
    format!("{}{range}", found.n)
}

/// The metric at a number of users.
fn at(evaluated: &Evaluated) -> String {
    let Evaluated { quantity, users, answer } = evaluated;
    let n = users.unwrap_or_default();
    match &answer.value {
        Ok(value) => format!("{} = {} at n = {n} ({})", quantity.symbol(), precise(value), method(value)),
        Err(absence) => format!("{} at n = {n}: {absence}", quantity.symbol()),
    }
}

/// A value with more digits than usual: one user more or less shows only in the later ones.
fn precise(value: &Value) -> String {
    match value {
        Value::Number(e) if e.error < 1e-9 => rounded(e.value, 9),
        _ => value_text(value),
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
    let side = if off > 0.0 { "overstates" } else { "understates" };
    let symbol = Metric::EffectiveParticipation.symbol();
    if report.truth.found.as_ref().is_ok_and(|found| found.n <= 1) {
        // Then the ratio is 1 or nearly nothing, whatever the protocol.
        format!("One true value reaches the target, so the ratio says nothing about {symbol}.")
    } else if off.abs() <= TRUSTED {
        format!("At this number of users the asymptotic factor {symbol} can be trusted: it is {percent} off.")
    } else if covered {
        format!("{symbol} is within the uncertainty of the ratio, which is too large to say more.")
    } else {
        format!(
            "At this number of users the asymptotic factor {symbol} cannot be trusted: it {side} the worth of a report by \
             {percent}."
        )
    }
}
