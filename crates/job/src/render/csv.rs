//! CSV, for spreadsheets: quoted as RFC 4180 asks, numbers in full.

mod design;

pub use design::{budget, choose, design};

use serde::Serialize;
use serde_json::Value as Json;
use sottovoce::Evaluation;
use sottovoce::metric::{Answer, Value};
use sottovoce::posterior::FunctionalSummary;

use crate::accuracy::AccuracyReport;
use crate::compare::{CompareReport, Contender};
use crate::demo::DemoReport;
use crate::describe::DescribeReport;
use crate::estimate::EstimateReport;
use crate::explain::{ExplainReport, Explanation};
use crate::figures::{Datum, Figure, FiguresReport};
use crate::functional::{Asked, Question};
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::posterior::PosteriorReport;
use crate::quantity::Evaluated;
use crate::randomise::RandomiseReport;
use crate::split::{PARTS, SplitReport};
use crate::study::{
    AnalyseReport, Believed, CollectionPlan, PlanReport, PlannedStrategy, RandomiseStudyReport, TableError,
    TallyStudyReport,
};
use crate::tally::TallyReport;
use crate::trend::{Trend, TrendReport};
use crate::users::{Count, UsersReport};

/// The report of the job `metrics`: one line for each evaluation.
pub fn metrics(report: &MetricsReport) -> String {
    let header = ["metric", "n", "value", "error", "method", "reason", "warning"].map(String::from);
    table(header, report.evaluations.iter().map(evaluation))
}

/// The report of the job `describe`: one line for each property, then one for each entry of a small matrix.
pub fn description(report: &DescribeReport) -> String {
    let property = |name: &str, value: String| [name.into(), String::new(), String::new(), value];
    let mut rows = vec![
        property("kind", report.protocol.name().into()),
        property("inputs", report.inputs.to_string()),
        property("outputs", report.outputs.map_or_else(|| power(report.outputs_bits), |b| b.to_string())),
        property("report_bits", number(report.report_bits)),
        property("declared_ldp", report.declared_level.map(number).unwrap_or_default()),
        property("realised_ldp", report.realised.as_ref().map(|r| number(r.level)).unwrap_or_default()),
    ];
    rows.extend(report.structure.iter().map(|e| property(e.metric.name(), value(e))));
    if let Some(matrix) = &report.matrix {
        for (output, row) in matrix.outputs.iter().zip(&matrix.rows) {
            for (input, q) in matrix.inputs.iter().zip(row) {
                rows.push(["probability".into(), output.clone(), input.clone(), number(*q)]);
            }
        }
    }
    table(["property", "output", "input", "value"].map(String::from), rows.into_iter())
}

/// The report of the job `randomise`: one line for each fact.
pub fn randomise(report: &RandomiseReport) -> String {
    facts(report)
}

/// The report of the jobs `tally` and `merge`: one line for each fact.
pub fn tally(report: &TallyReport) -> String {
    facts(report)
}

/// The report of the job `analyse`: one line for each share, mean and median.
pub fn analyse(report: &AnalyseReport) -> String {
    let header = ["table", "row", "column", "quantity", "mean", "error", "method", "sd", "low", "high"];
    let line = |table: &str, row: &str, column: &str, quantity: &str, found: &Believed| {
        let Believed { mean, sd, low, high } = found;
        let numbers = [number(mean.value), number(mean.error), mean.method.name().into(), number(sd.value)];
        let [value, error, method, sd] = numbers;
        let names = [table, row, column, quantity].map(String::from);
        let [table, row, column, quantity] = names;
        [table, row, column, quantity, value, error, method, sd, number(low.value), number(high.value)]
    };
    let mut rows = Vec::new();
    for question in &report.questions {
        let name = question.name.as_str();
        rows.extend(
            question.answers.iter().map(|answer| line(name, &answer.label, "", "share", &answer.share)),
        );
        let Some(number) = &question.number else { continue };
        rows.extend(number.mean.iter().map(|mean| line(name, "", "", "mean", mean)));
        rows.extend(number.median.iter().map(|median| line(name, "", "", "median", median)));
    }
    for table in &report.cross_tables {
        let name = table.questions.join("+");
        for row in &table.rows {
            for (kind, cells) in
                [("cell", &row.cells), ("of_row", &row.of_row), ("of_column", &row.of_column)]
            {
                let of = |(column, cell): (&String, &Believed)| line(&name, &row.label, column, kind, cell);
                rows.extend(table.columns.iter().zip(cells).map(of));
            }
            rows.push(line(&name, &row.label, "", "row_total", &row.total));
        }
        let totals = table.columns.iter().zip(&table.totals);
        rows.extend(totals.map(|(column, total)| line(&name, "", column, "column_total", total)));
        let differences = table.columns.iter().zip(table.differences.iter().flatten());
        rows.extend(differences.map(|(column, found)| line(&name, "", column, "difference_of_rows", found)));
    }
    self::table(header.map(String::from), rows.into_iter())
}

