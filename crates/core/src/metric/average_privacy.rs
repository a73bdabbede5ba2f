//! Average privacy, and the two information quantities behind it.

use crate::numerics::parallel::*;

use super::Settings;
use super::monte_carlo::mean_over_draws;
use super::worst_case_privacy::different;
use crate::leakage::{self, GroupedPrior};
use crate::model::absence::Absence;
use crate::model::error::Error;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Component, Prior};
use crate::model::protocol::{Channel, Composition, Matrix, MergedRows, Product, Protocol};

/// Private information of one user, `H(X | P)`.
///
/// # Definition
/// ```text
/// H(X|P) = −E Σ_x P_x ln P_x
/// ```
///
/// # Method and cost
/// Closed form for Dirichlet priors, their mixtures and point priors ([`leakage::user_entropy`]); Monte Carlo
/// for a custom prior.
///
/// # Example
/// ```
/// # use sottovoce::{Prior, metric::{Settings, user_entropy}};
/// let entropy = user_entropy(&Prior::symmetric(2, 1.0)?, &Settings::default());
/// assert!((entropy.value - 0.5).abs() < 1e-15);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn user_entropy(prior: &Prior, settings: &Settings) -> Evaluation {
    let entropy = |part: &Component| Ok(Leakage::exact(leakage::user_entropy(&GroupedPrior::of(part))));
    // Unwrap safety: the entropy exists under every prior.
    average(prior, settings, &entropy).unwrap().evaluation
}

/// Average privacy `S_μ(Q)`: the share of a user's private information that a report leaves hidden.
///
/// # Definition
/// ```text
/// S_μ(Q) = H(X | Y, P) / H(X | P) = 1 − I(X;Y|P) / H(X|P)        [paper, Def. "average privacy"]
/// ```
/// At least `S^wc(Q) = e^{−LDP(Q)}` for every prior [paper, Lemma "S_μ ≥ S^wc"]. It does not depend on the number of users.
///
/// # Method and cost
/// As [`private_leakage`].
///
/// # Accuracy
/// `1 − S_μ` has a relative error below `1e-12`, so `S_μ` an absolute one below `1e-12 · (1 − S_μ) + 1e-16`, for
/// `1e-6 ≤ ε ≤ 50`, `0.01 ≤ α ≤ 1e4`, `a ≤ 10^6` (randomised response) and `a ≤ 10^4` (unary encoding, local hash, subset
/// selection), against the tables in `tests/leakage.rs`.
///
/// # Example
/// ```
/// # use sottovoce::{Prior, Protocol, metric::{Settings, average_privacy}};
/// let privacy = average_privacy(&Protocol::grr(1024, 2.0)?, &Prior::jeffreys(1024)?, &Settings::default()).unwrap();
/// assert!((privacy.value - 0.998696670).abs() < 1e-9);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// As for [`private_leakage`].
pub fn average_privacy(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    Ok(private_leakage(protocol, prior, settings)?.as_privacy(user_entropy(prior, settings)))
}

/// The leakage `I(X;Y|P)` of one report about its user, and whether it is only bracketed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leakage {
    /// The leakage in nats.
    pub evaluation: Evaluation,
    /// Whether `evaluation` is the midpoint of a bracket and its error half the width.
    pub bracketed: bool,
}

impl Leakage {
    pub(super) fn exact(evaluation: Evaluation) -> Self {
        Leakage { evaluation, bracketed: false }
    }

    /// The midpoint of a bracket.
    fn between(lower: f64, upper: f64) -> Self {
        let evaluation = Evaluation::new((lower + upper) / 2.0, (upper - lower) / 2.0, Method::Quadrature);
        Leakage { evaluation, bracketed: true }
    }

    /// The bracket: its smallest and largest possible value.
    fn ends(&self) -> (f64, f64) {
        (self.evaluation.value - self.evaluation.error, self.evaluation.value + self.evaluation.error)
    }

