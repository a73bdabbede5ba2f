//! Asymptotic utility, its ceiling, and the effective participation factor.

use std::f64::consts::{E, PI};

use super::Settings;
use super::monte_carlo::mean_over_draws;
use crate::fisher::expectation::{MeanOptions, expected_ln_det};
use crate::fisher::{BlockDesign, DenseMatrix, FisherInformation, Point, structured};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Dirichlet, Group, Prior};
use crate::model::protocol::{Block, Channel, Matrix, Protocol};
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::digamma_difference;

/// The asymptotic utility of the identity protocol, `C_μ`: the upper bound for all protocols [paper, Lemma
/// "U_as ≤ C_μ"].
///
/// # Definition
/// ```text
/// C_μ = −½ ln(2πe) − 1/(2a−2) · E Σ_x ln P_x
/// ```
///
/// # Method and cost
/// Closed form for Dirichlet priors and their mixtures, `O(1)` for each distinct parameter; Monte Carlo for a custom prior.
///
/// # Errors
/// The prior is not continuous.
pub fn truth_utility(prior: &Prior, settings: &Settings) -> Result<Evaluation, Absence> {
    let truth = |ln_p: &[f64]| -ln_p.iter().sum::<f64>();
    utility_of(prior, settings, &truth_ln_det, &truth)
}

/// Asymptotic utility `U^as_μ(Q)`: how many digits of `P` the reports of many users determine, beyond
/// `½ ln n`.
///
/// # Definition
/// ```text
/// U^as_μ(Q) = −½ ln(2πe) + 1/(2a−2) · E ln det(Qᵀ D_P Q),   D_p = diag(1/(Qp)_y)        [paper, Def. "asymptotic utility"]
/// ```
///
/// # Method and cost
/// - identity, bijections, erasure: closed form; randomised response: one integral for each distinct
///   parameter of the prior;
/// - a block design with as many inputs as blocks: one integral for each distinct mass of a block, which is a single one
///   under a symmetric prior; with fewer inputs the same and a determinant that is nearly closed
///   ([`crate::fisher`]), as an approximation if that is accurate enough or the design is large;
/// - any square matrix: `a` one-dimensional integrals, because `ln det M = 2 ln|det Q| − Σ_y ln (Qp)_y`;
/// - everything else: the expectation of the log-determinant by cubature (few inputs) or randomised
///   quasi-Monte Carlo with control variates, see [`crate::fisher::expectation`]; unary encoding, local hash
///   and subset selection without enumerating their `2^a` outputs, see [`crate::fisher`].
///
/// # Accuracy
/// As stated with the value: `1e-11` for `a ≤ 3` and for the closed and one-dimensional forms, else the
/// requested tolerance.
///
/// # Example
/// ```
/// # use sottovoce::{Prior, Protocol, metric::{Settings, asymptotic_utility}};
/// let (protocol, prior) = (Protocol::grr(3, 0.5)?, Prior::jeffreys(3)?);
/// let utility = asymptotic_utility(&protocol, &prior, &Settings::default()).unwrap();
/// assert!((utility.value + 2.3130437651572477).abs() < 1e-12);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// The prior is not continuous, the protocol is not faithful, or a combination has too many outputs.
pub fn asymptotic_utility(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    if !prior.is_continuous() {
        return Err(Absence::NotContinuous);
    }
    let (rank, a) = (protocol.rank()?.value, protocol.inputs());
    if rank < a {
        return Err(Absence::NotFaithful { rank, a });
    }
    match protocol {
        Protocol::Identity(_) | Protocol::Deterministic(_) => truth_utility(prior, settings),
        Protocol::Erasure(erasure) => {
            let gain = Evaluation::closed_form(0.5 * erasure.reveal().ln(), 2);
            Ok(truth_utility(prior, settings)?.plus(gain))
        }
        Protocol::GeneralisedRandomisedResponse(grr) => {
            let epsilon = grr.epsilon();
            let at = |ln_p: &[f64]| response_ln_det(epsilon, ln_p);
            utility_of(prior, settings, &|dirichlet| mean_response_ln_det(epsilon, dirichlet), &at)
        }
        Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_) => {
            let fisher = structured(protocol).ok_or(Absence::NotFaithful { rank, a })?;
            of_fisher(&*fisher, prior, settings)
        }
        Protocol::Block(block) => of_block(block, prior, settings),
        Protocol::Mixture(_) => match (protocol.canonical_matrix(), structured(protocol)) {
            (Ok(matrix), _) => of_matrix(&matrix, prior, settings),
            (Err(_), Some(fisher)) => of_fisher(&*fisher, prior, settings),
            (Err(error), None) => Err(error.into()),
        },
        Protocol::Matrix(_) | Protocol::Composition(_) | Protocol::Product(_) => {
            of_matrix(&protocol.canonical_matrix()?, prior, settings)
        }
    }
}

