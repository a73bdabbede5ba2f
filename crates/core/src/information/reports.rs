//! Where reports come from, and what they say.
//!
//! A report matters only by its row of likelihoods, one for each value, up to a factor. A matrix has few different rows and reports are counted;
//! unary encoding, local hash and subset selection have `2^a` and each of the `n` reports is held, `n·a` numbers.

use rand::{Rng, RngExt};

use super::monte_carlo::{multinomial, pick};
use super::reduced::Reduced;
use crate::metric::Absence;
use crate::protocol::Protocol;

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
}

enum SubsetKind {
    /// Independent bits: true with probability `kappa` at the own value, `lambda` elsewhere.
    Bits { kappa: f64, lambda: f64 },
    /// `k` members, the own value among them with probability `inclusion`.
    Fixed { k: usize, inclusion: f64 },
}

/// The different reports of one draw: likelihood rows and how often each occurred.
pub(crate) struct Reports {
    pub a: usize,
    pub rows: Vec<f64>,
    pub counts: Vec<f64>,
}

/// A likelihood `Π_i R_i(p)^{s_i}`, as the chains see it.
pub(crate) trait Rows: Sync {
    /// Number of values.
    fn inputs(&self) -> usize;

    /// `L(p)`.
    fn ln_likelihood(&self, p: &[f64]) -> f64;

    /// Whether chains should follow a surrogate.
    fn many(&self) -> bool;

    /// The gradient of `L` and its negative second derivative, by rows.
    fn expansion(&self, centre: &[f64]) -> (Vec<f64>, Vec<f64>);

    /// `R_i(p)`.
    fn ratios(&self, p: &[f64]) -> Vec<f64>;

    /// The change of each `R_i` when mass moves from `other` to `x`, and `s_i`.
    fn directions(&self, x: usize, other: usize) -> Vec<(f64, f64)>;
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
        let bits = |bits: &crate::protocol::BitNoise| {
            // Without noise on other bits a set bit is proof.
            let (member, other) =
                if bits.lambda == 0.0 { (1.0, 0.0) } else { (bits.member_ratio(), bits.other_ratio()) };
            let kind = SubsetKind::Bits { kappa: bits.kappa, lambda: bits.lambda };
            Source::Subsets(Subsets { a, kind, member, other })
        };
        match protocol {
            Protocol::UnaryEncoding(unary) => Ok(bits(unary.bits())),
            Protocol::LocalHash(hash) => Ok(bits(hash.as_unary().bits())),
            Protocol::SubsetSelection(subset) => {
                let kind = SubsetKind::Fixed { k: subset.size(), inclusion: subset.inclusion() };
                Ok(Source::Subsets(Subsets { a, kind, member: subset.epsilon().exp(), other: 1.0 }))
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

    pub(crate) fn sample(&self, p: &[f64], n: u64, rng: &mut dyn Rng) -> Reports {
        match self {
            Source::Matrix(reduced) => {
                let s = multinomial(n, &reduced.push_forward(p), rng);
                let seen = || reduced.ratios.iter().zip(&s).filter(|(_, s_y)| **s_y > 0);
                Reports {
                    a: reduced.inputs(),
                    rows: seen().flat_map(|(c, _)| c.iter().copied()).collect(),
                    counts: seen().map(|(_, s_y)| *s_y as f64).collect(),
                }
            }
            Source::Subsets(subsets) => {
                let a = subsets.a;
                let mut rows = Vec::with_capacity(a * n as usize);
                for _ in 0..n {
                    let start = rows.len();
                    rows.resize(start + a, 0.0);
                    subsets.report(pick(p, 1.0, rng), &mut rows[start..], rng);
                    if rows[start..].iter().all(|r| *r == 0.0) {
                        // Proof of nothing: a report without a bit where only true bits are set.
                        rows.truncate(start);
                    }
                }
                Reports { a, counts: vec![1.0; rows.len() / a], rows }
            }
        }
    }
}

impl Subsets {
    /// Draws the report of a user with value `x`: how likely it is for each value, up to a factor.
    pub(crate) fn report(&self, x: usize, row: &mut [f64], rng: &mut dyn Rng) {
        row.fill(self.other);
        match &self.kind {
            SubsetKind::Bits { kappa, lambda } => {
                for (z, entry) in row.iter_mut().enumerate() {
                    if rng.random::<f64>() < if z == x { *kappa } else { *lambda } {
                        *entry = self.member;
                    }
                }
            }
            SubsetKind::Fixed { k, inclusion } => {
                let own = rng.random::<f64>() < *inclusion;
                for other in rand::seq::index::sample(rng, row.len() - 1, k - usize::from(own)) {
                    row[if other < x { other } else { other + 1 }] = self.member;
                }
                if own {
                    row[x] = self.member;
                }
            }
        }
    }
}

impl Rows for Reports {
    fn inputs(&self) -> usize {
        self.a
    }

    fn ln_likelihood(&self, p: &[f64]) -> f64 {
        self.ratios(p).iter().zip(&self.counts).map(|(ratio, s)| s * ratio.ln()).sum()
    }

    fn many(&self) -> bool {
        many(self.counts.len(), self.a)
    }

    fn expansion(&self, centre: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let a = self.a;
        let (mut gradient, mut curvature) = (vec![0.0; a], vec![0.0; a * a]);
        for ((row, s), ratio) in self.rows.chunks_exact(a).zip(&self.counts).zip(self.ratios(centre)) {
            let (first, second) = (s / ratio, s / (ratio * ratio));
            gradient.iter_mut().zip(row).for_each(|(g, r)| *g += first * r);
            for (line, r_x) in curvature.chunks_exact_mut(a).zip(row) {
                let factor = second * r_x;
                line.iter_mut().zip(row).for_each(|(j, r_y)| *j += factor * r_y);
            }
        }
        (gradient, curvature)
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        let ratio = |row: &[f64]| row.iter().zip(p).map(|(r, p_x)| r * p_x).sum();
        self.rows.chunks_exact(self.a).map(ratio).collect()
    }

    fn directions(&self, x: usize, other: usize) -> Vec<(f64, f64)> {
        let rows = self.rows.chunks_exact(self.a).zip(&self.counts);
        rows.map(|(row, s)| (row[x] - row[other], *s)).collect()
    }
}

/// Whether there are so many different reports that a surrogate is cheaper to follow.
pub(crate) fn many(reports: usize, a: usize) -> bool {
    reports > 3 * a + 16
}
