//! The text of the job `accuracy`.

use sottovoce::Evaluation;
use sottovoce::accuracy::Distance;
use sottovoce::estimate::Estimator;
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{error_of, heading, in_row, list, method_name, without_error};
use crate::accuracy::{AccuracyReport, Entry, Where};
use crate::render::document::{Document, Emphasis, Listing, Shown};
use crate::render::number::{rounded, with_error};
use crate::render::text::summary;

/// The report of the job `accuracy`: one line for each estimator, one heading for each distance and number of users.
pub fn accuracy(report: &AccuracyReport) -> Document {
    let mut document = Document::default();
    document.title("How far off estimates are");
    heading(&mut document, &report.protocol, &report.prior);
    document.fact("Expected", place(report));
    for group in report.entries.chunk_by(|l, r| (l.n, l.distance) == (r.n, r.distance)) {
        let (n, distance) = (group[0].n, group[0].distance);
        document.heading(format!("{} of {n} users: {}", distance.name(), distance.meaning()));
        document.listing(listing(group));
        let known: Vec<Known> = group.iter().filter_map(Known::of).collect();
        if known.len() > 1 {
            document.picture(bars(report, known));
        }
    }
    curves(report).into_iter().for_each(|chart| {
        document.picture(chart);
    });
    document
}

fn place(report: &AccuracyReport) -> String {
    match &report.place {
        Where::At(p) => format!("at the distribution {}", list(p)),
        Where::Prior => "on average over the prior".into(),
        Where::Worst => "at the worst distribution".into(),
    }
}

fn listing(group: &[Entry]) -> Listing {
    let mut listing = Listing::default().column("estimator", 18).in_terminal(25);
    listing = listing.on_page("expected error").on_page("uncertainty").column("method", 0);
    for entry in group {
        let name = format!("  {}", entry.estimator.name());
        match &entry.accuracy {
            Ok(found) => {
                let e = &found.evaluation;
                let value = with_error(e.value, e.error);
                let alone = without_error(&value);
                listing.entry([name, value, alone, error_of(e), method_name(e.method)]);
            }
            Err(_) => {
                listing.entry([name, "no value".into(), "no value".into(), String::new(), String::new()]);
            }
        }
        notes(&mut listing, entry);
    }
    listing
}

fn notes(listing: &mut Listing, entry: &Entry) {
    listing.note(Shown::Page, Emphasis::Faint, entry.estimator.meaning());
    let found = match &entry.accuracy {
        Ok(found) => found,
        Err(reason) => {
            listing.note(Shown::Everywhere, Emphasis::Warning, reason.to_string());
            return;
        }
    };
    if let Some(worst) = &found.worst {
        let among = if found.worst_of_all { "of all" } else { "of the corners and the uniform one" };
        listing.note(
            Shown::Everywhere,
            Emphasis::Faint,
            format!("worst distribution {among}: {}", list(worst)),
        );
    }
    if found.uncertified > 0 {
        let words = format!(
            "warning: in {} of {} simulated collections the likelihood was not certified to be at its maximum",
            found.uncertified, found.draws
        );
        listing.note(Shown::Everywhere, Emphasis::Warning, words);
    }
}

/// The error of a single estimator against the number of users, for each distance, where there are several numbers.
fn curves(report: &AccuracyReport) -> Vec<Chart> {
    let known: Vec<Known> = report.entries.iter().filter_map(Known::of).collect();
    let alone = known.iter().all(|k| k.estimator == known[0].estimator);
    let curve = |&distance: &Distance| {
        let known: Vec<Known> = known.iter().filter(|k| k.distance == distance).copied().collect();
        (alone && known.len() > 1).then(|| curve(report, &known))
    };
    Distance::ALL.iter().filter_map(curve).collect()
}

/// An expected error that there is.
#[derive(Clone, Copy)]
struct Known {
    n: u64,
    distance: Distance,
    estimator: Estimator,
    evaluation: Evaluation,
}

impl Known {
    fn of(entry: &Entry) -> Option<Self> {
        let evaluation = entry.accuracy.as_ref().ok()?.evaluation;
        Some(Known { n: entry.n, distance: entry.distance, estimator: entry.estimator, evaluation })
    }
}

fn label(distance: Distance) -> String {
    format!("expected {} error, lower is better", distance.name())
}

/// The estimators side by side, the best first.
fn bars(report: &AccuracyReport, mut known: Vec<Known>) -> Chart {
    known.sort_by(|l, r| l.evaluation.value.total_cmp(&r.evaluation.value));
    let Known { n, distance, estimator: best, evaluation } = known[0];
    let bar = |(row, k): (usize, &Known)| in_row(row, &k.evaluation, rounded(k.evaluation.value, 4));
    Chart::new(
        format!("Expected {} error of each estimator, {n} users", distance.name()),
        Axis::new(label(distance), Scale::Linear),
        Axis::rows(known.iter().map(|k| k.estimator.name())),
    )
    .under(format!("{}, {}", summary(&report.protocol), place(report)))
    .with(Series::new("expected error", Form::Bars, known.iter().enumerate().map(bar).collect()))
    .saying(format!(
        "Short bars are good; the shortest is that of {}, {} ({}). Whiskers are two standard errors where a number comes from simulated collections.",
        best.name(),
        rounded(evaluation.value, 4),
        distance.meaning()
    ))
}

fn curve(report: &AccuracyReport, known: &[Known]) -> Chart {
    let Known { distance, estimator, .. } = known[0];
    let point = |k: &Known| Point {
        x: k.n as f64,
        y: k.evaluation.value,
        note: Some(format!("{} at n = {}", with_error(k.evaluation.value, k.evaluation.error), k.n)),
        ..Point::default()
    };
    let mut points: Vec<Point> = known.iter().map(point).collect();
    points.sort_by(|l, r| l.x.total_cmp(&r.x));
    Chart::new(
        format!("Expected {} error against the number of users", distance.name()),
        Axis::new("users", Scale::Logarithmic),
        Axis::new(label(distance), Scale::Logarithmic),
    )
    .under(format!("{}, {}", summary(&report.protocol), place(report)))
    .with(Series::new(estimator.name(), Form::Line, points))
    .saying(format!("The more users, the smaller the error ({}).", distance.meaning()))
}
