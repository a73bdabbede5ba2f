//! Answers to expressions: the finding as sentences, then the numbers.

use sottovoce::Evaluation;
use sottovoce::posterior::FunctionalSummary;

use super::{WIDTH, printable};
use crate::functional::{Asked, Question, Unit, WithinBins};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::short;

/// Most columns of an expression before a terminal cuts it.
const NAME: usize = 16;

/// Most values or ranks that a table lists; those with more than [`WORTH`] come first.
const MOST_LISTED: usize = 12;
const WORTH: f64 = 0.005;

/// The answers: what was found, then a table of numbers, then how they were found. Nothing if nothing was asked.
pub(super) fn answers(document: &mut Document, all: &[Asked], labels: &[String], against: &str, level: f64) {
    if all.is_empty() {
        return;
    }
    for asked in all {
        document.paragraph(Emphasis::Strong, 0, WIDTH, &finding(asked, labels, against, level));
    }
    document.line(Emphasis::Plain, "");
    let numbers = numbers(all, against, level);
    if !numbers.rows.is_empty() {
        document.table(numbers).line(Emphasis::Plain, "");
    }
    for asked in all.iter().filter(|asked| !asked.probabilities.is_empty()) {
        document.table(probabilities(asked, labels)).line(Emphasis::Plain, "");
    }
    document.paragraph(Emphasis::Faint, 0, WIDTH, &how(all)).line(Emphasis::Plain, "");
}

/// What was found, in a sentence.
fn finding(asked: &Asked, labels: &[String], against: &str, level: f64) -> String {
    let name = printable(&asked.expression.text);
    if let Question::Top(k) = asked.expression.question {
        return most_common(&name, k, &asked.probabilities, labels);
    }
    let Some(found) = &asked.summary else { return name };
    let unit = asked.expression.unit;
    if unit == Unit::Rank {
        let ranked = asked.probabilities.iter().enumerate();
        let likely =
            ranked.max_by(|l, r| l.1.value.total_cmp(&r.1.value)).map_or((0, 0.0), |(r, p)| (r, p.value));
        return format!("{name} is {} with probability {}.", likely.0 + 1, probability(likely.1));
    }
    if let Some(other) = &asked.against {
        let than = &other.difference;
        return format!(
            "{name} is {}, and {} in {against}: the difference is {} ({}), and above 0 with probability {}.",
            centre(found, unit),
            centre(&other.summary, unit),
            difference(than, unit),
            range(than, unit, level),
            than.above.map_or_else(String::new, |(_, p)| probability(p.value)),
        );
    }
    let above = found.above.map_or_else(String::new, |(than, p)| {
        format!("; above {} with probability {}", short(than), probability(p.value))
    });
    let own = if found.above.is_some() { difference(found, unit) } else { centre(found, unit) };
    format!("{name} is {own} ({}){above}.", range(found, unit, level))
}

/// The most likely values of `top` and `largest`.
fn most_common(name: &str, k: usize, masses: &[Evaluation], labels: &[String]) -> String {
    const NAMED: usize = 8;
    let mut order: Vec<usize> = (0..masses.len()).collect();
    order.sort_by(|l, r| masses[*r].value.total_cmp(&masses[*l].value));
    let words = |x: &usize| format!("{} ({})", printable(&labels[*x]), probability(masses[*x].value));
    let first: Vec<String> = order.iter().take(k.min(NAMED)).map(words).collect();
    let more = if k > NAMED { ", …" } else { "" };
    format!("{name}: most probably {}{more}.", first.join(", "))
}

/// A number in the middle: the median of a ratio, whose mean may be infinite, and the mean of all else.
fn centre(found: &FunctionalSummary, unit: Unit) -> String {
    let middle = || found.quantiles.get(found.quantiles.len() / 2).map(|(_, at)| at.value);
    let value = if unit == Unit::Ratio { middle().unwrap_or(found.mean.value) } else { found.mean.value };
    amount(value, unit, width(found))
}

/// The same where it is a difference: of shares in percentage points.
pub(super) fn difference(found: &FunctionalSummary, unit: Unit) -> String {
    let text = centre(found, unit);
    if unit == Unit::Share { text.replace(" %", " percentage points") } else { text }
}

pub(super) fn range(found: &FunctionalSummary, unit: Unit, level: f64) -> String {
    let (low, high) = ends(found);
    let text = |value: f64| amount(value, unit, width(found)).replace(" %", "");
    let percent = if unit == Unit::Share && found.above.is_none() { " %" } else { "" };
    format!("{} % interval: {} to {}{percent}", short(100.0 * level), text(low), text(high))
}

/// The ends of the interval.
pub(super) fn ends(found: &FunctionalSummary) -> (f64, f64) {
    let end = |at: Option<&(f64, Evaluation)>| at.map_or(found.mean.value, |(_, at)| at.value);
    (end(found.quantiles.first()), end(found.quantiles.last()))
}

fn width(found: &FunctionalSummary) -> f64 {
    let (low, high) = ends(found);
    high - low
}

