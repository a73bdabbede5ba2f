//! What the reports of the chosen protocol and of the runner-up are worth, as a chart.

use sottovoce::Metric;
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{in_row, prior_text};
use crate::choose::{Choosable, ChooseReport};
use crate::design::Candidate;
use crate::render::number::rounded;

/// How many true values the reports are worth, for the best two; none if only one has a number.
pub(super) fn worth(report: &ChooseReport) -> Option<Chart> {
    let both = std::iter::once(&report.best).chain(&report.runner_up);
    let candidates: Vec<&Candidate> = both.map(|choosable: &Choosable| &choosable.candidate).collect();
    let factor = |candidate: &Candidate| {
        let evaluation = candidate.evaluations.iter().find(|e| e.metric == Metric::EffectiveParticipation)?;
        evaluation.answer.number()
    };
    let bar = |(row, candidate): (usize, &&Candidate)| -> Option<Point> {
        let worth = factor(candidate)?.times(report.n as f64);
        Some(in_row(row, &worth, rounded(worth.value, 4)))
    };
    let place = ["use", "runner-up"];
    let names = candidates
        .iter()
        .zip(place)
        .map(|(candidate, place)| format!("{place}: {}", candidate.protocol.name()));
    let bars: Vec<Point> = candidates.iter().enumerate().filter_map(bar).collect();
    let chart = Chart::new(
        format!("What {} reports are worth", report.n),
        Axis::new("true values, higher is more useful", Scale::Linear),
        Axis::rows(names),
    )
    .under(format!("F_mu times the number of users; {}", prior_text(&report.prior)))
    .with(Series::new("worth", Form::Bars, bars))
    .saying(format!(
        "The number of true values that would teach as much about the population as {} reports, asymptotically. Top: the protocol to use. Bottom: the runner-up.",
        report.n
    ));
    (chart.series[0].points.len() > 1).then_some(chart)
}