/// The report of the job `plan`: one line for each strategy and table.
pub fn plan(report: &PlanReport) -> String {
    let header = ["strategy", "n", "collection", "share", "epsilon", "table", "cell", "error", "method"];
    let of_strategy = |planned: &PlannedStrategy| {
        let row = |collection: &CollectionPlan, table: &TableError| {
            [
                planned.strategy.name().into(),
                planned.n.to_string(),
                collection.name.clone(),
                number(collection.share),
                number(collection.epsilon),
                table.name.clone(),
                table.cell.to_string(),
                number(table.error.value),
                table.error.method.name().into(),
            ]
        };
        let of = |collection: &CollectionPlan| {
            collection.errors.iter().map(|table| row(collection, table)).collect::<Vec<_>>()
        };
        planned.collections.iter().flat_map(of).collect::<Vec<_>>()
    };
    table(header.map(String::from), report.strategies.iter().flat_map(of_strategy))
}

/// The report of the job `randomise_study`: one line for each collection.
pub fn randomise_study(report: &RandomiseStudyReport) -> String {
    let header = ["collection", "reports", "realised_ldp", "fingerprint", "output"].map(String::from);
    let rows = report.collections.iter().map(|collection| {
        let written = &collection.written;
        let (reports, level) = (written.reports.to_string(), number(written.realised_ldp));
        [collection.name.clone(), reports, level, written.fingerprint.clone(), written.output.clone()]
    });
    table(header, rows)
}

/// The report of the job `tally_study`: one line for each collection.
pub fn tally_study(report: &TallyStudyReport) -> String {
    let header = ["collection", "n", "rejected", "fingerprint", "output"].map(String::from);
    let rows = report.collections.iter().map(|collection| {
        let tallies = &collection.tallies;
        let (n, rejected) = (tallies.n.to_string(), tallies.rejected.to_string());
        [collection.name.clone(), n, rejected, tallies.fingerprint.clone(), tallies.output.clone()]
    });
    table(header, rows)
}

/// The keys and values of the JSON.
fn facts(report: &impl Serialize) -> String {
    // Unwrap safety: our types have text keys, and none of them refuses to be serialised.
    let Json::Object(facts) = serde_json::to_value(report).unwrap() else {
        unreachable!("reports are objects")
    };
    let rows = facts.iter().map(|(name, value)| [name.clone(), plain(value)]);
    table(["fact", "value"].map(String::from), rows)
}

/// A JSON value as a cell: a text without its quotes.
fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The report of the job `split`: one line for each side and part.
pub fn split(report: &SplitReport) -> String {
    let header = ["side", "part", "value", "error", "method", "reason", "warning"].map(String::from);
    let share = |e: Evaluation| Answer::of(Value::Number(e));
    let shares = report.share.entries().map(|e| e.map(share));
    let sides = [
        ("users", report.users.entries().map(Some)),
        ("aggregator", report.aggregator.entries().map(Some)),
        ("share", shares.each_ref().map(Option::as_ref)),
    ];
    let rows = sides.iter().flat_map(|(side, entries)| {
        PARTS.iter().zip(entries).map(move |(part, entry)| {
            let cells = entry.map(answer).unwrap_or_default();
            let [value, error, method, reason, warning] = cells;
            [(*side).into(), (*part).into(), value, error, method, reason, warning]
        })
    });
    table(header, rows)
}

/// The report of the job `users`: one line for the protocol, one for the truth.
pub fn users(report: &UsersReport) -> String {
    let header = ["who", "metric", "target", "n", "low", "high", "reason", "ratio", "f_mu"].map(String::from);
    let row = |who: &str, count: &Count, ratio: String, factor: String| {
        let wanted = report.wanted.quantity();
        let metric = count.evaluations.first().map_or(wanted, |e| e.quantity);
        let target = if metric == wanted { number(report.wanted.value()) } else { String::new() };
        let found = count.found.as_ref().ok();
        let text = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
        let reason = count.found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        [
            who.into(),
            metric.name().into(),
            target,
            text(found.map(|f| f.n)),
            text(found.map(|f| f.low)),
            text(found.map(|f| f.high)),
            reason,
            ratio,
            factor,
        ]
    };
    let ratio = report.ratio.map(|r| number(r.value)).unwrap_or_default();
    let rows = [
        row("protocol", &report.needed, ratio, value(&report.participation)),
        row("truth", &report.truth, String::new(), String::new()),
    ];
    table(header, rows.into_iter())
}

