//! The job `figures`: the paper's pictures, with data of our own, and what the paper's pictures do not show.
//!
//! Each figure is a function from the settings to a [`Figure`]: numbers with their errors, and a chart of them whose caption says what is seen, with the
//! corrections of `docs/errata.md`.

mod finite;
mod frontier;
mod tradeoff;

use sottovoce::metric::{Settings, Value};
use sottovoce::{Analysis, Evaluation, Metric, Prior, Protocol};
use sottovoce_chart::{Annotation, Axis, Chart, Form, Point, Scale, Series};

use crate::error::Result;

/// A picture with the numbers behind it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What its files are called.
    pub name: &'static str,
    /// The picture.
    pub chart: Chart,
    /// The numbers, in the order of the series.
    pub data: Vec<Datum>,
}

/// A number of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// The series, as in the chart.
    pub series: String,
    /// What was varied, and its value.
    pub varied: (&'static str, f64),
    /// The horizontal place.
    pub x: Evaluation,
    /// The vertical one.
    pub y: Evaluation,
}

/// All figures.
///
/// # Errors
/// A protocol or prior is refused, which happens only if a constant here is wrong.
pub fn figures(settings: Settings) -> Result<Vec<Figure>> {
    let by_average = tradeoff::by_average_privacy(settings)?;
    let frontier = frontier::by_average_privacy(&by_average.data, settings)?;
    Ok(vec![
        average_privacy(settings)?,
        by_average,
        tradeoff::by_worst_case_privacy(settings)?,
        finite::distribution_utility(settings)?,
        finite::information_split(settings)?,
        frontier,
    ])
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
fn average_privacy(settings: Settings) -> Result<Figure> {
    let mut data = Vec::new();
    for (name, kind) in PROTOCOLS {
        for a in 2..=25 {
            let (protocol, prior) = (kind(a, 2.0)?, Prior::jeffreys(a)?);
            let analysis = Analysis::with_settings(&protocol, &prior, settings)?;
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
    let told: Vec<String> = overtaken.iter().map(|(other, a, _)| format!("{other} at a = {a}")).collect();
    let caption = format!(
        "With the same worst-case privacy S^wc = e^−2 = 0.135, all four protocols hide far more on average, and the more the more values there are. \
         GRR hides least for few values and most for many: it passes {}.",
        told.join(", ")
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
