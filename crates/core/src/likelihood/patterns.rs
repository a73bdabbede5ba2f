//! Reports that are sets of inputs, as packed bits: unary encoding, local hash, subset selection.

use crate::numerics::parallel::*;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, Par};
use rand::{Rng, RngExt};

use super::dense_rows::DenseRows;
use super::{Likelihood, LnProduct, RowLikelihood, Senders, Slope, ln_product};
use crate::model::error::{Error, Result};
use crate::model::protocol::Protocol;
use crate::model::protocol::supported;
use crate::model::tallies::Tallies;
use crate::numerics::random::multinomial;
use crate::numerics::stop::check;

/// The largest number of bits stored: one gibibyte.
const MAX_BITS: u128 = 1 << 33;

/// Patterns per chunk. Fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// The largest number of pairs of members summed for an information matrix. Beyond, it is estimated from
/// evenly spaced patterns in sorted order: at two thousand million pairs its relative error is far below the
/// sampling error of the reports.
const MAX_PAIRS: f64 = 2e9;

/// Distributions at which the likelihood is evaluated in one pass.
const LANES: usize = 4;

/// Patterns of which one product of matrices is made.
const INFORMATION_BLOCK: usize = 2048;

/// The distinct reported sets with their counts. The likelihood of a set `y` depends only on which inputs it
/// contains:
/// ```text
/// Q_{y|x} ∝ 1 if x ∈ y, e^{−ε} if not,   so   L(p) = Σ_y s_y ln(e^{−ε} + (1 − e^{−ε}) p(y)),   p(y) = Σ_{x ∈ y} p_x
/// ```
///
/// # Method and cost
/// Eight inputs are looked up at once: `p(y)` is a sum of one table entry per byte, and the gradient adds the
/// weight of each pattern to one bucket per byte: `a/8` steps per pattern, whatever the number of members.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    a: usize,
    /// `e^{−ε}`.
    miss: f64,
    /// `1 − e^{−ε}`.
    contrast: f64,
    n: f64,
    /// Reports that carry no information.
    silent: u64,
    /// The part of the log-likelihood that does not depend on `p`.
    ln_scale: f64,
    width: usize,
    bytes: Vec<u8>,
    counts: Vec<f64>,
}

impl Patterns {
    /// The patterns of the reports, without those that contain all inputs or none and so carry no
    /// information.
    ///
    /// # Errors
    /// There are too many, or an output was reported that no input can produce.
    pub(crate) fn of(protocol: &Protocol, tallies: &Tallies) -> Result<Self> {
        let mut patterns = Patterns::empty(protocol, tallies.counts().len())?;
        let extreme = patterns.miss == 0.0;
        for (output, count) in tallies.counts() {
            check();
            let members = supported(protocol, output);
            if extreme {
                let mut ln_row = (0..patterns.a).map(|x| protocol.ln_probability(output, x));
                if !ln_row.any(|ln_q| ln_q.is_ok_and(|ln_q| ln_q > f64::NEG_INFINITY)) {
                    return Err(Error::ImpossibleOutput { output: output.to_string() });
                }
            }
            let likeliest = members.first().copied().unwrap_or(0);
            patterns.ln_scale += *count as f64 * protocol.ln_probability(output, likeliest)?;
            patterns.add(&members, *count as f64);
        }
        if matches!(protocol, Protocol::LocalHash(_)) {
            patterns.merge();
        }
        Ok(patterns)
    }

    /// An empty collection with room for this many outputs.
    ///
    /// # Errors
    /// There would be too many.
    pub(crate) fn empty(protocol: &Protocol, outputs: usize) -> Result<Self> {
        let (a, level) = (protocol.inputs(), protocol.level()?);
        let entries = a as u128 * outputs as u128;
        if entries > MAX_BITS {
            return Err(Error::TooMuch { what: "the bits of all reports", entries, max: MAX_BITS });
        }
        let width = a.div_ceil(8);
        Ok(Patterns {
            a,
            miss: (-level).exp(),
            contrast: -(-level).exp_m1(),
            n: 0.0,
            silent: 0,
            ln_scale: 0.0,
            width,
            bytes: Vec::with_capacity(width * outputs),
            counts: Vec::with_capacity(outputs),
        })
    }

