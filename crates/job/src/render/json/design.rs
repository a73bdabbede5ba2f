//! The JSON of designs and choices.

use serde_json::{Value as Json, json};

use super::{compact, evaluation, lines, numbered, object};
use crate::choose::{Choosable, ChooseReport, Lead};
use crate::design::{CURVES, Candidate, DesignReport, Frontier, FrontierPoint, Proof};
use crate::render::text::sentences;
use crate::users::Wanted;

/// The report of the job `design`.
pub fn design(report: &DesignReport) -> String {
    let requirement = json!({
        "epsilon": report.requirement.epsilon(),
        "min_average_privacy": report.requirement.average_privacy(),
    });
    object(&[
        ("protocol", compact(&report.best.protocol)),
        ("prior", compact(&report.prior)),
        ("requirement", compact(&requirement)),
        ("report_bits", compact(&report.best.report_bits)),
        ("evaluations", lines(report.best.evaluations.iter().map(|e| compact(&evaluation(e))))),
        ("certificate", compact(&proof(&report.certificate))),
        ("comparison", lines(report.comparison.iter().map(|c| compact(&candidate(c))))),
        ("alternatives", lines(report.alternatives.iter().map(|c| compact(&candidate(c))))),
        ("remarks", compact(&report.remarks)),
    ])
}

fn proof(proof: &Proof) -> Json {
    match proof {
        Proof::Utility { certificate, participation_gap } => json!({
            "metric": "u_as",
            "gap": certificate.gap,
            "gap_f_mu": participation_gap,
            "lambda": certificate.multipliers,
            "nu": certificate.privacy_multiplier,
            "leakage_budget": certificate.leakage_budget,
            "directions": certificate.priced,
            "whole_cone": certificate.whole_cone,
            "points": certificate.points,
            "method": certificate.method.name(),
        }),
        Proof::Information { gap, multipliers } => {
            json!({"metric": "i_y_p", "gap": gap, "lambda": multipliers})
        }
    }
}

fn candidate(candidate: &Candidate) -> Json {
    let evaluations: Vec<Json> = candidate.evaluations.iter().map(evaluation).collect();
    json!({
        "name": candidate.name,
        "protocol": candidate.protocol,
        "report_bits": candidate.report_bits,
        "outputs": candidate.outputs,
        "evaluations": evaluations,
    })
}

/// The curve of the job `design --frontier`.
pub fn frontier(report: &Frontier) -> String {
    let point = |point: &FrontierPoint| {
        let mut curves = json!({"optimum": numbered(&point.best)});
        for (family, curve) in CURVES.iter().zip(&point.curves) {
            curves[family.name().to_lowercase()] = curve.as_ref().map_or(Json::Null, numbered);
        }
        compact(&json!({"privacy": point.privacy, "gap": point.gap, "kind": point.kind, "f_mu": curves}))
    };
    object(&[
        ("a", compact(&report.inputs)),
        ("prior", compact(&report.prior)),
        ("privacy", compact(&report.axis.metric().name())),
        ("epsilon", compact(&report.epsilon)),
        ("points", lines(report.points.iter().map(point))),
    ])
}

/// The report of the job `choose`.
pub fn choose(report: &ChooseReport) -> String {
    let (target, accuracy) = match report.wanted {
        Some(Wanted::Utility(t)) => (Some(json!({"metric": t.metric().name(), "value": t.value()})), None),
        Some(Wanted::Accuracy(error)) => (None, Some(error.most)),
        None => (None, None),
    };
    let choosable = |choosable: &Choosable| {
        let mut json = candidate(&choosable.candidate);
        json["typical_error"] = choosable.error.as_ref().map_or(Json::Null, numbered);
        json
    };
    object(&[
        ("n", compact(&report.n)),
        ("prior", compact(&report.prior)),
        ("target", compact(&target)),
        ("accuracy", compact(&accuracy)),
        ("distance", compact(&report.measure.distance.name())),
        ("estimator", compact(&report.measure.estimator.name())),
        ("best", compact(&choosable(&report.best))),
        ("runner_up", compact(&report.runner_up.as_ref().map(choosable))),
        ("cost", compact(&report.lead.and_then(Lead::users_factor))),
        ("enough", compact(&report.enough)),
        ("needed", compact(&report.needed)),
        ("least_epsilon", compact(&report.least_level.map(|level| level.value))),
        ("typical_error", compact(&report.best.error.as_ref().map(numbered))),
        ("sentences", compact(&sentences(report))),
    ])
}
