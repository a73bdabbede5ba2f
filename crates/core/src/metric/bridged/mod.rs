//! The bridged approximation of `I(Y⃗;P)`: exact at `n = 0` and `n → ∞`, nearly so at `n = 1` for protocols that treat values
//! alike, and at all `n` for two values, two outputs and a symmetric prior.
//!
//! # Formula
//! For each value `x` take the two-valued problem "is it `x` or not?", with the channel that knows as much about
//! `P_x` as the whole report does ([`efficient_channel`]). Its information `I_x(n)` is exact and cheap at any
//! `n` ([`two_valued`]). The problems overlap in one degree of freedom, since frequencies sum to 1, and
//! ```text
//! I(Y⃗;P)  ≈  Σ_x I_x(n) − B(n)
//! ```
//! takes the overlap `B` off once. It is known where it matters:
//! ```text
//! B(n) → ½ ln n − c,   c = r_μ(Q) − Σ_x r_x       as n → ∞, from the constants of growth
//! B(1) = Σ_x I_x(1) − I(Y;P)                      from the information of one report, which is an integral
//! ```
//! Between these `B` is the information of one more two-valued problem, with a prior `Beta(s, s)`, seen `ρ n`
//! times: `ρ` follows from the limit and `s` from `B(1)`. For two values, two outputs and a
//! symmetric prior this is exact (`s = α`, `ρ = 1`, `B = I_x`). As `s` grows it tends to the information of a Gaussian problem, `½ ln(1 + n e^{−2c})`, which is
//! used where `B(1)` asks for no more.
//!
//! # Why it works
//! Near a face `P_x = 0` of the simplex the prior is steep and reports blur it over `√(v_x/n)`. That is what
//! makes the asymptote useless at real sizes, and it is a matter of one value at a time. See
//! `docs/derivations.md` for the proof that the difference tends to 0.
//!
//! # Accuracy
//! The stated error is calibrated: it covers at least 95 % of cases ([`calibration`]).

mod calibration;
mod efficient_channel;
mod overlap;
mod two_valued;

use super::average_privacy::given as leakage_given;
use super::{Settings, growth_constant, private_leakage};
use crate::information::binary_questions::BinaryQuestions;
use crate::information::users_side;
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Component, Dirichlet, DirichletMixture, Prior};
use crate::model::protocol::Protocol;
use calibration::Calibration;
use overlap::Overlap;
use two_valued::TwoValued;

/// The approximation for one protocol under one prior; evaluating it at several `n` shares the preparation.
#[derive(Debug)]
pub(super) enum Bridged {
    /// Under a Dirichlet prior.
    One(Box<Bridge>),
    /// Under a mixture of Dirichlet priors.
    Mixture(MixtureBridge),
}

impl Bridged {
    /// Prepares the approximation.
    ///
    /// # Errors
    /// The prior is not a mixture of Dirichlet distributions, or the protocol is not faithful.
    pub(super) fn new(protocol: &Protocol, prior: &Prior, settings: &Settings) -> Result<Self, Absence> {
        match prior {
            Prior::Dirichlet(dirichlet) => {
                Ok(Bridged::One(Box::new(Bridge::new(protocol, dirichlet, settings)?)))
            }
            Prior::DirichletMixture(mixture) => {
                Ok(Bridged::Mixture(MixtureBridge::new(protocol, mixture, settings)?))
            }
            Prior::Adaptive(adaptive) => {
                Ok(Bridged::Mixture(MixtureBridge::new(protocol, adaptive.mixture(), settings)?))
            }
            Prior::Points(_) | Prior::Smooth(_) | Prior::Custom(_) => Err(Absence::NoMethod {
                what: "an approximation under points, a smoothing or a custom prior",
            }),
        }
    }

    /// `I(Y⃗;P)` of `n ≥ 1` users.
    pub(super) fn information(&self, n: u64) -> Evaluation {
        match self {
            Bridged::One(bridge) => bridge.information(n),
            Bridged::Mixture(mixture) => mixture.information(n),
        }
    }
}

