//! What a sampler realises: its exact matrix, and its exact privacy loss.
//!
//! Most kinds have one loss between all pairs of inputs, known from their two or three whole numbers. Combinations follow from their
//! parts: a mixture has the largest loss of its parts, since the weight of a part cancels; in a product the losses between two inputs
//! multiply; a composition has the loss of its composed matrix, and, where that is too large, at most the smallest of its steps', since
//! a later step only mixes outputs and an earlier one only mixes inputs.

use num_bigint::BigUint;
use sottovoce::Protocol;

use crate::chance::{ALL, Chance, Wheel};
use crate::loss::Loss;
use crate::sampler::{Bits, Blocks, Hash, Response, Sampler, Step, Subset};

/// Exact matrices are made up to this many entries.
const MAX_EXACT_ENTRIES: usize = 1 << 15;

/// Two exact matrices are multiplied up to this many products of entries.
const MAX_EXACT_WORK: usize = 1 << 20;

/// Losses between all pairs of inputs are compared up to this many inputs.
const MAX_PAIRED_INPUTS: usize = 256;

/// A privacy loss, and whether it is the loss itself or only known not to be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Realised {
    /// The loss.
    pub loss: Loss,
    /// Whether some output has this loss.
    pub exact: bool,
}

impl Realised {
    fn exactly(loss: Loss) -> Self {
        Realised { loss, exact: true }
    }
}

/// A channel of fractions with one denominator: `Q_{y|x} = rows[y][x] / denominator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactMatrix {
    /// The numerators.
    pub rows: Vec<Vec<BigUint>>,
    /// The denominator.
    pub denominator: BigUint,
}

impl ExactMatrix {
    /// The largest ratio within a row.
    pub fn loss(&self) -> Loss {
        let row = |row: &Vec<BigUint>| {
            let (low, high) = (row.iter().min(), row.iter().max());
            low.zip(high).map_or(Loss::none(), |(low, high)| Loss::ratio(high.clone(), low.clone()))
        };
        self.rows.iter().map(row).fold(Loss::none(), Loss::max)
    }

    fn loss_between(&self, x: usize, other: usize) -> Loss {
        let ratio = |row: &Vec<BigUint>| Loss::ratio(row[x].clone(), row[other].clone());
        self.rows.iter().map(ratio).fold(Loss::none(), Loss::max)
    }

    /// The matrix of `after` after `self`, if it is not too much work.
    fn then(&self, after: &ExactMatrix) -> Option<ExactMatrix> {
        let (a, inner, outer) = (self.rows.first()?.len(), self.rows.len(), after.rows.len());
        if a.checked_mul(inner)?.checked_mul(outer)? > MAX_EXACT_WORK {
            return None;
        }
        let entry =
            |weights: &[BigUint], x: usize| weights.iter().zip(&self.rows).map(|(w, row)| w * &row[x]).sum();
        let rows = after.rows.iter().map(|weights| (0..a).map(|x| entry(weights, x)).collect()).collect();
        Some(ExactMatrix { rows, denominator: &self.denominator * &after.denominator })
    }
}

/// Both directions of the ratio of two chances, for protocols in which each pair of inputs meets both.
fn either_way(p: impl Into<BigUint>, q: impl Into<BigUint>) -> Loss {
    let (p, q) = (p.into(), q.into());
    Loss::ratio(p.clone(), q.clone()).max(Loss::ratio(q, p))
}

impl Response {
    fn loss(&self) -> Loss {
        either_way(self.truth, self.lie)
    }
}

impl Bits {
    fn loss(&self) -> Loss {
        let (kappa, lambda) = (self.kappa.numerator(), self.lambda.numerator());
        let product = |p: u128, q: u128| BigUint::from(p) * q;
        Loss::ratio(product(kappa, ALL - lambda), product(lambda, ALL - kappa))
    }

    /// The words for an output (as bits of a number) given `x`, in all `2^(64 a)`.
    fn weight(&self, output: usize, x: usize) -> BigUint {
        let bit = |at: usize| {
            let chance = if at == x { self.kappa } else { self.lambda };
            if output >> at & 1 == 1 { chance.numerator() } else { chance.complement().numerator() }
        };
        (0..self.a).map(bit).map(BigUint::from).product()
    }
}

impl Hash {
    fn loss(&self) -> Loss {
        self.response.as_ref().map_or(Loss::none(), Response::loss)
    }
}