/// Effective participation factor `F_μ(Q)`: asymptotically, `n` reports carry as much information about `P`
/// as `F_μ · n` true values.
///
/// # Definition
/// ```text
/// F_μ(Q) = e^{2 U^as_μ(Q) − 2 C_μ}, in (0, 1];   0 if Q is not faithful        [paper, Def. "effective participation factor"]
/// ```
///
/// # Method and cost
/// As [`asymptotic_utility`].
///
/// # Errors
/// The prior is not continuous, or a combination has too many outputs.
pub fn effective_participation(
    utility: Result<Evaluation, Absence>,
    truth: Evaluation,
) -> Result<Evaluation, Absence> {
    let utility = match utility {
        Err(Absence::NotFaithful { .. }) => return Ok(Evaluation::closed_form(0.0, 0)),
        other => other?,
    };
    let difference = utility.plus(truth.times(-1.0));
    let value = (2.0 * difference.value).exp();
    let error = value * ((2.0 * difference.error).exp_m1() + 2.0 * f64::EPSILON);
    // A Monte Carlo error may push the value above its bound. (`min` would turn NaN into 1.)
    Ok(Evaluation::new(if value > 1.0 { 1.0 } else { value }, error, difference.method))
}

/// Upper bound on how many 8-byte numbers each thread holds to compute the asymptotic utility; `None` for
/// protocols without a structure, where the matrix dominates.
pub fn asymptotic_utility_numbers(protocol: &Protocol, prior: &Prior) -> Option<f64> {
    let parts = prior.dirichlets().unwrap_or_default();
    let smallest = parts.iter().flat_map(|(_, part)| part.groups()).map(|group| group.alpha);
    let smallest = smallest.fold(1.0, f64::min);
    match protocol {
        // In closed form.
        Protocol::Identity(_) | Protocol::GeneralisedRandomisedResponse(_) | Protocol::Erasure(_) => {
            Some(0.0)
        }
        _ => Some(structured(protocol)?.numbers(smallest)),
    }
}

/// `U` from the mean of a log-determinant.
fn utility_of(
    prior: &Prior,
    settings: &Settings,
    under: &dyn Fn(&Dirichlet) -> Evaluation,
    at: &(dyn Fn(&[f64]) -> f64 + Sync),
) -> Result<Evaluation, Absence> {
    let share = 0.5 / (prior.inputs() as f64 - 1.0);
    let mean = mean_over_prior(prior, settings, under, at)?;
    Ok(mean.times(share).plus(Evaluation::closed_form(-0.5 * (2.0 * PI * E).ln(), 1)))
}

/// The mean of a log-determinant: under each Dirichlet component, or over draws of a custom prior. The
/// tolerance of the settings is that of the utility, a `2(a − 1)`-th of it.
pub(super) fn mean_over_prior(
    prior: &Prior,
    settings: &Settings,
    under: &dyn Fn(&Dirichlet) -> Evaluation,
    at: &(dyn Fn(&[f64]) -> f64 + Sync),
) -> Result<Evaluation, Absence> {
    match prior {
        Prior::Points(_) => Err(Absence::NotContinuous),
        Prior::Smooth(_) | Prior::Custom(_) => {
            let share = 0.5 / (prior.inputs() as f64 - 1.0);
            let settings = Settings { tolerance: Some(settings.mean_tolerance() / share), ..*settings };
            mean_over_draws(prior, &settings, |ln_p| Ok(at(ln_p)))
        }
        Prior::Dirichlet(_) | Prior::DirichletMixture(_) | Prior::Adaptive(_) => {
            let parts = prior.dirichlets().unwrap_or_default().into_iter();
            let sum = Evaluation::closed_form(0.0, 0);
            Ok(parts.fold(sum, |sum, (weight, dirichlet)| sum.plus(under(dirichlet).times(weight))))
        }
    }
}

/// `−E Σ_x ln P_x = Σ_x (ψ(α0) − ψ(α_x))`.
fn truth_ln_det(dirichlet: &Dirichlet) -> Evaluation {
    let gap = |group: &Group| digamma_difference(group.alpha, group.others);
    let sum = dirichlet.groups().iter().map(|group| group.count as f64 * gap(group)).sum();
    Evaluation::closed_form(sum, 16)
}

/// `ln|det Q|` and `−Σ_y ln(Qp)_y` of randomised response share the normaliser `a + β`:
/// `ln det M = (2a − 2) ln β − (a − 2) ln(a+β) − Σ_x ln(1 + β p_x)`, `β = e^ε − 1`.
fn response_constant(epsilon: f64, a: f64) -> f64 {
    let beta = epsilon.exp_m1();
    (2.0 * a - 2.0) * beta.ln() - (a - 2.0) * (a + beta).ln()
}

