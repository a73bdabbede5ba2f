//! The options of a posterior, and its results.

use crate::information::{Choice, SamplingObserver};
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};

/// Largest number of values in draws stored by default: some hundred megabytes.
const MAX_NUMBERS: usize = 20_000_000;

/// Options of a posterior.
#[derive(Clone)]
pub struct PosteriorOptions<'a> {
    /// The method; [`Choice::Asymptote`] does not apply here and counts as automatic.
    pub choice: Choice,
    /// Probabilities of the requested quantiles.
    pub probabilities: Vec<f64>,
    /// Number of joint draws to return.
    pub draws: usize,
    /// Number of points of each marginal density.
    pub grid: usize,
    /// Seed of all draws. The same seed gives the same answer on any number of threads.
    pub seed: u64,
    /// Returns the answer of chains that did not converge, marked as such, instead of an error.
    pub unconverged: bool,
    /// Is told about progress, and may stop the sampler.
    pub observer: Option<SamplingObserver<'a>>,
}

impl Default for PosteriorOptions<'_> {
    fn default() -> Self {
        PosteriorOptions {
            choice: Choice::Automatic,
            probabilities: vec![0.05, 0.5, 0.95],
            draws: 1000,
            grid: 0,
            seed: 0,
            unconverged: false,
            observer: None,
        }
    }
}

impl PosteriorOptions<'_> {
    /// Number of draws of `a` values for whatever is not exact: enough for three digits of a probability, if
    /// they fit into memory. If no quantiles are requested, only the requested draws.
    pub(crate) fn enough_draws(&self, a: usize) -> usize {
        if self.probabilities.is_empty() {
            return self.draws;
        }
        self.draws.max(4000.min(MAX_NUMBERS / a)).max(100)
    }

    /// Rejects more draws than fit into memory.
    ///
    /// # Errors
    /// [`Error::TooMuch`].
    pub(crate) fn check_draws(&self, a: usize) -> Result<()> {
        let (entries, max) = (self.draws as u128 * a as u128, 8 * MAX_NUMBERS as u128);
        if entries > max {
            return Err(Error::TooMuch { what: "the joint draws", entries, max });
        }
        Ok(())
    }
}

/// The posterior of `P` and `T`.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// Number of reports.
    pub n: u64,
    /// How the marginals of `P` were computed.
    pub method: Method,
    /// `ln P(Y⃗ = y⃗)` for one ordering of the reports, or why it is not known.
    pub log_evidence: std::result::Result<Evaluation, &'static str>,
    /// The marginals of `P`.
    pub p: Vec<Summary>,
    /// The marginals of `T`, without densities.
    pub t: Vec<Summary>,
    /// How the quantiles of `T` were computed.
    pub t_quantiles: Method,
    /// The parameter of an adaptive prior; `None` under other priors.
    pub alpha: Option<Summary>,
    /// The roughness of a smoothing prior; `None` under other priors.
    pub roughness: Option<Summary>,
    /// Posterior probabilities of the components of a mixture prior, where the method is exact.
    pub weights: Vec<f64>,
    /// The posterior of `P` as a mixture of Dirichlet distributions: weights and parameters, where there are few terms.
    pub terms: Vec<(f64, Vec<f64>)>,
    /// Joint draws.
    pub draws: Draws,
    /// Convergence diagnostics of the sampler; `None` where draws are independent.
    pub diagnostics: Option<Diagnostics>,
}

/// A marginal distribution in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Probabilities and quantiles.
    pub quantiles: Vec<(f64, f64)>,
    /// Points and densities.
    pub density: Vec<(f64, f64)>,
    /// Monte Carlo standard error of the mean; 0 for exact methods.
    pub error: f64,
}

/// Joint draws of `P` and `T`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// Draws of `P`.
    pub p: Vec<Vec<f64>>,
    /// Draws of `T`, the same number.
    pub t: Vec<Vec<u64>>,
    /// The number of Markov chains whose draws alternate; 0 where draws are independent or their order tells nothing.
    pub chains: usize,
}

impl Draws {
    /// Draws that are independent of each other.
    pub(crate) fn independent((p, t): (Vec<Vec<f64>>, Vec<Vec<u64>>)) -> Self {
        Draws { p, t, chains: 0 }
    }

    /// Sets the quantiles of `T` and keeps the requested number of draws.
    pub(crate) fn into_quantiles(mut self, t: &mut [Summary], options: &PosteriorOptions<'_>) -> Draws {
        for (x, t) in t.iter_mut().enumerate() {
            t.quantiles = tally_quantiles(&self.t, x, &options.probabilities);
        }
        self.p.truncate(options.draws);
        self.t.truncate(options.draws);
        self
    }
}

/// Convergence diagnostics of the sampler's chains.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// Number of chains.
    pub chains: usize,
    /// Draws of each.
    pub length: usize,
    /// The largest rank-normalised split R-hat over all values.
    pub r_hat: f64,
    /// The smallest bulk effective sample size.
    pub bulk: f64,
    /// The smallest effective sample size for the 5 % and 95 % quantiles.
    pub tail: f64,
    /// Share of proposals accepted by the exact likelihood.
    pub acceptance: f64,
    /// Whether R-hat and sample sizes are good enough.
    pub converged: bool,
}

impl Posterior {
    /// Covariance of `P_x` and `P_y`, from the joint draws.
    pub fn covariance(&self, x: usize, y: usize) -> f64 {
        let (count, [mean_x, mean_y]) = (self.draws.p.len() as f64, [x, y].map(|v| self.p[v].mean));
        self.draws.p.iter().map(|p| (p[x] - mean_x) * (p[y] - mean_y)).sum::<f64>() / count
    }
}

/// Mean and standard deviation of a mixture of distributions given by weight, mean and standard deviation.
pub(crate) fn mixed(parts: impl Iterator<Item = (f64, (f64, f64))> + Clone) -> (f64, f64) {
    let mean = parts.clone().map(|(w, (mean, _))| w * mean).sum::<f64>();
    let variance = parts.map(|(w, (m, sd))| w * (sd * sd + (m - mean).powi(2))).sum::<f64>();
    (mean, variance.sqrt())
}

/// The quantile of sorted values with weights, interpolated linearly: each value sits at the weight below it
/// plus half its own.
pub(crate) fn weighted_quantile(sorted: &[(f64, f64)], probability: f64) -> f64 {
    let gap = |pair: &[(f64, f64)]| 0.5 * (pair[0].1 + pair[1].1);
    let total: f64 = sorted.windows(2).map(gap).sum();
    let mut rest = probability * total;
    for pair in sorted.windows(2) {
        if rest <= gap(pair) {
            let share = if gap(pair) > 0.0 { rest / gap(pair) } else { 0.0 };
            return (pair[0].0 + share * (pair[1].0 - pair[0].0)).clamp(pair[0].0, pair[1].0);
        }
        rest -= gap(pair);
    }
    sorted[sorted.len() - 1].0
}

/// The quantiles of tallies: the smallest value that at least the given share of the draws does not exceed.
fn tally_quantiles(draws: &[Vec<u64>], x: usize, probabilities: &[f64]) -> Vec<(f64, f64)> {
    let mut values: Vec<u64> = draws.iter().map(|t| t[x]).collect();
    values.sort_unstable();
    let rank = |q: f64| ((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
    probabilities.iter().map(|q| (*q, values[rank(*q)] as f64)).collect()
}
