//! Accuracy: the expected error of estimated frequencies over random reports.
//!
//! # Definition
//! ```text
//! Acc_{d,n,φ}(Q, φ̂) = E d(φ, φ̂(Y⃗))        [paper, Def. "d-accuracy"]
//! ```
//! for users whose values have distribution `φ`; at a given `φ`, averaged over a prior, or at the worst `φ`.
//! Smaller is better. It measures a protocol together with an estimator.
//!
//! # Method and cost
//! The expected squared error of the linear estimate has a closed form, also averaged over a Dirichlet prior
//! and at the worst of all distributions. Everything else is Monte Carlo with a standard error over simulated
//! collections. For unary encoding, local hash and subset selection no individual reports are simulated if
//! the estimator needs only supports. The worst distribution is then searched among the corners (all users
//! hold the same value) and the uniform distribution.
//!
//! ```
//! use sottovoce::Protocol;
//! use sottovoce::accuracy::{Distance, Place, AccuracyOptions, accuracy};
//! use sottovoce::estimate::Estimator;
//!
//! let oue = Protocol::oue(100, 1.0)?;
//! let found = accuracy(&oue, 10_000, Estimator::Linear, Distance::SquaredL2, Place::Worst, &AccuracyOptions::default())?;
//! assert!((found.evaluation.value - 0.037_026).abs() < 1e-6); // close to 4 a e^ε/((e^ε − 1)² n)
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod distance;
mod sets;
mod simulation;
mod squared_error;

pub use distance::Distance;
pub use simulation::check_size;

use chacha20::ChaCha8Rng;

use crate::estimate::{Estimator, SupportRates};
use crate::information::monte_carlo::{Source, draw_round};
use crate::information::{Sampling, SamplingObserver};
use crate::model::error::{Error, Result, distribution, in_range};
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use crate::numerics::stop::{Stopped, caught, check};
use simulation::Simulation;
use squared_error::SquaredError;

/// Smallest and largest number of simulated collections.
const DRAWS: (u64, u64) = (64, 1 << 16);

/// Elementary steps beyond which only the smallest number of collections is simulated.
const MOST_WORK: f64 = 5e10;

/// Largest number of corners that are tried one by one.
const MOST_CORNERS: usize = 256;

/// At which distribution the accuracy is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// At this distribution of the users' values.
    At(&'a [f64]),
    /// Averaged over a prior.
    Prior(&'a Prior),
    /// At the worst distribution.
    Worst,
}

/// Options of the simulation.
#[derive(Clone, Copy)]
pub struct AccuracyOptions<'a> {
    /// Target standard error, relative to the accuracy.
    pub tolerance: f64,
    /// Seed of all draws.
    pub seed: u64,
    /// The prior of the posterior mean: by default that of [`Place::Prior`], and Jeffreys' prior for the
    /// other places.
    pub prior: Option<&'a Prior>,
    /// Is told about progress, and may end the simulation with its best estimate so far.
    pub observer: Option<SamplingObserver<'a>>,
}

impl Default for AccuracyOptions<'_> {
    fn default() -> Self {
        AccuracyOptions { tolerance: 0.01, seed: 0, prior: None, observer: None }
    }
}

/// An accuracy, and where it was attained.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// The expected distance.
    pub evaluation: Evaluation,
    /// The worst distribution, if requested.
    pub worst: Option<Vec<f64>>,
    /// Whether no distribution at all is worse; otherwise only the corners and the uniform one were tried.
    pub worst_of_all: bool,
    /// Number of simulated collections.
    pub draws: u64,
    /// Collections in which the likelihood maximisation did not reach its tolerance.
    pub uncertified: u64,
}

/// The accuracy of an estimator from `n` reports.
///
/// # Errors
/// The protocol is not faithful or too large, `n` is 0, the place is not a distribution on its inputs, the
/// estimator has nothing to work with in some collections, or the observer stopped the search for the worst
/// distribution.
pub fn accuracy(
    protocol: &Protocol,
    n: u64,
    estimator: Estimator,
    distance: Distance,
    place: Place<'_>,
    settings: &AccuracyOptions<'_>,
) -> Result<Accuracy> {
    let mut found = accuracies(protocol, n, estimator, &[distance], place, settings)?;
    found.pop().unwrap_or(Err(Error::Empty { name: "distances" }))
}

