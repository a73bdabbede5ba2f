//! The text of the job `compare`.

use sottovoce::{Evaluation, Metric};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::confirmation::confirmation;
use super::{WIDTH, prior_text};
use crate::compare::{CompareReport, Contender, Round, Swept, Wanted};
use crate::quantity::{Quantity, TYPICAL_ERROR};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{level, points_word, rounded};
use crate::spec::Parameter;

/// Significant digits in the table.
const DIGITS: i32 = 5;

/// The report of the job `compare`: a table and the best protocol, or a chart over the sweep and the best protocol at each value.
pub fn comparison(report: &CompareReport) -> Document {
    let mut document = Document::default();
    document.title("Protocols side by side");
    heading(&mut document, report);
    if report.swept.is_some() {
        document.chart(curves(report)).line(Emphasis::Plain, "");
        document.table(winners(report));
    } else if let Some(round) = report.rounds.first() {
        document.table(table(report, round)).line(Emphasis::Plain, "");
        document.paragraph(Emphasis::Strong, 0, WIDTH, &verdict(report, round));
        if let Some(checked) = round.contenders.first().and_then(|best| best.confirmation.as_ref()) {
            document.paragraph(Emphasis::Faint, 0, WIDTH, &confirmation(checked));
        }
        document.paragraph(Emphasis::Faint, 0, WIDTH, &legend(report)).line(Emphasis::Plain, "");
        document.chart(bars(report, round));
    }
    for remark in remarks(report) {
        document.paragraph(Emphasis::Warning, 0, WIDTH, &remark);
    }
    document
}

fn heading(document: &mut Document, report: &CompareReport) {
    document.fact("Prior", prior_text(&report.prior));
    let inputs = |c: &Contender| c.protocol.parameter(Parameter::Inputs);
    let a = report.rounds.iter().flat_map(|r| &r.contenders).find_map(inputs);
    if let Some(a) = a.filter(|_| report.swept != Some(Swept::Inputs)) {
        document.fact("Values", format!("a = {a}"));
    }
    if let Some(n) = report.n {
        document.fact("Users", n.to_string());
    }
    if let Some(wanted) = report.matched {
        document.fact("Matched", format!("{} for all, by choosing epsilon", matched(wanted)));
    }
    document.fact("Ranked by", format!("{}, {}", report.sort.symbol(), better(report.sort)));
    document.line(Emphasis::Plain, "");
}

fn matched(wanted: Wanted) -> String {
    match wanted.quantity {
        TYPICAL_ERROR => {
            let points = rounded(100.0 * wanted.value, 6);
            format!("typical error = {points} {}", points_word(&points))
        }
        quantity => format!("{} = {}", quantity.symbol(), wanted.value),
    }
}

/// Which direction is better, in words.
fn better(quantity: Quantity) -> &'static str {
    use Metric as M;
    match (quantity, quantity.direction()) {
        (Quantity::Error(_), _) => "lower is more accurate",
        (_, Some(sign)) if sign < 0.0 => "lower is more private",
        (Quantity::Metric(M::WorstCasePrivacy | M::AveragePrivacy), _) => "higher is more private",
        (_, Some(_)) => "higher is more useful",
        (_, None) => "",
    }
}

/// A number as it is shown: typical errors are in percentage points.
fn in_unit(quantity: Quantity, e: Evaluation) -> Evaluation {
    if quantity == TYPICAL_ERROR { e.times(100.0) } else { e }
}

/// The name of a column, which says its unit where it has one.
fn column(quantity: Quantity) -> String {
    if quantity == TYPICAL_ERROR { "error, points".into() } else { quantity.symbol().into() }
}

/// The unit after a number in a sentence, where it has one.
fn unit(quantity: Quantity) -> &'static str {
    if quantity == TYPICAL_ERROR { " percentage points" } else { "" }
}

/// What an axis shows.
fn axis_name(quantity: Quantity) -> String {
    let unit = if quantity == TYPICAL_ERROR { " in points" } else { "" };
    format!("{}{unit}, {}", quantity.symbol(), better(quantity))
}

/// What protocols are ranked by, as it is shown.
fn deciding(report: &CompareReport, contender: &Contender) -> Option<Evaluation> {
    contender.number(report.sort).map(|e| in_unit(report.sort, e))
}

