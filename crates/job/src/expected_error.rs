//! How far estimated frequencies are off on average over the prior: what `users`, `choose` and `compare` mean by an error.
//!
//! The expected error is the paper's d-accuracy, on average over the prior. Where nothing else is said it is the typical error of one value's share, the
//! root of the mean square, of the linear estimate: a closed form.

use std::ops::ControlFlow;

use sottovoce::accuracy::{self, Distance, Place, accuracy};
use sottovoce::estimate::Estimator;
use sottovoce::information::Progress;
use sottovoce::metric::{Absence, Answer, Settings, Sought, Step, Watcher};
use sottovoce::stop::caught;
use sottovoce::{Prior, Protocol};

use crate::error::{Error, Result};

/// How errors are measured, and of which estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorMeasure {
    /// How errors are measured.
    pub distance: Distance,
    /// The estimator.
    pub estimator: Estimator,
}

impl Default for ErrorMeasure {
    fn default() -> Self {
        ErrorMeasure { distance: Distance::RootMeanSquare, estimator: Estimator::Linear }
    }
}

impl ErrorMeasure {
    /// A measure by names; unnamed, they are `rms` and `linear`.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn named(distance: Option<&str>, estimator: Option<&str>) -> Result<Self> {
        let default = ErrorMeasure::default();
        Ok(ErrorMeasure {
            distance: distance.map_or(Ok(default.distance), crate::accuracy::distance)?,
            estimator: estimator.map_or(Ok(default.estimator), crate::estimate::estimator)?,
        })
    }

    /// The power of `1/n` with which the error falls.
    pub(crate) fn decay(self) -> f64 {
        if self.distance == Distance::SquaredL2 { 1.0 } else { 0.5 }
    }

    /// Whether it needs no simulation.
    pub(crate) fn is_closed_form(self) -> bool {
        let squared = matches!(self.distance, Distance::SquaredL2 | Distance::RootMeanSquare);
        squared && self.estimator == Estimator::Linear
    }
}

/// How far estimated frequencies may be off on average over the prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedError {
    /// How errors are measured.
    pub measure: ErrorMeasure,
    /// The largest expected error.
    pub most: f64,
}

impl ExpectedError {
    /// An error whose distance and estimator are named; unnamed, they are `rms` and `linear`.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn named(distance: Option<&str>, estimator: Option<&str>, most: f64) -> Result<Self> {
        Ok(ExpectedError { measure: ErrorMeasure::named(distance, estimator)?, most })
    }

    pub(crate) fn check(self) -> Result<()> {
        if self.most > 0.0 && self.most < 1.0 {
            return Ok(());
        }
        let allowed = "above 0 and below 1; write 0.01 or 1% for one percentage point";
        Err(Error::Setting { name: "accuracy", value: self.most.to_string(), allowed })
    }
}

/// The expected error of a protocol as a function of the number of users.
#[derive(Clone, Copy)]
pub(crate) struct ErrorCurve<'a> {
    pub protocol: &'a Protocol,
    pub prior: &'a Prior,
    pub measure: ErrorMeasure,
    /// Tolerance, relative to the error, and seed of simulations.
    pub settings: Settings,
    /// Hears of an error before it is begun and while it is found, and may end it.
    pub watcher: Option<Watcher<'a>>,
}

impl ErrorCurve<'_> {
    /// The expected error at a number of users.
    pub(crate) fn at(&self, n: u64) -> Answer {
        let sought = Sought::Error(self.measure.estimator);
        let hear = |progress: &Progress| match self.watcher {
            Some(watcher) => watcher(&Step { sought, users: n, progress: *progress }),
            None => ControlFlow::Continue(()),
        };
        if !self.measure.is_closed_form() && hear(&Progress::BEGUN).is_break() {
            return Answer::from(Err(Absence::Stopped));
        }
        let tolerance = self.settings.tolerance.unwrap_or(accuracy::AccuracyOptions::default().tolerance);
        let (seed, prior) = (self.settings.seed, Some(self.prior));
        let settings = accuracy::AccuracyOptions { tolerance, seed, prior, observer: Some(&hear) };
        let ErrorMeasure { distance, estimator } = self.measure;
        let place = Place::Prior(self.prior);
        let found = caught(|| accuracy(self.protocol, n, estimator, distance, place, &settings));
        let Ok(found) = found else { return Answer::from(Err(Absence::Stopped)) };
        Answer::from(found.map(|found| found.evaluation).map_err(Absence::Failed))
    }
}
