//! The job `figures`: the paper's pictures, with newly computed data, and a few more.
//!
//! Each figure is a function from the settings to a [`Figure`]: numbers with their errors, and a chart of them whose caption says what is seen, with the
//! corrections of `docs/errata.md`.

mod finite;
mod frontier;
mod tradeoff;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::information::Choice;
use sottovoce::metric::{Settings, Value};
use sottovoce::{Analysis, Evaluation, Metric, Observer, Prior, Protocol};
use sottovoce_chart::{Annotation, Axis, Chart, Form, Point, Scale, Series};

use crate::contract::{EvaluationFields, Number, Whole, evaluation as evaluation_fields, whole};
use crate::error::Result;

/// A picture with the numbers behind it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figure {
    /// What its files are called.
    pub name: &'static str,
    /// The picture; in JSON its title and what is seen in it.
    #[serde(flatten, serialize_with = "words")]
    #[schemars(with = "Words<'_>")]
    pub chart: Chart,
    /// The numbers, in the order of the series.
    pub data: Vec<Datum>,
}

/// What a chart says in words.
#[derive(Serialize, JsonSchema)]
struct Words<'c> {
    /// The title.
    title: &'c str,
    /// What is seen.
    caption: &'c str,
}

fn words<S: Serializer>(chart: &Chart, serializer: S) -> Result<S::Ok, S::Error> {
    Words { title: &chart.title, caption: &chart.caption }.serialize(serializer)
}

/// A number of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Datum {
    /// The series, as in the chart.
    pub series: String,
    /// What was varied, and its value.
    #[serde(serialize_with = "varied")]
    #[schemars(with = "(String, Number)")]
    pub varied: (&'static str, f64),
    /// The horizontal place.
    #[serde(serialize_with = "evaluation_fields")]
    #[schemars(with = "EvaluationFields")]
    pub x: Evaluation,
    /// The vertical one.
    #[serde(serialize_with = "evaluation_fields")]
    #[schemars(with = "EvaluationFields")]
    pub y: Evaluation,
}

fn varied<S: Serializer>((name, value): &(&'static str, f64), serializer: S) -> Result<S::Ok, S::Error> {
    (name, Number(*value)).serialize(serializer)
}

/// Which figures are wanted: all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FiguresRequest {
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request for the figures.
#[derive(Clone, Copy, Debug)]
pub struct FiguresJob {
    settings: Settings,
}

/// All figures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FiguresReport {
    /// The figures.
    pub figures: Vec<Figure>,
}

impl FiguresRequest {
    /// The job; every seed is valid.
    ///
    /// # Errors
    /// None.
    pub fn check(&self) -> Result<FiguresJob> {
        Ok(FiguresJob { settings: Settings { seed: self.seed, ..Settings::default() } })
    }
}

impl FiguresJob {
    /// Makes all figures, while the observer hears of what takes long. What it stops is missing from the figures.
    ///
    /// # Errors
    /// A protocol or prior is refused, which happens only if a constant here is wrong.
    pub fn run(&self, observer: Observer<'_>) -> Result<FiguresReport> {
        let work = Work { settings: self.settings, observer };
        let by_average = tradeoff::by_average_privacy(work)?;
        let frontier = frontier::by_average_privacy(&by_average.data, work)?;
        let figures = vec![
            average_privacy(work)?,
            by_average,
            tradeoff::by_worst_case_privacy(work)?,
            finite::distribution_utility(work)?,
            finite::approximation(work)?,
            finite::information_split(work)?,
            frontier,
        ];
        Ok(FiguresReport { figures })
    }
}

/// How the numbers of the figures are computed, and who watches.
#[derive(Clone, Copy)]
struct Work<'o> {
    settings: Settings,
    observer: Observer<'o>,
}

impl<'o> Work<'o> {
    /// The same with another method.
    fn choosing(self, choice: Choice) -> Self {
        Work { settings: Settings { choice, ..self.settings }, ..self }
    }

    fn analysis<'a>(self, protocol: &'a Protocol, prior: &'a Prior) -> Result<Analysis<'a>>
    where
        'o: 'a,
    {
        Ok(Analysis::with_settings(protocol, prior, self.settings)?.observed_by(self.observer))
    }
}