/// The information of one report about `P`, exactly: `I(Y;P) = I(X;Y) − I(X;Y|P)`, the leakage about a user of
/// whom only the mean of the prior is known, less that about a user whose `P` is known.
///
/// # Errors
/// There is no method for the leakage, or it is only bracketed.
pub(super) fn one_report(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    let parts = prior.dirichlets().ok_or(Absence::NoMethod { what: "one report under this prior" })?;
    let mut mean = vec![0.0; prior.inputs()];
    for (weight, dirichlet) in &parts {
        let total = dirichlet.total();
        mean.iter_mut().zip(dirichlet.alpha()).for_each(|(m, alpha)| *m += weight * alpha / total);
    }
    let (known, given) =
        (leakage_given(protocol, &Component::Point(mean))?, private_leakage(protocol, prior, settings)?);
    if known.bracketed || given.bracketed {
        return Err(Absence::NoMethod { what: "one report of a protocol with this many outputs" });
    }
    let difference = known.evaluation.plus(given.evaluation.times(-1.0));
    Ok(Evaluation { value: difference.value.max(0.0), ..difference })
}

/// The approximation under a Dirichlet prior.
#[derive(Debug)]
pub(super) struct Bridge {
    values: usize,
    /// The distinct two-valued problems, and how many values each stands for.
    problems: Vec<(TwoValued, f64)>,
    overlap: Overlap,
    growth: Evaluation,
    calibration: Calibration,
    /// The most that one report can tell, if it is known.
    most_of_one: Option<f64>,
    dirichlet: Dirichlet,
}

impl Bridge {
    fn new(protocol: &Protocol, dirichlet: &Dirichlet, settings: &Settings) -> Result<Self, Absence> {
        let (prior, values) = (Prior::Dirichlet(dirichlet.clone()), protocol.inputs());
        let growth = growth_constant(protocol, &prior, settings)?;
        let bits = efficient_channel::bits(protocol, dirichlet)?;
        let questions = BinaryQuestions::new(&[(1.0, dirichlet)], |x| bits[x]);
        let mut counts = vec![0.0; questions.problems.len()];
        questions.of_value.iter().for_each(|problem| counts[*problem] += 1.0);
        let problems: Vec<(TwoValued, f64)> =
            questions.problems.into_iter().map(TwoValued::new).zip(counts).collect();
        let sum = |of: &dyn Fn(&TwoValued) -> Evaluation| {
            let nothing = Evaluation::closed_form(0.0, 0);
            problems.iter().fold(nothing, |sum, (problem, count)| sum.plus(of(problem).times(*count)))
        };
        let constants = sum(&TwoValued::growth_constant);
        let limit = growth.plus(constants.times(-1.0));
        let together = sum(&|problem| problem.information(1)).value;
        let report = one_report(protocol, &prior, settings).ok();
        let one = report.map(|report| report.value);
        let smallest = dirichlet.alpha().iter().copied().fold(f64::INFINITY, f64::min);
        let overlap = Overlap::new(&bits, limit, one.map(|one| together - one), smallest);
        let mismatch =
            one.map_or(0.0, |one| (together - overlap.at(1.0) - one).abs() / one.max(f64::MIN_POSITIVE));
        let calibration = Calibration::new(protocol, dirichlet, &bits, mismatch);
        let dirichlet = dirichlet.clone();
        let most_of_one = report.map(|report| report.value + report.error);
        Ok(Bridge { values, problems, overlap, growth, calibration, most_of_one, dirichlet })
    }

    fn information(&self, n: u64) -> Evaluation {
        let nothing = Evaluation::closed_form(0.0, 0);
        let of_problem = |(problem, count): &(TwoValued, f64)| problem.information(n).times(*count);
        let sum = self.problems.iter().map(of_problem).fold(nothing, Evaluation::plus);
        let most = self.bound(n);
        let value = (sum.value - self.overlap.at(n as f64)).clamp(0.0, most);
        let asymptote = 0.5 * (self.values as f64 - 1.0) * (n as f64).ln() + self.growth.value;
        let error = self.calibration.error(value, asymptote) + sum.error + self.growth.error;
        Evaluation::new(value, error.min(value.max(most - value)), Method::Approximation)
    }

