//! The figures show what the reference values say.

use std::sync::LazyLock;

use serde_json::Value as Json;
use sottovoce::unobserved;
use sottovoce_chart::Annotation;
use sottovoce_job::figures::{Datum, Figure, FiguresRequest};

/// All figures, made once for all tests.
static ALL: LazyLock<Vec<Figure>> =
    LazyLock::new(|| FiguresRequest::default().check().unwrap().run(&unobserved).unwrap().figures);

fn all() -> &'static [Figure] {
    &ALL
}

/// The reference values of one metric under the Jeffreys prior: kind, a, epsilon, value and its error.
fn reference(metric: &str) -> Vec<(String, u64, f64, f64, f64)> {
    let reference: Json = serde_json::from_str(include_str!("golden/reference.json")).unwrap();
    let jeffreys = |prior: &Json| {
        prior["alpha"].as_array().is_some_and(|alpha| alpha.iter().all(|a| a.as_f64() == Some(0.5)))
    };
    let entries = reference["metrics"].as_array().unwrap().iter();
    entries
        .filter(|e| e["metric"] == metric && jeffreys(&e["prior"]))
        .filter_map(|e| {
            let protocol = &e["protocol"];
            let number = |key: &str| e[key].as_str().unwrap().parse().unwrap();
            let kind = protocol["kind"].as_str()?.to_uppercase();
            Some((
                kind,
                protocol["a"].as_u64()?,
                protocol["epsilon"].as_f64()?,
                number("value"),
                number("abs_err"),
            ))
        })
        .collect()
}

fn datum<'a>(figure: &'a Figure, series: &str, at: f64) -> Option<&'a Datum> {
    figure.data.iter().find(|d| d.series == series && d.varied.1 == at)
}

#[test]
fn average_privacy_curves_meet_the_reference() {
    let figures = all();
    let mut met = 0;
    for (kind, a, epsilon, value, _) in reference("s_mu").into_iter().filter(|e| e.2 == 2.0) {
        if let Some(d) = datum(&figures[0], &kind, a as f64) {
            assert!(
                (d.y.value - value).abs() < 1e-10,
                "{kind} a = {a}, epsilon = {epsilon}: {} {value}",
                d.y.value
            );
            met += 1;
        }
    }
    assert!(met >= 40, "{met} values compared");
}

#[test]
fn tradeoff_curves_meet_the_reference() {
    let figures = all();
    let (mut met, average, worst) = (0, &figures[1], &figures[2]);
    for (kind, _, epsilon, value, _) in reference("s_mu").into_iter().filter(|e| e.1 == 3) {
        if let Some(d) = datum(average, &kind, epsilon) {
            assert!((d.x.value - value).abs() < 1e-10, "{kind} epsilon = {epsilon}: {} {value}", d.x.value);
            met += 1;
        }
    }
    for (kind, _, epsilon, value, error) in reference("f_mu").into_iter().filter(|e| e.1 == 3) {
        for d in [average, worst].into_iter().filter_map(|figure| datum(figure, &kind, epsilon)) {
            let allowed = error + 4.0 * d.y.error + 1e-14;
            assert!((d.y.value - value).abs() <= allowed, "{kind} epsilon = {epsilon}: {:?} {value}", d.y);
            assert!(d.y.error < 1e-5, "{:?}", d.y);
            met += 1;
        }
    }
    for d in &worst.data {
        assert!((d.x.value - (-d.varied.1).exp()).abs() < 1e-15, "{d:?}");
    }
    assert!(met >= 3 * 50, "{met} values compared");
}

/// The crossings of the errata: GRR passes the others at a = 9, 12 and 15, and teaches most above S_mu = 0.9119174569.
#[test]
fn crossings_are_where_the_errata_say_and_are_annotated() {
    let figures = all();
    let marks = |figure: &Figure| -> Vec<(f64, String)> {
        let mark = |a: &Annotation| match a {
            Annotation::Mark { x, label, .. } => Some((*x, label.clone())),
            Annotation::Vertical { .. } => None,
        };
        figure.chart.annotations.iter().filter_map(mark).collect()
    };
    let passed = marks(&figures[0]);
    assert_eq!(passed.iter().map(|m| m.0).collect::<Vec<_>>(), [9.0, 12.0, 15.0]);
    for ((_, label), other) in passed.iter().zip(["RAPPOR", "OUE", "BLH"]) {
        assert!(label.contains(other), "{label}");
    }
    let (privacy, label) = &marks(&figures[1])[0];
    assert!((privacy - 0.911_917_456_9).abs() < 1e-5, "{privacy}");
    assert!(label.contains("0.9119") && figures[1].chart.caption.contains("0.9119"));
}

