//! Memoised noise in a plan: the permanent report, and how each round draws from it.
//!
//! A round that is drawn from a permanent report by noise of the same kind is of that kind again, with less truth in it:
//!
//! ```text
//! randomised response   t = (e^ε − 1)/(e^ε + a − 1)   t_round = t_permanent t_then
//! a bit                 p ↦ p κ + (1 − p) λ           for p = κ_permanent and λ_permanent
//! ```
//!
//! So a round at the level `plan.round_epsilon` is as accurate as fresh noise of that level, and the plan is found as for fresh noise. Then each protocol is taken apart: into permanent
//! reports at the share of `plan.epsilon`, and what is drawn from them.

use super::groups::Study;
use crate::design::Family;
use crate::spec::{ProtocolKind, ProtocolSpec};

/// Those whose rounds are of the same kind.
const FAMILIES: [Family; 3] = [Family::Grr, Family::Rappor, Family::Oue];

/// How much larger the level of all rounds is than that of one.
pub(super) fn ratio(study: &Study) -> f64 {
    study.file.plan.round_epsilon.map_or(1.0, |level| study.file.plan.epsilon / level)
}

/// Those of the families that can be drawn from permanent reports as the study wants it.
pub(super) fn possible(study: &Study, families: &[Family]) -> Vec<Family> {
    let any = ratio(study) == 1.0;
    families.iter().filter(|family| any || FAMILIES.contains(family)).copied().collect()
}

/// The protocol of one round: of what `then` draws from the reports of `first`.
pub(super) fn one_round(first: &ProtocolSpec, then: &ProtocolSpec) -> ProtocolSpec {
    match (&first.kind, &then.kind) {
        (ProtocolKind::Grr { a, epsilon }, ProtocolKind::Grr { a: values, epsilon: again })
            if a == values =>
        {
            let truth = truth(*a, *epsilon) * truth(*a, *again);
            ProtocolKind::Grr { a: *a, epsilon: level(*a, truth) }.into()
        }
        (_, ProtocolKind::Ue { a, kappa, lambda }) => match bits(first) {
            Some((values, [one, other])) if values == *a => {
                let noisy = |p: f64| p * kappa + (1.0 - p) * lambda;
                ProtocolKind::Ue { a: *a, kappa: noisy(one), lambda: noisy(other) }.into()
            }
            _ => composed(first, then),
        },
        _ => composed(first, then),
    }
}

fn composed(first: &ProtocolSpec, then: &ProtocolSpec) -> ProtocolSpec {
    ProtocolKind::Composition { steps: vec![first.clone(), then.clone()] }.into()
}

/// The probability of the truth beyond that of any other value.
fn truth(a: usize, epsilon: f64) -> f64 {
    epsilon.exp_m1() / (epsilon.exp() + (a - 1) as f64)
}

/// The level at which the truth has this probability beyond that of any other value.
fn level(a: usize, truth: f64) -> f64 {
    (a as f64 * truth / (1.0 - truth)).ln_1p()
}

/// The number of bits and the probabilities that the true one and another one are set.
fn bits(spec: &ProtocolSpec) -> Option<(usize, [f64; 2])> {
    match spec.kind {
        ProtocolKind::Ue { a, kappa, lambda } => Some((a, [kappa, lambda])),
        ProtocolKind::Oue { a, epsilon } => Some((a, [0.5, 1.0 / (epsilon.exp() + 1.0)])),
        ProtocolKind::Rappor { a, epsilon } => {
            let flip = 1.0 / ((0.5 * epsilon).exp() + 1.0);
            Some((a, [1.0 - flip, flip]))
        }
        _ => None,
    }
}

/// Takes the protocol of a round apart: permanent reports of a level that is larger by a factor, and what is drawn from them.
pub(super) fn remembered(round: &ProtocolSpec, ratio: f64) -> Option<(ProtocolSpec, ProtocolSpec)> {
    let (first, then) = match round.kind {
        ProtocolKind::Grr { a, epsilon } => {
            let again = truth(a, epsilon) / truth(a, epsilon * ratio);
            let first = ProtocolKind::Grr { a, epsilon: epsilon * ratio };
            (first, ProtocolKind::Grr { a, epsilon: level(a, again) })
        }
        ProtocolKind::Oue { a, epsilon } => (
            ProtocolKind::Oue { a, epsilon: epsilon * ratio },
            ProtocolKind::Ue { a, kappa: 1.0, lambda: 0.0 },
        ),
        ProtocolKind::Rappor { a, epsilon } => {
            let first = ProtocolKind::Rappor { a, epsilon: epsilon * ratio };
            (first, ProtocolKind::Ue { a, kappa: 1.0, lambda: 0.0 })
        }
        _ => return None,
    };
    let (first, mut then) = (ProtocolSpec::from(first), ProtocolSpec::from(then));
    if let (ProtocolKind::Ue { kappa, lambda, .. }, Some((_, permanent)), Some((_, wanted))) =
        (&mut then.kind, bits(&first), bits(round))
    {
        // What keeps a bit as it is, so that another one becomes as likely as it is in the round; the true one follows by symmetry.
        *kappa = (1.0 - permanent[1] - wanted[1]) / (1.0 - 2.0 * permanent[1]);
        *lambda = 1.0 - *kappa;
    }
    Some((first, then))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Written;
    use crate::spec::PriorSpec;

    fn built(spec: &ProtocolSpec) -> sottovoce::Protocol {
        Written::from(spec.clone()).check(&PriorSpec::Jeffreys).unwrap().protocol
    }

    /// Matrices of the round, and of what is drawn from permanent reports.
    #[test]
    fn a_round_that_is_taken_apart_is_put_together_again() {
        for (a, epsilon, ratio) in [(2, 1.0, 2.0), (5, 0.3, 7.0), (40, 2.0, 1.5)] {
            let rounds = [
                ProtocolKind::Grr { a, epsilon },
                ProtocolKind::Oue { a, epsilon },
                ProtocolKind::Rappor { a, epsilon },
            ];
            for round in rounds.map(ProtocolSpec::from) {
                let (first, then) = remembered(&round, ratio).unwrap();
                assert!((built(&first).level().unwrap() - epsilon * ratio).abs() < 1e-9);
                let again = built(&one_round(&first, &then));
                assert!((again.level().unwrap() - epsilon).abs() < 1e-9, "{round:?} {again:?}");
                let kept = sottovoce::metric::Rounds::memoised(built(&first), built(&then)).unwrap();
                assert!((kept.level(1).number().unwrap().value - epsilon).abs() < 1e-9);
            }
        }
        assert!(remembered(&ProtocolKind::Lh { a: 9, g: Some(3), epsilon: 1.0 }.into(), 2.0).is_none());
    }

    /// Randomised response after randomised response, entry by entry.
    #[test]
    fn randomised_response_twice_is_randomised_response() {
        let grr = |epsilon| ProtocolSpec::from(ProtocolKind::Grr { a: 4, epsilon });
        let (once, twice) = (one_round(&grr(1.5), &grr(0.8)), composed(&grr(1.5), &grr(0.8)));
        let (once, twice) = (built(&once).to_matrix().unwrap(), built(&twice).to_matrix().unwrap());
        for (row, expected) in once.rows().zip(twice.rows()) {
            assert!(row.iter().zip(expected).all(|(l, r)| (l - r).abs() < 1e-14));
        }
    }
}