impl Subset {
    /// A set with `x` has chance `π / C(a−1, k−1)`, one without `(1−π) / C(a−1, k)`; the binomials have the ratio `(a−k) : k`.
    fn loss(&self) -> Loss {
        if self.k == self.a {
            return Loss::none();
        }
        let with = BigUint::from(self.inclusion.numerator()) * (self.a - self.k);
        let without = BigUint::from(self.inclusion.complement().numerator()) * self.k;
        either_way(with, without)
    }
}

impl Blocks {
    /// A block with `x` has chance `π/k`, one without `(1−π)/(v−k)`. Any two inputs have blocks with one of them alone.
    fn loss(&self) -> Loss {
        let (with, without) = self.weights();
        either_way(with, without)
    }

    /// The weights of a block with the value and of one without, in all `2^64 k (v − k)`.
    fn weights(&self) -> (BigUint, BigUint) {
        let with = BigUint::from(self.inclusion.numerator()) * self.others.len();
        (with, BigUint::from(self.inclusion.complement().numerator()) * self.set.len())
    }

    /// Whether block `y` contains `x`.
    fn holds(&self, y: usize, x: usize) -> bool {
        let residue = (x + self.v as usize - y) % self.v as usize;
        self.set.binary_search(&(residue as u32)).is_ok()
    }
}

impl Step {
    fn loss(&self) -> Loss {
        match self {
            Step::Table(hash) => hash.loss(),
            Step::Report(part) => part.sampler.realised(part.sampler.inputs()).loss,
        }
    }

    fn matrix(&self) -> Option<ExactMatrix> {
        match self {
            Step::Table(hash) => hash_matrix(hash),
            Step::Report(part) => part.sampler.matrix(),
        }
    }
}

impl Sampler {
    /// The loss that holds between all pairs of different inputs, if there is one such loss by construction.
    fn uniform_loss(&self) -> Option<Loss> {
        match self {
            Sampler::Identity(_) => Some(Loss::Infinite),
            Sampler::Response(response) => Some(response.loss()),
            Sampler::Bits(bits) => Some(bits.loss()),
            Sampler::Hash(hash) => Some(hash.loss()),
            Sampler::Subset(subset) => Some(subset.loss()),
            Sampler::Blocks(blocks) => Some(blocks.loss()),
            Sampler::Erasure { reveal, .. } => {
                Some(if reveal.numerator() > 0 { Loss::Infinite } else { Loss::none() })
            }
            Sampler::Product(factors) => {
                factors.iter().try_fold(Loss::none(), |loss, f| Some(loss.times(&f.sampler.uniform_loss()?)))
            }
            Sampler::Mixture { .. } => {
                self.live().try_fold(Loss::none(), |loss, part| Some(loss.max(part.uniform_loss()?)))
            }
            Sampler::Composition { before, last } if before.is_empty() => last.uniform_loss(),
            Sampler::Composition { .. } => None,
            Sampler::Map(_) | Sampler::Columns { .. } => None,
        }
    }

    /// The parts of a mixture that occur.
    fn live(&self) -> impl Iterator<Item = &Sampler> {
        let (choice, parts) = match self {
            Sampler::Mixture { choice, parts } => (Some(choice), &parts[..]),
            _ => (None, &[][..]),
        };
        choice.into_iter().flat_map(Wheel::weights).map(|(part, _)| &parts[part].sampler)
    }

    /// The loss between two different inputs; `None` where it needs a matrix that is too large.
    fn loss_between(&self, x: usize, other: usize) -> Option<Loss> {
        match self {
            Sampler::Map(map) => Some(if map[x] == map[other] { Loss::none() } else { Loss::Infinite }),
            Sampler::Columns { columns, .. } => Some(column_loss(&columns[x], &columns[other])),
            Sampler::Product(factors) => factors.iter().try_fold(Loss::none(), |loss, factor| {
                Some(loss.times(&factor.sampler.loss_between(x, other)?))
            }),
            Sampler::Mixture { .. } => {
                self.live().try_fold(Loss::none(), |loss, part| Some(loss.max(part.loss_between(x, other)?)))
            }
            Sampler::Composition { .. } => Some(self.matrix()?.loss_between(x, other)),
            uniform => uniform.uniform_loss(),
        }
    }