fn table(report: &CompareReport, round: &Round) -> Table {
    let noisy = round.contenders.iter().any(|contender| contender.protocol.noise().is_some());
    let noise = if noisy { vec!["epsilon".to_owned()] } else { vec![] };
    let symbols = report.quantities.iter().map(|q| column(*q));
    let costs = ["bits", "client", "server"].map(String::from);
    let header = std::iter::once(String::new()).chain(noise.clone()).chain(symbols).chain(costs);
    let mut table = Table::new(header);
    for contender in &round.contenders {
        let mark = if contender.best { "* " } else { "  " };
        let emphasis = if contender.best { Emphasis::Strong } else { Emphasis::Plain };
        let name = format!("{mark}{}", report.names[contender.position]);
        let noise = noise.iter().map(|_| noise_text(contender));
        let values = report.quantities.iter().map(|q| value(contender, *q));
        let work = contender.work.map_or(["—".into(), "—".into(), "—".into()], |w| {
            [w.bits, w.client, w.aggregator].map(|v| rounded(v, 4))
        });
        table.row(emphasis, std::iter::once(name).chain(noise.clone()).chain(values).chain(work));
        let errors: Vec<String> = report.quantities.iter().map(|q| error(contender, *q)).collect();
        if errors.iter().any(|e| !e.is_empty()) {
            let blank = std::iter::once(String::new()).chain(noise.map(|_| String::new()));
            table.row(Emphasis::Faint, blank.chain(errors).chain(["", "", ""].map(String::from)));
        }
    }
    table
}

fn noise_text(contender: &Contender) -> String {
    match contender.protocol.noise() {
        Some(_) if contender.mismatch.is_some() => "—".into(),
        Some(Parameter::Epsilon) => {
            contender.protocol.parameter(Parameter::Epsilon).map_or("—".into(), level)
        }
        Some(parameter) => {
            let value = contender.protocol.parameter(parameter).map_or(String::new(), |v| rounded(v, 4));
            format!("{} {value}", parameter.name())
        }
        None => "—".into(),
    }
}

fn value(contender: &Contender, quantity: Quantity) -> String {
    use sottovoce::metric::Value;
    match contender.answer(quantity).map(|a| &a.value) {
        Some(Ok(Value::Number(e))) => rounded(in_unit(quantity, *e).value, DIGITS),
        Some(Ok(other)) => super::value_text(other),
        _ => "—".into(),
    }
}

/// The error, where it reaches the digits that are shown.
fn error(contender: &Contender, quantity: Quantity) -> String {
    let shown = |e: &Evaluation| e.error > 0.5 * 10f64.powi(1 - DIGITS) * e.value.abs() && e.error >= 1e-12;
    match contender.number(quantity).map(|e| in_unit(quantity, e)).filter(shown) {
        Some(e) if e.error.is_finite() => format!("± {}", rounded(e.error, 2)),
        Some(_) => "± ?".into(),
        None => String::new(),
    }
}

/// Who is best, and by how much.
fn verdict(report: &CompareReport, round: &Round) -> String {
    let (symbol, sort) = (report.sort.symbol(), report.sort);
    let name = |c: &Contender| report.names[c.position].clone();
    let best: Vec<&Contender> = round.contenders.iter().filter(|c| c.best).collect();
    let next = round.contenders.iter().find(|c| !c.best && c.number(sort).is_some());
    match (&best[..], next) {
        ([], _) => format!("No protocol has a value of {symbol}."),
        ([winner], Some(next)) => {
            let (high, low) = (
                deciding(report, winner).map_or(f64::NAN, |e| e.value),
                deciding(report, next).map_or(f64::NAN, |e| e.value),
            );
            format!(
                "* {} has the best {symbol} ({}): {}{}, against {} for {}, the next.",
                name(winner),
                better(sort),
                rounded(high, DIGITS),
                unit(sort),
                rounded(low, DIGITS),
                name(next)
            )
        }
        ([winner], None) => format!("* {} is the only one with a value of {symbol}.", name(winner)),
        (several, _) => {
            let names: Vec<String> = several.iter().map(|c| name(c)).collect();
            format!(
                "* {} share the best {symbol} ({}): they differ by less than the errors.",
                names.join(" and "),
                better(sort)
            )
        }
    }
}

fn legend(report: &CompareReport) -> String {
    let words = report.quantities.iter().map(|quantity| match quantity {
        Quantity::Metric(metric) => format!("{}: {}.", metric.symbol(), metric.meaning()),
        Quantity::Error(distance) => {
            let unit = if *quantity == TYPICAL_ERROR { " in percentage points" } else { "" };
            let estimator = report.estimator.name();
            format!("{}: {} of the {estimator} estimate{unit}.", column(*quantity), distance.meaning())
        }
    });
    let words: Vec<String> = words.collect();
    format!(
        "{} bits: length of a report; client: random draws per report; server: counters or hashes that the aggregator evaluates per report.",
        words.join(" ")
    )
}

