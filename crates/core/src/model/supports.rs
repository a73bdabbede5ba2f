//! How many reports support each input: all that a linear estimate needs from reports that are sets of
//! inputs.
//!
//! A report of randomised response supports the reported value, one of unary encoding the inputs whose bit is
//! set, one of local hash the inputs in the reported bucket, one of subset selection the members of the set, one of a
//! block design those of the block.
//! In each case the support of `x` is a Bernoulli variable whose probability depends only on whether the user
//! holds `x`, and is the same for all `x`:
//! ```text
//! P(report supports x | user holds x) = κ,   P(report supports x | user holds another value) = λ
//! ```

use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::protocol::{BitNoise, Block, Channel, Protocol, supported};
use crate::model::tallies::Tallies;
use crate::numerics::difference_set::index;

/// The probabilities that reports support one input, or two at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SupportRates {
    /// `κ`: the user's own value is supported.
    pub own: f64,
    /// `λ`: a given other value is supported.
    pub other: f64,
    /// `κ − λ`, without cancellation.
    pub difference: f64,
    /// The user's own value and a given other one are both supported.
    pub own_and_other: f64,
    /// Two given values other than the user's are both supported.
    pub two_others: f64,
}

impl SupportRates {
    /// The rates of a protocol whose reports support inputs; `None` for any other protocol.
    pub fn of(protocol: &Protocol) -> Option<Self> {
        match protocol {
            Protocol::Identity(_) => Some(SupportRates::disjoint(1.0, 0.0, 1.0)),
            Protocol::Erasure(erasure) => {
                Some(SupportRates::disjoint(erasure.reveal(), 0.0, erasure.reveal()))
            }
            Protocol::GeneralisedRandomisedResponse(response) => {
                let beta = response.epsilon().exp_m1();
                let difference = beta / (beta + protocol.inputs() as f64);
                Some(SupportRates::disjoint(response.truth(), response.lie(), difference))
            }
            Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) => {
                let unary = match protocol {
                    Protocol::LocalHash(hash) => hash.as_unary(),
                    Protocol::UnaryEncoding(unary) => unary.clone(),
                    _ => return None,
                };
                let bits = unary.bits();
                let (kappa, lambda) = (bits.kappa, bits.lambda);
                let difference = if lambda > 0.0 { lambda * bits.member_deviation } else { kappa };
                Some(SupportRates {
                    own: kappa,
                    other: lambda,
                    difference,
                    own_and_other: kappa * lambda,
                    two_others: lambda * lambda,
                })
            }
            Protocol::SubsetSelection(subset) => {
                let (a, k) = (protocol.inputs() as f64, subset.size() as f64);
                Some(SupportRates::of_subsets(a, k, subset.epsilon(), subset.inclusion()))
            }
            Protocol::Block(block) => {
                Some(SupportRates::of_design(block.order(), block.size(), block.epsilon()))
            }
            _ => None,
        }
    }

    /// The `v` blocks of `k` residues of a design. How many hold three given residues depends on these; the mean over the third stands for all of
    /// them, which only the covariance of two estimates feels.
    pub(crate) fn of_design(v: usize, k: usize, epsilon: f64) -> Self {
        let (bits, lambda, beta) = (BitNoise::subset(v, k, epsilon), index(v, k) as f64, epsilon.exp_m1());
        let (v, k) = (v as f64, k as f64);
        let unit = 1.0 / (v + k * beta);
        let three = if v > 2.0 { lambda * (k - 2.0).max(0.0) / (v - 2.0) } else { 0.0 };
        SupportRates {
            own: bits.kappa,
            other: bits.lambda,
            difference: unit * beta * (k - lambda),
            own_and_other: unit * epsilon.exp() * lambda,
            two_others: unit * (lambda + beta * three),
        }
    }

    /// Each report supports at most one input.
    fn disjoint(own: f64, other: f64, difference: f64) -> Self {
        SupportRates { own, other, difference, own_and_other: 0.0, two_others: 0.0 }
    }

    /// A report is a set of `k` inputs that contains the user's own with probability `inclusion`, and treats
    /// all others alike.
    fn of_subsets(a: f64, k: f64, epsilon: f64, inclusion: f64) -> Self {
        let exclusion = (a - k) / (k * epsilon.exp() + a - k);
        let two_of = |size: f64| if a > 2.0 { size * (size - 1.0) / ((a - 1.0) * (a - 2.0)) } else { 0.0 };
        SupportRates {
            own: inclusion,
            other: (inclusion * (k - 1.0) + exclusion * k) / (a - 1.0),
            difference: k * (a - k) * epsilon.exp_m1() / ((k * epsilon.exp() + a - k) * (a - 1.0)),
            own_and_other: inclusion * (k - 1.0) / (a - 1.0),
            two_others: inclusion * two_of(k - 1.0) + exclusion * two_of(k),
        }
    }

    /// The probability that a report supports an input of frequency `p_x`.
    pub fn rate(&self, p_x: f64) -> f64 {
        self.other + self.difference * p_x
    }

    /// The second moment of the vote `(1[supported] − λ)/(κ − λ)` for an input, for a user who holds it and
    /// for one who does not.
    pub(crate) fn squares(&self) -> (f64, f64) {
        let (kappa, lambda) = (self.own, self.other);
        let own = kappa * (1.0 - lambda).powi(2) + (1.0 - kappa) * lambda * lambda;
        let unit = self.difference * self.difference;
        (own / unit, lambda * (1.0 - lambda) / unit)
    }

    /// The expected squared length `E|z_Y|²` of a user's vote `z_Yx = (1[Y supports x] − λ)/(κ − λ)` among `a` inputs, whatever the user's value.
    ///
    /// The linear estimate of `n` users has the mean squared error `(E|z_Y|² − |p|²)/n`, summed over all
    /// inputs.
    pub fn squared_vote(&self, a: usize) -> f64 {
        let (own, other) = self.squares();
        own + (a - 1) as f64 * other
    }

    /// The probability that a report supports two inputs whose frequencies sum to `p`.
    pub fn both(&self, p: f64) -> f64 {
        self.two_others + (self.own_and_other - self.two_others) * p
    }
}

