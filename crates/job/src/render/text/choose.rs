//! The text of the job `choose`: the answer in sentences, then the numbers behind it.

use std::f64::consts::LN_10;

use sottovoce::accuracy::{Distance, check_size};
use sottovoce::estimate::Estimator;
use sottovoce::metric::{Answer, Value};
use sottovoce::{Evaluation, Method, Metric};

use super::confirmation::confirmation;
use super::design::{remarks, values};
use super::worth::worth;
use super::{WIDTH, prior_text};
use crate::choose::{Choosable, ChooseReport, Excess, Lead};
use crate::expected_error::ExpectedError;
use crate::quantity::Quantity;
use crate::render::document::{Document, Emphasis};
use crate::render::number::{level, points, points_apart, points_word, rounded, with_error};
use crate::render::text::brief;
use crate::spec::Parameter;
use crate::users::{Target, Wanted};

/// The report of the job `choose`.
pub fn choose(report: &ChooseReport) -> Document {
    let mut document = Document::default();
    document.title("Which protocol");
    document.fact("Users", report.n.to_string()).fact("Prior", prior_text(&report.prior));
    document.fact("Protocol", protocol(&report.best));
    for sentence in sentences(report) {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, &sentence);
    }
    for choosable in std::iter::once(&report.best).chain(&report.runner_up) {
        document.heading(brief(&choosable.candidate.protocol));
        numbers(&mut document, report, choosable);
    }
    if let Some(chart) = worth(report) {
        document.picture(chart);
    }
    document
}

/// The protocol as other commands take it, with all its digits; where that is long, what it is.
fn protocol(best: &Choosable) -> String {
    // Unwrap safety: a specification has text keys, and writing to a string does not fail.
    let json = serde_json::to_string(&best.candidate.protocol).unwrap();
    if json.len() <= WIDTH { json } else { brief(&best.candidate.protocol) }
}

/// The metrics of a protocol and how far its estimates are off.
fn numbers(document: &mut Document, report: &ChooseReport, choosable: &Choosable) {
    let name = |metric: Metric, users: Option<u64>| {
        let users = users.map(|n| format!(", n = {n}")).unwrap_or_default();
        format!("{}{users}", metric.symbol())
    };
    let error = choosable.error.map(|error| Answer::of(Value::Number(error)));
    let evaluations = choosable.candidate.evaluations.iter();
    let mut answers: Vec<(String, &Answer)> =
        evaluations.map(|e| (name(e.metric, e.users), &e.answer)).collect();
    answers.extend(error.iter().map(|error| (error_name(report), error)));
    document.table(values("metric", &answers));
    remarks(document, &answers);
}

fn error_name(report: &ChooseReport) -> String {
    format!("{}, n = {}", Quantity::Error(report.measure.distance).symbol(), report.n)
}

/// The answer in words.
pub(crate) fn sentences(report: &ChooseReport) -> Vec<String> {
    let mut said = vec![use_it(&report.best)];
    said.extend(report.unlimited.map(|unlimited| unlimited.to_string()));
    said.extend(is_it_enough(report));
    said.extend(report.confirmation.as_ref().map(confirmation));
    said.extend(how_far_off(report));
    said.extend(less_would_do(report));
    said.extend(others_do_better(report));
    said.extend(runner_up(report));
    said
}

fn use_it(best: &Choosable) -> String {
    let candidate = &best.candidate;
    // Rounded down: no more privacy is promised than there is.
    let hidden = candidate.number(Metric::AveragePrivacy).map_or(f64::NAN, |s| (1000.0 * s).floor() / 10.0);
    let level = match candidate.number(Metric::LocalPrivacyLevel) {
        Some(level) if level.is_infinite() => ", with no limit in the worst case".into(),
        // A protocol without this parameter has a level too; it is rounded up.
        Some(level) if candidate.protocol.parameter(Parameter::Epsilon).is_none() => {
            format!(", with an LDP level of {:.3}", (1000.0 * level - 1e-9).ceil() / 1000.0)
        }
        _ => String::new(),
    };
    format!(
        "Use {} ({:.1} bits per report). On average it hides {hidden:.1} % of a user's private information{level}.",
        brief(&candidate.protocol),
        candidate.report_bits
    )
}

