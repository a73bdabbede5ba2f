//! The linear unbiased estimator of frequencies from reports that *support* some of the values.
//!
//! ```text
//! a report supports x with probability p if x is true and q if not
//! share of reports supporting x = q + (p − q) · frequency of x        ⇒        frequency = (share − q) / (p − q)
//! ```

use sottovoce::protocol::bucket;
use sottovoce::{Output, Protocol};

/// How often reports support values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Probability that a report supports the true value.
    pub p: f64,
    /// Probability that it supports a given other value.
    pub q: f64,
    /// Number of buckets, for local hash.
    buckets: usize,
}

impl Support {
    /// The rates of a protocol whose reports support values; `None` for other protocols.
    pub fn of(protocol: &Protocol) -> Option<Self> {
        let rates = |p: f64, q: f64| Some(Support { p, q, buckets: 0 });
        match protocol {
            Protocol::GeneralisedRandomisedResponse(grr) => rates(grr.truth(), grr.lie()),
            Protocol::UnaryEncoding(ue) => rates(ue.bits().kappa, ue.bits().lambda),
            Protocol::SubsetSelection(subset) => {
                let (p, others) = (subset.inclusion(), (protocol.inputs() - 1) as f64);
                rates(p, (subset.size() as f64 - p) / others)
            }
            Protocol::LocalHash(hash) => {
                let bits = *hash.as_unary().bits();
                Some(Support { p: bits.kappa, q: bits.lambda, buckets: hash.buckets() })
            }
            _ => None,
        }
    }

    /// Adds a report to the numbers of reports that support each value.
    pub fn add(&self, report: &Output, tally: &mut [u64]) {
        match report {
            Output::Index(y) => tally[*y] += 1,
            Output::Subset(members) => members.iter().for_each(|x| tally[*x] += 1),
            Output::Hash { seed, z } => {
                let supported = |(x, count): (usize, &mut u64)| {
                    *count += u64::from(bucket(*seed, x, self.buckets) == *z);
                };
                tally.iter_mut().enumerate().for_each(supported);
            }
            _ => {}
        }
    }

    /// The estimated frequency of a value that `supporting` of `users` reports support.
    pub fn frequency(&self, supporting: u64, users: u64) -> f64 {
        (supporting as f64 / users as f64 - self.q) / (self.p - self.q)
    }

    /// The standard error of the estimate for a value of the given frequency.
    pub fn standard_error(&self, frequency: f64, users: u64) -> f64 {
        let share = (self.q + (self.p - self.q) * frequency).clamp(0.0, 1.0);
        (share * (1.0 - share) / users as f64).sqrt() / (self.p - self.q)
    }
}
