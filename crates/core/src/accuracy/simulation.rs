//! Simulated collections: reports of `n` users whose values have a given distribution.

use chacha20::ChaCha8Rng;
use rand::RngExt;

use super::sets;
use crate::estimate::maximum_likelihood::maximum_likelihood;
use crate::estimate::{Estimator, LeftInverse, Reports, SupportRates, Supports, believed, processed};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use crate::model::tallies::Tallies;
use crate::numerics::random::{binomial, multinomial};
use crate::numerics::stop::check;

/// The gap in nats to which simulated likelihoods are maximised: far too small to affect an error that is
/// known to a percent.
const GAP: f64 = 1e-3;

/// Largest size (users times inputs) of a simulated collection whose posterior is computed: a few seconds for
/// chains.
const MAX_BELIEVED: u128 = 1 << 20;

/// Largest size (users times inputs) of a simulated collection of complete reports.
const MAX_NUMBERS: u128 = 1 << 30;

/// Largest number of outputs that are counted one by one.
const MAX_OUTPUTS: u64 = 1 << 16;

/// Rejects posterior means of simulated collections whose chains would take too long.
///
/// # Errors
/// [`Error::TooMuch`].
pub fn check_size(estimator: Estimator, inputs: usize, n: u64) -> Result<()> {
    let entries = u128::from(n) * inputs as u128;
    if estimator == Estimator::PosteriorMean && entries > MAX_BELIEVED {
        let what = "a simulated collection whose posterior mean is wanted";
        return Err(Error::TooMuch { what, entries, max: MAX_BELIEVED });
    }
    Ok(())
}

/// How reports of a protocol are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrawnAs {
    /// The number of reports that support each input, by one multinomial draw: a report supports at most one
    /// input.
    Disjoint,
    /// The number of reports that support each input: given the values, the bits are independent, so two
    /// binomial draws per input suffice.
    Bits,
    /// The number of reports that support each input: all sets are drawn at once, input after input
    /// ([`sets`](super::sets)).
    Sets,
    /// The count of each output, by one multinomial draw.
    Outputs,
    /// One user after another.
    Users,
}

/// Draws collections and estimates from them.
#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    protocol: &'a Protocol,
    estimator: Estimator,
    n: u64,
    inverse: LeftInverse,
    drawn_as: DrawnAs,
    prior: Prior,
}

