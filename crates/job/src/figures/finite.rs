//! What a finite number of users changes: how slowly the limits are approached, and how the information splits.

use sottovoce::information::Choice;
use sottovoce::metric::Settings;
use sottovoce::{Metric, Prior, Protocol};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{Datum, Figure, Work, evaluation, exactly, line};
use crate::error::Result;
use crate::render::number::rounded;

/// Numbers of users, up to where exact sums are quick.
const USERS: [u64; 14] = [1, 2, 3, 5, 8, 12, 20, 32, 50, 80, 125, 200, 320, 500];

/// `U^distr` of GRR at finite n, its asymptote and its limit.
pub(super) fn distribution_utility(work: Work<'_>) -> Result<Figure> {
    let (protocol, prior) = (Protocol::grr(3, 2.0)?, Prior::jeffreys(3)?);
    let mut data = Vec::new();
    for (series, choice) in [("exact", Choice::Exact), ("asymptote", Choice::Asymptote)] {
        let analysis = work.choosing(choice).analysis(&protocol, &prior)?;
        for n in USERS {
            let y = evaluation(&analysis, Metric::DistributionUtility, Some(n));
            data.push(Datum { series: series.into(), varied: ("n", n as f64), x: exactly(n as f64), y });
        }
    }
    let at = |series: &str, n: f64| {
        data.iter().find(|d| d.series == series && d.varied.1 == n).map_or(f64::NAN, |d| d.y.value)
    };
    let caption = format!(
        "The share of what true values would teach about the population that the reports keep. Its limit for many users is 1, but it gets there slowly: at \
         n = 500 it is {}. The asymptote is too low by {} at n = 125 and by {} at 500 (what it misses of I(Y;P) shrinks only like n to the power \
         −1/4), so it cannot replace the value.",
        rounded(at("exact", 500.0), 3),
        rounded(at("exact", 125.0) - at("asymptote", 125.0), 2),
        rounded(at("exact", 500.0) - at("asymptote", 500.0), 2),
    );
    let shown: Vec<Datum> =
        data.iter().filter(|d| d.series == "exact" || d.y.value >= 0.0).cloned().collect();
    let chart = Chart::new(
        "Utility at a finite number of users is far from its limit",
        Axis::new("number of users n", Scale::Logarithmic).between(1.0, 500.0),
        Axis::new("distribution utility U_distr", Scale::Linear).between(0.0, 1.0),
    )
    .under("GRR, a = 3, ε = 2, Jeffreys prior")
    .with(line(&shown, "exact"))
    .with(line(&shown, "asymptote"))
    .with(Series::line("limit", [(1.0, 1.0), (500.0, 1.0)]).as_reference())
    .saying(caption);
    Ok(Figure { name: "distribution-utility", chart, data })
}

/// Numbers of users at which the approximation is drawn, and those at which it is compared with sampled values.
const DRAWN: [u64; 17] =
    [1, 3, 10, 20, 32, 64, 100, 200, 320, 640, 1000, 2000, 3200, 10_000, 32_000, 100_000, 200_000];
const SAMPLED: [u64; 5] = [10, 100, 1000, 10_000, 32_000];

