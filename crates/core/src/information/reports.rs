//! Simulated reports and their likelihoods.
//!
//! Only the row of likelihoods of a report matters, up to a factor. A matrix has few distinct rows, and
//! reports are counted. Unary encoding, local hash and subset selection have `2^a` rows, stored as packed
//! bits; equal ones are counted too, and at low privacy most are equal.

use rand::{Rng, RngExt};

use super::binary_questions::speaks_for;
use crate::likelihood::RowLikelihood;
use crate::likelihood::dense_rows::DenseRows;
use crate::likelihood::patterns::Patterns;
use crate::likelihood::reduced::Reduced;
use crate::model::absence::Absence;
use crate::model::protocol::{BitNoise, Protocol};
use crate::numerics::random::{multinomial, pick};
use crate::numerics::stop::check;

/// Largest table of reports of one draw, in numbers: 512 MiB.
const MAX_TABLE: f64 = 6.7e7;

/// The protocol that reports are drawn from.
pub(crate) enum Source<'a> {
    /// A matrix with few rows.
    Matrix(&'a Reduced),
    /// Subsets of the inputs.
    Subsets(Subsets),
}

/// Reports that are subsets of the inputs, more likely by the factor `member/other` for inputs in the subset.
pub(crate) struct Subsets {
    pub a: usize,
    kind: SubsetKind,
    member: f64,
    other: f64,
    /// With which probabilities a report contains the user's value and another one.
    bit: Option<BitNoise>,
    none: Patterns,
}

enum SubsetKind {
    /// Independent bits: set with probability `kappa` at the user's value, `lambda` elsewhere.
    Bits { kappa: f64, lambda: f64 },
    /// `k` members, including the user's value with probability `inclusion`.
    Fixed { k: usize, inclusion: f64 },
}

impl<'a> Source<'a> {
    pub(crate) fn new(protocol: &'a Protocol, reduced: Option<&'a Reduced>, n: u64) -> Result<Self, Absence> {
        let a = protocol.inputs();
        if let Some(reduced) = reduced {
            return Ok(Source::Matrix(reduced));
        }
        if a as f64 * n as f64 > MAX_TABLE {
            return Err(Absence::NoMethod { what: "the reports of this many users do not fit into memory" });
        }
        let (none, bit) = (Patterns::empty(protocol, 0)?, speaks_for(protocol));
        let bits = |bits: &BitNoise| {
            // Without noise on other bits a set bit reveals the value.
            let (member, other) =
                if bits.lambda == 0.0 { (1.0, 0.0) } else { (bits.member_ratio(), bits.other_ratio()) };
            let kind = SubsetKind::Bits { kappa: bits.kappa, lambda: bits.lambda };
            Source::Subsets(Subsets { a, kind, member, other, bit, none: none.clone() })
        };
        match protocol {
            Protocol::UnaryEncoding(unary) => Ok(bits(unary.bits())),
            Protocol::LocalHash(hash) => Ok(bits(hash.as_unary().bits())),
            Protocol::SubsetSelection(subset) => {
                let kind = SubsetKind::Fixed { k: subset.size(), inclusion: subset.inclusion() };
                let member = subset.epsilon().exp();
                Ok(Source::Subsets(Subsets { a, kind, member, other: 1.0, bit, none: none.clone() }))
            }
            _ => Err(Absence::NoMethod { what: "the reports of a protocol of this kind and size" }),
        }
    }

    /// Number of distinct inputs.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Source::Matrix(reduced) => reduced.inputs(),
            Source::Subsets(subsets) => subsets.a,
        }
    }

    /// With which probabilities a report speaks for the user's own value and for another one, if they are the
    /// same for all values.
    pub(crate) fn speaks_for(&self) -> Option<BitNoise> {
        match self {
            Source::Matrix(reduced) => matrix_speaks_for(reduced),
            Source::Subsets(subsets) => subsets.bit,
        }
    }

    /// The reports of `n` users.
    pub(crate) fn sample(&self, p: &[f64], n: u64, rng: &mut dyn Rng) -> Reports {
        match self {
            Source::Matrix(reduced) => {
                let s = multinomial(n, &reduced.push_forward(p), rng);
                let seen = || reduced.ratios.iter().zip(&s).filter(|(_, s_y)| **s_y > 0);
                let rows = DenseRows {
                    a: reduced.inputs(),
                    rows: seen().flat_map(|(c, _)| c.iter().copied()).collect(),
                    counts: seen().map(|(_, s_y)| *s_y as f64).collect(),
                };
                let support =
                    |x: usize| seen().filter(|(c, _)| speaks(c, x)).map(|(_, s_y)| *s_y).sum::<u64>();
                Reports { supports: (0..p.len()).map(support).collect(), rows: Box::new(rows) }
            }
            Source::Subsets(subsets) => {
                let (mut patterns, mut supports) = (subsets.none.clone(), vec![0; subsets.a]);
                for _ in 0..n {
                    check();
                    let members = subsets.members(pick(p, 1.0, rng), rng);
                    members.iter().for_each(|x| supports[*x] += 1);
                    patterns.add(&members, 1.0);
                }
                patterns.merge();
                Reports { rows: Box::new(patterns), supports }
            }
        }
    }
}

/// The reports of a collection.
pub(crate) struct Reports {
    /// The distinct reports with their counts.
    pub(crate) rows: Box<dyn RowLikelihood>,
    /// For each value, the number of reports that speak for it: those it makes more likely than others do.
    pub(crate) supports: Vec<u64>,
}

/// Whether an output with these likelihood ratios speaks for a value. The ratios of one that tells nothing are 1
/// up to rounding.
fn speaks(ratios: &[f64], x: usize) -> bool {
    ratios[x] > 1.0 + 1e-12
}

/// As [`Source::speaks_for`], from the probabilities of the outputs: those of one value may differ from those of
/// another by rounding.
fn matrix_speaks_for(reduced: &Reduced) -> Option<BitNoise> {
    const MAX_DIFFERENCE: f64 = 1e-12;
    let a = reduced.inputs();
    let probability = |x: usize, z: usize| {
        let outputs = reduced.typical.iter().zip(&reduced.ratios).filter(|(_, c)| speaks(c, x));
        outputs.map(|(pi, c)| pi * c[z]).sum::<f64>().min(1.0)
    };
    let (kappa, lambda) = (probability(0, 0), probability(0, 1));
    let alike = |x: usize, z: usize| {
        let expected = if x == z { kappa } else { lambda };
        (probability(x, z) - expected).abs() <= MAX_DIFFERENCE
    };
    let all = (0..a).all(|x| (0..a).all(|z| alike(x, z)));
    (all && kappa > lambda).then(|| BitNoise::new(kappa, lambda))
}

impl Subsets {
    /// Draws the report of a user with value `x`: its likelihood for each value, up to a factor.
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
