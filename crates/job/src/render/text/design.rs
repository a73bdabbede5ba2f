//! The text of the job `design`.

use sottovoce::design::Requirement;
use sottovoce::metric::Answer;
use sottovoce::{Evaluation, Metric};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{INDENT, WIDTH, answer_text, heading, method_of, prior_text};
use crate::design::{CURVES, Candidate, DesignReport, Frontier, FrontierPoint, Proof};
use crate::metrics::MetricEvaluation;
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{rounded, short};

/// The report of the job `design`: the protocol, its metrics, the certificate, and the others.
pub fn design(report: &DesignReport) -> Document {
    let mut document = Document::default();
    document.title("The best protocol");
    heading(&mut document, &report.best.protocol, &report.prior);
    document.fact("Required", requirement(&report.requirement));
    document.fact("Report", bits(&report.best)).line(Emphasis::Plain, "");
    metrics(&mut document, &report.best.evaluations);
    document.line(Emphasis::Plain, "");
    certificate(&mut document, report);
    document.table(comparison(report));
    if !report.alternatives.is_empty() {
        document.line(Emphasis::Plain, "");
        document.paragraph(
            Emphasis::Faint,
            0,
            WIDTH,
            "The block design reports one of as many subsets as there are values, every pair of values together in equally many: \
             shorter reports, for what it loses against the best.",
        );
    }
    document.picture(bars(report));
    for remark in &report.remarks {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, remark);
    }
    document
}

fn requirement(requirement: &Requirement) -> String {
    let worst = requirement.epsilon().map(|epsilon| format!("LDP at most {epsilon}"));
    let average = requirement.average_privacy().map(|least| format!("S_mu at least {least}"));
    worst.into_iter().chain(average).collect::<Vec<_>>().join(", ")
}

fn bits(candidate: &Candidate) -> String {
    let outputs = candidate.outputs.map(|b| format!(" ({b} outputs)")).unwrap_or_default();
    format!("{:.1} bits{outputs}", candidate.report_bits)
}

/// A table of metrics, then what is to be said about them.
fn metrics(document: &mut Document, evaluations: &[MetricEvaluation]) {
    let name = |e: &MetricEvaluation| {
        let users = e.users.map(|n| format!(", n = {n}")).unwrap_or_default();
        format!("{}{users}", e.metric.symbol())
    };
    let answers: Vec<(String, &Answer)> = evaluations.iter().map(|e| (name(e), &e.answer)).collect();
    document.table(values("metric", &answers));
    remarks(document, &answers);
}

/// Columns of the name of a protocol before a terminal cuts it.
const NAME: usize = 36;

/// A table of values with their methods.
pub(super) fn values(what: &str, answers: &[(String, &Answer)]) -> Table {
    let mut table = Table::new([what, "value", "method"]).names_within(NAME);
    for (name, answer) in answers {
        let value = answer_text(answer).unwrap_or_else(|| "no value".into());
        let cells = [name.clone(), value, method_of(answer)];
        table.row(Emphasis::Plain, cells);
    }
    table
}

/// Why values are missing or not to be trusted.
pub(super) fn remarks(document: &mut Document, answers: &[(String, &Answer)]) {
    for (name, answer) in answers {
        let absence = answer.value.as_ref().err().map(ToString::to_string);
        for words in absence.into_iter().chain(answer.warning.clone()) {
            document.paragraph(Emphasis::Warning, INDENT, WIDTH, &format!("{name}: {words}"));
        }
    }
}

fn certificate(document: &mut Document, report: &DesignReport) {
    let words = match &report.certificate {
        Proof::Utility { certificate, participation_gap } => {
            let searched = if certificate.whole_cone {
                format!("all directions of rows were bounded ({} of them priced)", certificate.priced)
            } else {
                format!("all two-valued rows were covered ({} orbits priced)", certificate.priced)
            };
            let error = match certificate.method {
                sottovoce::Method::MonteCarlo => "four standard errors of random points are in it",
                _ => "the error of the quadrature is in it",
            };
            let place = match certificate.points {
                0 => "by integrals over the prior".to_owned(),
                points => format!("at {points} points of the prior"),
            };
            format!(
                "Certified: no protocol that meets the requirement has a U_as larger by more than {}, or an F_mu larger by more than {}. \
                 For this {searched} {place}; {error}.",
                rounded(certificate.gap, 2),
                rounded(*participation_gap, 2),
            )
        }
        Proof::Information { gap, .. } => format!(
            "Certified: no protocol that meets the requirement tells more about P by one report than {} nats above this one.",
            rounded(*gap, 2)
        ),
    };
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
}

/// The best, the usual protocols from good to bad, and what nearly does.
fn ranked(report: &DesignReport) -> Vec<&Candidate> {
    let merit = |candidate: &Candidate| candidate.number(report.goal).unwrap_or(0.0);
    let mut others: Vec<&Candidate> = report.comparison.iter().collect();
    others.sort_by(|l, r| merit(r).total_cmp(&merit(l)));
    std::iter::once(&report.best).chain(others).chain(&report.alternatives).collect()
}

