//! Where reports come from, and what they say.
//!
//! A report matters only by its row of likelihoods, one for each value, up to a factor. A matrix has few different rows and reports are counted;
//! unary encoding, local hash and subset selection have `2^a`, which are packed bits; equal ones are counted too, and at low privacy most are.

use rand::{Rng, RngExt};

use crate::likelihood::RowLikelihood;
use crate::likelihood::dense_rows::DenseRows;
use crate::likelihood::patterns::Patterns;
use crate::likelihood::reduced::Reduced;
use crate::model::absence::Absence;
use crate::model::protocol::Protocol;
use crate::numerics::random::{multinomial, pick};
use crate::numerics::stop::check;

/// Most numbers in the table of reports of one draw: 512 MiB.
const MAX_TABLE: f64 = 6.7e7;

/// Where reports come from.
pub(crate) enum Source<'a> {
    /// A matrix with few rows.
    Matrix(&'a Reduced),
    /// Subsets of the inputs.
    Subsets(Subsets),
}

/// Reports that are subsets of the inputs, likelier by the factor `member/other` for inputs in the subset.
pub(crate) struct Subsets {
    pub a: usize,
    kind: SubsetKind,
    member: f64,
    other: f64,
    none: Patterns,
}

enum SubsetKind {
    /// Independent bits: true with probability `kappa` at the own value, `lambda` elsewhere.
    Bits { kappa: f64, lambda: f64 },
    /// `k` members, the own value among them with probability `inclusion`.
    Fixed { k: usize, inclusion: f64 },
}

impl<'a> Source<'a> {
    pub(crate) fn new(protocol: &'a Protocol, reduced: Option<&'a Reduced>, n: u64) -> Result<Self, Absence> {
        let a = protocol.inputs();
        if let Some(reduced) = reduced {
            return Ok(Source::Matrix(reduced));
        }
        if a as f64 * n as f64 > MAX_TABLE {
            return Err(Absence::NoMethod { what: "the reports of so many users do not fit into memory" });
        }
        let none = Patterns::empty(protocol, 0)?;
        let bits = |bits: &crate::model::protocol::BitNoise| {
            // Without noise on other bits a set bit is proof.
            let (member, other) =
                if bits.lambda == 0.0 { (1.0, 0.0) } else { (bits.member_ratio(), bits.other_ratio()) };
            let kind = SubsetKind::Bits { kappa: bits.kappa, lambda: bits.lambda };
            Source::Subsets(Subsets { a, kind, member, other, none: none.clone() })
        };
        match protocol {
            Protocol::UnaryEncoding(unary) => Ok(bits(unary.bits())),
            Protocol::LocalHash(hash) => Ok(bits(hash.as_unary().bits())),
            Protocol::SubsetSelection(subset) => {
                let kind = SubsetKind::Fixed { k: subset.size(), inclusion: subset.inclusion() };
                let member = subset.epsilon().exp();
                Ok(Source::Subsets(Subsets { a, kind, member, other: 1.0, none: none.clone() }))
            }
            _ => Err(Absence::NoMethod { what: "the reports of a protocol of this kind and size" }),
        }
    }

    /// Number of inputs that differ.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Source::Matrix(reduced) => reduced.inputs(),
            Source::Subsets(subsets) => subsets.a,
        }
    }

    /// The different reports of `n` users, and how often each occurs.
    pub(crate) fn sample(&self, p: &[f64], n: u64, rng: &mut dyn Rng) -> Box<dyn RowLikelihood> {
        match self {
            Source::Matrix(reduced) => {
                let s = multinomial(n, &reduced.push_forward(p), rng);
                let seen = || reduced.ratios.iter().zip(&s).filter(|(_, s_y)| **s_y > 0);
                Box::new(DenseRows {
                    a: reduced.inputs(),
                    rows: seen().flat_map(|(c, _)| c.iter().copied()).collect(),
                    counts: seen().map(|(_, s_y)| *s_y as f64).collect(),
                })
            }
            Source::Subsets(subsets) => {
                let mut patterns = subsets.none.clone();
                for _ in 0..n {
                    check();
                    patterns.add(&subsets.members(pick(p, 1.0, rng), rng), 1.0);
                }
                patterns.merge();
                Box::new(patterns)
            }
        }
    }
}

impl Subsets {
    /// Draws the report of a user with value `x`: how likely it is for each value, up to a factor.
    pub(crate) fn report(&self, x: usize, row: &mut [f64], rng: &mut dyn Rng) {
        row.fill(self.other);
        self.members(x, rng).into_iter().for_each(|member| row[member] = self.member);
    }

    /// Draws the members of the report of a user with value `x`.
    fn members(&self, x: usize, rng: &mut dyn Rng) -> Vec<usize> {
        match &self.kind {
            SubsetKind::Bits { kappa, lambda } => {
                let set = |z: &usize| rng.random::<f64>() < if *z == x { *kappa } else { *lambda };
                (0..self.a).filter(set).collect()
            }
            SubsetKind::Fixed { k, inclusion } => {
                let own = rng.random::<f64>() < *inclusion;
                let others = rand::seq::index::sample(rng, self.a - 1, k - usize::from(own));
                let skip = |other: usize| if other < x { other } else { other + 1 };
                others.into_iter().map(skip).chain(own.then_some(x)).collect()
            }
        }
    }
}
