//! What the aggregator believes about the distribution `P` before the first report.
//!
//! ```
//! use sottovoce::Prior;
//!
//! let jeffreys = Prior::jeffreys(3)?;
//! assert_eq!(jeffreys.mean(), [1.0 / 3.0; 3]);
//! # Ok::<(), sottovoce::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use rand::Rng;

use crate::model::error::{Error, Result, distribution, in_range};
use crate::model::protocol::MAX_INPUTS;
use crate::numerics::random::{pick, sample_ln_gamma};
use crate::numerics::special::{leave_one_out, ln_gamma, ln_sum_exp};

/// A Dirichlet distribution on the distributions over `a` values.
///
/// Values with the same parameter are kept as a group, so that a symmetric prior on a million values is as small as one on
/// three.
#[derive(Clone, PartialEq)]
pub struct Dirichlet {
    alpha: Vec<f64>,
    groups: Vec<Group>,
    total: f64,
}

/// Values that share a Dirichlet parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The parameter `α_x` of each of them.
    pub alpha: f64,
    /// How many they are.
    pub count: usize,
    /// The sum of all other parameters of the distribution, for one of them: `α0 − α_x` without its cancellation.
    pub others: f64,
}

impl Dirichlet {
    /// The Dirichlet distribution with the given parameters.
    ///
    /// # Errors
    /// Fewer than two parameters, or one outside `1e-4 ..= 1e8`.
    pub fn new(alpha: Vec<f64>) -> Result<Self> {
        if !(2..=MAX_INPUTS).contains(&alpha.len()) {
            return Err(Error::Inputs { a: alpha.len() });
        }
        for &alpha_x in &alpha {
            in_range("alpha", alpha_x, |v| (1e-4..=1e8).contains(&v), "between 1e-4 and 1e8")?;
        }
        let mut sorted = alpha.clone();
        sorted.sort_by(f64::total_cmp);
        let pairs: Vec<(f64, usize)> = sorted.chunk_by(|l, r| l == r).map(|g| (g[0], g.len())).collect();
        let others = leave_one_out(&pairs);
        let groups = pairs
            .iter()
            .zip(others)
            .map(|(&(alpha, count), others)| Group { alpha, count, others })
            .collect();
        Ok(Dirichlet { total: alpha.iter().sum(), alpha, groups })
    }

    /// All parameters equal.
    ///
    /// # Errors
    /// As for [`new`](Dirichlet::new).
    pub fn symmetric(a: usize, alpha: f64) -> Result<Self> {
        if !(2..=MAX_INPUTS).contains(&a) {
            return Err(Error::Inputs { a });
        }
        Dirichlet::new(vec![alpha; a])
    }

    /// The Jeffreys prior: all parameters one half.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn jeffreys(a: usize) -> Result<Self> {
        Dirichlet::symmetric(a, 0.5)
    }

    /// The parameters `α`.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// The different parameters, ascending, with how often each occurs.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// `α0 = Σ_x α_x`.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The distribution of the frequencies of `map(x)`: parameters of values with the same image add up. Images that do
    /// not occur are left out.
    ///
    /// # Errors
    /// Fewer than two images occur.
    pub fn merged(&self, map: &[usize]) -> Result<Dirichlet> {
        let mut alpha = std::collections::BTreeMap::<usize, f64>::new();
        for (y, alpha_x) in map.iter().zip(&self.alpha) {
            *alpha.entry(*y).or_default() += alpha_x;
        }
        Dirichlet::new(alpha.into_values().collect())
    }

    /// Draws `ln P`. Stays finite where `P_x` itself would be rounded to zero.
    pub fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        let ln_gammas: Vec<f64> = self.alpha.iter().map(|alpha_x| sample_ln_gamma(*alpha_x, rng)).collect();
        let ln_sum = ln_sum_exp(&ln_gammas);
        ln_gammas.into_iter().map(|ln_gamma| ln_gamma - ln_sum).collect()
    }

    /// `ln` of the density at `e^{ln_p}` with respect to Lebesgue measure in `a − 1` of the coordinates.
    pub fn ln_density(&self, ln_p: &[f64]) -> f64 {
        let ln_powers = ln_p.iter().zip(&self.alpha).map(|(ln_p_x, alpha_x)| {
            // 0 · ln 0 = 0: a flat direction stays flat on the boundary.
            if *alpha_x == 1.0 { 0.0 } else { (alpha_x - 1.0) * ln_p_x }
        });
        ln_powers.sum::<f64>() - self.ln_normaliser()
    }

    /// `ln B(α)`.
    pub fn ln_normaliser(&self) -> f64 {
        self.groups.iter().map(|g| g.count as f64 * ln_gamma(g.alpha)).sum::<f64>() - ln_gamma(self.total)
    }
}

impl fmt::Debug for Dirichlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dirichlet").field("groups", &self.groups).finish_non_exhaustive()
    }
}

/// A mixture of Dirichlet distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct DirichletMixture {
    weights: Vec<f64>,
    parts: Vec<Dirichlet>,
}