/// The report of the job `compare`: one line for each value swept over, protocol and metric.
pub fn comparison(report: &CompareReport) -> String {
    let header = ["swept", "at", "place", "protocol", "noise", "best", "bits", "client", "aggregator"];
    let header = header.into_iter().chain(["metric", "n", "value", "error", "method", "reason", "warning"]);
    let header: [String; 16] = std::array::from_fn(|i| header.clone().nth(i).unwrap_or_default().into());
    let swept = report.swept.map_or("", |s| s.name());
    let rows = report.rounds.iter().flat_map(|round| {
        let at = round.at.map(number).unwrap_or_default();
        round.contenders.iter().enumerate().flat_map(move |(place, contender)| {
            contender_rows(report, contender, [swept.into(), at.clone(), (place + 1).to_string()])
        })
    });
    table(header, rows)
}

fn contender_rows(report: &CompareReport, contender: &Contender, head: [String; 3]) -> Vec<[String; 16]> {
    let noise = contender.protocol.noise().and_then(|p| contender.protocol.parameter(p));
    let work = |of: fn(&crate::compare::Work) -> f64| {
        contender.work.as_ref().map(|w| number(of(w))).unwrap_or_default()
    };
    let [swept, at, place] = head;
    let row = |cells: [String; 7]| {
        let [metric, n, value, error, method, reason, warning] = cells;
        [
            swept.clone(),
            at.clone(),
            place.clone(),
            report.names[contender.position].clone(),
            noise.map(number).unwrap_or_default(),
            contender.best.to_string(),
            work(|w| w.bits),
            work(|w| w.client),
            work(|w| w.aggregator),
            metric,
            n,
            value,
            error,
            method,
            reason,
            warning,
        ]
    };
    match &contender.mismatch {
        Some(mismatch) => {
            let mut cells: [String; 7] = Default::default();
            cells[5] = mismatch.to_string();
            vec![row(cells)]
        }
        None => contender.evaluations.iter().map(|e| row(evaluated(e))).collect(),
    }
}

/// What the columns of a figure's numbers are.
const FIGURE_HEADER: [&str; 9] =
    ["series", "varied", "at", "x", "x_error", "x_method", "y", "y_error", "y_method"];

/// The report of the job `figures`: the numbers of all figures.
pub fn figures(report: &FiguresReport) -> String {
    let mut text = line(["figure"].into_iter().chain(FIGURE_HEADER).map(String::from));
    for figure in &report.figures {
        for datum in &figure.data {
            text += &line([figure.name.to_owned()].into_iter().chain(figure_row(datum)));
        }
    }
    text
}

/// The numbers of a figure.
pub fn figure(figure: &Figure) -> String {
    table(FIGURE_HEADER.map(String::from), figure.data.iter().map(figure_row))
}

fn figure_row(datum: &Datum) -> [String; 9] {
    let Datum { series, varied, x, y } = datum;
    [
        series.clone(),
        varied.0.into(),
        number(varied.1),
        number(x.value),
        number(x.error),
        x.method.name().into(),
        number(y.value),
        number(y.error),
        y.method.name().into(),
    ]
}

/// The report of the job `posterior`: two lines for each value, one of `P` and one of `T`.
pub fn posterior(report: &PosteriorReport) -> String {
    let found = &report.posterior;
    let probability = |i: usize| number(found.p[0].quantiles[i].0);
    let header = ["of", "label", "mean", "sd", "error"].map(String::from).into_iter();
    let quantiles = (0..found.p[0].quantiles.len()).map(|i| format!("q{}", probability(i)));
    let mut text = line(header.chain(quantiles));
    for (of, summaries) in [("p", &found.p), ("t", &found.t)] {
        for (label, s) in report.labels.iter().zip(summaries) {
            let start = [of.into(), label.clone(), number(s.mean), number(s.sd), number(s.error)].into_iter();
            text += &line(start.chain(s.quantiles.iter().map(|(_, value)| number(*value))));
        }
    }
    for asked in &report.of {
        text += &answer_lines(asked, &report.labels);
    }
    text
}