    /// Adds a pattern that was reported `count` times.
    pub(crate) fn add(&mut self, members: &[usize], count: f64) {
        if members.is_empty() || members.len() == self.a {
            self.silent += count as u64;
            return;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + self.width, 0);
        members.iter().for_each(|x| self.bytes[start + x / 8] |= 1 << (x % 8));
        self.counts.push(count);
        self.n += count;
    }

    /// A collection of the same kind without patterns.
    fn without_patterns(&self) -> Self {
        Patterns { n: 0.0, silent: 0, bytes: Vec::new(), counts: Vec::new(), ..*self }
    }

    /// Merges equal patterns: different hash functions may give the same set, and at low privacy many users
    /// report the same set.
    pub(crate) fn merge(&mut self) {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_unstable_by_key(|j| self.pattern(*j));
        let (mut bytes, mut counts): (Vec<u8>, Vec<f64>) = (Vec::new(), Vec::new());
        for j in order {
            check();
            if bytes.ends_with(self.pattern(j)) && !counts.is_empty() {
                let last = counts.len() - 1;
                counts[last] += self.counts[j];
            } else {
                bytes.extend_from_slice(self.pattern(j));
                counts.push(self.counts[j]);
            }
        }
        (self.bytes, self.counts) = (bytes, counts);
    }