    /// `S_μ`, given `H(X|P)`.
    pub fn as_privacy(self, entropy: Evaluation) -> Evaluation {
        let share = self.evaluation.over(entropy);
        // The complement of a share, which lies between 0 and 1, is rounded once.
        Evaluation::new((1.0 - share.value).clamp(0.0, 1.0), share.error + f64::EPSILON / 2.0, share.method)
    }
}

/// One-user leakage `I(X;Y|P)`, with relative accuracy.
///
/// # Method and cost
/// - randomised response, unary encoding, local hash, subset selection, block designs, deterministic, erasure, identity:
///   specialised methods in [`leakage`](crate::leakage), without a matrix;
/// - a mixture: the weighted sum of its parts, exactly [paper, Prop. "mixture"];
/// - a matrix, and a composition through its composed matrix: one integral for each distinct row direction;
///   under a symmetric prior, rows that are permutations of each other count as one; a composition with too
///   many directions is bracketed by its first steps;
/// - a product: the same while its rows can be visited (streamed, never stored), beyond that the bracket
///   `max_j I_j ≤ I ≤ min(Σ_j I_j, H(X|P))` [paper, Prop. "privacy budget"].
///
/// # Errors
/// A composition whose matrix would be too large.
pub fn private_leakage(protocol: &Protocol, prior: &Prior, settings: &Settings) -> Result<Leakage, Absence> {
    average(prior, settings, &|part| given(protocol, part))
}

/// The average of an information over the components of the prior.
pub(super) fn average(
    prior: &Prior,
    settings: &Settings,
    information: &(dyn Fn(&Component) -> Result<Leakage, Absence> + Sync),
) -> Result<Leakage, Absence> {
    match Component::parts_of(prior) {
        Some(parts) => weighted_sum(parts.iter().map(|(weight, part)| Ok((*weight, information(part)?)))),
        None => {
            let at = |ln_p: &[f64]| {
                let p: Vec<f64> = ln_p.iter().map(|ln_p_x| ln_p_x.exp()).collect();
                Ok(information(&Component::Point(p))?.evaluation.value)
            };
            mean_over_draws(prior, settings, at).map(Leakage::exact)
        }
    }
}

fn weighted_sum(parts: impl Iterator<Item = Result<(f64, Leakage), Absence>>) -> Result<Leakage, Absence> {
    let mut sum = Leakage::exact(Evaluation::closed_form(0.0, 0));
    for part in parts {
        let (weight, part) = part?;
        sum.evaluation = sum.evaluation.plus(part.evaluation.times(weight));
        sum.bracketed |= part.bracketed;
    }
    Ok(sum)
}

/// The leakage under one component of a prior.
pub(super) fn given(protocol: &Protocol, part: &Component) -> Result<Leakage, Absence> {
    let prior = || GroupedPrior::of(part);
    Ok(Leakage::exact(match protocol {
        Protocol::Identity(_) => leakage::user_entropy(&prior()),
        Protocol::GeneralisedRandomisedResponse(grr) => leakage::randomised_response(grr.epsilon(), &prior()),
        Protocol::UnaryEncoding(ue) => leakage::unary_encoding(ue.bits(), &prior()),
        Protocol::LocalHash(hash) => leakage::unary_encoding(hash.as_unary().bits(), &prior()),
        Protocol::SubsetSelection(s) => leakage::subset_selection(s.size(), s.epsilon(), &prior()),
        Protocol::Block(block) => leakage::block(block, part.masses(), part.is_point()),
        Protocol::Deterministic(map) => leakage::deterministic(part.masses(), map.map(), part.is_point()),
        Protocol::Erasure(erasure) => leakage::erasure(erasure.reveal(), &prior()),
        Protocol::Matrix(matrix) => of_matrix(matrix, part).of_rounded(matrix.rounding()),
        Protocol::Composition(composition) => return of_composition(composition, part),
        Protocol::Product(product) => return of_product(product, part),
        Protocol::Mixture(mixture) => {
            let parts = mixture.weights().iter().zip(mixture.parts()).filter(|(weight, _)| **weight > 0.0);
            return weighted_sum(parts.map(|(weight, protocol)| Ok((*weight, given(protocol, part)?))));
        }
    }))
}