/// The lines of an answer: its number (`of`), the probability that a difference is above 0 or a ratio above 1 (`above`), the same of another
/// collection and of the change, and probabilities of ranks and values.
fn answer_lines(asked: &Asked, labels: &[String]) -> String {
    let label = &asked.expression.text;
    let mut text = String::new();
    text.extend(asked.summary.iter().map(|found| functional_lines("of", label, found)));
    if let Some(other) = &asked.against {
        text += &functional_lines("against", label, &other.summary);
        text += &functional_lines("difference", label, &other.difference);
        text.extend(other.ratio.iter().map(|ratio| functional_lines("ratio", label, ratio)));
    }
    let ranks = matches!(asked.expression.question, Question::Rank(..));
    for (i, p) in asked.probabilities.iter().enumerate() {
        let (of, label) = if ranks { ("rank", (i + 1).to_string()) } else { ("top", labels[i].clone()) };
        let label = format!("{}: {label}", asked.expression.text);
        let none = || std::iter::repeat_n(String::new(), 3);
        let start = [of.into(), label, number(p.value), String::new(), number(p.error)].into_iter();
        text += &line(start.chain(none()));
    }
    text
}

/// A line with mean, standard deviation, error of the mean and quantiles, and one with the probability of being above 0 or 1.
fn functional_lines(of: &str, label: &str, found: &FunctionalSummary) -> String {
    let start =
        [of.into(), label.into(), number(found.mean.value), number(found.sd.value), number(found.mean.error)];
    let quantiles = found.quantiles.iter().map(|(_, at)| number(at.value));
    let mut text = line(start.into_iter().chain(quantiles));
    if let Some((_, p)) = found.above {
        let start = [format!("{of}_above"), label.into(), number(p.value), String::new(), number(p.error)];
        text += &line(start.into_iter().chain(std::iter::repeat_n(String::new(), found.quantiles.len())));
    }
    text
}

/// The report of the job `trend`: for each expression one line for each collection and each change.
pub fn trend(report: &TrendReport) -> String {
    let header = [
        "expression",
        "what",
        "from",
        "to",
        "n",
        "mean",
        "sd",
        "error",
        "low",
        "median",
        "high",
        "rise",
        "rise_error",
    ];
    let row = |trend: &Trend, what: &str, from: &str, to: &str, n: String, found: &FunctionalSummary| {
        let at = |i: usize| found.quantiles.get(i).map(|(_, at)| number(at.value)).unwrap_or_default();
        let rise = found.above.map(|(_, p)| [number(p.value), number(p.error)]).unwrap_or_default();
        let [rise, rise_error] = rise;
        [
            trend.expression.text.clone(),
            what.into(),
            from.into(),
            to.into(),
            n,
            number(found.mean.value),
            number(found.sd.value),
            number(found.mean.error),
            at(0),
            at(1),
            at(2),
            rise,
            rise_error,
        ]
    };
    let name = |i: usize| report.points[i].0.as_str();
    let mut rows = Vec::new();
    for trend in &report.trends {
        for (i, value) in trend.values.iter().enumerate() {
            rows.push(row(trend, "value", "", name(i), report.points[i].1.n.to_string(), value));
        }
        for (i, step) in trend.steps.iter().enumerate() {
            rows.push(row(trend, "change", name(i), name(i + 1), String::new(), step));
        }
        rows.push(row(
            trend,
            "overall",
            name(0),
            name(report.points.len() - 1),
            String::new(),
            &trend.overall,
        ));
    }
    table(header.map(String::from), rows.into_iter())
}

/// The report of the job `demo`: one line for each label.
pub fn demo(report: &DemoReport) -> String {
    let row = |s: &crate::demo::Share| {
        let numbers = [s.truth, s.linear, s.standard_error, s.mean, s.interval.0, s.interval.1].map(number);
        let [truth, linear, error, mean, low, high] = numbers;
        [s.label.into(), truth, linear, error, mean, low, high, s.is_covered().to_string()]
    };
    let header = ["label", "truth", "linear", "standard_error", "mean", "low", "high", "covered"];
    table(header.map(String::from), report.shares.iter().map(row))
}

