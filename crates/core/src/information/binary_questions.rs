//! The two-valued problem of each value: "is it `x` or not?"
//!
//! A report of randomised response, unary encoding, local hash, subset selection or a block design either *speaks
//! for* `x` or does not: the reported value is `x`, the bit of `x` is set, the hash of `x` is the reported one, the
//! subset or block contains `x`. Users with value `x` send such a report with probability `κ`, all others with probability
//! `λ`. So the count of these reports depends on `P_x` alone, and under a Dirichlet prior
//! ```text
//! P_x ~ Beta(α_x, α_0 − α_x),      S_x | P ~ Binomial(n, κ P_x + λ (1 − P_x))
//! ```
//! is a problem with two inputs and two outputs, whose quantities are exact and cheap at any `n`
//! ([`super::one_dimensional`]).

use std::collections::HashMap;

use super::one_dimensional::Count;
use crate::likelihood::reduced::Reduced;
use crate::model::prior::{Component, Dirichlet};
use crate::model::protocol::{BitNoise, Protocol};

/// With which probabilities a report speaks for the user's own value (`κ`) and for another one (`λ`); `None`
/// for protocols in which this depends on the values.
pub(crate) fn speaks_for(protocol: &Protocol) -> Option<BitNoise> {
    match protocol {
        Protocol::GeneralisedRandomisedResponse(grr) => {
            Some(BitNoise::subset(protocol.inputs(), 1, grr.epsilon()))
        }
        Protocol::SubsetSelection(subset) => {
            Some(BitNoise::subset(protocol.inputs(), subset.size(), subset.epsilon()))
        }
        Protocol::Block(block) => Some(block.bits()),
        Protocol::UnaryEncoding(unary) => Some(*unary.bits()),
        Protocol::LocalHash(hash) => Some(*hash.as_unary().bits()),
        _ => None,
    }
}

/// The two-valued problems of all values, each distinct one once.
pub(crate) struct BinaryQuestions {
    pub(crate) problems: Vec<Reduced>,
    /// The problem of each value.
    pub(crate) of_value: Vec<usize>,
}

impl BinaryQuestions {
    /// The problems under a mixture of Dirichlet distributions, where a report speaks for `x` as `bit(x)` says.
    pub(crate) fn new(parts: &[(f64, &Dirichlet)], bit: impl Fn(usize) -> BitNoise) -> Self {
        let a = parts.first().map_or(0, |(_, dirichlet)| dirichlet.alpha().len());
        let (mut seen, mut problems) = (HashMap::new(), Vec::new());
        let of_value = (0..a).map(|x| {
            let bit = bit(x);
            let parameters = parts.iter().map(|(_, d)| d.alpha()[x]).chain([bit.kappa, bit.lambda]);
            let key: Vec<u64> = parameters.map(f64::to_bits).collect();
            *seen.entry(key).or_insert_with(|| {
                problems.push(problem(parts, x, &bit));
                problems.len() - 1
            })
        });
        BinaryQuestions { of_value: of_value.collect(), problems }
    }

    /// The count of reports that speak for a value, for each distinct problem.
    pub(crate) fn counts(&self, n: u64) -> Vec<Count> {
        self.problems.iter().map(|problem| Count::new(problem, n)).collect()
    }

    /// The sum over all values of a number for each distinct problem.
    pub(crate) fn total(&self, numbers: &[f64]) -> f64 {
        self.of_value.iter().map(|i| numbers[*i]).sum()
    }
}

/// The reduced problem in which only "`x` or not" is asked and reported.
fn problem(parts: &[(f64, &Dirichlet)], x: usize, bit: &BitNoise) -> Reduced {
    let component = |(weight, dirichlet): &(f64, &Dirichlet)| {
        let alpha = dirichlet.alpha();
        let others = alpha.iter().enumerate().filter(|(y, _)| *y != x).map(|(_, alpha_y)| alpha_y).sum();
        (*weight, Component::Dirichlet(vec![alpha[x], others]))
    };
    let parts: Vec<(f64, Component)> = parts.iter().map(component).collect();
    let mean: f64 = parts.iter().map(|(w, component)| w * component.mean()[0]).sum();
    let rows = [[bit.kappa, bit.lambda], [bit.kappa_complement, bit.lambda_complement]];
    let typical = rows.map(|[own, other]| own * mean + other * (1.0 - mean));
    let ratios = rows.iter().zip(typical).map(|(row, pi)| row.map(|q| q / pi).to_vec()).collect();
    Reduced { typical: typical.to_vec(), ratios, parts }
}