fn response_ln_det(epsilon: f64, ln_p: &[f64]) -> f64 {
    let beta = epsilon.exp_m1();
    response_constant(epsilon, ln_p.len() as f64) - ln_p.iter().map(|l| (beta * l.exp()).ln_1p()).sum::<f64>()
}

fn mean_response_ln_det(epsilon: f64, dirichlet: &Dirichlet) -> Evaluation {
    let a = dirichlet.alpha().len() as f64;
    let constant = response_constant(epsilon, a);
    let start =
        Evaluation::new(constant, 4.0 * f64::EPSILON * (constant.abs() + a * epsilon), Method::ClosedForm);
    dirichlet.groups().iter().fold(start, |sum, group| {
        let form = LinearForm::from_deviations(&[(group.alpha, epsilon.exp_m1()), (group.others, 0.0)]);
        let mean = form.mean_ln();
        sum.plus(Evaluation::new(mean.value, mean.error, Method::Quadrature).times(-(group.count as f64)))
    })
}

fn of_fisher(
    fisher: &dyn FisherInformation,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    let effort =
        MeanOptions { tolerance: settings.mean_tolerance(), seed: settings.seed, ..MeanOptions::default() };
    let at = |ln_p: &[f64]| fisher.ln_det(&Point::from_ln_weights(ln_p.to_vec()));
    let utility =
        utility_of(prior, settings, &|dirichlet| expected_ln_det(fisher, dirichlet.alpha(), &effort), &at)?;
    // The low-rank form fails where rounding leaves no positive definite matrix.
    if utility.value.is_nan() {
        Err(Absence::NoMethod { what: "a mixture this ill-conditioned" })
    } else {
        Ok(utility)
    }
}

/// The fewest inputs for which the approximation of a block design was calibrated. Among fewer residues the number of blocks that
/// hold three of them is not near its mean: at `a = 3`, `v = 7`, `k = 3`, epsilon = 0.08 it was 25 stated errors off.
const CALIBRATED_INPUTS: usize = 12;

/// A block design. With fewer inputs than blocks the approximation is taken if it is as accurate as was asked for, or if nothing
/// else is possible; its error is stated.
fn of_block(block: &Block, prior: &Prior, settings: &Settings) -> Result<Evaluation, Absence> {
    let fisher = BlockDesign::new(block);
    let at = |ln_p: &[f64]| fisher.ln_det(&Point::from_ln_weights(ln_p.to_vec()));
    let is_possible = fisher.is_computable();
    if prior.dirichlets().is_some() || block.inputs() == block.order() {
        let under = |dirichlet: &Dirichlet| fisher.mean_ln_det(dirichlet.alpha());
        let found = utility_of(prior, settings, &under, &at)?;
        let accurate = block.inputs() >= CALIBRATED_INPUTS && found.error <= settings.mean_tolerance();
        if found.method != Method::Approximation || accurate || !is_possible {
            return Ok(found);
        }
    }
    if !is_possible {
        return Err(Absence::NoMethod {
            what: "a custom prior on some of the residues of a large block design",
        });
    }
    of_fisher(&fisher, prior, settings)
}

/// A matrix in canonical form.
fn of_matrix(matrix: &Matrix, prior: &Prior, settings: &Settings) -> Result<Evaluation, Absence> {
    let (a, b) = (matrix.inputs(), matrix.rows().len());
    if a == b && prior.dirichlets().is_some() {
        let ln_det = ln_absolute_determinant(matrix)?;
        let under = |dirichlet: &Dirichlet| mean_square_ln_det(matrix, ln_det, dirichlet);
        return utility_of(prior, settings, &under, &|_| f64::NAN);
    }
    of_fisher(&DenseMatrix::new(a, matrix.rows().flatten().copied().collect()), prior, settings)
}

/// `2 ln|det Q| − Σ_y E ln (QP)_y`.
fn mean_square_ln_det(matrix: &Matrix, ln_det: Evaluation, dirichlet: &Dirichlet) -> Evaluation {
    matrix.rows().fold(ln_det.times(2.0), |sum, row| {
        let pairs: Vec<_> = dirichlet.alpha().iter().copied().zip(row.iter().copied()).collect();
        let mean = LinearForm::from_coefficients(&pairs).mean_ln();
        sum.plus(Evaluation::new(mean.value, mean.error, Method::Quadrature).times(-1.0))
    })
}

/// `ln|det Q|` as the sum of the logarithms of the singular values. Each has an error of one rounding of the
/// largest.
fn ln_absolute_determinant(matrix: &Matrix) -> Result<Evaluation, Absence> {
    let failed =
        || crate::model::error::Error::SingularValues { rows: matrix.rows().len(), columns: matrix.inputs() };
    let values = matrix.as_mat().singular_values().map_err(|_| failed())?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    let sum = values.iter().map(|value| value.ln()).sum();
    let error = values.iter().map(|value| 4.0 * f64::EPSILON * largest / value).sum();
    Ok(Evaluation::new(sum, error, Method::ClosedForm))
}