/// Adds a row to those with the same leakage: under a symmetric prior the order of its entries does not matter.
fn add_direction(rows: &mut MergedRows, row: &[f64], sorted: bool) {
    if sorted {
        let mut row = row.to_vec();
        row.sort_by(f64::total_cmp);
        rows.add(&row);
    } else {
        rows.add(row);
    }
}

fn of_matrix(matrix: &Matrix, part: &Component) -> Evaluation {
    let mut directions = MergedRows::new(matrix.inputs());
    let sorted = part.is_symmetric();
    matrix.rows().for_each(|row| add_direction(&mut directions, row, sorted));
    of_directions(&directions.into_matrix(), part)
}

fn of_directions(directions: &Matrix, part: &Component) -> Evaluation {
    let rows: Vec<&[f64]> = directions.rows().collect();
    let pairs = |row: &[f64]| part.masses().iter().copied().zip(row.iter().copied()).collect::<Vec<_>>();
    let parts: Vec<Evaluation> =
        rows.par_iter().map(|row| leakage::row(&pairs(row), part.is_point())).collect();
    parts.into_iter().fold(Evaluation::closed_form(0.0, 0), Evaluation::plus)
}

fn of_product(product: &Product, part: &Component) -> Result<Leakage, Absence> {
    let mut directions = MergedRows::new(product.inputs());
    let sorted = part.is_symmetric();
    match product.for_each_row(|row| add_direction(&mut directions, row, sorted)) {
        Ok(()) => {
            let found = of_directions(&directions.into_matrix(), part);
            Ok(Leakage::exact(found.of_rounded(product.rounding())))
        }
        Err(Error::TooLarge { .. }) => bracket(product, part),
        Err(error) => Err(error.into()),
    }
}

fn bracket(product: &Product, part: &Component) -> Result<Leakage, Absence> {
    let factors = product.factors();
    let count = |factor: &Protocol| factors.iter().filter(|other| *other == factor).count() as f64;
    let parts = different(factors).into_iter().map(|factor| Ok((count(factor), given(factor, part)?)));
    let parts: Vec<(f64, Leakage)> = parts.collect::<Result<_, Absence>>()?;
    let most = leakage::user_entropy(&GroupedPrior::of(part)).value;
    let upper = parts.iter().map(|(times, part)| times * part.ends().1).sum::<f64>().min(most);
    let lower = parts.iter().map(|(_, part)| part.ends().0).fold(0.0, f64::max);
    Ok(Leakage::between(lower, upper))
}

/// Post-processing only loses information: a composition leaks at most what its first steps leak and, if its
/// last step is a product, at least what it leaks with any one of the factors.
fn of_composition(composition: &Composition, part: &Component) -> Result<Leakage, Absence> {
    match (composition.directions(), composition.before_last()) {
        (Ok(matrix), _) => Ok(Leakage::exact(of_matrix(matrix, part).of_rounded(composition.rounding()))),
        (Err(Error::TooLarge { .. }), Some(before)) => {
            let upper = given(&before, part)?.ends().1;
            let with = |factor: &Protocol| Protocol::composition(vec![before.clone(), factor.clone()]);
            let is_product = matches!(composition.last(), Protocol::Product(_));
            let factors = different(composition.last().parts()).into_iter().filter(|_| is_product);
            let alone = factors.filter_map(|factor| given(&with(factor).ok()?, part).ok());
            let lower = alone.map(|part| part.ends().0).fold(0.0, f64::max);
            Ok(Leakage::between(lower.min(upper), upper))
        }
        (Err(error), _) => Err(error.into()),
    }
}