/// A number in its unit, with two digits of the width of its interval.
pub(super) fn amount(value: f64, unit: Unit, width: f64) -> String {
    if !value.is_finite() {
        return short(value);
    }
    let scale = if unit == Unit::Share { 100.0 } else { 1.0 };
    // What is certain, and ranks, have one decimal place.
    let width = if width == 0.0 || unit == Unit::Rank { 1.0 } else { scale * width };
    let places = (1.0 - width.log10()).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{:.places$}", scale * value);
    // No minus sign before zeros.
    let negative = text.starts_with('-') && !text.contains(|c: char| ('1'..='9').contains(&c));
    let text = if negative { text[1..].to_owned() } else { text };
    if unit == Unit::Share { format!("{text} %") } else { text }
}

/// A probability in percent; draws do not tell those near 0 and 1 exactly.
pub(super) fn probability(value: f64) -> String {
    match 100.0 * value {
        p if p < 0.1 => "less than 0.1 %".into(),
        p if p > 99.9 => "more than 99.9 %".into(),
        p if !(1.0..=99.0).contains(&p) => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Mean, standard deviation, interval and probability of each number.
fn numbers(all: &[Asked], against: &str, level: f64) -> Table {
    let interval = format!("{} % interval", short(100.0 * level));
    let header = ["", "mean", "sd", interval.as_str(), "above 0 or 1"];
    let compared = |asked: &Asked| {
        asked.against.is_some() || asked.summary.as_ref().is_some_and(|found| found.above.is_some())
    };
    let columns = if all.iter().any(compared) { 5 } else { 4 };
    let mut table = Table::new(header.into_iter().take(columns)).names_within(NAME);
    let row = |name: String, found: &FunctionalSummary, unit: Unit| {
        row(name, found, unit).into_iter().take(columns).collect::<Vec<String>>()
    };
    for asked in all {
        let Some(found) = &asked.summary else { continue };
        let unit = asked.expression.unit;
        table.row(Emphasis::Plain, row(printable(&asked.expression.text), found, unit));
        if let Some(other) = &asked.against {
            table.row(Emphasis::Plain, row(format!("  in {against}"), &other.summary, unit));
            table.row(Emphasis::Plain, row("  difference".into(), &other.difference, unit));
            if let Some(ratio) = &other.ratio {
                table.row(Emphasis::Plain, row("  ratio".into(), ratio, Unit::Ratio));
            }
        }
    }
    table
}

fn row(name: String, found: &FunctionalSummary, unit: Unit) -> [String; 5] {
    let (low, high) = ends(found);
    let text = |value: f64| amount(value, unit, width(found));
    let above = found.above.map_or_else(String::new, |(_, p)| probability(p.value));
    let interval = format!("{} – {}", text(low).replace(" %", ""), text(high));
    [name, text(found.mean.value), text(found.sd.value), interval, above]
}

/// The probabilities of ranks, or of values to be among the most common ones.
fn probabilities(asked: &Asked, labels: &[String]) -> Table {
    let ranks = asked.expression.unit == Unit::Rank;
    let mut order: Vec<usize> = (0..asked.probabilities.len()).collect();
    if !ranks {
        order.sort_by(|l, r| asked.probabilities[*r].value.total_cmp(&asked.probabilities[*l].value));
    }
    order.retain(|i| asked.probabilities[*i].value >= WORTH);
    let mut table = Table::new([printable(&asked.expression.text), "probability".into(), "error".into()])
        .names_within(NAME);
    for i in order.into_iter().take(MOST_LISTED) {
        let name = if ranks { (i + 1).to_string() } else { printable(&labels[i]) };
        let found = &asked.probabilities[i];
        table.row(
            Emphasis::Plain,
            [name, format!("{:.1} %", 100.0 * found.value), format!("{:.1}", 100.0 * found.error)],
        );
    }
    table
}

/// Which assumptions were made, and how the numbers were found.
fn how(all: &[Asked]) -> String {
    let mut words = Vec::new();
    let assumes = |wanted| all.iter().any(|asked| asked.expression.within_bins == Some(wanted));
    if assumes(WithinBins::Midpoint) {
        words.push("The mean takes each bin for its midpoint.".to_owned());
    }
    if assumes(WithinBins::Uniform) {
        words.push("Quantiles take numbers to be spread evenly within their bins.".to_owned());
    }
    let summaries = all.iter().flat_map(|asked| {
        let against = asked.against.iter().flat_map(|other| [&other.summary, &other.difference]);
        asked.summary.iter().chain(against).collect::<Vec<_>>()
    });
    words.push(method(summaries, all.iter().any(|asked| !asked.probabilities.is_empty())));
    words.join(" ")
}

/// How numbers were found, with the largest Monte Carlo error of a mean relative to its standard deviation.
pub(super) fn method<'s>(summaries: impl Iterator<Item = &'s FunctionalSummary>, drawn: bool) -> String {
    let sizes: Vec<f64> = summaries.filter_map(|found| found.sample_size).collect();
    let fewest = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    match (fewest.is_finite(), drawn) {
        (true, _) => format!(
            "From joint draws of all shares, as good as {:.0} independent ones or better: the Monte Carlo error of a mean is at most {} of its standard \
             deviation. Means of shares are exact where the posterior is.",
            fewest,
            short((1.0 / fewest.sqrt() * 1e3).round() / 1e3)
        ),
        (false, true) => "From joint draws of all shares.".into(),
        (false, false) => "Exact, but for rounding.".into(),
    }
}