/// The protocols of the paper's figures, each with its colour.
const PROTOCOLS: [(&str, Kind); 4] =
    [("GRR", Protocol::grr), ("RAPPOR", Protocol::rappor), ("OUE", Protocol::oue), ("BLH", Protocol::blh)];

/// A constructor: from the number of inputs and `epsilon`.
type Kind = fn(usize, f64) -> sottovoce::Result<Protocol>;

/// A metric that is a number.
fn evaluation(analysis: &Analysis<'_>, metric: Metric, n: Option<u64>) -> Evaluation {
    match analysis.answer(metric, n).value {
        Ok(Value::Number(e)) => e,
        // A gap in the picture, and no value in the table.
        _ => Evaluation::new(f64::NAN, f64::INFINITY, sottovoce::Method::ClosedForm),
    }
}

/// A number that is what it is.
fn exactly(value: f64) -> Evaluation {
    Evaluation::new(value, 0.0, sottovoce::Method::ClosedForm)
}

/// The data of one series as a line.
fn line(data: &[Datum], series: &str) -> Series {
    let point = |d: &Datum| Point {
        x: d.x.value,
        y: d.y.value,
        interval: Some((d.y.value - 2.0 * d.y.error, d.y.value + 2.0 * d.y.error))
            .filter(|i| i.0.is_finite()),
        ..Point::default()
    };
    Series::new(series, Form::Line, data.iter().filter(|d| d.series == series).map(point).collect())
}

/// `S_μ` against `a` at `ε = 2` [paper, Fig. "privacy vs worst-case privacy"].
fn average_privacy(work: Work<'_>) -> Result<Figure> {
    let mut data = Vec::new();
    for (name, kind) in PROTOCOLS {
        for a in 2..=25 {
            let (protocol, prior) = (kind(a, 2.0)?, Prior::jeffreys(a)?);
            let analysis = work.analysis(&protocol, &prior)?;
            let y = evaluation(&analysis, Metric::AveragePrivacy, None);
            data.push(Datum { series: name.into(), varied: ("a", a as f64), x: exactly(a as f64), y });
        }
    }
    let mut chart = Chart::new(
        "Average privacy grows with the number of values, worst-case privacy does not",
        Axis::new("number of values a", Scale::Linear).between(2.0, 25.0),
        Axis::new("average privacy S_mu", Scale::Linear).between(0.0, 1.0),
    )
    .under("ε = 2 for all, Jeffreys prior");
    for (name, _) in PROTOCOLS {
        chart = chart.with(line(&data, name));
    }
    let floor = (-2f64).exp();
    chart = chart.with(Series::line("S^wc", [(2.0, floor), (25.0, floor)]).as_reference());
    let overtaken = overtaken(&data);
    for (other, a, y) in &overtaken {
        chart =
            chart.remarking(Annotation::Mark { x: *a, y: *y, label: format!("a = {a}: GRR passes {other}") });
    }
    let passed: Vec<String> = overtaken.iter().map(|(other, a, _)| format!("{other} at a = {a}")).collect();
    let caption = format!(
        "With the same worst-case privacy S^wc = e^−2 = 0.135, all four protocols hide far more on average, and the more the more values there are. \
         GRR hides least for few values and most for many: it passes {}.",
        passed.join(", ")
    );
    Ok(Figure { name: "average-privacy", chart: chart.saying(caption), data })
}

/// Where GRR first hides more than each other protocol: its name, `a`, and `S_μ` of GRR there.
fn overtaken(data: &[Datum]) -> Vec<(String, f64, f64)> {
    let at =
        |series: &str, a: f64| data.iter().find(|d| d.series == series && d.varied.1 == a).map(|d| d.y.value);
    let first = |other: &str| {
        (2..=25).map(f64::from).find_map(|a| {
            let (grr, theirs) = (at("GRR", a)?, at(other, a)?);
            (grr > theirs).then(|| (other.to_owned(), a, grr))
        })
    };
    PROTOCOLS[1..].iter().filter_map(|(other, _)| first(other)).collect()
}