/// The report of the job `estimate`: one line for each estimator and input.
pub fn estimate(report: &EstimateReport) -> String {
    let header = [
        "label",
        "estimator",
        "estimate",
        "standard_error",
        "low",
        "high",
        "gap",
        "reason",
        "monte_carlo_error",
    ];
    let rows = report.columns.iter().flat_map(|column| {
        let estimator = column.estimator.name();
        report.labels.iter().enumerate().map(move |(x, label)| match &column.estimate {
            Ok(found) => [
                label.clone(),
                estimator.into(),
                number(found.values[x]),
                found.standard_errors.as_ref().map(|errors| number(errors[x])).unwrap_or_default(),
                number(found.intervals[x].low),
                number(found.intervals[x].high),
                found.certificate.map(|c| number(c.gap)).unwrap_or_default(),
                String::new(),
                found.monte_carlo_errors.as_ref().map(|errors| number(errors[x])).unwrap_or_default(),
            ],
            Err(reason) => {
                let [none, error, low, high, gap, drawn] = std::array::from_fn(|_| String::new());
                [label.clone(), estimator.into(), none, error, low, high, gap, reason.to_string(), drawn]
            }
        })
    });
    table(header.map(String::from), rows)
}

/// The report of the job `accuracy`: one line for each number of users, distance and estimator.
pub fn accuracy(report: &AccuracyReport) -> String {
    let header = ["n", "distance", "estimator", "value", "error", "method", "draws", "reason"];
    let rows = report.entries.iter().map(|entry| {
        let [value, error, method, draws, reason] = match &entry.accuracy {
            Ok(found) => {
                let Evaluation { value, error, method } = found.evaluation;
                [number(value), number(error), method.name().into(), found.draws.to_string(), String::new()]
            }
            Err(reason) => [String::new(), String::new(), String::new(), String::new(), reason.to_string()],
        };
        let (distance, estimator) = (entry.distance.name().into(), entry.estimator.name().into());
        [entry.n.to_string(), distance, estimator, value, error, method, draws, reason]
    });
    table(header.map(String::from), rows)
}

/// The report of the job `explain`: one line for each metric.
pub fn explanation(report: &ExplainReport) -> String {
    let header =
        ["metric", "symbol", "needs_n", "meaning", "definition", "reading", "range", "cost", "paper"];
    let row = |e: &Explanation| {
        let words = [e.meaning, e.definition, e.reading, e.range, e.cost, e.paper];
        let [meaning, definition, reading, range, cost, paper] = words.map(String::from);
        let (metric, symbol, needs_n) = (e.metric.name().into(), e.symbol.into(), e.needs_n.to_string());
        [metric, symbol, needs_n, meaning, definition, reading, range, cost, paper]
    };
    table(header.map(String::from), report.explanations.iter().map(row))
}

fn evaluation(evaluation: &MetricEvaluation) -> [String; 7] {
    let users = evaluation.users.map(|n| n.to_string()).unwrap_or_default();
    let [value, error, method, reason, warning] = answer(&evaluation.answer);
    [evaluation.metric.name().into(), users, value, error, method, reason, warning]
}

/// As [`evaluation`], for what is a metric or an error.
fn evaluated(evaluated: &Evaluated) -> [String; 7] {
    let users = evaluated.users.map(|n| n.to_string()).unwrap_or_default();
    let [value, error, method, reason, warning] = answer(&evaluated.answer);
    [evaluated.quantity.name().into(), users, value, error, method, reason, warning]
}

/// Value, error, method, reason and warning.
fn answer(answer: &Answer) -> [String; 5] {
    let (error, method) = match &answer.value {
        Ok(Value::Number(e)) => (number(e.error), e.method.name()),
        Ok(Value::Count(_, method) | Value::Truth(_, method)) => ("0".into(), method.name()),
        Err(_) => (String::new(), ""),
    };
    let reason = answer.value.as_ref().err().map(ToString::to_string).unwrap_or_default();
    [value_of(answer), error, method.into(), reason, answer.warning.clone().unwrap_or_default()]
}

fn value(evaluation: &MetricEvaluation) -> String {
    value_of(&evaluation.answer)
}

fn value_of(answer: &Answer) -> String {
    match &answer.value {
        Ok(Value::Number(e)) => number(e.value),
        Ok(Value::Count(count, _)) => count.to_string(),
        Ok(Value::Truth(truth, _)) => truth.to_string(),
        Err(_) => String::new(),
    }
}

/// A number in full; unlike `Display`, this form writes small numbers with an exponent.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A number of outputs that fits no machine word.
fn power(bits: f64) -> String {
    format!("2^{bits:.0}")
}

fn table<R: IntoIterator<Item = String>>(header: R, rows: impl Iterator<Item = R>) -> String {
    std::iter::once(header).chain(rows).map(|cells| line(cells.into_iter())).collect()
}

/// One line of cells.
pub(crate) fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_when_they_must_be() {
        assert_eq!(quoted("a".into()), "a");
        assert_eq!(quoted("a,\"b\"".into()), "\"a,\"\"b\"\"\"");
    }
}