/// The accuracies for several distances, from the same simulated collections: the estimates dominate the
/// cost. Some may exist where others do not, since the squared error of the linear estimate needs no
/// collection.
///
/// # Errors
/// `n` is 0, the place has a different number of inputs, or an option is out of range; each accuracy as for
/// [`accuracy`].
pub fn accuracies(
    protocol: &Protocol,
    n: u64,
    estimator: Estimator,
    distances: &[Distance],
    place: Place<'_>,
    settings: &AccuracyOptions<'_>,
) -> Result<Vec<Result<Accuracy>>> {
    in_range("tolerance", settings.tolerance, |t| t > 0.0 && t.is_finite(), "above 0 and finite")?;
    if n == 0 {
        return Err(Error::NoReports);
    }
    match place {
        Place::At(p) => protocol.check_distribution(p)?,
        Place::Prior(prior) => protocol.check_distribution(&prior.mean())?,
        Place::Worst => {}
    }
    let measured: Vec<Distance> = distances.iter().map(|distance| distance.measured()).collect();
    let linear = estimator == Estimator::Linear && measured.contains(&Distance::SquaredL2);
    let closed = if linear { closed_form(protocol, n, place)? } else { None };
    let is_closed = |distance: &Distance| closed.is_some() && *distance == Distance::SquaredL2;
    let others: Vec<Distance> = measured.iter().copied().filter(|distance| !is_closed(distance)).collect();
    let simulated = match others.is_empty() {
        true => Ok(Vec::new()),
        false => simulated(protocol, n, estimator, &others, place, settings),
    };
    let answer = |distance: &Distance| match (&closed, &simulated) {
        (Some(found), _) if is_closed(distance) => Ok(found.clone()),
        (_, Err(error)) => Err(error.clone()),
        (_, Ok(found)) => {
            // Unwrap safety: every distance without a closed form is among the others, and each of these has
            // its answer.
            Ok(found[others.iter().position(|other| other == distance).unwrap()].clone())
        }
    };
    let rooted = |(distance, measured): (&Distance, &Distance)| {
        answer(measured)
            .map(|found| if distance == measured { found } else { found.rooted(protocol.inputs()) })
    };
    Ok(distances.iter().zip(&measured).map(rooted).collect())
}

impl Accuracy {
    /// The root mean square over the inputs, from the expected sum of squares.
    fn rooted(self, inputs: usize) -> Self {
        let Evaluation { value, error, method } = self.evaluation;
        let root = (value / inputs as f64).sqrt();
        // The relative error of a root is half that of its square.
        let error = if value > 0.0 { 0.5 * root * error / value } else { (error / inputs as f64).sqrt() };
        Accuracy { evaluation: Evaluation::new(root, error, method), ..self }
    }
}

