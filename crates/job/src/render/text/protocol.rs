//! Protocols in words: in a line, and in a sentence.

use std::fmt;

use sottovoce::protocol::DifferenceSetFamily;

use crate::describe::{Mechanism, UnarySetting};
use crate::render::number::{level, tidy};
use crate::spec::{ProtocolKind, ProtocolSpec};

/// A protocol in a line: its kind and parameters.
pub fn summary(spec: &ProtocolSpec) -> String {
    summarised(spec, |epsilon| tidy(epsilon).to_string())
}

/// As [`summary`], with a level that was solved for in few digits, cut toward privacy.
pub(crate) fn brief(spec: &ProtocolSpec) -> String {
    summarised(spec, level)
}

fn summarised(spec: &ProtocolSpec, level: impl Fn(f64) -> String) -> String {
    use ProtocolKind as K;
    let name = spec.name();
    let level = |epsilon: &f64| format!("epsilon = {}", level(*epsilon));
    match &spec.kind {
        K::Identity { a } => format!("{name}, a = {a}"),
        K::Grr { a, epsilon } | K::Rappor { a, epsilon } | K::Oue { a, epsilon } | K::Blh { a, epsilon } => {
            format!("{name}, a = {a}, {}", level(epsilon))
        }
        K::Ue { a, kappa, lambda } => {
            format!("{name}, a = {a}, kappa = {}, lambda = {}", tidy(*kappa), tidy(*lambda))
        }
        K::Lh { a, g: Some(g), epsilon } => format!("{name}, a = {a}, g = {g}, {}", level(epsilon)),
        K::Subset { a, k: Some(k), epsilon } => format!("{name}, a = {a}, k = {k}, {}", level(epsilon)),
        K::Block { a, v: Some(v), k: Some(k), epsilon } => {
            format!("{name}, a = {a}, v = {v}, k = {k}, {}", level(epsilon))
        }
        K::Lh { a, epsilon, .. } | K::Subset { a, epsilon, .. } | K::Block { a, epsilon, .. } => {
            format!("{name}, a = {a}, {}", level(epsilon))
        }
        K::Deterministic { map } => format!("{name}, a = {}", map.len()),
        K::Erasure { a, reveal } => format!("{name}, a = {a}, reveal = {}", tidy(*reveal)),
        K::Matrix { rows } => {
            format!("{name}, {} outputs of {} inputs", rows.len(), rows.first().map_or(0, Vec::len))
        }
        K::Composition { steps } => format!("{name} of {} steps", steps.len()),
        K::Product { factors } => format!("{name} of {} factors", factors.len()),
        K::Mixture { parts, .. } => format!("{name} of {} parts", parts.len()),
    }
}

/// The difference set whose shifts are the blocks of a design.
fn difference_set(family: DifferenceSetFamily) -> String {
    match family {
        DifferenceSetFamily::Trivial => "a single number".into(),
        DifferenceSetFamily::Singer { q, m: 2 } => {
            format!("a line of the projective plane over {q} elements")
        }
        DifferenceSetFamily::Singer { q, m } => {
            format!("a hyperplane of the projective space of dimension {m} over {q} elements")
        }
        DifferenceSetFamily::Paley => "the squares modulo a prime".into(),
        DifferenceSetFamily::TwinPrimes { p } => format!("the set of the twin primes {p} and {}", p + 2),
        DifferenceSetFamily::FourthPowers => "the fourth powers modulo a prime".into(),
        DifferenceSetFamily::FourthPowersAndZero => "zero and the fourth powers modulo a prime".into(),
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Mechanism::Truth => f.write_str("Reports the true value."),
            Mechanism::RandomisedResponse { truth, lie, others } => write!(
                f,
                "Randomised response: reports the true value with probability {truth:.4} and {} with probability {lie:.4}.",
                each_other(others)
            ),
            Mechanism::UnaryEncoding { setting, kappa, lambda, others } => write!(
                f,
                "{setting}: reports a set that contains the true value with probability {kappa:.4} and {} with probability {lambda:.4}.",
                each_other(others)
            ),
            Mechanism::LocalHash { buckets } => write!(
                f,
                "Local hash: draws a random function from the values to {buckets} buckets and reports it with the bucket of the true value, passed through randomised response."
            ),
            Mechanism::SubsetSelection { size, inclusion } => write!(
                f,
                "Subset selection: reports a set of {size} values that contains the true one with probability {inclusion:.4}."
            ),
            Mechanism::Block { blocks, size, together, family, is_complement, inclusion } => {
                let whose = if is_complement { "the complement of " } else { "" };
                let numbers = if size == 1 { "number" } else { "numbers" };
                write!(
                    f,
                    "Block design: reports one of {blocks} sets of {size} {numbers} that contains the value with probability {inclusion:.4}. The sets are the shifts of {whose}{}; any two numbers are together in {together} of them.",
                    difference_set(family)
                )
            }
            Mechanism::Deterministic { results } => {
                write!(f, "Reports a function of the true value that has {results} different results.")
            }
            Mechanism::Erasure { reveal } => {
                write!(f, "Reports the true value with probability {reveal:.4}, and a blank otherwise.")
            }
            Mechanism::Matrix => f.write_str(
                "Reports output y for value x with the probability in row y, column x of a matrix.",
            ),
            Mechanism::Composition { steps } => write!(
                f,
                "Passes the value through {steps} steps, one after another, and reports what the last one gives."
            ),
            Mechanism::Product { factors } => {
                write!(f, "Reports the results of {factors} protocols on the same value, all together.")
            }
            Mechanism::Mixture { parts } => {
                write!(f, "Draws one of {parts} protocols at random, and reports which one and its result.")
            }
        }
    }
}

fn each_other(others: usize) -> String {
    if others == 1 { "the other value".into() } else { format!("each of the {others} others") }
}

impl fmt::Display for UnarySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnarySetting::General => "Unary encoding",
            UnarySetting::Rappor => "Basic RAPPOR",
            UnarySetting::Optimised => "Optimised unary encoding",
            UnarySetting::BinaryLocalHash => "Binary local hash",
        })
    }
}