    /// The loss of the whole, for `a` inputs.
    pub(crate) fn realised(&self, a: usize) -> Realised {
        if let Some(loss) = self.uniform_loss() {
            return Realised::exactly(loss);
        }
        match self {
            Sampler::Map(map) => {
                let constant = map.iter().all(|y| *y == map[0]);
                Realised::exactly(if constant { Loss::none() } else { Loss::Infinite })
            }
            Sampler::Columns { outputs, columns } => Realised::exactly(columns_loss(*outputs, columns)),
            Sampler::Mixture { .. } => self.live().map(|part| part.realised(a)).fold(
                Realised::exactly(Loss::none()),
                |most, part| Realised { exact: most.exact && part.exact, loss: most.loss.max(part.loss) },
            ),
            Sampler::Composition { before, last } => self.matrix().map_or_else(
                || {
                    let losses = before.iter().map(Step::loss).chain([last.realised(last.inputs()).loss]);
                    Realised { loss: losses.fold(Loss::Infinite, Loss::min), exact: false }
                },
                |matrix| Realised::exactly(matrix.loss()),
            ),
            product => product.paired_loss(a),
        }
    }

    /// The largest loss between two inputs, pair by pair; where that is too much work, the product of the factors' losses.
    fn paired_loss(&self, a: usize) -> Realised {
        let pairs =
            || (0..a).flat_map(|x| (0..a).filter(move |other| *other != x).map(move |other| (x, other)));
        let exact = (a <= MAX_PAIRED_INPUTS)
            .then(|| {
                pairs()
                    .try_fold(Loss::none(), |most, (x, other)| Some(most.max(self.loss_between(x, other)?)))
            })
            .flatten();
        exact.map_or_else(|| Realised { loss: self.bound(a), exact: false }, Realised::exactly)
    }

    fn bound(&self, a: usize) -> Loss {
        match self {
            Sampler::Product(factors) => {
                factors.iter().map(|f| f.sampler.realised(a).loss).fold(Loss::none(), |l, f| l.times(&f))
            }
            _ => Loss::Infinite,
        }
    }

    /// The exact matrix, rows as the protocol numbers them, if it is small. Local hash is over all functions, as in its matrix.
    pub(crate) fn matrix(&self) -> Option<ExactMatrix> {
        match self {
            Sampler::Identity(a) => dense(*a, *a, BigUint::from(1u8), |y, x| u8::from(y == x).into()),
            Sampler::Response(r) => dense(r.a as usize, r.a as usize, ALL.into(), |y, x| {
                if y == x { r.truth } else { r.lie }.into()
            }),
            Sampler::Bits(bits) => {
                let outputs = 1usize.checked_shl(bits.a as u32)?;
                dense(bits.a, outputs, BigUint::from(ALL).pow(bits.a as u32), |y, x| bits.weight(y, x))
            }
            Sampler::Hash(hash) => hash_matrix(hash),
            Sampler::Subset(subset) => subset_matrix(subset),
            Sampler::Blocks(blocks) => {
                let ((with, without), k) = (blocks.weights(), blocks.set.len());
                let denominator = BigUint::from(ALL) * k * blocks.others.len();
                dense(blocks.a, blocks.v as usize, denominator, |y, x| {
                    if blocks.holds(y, x) { with.clone() } else { without.clone() }
                })
            }
            Sampler::Map(map) => {
                let outputs = map.iter().max().map_or(0, |y| *y as usize + 1);
                dense(map.len(), outputs, BigUint::from(1u8), |y, x| u8::from(map[x] as usize == y).into())
            }
            Sampler::Erasure { a, reveal } => dense(*a, *a + 1, ALL.into(), |y, x| match y {
                _ if y == x => reveal.numerator().into(),
                _ if y == *a => reveal.complement().numerator().into(),
                _ => BigUint::ZERO,
            }),
            Sampler::Columns { outputs, columns } => {
                dense(columns.len(), *outputs, ALL.into(), |y, x| columns[x].weight(y).into())
            }
            Sampler::Composition { before, last } => {
                let Some((first, rest)) = before.split_first() else { return last.matrix() };
                let first =
                    rest.iter().try_fold(first.matrix()?, |matrix, step| matrix.then(&step.matrix()?))?;
                first.then(&last.matrix()?)
            }
            Sampler::Product(factors) => {
                let matrices: Option<Vec<_>> = factors.iter().map(|factor| factor.sampler.matrix()).collect();
                matrices?.into_iter().try_fold(None, |left, right| Some(Some(together(left, right)?)))?
            }
            Sampler::Mixture { choice, parts } => {
                let matrices: Option<Vec<_>> = parts.iter().map(|part| part.sampler.matrix()).collect();
                Some(mixed(choice, &matrices?))
            }
        }
    }
}