/// All labels of the wide pictures find room: nothing is left to a legend, and no annotation is dropped.
#[test]
fn every_line_and_mark_is_labelled_in_the_picture() {
    for figure in all().iter().filter(|f| !f.chart.has_rows()) {
        let svg = figure.chart.svg(sottovoce_chart::Size::WIDE);
        for annotation in &figure.chart.annotations {
            let (Annotation::Mark { label, .. } | Annotation::Vertical { label, .. }) = annotation;
            assert!(svg.contains(label.as_str()), "{}: {label}", figure.name);
        }
        for series in figure.chart.series.iter().filter(|s| !s.name.contains('^')) {
            let words = format!("data-words=\"{}\"", series.name);
            assert!(svg.contains(&words), "{}: {}", figure.name, series.name);
        }
    }
}

#[test]
fn the_asymptote_is_below_and_the_limit_above() {
    let figures = all();
    let finite = &figures[3];
    for n in [50.0, 125.0, 500.0] {
        let (exact, asymptote) = (datum(finite, "exact", n).unwrap(), datum(finite, "asymptote", n).unwrap());
        assert!(asymptote.y.value < exact.y.value && exact.y.value < 1.0, "{n}");
        assert!(exact.y.error < 1e-9 && asymptote.y.error.is_infinite());
    }
}

#[test]
fn the_parts_of_the_split_shrink_with_epsilon() {
    let figures = all();
    let split = &figures[5];
    for part in ["about the population", "about this group", "about who holds what"] {
        let values: Vec<f64> = split.data.iter().filter(|d| d.series == part).map(|d| d.x.value).collect();
        assert_eq!(values.len(), 5);
        assert!(values.is_sorted_by(|l, r| l > r), "{part}: {values:?}");
    }
    // The caption's claim: of the first part a larger share is left, at every level.
    let share = |part: &str, row: usize| {
        let values: Vec<f64> = split.data.iter().filter(|d| d.series == part).map(|d| d.x.value).collect();
        values[row] / values[0]
    };
    for row in 1..5 {
        assert!(share("about the population", row) > share("about who holds what", row), "{row}");
        assert!(share("about the population", row) > share("about this group", row), "{row}");
    }
}

/// Without a limit on the worst case erasure is best, and its `F_μ` is `1 − S_μ`; no curve is above it, and none of LDP level 2 above the limited optimum.
#[test]
fn the_frontier_is_above_everything() {
    let frontier = &all()[6];
    let series = |name: &str| frontier.data.iter().filter(|d| d.series == name).collect::<Vec<&Datum>>();
    let (any, limited) = (series("optimum"), series("optimum, LDP ≤ 2"));
    assert_eq!((any.len(), limited.len()), (19, 19));
    for (any, limited) in any.iter().zip(&limited) {
        assert!(any.y.error < 1e-4 && limited.y.error < 1e-4, "{any:?} {limited:?}");
        assert!((any.y.value - (1.0 - any.x.value)).abs() <= any.y.error, "{any:?}");
        assert!(limited.y.value <= any.y.value + any.y.error, "{limited:?}");
    }
    let usual = frontier.data.iter().filter(|d| d.varied.0 == "epsilon");
    for datum in usual.clone() {
        assert!(datum.y.value <= 1.0 - datum.x.value + 3.0 * datum.y.error + 1e-9, "{datum:?}");
    }
    // The optimum at the next lower level of privacy bounds what a protocol of the same LDP level reaches.
    for datum in usual.filter(|d| d.varied.1 <= 2.0) {
        let bound = limited.iter().rev().find(|l| l.x.value <= datum.x.value).unwrap();
        assert!(datum.y.value <= bound.y.value + bound.y.error + 3.0 * datum.y.error, "{datum:?} {bound:?}");
    }
}