fn comparison(report: &DesignReport) -> Table {
    let goal = report.goal;
    let best = report.best.number(goal).unwrap_or(f64::NAN);
    let mut table = Table::new(["", goal.symbol(), "of best", "S_mu", "bits"]);
    for (place, candidate) in ranked(report).into_iter().enumerate() {
        let value = candidate.number(goal);
        let cell = |v: Option<f64>| v.map_or("—".into(), short);
        let cells = [
            candidate.name.to_owned(),
            cell(value),
            value.map(|v| format!("{:.1} %", 100.0 * v / best)).unwrap_or_default(),
            cell(candidate.number(Metric::AveragePrivacy)),
            format!("{:.1}", candidate.report_bits),
        ];
        table.row(if place == 0 { Emphasis::Strong } else { Emphasis::Plain }, cells);
    }
    table
}

/// The same as a chart for pages and files.
fn bars(report: &DesignReport) -> Chart {
    let symbol = report.goal.symbol();
    let known: Vec<(&Candidate, f64)> =
        ranked(report).into_iter().filter_map(|c| Some((c, c.number(report.goal)?))).collect();
    let bar = |(row, (candidate, value)): (usize, &(&Candidate, f64))| Point {
        x: *value,
        y: row as f64,
        label: Some(rounded(*value, 4)),
        note: Some(format!("{}: {symbol} {}", candidate.name, short(*value))),
        ..Point::default()
    };
    Chart::new(
        format!("{symbol} of the best protocol and of others"),
        Axis::new(format!("{symbol}, higher is more useful"), Scale::Linear),
        Axis::rows(known.iter().map(|(candidate, _)| candidate.name)),
    )
    .under(format!("{}; {}", requirement(&report.requirement), prior_text(&report.prior)))
    .with(Series::new(symbol, Form::Bars, known.iter().enumerate().map(bar).collect()))
    .saying("All meet the same requirement. The first is certified: no protocol at all is much better.")
}

/// The curve of the job `design --frontier`: one line for each level of privacy.
pub fn frontier(report: &Frontier) -> Document {
    let mut document = Document::default();
    document.title("The best that privacy allows");
    let axis = report.axis.metric().symbol();
    document.fact("Wanted", format!("the largest F_mu at each {axis}, a = {}", report.inputs));
    document.fact("Prior", prior_text(&report.prior));
    if let Some(epsilon) = report.epsilon {
        document.fact("Required", format!("LDP at most {epsilon}"));
    }
    let names = CURVES.iter().map(|family| family.name());
    let mut table = Table::new([axis, "optimum"].into_iter().chain(names).chain(["kind"]));
    report.points.iter().for_each(|point| {
        table.row(Emphasis::Plain, frontier_cells(point));
    });
    document.line(Emphasis::Plain, "").chart(frontier_curves(report));
    document.line(Emphasis::Plain, "").table(table);
    let gap = report.points.iter().map(|point| point.gap / point.best.value).fold(0.0, f64::max);
    document.line(Emphasis::Plain, "").paragraph(
        Emphasis::Faint,
        0,
        WIDTH,
        &format!(
            "Certified: at no level is there a protocol above the optimum by more than {} of it.",
            rounded(gap, 2)
        ),
    );
    document
}

/// The optimum and the classical protocols below it, as a chart for pages and files.
fn frontier_curves(report: &Frontier) -> Chart {
    let axis = report.axis.metric().symbol();
    let best = report.points.iter().map(|point| (point.privacy, point.best.value));
    let chart = Chart::new(
        format!("The largest F_mu at each {axis}, and what the classical protocols reach"),
        Axis::new(axis, Scale::Linear),
        Axis::new("F_mu, higher is more useful", Scale::SquareRoot),
    )
    .under(format!("a = {}, {}", report.inputs, prior_text(&report.prior)))
    .with(Series::line("optimum", best).as_reference())
    .saying("The dashed line is the best that any protocol reaches at this privacy; a classical protocol is as good as it is near to it.");
    CURVES.iter().enumerate().fold(chart, |chart, (i, family)| {
        let reached = report.points.iter().filter_map(|point| Some((point.privacy, point.curves[i]?.value)));
        chart.with(Series::line(family.name(), reached))
    })
}

fn frontier_cells(point: &FrontierPoint) -> Vec<String> {
    let cell = |e: &Option<Evaluation>| e.map_or("—".into(), |e| rounded(e.value, 5));
    let (level, best) = (rounded(point.privacy, 4), cell(&Some(point.best)));
    let curves = point.curves.iter().map(cell);
    [level, best].into_iter().chain(curves).chain([point.kind.to_owned()]).collect()
}
