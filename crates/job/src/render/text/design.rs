//! The text of the job `design`.

use std::fmt;

use sottovoce::design::{Certificate, Requirement};
use sottovoce::metric::Answer;
use sottovoce::{Evaluation, Method, Metric};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{INDENT, WIDTH, answer_text, heading, method_of, prior_text};
use crate::design::{
    BestProtocol, CURVES, Candidate, DesignReport, Frontier, FrontierPoint, Proof, Remark, SearchResult,
    Unlimited,
};
use crate::metrics::MetricEvaluation;
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{rounded, short, with_error};

/// The report of the job `design`.
pub fn design(report: &DesignReport) -> Document {
    match report {
        DesignReport::Best(report) => best(report),
        DesignReport::Frontier(report) => frontier(report),
    }
}

/// The protocol, its metrics, the certificate, and the others.
fn best(report: &BestProtocol) -> Document {
    let mut document = Document::default();
    document.title("The best protocol");
    heading(&mut document, &report.best.protocol, &report.prior);
    document.fact("Required", requirement(&report.requirement));
    if let Some(n) = report.users {
        document.fact("Users", n.to_string());
    }
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
            "The block design has a subset of values for each number that a report can be, and every pair of values is in equally many of them. Its reports \
             are shorter, at some loss of utility.",
        );
    }
    document.picture(bars(report));
    for remark in &report.remarks {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, &remark.to_string());
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

/// A table of metrics, then their reasons and warnings.
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

fn certificate(document: &mut Document, report: &BestProtocol) {
    let words = match &report.certificate {
        Proof::Utility { certificate, participation_gap } => format!(
            "Certified: no protocol that meets the requirement has a U_as larger by more than {}, or an F_mu larger by more than {}. {}",
            rounded(certificate.gap, 2),
            rounded(*participation_gap, 2),
            proof(certificate)
        ),
        Proof::Information { gap, .. } => format!(
            "Certified: one report of any other protocol that meets the requirement tells at most {} nats more about P.",
            rounded(*gap, 2)
        ),
        Proof::Search(result) => search(result),
    };
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
}

/// What a search for several users found, and what is known about all other protocols.
fn search(result: &SearchResult) -> String {
    let SearchResult { users, information, gain, bound, evaluated, .. } = result;
    let told = with_error(information.value, information.error);
    let checked = match information.method {
        Method::Approximation => "by approximation, with its error",
        Method::MonteCarlo => "by Monte Carlo, with its standard error",
        _ => "exactly",
    };
    let better = if gain.value > 0.0 {
        format!(
            "That is {} nats more than the protocol of largest asymptotic utility tells.",
            with_error(gain.value, gain.error)
        )
    } else {
        "The protocol of largest asymptotic utility is the best that was found at this number of users too."
            .into()
    };
    format!(
        "Reports of {users} users tell {told} nats about P ({checked}). {better} This is the best of {evaluated} protocols that were tried, not \
         certified. Certified: no protocol that meets the requirement tells more than {} nats.",
        rounded_up(*bound)
    )
}

/// A bound with four significant digits, rounded up.
fn rounded_up(bound: f64) -> String {
    let unit = 10f64.powf(bound.abs().log10().floor() - 3.0);
    short((bound / unit).ceil() * unit)
}

/// What the certificate rests on.
fn proof(certificate: &Certificate) -> String {
    let rows = if certificate.whole_cone {
        format!("all directions of rows ({} evaluated)", certificate.priced)
    } else {
        format!("all two-valued rows ({} orbits evaluated)", certificate.priced)
    };
    let means = match certificate.points {
        0 => "by integrals over the prior".to_owned(),
        points => format!("at {points} points of the prior"),
    };
    let error = match certificate.method {
        Method::MonteCarlo => "four standard errors of the random points are included",
        _ => "the quadrature error is included",
    };
    format!("The proof covers {rows} {means}; {error}.")
}

/// The best, the usual protocols from good to bad, and the alternatives.
fn ranked(report: &BestProtocol) -> Vec<&Candidate> {
    let merit = |candidate: &Candidate| candidate.number(report.goal).unwrap_or(0.0);
    let mut others: Vec<&Candidate> = report.comparison.iter().collect();
    others.sort_by(|l, r| merit(r).total_cmp(&merit(l)));
    std::iter::once(&report.best).chain(others).chain(&report.alternatives).collect()
}

fn comparison(report: &BestProtocol) -> Table {
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
fn bars(report: &BestProtocol) -> Chart {
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
    .saying(match report.certificate {
        Proof::Search(_) => "All meet the same requirement. The first is the best that a search found.",
        _ => "All meet the same requirement. The first is certified: no protocol is better by more than the gap.",
    })
}

/// The curve: one line for each level of privacy.
fn frontier(report: &Frontier) -> Document {
    let mut document = Document::default();
    document.title("The best utility at each level of privacy");
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
    let gap =
        report.points.iter().map(|point| point.gap / point.participation.optimum.value).fold(0.0, f64::max);
    document.line(Emphasis::Plain, "").paragraph(
        Emphasis::Faint,
        0,
        WIDTH,
        &format!(
            "Certified: at each level, no protocol exceeds the optimum by more than {} of its value.",
            rounded(gap, 2)
        ),
    );
    document
}

/// The optimum and the classical protocols below it, as a chart for pages and files.
fn frontier_curves(report: &Frontier) -> Chart {
    let axis = report.axis.metric().symbol();
    let best = report.points.iter().map(|point| (point.privacy, point.participation.optimum.value));
    let chart = Chart::new(
        format!("The largest F_mu at each {axis}, and what the classical protocols reach"),
        Axis::new(axis, Scale::Linear),
        Axis::new("F_mu, higher is more useful", Scale::SquareRoot),
    )
    .under(format!("a = {}, {}", report.inputs, prior_text(&report.prior)))
    .with(Series::line("optimum", best).as_reference())
    .saying("The dashed line is the best that any protocol reaches at each level of privacy; the closer a classical protocol is to it, the better.");
    CURVES.iter().enumerate().fold(chart, |chart, (i, family)| {
        let reached = report
            .points
            .iter()
            .filter_map(|point| Some((point.privacy, point.participation.families[i]?.value)));
        chart.with(Series::line(family.name(), reached))
    })
}

fn frontier_cells(point: &FrontierPoint) -> Vec<String> {
    let cell = |e: &Option<Evaluation>| e.map_or("—".into(), |e| rounded(e.value, 5));
    let (level, best) = (rounded(point.privacy, 4), cell(&Some(point.participation.optimum)));
    let curves = point.participation.families.iter().map(cell);
    [level, best].into_iter().chain(curves).chain([point.kind.to_owned()]).collect()
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Unlimited(unlimited) => unlimited.fmt(f),
            Remark::LargeGap { wanted } => write!(
                f,
                "The gap is larger than the wanted {wanted:e}: it includes the error of the means over the prior and what the search left open."
            ),
            Remark::NotFaithful { rank, a } => write!(
                f,
                "This protocol is for a single report. Its rank is {rank}, so even many reports cannot tell all distributions of {a} values \
                 apart."
            ),
        }
    }
}

impl fmt::Display for Unlimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unlimited::Reveals { probability } => write!(
                f,
                "For a single user, the report is the plain truth with probability {probability:.3}; the privacy is only an average over users."
            )?,
            Unlimited::RulesOut => f.write_str(
                "For a single user, some reports rule out values for certain; the privacy is only an average over users.",
            )?,
        }
        f.write_str(" A limit on epsilon as well would bound what a single report can reveal.")
    }
}
