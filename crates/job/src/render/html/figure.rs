//! A chart in a page: for wide and narrow windows, on more than one scale where that helps, with its data behind it.

use sottovoce_chart::{Chart, Scale, Series, Size, escaped, marked_up};

use super::units_kept;
use crate::render::number::tidy;

/// The figure; `number` tells it from others in the page.
pub(super) fn figure(chart: &Chart, number: usize) -> String {
    let variants = variants(chart);
    let pictures: String = variants
        .iter()
        .enumerate()
        .map(|(i, (scale, variant))| {
            let hidden = if i == 0 { "" } else { " hidden" };
            format!(
                "<div class=\"variant\" data-scale=\"{scale}\"{hidden}>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n</div>\n",
                variant.inline_svg(Size::WIDE),
                variant.inline_svg(Size::NARROW)
            )
        })
        .collect();
    format!(
        "<figure>\n{}{pictures}<figcaption>{}</figcaption>\n{}</figure>\n",
        switch(&variants, number),
        marked_up(&units_kept(&chart.caption)),
        data(chart)
    )
}

/// The chart as it is, and with its vertical axis on another scale if that shows something else.
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
fn switch(variants: &[(&'static str, Chart)], number: usize) -> String {
    if variants.len() < 2 {
        return String::new();
    }
    let button = |(i, (scale, _)): (usize, &(&str, Chart))| {
        let checked = if i == 0 { " checked" } else { "" };
        format!(
            "<label><input type=\"radio\" name=\"scale{number}\" value=\"{scale}\"{checked}> {scale}</label> "
        )
    };
    let buttons: String = variants.iter().enumerate().map(button).collect();
    format!("<fieldset class=\"switch\"><legend>Vertical axis</legend>{buttons}</fieldset>\n")
}

/// The numbers of the chart as a table.
fn data(chart: &Chart) -> String {
    let points = chart.series.iter().flat_map(|series| &series.points);
    let intervals = points.clone().any(|point| point.interval.is_some());
    let body: String = chart.series.iter().map(|series| rows(chart, series, intervals)).collect();
    let place = if chart.has_rows() { "row" } else { chart.x.label.as_str() };
    let value = if chart.has_rows() { &chart.x.label } else { &chart.y.label };
    let names = ["series", place, value, "from", "to"];
    let head: String = names[..if intervals { 5 } else { 3 }]
        .iter()
        .map(|name| format!("<th scope=\"col\">{}</th>", marked_up(name)))
        .collect();
    format!(
        "<details><summary>The numbers</summary><div class=\"scroll\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div></details>\n"
    )
}

fn rows(chart: &Chart, series: &Series, intervals: bool) -> String {
    let row = |point: &sottovoce_chart::Point| {
        let (place, value) = match chart.y.categories.get(point.y as usize).filter(|_| chart.has_rows()) {
            Some(name) => (escaped(name), point.x),
            None => (exactly(point.x), point.y),
        };
        let (from, to) = point.interval.map(|(l, h)| (exactly(l), exactly(h))).unwrap_or_default();
        let ends = if intervals { format!("<td>{from}</td><td>{to}</td>") } else { String::new() };
        format!(
            "<tr><th scope=\"row\">{}</th><td>{place}</td><td>{}</td>{ends}</tr>\n",
            marked_up(&series.name),
            exactly(value)
        )
    };
    series.points.iter().map(row).collect()
}

/// All digits but those that are rounding.
fn exactly(value: f64) -> String {
    let value = tidy(value);
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}
