//! The text of designs, choices and budgets.

use sottovoce::design::Requirement;
use sottovoce::metric::{Answer, Value};
use sottovoce::{Evaluation, Metric};

use super::{INDENT, WIDTH, heading, method, prior_text, value_text};
use crate::budget::{Account, BudgetReport};
use crate::choose::ChooseReport;
use crate::describe::summary;
use crate::design::{CURVES, Candidate, DesignReport, Frontier, FrontierPoint, Proof};
use crate::render::document::{Document, Emphasis};
use crate::render::number::{rounded, short, with_error};

/// The report of the job `design`: the protocol, its metrics, the certificate, and the others.
pub fn design(report: &DesignReport) -> Document {
    let mut document = Document::default();
    heading(&mut document, &report.best.protocol, &report.prior);
    document.line(Emphasis::Strong, format!("Required  {}", requirement(&report.requirement)));
    document.line(Emphasis::Strong, format!("Report    {}", bits(&report.best))).line(Emphasis::Plain, "");
    for evaluation in &report.best.evaluations {
        let users = evaluation.users.map(|n| format!(", n = {n}")).unwrap_or_default();
        let name = format!("{}{users}", evaluation.metric.symbol());
        document.push(Emphasis::Strong, format!("{name:<20}"));
        told(&mut document, &evaluation.answer);
    }
    document.line(Emphasis::Plain, "");
    certificate(&mut document, report);
    comparison(&mut document, report);
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

/// A value with its method, or why there is none.
fn told(document: &mut Document, answer: &Answer) {
    match &answer.value {
        Ok(value) => document.line(Emphasis::Plain, format!("{:<25}{}", value_text(value), method(value))),
        Err(absence) => document.line(Emphasis::Plain, "no value").paragraph(
            Emphasis::Warning,
            INDENT,
            WIDTH,
            &absence.to_string(),
        ),
    };
    if let Some(warning) = &answer.warning {
        document.paragraph(Emphasis::Warning, INDENT, WIDTH, warning);
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
            format!(
                "Certified: no protocol that meets the requirement has a U_as larger by more than {}, or an F_mu larger by more than {}. \
                 For this {searched} at {} points of the prior; {error}.",
                rounded(certificate.gap, 2),
                rounded(*participation_gap, 2),
                certificate.points
            )
        }
        Proof::Information { gap, .. } => format!(
            "Certified: no protocol that meets the requirement tells more about P by one report than {} nats above this one.",
            rounded(*gap, 2)
        ),
    };
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
}

fn comparison(document: &mut Document, report: &DesignReport) {
    let goal = report.goal;
    let head = format!("{:<14}{:>12}{:>12}{:>12}{:>12}", "", goal.symbol(), "of best", "S_mu", "bits");
    document.line(Emphasis::Strong, head);
    let best = report.best.number(goal).unwrap_or(f64::NAN);
    let mut others: Vec<&Candidate> = report.comparison.iter().collect();
    others.sort_by(|l, r| r.number(goal).unwrap_or(0.0).total_cmp(&l.number(goal).unwrap_or(0.0)));
    for candidate in std::iter::once(&report.best).chain(others).chain(&report.alternatives) {
        let value = candidate.number(goal);
        let share = value.map(|v| format!("{:.1} %", 100.0 * v / best)).unwrap_or_default();
        let cell = |v: Option<f64>| v.map_or("—".into(), short);
        let line = format!(
            "{:<14}{:>12}{share:>12}{:>12}{:>12.1}",
            candidate.name,
            cell(value),
            cell(candidate.number(Metric::AveragePrivacy)),
            candidate.report_bits
        );
        document.line(Emphasis::Plain, line);
    }
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
}

/// The curve of the job `design --frontier`: one line for each level of privacy.
pub fn frontier(report: &Frontier) -> Document {
    let mut document = Document::default();
    let axis = report.axis.metric().symbol();
    document.line(Emphasis::Strong, format!("The largest F_mu at each {axis}, a = {}", report.inputs));
    document.line(Emphasis::Strong, format!("Prior     {}", prior_text(&report.prior)));
    if let Some(epsilon) = report.epsilon {
        document.line(Emphasis::Strong, format!("Required  LDP at most {epsilon}"));
    }
    document.line(Emphasis::Plain, "");
    let names: String = CURVES.iter().map(|family| format!("{:>12}", family.name())).collect();
    document.line(Emphasis::Strong, format!("{axis:>8}{:>12}{names}   {}", "optimum", "kind"));
    for point in &report.points {
        document.line(Emphasis::Plain, frontier_line(point));
    }
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

fn frontier_line(point: &FrontierPoint) -> String {
    let cell = |e: &Option<Evaluation>| format!("{:>12}", e.map_or("—".into(), |e| rounded(e.value, 5)));
    let curves: String = point.curves.iter().map(cell).collect();
    format!("{:>8}{}{curves}   {}", rounded(point.privacy, 4), cell(&Some(point.best)), point.kind)
}

/// The report of the job `choose`: the answer in words, then the numbers behind it.
pub fn choose(report: &ChooseReport) -> Document {
    let mut document = Document::default();
    document.line(Emphasis::Strong, format!("Users     {}", report.n));
    document.line(Emphasis::Strong, format!("Prior     {}", prior_text(&report.prior)));
    for sentence in &report.sentences {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, sentence);
    }
    for candidate in std::iter::once(&report.best).chain(&report.runner_up) {
        document.line(Emphasis::Plain, "").line(Emphasis::Strong, summary(&candidate.protocol));
        for evaluation in &candidate.evaluations {
            document.push(Emphasis::Plain, format!("    {:<12}", evaluation.metric.symbol()));
            told(&mut document, &evaluation.answer);
        }
    }
    document
}

/// The report of the job `budget`: what each protocol spends, what they spend together, and what is left.
pub fn budget(report: &BudgetReport) -> Document {
    let mut document = Document::default();
    document.line(Emphasis::Strong, format!("Prior     {}", prior_text(&report.prior)));
    for account in [&report.worst_case, &report.average] {
        document.line(Emphasis::Plain, "");
        document.line(Emphasis::Strong, account.metric.symbol());
        for (protocol, each) in report.protocols.iter().zip(&account.each) {
            account_line(&mut document, &summary(protocol), each);
        }
        account_line(&mut document, "together", &account.together);
        match &account.bound {
            Ok(bound) => account_line(&mut document, bound_name(account), &Answer::of(Value::Number(*bound))),
            Err(absence) => {
                document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string());
            }
        }
        left(&mut document, account);
    }
    document
}

fn bound_name(account: &Account) -> &'static str {
    match account.metric {
        Metric::LocalPrivacyLevel => "at most (sum of levels)",
        _ => "at least (losses added up)",
    }
}

fn account_line(document: &mut Document, name: &str, answer: &Answer) {
    document.push(Emphasis::Plain, format!("    {:<38}", super::clipped(name, 36)));
    told(document, answer);
}

fn left(document: &mut Document, account: &Account) {
    let (Some(limit), Some((left, sure))) = (account.limit, account.left()) else { return };
    let text = |left: Option<f64>| match left {
        Some(left) if left < -1e-12 => format!("exceeded by {}", short(-left)),
        Some(left) => format!("{} left", with_error(left.max(0.0), 0.0)),
        None => "not known".into(),
    };
    let words = format!("of the limit {limit}: {}; by the bound: {}", text(left), text(sure));
    let emphasis = if left.is_some_and(|left| left < -1e-12) { Emphasis::Warning } else { Emphasis::Strong };
    document.paragraph(emphasis, INDENT, WIDTH, &words);
}
