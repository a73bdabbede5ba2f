//! The JSON of choices.

use serde_json::{Value as Json, json};

use super::{compact, evaluation, numbered, object};
use crate::choose::{Choosable, ChooseReport, Lead};
use crate::design::Candidate;
use crate::render::text::sentences;
use crate::users::Wanted;

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