/// `U^digit` of OUE by the bridged approximation, by Monte Carlo, and by the asymptote.
pub(super) fn approximation(work: Work<'_>) -> Result<Figure> {
    let (protocol, prior) = (Protocol::oue(16, 1.0)?, Prior::jeffreys(16)?);
    let mut data = Vec::new();
    for (series, choice, users) in [
        ("approximation", Choice::Approximation, &DRAWN[..]),
        ("Monte Carlo", Choice::MonteCarlo, &SAMPLED),
        ("asymptote", Choice::Asymptote, &DRAWN),
    ] {
        let settings = Settings {
            tolerance: Some(if choice == Choice::MonteCarlo { 0.05 } else { 1e-4 }),
            choice,
            ..work.settings
        };
        let analysis = Work { settings, ..work }.analysis(&protocol, &prior)?;
        for &n in users {
            let y = evaluation(&analysis, Metric::DigitUtility, Some(n));
            data.push(Datum { series: series.into(), varied: ("n", n as f64), x: exactly(n as f64), y });
        }
    }
    let at = |series: &str, n: f64| {
        data.iter().find(|d| d.series == series && d.varied.1 == n).map_or(f64::NAN, |d| d.y.value)
    };
    let off = |n: &u64| (at("approximation", *n as f64) - at("Monte Carlo", *n as f64)).abs();
    let caption = format!(
        "Digits of each frequency that n reports teach. The approximation takes milliseconds and is within {} of the sampled values (points). The asymptote \
         is too low by {:.2} at n = 1000 and by {:.2} at 32 000: the prior is steep near the boundary of the simplex, and reports blur it.",
        rounded(SAMPLED.iter().map(off).fold(0.0, f64::max), 1),
        at("Monte Carlo", 1000.0) - at("asymptote", 1000.0),
        at("Monte Carlo", 32_000.0) - at("asymptote", 32_000.0),
    );
    let shown: Vec<Datum> =
        data.iter().filter(|d| d.series != "asymptote" || d.y.value >= 1.5).cloned().collect();
    let point = |d: &Datum| Point { x: d.x.value, y: d.y.value, ..Point::default() };
    let sampled = shown.iter().filter(|d| d.series == "Monte Carlo").map(point).collect();
    let chart = Chart::new(
        "The approximation meets the sampled values, the asymptote is far below",
        Axis::new("number of users n", Scale::Logarithmic).between(1.0, 2e5),
        Axis::new("digit utility U_digit", Scale::Linear),
    )
    .under("OUE, a = 16, ε = 1, Jeffreys prior")
    .with(line(&shown, "approximation"))
    .with(Series::new("Monte Carlo", Form::Marks, sampled))
    .with(line(&shown, "asymptote"))
    .saying(caption);
    Ok(Figure { name: "approximation", chart, data })
}

/// The parts of the information split: metric of the users, metric of the aggregator, name.
const PARTS: [(Metric, Metric, &str); 3] = [
    (Metric::UsersDistribution, Metric::AggregatorDistribution, "about the population"),
    (Metric::UsersGroup, Metric::AggregatorGroup, "about this group"),
    (Metric::UsersIndividual, Metric::AggregatorIndividual, "about who holds what"),
];

/// The information split of GRR at several `ε`, as stacked bars.
pub(super) fn information_split(work: Work<'_>) -> Result<Figure> {
    const N: u64 = 20;
    let epsilons = [4.0, 2.0, 1.0, 0.5];
    let prior = Prior::jeffreys(3)?;
    let mut rows = vec!["the users know".to_owned()];
    rows.extend(epsilons.map(|epsilon| format!("reports at ε = {epsilon}")));
    let mut data = Vec::new();
    for (position, epsilon) in [f64::INFINITY].into_iter().chain(epsilons).enumerate() {
        let protocol = if epsilon.is_finite() { Protocol::grr(3, epsilon)? } else { Protocol::identity(3)? };
        let analysis = work.analysis(&protocol, &prior)?;
        for (users, aggregator, name) in PARTS {
            let metric = if epsilon.is_finite() { aggregator } else { users };
            let x = evaluation(&analysis, metric, Some(N));
            data.push(Datum {
                series: name.into(),
                varied: ("epsilon", epsilon),
                x,
                y: exactly(position as f64),
            });
        }
    }
    let bars = |name: &str| {
        let point = |d: &Datum| Point {
            x: d.x.value,
            y: d.y.value,
            label: Some(rounded(d.x.value, 3)),
            ..Point::default()
        };
        Series::new(name, Form::Stacked, data.iter().filter(|d| d.series == name).map(point).collect())
    };
    let chart = Chart::new(
        "What 20 users know, and what their reports tell",
        Axis::new("nats", Scale::Linear),
        Axis::rows(rows),
    )
    .under("GRR, a = 3, Jeffreys prior, n = 20");
    let chart = PARTS.iter().fold(chart, |chart, (.., name)| chart.with(bars(name))).saying(
        "All that the users know splits into what it says about the population, about this group of users beyond that, and about who holds what. \
         Less ε shortens the private parts faster than the useful first one.",
    );
    Ok(Figure { name: "information-split", chart, data })
}