    /// The number of distinct patterns.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Each pattern with its count.
    fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.bytes.chunks_exact(self.width).zip(self.counts.iter().copied())
    }

    /// `e^{−ε} + (1 − e^{−ε}) p(y)`.
    fn likelihood(&self, tables: &[[f64; 256]], pattern: &[u8]) -> f64 {
        self.miss + self.contrast * share(tables, pattern)
    }

    fn pattern(&self, j: usize) -> &[u8] {
        &self.bytes[j * self.width..][..self.width]
    }

    /// For each byte and each of its 256 values, the sum of `p` over its bits.
    fn tables(&self, p: &[f64]) -> Vec<[f64; 256]> {
        let of_byte = |p: &[f64]| {
            let mut table = [0.0; 256];
            for value in 1..256usize {
                let low = value.trailing_zeros() as usize;
                table[value] = table[value & (value - 1)] + p.get(low).copied().unwrap_or(0.0);
            }
            table
        };
        p.chunks(8).map(of_byte).collect()
    }

    /// `L` at up to [`LANES`] distributions. A table entry holds the sums for all of them, so that one look-up
    /// serves all.
    fn ln_values(&self, points: &[&[f64]]) -> [f64; LANES] {
        let each: Vec<Vec<[f64; 256]>> = points.iter().map(|p| self.tables(p)).collect();
        let entry = |byte: usize, value: usize| {
            std::array::from_fn(|lane| each.get(lane).map_or(0.0, |tables| tables[byte][value]))
        };
        let tables: Vec<[[f64; LANES]; 256]> =
            (0..self.width).map(|byte| std::array::from_fn(|value| entry(byte, value))).collect();
        let parts: Vec<[f64; LANES]> = self
            .bytes
            .par_chunks(CHUNK * self.width)
            .zip(self.counts.par_chunks(CHUNK))
            .map(|(bytes, counts)| self.ln_values_of(&tables, bytes, counts))
            .collect();
        parts.iter().fold([0.0; LANES], |sum, part| std::array::from_fn(|lane| sum[lane] + part[lane]))
    }

    fn ln_values_of(&self, tables: &[[[f64; LANES]; 256]], bytes: &[u8], counts: &[f64]) -> [f64; LANES] {
        let mut products = [LnProduct::default(); LANES];
        for (pattern, count) in bytes.chunks_exact(self.width).zip(counts) {
            check();
            let mut shares = [0.0; LANES];
            for (byte, table) in pattern.iter().zip(tables) {
                let entry = &table[usize::from(*byte)];
                shares.iter_mut().zip(entry).for_each(|(share, term)| *share += term);
            }
            for (product, share) in products.iter_mut().zip(shares) {
                product.multiply(self.miss + self.contrast * share, *count);
            }
        }
        products.map(LnProduct::ln)
    }

    /// The value and, for each input, the sum of the weights of the patterns that contain it; then
    /// `Σ_y w_y p(y)`.
    fn part(&self, tables: &[[f64; 256]], bytes: &[u8], counts: &[f64]) -> (f64, Vec<f64>, f64) {
        let mut buckets = vec![[0.0; 256]; self.width];
        let (mut value, mut along) = (0.0, 0.0);
        for (pattern, count) in bytes.chunks_exact(self.width).zip(counts) {
            check();
            let share = share(tables, pattern);
            let likelihood = self.miss + self.contrast * share;
            let weight = count / likelihood;
            value += count * likelihood.ln();
            along += weight * share;
            pattern.iter().zip(&mut buckets).for_each(|(byte, bucket)| bucket[usize::from(*byte)] += weight);
        }
        (value, self.held(&buckets), along)
    }

    /// For each input, the sum over the byte values that contain it.
    fn held(&self, buckets: &[[f64; 256]]) -> Vec<f64> {
        let of_input = |x: usize| {
            let bucket = &buckets[x / 8];
            (0..256).filter(|value| value >> (x % 8) & 1 == 1).map(|value| bucket[value]).sum()
        };
        (0..self.a).map(of_input).collect()
    }

    /// About how many pairs of members all patterns have.
    fn pairs_of_members(&self) -> f64 {
        let members: u64 = self.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let patterns = self.counts.len() as f64;
        (members as f64 / patterns).powi(2) / 2.0 * patterns
    }

    /// The observed information of all patterns, by products of matrices in single precision: rounding errors
    /// of 1e-6 are far below those of a sample of patterns, which spoil a quadratic expansion where there are
    /// a thousand values.
    fn whole_information(&self, p: &[f64]) -> Mat<f64> {
        let (a, tables) = (self.a, self.tables(p));
        let scores = |(bytes, counts): (&[u8], &[f64])| {
            check();
            let mut scores = Mat::<f32>::zeros(a, counts.len());
            for (j, (pattern, count)) in bytes.chunks_exact(self.width).zip(counts).enumerate() {
                let share = share(&tables, pattern);
                let root = count.sqrt() * self.contrast / (self.miss + self.contrast * share);
                let (inside, outside) = ((root * (1.0 - share)) as f32, (-root * share) as f32);
                let column = scores.col_as_slice_mut(j);
                for (x, score) in column.iter_mut().enumerate() {
                    *score = if holds(pattern, x) { inside } else { outside };
                }
            }
            let mut gram = Mat::<f32>::zeros(a, a);
            triangular::matmul(
                gram.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Replace,
                scores.as_ref(),
                BlockStructure::Rectangular,
                scores.as_ref().transpose(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
            gram
        };
        // Each range of blocks has one sum in double precision; few ranges, because each holds a matrix.
        let block = INFORMATION_BLOCK;
        let range = self.counts.len().div_ceil(8).next_multiple_of(block);
        let parts: Vec<Mat<f64>> = self
            .bytes
            .par_chunks(range * self.width)
            .zip(self.counts.par_chunks(range))
            .map(|(bytes, counts)| {
                let mut sum = Mat::<f64>::zeros(a, a);
                for part in bytes.chunks(block * self.width).zip(counts.chunks(block)) {
                    let gram = scores(part);
                    for z in 0..a {
                        for x in z..a {
                            sum[(x, z)] += f64::from(gram[(x, z)]);
                        }
                    }
                }
                sum
            })
            .collect();
        Mat::from_fn(a, a, |x, z| parts.iter().map(|part| part[(x.max(z), x.min(z))]).sum())
    }

    /// The sender of a report, if one of the first values drawn is accepted.
    fn sender(&self, pattern: &[u8], guide: &Guide, rng: &mut dyn Rng) -> Option<usize> {
        (0..MOST_TRIALS).find_map(|_| {
            let x = guide.draw(rng);
            let accepted = holds(pattern, x) || rng.random::<f64>() < self.miss;
            accepted.then_some(x)
        })
    }

    /// Adds the pairs of members of every `stride`-th pattern of a chunk, weighted by `s_y/(Qp)_y²`, and the
    /// sums needed to centre them.
    fn pairs(&self, tables: &[[f64; 256]], range: std::ops::Range<usize>, stride: usize) -> Pairs {
        let mut sum = Pairs { gram: vec![0.0; self.a * self.a], along: vec![0.0; self.a], square: 0.0 };
        let mut members = Vec::with_capacity(self.a);
        for j in range.step_by(stride) {
            check();
            let pattern = self.pattern(j);
            let share = share(tables, pattern);
            let weight = self.counts[j] * (self.contrast / (self.miss + self.contrast * share)).powi(2);
            members.clear();
            members.extend((0..self.a).filter(|x| holds(pattern, *x)));
            for (i, x) in members.iter().enumerate() {
                let row = &mut sum.gram[x * self.a..][..self.a];
                members[i..].iter().for_each(|z| row[*z] += weight);
                sum.along[*x] += weight * share;
            }
            sum.square += weight * share * share;
        }
        sum
    }
}

/// Values drawn for the sender of a report before its likelihood is computed instead.
const MOST_TRIALS: usize = 16;

/// Draws from a distribution by looking up where to begin in its cumulative sums.
struct Guide {
    below: Vec<f64>,
    first: Vec<u32>,
}

impl Guide {
    fn new(p: &[f64]) -> Self {
        let total: f64 = p.iter().sum();
        let mut sum = 0.0;
        let below: Vec<f64> = p
            .iter()
            .map(|p_x| {
                sum += p_x / total;
                sum
            })
            .collect();
        let cells = (4 * p.len()).max(256);
        let first = |cell: usize| below.partition_point(|below| *below <= cell as f64 / cells as f64) as u32;
        let first = (0..cells).map(first).collect();
        Guide { below, first }
    }

    fn draw(&self, rng: &mut dyn Rng) -> usize {
        let u = rng.random::<f64>();
        let mut x = self.first[(u * self.first.len() as f64) as usize] as usize;
        while x + 1 < self.below.len() && self.below[x] <= u {
            x += 1;
        }
        x
    }
}

/// `p(y)`: one table entry per byte.
///
/// Four sums, because each addition would wait for the one before it.
fn share(tables: &[[f64; 256]], pattern: &[u8]) -> f64 {
    let mut sums = [0.0; 4];
    let (bytes, tables_of) = (pattern.chunks_exact(4), tables.chunks_exact(4));
    let rest = bytes.remainder().iter().zip(tables_of.remainder());
    let last: f64 = rest.map(|(byte, table)| table[usize::from(*byte)]).sum();
    for (bytes, tables) in bytes.zip(tables_of) {
        for ((sum, byte), table) in sums.iter_mut().zip(bytes).zip(tables) {
            *sum += table[usize::from(*byte)];
        }
    }
    sums[0] + sums[1] + (sums[2] + sums[3]) + last
}

/// The member of a pattern at which the cumulative mass of the members, in order, exceeds `rest < p(y)`.
fn member(tables: &[[f64; 256]], pattern: &[u8], mut rest: f64) -> Option<usize> {
    for (number, (byte, table)) in pattern.iter().zip(tables).enumerate() {
        let mass = table[usize::from(*byte)];
        if rest >= mass {
            rest -= mass;
            continue;
        }
        let mut bits = (0..8).filter(|bit| byte >> bit & 1 == 1);
        for bit in bits.clone() {
            rest -= table[1 << bit];
            if rest < 0.0 {
                return Some(8 * number + bit);
            }
        }
        // Rounding left no member: take the last.
        return bits.next_back().map(|bit| 8 * number + bit);
    }
    None
}

/// Sums over patterns: of pairs of members, of members times the pattern's share, of squared shares.
struct Pairs {
    gram: Vec<f64>,
    along: Vec<f64>,
    square: f64,
}

impl Pairs {
    fn plus(mut self, other: Pairs) -> Pairs {
        self.gram.iter_mut().zip(other.gram).for_each(|(sum, term)| *sum += term);
        self.along.iter_mut().zip(other.along).for_each(|(sum, term)| *sum += term);
        self.square += other.square;
        self
    }
}

impl Likelihood for Patterns {
    fn inputs(&self) -> usize {
        self.a
    }

    fn reports(&self) -> f64 {
        self.n
    }

    fn slope(&self, p: &[f64]) -> Slope {
        let tables = self.tables(p);
        let parts: Vec<_> = self
            .bytes
            .par_chunks(CHUNK * self.width)
            .zip(self.counts.par_chunks(CHUNK))
            .map(|(bytes, counts)| self.part(&tables, bytes, counts))
            .collect();
        let (mut value, mut held, mut along) = (0.0, vec![0.0; self.a], 0.0);
        for (part, members, part_along) in parts {
            value += part;
            along += part_along;
            held.iter_mut().zip(members).for_each(|(sum, term)| *sum += term);
        }
        Slope { value, excess: held.into_iter().map(|h| self.contrast * (h - along)).collect() }
    }

    fn information(&self, p: &[f64]) -> Mat<f64> {
        let tables = self.tables(p);
        let patterns = self.counts.len();
        let stride = (self.pairs_of_members() / MAX_PAIRS).ceil().max(1.0) as usize;
        // Few chunks, because each has its own matrix.
        let size = patterns.div_ceil(8).max(1).next_multiple_of(stride);
        let ranges: Vec<_> =
            (0..patterns).step_by(size).map(|start| start..(start + size).min(patterns)).collect();
        let parts: Vec<Pairs> =
            ranges.into_par_iter().map(|range| self.pairs(&tables, range, stride)).collect();
        let none = Pairs { gram: vec![0.0; self.a * self.a], along: vec![0.0; self.a], square: 0.0 };
        let sum = parts.into_iter().fold(none, Pairs::plus);
        Mat::from_fn(self.a, self.a, |x, z| {
            let pair = sum.gram[x.min(z) * self.a + x.max(z)];
            stride as f64 * (pair - sum.along[x] - sum.along[z] + sum.square)
        })
    }
}

impl Senders for Patterns {
    fn n(&self) -> u64 {
        self.n as u64 + self.silent
    }

    fn ln_scale(&self) -> f64 {
        self.ln_scale
    }

    fn ln_value(&self, p: &[f64]) -> f64 {
        let tables = self.tables(p);
        ln_product(self.iter().map(|(pattern, count)| (self.likelihood(&tables, pattern), count)))
    }

    fn tally_moments(&self, p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let tables = self.tables(p);
        let (mut firsts, mut seconds) = (vec![[0.0; 256]; self.width], vec![[0.0; 256]; self.width]);
        let (mut first, mut second) = (0.0, 0.0);
        for (pattern, count) in self.iter() {
            check();
            let likelihood = self.likelihood(&tables, pattern);
            let (weight, square) = (count / likelihood, count / (likelihood * likelihood));
            first += weight;
            second += square;
            for ((byte, firsts), seconds) in pattern.iter().zip(&mut firsts).zip(&mut seconds) {
                firsts[usize::from(*byte)] += weight;
                seconds[usize::from(*byte)] += square;
            }
        }
        // A report is from x with probability w p_x, w = miss/likelihood for others and 1/likelihood for members.
        let silent = self.silent as f64;
        let of_input = |((held, squares), p_x): ((f64, f64), &f64)| {
            let mean = p_x * (self.miss * first + self.contrast * held + silent);
            let all = self.miss * self.miss * second + (1.0 - self.miss * self.miss) * squares + silent;
            (mean, (mean - p_x * p_x * all).max(0.0))
        };
        self.held(&firsts).into_iter().zip(self.held(&seconds)).zip(p).map(of_input).unzip()
    }

    /// The sender of a report is `x` with probability proportional to `p_x`, times `e^{−ε}` if the report does
    /// not contain `x`: values are drawn from `P` and accepted with that probability, for a while.
    fn sample_tallies(&self, p: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
        let (tables, guide) = (self.tables(p), Guide::new(p));
        let (mut t, mut from_all) = (vec![0; self.a], self.silent);
        for (pattern, count) in self.iter() {
            check();
            if count == 1.0
                && let Some(x) = self.sender(pattern, &guide, rng)
            {
                t[x] += 1;
                continue;
            }
            let likelihood = self.likelihood(&tables, pattern);
            // The sender of a report is anyone, distributed as P, or a member of the pattern.
            let blind = multinomial(count as u64, &[self.miss, likelihood - self.miss], rng);
            from_all += blind[0];
            let share = share(&tables, pattern);
            if blind[1] > self.a as u64 {
                let masses: Vec<f64> =
                    (0..self.a).map(|x| if holds(pattern, x) { p[x] } else { 0.0 }).collect();
                t.iter_mut().zip(multinomial(blind[1], &masses, rng)).for_each(|(t, more)| *t += more);
                continue;
            }
            for _ in 0..blind[1] {
                match member(&tables, pattern, share * rng.random::<f64>()) {
                    Some(x) => t[x] += 1,
                    None => from_all += 1,
                }
            }
        }
        t.iter_mut().zip(multinomial(from_all, p, rng)).for_each(|(t, more)| *t += more);
        t
    }
}

fn holds(pattern: &[u8], x: usize) -> bool {
    pattern[x / 8] >> (x % 8) & 1 == 1
}

impl RowLikelihood for Patterns {
    fn inputs(&self) -> usize {
        self.a
    }

    fn counts(&self) -> Vec<f64> {
        self.counts.clone()
    }

    fn ln_likelihood(&self, p: &[f64]) -> f64 {
        self.ln_value(p)
    }

    fn ln_likelihoods(&self, points: &[&[f64]]) -> Vec<f64> {
        points.chunks(LANES).flat_map(|points| self.ln_values(points)[..points.len()].to_vec()).collect()
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        let tables = self.tables(p);
        self.iter().map(|(pattern, _)| self.likelihood(&tables, pattern)).collect()
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        self.slope(p).excess.iter().map(|excess| excess + self.n).collect()
    }

    fn expansion(&self, centre: &[f64], thorough: bool) -> (Vec<f64>, Vec<f64>) {
        let information = if thorough && self.pairs_of_members() > MAX_PAIRS {
            self.whole_information(centre)
        } else {
            self.information(centre)
        };
        let entries = (0..self.a * self.a).map(|i| information[(i / self.a, i % self.a)]);
        (self.slope(centre).excess, entries.collect())
    }

    fn steps(&self) -> f64 {
        self.bytes.len() as f64
    }

    fn split(&self, chosen: &[bool]) -> (DenseRows, Box<dyn RowLikelihood>) {
        let (mut dense, mut rest) =
            (DenseRows { a: self.a, ..DenseRows::default() }, self.without_patterns());
        for ((pattern, count), chosen) in self.iter().zip(chosen) {
            check();
            if *chosen {
                let entry = |x: usize| if holds(pattern, x) { self.miss + self.contrast } else { self.miss };
                dense.rows.extend((0..self.a).map(entry));
                dense.counts.push(count);
            } else {
                rest.bytes.extend_from_slice(pattern);
                rest.counts.push(count);
                rest.n += count;
            }
        }
        (dense, Box::new(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::centred_rows::CentredRows;
    use super::*;
    use crate::model::output::Output;

    /// Packed bits and matrix rows agree on the same reports.
    #[test]
    fn patterns_agree_with_rows() {
        let subset = |members: &[usize]| Output::Subset(members.to_vec());
        let ue = Protocol::ue(11, 0.7, 0.2).unwrap();
        let reports = [
            (subset(&[]), 4),
            (subset(&[0, 3, 10]), 5),
            (subset(&[8]), 7),
            (subset(&[1, 2, 4, 5, 6, 7, 8, 9]), 2),
            (subset(&(0..11).collect::<Vec<_>>()), 3),
        ];
        let tallies = Tallies::new(&ue, reports).unwrap();
        let (packed, dense) = (Patterns::of(&ue, &tallies).unwrap(), CentredRows::of(&ue, &tallies).unwrap());
        assert_eq!((packed.reports(), dense.reports()), (14.0, 21.0));
        let p: Vec<f64> = (1..=11).map(|x| f64::from(x) / 66.0).collect();
        let (one, other) = (packed.slope(&p), dense.slope(&p));
        let centre = packed.slope(&[1.0 / 11.0; 11]).value - dense.slope(&[1.0 / 11.0; 11]).value;
        assert!((one.value - other.value - centre).abs() < 1e-12);
        for (l, r) in one.excess.iter().zip(&other.excess) {
            assert!((l - r).abs() < 1e-12, "{l} {r}");
        }
        let (one, other) = (packed.information(&p), dense.information(&p));
        for x in 0..11 {
            for z in 0..11 {
                assert!((one[(x, z)] - other[(x, z)]).abs() < 1e-11, "{x} {z}");
            }
        }
    }

    /// The posterior of the senders' values, by Bayes' rule report by report: packed bits and sparse rows
    /// give the same likelihood, moments and, at four standard errors of 20,000 draws (44 comparisons:
    /// false-alarm rate 0.3 %), the same tallies.
    #[test]
    fn senders_follow_bayes_rule() {
        let subset = |members: &[usize]| Output::Subset(members.to_vec());
        let ue = Protocol::ue(11, 0.7, 0.2).unwrap();
        let reports =
            [(subset(&[]), 4), (subset(&[0, 3, 10]), 1), (subset(&[8, 9]), 7), (subset(&[1, 2, 4, 5, 6]), 2)];
        let tallies = Tallies::new(&ue, reports.clone()).unwrap();
        let p: Vec<f64> = (1..=11).map(|x| f64::from(x) / 66.0).collect();
        let (mut ln, mut mean, mut variance) = (0.0, vec![0.0; 11], vec![0.0; 11]);
        for (output, count) in &reports {
            let joint: Vec<f64> =
                (0..11).map(|x| p[x] * ue.ln_probability(output, x).unwrap().exp()).collect();
            let (total, count): (f64, f64) = (joint.iter().sum(), *count as f64);
            ln += count * total.ln();
            for x in 0..11 {
                let sent = joint[x] / total;
                mean[x] += count * sent;
                variance[x] += count * sent * (1.0 - sent);
            }
        }
        let packed = Patterns::of(&ue, &tallies).unwrap();
        let sparse = super::super::sparse_rows::SparseRows::new(&ue, &tallies).unwrap();
        for senders in [&packed as &dyn Senders, &sparse] {
            assert_eq!(senders.n(), 14);
            assert!((senders.ln_scale() + senders.ln_value(&p) - ln).abs() < 1e-12);
            let (m, v) = senders.tally_moments(&p);
            let mut rng = crate::numerics::random::generator(3, 0);
            let draws: Vec<Vec<u64>> = (0..20_000).map(|_| senders.sample_tallies(&p, &mut rng)).collect();
            assert!(draws.iter().all(|t| t.iter().sum::<u64>() == 14));
            for x in 0..11 {
                assert!((m[x] - mean[x]).abs() < 1e-12 && (v[x] - variance[x]).abs() < 1e-12, "{x}");
                let drawn = draws.iter().map(|t| t[x] as f64);
                let average = drawn.clone().sum::<f64>() / 20_000.0;
                let spread = drawn.map(|t| (t - average).powi(2)).sum::<f64>() / 20_000.0;
                assert!((average - mean[x]).abs() < 4.0 * (variance[x] / 20_000.0).sqrt(), "{x} {average}");
                // The kurtosis of a sum of indicators with these variances is below 3 + 1/variance.
                let noise = ((2.0 + 1.0 / variance[x]) / 20_000.0).sqrt() * variance[x];
                assert!((spread - variance[x]).abs() < 4.0 * noise, "{x} {spread} {}", variance[x]);
            }
        }
    }

    #[test]
    fn hash_functions_that_say_the_same_are_merged() {
        let lh = Protocol::lh(3, 2, 1.0).unwrap();
        let tallies = Tallies::new(&lh, (0..1000).map(|seed| (Output::Hash { seed, z: 0 }, 1))).unwrap();
        let patterns = Patterns::of(&lh, &tallies).unwrap();
        assert_eq!(patterns.counts.len(), 6);
        assert_eq!(patterns.counts.iter().sum::<f64>(), patterns.reports());
    }

    #[test]
    fn what_cannot_be_reported_is_refused() {
        let ue = Protocol::ue(3, 0.5, 0.0).unwrap();
        let two = Tallies::new(&ue, [(Output::Subset(vec![0, 1]), 1)]).unwrap();
        assert_eq!(Patterns::of(&ue, &two).unwrap_err(), Error::ImpossibleOutput { output: "[0,1]".into() });
        let one = Tallies::new(&ue, [(Output::Subset(vec![0]), 1), (Output::Subset(vec![]), 1)]).unwrap();
        assert!(Patterns::of(&ue, &one).is_ok());
    }
}
