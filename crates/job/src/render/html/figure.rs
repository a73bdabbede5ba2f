//! A chart in a page: for wide and narrow windows, on more than one scale where that helps, with its numbers in a table.

use maud::{Markup, PreEscaped, html};
use sottovoce_chart::{Chart, Point, Scale, Series, Size};

use super::words::{Plain, Words};
use super::{NL, units_kept};
use crate::render::number::tidy;

/// The figure. `number` distinguishes its switch from those of other figures.
pub(super) fn figure(chart: &Chart, number: usize) -> Markup {
    let variants = variants(chart);
    html! {
        figure { (NL)
            @if variants.len() > 1 { (switch(&variants, number)) }
            @for (i, (scale, variant)) in variants.iter().enumerate() {
                div class="variant" data-scale=(scale) hidden[i > 0] { (NL)
                    div class="wide" { (PreEscaped(variant.inline_svg(Size::WIDE))) } (NL)
                    div class="narrow" { (PreEscaped(variant.inline_svg(Size::NARROW))) } (NL)
                } (NL)
            }
            figcaption { (Words(&units_kept(&chart.caption))) } (NL)
            (data(chart))
        } (NL)
    }
}

/// The chart as it is and, if that shows something different, with another scale on its vertical axis.
fn variants(chart: &Chart) -> Vec<(&'static str, Chart)> {
    let given = (name(chart.y.scale), chart.clone());
    if chart.has_rows() {
        return vec![given];
    }
    let values = || chart.series.iter().flat_map(|s| &s.points).map(|p| p.y).filter(|y| y.is_finite());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let other = match chart.y.scale {
        Scale::Linear if low > 0.0 && high > 10.0 * low => Scale::Logarithmic,
        Scale::Linear => return vec![given],
        _ => Scale::Linear,
    };
    let mut variant = chart.clone();
    variant.y.scale = other;
    if other == Scale::Logarithmic {
        variant.y.range = None;
    }
    vec![given, (name(other), variant)]
}

fn name(scale: Scale) -> &'static str {
    match scale {
        Scale::Linear => "linear",
        Scale::Logarithmic => "logarithmic",
        Scale::SquareRoot => "square root",
    }
}

/// Buttons that choose a variant.
fn switch(variants: &[(&'static str, Chart)], number: usize) -> Markup {
    html! {
        fieldset class="switch" {
            legend { "Vertical axis" }
            @for (i, (scale, _)) in variants.iter().enumerate() {
                label {
                    input type="radio" name={ "scale" (number) } value=(scale) checked[i == 0];
                    " " (scale)
                }
                " "
            }
        } (NL)
    }
}

/// The numbers of the chart as a table.
fn data(chart: &Chart) -> Markup {
    let points = chart.series.iter().flat_map(|series| &series.points);
    let intervals = points.clone().any(|point| point.interval.is_some());
    let place = if chart.has_rows() { "row" } else { chart.x.label.as_str() };
    let value = if chart.has_rows() { &chart.x.label } else { &chart.y.label };
    let names = ["series", place, value, "from", "to"];
    html! {
        details {
            summary { "The numbers" }
            div class="scroll" {
                table {
                    thead {
                        tr { @for name in &names[..if intervals { 5 } else { 3 }] { th scope="col" { (Words(name)) } } }
                    } (NL)
                    tbody { (NL)
                        @for series in &chart.series {
                            @for point in &series.points { (row(chart, series, point, intervals)) }
                        }
                    }
                }
            }
        } (NL)
    }
}

fn row(chart: &Chart, series: &Series, point: &Point, intervals: bool) -> Markup {
    let category = chart.y.categories.get(point.y as usize).filter(|_| chart.has_rows());
    let (place, value) = match category {
        Some(name) => (name.clone(), point.x),
        None => (exactly(point.x), point.y),
    };
    let (from, to) = point.interval.map(|(l, h)| (exactly(l), exactly(h))).unwrap_or_default();
    html! {
        tr {
            th scope="row" { (Words(&series.name)) }
            td { (Plain(&place)) }
            td { (exactly(value)) }
            @if intervals { td { (from) } td { (to) } }
        } (NL)
    }
}

/// All digits except rounding error.
fn exactly(value: f64) -> String {
    let value = tidy(value);
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}