fn is_it_enough(report: &ChooseReport) -> Option<String> {
    let found = report.best.counted()?;
    let n = report.n;
    let error = match found.method {
        Method::MonteCarlo => format!(" (standard error {:.1e})", found.error),
        Method::Approximation => format!(" (± {:.1e}, by approximation)", found.error),
        _ => String::new(),
    };
    let what = match report.wanted {
        Some(Wanted::Utility(Target::DistributionUtility(_))) => format!(
            "{:.1} % of what their true values would tell about the distribution{error}",
            100.0 * found.value
        ),
        _ => format!(
            "{:.2} decimal digits of each frequency (U_digit = {:.3}){error}; {:.2} of these come from the prior",
            found.value / LN_10,
            found.value,
            report.known_before / LN_10
        ),
    };
    let asymptote = match found.method {
        Method::Asymptote => format!(" This is asymptotic; the error at {n} users is not known."),
        _ => String::new(),
    };
    Some(format!("With {n} users, its reports tell {what}.{asymptote}{}", target_verdict(report)))
}

/// Whether the users are enough for a utility, and how many would be.
fn target_verdict(report: &ChooseReport) -> String {
    // A number of users that contradicts the verdict is of no use: the verdict may be exact, and the search is not.
    let agrees = |needed: &u64| report.enough.is_none_or(|enough| enough == (*needed <= report.n));
    let asymptotic = report.best.counted().is_some_and(|found| found.method == Method::Asymptote);
    let about = if asymptotic { "asymptotically, about" } else { "about" };
    let needed = report
        .needed
        .filter(agrees)
        .map(|n| format!("; {about} {n} users {}", enough_words(report)))
        .unwrap_or_default();
    match (report.wanted, report.enough) {
        (None, _) => String::new(),
        (_, Some(true)) => format!(" That is enough for the target{needed}."),
        (_, Some(false)) => format!(" That is not enough for the target{needed}."),
        (_, None) => format!(" Whether that is enough for the target is within the error{needed}."),
    }
}

/// What is said of the number of users that it takes.
fn enough_words(report: &ChooseReport) -> &'static str {
    if report.enough == Some(true) { "would be enough" } else { "are needed" }
}

/// How far estimates are off, and whether that is good enough.
fn how_far_off(report: &ChooseReport) -> Option<String> {
    let found = report.best.error?;
    let estimator = report.measure.estimator.name();
    let n = report.n;
    let off = match report.measure.distance {
        Distance::RootMeanSquare => {
            let points = in_points(&found, report.wanted);
            format!(
                "A share estimated from {n} reports is typically off by {points} {} (root mean square of the {estimator} estimate)",
                points_word(&points)
            )
        }
        distance => format!(
            "The expected {} error of the {estimator} estimate from {n} reports is {}",
            distance.name(),
            with_error(found.value, found.error)
        ),
    };
    Some(format!("{off}.{}", error_verdict(report, &found)))
}

/// The error in points, so that it looks different from the one wanted if it is larger.
fn in_points(found: &Evaluation, wanted: Option<Wanted>) -> String {
    match wanted {
        _ if found.method == Method::MonteCarlo => with_error(100.0 * found.value, 100.0 * found.error),
        Some(Wanted::Accuracy(wanted)) if found.value > wanted.most => {
            points_apart(found.value, wanted.most).0
        }
        _ => points(found.value),
    }
}