/// The expected squared error of the linear estimate; `None` averaged over a custom prior.
fn closed_form(protocol: &Protocol, n: u64, place: Place<'_>) -> Result<Option<Accuracy>> {
    let error = SquaredError::new(protocol, n)?;
    let worst = error.worst();
    let value = match place {
        Place::At(p) => Some(error.at(&distribution("phi", p.to_vec())?)),
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

/// The accuracies from simulated collections.
fn simulated(
    protocol: &Protocol,
    n: u64,
    estimator: Estimator,
    distances: &[Distance],
    place: Place<'_>,
    settings: &AccuracyOptions<'_>,
) -> Result<Vec<Accuracy>> {
    let believed = match (settings.prior, place) {
        (Some(prior), _) | (None, Place::Prior(prior)) => prior.clone(),
        _ => Prior::jeffreys(protocol.inputs())?,
    };
    let simulation = Simulation::new(protocol, estimator, n, believed)?;
    let found = match place {
        Place::Prior(prior) => {
            let draw = |rng: &mut ChaCha8Rng| prior.sample_ln(rng).into_iter().map(f64::exp).collect();
            means(&simulation, distances, settings, &draw)
        }
        Place::At(p) => {
            let p = distribution("phi", p.to_vec())?;
            means(&simulation, distances, settings, &|_| p.clone())
        }
        Place::Worst => return worst(protocol, estimator, &simulation, distances, settings),
    };
    found.map(|found| found.accuracies)
}

/// The result of one collection: the error of the estimate in each distance, and whether the estimate is
/// certified.
type Collection = (Vec<f64>, bool);

/// Mean distances over simulated collections.
struct Means {
    accuracies: Vec<Accuracy>,
    /// Whether the observer stopped before the errors were small enough.
    stopped: bool,
}

/// The mean distances over simulated collections, until their standard errors are small enough.
fn means(
    simulation: &Simulation<'_>,
    distances: &[Distance],
    settings: &AccuracyOptions<'_>,
    truth: &(dyn Fn(&mut ChaCha8Rng) -> Vec<f64> + Sync),
) -> Result<Means> {
    let draw = |rng: &mut ChaCha8Rng| -> Result<Collection> {
        let p = truth(rng);
        let (estimate, certified) = simulation.estimate(&p, rng)?;
        Ok((distances.iter().map(|distance| distance.between(&p, &estimate)).collect(), certified))
    };
    let most = ((MOST_WORK / simulation.work()) as u64).clamp(DRAWS.0, DRAWS.1);
    let mut drawn: Vec<Result<Collection>> = Vec::new();
    let mut progress = Sampling::BEGUN;
    let mut accuracies: Vec<Accuracy> = Vec::new();
    // Two are enough, since one collection may need its own chains and the error of few is widened.
    let source = Source { seed: settings.seed, observer: settings.observer, fewest: 2 };
    loop {
        let start = drawn.len() as u64;
        let more = start.clamp(DRAWS.0, most.saturating_sub(start).max(DRAWS.0));
        let complete = caught(|| draw_round(&mut drawn, more, &source, &progress, &draw));
        let broken = match complete {
            Ok(broken) => broken,
            // Only complete rounds count: in an incomplete round the quick draws would be over-represented.
            Err(Stopped) if start > 0 => return Ok(Means { accuracies, stopped: true }),
            Err(Stopped) => return Err(Error::Stopped),
        };
        let collections: Vec<&Collection> =
            drawn.iter().map(|drawn| drawn.as_ref().map_err(Clone::clone)).collect::<Result<_>>()?;
        accuracies = (0..distances.len()).map(|d| mean(&collections, d)).collect();
        progress = least_known(&accuracies, settings.tolerance);
        let stopped = broken || settings.observer.is_some_and(|observer| observer(&progress).is_break());
        if stopped || progress.error <= progress.tolerance || drawn.len() as u64 >= most {
            return Ok(Means { accuracies, stopped });
        }
    }
}

/// Factor by which the standard error of 2, 3, … draws is widened: this many standard errors hold 68.3 % of
/// Student's law.
const STUDENT: [f64; 7] = [1.837, 1.321, 1.197, 1.142, 1.111, 1.091, 1.077];

/// The mean of distance number `number`, with its standard error.
fn mean(collections: &[&Collection], number: usize) -> Accuracy {
    let count = collections.len() as f64;
    let value = collections.iter().map(|(d, _)| d[number]).sum::<f64>() / count;
    let variance = collections.iter().map(|(d, _)| (d[number] - value).powi(2)).sum::<f64>() / (count - 1.0);
    let widened = STUDENT.get(collections.len() - 2).unwrap_or(&1.0);
    Accuracy {
        evaluation: Evaluation::new(value, widened * (variance / count).sqrt(), Method::MonteCarlo),
        worst: None,
        worst_of_all: false,
        draws: collections.len() as u64,
        uncertified: collections.iter().filter(|(_, certified)| !certified).count() as u64,
    }
}

/// The accuracy with the largest relative error.
fn least_known(accuracies: &[Accuracy], tolerance: f64) -> Sampling {
    let relative = |found: &&Accuracy| found.evaluation.error / found.evaluation.value.max(f64::MIN_POSITIVE);
    let worst = accuracies.iter().max_by(|l, r| relative(l).total_cmp(&relative(r)));
    worst.map_or(Sampling { error: 0.0, tolerance, ..Sampling::BEGUN }, |found| Sampling {
        draws: found.draws,
        assessed: found.draws,
        value: found.evaluation.value,
        error: found.evaluation.error,
        tolerance: tolerance * found.evaluation.value,
    })
}

/// The worst of the corners and the uniform distribution, for each distance. If all inputs are treated alike,
/// one corner stands for all.
fn worst(
    protocol: &Protocol,
    estimator: Estimator,
    simulation: &Simulation<'_>,
    distances: &[Distance],
    settings: &AccuracyOptions<'_>,
) -> Result<Vec<Accuracy>> {
    let a = protocol.inputs();
    let alike = SupportRates::of(protocol).is_some() && estimator != Estimator::PosteriorMean;
    let corners = if alike { 1 } else { a };
    if corners > MOST_CORNERS {
        let (entries, max) = (corners as u128, MOST_CORNERS as u128);
        return Err(Error::TooMuch { what: "the list of corners to try", entries, max });
    }
    let corner = |x: usize| (0..a).map(|z| f64::from(u8::from(x == z))).collect::<Vec<f64>>();
    let mut worst: Vec<Accuracy> = Vec::new();
    for (tried, p) in (0..corners).map(corner).chain([vec![1.0 / a as f64; a]]).enumerate() {
        check();
        let Means { accuracies, stopped } = means(simulation, distances, settings, &|_| p.clone())?;
        if stopped && tried < corners {
            return Err(Error::WorstUnknown { tried: tried + 1, places: corners + 1 });
        }
        let found: Vec<Accuracy> =
            accuracies.into_iter().map(|found| Accuracy { worst: Some(p.clone()), ..found }).collect();
        if worst.is_empty() {
            worst = found;
            continue;
        }
        for (worst, found) in worst.iter_mut().zip(found) {
            if found.evaluation.value > worst.evaluation.value {
                *worst = found;
            }
        }
    }
    Ok(worst)
}