/// How many of `n` reports support each input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supports {
    n: u64,
    counts: Vec<u64>,
}

impl Supports {
    /// Supports from given counts.
    ///
    /// # Errors
    /// Reports of this protocol do not support inputs, or the counts are impossible for `n` reports.
    pub fn new(protocol: &Protocol, n: u64, counts: Vec<u64>) -> Result<Self> {
        if SupportRates::of(protocol).is_none() {
            return Err(Error::NoSupports { kind: protocol.kind() });
        }
        let (left_length, right_length) = (counts.len(), protocol.inputs());
        if left_length != right_length {
            return Err(Error::Lengths { left: "supports", left_length, right: "inputs", right_length });
        }
        if let Some(x) = counts.iter().position(|count| *count > n) {
            return Err(Error::Support { x, count: counts[x], n });
        }
        let each = match protocol {
            Protocol::Identity(_) | Protocol::GeneralisedRandomisedResponse(_) => Some(1),
            Protocol::SubsetSelection(subset) => Some(subset.size()),
            Protocol::Block(block) if block.order() == protocol.inputs() => Some(block.size()),
            _ => None,
        };
        let sum: u128 = counts.iter().map(|count| u128::from(*count)).sum();
        match each.map(|size| size as u128 * u128::from(n)) {
            Some(expected) if sum != expected => Err(Error::SupportSum { sum, n, expected }),
            _ => Ok(Supports { n, counts }),
        }
    }

    /// The counts in tallies of this protocol; `None` if its reports do not support inputs.
    pub fn of_tallies(protocol: &Protocol, tallies: &Tallies) -> Option<Self> {
        SupportRates::of(protocol)?;
        if let Protocol::Block(block) = protocol {
            return Some(Supports { n: tallies.n(), counts: block_supports(block, tallies) });
        }
        let mut counts = vec![0; protocol.inputs()];
        for (output, count) in tallies.counts() {
            supported(protocol, output).iter().for_each(|x| counts[*x] += count);
        }
        Some(Supports { n: tallies.n(), counts })
    }

