//! Accuracy: how far estimated frequencies are off, on average over the reports.
//!
//! # Definition
//! ```text
//! Acc_{d,n,φ}(Q, φ̂) = E d(φ, φ̂(Y⃗))        [paper, Def. "d-accuracy"]
//! ```
//! for users whose values have distribution `φ`; at a given `φ`, on average over a prior, or at the worst `φ`. Smaller is better. It judges a protocol together with
//! an estimator.
//!
//! # Method and cost
//! The expected squared error of the linear estimate is a closed form, also on average over a Dirichlet prior and at the worst of all
//! distributions. Everything else is Monte Carlo with a standard error: collections are simulated, of unary encoding and
//! local hash without a single report where the estimator needs supports only. The worst distribution is then looked for among the corners
//! (all users hold the same value) and the uniform distribution.
//!
//! ```
//! use sottovoce::Protocol;
//! use sottovoce::accuracy::{Distance, Place, Settings, accuracy};
//! use sottovoce::estimate::Estimator;
//!
//! let oue = Protocol::oue(100, 1.0)?;
//! let found = accuracy(&oue, 10_000, Estimator::Linear, Distance::SquaredL2, Place::Worst, &Settings::default())?;
//! assert!((found.evaluation.value - 0.037_026).abs() < 1e-6); // close to 4 a e^ε/((e^ε − 1)² n)
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod distance;
mod simulation;
mod squared_error;

pub use distance::Distance;

use rayon::prelude::*;

use crate::error::{Error, Result, distribution, in_range};
use crate::estimate::{Estimator, SupportRates};
use crate::evaluation::{Evaluation, Method};
use crate::information::monte_carlo::generator;
use crate::prior::Prior;
use crate::protocol::Protocol;
use simulation::Simulation;
use squared_error::SquaredError;

/// Fewest and most simulated collections.
const DRAWS: (u64, u64) = (64, 1 << 16);

/// Elementary steps after which no more collections are simulated than the fewest.
const MOST_WORK: f64 = 5e10;

/// Most corners that are tried one by one.
const MOST_CORNERS: usize = 256;

/// Where the accuracy is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Users' values have this distribution.
    At(&'a [f64]),
    /// On average over what is believed about it.
    Prior(&'a Prior),
    /// The worst distribution.
    Worst,
}

/// Settings of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Wanted standard error, relative to the accuracy.
    pub tolerance: f64,
    /// Seed of all draws.
    pub seed: u64,
    /// What the posterior mean believes beforehand: unsaid, the prior of [`Place::Prior`], and Jeffreys' elsewhere.
    pub prior: Option<&'a Prior>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings { tolerance: 0.01, seed: 0, prior: None }
    }
}

/// An accuracy, and where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// The expected distance.
    pub evaluation: Evaluation,
    /// The worst distribution, where that was asked for.
    pub worst: Option<Vec<f64>>,
    /// Whether no distribution at all is worse; otherwise only the corners and the uniform one were tried.
    pub worst_of_all: bool,
    /// Simulated collections.
    pub draws: u64,
    /// Collections in which the search for the maximum of the likelihood did not reach its tolerance.
    pub uncertified: u64,
}

/// The accuracy of an estimator from `n` reports.
///
/// # Errors
/// The protocol is not faithful or too large, `n` is 0, the place is no distribution on its inputs, or the estimator finds nothing to work with in some
/// collections.
pub fn accuracy(
    protocol: &Protocol,
    n: u64,
    estimator: Estimator,
    distance: Distance,
    place: Place<'_>,
    settings: &Settings<'_>,
) -> Result<Accuracy> {
    in_range("tolerance", settings.tolerance, |t| t > 0.0 && t.is_finite(), "above 0 and finite")?;
    if n == 0 {
        return Err(Error::NoReports);
    }
    let p = match place {
        Place::At(p) => {
            protocol.check_distribution(p)?;
            Some(distribution("phi", p.to_vec())?)
        }
        Place::Prior(prior) => {
            protocol.check_distribution(&prior.mean())?;
            None
        }
        Place::Worst => None,
    };
    if (estimator, distance) == (Estimator::Linear, Distance::SquaredL2)
        && let Some(found) = closed_form(protocol, n, place)?
    {
        return Ok(found);
    }
    let believed = match (settings.prior, place) {
        (Some(prior), _) | (None, Place::Prior(prior)) => prior.clone(),
        _ => Prior::jeffreys(protocol.inputs())?,
    };
    let simulation = Simulation::new(protocol, estimator, n, believed)?;
    match (place, p) {
        (Place::Prior(prior), _) => {
            let draw = |rng: &mut rand_chacha::ChaCha8Rng| -> Vec<f64> {
                prior.sample_ln(rng).into_iter().map(f64::exp).collect()
            };
            mean(&simulation, distance, settings, &draw)
        }
        (_, Some(p)) => mean(&simulation, distance, settings, &|_| p.clone()),
        (_, None) => worst(protocol, estimator, &simulation, distance, settings),
    }
}

