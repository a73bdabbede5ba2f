//! The CSV of designs, choices and budgets.

use super::{answer, number, table, value};
use crate::budget::{BudgetReport, Left};
use crate::choose::{Choosable, ChooseReport};
use crate::design::{BestProtocol, CURVES, Candidate, DesignReport, Frontier, FrontierPoint, Proof};
use crate::quantity::{Quantity, TYPICAL_ERROR};
use crate::render::text::summary;

/// The report of the job `design`: one line for each protocol, the best first, or for each level of privacy.
pub fn design(report: &DesignReport) -> String {
    match report {
        DesignReport::Best(report) => best(report),
        DesignReport::Frontier(report) => frontier(report),
    }
}

fn best(report: &BestProtocol) -> String {
    let (gap, gap_f_mu) = match &report.certificate {
        Proof::Utility { certificate, participation_gap } => (certificate.gap, number(*participation_gap)),
        Proof::Information { gap, .. } => (*gap, String::new()),
        Proof::Search(result) => (result.bound - result.information.value, String::new()),
    };
    let names: Vec<String> = report.best.evaluations.iter().map(|e| e.metric.name().to_owned()).collect();
    let header = ["name", "protocol", "report_bits"].map(String::from).into_iter().chain(names.clone());
    let header: Vec<String> = header.chain(["gap".into(), "gap_f_mu".into()]).collect();
    let row = |candidate: &Candidate, gaps: [String; 2]| {
        let mut cells =
            vec![candidate.name.into(), summary(&candidate.protocol), number(candidate.report_bits)];
        cells.extend((0..names.len()).map(|i| candidate.evaluations.get(i).map(value).unwrap_or_default()));
        cells.extend(gaps);
        cells
    };
    let best = row(&report.best, [number(gap), gap_f_mu]);
    let others = report.comparison.iter().chain(&report.alternatives);
    table(header, std::iter::once(best).chain(others.map(|c| row(c, Default::default()))))
}

fn frontier(report: &Frontier) -> String {
    let names = CURVES.iter().map(|family| family.name().to_lowercase());
    let header = [report.axis.metric().name(), "optimum", "gap", "kind"].map(String::from).into_iter();
    let row = |point: &FrontierPoint| {
        let found = &point.participation;
        let first =
            [number(point.privacy), number(found.optimum.value), number(point.gap), point.kind.into()];
        let curves = found.families.iter().map(|curve| curve.map(|e| number(e.value)).unwrap_or_default());
        first.into_iter().chain(curves).collect::<Vec<String>>()
    };
    table(header.chain(names).collect(), report.points.iter().map(row))
}

/// The report of the job `choose`: one line for each metric of the best two and for how far estimates are off; the number of users
/// needed stands with the best.
pub fn choose(report: &ChooseReport) -> String {
    let header = [
        "place",
        "name",
        "protocol",
        "report_bits",
        "metric",
        "n",
        "value",
        "error",
        "method",
        "reason",
        "warning",
    ];
    let rows = [("best", Some(&report.best)), ("runner_up", report.runner_up.as_ref())];
    let row = |(place, choosable): (&str, &Choosable)| {
        let candidate = &choosable.candidate;
        let own = [
            place.into(),
            candidate.name.into(),
            summary(&candidate.protocol),
            number(candidate.report_bits),
        ];
        let line = |e: &crate::metrics::MetricEvaluation| {
            let users = e.users.map(|n| n.to_string()).unwrap_or_default();
            let metric = [e.metric.name().into(), users];
            own.iter().cloned().chain(metric).chain(answer(&e.answer)).collect::<Vec<String>>()
        };
        let typical = choosable.error.iter().map(|error| {
            let numbers = [number(error.value), number(error.error), error.method.name().into()];
            let name = match Quantity::Error(report.measure.distance) {
                TYPICAL_ERROR => "typical_error",
                other => other.name(),
            };
            [name.into(), report.n.to_string()].into_iter().chain(numbers).collect::<Vec<String>>()
        });
        let needed = report.needed.iter().map(|n| vec!["needed".into(), String::new(), n.to_string()]);
        let needed = needed.filter(|_| place == "best");
        let whole = typical.chain(needed).map(|cells| {
            let cells = own.iter().cloned().chain(cells);
            cells.chain(std::iter::repeat(String::new())).take(header.len()).collect()
        });
        candidate.evaluations.iter().map(line).chain(whole).collect::<Vec<_>>()
    };
    let rows = rows.into_iter().filter_map(|(place, candidate)| Some((place, candidate?))).flat_map(row);
    table(header.map(String::from).to_vec(), rows.collect::<Vec<_>>().into_iter())
}

/// The report of the job `budget`: one line for each protocol and metric, then for each number of rounds, all together, the bound and what is left.
pub fn budget(report: &BudgetReport) -> String {
    let header = ["what", "metric", "value", "error", "method", "reason", "warning"].map(String::from);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for account in [&report.worst_case, &report.average] {
        let mut add = |what: String, cells: [String; 5]| {
            rows.push([what, account.metric.name().into()].into_iter().chain(cells).collect());
        };
        for (protocol, each) in report.protocols.iter().zip(&account.each) {
            add(summary(protocol), answer(each));
        }
        for after in &account.after {
            let rounds = after.rounds.map_or("limit".into(), |rounds| rounds.to_string());
            add(format!("after {rounds}"), answer(&after.answer));
        }
        add("together".into(), answer(&account.together));
        if let Ok(bound) = &account.bound {
            let cells = [number(bound.value), number(bound.error), bound.method.name().into()];
            add("bound".into(), [&cells[0], &cells[1], &cells[2], "", ""].map(|c: &str| c.to_owned()));
        }
        if let Some(Left { together, bound }) = account.left {
            for (what, left) in [("left", together), ("left by the bound", bound)] {
                let value = left.map(number).unwrap_or_default();
                add(what.into(), [value, String::new(), String::new(), String::new(), String::new()]);
            }
        }
    }
    table(header.to_vec(), rows.into_iter())
}
