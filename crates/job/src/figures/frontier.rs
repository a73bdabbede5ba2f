//! The best that any protocol reaches at a level of average privacy, above the curves of the usual ones.

use sottovoce::{Evaluation, Prior};
use sottovoce_chart::{Annotation, Series};

use super::{Datum, Figure, Work, exactly, line, tradeoff};
use crate::design::{Axis, FrontierJob, FrontierPoint};
use crate::error::Result;
use crate::render::number::rounded;
use crate::spec::PriorSpec;

/// The LDP level of the second curve.
const EPSILON: f64 = 2.0;

/// Levels of average privacy: 0.05, 0.1, …, 0.95.
const POINTS: usize = 19;

/// The names of the two curves.
const ANY: &str = "optimum";
const LIMITED: &str = "optimum, LDP ≤ 2";

/// `F_μ` against `S_μ` with the optimal frontier; `curves` are the data of the usual protocols.
pub(super) fn by_average_privacy(curves: &[Datum], work: Work<'_>) -> Result<Figure> {
    let mut data = curves.to_vec();
    data.extend(optimum(ANY, None, work)?);
    data.extend(optimum(LIMITED, Some(EPSILON), work)?);
    let at = |series: &str, privacy: f64| {
        let same = |d: &&Datum| d.series == series && (d.varied.1 - privacy).abs() < 1e-9;
        data.iter().find(same).map_or(f64::NAN, |d| d.y.value)
    };
    let gain = at(LIMITED, 0.8) / at(ANY, 0.8);
    let places = |series: &str| {
        data.iter().filter(|d| d.series == series).map(|d| (d.x.value, d.y.value)).collect::<Vec<_>>()
    };
    let chart = tradeoff::chart("How far the usual protocols are from the best", "average privacy S_mu", curves)
        .with(line(&data, LIMITED))
        .with(Series::line(ANY, places(ANY)).as_reference())
        .remarking(Annotation::Mark { x: 0.8, y: at(ANY, 0.8), label: "erasure: the whole truth about some".into() })
        .saying(format!(
            "The dashed line is the best that any protocol reaches at a level of average privacy, F_mu = 1 − S_mu, and it is a warning: erasure reaches it, which tells the whole truth about some users and \
             nothing about the others. With LDP at most {EPSILON} as well, so that everybody is protected, the best at S_mu = 0.8 keeps {} % of that. Both are certified to \
             within what the data say.",
            rounded(100.0 * gain, 2)
        ));
    Ok(Figure { name: "frontier-average-privacy", chart, data })
}

/// The largest `F_μ` at each level; its error is how much better another protocol may be.
fn optimum(series: &str, epsilon: Option<f64>, work: Work<'_>) -> Result<Vec<Datum>> {
    let (prior_spec, prior) = (PriorSpec::Jeffreys, Prior::jeffreys(3)?);
    let job = FrontierJob {
        axis: Axis::Average,
        epsilon,
        prior_spec,
        prior,
        points: POINTS,
        settings: work.settings,
    };
    let datum = |point: &FrontierPoint| {
        let Evaluation { value, error, method, .. } = point.participation.optimum;
        Datum {
            series: series.into(),
            varied: ("s_mu", point.privacy),
            x: exactly(point.privacy),
            y: Evaluation::new(value, error + point.gap, method),
        }
    };
    Ok(job.run(work.observer)?.points.iter().map(datum).collect())
}
