//! How many reports support each input: all that a linear estimate needs from reports that are sets of
//! inputs.
//!
//! A report of randomised response supports the reported value, one of unary encoding the inputs whose bit is
//! set, one of local hash the inputs in the reported bucket, one of subset selection the members of the set.
//! In each case the support of `x` is a Bernoulli variable whose probability depends only on whether the user
//! holds `x`, and is the same for all `x`:
//! ```text
//! P(report supports x | user holds x) = κ,   P(report supports x | user holds another value) = λ
//! ```

use crate::model::error::{Error, Result};
use crate::model::protocol::{Protocol, supported};
use crate::model::tallies::Tallies;

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
            _ => None,
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
            for (found, stated) in found.iter().zip(stated) {
                assert!((found - stated).abs() < 1e-14, "{protocol:?}: {rates:?} {found}");
            }
            assert!((rates.difference - (rates.own - rates.other)).abs() < 1e-15, "{protocol:?} {rates:?}");
        }
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