impl<'a> Simulation<'a> {
    /// Collections of `n` users.
    ///
    /// # Errors
    /// The protocol is not faithful, or too large to be simulated.
    pub(crate) fn new(protocol: &'a Protocol, estimator: Estimator, n: u64, prior: Prior) -> Result<Self> {
        let whole = matches!(estimator, Estimator::MaximumLikelihood | Estimator::PosteriorMean);
        let drawn_as = match protocol {
            // Fewer outputs than users: draw the counts of all outputs at once.
            _ if whole && protocol.countable_outputs(1).is_ok_and(|b| b as u64 <= n.min(MAX_OUTPUTS)) => {
                DrawnAs::Outputs
            }
            Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_) if whole => {
                DrawnAs::Users
            }
            Protocol::Block(_) => DrawnAs::Outputs,
            Protocol::SubsetSelection(_) => DrawnAs::Sets,
            Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) => DrawnAs::Bits,
            other if SupportRates::of(other).is_some() && estimator != Estimator::PosteriorMean => {
                DrawnAs::Disjoint
            }
            other if other.countable_outputs(1).is_ok_and(|b| b as u64 <= MAX_OUTPUTS) => DrawnAs::Outputs,
            _ => DrawnAs::Users,
        };
        let simulation =
            Simulation { protocol, estimator, n, inverse: LeftInverse::of(protocol)?, drawn_as, prior };
        let (entries, max) = (u128::from(n) * protocol.inputs() as u128, MAX_NUMBERS);
        if drawn_as == DrawnAs::Users && entries > max {
            return Err(Error::TooMuch { what: "a simulated collection of whole reports", entries, max });
        }
        check_size(estimator, protocol.inputs(), n)?;
        Ok(simulation)
    }

    /// Approximate number of elementary steps per collection.
    pub(crate) fn work(&self) -> f64 {
        let (a, n) = (self.protocol.inputs() as f64, self.n as f64);
        let drawing = match self.drawn_as {
            DrawnAs::Disjoint | DrawnAs::Bits => 50.0 * a,
            DrawnAs::Sets => 150.0 * a * a,
            // The outputs of a block design take one transform.
            DrawnAs::Outputs if matches!(self.protocol, Protocol::Block(_)) => {
                self.protocol.outputs().map_or(0.0, |v| v as f64) * 250.0
            }
            DrawnAs::Outputs => self.protocol.outputs().map_or(0.0, |b| b as f64) * (50.0 + a),
            DrawnAs::Users => 10.0 * n * a,
        };
        let estimating = match self.estimator {
            Estimator::MaximumLikelihood if self.drawn_as != DrawnAs::Disjoint => {
                20.0 * a.powi(3) + n.min(1e5) * a * a
            }
            Estimator::PosteriorMean => 1e6 * a + 1e3 * n * a,
            _ => 10.0 * a,
        };
        drawing + estimating
    }

    /// The estimate from one collection, and whether it is certified.
    ///
    /// # Errors
    /// The estimator has nothing to work with.
    pub(crate) fn estimate(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<(Vec<f64>, bool)> {
        let reports = self.reports(p, rng)?;
        let linear = self.inverse.estimate(self.protocol, &reports)?;
        match self.estimator {
            Estimator::MaximumLikelihood => {
                let found = maximum_likelihood(self.protocol, &reports, linear.values(), GAP)?;
                Ok((found.values, found.certificate.holds()))
            }
            Estimator::PosteriorMean => {
                let found = believed(self.protocol, &reports, &self.prior, vec![], rng.random())?;
                Ok((found.iter().map(|p| p.mean).collect(), true))
            }
            other => Ok((processed(other, &linear)?, true)),
        }
    }

    fn reports(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<Reports> {
        match self.drawn_as {
            DrawnAs::Disjoint => self.disjoint(p, rng).map(Reports::Supports),
            DrawnAs::Bits => self.bits(p, rng).map(Reports::Supports),
            DrawnAs::Sets => self.sets(p, rng).map(Reports::Supports),
            DrawnAs::Outputs => {
                let counts = multinomial(self.n, &self.protocol.push_forward(p)?, rng);
                let counts =
                    counts.into_iter().enumerate().map(|(row, count)| (self.protocol.output(row), count));
                Tallies::new(self.protocol, counts.filter(|(_, count)| *count > 0)).map(Reports::Tallies)
            }
            DrawnAs::Users => self.users(p, rng).map(Reports::Tallies),
        }
    }

    fn disjoint(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<Supports> {
        let rates = self.rates()?;
        let mut shares: Vec<f64> = p.iter().map(|p_x| rates.rate(*p_x)).collect();
        shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
        if !matches!(self.protocol, Protocol::Erasure(_)) {
            // Only an erasure can support nothing; for the others the remainder is rounding.
            shares.pop();
        }
        let mut counts = multinomial(self.n, &shares, rng);
        counts.truncate(p.len());
        Supports::new(self.protocol, self.n, counts)
    }

    fn bits(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<Supports> {
        let rates = self.rates()?;
        let holders = multinomial(self.n, p, rng);
        let mut support = |t_x: u64| binomial(t_x, rates.own, rng) + binomial(self.n - t_x, rates.other, rng);
        let counts = holders.into_iter().map(&mut support).collect();
        Supports::new(self.protocol, self.n, counts)
    }

    fn sets(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<Supports> {
        let Protocol::SubsetSelection(subset) = self.protocol else {
            return Err(Error::NoSupports { kind: self.protocol.kind() });
        };
        Supports::new(self.protocol, self.n, sets::supports(subset, self.n, p, rng))
    }

    fn users(&self, p: &[f64], rng: &mut ChaCha8Rng) -> Result<Tallies> {
        let holders = multinomial(self.n, p, rng);
        let mut counts = std::collections::HashMap::<Output, u64>::new();
        for (x, t_x) in holders.into_iter().enumerate() {
            for _ in 0..t_x {
                check();
                *counts.entry(self.protocol.sample(x, rng)?).or_default() += 1;
            }
        }
        Tallies::new(self.protocol, counts)
    }

    fn rates(&self) -> Result<SupportRates> {
        self.inverse.rates().ok_or(Error::NoSupports { kind: self.protocol.kind() })
    }
}