impl DirichletMixture {
    /// The mixture of the parts with the given weights; parts without weight are dropped.
    ///
    /// # Errors
    /// There is no part, the weights are no distribution on the parts, or the parts are on different numbers of values.
    pub fn new(weights: Vec<f64>, parts: Vec<Dirichlet>) -> Result<Self> {
        check_lengths(weights.len(), "parts", parts.len())?;
        let weights = distribution("weights", weights)?;
        let a = parts[0].alpha.len();
        if let Some(position) = parts.iter().position(|part| part.alpha.len() != a) {
            let found = parts[position].alpha.len();
            return Err(Error::Mismatch { role: "part", position, found, expected: a });
        }
        let (weights, parts) = weights.into_iter().zip(parts).filter(|(w, _)| *w > 0.0).unzip();
        Ok(DirichletMixture { weights, parts })
    }

    /// The weights, all positive.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The parts.
    pub fn parts(&self) -> &[Dirichlet] {
        &self.parts
    }
}

/// A prior with finitely many possible distributions. It is not continuous.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    weights: Vec<f64>,
    points: Vec<Vec<f64>>,
}

impl Points {
    /// The prior that gives `points[i]` the probability `weights[i]`; points without weight are dropped.
    ///
    /// # Errors
    /// Weights or points are no distributions, or the prior breaks one of the paper's two assumptions: that users may hold
    /// different values, and that there is more than one possible distribution.
    pub fn new(weights: Vec<f64>, points: Vec<Vec<f64>>) -> Result<Self> {
        check_lengths(weights.len(), "points", points.len())?;
        let weights = distribution("weights", weights)?;
        let a = points[0].len();
        if !(2..=MAX_INPUTS).contains(&a) {
            return Err(Error::Inputs { a });
        }
        if let Some(position) = points.iter().position(|p| p.len() != a) {
            return Err(Error::Mismatch {
                role: "point",
                position,
                found: points[position].len(),
                expected: a,
            });
        }
        let points: Vec<_> = points.into_iter().map(|p| distribution("point", p)).collect::<Result<_>>()?;
        let (weights, points): (Vec<f64>, Vec<Vec<f64>>) =
            weights.into_iter().zip(points).filter(|(w, _)| *w > 0.0).unzip();
        if points.iter().all(|p| p.contains(&1.0)) {
            return Err(Error::NothingPrivate);
        }
        if points.iter().all(|p| *p == points[0]) {
            return Err(Error::NothingToLearn);
        }
        Ok(Points { weights, points })
    }

    /// The weights, all positive.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The points.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }
}

fn check_lengths(weights: usize, right: &'static str, right_length: usize) -> Result<()> {
    if right_length == 0 {
        return Err(Error::Empty { name: right });
    }
    if weights == right_length {
        return Ok(());
    }
    Err(Error::Lengths { left: "weights", left_length: weights, right, right_length })
}

/// A prior of one's own. Metrics under it are found by Monte Carlo.
///
/// It must be continuous and meet the paper's two assumptions: users may hold different values, and more than one
/// distribution is possible. For the asymptotic metrics `E|ln P_x|` and the differential entropy must be finite.
pub trait OwnPrior: fmt::Debug + Send + Sync {
    /// Number of values `a`, at least 2.
    fn inputs(&self) -> usize;

    /// Draws `ln P`.
    fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64>;

    /// `ln` of the density at `e^{ln_p}` with respect to Lebesgue measure in `a − 1` of the coordinates.
    fn ln_density(&self, ln_p: &[f64]) -> f64;
}

/// A prior of any kind.
#[derive(Clone, Debug)]
pub enum Prior {
    /// A Dirichlet distribution.
    Dirichlet(Dirichlet),
    /// A mixture of Dirichlet distributions.
    DirichletMixture(DirichletMixture),
    /// Finitely many points.
    Points(Points),
    /// The user's own.
    Own(Arc<dyn OwnPrior>),
}