/// The largest ratio between two distributions on the same outcomes, over the outcomes that are possible under the first.
fn column_loss(column: &Wheel, other: &Wheel) -> Loss {
    column.weights().map(|(y, weight)| Loss::ratio(weight, other.weight(y))).fold(Loss::none(), Loss::max)
}

/// The largest ratio within a row, of any two columns.
pub(crate) fn columns_loss(outputs: usize, columns: &[Wheel]) -> Loss {
    let (mut low, mut high, mut possible) = (vec![u128::MAX; outputs], vec![0; outputs], vec![0; outputs]);
    for (y, weight) in columns.iter().flat_map(Wheel::weights) {
        low[y] = weight.min(low[y]);
        high[y] = weight.max(high[y]);
        possible[y] += 1;
    }
    let row = |y: usize| Loss::ratio(high[y], if possible[y] == columns.len() { low[y] } else { 0 });
    (0..outputs).filter(|y| possible[*y] > 0).map(row).fold(Loss::none(), Loss::max)
}

fn dense(
    a: usize,
    outputs: usize,
    denominator: BigUint,
    entry: impl Fn(usize, usize) -> BigUint,
) -> Option<ExactMatrix> {
    if a.checked_mul(outputs)? > MAX_EXACT_ENTRIES {
        return None;
    }
    let rows = (0..outputs).map(|y| (0..a).map(|x| entry(y, x)).collect()).collect();
    Some(ExactMatrix { rows, denominator })
}

fn hash_matrix(hash: &Hash) -> Option<ExactMatrix> {
    let functions = hash.g.checked_pow(u32::try_from(hash.a).ok()?)?;
    let (truth, lie) = hash.response.as_ref().map_or((ALL, 0), |r| (r.truth.into(), r.lie.into()));
    let denominator = BigUint::from(functions) * ALL;
    dense(hash.a, functions.checked_mul(hash.g)?, denominator, |y, x| {
        let value = y / hash.g / hash.g.pow(x as u32) % hash.g;
        BigUint::from(if value == y % hash.g { truth } else { lie })
    })
}

fn subset_matrix(subset: &Subset) -> Option<ExactMatrix> {
    let Subset { a, k, inclusion, .. } = *subset;
    let protocol = Protocol::subset(a, k, 1.0).ok()?;
    let binomial = |n: usize, k: usize| Protocol::subset(n, k, 1.0).ok().and_then(|subset| subset.outputs());
    // C(a−1, k−1) = C(a, k) k/a, C(a−1, k) = C(a, k) (a−k)/a.
    let all = binomial(a, k)?;
    let (with, without) = (all * k / a, all * (a - k) / a);
    let chance = |chance: Chance| BigUint::from(chance.numerator());
    let denominator = BigUint::from(ALL) * with * without.max(1);
    dense(a, all, denominator, |y, x| match protocol.output(y) {
        sottovoce::Output::Subset(members) if members.contains(&x) => chance(inclusion) * without.max(1),
        _ => chance(inclusion.complement()) * with,
    })
}

/// The product of two matrices on the same inputs, the second running fastest.
fn together(left: Option<ExactMatrix>, right: ExactMatrix) -> Option<ExactMatrix> {
    let Some(left) = left else { return Some(right) };
    let a = right.rows.first()?.len();
    dense(a, left.rows.len() * right.rows.len(), left.denominator * right.denominator, |y, x| {
        &left.rows[y / right.rows.len()][x] * &right.rows[y % right.rows.len()][x]
    })
}

fn mixed(choice: &Wheel, parts: &[ExactMatrix]) -> ExactMatrix {
    let all: BigUint = parts.iter().map(|part| part.denominator.clone()).product();
    let rows = parts.iter().enumerate().flat_map(|(j, part)| {
        let weight = &all / &part.denominator * choice.weight(j);
        part.rows.iter().map(move |row| row.iter().map(|entry| entry * &weight).collect())
    });
    ExactMatrix { rows: rows.collect(), denominator: &all * ALL }
}
