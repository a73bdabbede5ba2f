//! Importance sampling where a value is rare.
//!
//! The sensitivity of a steep direction grows like `1/P_x` at small `P_x`, where the prior has few nodes. So half of the nodes come from
//! proposals: for each such `x` the Dirichlet with `α_x − 1` in place of `α_x`, whose density is in proportion to the prior's times `1/P_x`.
//! A node of any proposal has the importance weight of the mixture of all (the balance heuristic),
//! ```text
//! ω(p) = n / (n_0 + Σ_x n_x p_x^{α'_x − α_x} / E[P_x^{α'_x − α_x}])
//! ```

use super::CubatureRequest;
use super::calibrated_weights::mean_product;
use crate::design::tolerances::Tolerances;
use crate::fisher::Point;
use crate::fisher::expectation::quasi_monte_carlo::DirichletSequence;
use crate::model::prior::Dirichlet;

/// The prior and the proposals for inputs that may be rare.
pub(super) struct Proposals<'a> {
    prior: &'a Dirichlet,
    rare: Vec<Proposal>,
    /// Nodes of the prior itself, and of each proposal.
    from_prior: usize,
    from_each: usize,
    power_margin: f64,
}

/// The prior with another parameter `α'_x` at one input.
struct Proposal {
    input: usize,
    alpha: f64,
    /// `E P_x^{α'_x − α_x}` under the prior.
    normaliser: f64,
}

impl Proposal {
    fn new(prior: &Dirichlet, input: usize, min_alpha: f64) -> Self {
        let old = prior.alpha()[input];
        let alpha = (old - 1.0).max(min_alpha);
        let mut exponents = vec![0.0; prior.alpha().len()];
        exponents[input] = alpha - old;
        Proposal { input, alpha, normaliser: mean_product(prior.alpha(), &exponents) }
    }
}

impl<'a> Proposals<'a> {
    /// Proposals for a replicate of `length` nodes.
    pub(super) fn new(
        prior: &'a Dirichlet,
        request: &CubatureRequest<'_>,
        length: usize,
        tolerances: &Tolerances,
    ) -> Self {
        let is_rare = |x: &usize| needs_proposal(prior.alpha()[*x], *x, request, tolerances);
        let rare: Vec<Proposal> = (0..prior.alpha().len())
            .filter(is_rare)
            .map(|x| Proposal::new(prior, x, tolerances.cubature.min_proposal_alpha))
            .collect();
        let from_each = length / (2 * rare.len().max(1));
        let from_prior = length - from_each * rare.len();
        Proposals { prior, from_prior, rare, from_each, power_margin: tolerances.calibration.power_margin }
    }

    /// All nodes of a replicate.
    pub(super) fn draw(&self, seed: u64, replicate: usize) -> Vec<Point> {
        let alpha = self.prior.alpha();
        let from = |stream: usize, count: usize, alpha: Vec<f64>| {
            let sequence = DirichletSequence::new(seed, (replicate * (alpha.len() + 1) + stream) as u32);
            (0..count as u32).map(move |j| sequence.point(j, &alpha))
        };
        let rare = self.rare.iter().flat_map(|proposal| {
            let mut alpha = alpha.to_vec();
            alpha[proposal.input] = proposal.alpha;
            from(1 + proposal.input, self.from_each, alpha)
        });
        from(0, self.from_prior, alpha.to_vec()).chain(rare).collect()
    }

    /// The density of the prior over that of the nodes.
    pub(super) fn importance_weight(&self, p: &[f64]) -> f64 {
        let ratio = |proposal: &Proposal| {
            let exponent = proposal.alpha - self.prior.alpha()[proposal.input];
            p[proposal.input].powf(exponent) / proposal.normaliser
        };
        let rare: f64 = self.rare.iter().map(ratio).sum();
        let (from_prior, from_each) = (self.from_prior as f64, self.from_each as f64);
        (from_prior + from_each * self.rare.len() as f64) / (from_prior + from_each * rare)
    }

    /// For each input the lowest power of `P_x` whose weighted mean has a finite variance, but none below −1, the power in a unit row's sensitivity.
    pub(super) fn least_powers(&self) -> Vec<f64> {
        let mut infinite: Vec<f64> = self.prior.alpha().iter().map(|alpha| -0.5 * alpha).collect();
        for Proposal { input, alpha, .. } in &self.rare {
            infinite[*input] = 0.5 * alpha - self.prior.alpha()[*input];
        }
        infinite.iter().map(|power| if *power < -1.0 { -1.0 } else { self.power_margin * power }).collect()
    }
}

/// Whether directions are steep, and `1/P_x` has an infinite variance. If even its mean is infinite, the sensitivity follows `1/P_x` only down to
/// where `P_x w_x` is about the least of the odds `w`.
fn needs_proposal(alpha: f64, x: usize, request: &CubatureRequest<'_>, tolerances: &Tolerances) -> bool {
    let tolerances = &tolerances.cubature;
    let has_large_odds = || {
        let least = |odds: &[f64]| odds.iter().copied().fold(f64::INFINITY, f64::min);
        request.disclosure_odds.is_some_and(|odds| odds[x] > tolerances.importance_odds_ratio * least(odds))
    };
    request.contrast > tolerances.steep_contrast
        && (tolerances.importance_min_alpha..=tolerances.importance_max_alpha).contains(&alpha)
        && (alpha > 1.0 || has_large_odds())
}
