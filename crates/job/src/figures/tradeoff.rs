//! Utility against privacy at `a = 3`, along `ε` [paper, Fig. "privacy-utility tradeoff"].

use sottovoce::{Evaluation, Metric, Prior};
use sottovoce_chart::{Annotation, Axis, Chart, Scale};

use super::{Datum, Figure, Kind, PROTOCOLS, Work, evaluation, line};
use crate::error::Result;

/// Values of `ε`: close enough for smooth curves, as far as the curves move, and among them the round ones that people look up.
fn epsilons() -> Vec<f64> {
    let round = [0.05, 0.2, 0.4, 0.8, 1.0, 1.2, 1.6, 2.4, 3.2, 4.5, 6.0, 8.0, 12.0];
    let mut values: Vec<f64> = (0..=60).map(|i| 0.02 * (20f64 / 0.02).powf(f64::from(i) / 60.0)).collect();
    values.extend(round);
    values.sort_by(f64::total_cmp);
    values
}

fn data(privacy: Metric, work: Work<'_>) -> Result<Vec<Datum>> {
    let mut data = Vec::new();
    for (name, kind) in PROTOCOLS {
        for epsilon in epsilons() {
            let [x, y] = at(kind, epsilon, [privacy, Metric::EffectiveParticipation], work)?;
            data.push(Datum { series: name.into(), varied: ("epsilon", epsilon), x, y });
        }
    }
    Ok(data)
}

/// Some metrics of a protocol on three values.
fn at<const N: usize>(
    kind: Kind,
    epsilon: f64,
    metrics: [Metric; N],
    work: Work<'_>,
) -> Result<[Evaluation; N]> {
    let (protocol, prior) = (kind(3, epsilon)?, Prior::jeffreys(3)?);
    let analysis = work.analysis(&protocol, &prior)?;
    Ok(metrics.map(|metric| evaluation(&analysis, metric, None)))
}

/// The curves of the usual protocols.
pub(super) fn chart(title: &str, label: &str, data: &[Datum]) -> Chart {
    let chart = Chart::new(
        title,
        Axis::new(label, Scale::SquareRoot).between(0.0, 1.0),
        Axis::new("effective participation F_mu", Scale::SquareRoot).between(0.0, 1.0),
    )
    .under("a = 3, Jeffreys prior, ε from 0.02 to 20; square-root axes");
    PROTOCOLS.iter().fold(chart, |chart, (name, _)| chart.with(line(data, name)))
}

/// `F_μ` against `S_μ`.
pub(super) fn by_average_privacy(work: Work<'_>) -> Result<Figure> {
    let data = data(Metric::AveragePrivacy, work)?;
    let (privacy, participation) = crossing(work)?;
    let chart = chart("The best protocol at a level of average privacy", "average privacy S_mu", &data)
        .remarking(Annotation::Mark {
            x: privacy,
            y: participation,
            label: format!("GRR best above {privacy:.4}"),
        })
        .remarking(Annotation::Vertical { x: 0.5, label: "OUE ends at 0.5".into() })
        .saying(format!(
            "At high average privacy, above S_mu = {privacy:.4}, GRR teaches most (by about 3 % at most, too little to see; the paper's text names OUE there). \
             From there down to S_mu = 0.5, where OUE ends, OUE is best; below it RAPPOR is, since OUE and BLH hide at least half however large ε is."
        ));
    Ok(Figure { name: "tradeoff-average-privacy", chart, data })
}

/// `F_μ` against `S^wc`.
pub(super) fn by_worst_case_privacy(work: Work<'_>) -> Result<Figure> {
    let data = data(Metric::WorstCasePrivacy, work)?;
    let chart = chart("The best protocol at a level of worst-case privacy", "worst-case privacy S^wc", &data).saying(
        "For three values and a given worst-case privacy (a given ε), GRR teaches most at every level. This is special to few values: from five values on, \
         unary encodings are better at small ε.",
    );
    Ok(Figure { name: "tradeoff-worst-case-privacy", chart, data })
}

/// Where GRR and OUE teach equally much at the same average privacy: `S_μ` and `F_μ` there.
fn crossing(work: Work<'_>) -> Result<(f64, f64)> {
    let participation = |kind: Kind, privacy: f64| -> Result<f64> {
        let (mut low, mut high) = (0.1f64, 5.0f64);
        // Fifty halvings of the bracket exceed the digits of a double.
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            let [found] = at(kind, middle, [Metric::AveragePrivacy], work)?.map(|e| e.value);
            if found > privacy { low = middle } else { high = middle }
        }
        Ok(at(kind, low, [Metric::EffectiveParticipation], work)?[0].value)
    };
    let ahead = |privacy: f64| -> Result<f64> {
        Ok(participation(PROTOCOLS[0].1, privacy)? - participation(PROTOCOLS[2].1, privacy)?)
    };
    let (mut low, mut high) = (0.85, 0.97);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if ahead(middle)? > 0.0 { high = middle } else { low = middle }
    }
    Ok((low, participation(PROTOCOLS[0].1, low)?))
}