impl Prior {
    /// The Jeffreys prior on `a` values.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn jeffreys(a: usize) -> Result<Self> {
        Dirichlet::jeffreys(a).map(Prior::Dirichlet)
    }

    /// The symmetric Dirichlet prior on `a` values.
    ///
    /// # Errors
    /// `a` or `alpha` is out of range.
    pub fn symmetric(a: usize, alpha: f64) -> Result<Self> {
        Dirichlet::symmetric(a, alpha).map(Prior::Dirichlet)
    }

    /// A Dirichlet prior.
    ///
    /// # Errors
    /// Fewer than two parameters, or one out of range.
    pub fn dirichlet(alpha: Vec<f64>) -> Result<Self> {
        Dirichlet::new(alpha).map(Prior::Dirichlet)
    }

    /// Number of values `a`.
    pub fn inputs(&self) -> usize {
        match self {
            Prior::Dirichlet(dirichlet) => dirichlet.alpha.len(),
            Prior::DirichletMixture(mixture) => mixture.parts[0].alpha.len(),
            Prior::Points(points) => points.points[0].len(),
            Prior::Own(own) => own.inputs(),
        }
    }

    /// Whether the prior has a density, as the asymptotic metrics need.
    pub fn is_continuous(&self) -> bool {
        !matches!(self, Prior::Points(_))
    }

    /// The Dirichlet distributions that this prior mixes, with their weights; `None` if it is of another kind.
    pub fn dirichlets(&self) -> Option<Vec<(f64, &Dirichlet)>> {
        match self {
            Prior::Dirichlet(dirichlet) => Some(vec![(1.0, dirichlet)]),
            Prior::DirichletMixture(m) => Some(m.weights.iter().copied().zip(&m.parts).collect()),
            Prior::Points(_) | Prior::Own(_) => None,
        }
    }

    /// `E P`, by simulation with a fixed seed for a prior of one's own.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.inputs()];
        let mut add = |weight: f64, p: &mut dyn Iterator<Item = f64>| {
            mean.iter_mut().zip(p).for_each(|(m, p_x)| *m += weight * p_x);
        };
        match self {
            Prior::Points(points) => {
                for (weight, p) in points.weights.iter().zip(&points.points) {
                    add(*weight, &mut p.iter().copied());
                }
            }
            Prior::Own(own) => {
                const DRAWS: usize = 10_000;
                let mut rng = <chacha20::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(0);
                for _ in 0..DRAWS {
                    let ln_p = own.sample_ln(&mut rng);
                    add(1.0 / DRAWS as f64, &mut ln_p.into_iter().map(f64::exp));
                }
            }
            Prior::Dirichlet(_) | Prior::DirichletMixture(_) => {
                for (weight, part) in self.dirichlets().into_iter().flatten() {
                    add(weight, &mut part.alpha.iter().map(|alpha_x| alpha_x / part.total));
                }
            }
        }
        mean
    }

    /// Draws `ln P`.
    pub fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            Prior::Dirichlet(dirichlet) => dirichlet.sample_ln(rng),
            Prior::DirichletMixture(m) => m.parts[pick(&m.weights, 1.0, rng)].sample_ln(rng),
            Prior::Points(p) => p.points[pick(&p.weights, 1.0, rng)].iter().map(|p_x| p_x.ln()).collect(),
            Prior::Own(own) => own.sample_ln(rng),
        }
    }

    /// The distribution of the frequencies of `map(x)`; `None` for a prior that is no mixture of Dirichlet distributions.
    ///
    /// # Errors
    /// Fewer than two images occur.
    pub fn merged(&self, map: &[usize]) -> Result<Option<Prior>> {
        Ok(Some(match self {
            Prior::Dirichlet(dirichlet) => Prior::Dirichlet(dirichlet.merged(map)?),
            Prior::DirichletMixture(mixture) => {
                let parts = mixture.parts.iter().map(|part| part.merged(map)).collect::<Result<_>>()?;
                Prior::DirichletMixture(DirichletMixture::new(mixture.weights.clone(), parts)?)
            }
            Prior::Points(_) | Prior::Own(_) => return Ok(None),
        }))
    }

    /// `ln` of the density at `e^{ln_p}`; `None` for a prior that has none.
    pub fn ln_density(&self, ln_p: &[f64]) -> Option<f64> {
        match self {
            Prior::Own(own) => Some(own.ln_density(ln_p)),
            _ => {
                let terms = |(weight, part): (f64, &Dirichlet)| weight.ln() + part.ln_density(ln_p);
                Some(ln_sum_exp(&self.dirichlets()?.into_iter().map(terms).collect::<Vec<_>>()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn draws_stay_finite_for_tiny_alpha() {
        let dirichlet = Dirichlet::symmetric(4, 1e-4).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1000 {
            assert!(dirichlet.sample_ln(&mut rng).iter().all(|ln_p| ln_p.is_finite() && *ln_p <= 1e-12));
        }
    }

    #[test]
    fn draws_have_the_right_mean() {
        // 20 000 draws of P_0 with sd 0.18: the mean is off by 5 sd (0.0064) with probability 6e-7.
        let dirichlet = Dirichlet::new(vec![0.3, 1.2, 2.5]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let sum: f64 = (0..20_000).map(|_| dirichlet.sample_ln(&mut rng)[1].exp()).sum();
        assert!((sum / 20_000.0 - 0.3).abs() < 0.0075);
    }

    #[test]
    fn the_papers_two_assumptions_are_checked() {
        let corners = Points::new(vec![0.5, 0.5], vec![vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert_eq!(corners, Err(Error::NothingPrivate));
        let single = Points::new(vec![0.5, 0.5], vec![vec![0.3, 0.7], vec![0.3, 0.7]]);
        assert_eq!(single, Err(Error::NothingToLearn));
    }

    #[test]
    fn density_integrates_over_one_coordinate() {
        let beta = Prior::dirichlet(vec![2.0, 3.0]).unwrap();
        let ln_density = beta.ln_density(&[0.4f64.ln(), 0.6f64.ln()]).unwrap();
        assert!((ln_density.exp() - 12.0 * 0.4 * 0.36).abs() < 1e-13);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Dirichlet::symmetric(3, alpha), Err(Error::OutOfRange { .. })));
        }
        assert_eq!(Dirichlet::new(vec![1.0]), Err(Error::Inputs { a: 1 }));
    }
}