/// The expected squared error of the linear estimate; `None` on average over a prior of one's own.
fn closed_form(protocol: &Protocol, n: u64, place: Place<'_>) -> Result<Option<Accuracy>> {
    let error = SquaredError::new(protocol, n)?;
    let worst = error.worst();
    let value = match place {
        Place::At(p) => Some(error.at(p)),
        Place::Prior(prior) => error.over(prior),
        Place::Worst => Some(error.at(&worst)),
    };
    let everywhere = matches!(place, Place::Worst);
    Ok(value.map(|value| Accuracy {
        evaluation: Evaluation::closed_form(value, 4 * protocol.inputs().min(1 << 20) as u32),
        worst: everywhere.then_some(worst),
        worst_of_all: everywhere,
        draws: 0,
        uncertified: 0,
    }))
}

/// The mean distance over simulated collections, until its standard error is small enough.
fn mean(
    simulation: &Simulation<'_>,
    distance: Distance,
    settings: &Settings<'_>,
    truth: &(dyn Fn(&mut rand_chacha::ChaCha8Rng) -> Vec<f64> + Sync),
) -> Result<Accuracy> {
    let draw = |stream: u64| {
        let mut rng = generator(settings.seed, stream);
        let p = truth(&mut rng);
        let (estimate, certified) = simulation.estimate(&p, &mut rng)?;
        Ok((distance.between(&p, &estimate), certified))
    };
    let most = ((MOST_WORK / simulation.work()) as u64).clamp(DRAWS.0, DRAWS.1);
    let mut drawn: Vec<(f64, bool)> = Vec::new();
    loop {
        let start = drawn.len() as u64;
        let more = start.clamp(DRAWS.0, most.saturating_sub(start).max(DRAWS.0));
        drawn.extend((start..start + more).into_par_iter().map(draw).collect::<Result<Vec<_>>>()?);
        let count = drawn.len() as f64;
        let value = drawn.iter().map(|(d, _)| d).sum::<f64>() / count;
        let variance = drawn.iter().map(|(d, _)| (d - value).powi(2)).sum::<f64>() / (count - 1.0);
        let error = (variance / count).sqrt();
        if error <= settings.tolerance * value || drawn.len() as u64 >= most {
            return Ok(Accuracy {
                evaluation: Evaluation::new(value, error, Method::MonteCarlo),
                worst: None,
                worst_of_all: false,
                draws: drawn.len() as u64,
                uncertified: drawn.iter().filter(|(_, certified)| !certified).count() as u64,
            });
        }
    }
}

/// The worst of the corners and the uniform distribution. Where all inputs are treated alike, one corner stands for all.
fn worst(
    protocol: &Protocol,
    estimator: Estimator,
    simulation: &Simulation<'_>,
    distance: Distance,
    settings: &Settings<'_>,
) -> Result<Accuracy> {
    let a = protocol.inputs();
    let alike = SupportRates::of(protocol).is_some() && estimator != Estimator::PosteriorMean;
    let corners = if alike { 1 } else { a };
    if corners > MOST_CORNERS {
        let (entries, max) = (corners as u128, MOST_CORNERS as u128);
        return Err(Error::TooMuch { what: "the list of corners to try", entries, max });
    }
    let corner = |x: usize| (0..a).map(|z| f64::from(u8::from(x == z))).collect::<Vec<f64>>();
    let mut worst: Option<Accuracy> = None;
    for p in (0..corners).map(corner).chain([vec![1.0 / a as f64; a]]) {
        let found = mean(simulation, distance, settings, &|_| p.clone())?;
        if worst.as_ref().is_none_or(|w| found.evaluation.value > w.evaluation.value) {
            worst = Some(Accuracy { worst: Some(p), ..found });
        }
    }
    worst.ok_or(Error::NoReports)
}
