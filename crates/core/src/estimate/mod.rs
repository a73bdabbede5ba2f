//! Point estimates of the frequencies, each with confidence intervals.
//!
//! ```text
//! reports → linear votes → LinearEstimate → post-processing (clip, Norm, Norm-Mul, Norm-Sub, Base-Cut)
//!         → likelihood   → MaximumLikelihood with a certificate
//!                        → posterior mean under a prior
//! ```
//!
//! ```
//! use sottovoce::estimate::{Estimation, Estimator, Reports};
//! use sottovoce::{Output, Protocol, Tallies};
//!
//! let survey = Protocol::matrix(vec![vec![5.0 / 6.0, 1.0 / 6.0], vec![1.0 / 6.0, 5.0 / 6.0]])?;
//! let tallies = Tallies::new(&survey, [(Output::Index(0), 1604), (Output::Index(1), 831)])?;
//! let estimation = Estimation::new(&survey, Reports::Tallies(tallies), 0.95)?;
//! let linear = estimation.estimate(Estimator::Linear)?;
//! let most_likely = estimation.estimate(Estimator::MaximumLikelihood)?;
//! assert!((linear.values[1] - 0.261_909_650_924_024_6).abs() < 1e-12);
//! assert!((linear.values[1] - most_likely.values[1]).abs() < 1e-6);
//! assert!(most_likely.certificate.unwrap().holds());
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod expectation_maximisation;
pub mod interval;
pub mod linear;
pub mod maximum_likelihood;
mod newton;
pub mod post_processing;
mod projected_gradient;
mod quadratic_program;
mod water_filling;

pub use crate::model::combination::Combination;
pub use crate::model::supports::{Reports, SupportRates, Supports};
pub use interval::{Interval, IntervalMethod};
pub use linear::{LeftInverse, LinearEstimate};
pub use maximum_likelihood::{Certificate, MaximumLikelihood};

use crate::model::error::{Error, Result, in_range};
pub use crate::model::estimator::Estimator;
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use crate::posterior::{self, Summary};
use interval::Measured;
use linear::smoothed;
use maximum_likelihood::{maximum_likelihood, scoring_step};
use post_processing::{base_cut, clip, clip_and_normalise, norm, norm_sub};

/// Default tolerance in nats of the search for the maximum of the likelihood.
pub const GAP: f64 = 1e-6;

/// Largest relative difference between two computations of the same variance.
const ROUNDING: f64 = 1e-6;

/// Estimated frequencies with intervals.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// How they were estimated.
    pub estimator: Estimator,
    /// The frequencies.
    pub values: Vec<f64>,
    /// Their standard errors, if the estimator has them; for the posterior mean, standard deviations of the
    /// posterior. Those of maximum likelihood are asymptotic, and at most ½: no estimate between 0 and 1 can
    /// have a larger standard deviation.
    pub standard_errors: Option<Vec<f64>>,
    /// Monte Carlo standard errors of the frequencies themselves, if they come from Markov chains.
    pub monte_carlo_errors: Option<Vec<f64>>,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// How the intervals were computed.
    pub interval_method: IntervalMethod,
    /// For maximum likelihood, how close to the maximum.
    pub certificate: Option<Certificate>,
}

/// Reports, prepared for estimation.
#[derive(Debug)]
pub struct Estimation<'a> {
    protocol: &'a Protocol,
    reports: Reports,
    level: f64,
    tolerance: f64,
    linear: LinearEstimate,
    prior: Prior,
}

impl<'a> Estimation<'a> {
    /// Estimation from these reports, with intervals of this level.
    ///
    /// # Errors
    /// There are no reports, the protocol is not faithful or too large, or the level is not between 0 and 1.
    pub fn new(protocol: &'a Protocol, reports: Reports, level: f64) -> Result<Self> {
        in_range("level", level, |v| v > 0.0 && v < 1.0, "between 0 and 1")?;
        let linear = LeftInverse::of(protocol)?.estimate(protocol, &reports)?;
        let prior = Prior::usual(protocol.inputs())?;
        Ok(Estimation { protocol, reports, level, tolerance: GAP, linear, prior })
    }