    /// `min(n I(Y;P), I(X⃗;P))`: reports are independent given `P`, and tell no more than the true values.
    fn bound(&self, n: u64) -> f64 {
        let truth = users_side(&self.dirichlet, n).distribution;
        let reports = self.most_of_one.map_or(f64::INFINITY, |one| n as f64 * one);
        reports.min(truth.value + truth.error).max(0.0)
    }
}

/// The approximation under a mixture of Dirichlet priors with component `J`:
/// `I(Y⃗;P) = I(Y⃗;J) + Σ_j w_j I_j(Y⃗;P)`.
///
/// `I(Y⃗;J)` is at least what the count of any one value tells about `J`, which is exact, and at most `H(J)`
/// and about what all counts tell together. The middle of that bracket is used, and half of it is the error.
#[derive(Debug)]
pub(super) struct MixtureBridge {
    parts: Vec<(f64, Bridge)>,
    /// The distinct two-valued problems under the mixture, under each of its components, and their number.
    problems: Vec<(TwoValued, Vec<TwoValued>, f64)>,
}

impl MixtureBridge {
    fn new(protocol: &Protocol, mixture: &DirichletMixture, settings: &Settings) -> Result<Self, Absence> {
        let pairs: Vec<(f64, &Dirichlet)> =
            mixture.weights().iter().copied().zip(mixture.parts()).filter(|(w, _)| *w > 0.0).collect();
        let parts = pairs.iter().map(|(w, part)| Ok((*w, Bridge::new(protocol, part, settings)?)));
        let parts: Vec<(f64, Bridge)> = parts.collect::<Result<_, Absence>>()?;
        let bits = efficient_channel::bits(protocol, pairs[0].1)?;
        let questions = BinaryQuestions::new(&pairs, |x| bits[x]);
        let mut counts = vec![0.0; questions.problems.len()];
        questions.of_value.iter().for_each(|problem| counts[*problem] += 1.0);
        let problems = questions.problems.into_iter().zip(counts).map(|(problem, count)| {
            let components = TwoValued::components(&problem);
            (TwoValued::new(problem), components, count)
        });
        Ok(MixtureBridge { parts, problems: problems.collect() })
    }

    fn information(&self, n: u64) -> Evaluation {
        let nothing = Evaluation::closed_form(0.0, 0);
        let within = self
            .parts
            .iter()
            .map(|(weight, bridge)| bridge.information(n).times(*weight))
            .fold(nothing, Evaluation::plus);
        let entropy: f64 = self.parts.iter().map(|(weight, _)| -weight * weight.ln()).sum();
        let (mut least, mut most) = (0.0f64, 0.0);
        for (problem, components, count) in &self.problems {
            let given: f64 = components
                .iter()
                .zip(&self.parts)
                .map(|(component, (weight, _))| weight * component.information(n).value)
                .sum();
            let told = (problem.information(n).value - given).max(0.0);
            least = least.max(told);
            most += count * told;
        }
        let (least, most) = (least.min(entropy), most.min(entropy));
        let of_component = Evaluation::new(0.5 * (least + most), 0.5 * (most - least), Method::Approximation);
        within.plus(of_component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::information::{InformationOptions, distribution_information};

    /// For two values the overlap is the problem itself.
    #[test]
    fn two_values_are_exact() {
        for (rows, alpha) in [
            ([[0.7, 0.2], [0.3, 0.8]], [0.5, 0.5]),
            ([[0.9, 0.1], [0.1, 0.9]], [0.1, 0.1]),
            ([[0.6, 0.55], [0.4, 0.45]], [3.0, 3.0]),
        ] {
            let protocol = Protocol::matrix(rows.map(|row| row.to_vec()).to_vec()).unwrap();
            let prior = Prior::dirichlet(alpha.to_vec()).unwrap();
            let bridged = Bridged::new(&protocol, &prior, &Settings::default()).unwrap();
            for n in [1, 10, 300] {
                let exact =
                    distribution_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
                let found = bridged.information(n);
                assert!(
                    (found.value - exact.value).abs() < 1e-3,
                    "{rows:?} {alpha:?} {n}: {found:?} {exact:?}"
                );
            }
        }
    }
}
