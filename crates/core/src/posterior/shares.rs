//! Randomised response with many reports: exact, by independent shares conditioned to sum to 1, see
//! [`crate::likelihood::shares`].

use chacha20::ChaCha8Rng;

use super::marginal::{Marginal, logarithms};
use super::response::ExactPart;
use super::truthful_reports::TruthfulReports;
use crate::likelihood::shares::{Shares, Sum};
use crate::model::prior::Dirichlet;
use crate::numerics::random::{binomial, multinomial};

/// Largest relative deviation of the integral of each marginal from the evidence.
const MAX_DEVIATION: f64 = 1e-7;

/// Shares under one component of the prior, conditioned to sum to 1.
pub(super) struct Conditioned<'a> {
    prior: &'a Dirichlet,
    beta: f64,
    s: &'a [u64],
    shares: Shares,
    ln_sum_at_1: f64,
    /// For each different share the distribution of the sum of the others.
    others: Vec<Sum>,
    /// For draws where no share is away from 0.
    truthful: Option<TruthfulReports>,
}

impl<'a> Conditioned<'a> {
    /// `None` if a marginal is not smooth.
    pub(super) fn new(prior: &'a Dirichlet, beta: f64, s: &'a [u64]) -> Option<Self> {
        let shares = Shares::new(prior.alpha(), beta, s);
        let (ln_sum_at_1, others) = (shares.ln_sum_at_1()?, shares.without()?);
        let truthful = (!shares.has_draws()).then(|| TruthfulReports::new(prior, beta, s));
        Some(Conditioned { prior, beta, s, shares, ln_sum_at_1, others, truthful })
    }

    /// Mean and standard deviation of `T_x` from those of `P_x`: given the tallies `P ~ Dir(α + T)`, so with
    /// `A = α0 + n` `E T_x = A E P_x − α_x` and `Var T_x = A² Var P_x − A E[P_x(1 − P_x)]`, both up to about
    /// `1e-11 A`, which may round the variance to 0 where there is hardly any noise.
    fn tally(&self, x: usize, marginal: &Marginal<'_>) -> (f64, f64) {
        let total = self.prior.total() + self.s.iter().sum::<u64>() as f64;
        let (mean, sd) = marginal.moments(|ln_p, _| (ln_p.exp(), 0.0));
        let variance = total * total * sd * sd - total * marginal.mean_of(|p| p * (1.0 - p));
        (total * mean - self.prior.alpha()[x], variance.max(0.0).sqrt())
    }
}

impl ExactPart for Conditioned<'_> {
    fn ln_evidence(&self) -> f64 {
        self.shares.ln_evidence(self.ln_sum_at_1)
    }

    fn marginal(&self, x: usize) -> Option<(Marginal<'_>, (f64, f64))> {
        let ln_at = move |u: f64| {
            let (ln_p, ln_q) = logarithms(u);
            ln_q + self.shares.ln_marginal(x, &self.others, ln_p)
        };
        let marginal = Marginal::of_density(Box::new(ln_at), self.shares.rounding(x));
        let off = marginal.ln_total() - self.shares.ln_marginal_total(x, self.ln_sum_at_1);
        let tally = self.tally(x, &marginal);
        (off.abs() < MAX_DEVIATION).then_some((marginal, tally))
    }

    /// Given `P`, a report of `x` is truthful with probability `βP_x/(1 + βP_x)`, and the senders of the
    /// other reports have values distributed as `P`.
    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<u64>) {
        if let Some(truthful) = &self.truthful {
            return truthful.draw(self.prior, self.s.iter().sum(), rng);
        }
        let p = self.shares.draw(rng);
        let honest =
            self.s.iter().zip(&p).map(|(s, p)| binomial(*s, self.beta * p / (1.0 + self.beta * p), rng));
        let mut t: Vec<u64> = honest.collect();
        let silent = self.s.iter().sum::<u64>() - t.iter().sum::<u64>();
        t.iter_mut().zip(multinomial(silent, &p, rng)).for_each(|(t, more)| *t += more);
        (p, t)
    }
}