/// Whether an error is small enough, and how many users it takes.
fn error_verdict(report: &ChooseReport, found: &Evaluation) -> String {
    let Some(Wanted::Accuracy(ExpectedError { most, measure })) = report.wanted else {
        return String::new();
    };
    let wanted = match measure.distance {
        Distance::RootMeanSquare => {
            let points = points(most);
            format!("{points} {}", points_word(&points))
        }
        _ => rounded(most, 6),
    };
    let about = if found.method == Method::MonteCarlo { "about " } else { "" };
    // With the smallest level the number of users is the one given.
    let differs = report.needed.filter(|needed| *needed != report.n);
    let needed = differs.map(|n| format!("; {about}{n} users {}", enough_words(report))).unwrap_or_default();
    match report.enough {
        Some(true) => format!(" That meets the target of {wanted}{needed}."),
        Some(false) => format!(" That misses the target of {wanted}{needed}."),
        None => format!(" That is the target of {wanted}, within the error of the simulation."),
    }
}

/// A smaller level that is enough, if it still looks smaller than the required one after rounding.
fn less_would_do(report: &ChooseReport) -> Option<String> {
    let least = report.least_level?;
    let required = report.best.candidate.protocol.parameter(Parameter::Epsilon)?;
    let (less, given) = (level(least.value), level(required));
    if least.value >= required || less == given {
        return None;
    }
    let by = match least.method {
        Method::Asymptote => "Asymptotically, the",
        Method::MonteCarlo => "By simulation, the",
        _ => "The",
    };
    Some(format!(
        "{by} same kind of protocol reaches the target already with epsilon = {less}, which is more private."
    ))
}

/// The linear estimate is not the best use of the reports.
fn others_do_better(report: &ChooseReport) -> Option<String> {
    let judged = matches!(report.wanted, Some(Wanted::Accuracy(_)));
    let exact = if report.measure.is_closed_form() { ", whose error is a closed form" } else { "" };
    (judged && report.measure.estimator == Estimator::Linear).then(|| {
        let (estimators, last) = match check_size(Estimator::PosteriorMean, report.inputs, report.n) {
            Ok(()) => ("norm_sub, ml or posterior_mean", "ml longer, and posterior_mean many minutes"),
            Err(_) => ("norm_sub or ml", "ml longer"),
        };
        format!(
            "This is judged by the linear estimate{exact}. The posterior, and estimators that use that no share is negative, get more from the \
             same reports: with the estimator {estimators}, a smaller epsilon may be enough. Their errors are simulated: norm_sub takes seconds, \
             {last}."
        )
    })
}

fn runner_up(report: &ChooseReport) -> Option<String> {
    let next = &report.runner_up.as_ref()?.candidate;
    let bits = format!("Its reports take {:.1} bits.", next.report_bits);
    let same = same_result(report);
    let lead = match report.lead? {
        Lead::Tie => "which is equally good within the errors".into(),
        Lead::Level(excess) if is_nothing(excess) => format!("which needs hardly more epsilon for {same}"),
        Lead::Level(excess) => format!("which needs {} more epsilon for {same}", percent(excess)),
        Lead::Users(excess) | Lead::ManyUsers(excess) if is_nothing(excess) => {
            format!("which needs hardly more users for {same}")
        }
        Lead::Users(excess) => format!("which needs {} more users for {same}", percent(excess)),
        Lead::ManyUsers(excess) => {
            format!("which asymptotically needs {} more users for {same}", percent(excess))
        }
        Lead::Reversed(excess) if is_nothing(excess) => "which is equally good asymptotically".into(),
        Lead::Reversed(excess) => format!(
            "which is better asymptotically: there the first one needs {} more users for {same}",
            percent(excess)
        ),
    };
    Some(format!("Runner-up: {}, {lead}. {bits}", brief(&next.protocol)))
}

/// What both protocols reach when their levels or users are compared.
fn same_result(report: &ChooseReport) -> &'static str {
    match report.wanted {
        Some(Wanted::Accuracy(_)) => "the same error",
        Some(Wanted::Utility(Target::DistributionUtility(_))) => "the same information",
        Some(Wanted::Utility(_)) | None => "the same digits",
    }
}

/// An excess that would be shown as 0.0 %.
fn is_nothing(excess: Excess) -> bool {
    excess.value() < 5e-4
}

fn percent(excess: Excess) -> String {
    format!("{:.1} %", 100.0 * excess.value())
}