    /// Estimation from several collections of the same values. The linear estimate is a [weighted mean](LinearEstimate::of_collections);
    /// maximum likelihood and the posterior mean are those of all reports together.
    ///
    /// # Errors
    /// As for [`Estimation::new`].
    pub fn of_collections(collections: &'a Combination, level: f64) -> Result<Self> {
        in_range("level", level, |v| v > 0.0 && v < 1.0, "between 0 and 1")?;
        let linear = LinearEstimate::of_collections(collections)?;
        let (protocol, reports) = (&collections.protocol, collections.reports.clone());
        Ok(Estimation {
            protocol,
            reports,
            level,
            tolerance: GAP,
            linear,
            prior: Prior::usual(protocol.inputs())?,
        })
    }

    /// The same, with a prior other than [the usual one](Prior::usual) for the posterior mean.
    ///
    /// # Errors
    /// The prior has a different number of values.
    pub fn with_prior(self, prior: Prior) -> Result<Self> {
        let (prior_inputs, protocol) = (prior.inputs(), self.protocol.inputs());
        if prior_inputs != protocol {
            return Err(Error::PriorSize { prior: prior_inputs, protocol });
        }
        Ok(Estimation { prior, ..self })
    }

    /// The same, with a different tolerance in nats for the search for the maximum of the likelihood.
    ///
    /// # Errors
    /// The tolerance is not positive.
    pub fn with_tolerance(self, tolerance: f64) -> Result<Self> {
        in_range("tolerance", tolerance, |v| v > 0.0 && v.is_finite(), "a positive number")?;
        Ok(Estimation { tolerance, ..self })
    }

    /// The number of reports.
    pub fn n(&self) -> u64 {
        self.reports.n()
    }

    /// The linear estimate, with its covariance.
    pub fn linear(&self) -> &LinearEstimate {
        &self.linear
    }

    /// The frequencies according to one estimator.
    ///
    /// # Errors
    /// The estimator needs complete reports, or has nothing to work with.
    pub fn estimate(&self, estimator: Estimator) -> Result<Estimate> {
        match estimator {
            Estimator::Linear => Ok(self.unprocessed()),
            Estimator::MaximumLikelihood => self.most_likely(),
            Estimator::PosteriorMean => self.believed(),
            _ => Ok(self.carried(estimator, processed(estimator, &self.linear)?)),
        }
    }

    fn unprocessed(&self) -> Estimate {
        Estimate {
            estimator: Estimator::Linear,
            values: self.linear.values().to_vec(),
            standard_errors: Some(self.linear.standard_errors()),
            monte_carlo_errors: None,
            intervals: self.linear.intervals(self.level),
            interval_method: IntervalMethod::Score,
            certificate: None,
        }
    }

    /// Values with the intervals of the linear estimate.
    fn carried(&self, estimator: Estimator, values: Vec<f64>) -> Estimate {
        let intervals = self.linear.intervals_inside(self.level);
        Estimate {
            estimator,
            intervals: intervals.iter().zip(&values).map(|(i, p_x)| i.holding(*p_x)).collect(),
            values,
            standard_errors: None,
            monte_carlo_errors: None,
            interval_method: IntervalMethod::Carried,
            certificate: None,
        }
    }

    fn believed(&self) -> Result<Estimate> {
        let tail = 0.5 * (1.0 - self.level);
        let found = believed(self.protocol, &self.reports, &self.prior, vec![tail, 1.0 - tail], 0)?;
        let interval = |p: &Summary| Interval { low: p.quantiles[0].1, high: p.quantiles[1].1 };
        Ok(Estimate {
            estimator: Estimator::PosteriorMean,
            values: found.iter().map(|p| p.mean).collect(),
            standard_errors: Some(found.iter().map(|p| p.sd).collect()),
            monte_carlo_errors: (found.iter().any(|p| p.error > 0.0))
                .then(|| found.iter().map(|p| p.error).collect()),
            intervals: found.iter().map(interval).collect(),
            interval_method: IntervalMethod::Credible,
            certificate: None,
        })
    }

