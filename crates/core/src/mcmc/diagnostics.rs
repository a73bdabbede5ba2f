//! How well Markov chains agree: split R-hat of ranks, bulk and tail effective sample sizes.
//!
//! Each chain is cut in halves. Values are replaced by normal scores of their ranks, so that heavy tails do no harm; the tail size is the smaller one
//! of the indicators of the 5 % and 95 % quantiles. (A. Vehtari et al., Rank-normalization, folding, and localization: an improved R-hat, Bayesian Analysis 16, 2021.)

use crate::numerics::special::normal_quantile;

/// R-hat and the two effective sample sizes of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Agreement {
    pub r_hat: f64,
    pub bulk: f64,
    pub tail: f64,
}

/// The agreement of chains of equal, even length.
pub(crate) fn agreement(chains: &[Vec<f64>]) -> Agreement {
    let halves: Vec<&[f64]> = chains.iter().flat_map(|c| [&c[..c.len() / 2], &c[c.len() / 2..]]).collect();
    let all: Vec<f64> = halves.concat();
    let mut sorted = all.clone();
    sorted.sort_by(f64::total_cmp);
    let scores = normal_scores(sorted.len());
    let rank = |value: f64| scores[sorted.partition_point(|v| *v < value)];
    let ranked: Vec<Vec<f64>> = halves.iter().map(|half| half.iter().map(|v| rank(*v)).collect()).collect();
    let median = sorted[sorted.len() / 2];
    let indicator = |quantile: f64| {
        let bound = sorted[((sorted.len() - 1) as f64 * quantile) as usize];
        let below = |half: &&[f64]| half.iter().map(|v| f64::from(u8::from(*v <= bound))).collect();
        sample_size(&halves.iter().map(below).collect::<Vec<Vec<f64>>>())
    };
    let folded: Vec<Vec<f64>> =
        halves.iter().map(|half| half.iter().map(|v| (v - median).abs()).collect()).collect();
    Agreement {
        r_hat: r_hat(&ranked).max(r_hat(&folded)),
        bulk: sample_size(&ranked),
        tail: indicator(0.05).min(indicator(0.95)),
    }
}

/// Normal scores `Φ^{−1}((r − 3/8)/(S + 1/4))` of the ranks `r = 1…S`.
fn normal_scores(size: usize) -> Vec<f64> {
    let score = |rank: usize| normal_quantile((rank as f64 + 0.625) / (size as f64 + 0.25));
    (0..size).map(score).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The mean variance within chains, and the variance of all.
fn variances(chains: &[Vec<f64>]) -> (f64, f64) {
    let n = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|c| mean(c)).collect();
    let within = mean(&chains.iter().map(|c| variance(c)).collect::<Vec<_>>());
    (within, (n - 1.0) / n * within + variance(&means))
}

fn r_hat(chains: &[Vec<f64>]) -> f64 {
    let (within, all) = variances(chains);
    if all == 0.0 { 1.0 } else { (all / within).sqrt() }
}

/// The effective sample size, with Geyer's initial monotone sequence.
fn sample_size(chains: &[Vec<f64>]) -> f64 {
    let (count, n) = ((chains.len() * chains[0].len()) as f64, chains[0].len());
    let (within, all) = variances(chains);
    if all == 0.0 {
        return count;
    }
    let means: Vec<f64> = chains.iter().map(|c| mean(c)).collect();
    let correlation = |lag: usize| {
        let of_chain = |(c, m): (&Vec<f64>, &f64)| {
            c.iter().zip(&c[lag..]).map(|(l, r)| (l - m) * (r - m)).sum::<f64>() / n as f64
        };
        let covariance = chains.iter().zip(&means).map(of_chain).sum::<f64>() / chains.len() as f64;
        1.0 - (within - covariance) / all
    };
    let (mut time, mut smallest) = (-1.0, f64::INFINITY);
    for lag in (0..n - 1).step_by(2) {
        crate::numerics::stop::check();
        let pair = if lag == 0 { 1.0 + correlation(1) } else { correlation(lag) + correlation(lag + 1) };
        if pair <= 0.0 {
            break;
        }
        smallest = smallest.min(pair);
        time += 2.0 * smallest;
    }
    // Antithetic chains may be better than independent ones, but not without bound.
    count / time.max(1.0 / count.log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Autoregressive chains: `v' = ρ v + noise` have `S (1−ρ)/(1+ρ)` effective draws.
    fn chains(rho: f64, length: usize, shift: f64) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let chain = |i: usize| {
            let mut v = 0.0;
            let mut next = || {
                v = rho * v + normal_quantile(rng.random::<f64>().max(1e-12)) * (1.0 - rho * rho).sqrt();
                v + shift * i as f64
            };
            (0..length).map(|_| next()).collect()
        };
        (0..4).map(chain).collect::<Vec<Vec<f64>>>()
    }

    #[test]
    fn correlated_chains_have_fewer_effective_draws() {
        // The estimates scatter by some 10 % at this length; 30 % is never seen.
        for (rho, expected) in [(0.0, 8000.0), (0.5, 8000.0 / 3.0), (0.9, 8000.0 / 19.0)] {
            let found = agreement(&chains(rho, 2000, 0.0));
            assert!((found.bulk / expected - 1.0).abs() < 0.3, "{rho}: {found:?}");
            assert!(found.r_hat < 1.03, "{rho}: {found:?}");
        }
    }

    #[test]
    fn chains_that_disagree_are_seen() {
        let found = agreement(&chains(0.0, 500, 0.5));
        assert!(found.r_hat > 1.05 && found.bulk < 100.0, "{found:?}");
    }
}