/// The deciding metric of each protocol.
fn bars(report: &CompareReport, round: &Round) -> Chart {
    let names = round
        .contenders
        .iter()
        .filter(|c| c.number(report.sort).is_some())
        .map(|c| report.names[c.position].clone());
    let numbers = round.contenders.iter().filter_map(|c| Some((c, deciding(report, c)?)));
    let point = |(row, (contender, e)): (usize, (&Contender, Evaluation))| {
        let interval =
            Some((e.value - 2.0 * e.error, e.value + 2.0 * e.error)).filter(|_| e.error.is_finite());
        let name = &report.names[contender.position];
        let note = Some(format!(
            "{name}: {} {} ± {}{}",
            report.sort.symbol(),
            rounded(e.value, 7),
            rounded(e.error, 2),
            unit(report.sort)
        ));
        Point { x: e.value, y: row as f64, interval, label: Some(rounded(e.value, DIGITS)), note }
    };
    let points = numbers.enumerate().map(point).collect();
    let symbol = report.sort.symbol();
    Chart::new(
        format!("{symbol} by protocol"),
        Axis::new(axis_name(report.sort), Scale::Linear),
        Axis::rows(names),
    )
    .under(circumstances(report))
    .with(Series::new(symbol, Form::Bars, points))
    .saying(verdict(report, round).trim_start_matches("* ").to_owned())
}

fn circumstances(report: &CompareReport) -> String {
    let mut parts = vec![prior_text(&report.prior)];
    parts.extend(report.n.map(|n| format!("n = {n}")));
    parts.extend(report.matched.map(|wanted| format!("at {}", matched(wanted))));
    parts.join("; ")
}

/// The deciding metric of each protocol over the sweep.
fn curves(report: &CompareReport) -> Chart {
    let swept = report.swept.unwrap_or(Swept::Epsilon);
    let x = if swept == Swept::Inputs { Scale::Linear } else { Scale::Logarithmic };
    let ends = report.rounds.first().and_then(|r| r.at).zip(report.rounds.last().and_then(|r| r.at));
    let mut axis = Axis::new(swept.name(), x);
    axis.range = ends.filter(|(low, high)| low < high);
    let symbol = report.sort.symbol();
    let mut chart = Chart::new(
        format!("{symbol} against {}", swept.name()),
        axis,
        Axis::new(axis_name(report.sort), Scale::Linear),
    )
    .under(circumstances(report));
    for (position, name) in report.names.iter().enumerate() {
        let point = |round: &Round| {
            let contender = round.contenders.iter().find(|c| c.position == position)?;
            let e = deciding(report, contender)?;
            let interval =
                Some((e.value - 2.0 * e.error, e.value + 2.0 * e.error)).filter(|_| e.error.is_finite());
            Some(Point { x: round.at?, y: e.value, interval, label: None, note: None })
        };
        let points = report.rounds.iter().filter_map(point).collect();
        chart = chart.with(Series::new(name.clone(), Form::Line, points));
    }
    let said: Vec<String> = stretches(report)
        .iter()
        .map(|(from, to, names)| format!("{} from {} to {}", names, rounded(*from, 4), rounded(*to, 4)))
        .collect();
    chart.saying(format!("Best {symbol} along {}: {}.", swept.name(), said.join("; ")))
}

/// Who is best where: from, to, and the names.
fn stretches(report: &CompareReport) -> Vec<(f64, f64, String)> {
    let mut stretches: Vec<(f64, f64, String)> = Vec::new();
    for round in &report.rounds {
        let mut best: Vec<usize> = round.contenders.iter().filter(|c| c.best).map(|c| c.position).collect();
        // Equals stand in the order in which they were given.
        best.sort_unstable();
        let best: Vec<&str> = best.into_iter().map(|position| report.names[position].as_str()).collect();
        let names = if best.is_empty() { "none".into() } else { best.join(" and ") };
        let at = round.at.unwrap_or_default();
        match stretches.last_mut() {
            Some(last) if last.2 == names => last.1 = at,
            _ => stretches.push((at, at, names)),
        }
    }
    stretches
}

fn winners(report: &CompareReport) -> Table {
    let mut table = Table::new([format!("best {}", report.sort.symbol()), "from".into(), "to".into()]);
    for (from, to, names) in stretches(report) {
        table.row(Emphasis::Plain, [names, rounded(from, 5), rounded(to, 5)]);
    }
    table
}

/// Reasons and warnings, each once.
fn remarks(report: &CompareReport) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for contender in report.rounds.iter().flat_map(|r| &r.contenders) {
        let name = &report.names[contender.position];
        let reasons = contender
            .evaluations
            .iter()
            .filter_map(|e| e.answer.value.as_ref().err().map(ToString::to_string));
        let warnings = contender.evaluations.iter().filter_map(|e| e.answer.warning.clone());
        let mismatch = contender.mismatch.as_ref().map(ToString::to_string);
        for said in mismatch.into_iter().chain(reasons).chain(warnings) {
            let remark = format!("{name}: {said}");
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    // A sweep may have as many remarks as values.
    const SHOWN: usize = 6;
    let more = remarks.len().saturating_sub(SHOWN);
    remarks.truncate(SHOWN);
    if more > 0 {
        remarks.push(format!("and {more} more remarks like these; the CSV output has all of them"));
    }
    remarks
}