    fn most_likely(&self) -> Result<Estimate> {
        let MaximumLikelihood { values, certificate } =
            maximum_likelihood(self.protocol, &self.reports, self.linear.values(), self.tolerance)?;
        let (measured, interval_method) = self.informed(&values)?;
        let error = |(m, p_x): (&Measured, &f64)| m.standard_error(*p_x).min(0.5);
        let interval = |(m, p_x): (&Measured, &f64)| m.unified(self.level).holding(*p_x);
        Ok(Estimate {
            estimator: Estimator::MaximumLikelihood,
            standard_errors: Some(measured.iter().zip(&values).map(error).collect()),
            monte_carlo_errors: None,
            intervals: measured.iter().zip(&values).map(interval).collect(),
            interval_method,
            certificate: Some(certificate),
            values,
        })
    }

    /// One scoring step from the most likely frequencies, or the linear estimate where that is more precise.
    ///
    /// With the true information, no unbiased estimate has a smaller variance than its inverse. If the
    /// inverse information is larger than the variance of the linear estimate for any input, the information
    /// was observed in too few reports.
    fn informed(&self, most_likely: &[f64]) -> Result<(Vec<Measured>, IntervalMethod)> {
        // The step starts inside the simplex, with one more user for each value (Laplace's rule).
        let near = smoothed(most_likely, self.n() as f64, most_likely.len() as f64);
        let linear: Vec<Measured> = (0..near.len()).map(|x| self.linear.measured(x, &near)).collect();
        let Some(step) = scoring_step(self.protocol, &self.reports, &near)? else {
            return Ok((linear, IntervalMethod::Carried));
        };
        let share = |x: usize| step.variances[x] / linear[x].variance(near[x]);
        if !(0..near.len()).all(|x| share(x) > 0.0 && share(x) < 1.0 + ROUNDING) {
            return Ok((linear, IntervalMethod::Carried));
        }
        let informed = |x: usize| Measured { estimate: step.values[x], share: share(x), ..linear[x] };
        Ok(((0..near.len()).map(informed).collect(), IntervalMethod::Information))
    }
}

/// The marginals of the posterior.
///
/// # Errors
/// As for [`posterior::posterior`] and [`posterior::posterior_of_supports`].
pub(crate) fn believed(
    protocol: &Protocol,
    reports: &Reports,
    prior: &Prior,
    probabilities: Vec<f64>,
    seed: u64,
) -> Result<Vec<Summary>> {
    let options = posterior::PosteriorOptions {
        probabilities,
        draws: 0,
        seed,
        ..posterior::PosteriorOptions::default()
    };
    Ok(match reports {
        Reports::Tallies(tallies) => posterior::posterior(protocol, prior, tallies, &options)?.p,
        Reports::Supports(supports) => {
            posterior::posterior_of_supports(protocol, prior, supports, &options)?.p
        }
    })
}

/// The linear estimate after the post-processing of an estimator.
///
/// # Errors
/// As for [`clip_and_normalise`].
pub(crate) fn processed(estimator: Estimator, linear: &LinearEstimate) -> Result<Vec<f64>> {
    Ok(match estimator {
        Estimator::Linear | Estimator::MaximumLikelihood | Estimator::PosteriorMean => {
            linear.values().to_vec()
        }
        Estimator::Clip => clip(linear.values()),
        Estimator::Norm => norm(linear.values()),
        Estimator::ClipAndNormalise => clip_and_normalise(linear.values())?,
        Estimator::NormSub => norm_sub(linear.values()),
        Estimator::BaseCut => base_cut(linear.values(), &linear.standard_errors_of_nobody()),
    })
}