    /// The number of reports.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// How many of them support each input.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// The blocks that hold each input, counted by one transform, exactly.
fn block_supports(block: &Block, tallies: &Tallies) -> Vec<u64> {
    let mut counts = vec![0; block.order()];
    for (output, count) in tallies.counts() {
        if let Output::Index(y) = output {
            counts[*y] += count;
        }
    }
    let mut supports = block.set().sum().back_counts(&counts);
    supports.truncate(block.inputs());
    supports
}

/// The collected data: complete reports, or how many support each input.
#[derive(Clone, Debug, PartialEq)]
pub enum Reports {
    /// How often each output was reported.
    Tallies(Tallies),
    /// How many reports support each input.
    Supports(Supports),
}

impl Reports {
    /// The number of reports.
    pub fn n(&self) -> u64 {
        match self {
            Reports::Tallies(tallies) => tallies.n(),
            Reports::Supports(supports) => supports.n(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates, compared with sums over the matrix.
    #[test]
    fn rates_are_those_of_the_matrix() {
        for protocol in [
            Protocol::identity(4).unwrap(),
            Protocol::erasure(4, 0.3).unwrap(),
            Protocol::grr(4, 1.3).unwrap(),
            Protocol::ue(4, 0.7, 0.2).unwrap(),
            Protocol::ue(4, 0.6, 0.0).unwrap(),
            Protocol::oue(4, 0.5).unwrap(),
            Protocol::lh(4, 3, 1.0).unwrap(),
            Protocol::subset(4, 1, 1.0).unwrap(),
            Protocol::subset(4, 2, 0.7).unwrap(),
            Protocol::subset(4, 3, 2.0).unwrap(),
            Protocol::subset(2, 1, 2.0).unwrap(),
            Protocol::block(4, 7, 3, 1.0).unwrap(),
            Protocol::block(7, 7, 4, 0.3).unwrap(),
            Protocol::block(3, 13, 4, 2.0).unwrap(),
        ] {
            let rates = SupportRates::of(&protocol).unwrap();
            let mut found = [0.0; 4];
            for row in 0..protocol.outputs().unwrap() {
                let output = protocol.output(row);
                let members = supported(&protocol, &output);
                let has = |x: usize| members.contains(&x);
                let q = protocol.entry(row, 0).unwrap();
                let events = [has(0), has(1), has(0) && has(1), has(1) && has(2)];
                (0..4).filter(|i| events[*i]).for_each(|i| found[i] += q);
            }
            let stated = [rates.own, rates.other, rates.own_and_other, rates.two_others];
            // How many blocks hold three residues depends on these.
            let known = if matches!(protocol, Protocol::Block(_)) { 3 } else { 4 };
            for (found, stated) in found.iter().zip(stated).take(known) {
                assert!((found - stated).abs() < 1e-14, "{protocol:?}: {rates:?} {found}");
            }
            assert!((rates.difference - (rates.own - rates.other)).abs() < 1e-15, "{protocol:?} {rates:?}");
        }
    }

    /// The transform, against the members of each block; and the mean over all third residues.
    #[test]
    fn supports_of_blocks_are_counted() {
        for (a, v, k) in [(6, 7, 3), (31, 31, 6), (1000, 1093, 364)] {
            let protocol = Protocol::block(a, v, k, 1.0).unwrap();
            let counts = (0..v).map(|y| (Output::Index(y), (y as u64 * 7919) % 1009));
            let tallies = Tallies::new(&protocol, counts).unwrap();
            let mut expected = vec![0; a];
            for (output, count) in tallies.counts() {
                supported(&protocol, output).iter().for_each(|x| expected[*x] += count);
            }
            let found = Supports::of_tallies(&protocol, &tallies).unwrap();
            assert_eq!(found.counts(), expected);
            assert_eq!(Supports::new(&protocol, found.n(), expected), Ok(found));
        }
        let protocol = Protocol::block(13, 13, 4, 1.0).unwrap();
        let mean = (2..13).map(|z| {
            let both =
                |row: &usize| [0, 1].iter().all(|x| supported(&protocol, &Output::Index(*row)).contains(x));
            (0..13).filter(both).map(|row| protocol.entry(row, z).unwrap()).sum::<f64>() / 11.0
        });
        let stated = SupportRates::of(&protocol).unwrap().two_others;
        assert!((mean.sum::<f64>() - stated).abs() < 1e-14);
    }

    #[test]
    fn supports_that_cannot_be_are_refused() {
        let (grr, oue) = (Protocol::grr(3, 1.0).unwrap(), Protocol::oue(3, 1.0).unwrap());
        let matrix = Protocol::matrix(vec![vec![0.5, 1.0], vec![0.5, 0.0]]).unwrap();
        assert!(matches!(Supports::new(&matrix, 1, vec![1, 0]), Err(Error::NoSupports { kind: "matrix" })));
        assert!(matches!(Supports::new(&oue, 5, vec![1, 0]), Err(Error::Lengths { .. })));
        assert_eq!(Supports::new(&oue, 5, vec![1, 6, 0]), Err(Error::Support { x: 1, count: 6, n: 5 }));
        assert_eq!(
            Supports::new(&grr, 5, vec![1, 2, 1]),
            Err(Error::SupportSum { sum: 4, n: 5, expected: 5 })
        );
        assert!(Supports::new(&oue, 5, vec![5, 5, 0]).is_ok());
    }
}
