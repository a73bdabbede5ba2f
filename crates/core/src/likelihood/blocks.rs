//! The likelihood of reports of a block design, by transforms: `O(v log v)` whatever the number of reports.
//!
//! With `β = e^ε − 1` a report of block `y` has the probability `c (1 + β p(B_y))`, so all of them follow from one cyclic correlation of `p`
//! with the difference set, and a gradient from one of the reports' weights.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rand::{Rng, RngExt};

use super::dense_rows::DenseRows;
use super::{Likelihood, RowLikelihood, Senders, Slope};
use crate::model::output::Output;
use crate::model::protocol::{Block, Channel};
use crate::model::tallies::Tallies;
use crate::numerics::cyclic_sum::CyclicSum;
use crate::numerics::random::{binomial, multinomial};
use crate::numerics::stop::check;

/// How often each block was reported. Every block is a row, reported or not.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    block: Block,
    /// Sums one by one where the level is too high for transforms.
    exact_sums: Option<Arc<CyclicSum>>,
    n: u64,
    counts: Vec<f64>,
}

/// Largest level at which transforms are used: their error, some `1e-16`, is multiplied by `e^ε`.
const MAX_TRANSFORM_LEVEL: f64 = 16.0;

/// Blocks whose incidence is written out at a time, and terms that are summed at a time.
const CHUNK: usize = 256;

/// Draws of a value one by one that take as long as one binomial draw.
const DRAWS_A_BINOMIAL: u64 = 8;

impl Blocks {
    /// The counts of these tallies.
    pub(crate) fn of(block: &Block, tallies: &Tallies) -> Self {
        let mut counts = vec![0.0; block.order()];
        for (output, count) in tallies.counts() {
            if let Output::Index(y) = output {
                counts[*y] += *count as f64;
            }
        }
        let set = block.set();
        let exact_sums = (block.epsilon() > MAX_TRANSFORM_LEVEL)
            .then(|| Arc::new(CyclicSum::one_by_one(set.order(), set.elements())));
        Blocks { block: block.clone(), exact_sums, n: tallies.n(), counts }
    }

    fn sums(&self) -> &CyclicSum {
        self.exact_sums.as_deref().unwrap_or_else(|| self.block.set().sum())
    }

    /// `β = e^ε − 1`.
    fn beta(&self) -> f64 {
        self.block.epsilon().exp_m1()
    }

    /// The probability `p(B_y)` of each block.
    fn held(&self, p: &[f64]) -> Vec<f64> {
        check();
        self.sums().ahead(p)
    }

    /// The information along a difference of distributions, where it is the same in all directions: `(k − λ)` times the mean weight of a block.
    pub(crate) fn curvature(&self, p: &[f64]) -> f64 {
        let (beta, ratios) = (self.beta(), self.ratios(p));
        let weights = self.counts.iter().zip(&ratios).map(|(count, ratio)| count * (beta / ratio).powi(2));
        (self.block.size() - self.block.index()) as f64 * weights.sum::<f64>() / self.block.order() as f64
    }

    /// `Σ_{y ∋ x} w_y` for each input.
    fn with_each(&self, weights: &[f64]) -> Vec<f64> {
        let mut sums = self.sums().back(weights);
        sums.truncate(self.block.inputs());
        sums
    }

    /// `Σ_y w_y (B_yx − f_y)(B_yz − f_y)` with `w_y ≥ 0`.
    fn second_moments(&self, weights: &[f64], shift: impl Fn(usize) -> f64) -> Mat<f64> {
        let a = self.block.inputs();
        let mut moments = Mat::zeros(a, a);
        let reported: Vec<usize> = (0..weights.len()).filter(|y| weights[*y] > 0.0).collect();
        for blocks in reported.chunks(CHUNK) {
            check();
            let scaled = Mat::from_fn(blocks.len(), a, |i, x| {
                let y = blocks[i];
                weights[y].sqrt() * (f64::from(u8::from(self.block.holds(y, x))) - shift(y))
            });
            matmul(moments.as_mut(), Accum::Add, scaled.transpose(), &scaled, 1.0, Par::Seq);
        }
        moments
    }
}

impl Likelihood for Blocks {
    fn inputs(&self) -> usize {
        self.block.inputs()
    }

    fn reports(&self) -> f64 {
        self.n as f64
    }

    /// With `w_y = s_y/(1 + β p(B_y))` and `W_x = Σ_{y ∋ x} w_y` the gradient less `n` is `β (W_x − Σ_z p_z W_z)`.
    ///
    /// The mean is divided by `Σ_z p_z` and summed in parts: with `10^5` values and `10^7` reports the rounding of either would otherwise be as large as the
    /// gap that a search aims at, `1e-6` nats.
    fn slope(&self, p: &[f64]) -> Slope {
        let (beta, held) = (self.beta(), self.held(p));
        let value = self.counts.iter().zip(&held).map(|(count, held)| count * (beta * held).ln_1p()).sum();
        let weights: Vec<f64> =
            self.counts.iter().zip(&held).map(|(count, held)| count / (1.0 + beta * held)).collect();
        let with_each = self.with_each(&weights);
        let sum = |term: &dyn Fn(usize) -> f64| -> f64 {
            let part = |first: usize| (first..p.len().min(first + CHUNK)).map(term).sum::<f64>();
            (0..p.len()).step_by(CHUNK).map(part).sum()
        };
        let mean = sum(&|x| p[x] * with_each[x]) / sum(&|x| p[x]);
        let excess = with_each.iter().map(|with_x| beta * (with_x - mean)).collect();
        Slope { value, excess }
    }

    fn information(&self, p: &[f64]) -> Mat<f64> {
        let (beta, held) = (self.beta(), self.held(p));
        let weight = |(count, held): (&f64, &f64)| count * (beta / (1.0 + beta * held)).powi(2);
        let weights: Vec<f64> = self.counts.iter().zip(&held).map(weight).collect();
        self.second_moments(&weights, |y| held[y])
    }
}

/// Rows are `R_y(p) = 1 + β p(B_y)`.
impl RowLikelihood for Blocks {
    fn inputs(&self) -> usize {
        self.block.inputs()
    }

    fn counts(&self) -> Vec<f64> {
        self.counts.clone()
    }

    fn ln_likelihood(&self, p: &[f64]) -> f64 {
        self.ln_value(p)
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        let beta = self.beta();
        self.held(p).iter().map(|held| 1.0 + beta * held).collect()
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let (beta, ratios) = (self.beta(), self.ratios(p));
        let weights: Vec<f64> = self.counts.iter().zip(&ratios).map(|(count, ratio)| count / ratio).collect();
        let total: f64 = weights.iter().sum();
        self.with_each(&weights).iter().map(|with_x| total + beta * with_x).collect()
    }

    /// Of `R_yx R_yz = (1 + βB_yx)(1 + βB_yz)` only `β² B_yx B_yz` does not vanish on differences of distributions.
    fn expansion(&self, centre: &[f64], _thorough: bool) -> (Vec<f64>, Vec<f64>) {
        let (beta, ratios) = (self.beta(), self.ratios(centre));
        let weight = |(count, ratio): (&f64, &f64)| count * (beta / ratio).powi(2);
        let weights: Vec<f64> = self.counts.iter().zip(&ratios).map(weight).collect();
        let (a, moments) = (self.block.inputs(), self.second_moments(&weights, |_| 0.0));
        let curvature = (0..a).flat_map(|x| (0..a).map(move |z| (x, z))).map(|(x, z)| moments[(x, z)]);
        (self.gradient(centre), curvature.collect())
    }

    fn steps(&self) -> f64 {
        let v = self.counts.len() as f64;
        v * v.log2()
    }

    fn split(&self, chosen: &[bool]) -> (DenseRows, Box<dyn RowLikelihood>) {
        let (a, beta) = (self.block.inputs(), self.beta());
        let exact = || (0..chosen.len()).filter(|y| chosen[*y]);
        let entry = |y: usize, x: usize| if self.block.holds(y, x) { 1.0 + beta } else { 1.0 };
        let rows = exact().flat_map(|y| (0..a).map(move |x| entry(y, x))).collect();
        let dense = DenseRows { a, rows, counts: exact().map(|y| self.counts[y]).collect() };
        // The rest keeps the chosen rows with a count of 0, so that transforms go over all blocks.
        let left = |(count, chosen): (&f64, &bool)| if *chosen { 0.0 } else { *count };
        let counts = self.counts.iter().zip(chosen).map(left).collect();
        (dense, Box::new(Blocks { counts, ..self.clone() }))
    }
}

impl Senders for Blocks {
    fn n(&self) -> u64 {
        self.n
    }

    /// `n ln c`.
    fn ln_scale(&self) -> f64 {
        self.n as f64 * self.block.unit().ln()
    }

    fn ln_value(&self, p: &[f64]) -> f64 {
        let beta = self.beta();
        self.counts.iter().zip(self.held(p)).map(|(count, held)| count * (beta * held).ln_1p()).sum()
    }

    /// A report of `y` comes from input `x` with probability `p_x(1 + βB_yx)/R_y`, whose square is
    /// `p_x²(1 + (β² + 2β)B_yx)/R_y²`.
    fn tally_moments(&self, p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (beta, ratios) = (self.beta(), self.ratios(p));
        let squares: Vec<f64> =
            self.counts.iter().zip(&ratios).map(|(count, ratio)| count / (ratio * ratio)).collect();
        let total: f64 = squares.iter().sum();
        let mean: Vec<f64> = self.gradient(p).iter().zip(p).map(|(slope, p_x)| slope * p_x).collect();
        let variance = |((mean, with_x), p_x): ((&f64, f64), &f64)| {
            (mean - p_x * p_x * (total + beta * (beta + 2.0) * with_x)).max(0.0)
        };
        let variances = mean.iter().zip(self.with_each(&squares)).zip(p).map(variance).collect();
        (mean, variances)
    }

    /// A report of block `y` comes from all values alike with weight 1, and from the values in the block with weight `β`.
    fn sample_tallies(&self, p: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
        let (beta, held) = (self.beta(), self.held(p));
        let (mut t, mut from_all, mut members) = (vec![0; p.len()], 0, Members::default());
        for (y, (count, held)) in self.counts.iter().zip(held).enumerate() {
            check();
            let (count, weight) = (*count as u64, beta * held);
            let from_block = binomial(count, weight / (1.0 + weight), rng);
            from_all += count - from_block;
            if from_block == 0 {
                continue;
            }
            members.fill(&self.block, y, p);
            if members.total() > 0.0 {
                members.draw(from_block, &mut t, rng);
            } else {
                // The transform gave a block without mass the mass of a rounding error.
                from_all += from_block;
            }
        }
        t.iter_mut().zip(multinomial(from_all, p, rng)).for_each(|(t, more)| *t += more);
        t
    }
}

/// The values in a block with their probabilities, to draw some of them.
#[derive(Default)]
struct Members {
    values: Vec<u32>,
    masses: Vec<f64>,
    /// The sum of the probabilities up to each value.
    sums: Vec<f64>,
    /// For each of as many equal parts of the whole as there are values, the first value whose sum lies beyond its beginning.
    guide: Vec<u32>,
}

impl Members {
    fn fill(&mut self, block: &Block, y: usize, p: &[f64]) {
        self.values.clear();
        self.masses.clear();
        self.sums.clear();
        let mut sum = 0.0;
        for d in block.set().elements() {
            let x = *d as usize + y;
            let x = if x < block.order() { x } else { x - block.order() };
            if x < p.len() {
                sum += p[x];
                self.values.push(x as u32);
                self.masses.push(p[x]);
                self.sums.push(sum);
            }
        }
    }

    /// Their probability together.
    fn total(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// Draws so many values, and adds their numbers to `t`: by binomials if there are many more draws than values, else one by one.
    fn draw(&mut self, draws: u64, t: &mut [u64], rng: &mut dyn Rng) {
        if draws > DRAWS_A_BINOMIAL * self.values.len() as u64 {
            let counts = multinomial(draws, &self.masses, rng);
            self.values.iter().zip(counts).for_each(|(x, count)| t[*x as usize] += count);
            return;
        }
        let (parts, last) = (self.values.len() as f64, self.values.len() - 1);
        let total = self.total();
        self.guide.clear();
        let mut first = 0;
        for part in 0..self.values.len() {
            while first < last && self.sums[first] <= total * part as f64 / parts {
                first += 1;
            }
            self.guide.push(first as u32);
        }
        for _ in 0..draws {
            let share = rng.random::<f64>();
            let mut i = self.guide[(share * parts) as usize] as usize;
            while i < last && self.sums[i] <= share * total {
                i += 1;
            }
            t[self.values[i] as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::centred_rows::CentredRows;
    use crate::likelihood::sparse_rows::SparseRows;
    use crate::model::protocol::Protocol;
    use crate::numerics::random::generator;

    fn reported(a: usize, v: usize, k: usize, epsilon: f64) -> (Protocol, Tallies, Blocks) {
        let protocol = Protocol::block(a, v, k, epsilon).unwrap();
        let counts = (0..v).map(|y| (Output::Index(y), (y as u64 * 7) % 5));
        let tallies = Tallies::new(&protocol, counts).unwrap();
        let Protocol::Block(block) = &protocol else { unreachable!() };
        let blocks = Blocks::of(block, &tallies);
        (protocol, tallies, blocks)
    }

    fn ramp(a: usize) -> Vec<f64> {
        (1..=a).map(|x| x as f64 / (a * (a + 1) / 2) as f64).collect()
    }

    #[test]
    fn it_is_the_likelihood_of_the_rows() {
        let (protocol, tallies, fast) = reported(10, 13, 4, 1.2);
        let exact = CentredRows::of(&protocol, &tallies).unwrap();
        let p = ramp(10);
        let (left, right) = (fast.slope(&p), exact.slope(&p));
        for (l, r) in left.excess.iter().zip(&right.excess) {
            assert!((l - r).abs() < 1e-12, "{left:?} {right:?}");
        }
        let (left, right) = (fast.information(&p), exact.information(&p));
        for (x, z) in (0..10).flat_map(|x| (0..10).map(move |z| (x, z))) {
            assert!((left[(x, z)] - right[(x, z)]).abs() < 1e-12);
        }
        // The values differ by a constant.
        let uniform = [0.1; 10];
        let rise =
            |likelihood: &dyn Likelihood| likelihood.slope(&p).value - likelihood.slope(&uniform).value;
        assert!((rise(&fast) - rise(&exact)).abs() < 1e-12);
    }

    /// With sums one by one, with transforms, and at a level where transforms would lose all digits.
    #[test]
    fn it_is_what_chains_get_from_rows_one_by_one() {
        for (a, v, k, epsilon) in [(10, 13, 4, 1.2), (700, 1093, 364, 0.8), (900, 1365, 341, 30.0)] {
            let (protocol, tallies, fast) = reported(a, v, k, epsilon);
            let slow = SparseRows::new(&protocol, &tallies).unwrap();
            let (p, uniform) = (ramp(a), vec![1.0 / a as f64; a]);
            let value = |rows: &dyn Senders, p: &[f64]| rows.ln_scale() + rows.ln_value(p);
            for p in [&p, &uniform] {
                let (l, r) = (value(&fast, p), value(&slow, p));
                assert!((l / r - 1.0).abs() < 1e-12, "{a}: {l} {r}");
                for (l, r) in fast.gradient(p).iter().zip(slow.gradient(p)) {
                    assert!((l / r - 1.0).abs() < 1e-11, "{a}: {l} {r}");
                }
                let (left, right) = (fast.tally_moments(p), slow.tally_moments(p));
                for (l, r) in left.0.iter().zip(right.0).chain(left.1.iter().zip(right.1)) {
                    assert!((l - r).abs() < 1e-10 * (1.0 + r), "{a}: {l} {r}");
                }
            }
            let between = |(_, curvature): &(Vec<f64>, Vec<f64>), x: usize, z: usize| {
                curvature[x * a + x] + curvature[z * a + z] - 2.0 * curvature[x * a + z]
            };
            let (left, right) = (fast.expansion(&p, true), slow.expansion(&p, true));
            for (x, z) in [(0, 1), (3, 9), (a - 1, 2)] {
                let (l, r) = (between(&left, x, z), between(&right, x, z));
                assert!((l / r - 1.0).abs() < 1e-10, "{a}: {l} {r}");
            }
        }
    }

    #[test]
    fn chosen_rows_and_the_rest_are_all() {
        let (_, _, all) = reported(10, 13, 4, 1.2);
        let chosen: Vec<bool> = (0..13).map(|y| y % 3 == 1).collect();
        let (exact, rest) = all.split(&chosen);
        let (p, uniform) = (ramp(10), vec![0.1; 10]);
        let rise = |rows: &dyn RowLikelihood| rows.ln_likelihood(&p) - rows.ln_likelihood(&uniform);
        assert!((rise(&exact) + rise(&*rest) - rise(&all)).abs() < 1e-12);
        assert_eq!(exact.counts.len(), 4);
    }

    /// Means of drawn tallies, one by one and by binomials: 2000 draws, and a bound of five standard errors on 24 values, which chance
    /// exceeds with probability `1.4e-5`.
    #[test]
    fn drawn_tallies_have_their_moments() {
        // Few reports of each block, and many.
        for scale in [1, 1000] {
            let protocol = Protocol::block(12, 13, 4, 1.5).unwrap();
            let counts = (0..13).map(|y| (Output::Index(y), scale * (1 + y as u64 % 4)));
            let tallies = Tallies::new(&protocol, counts).unwrap();
            let Protocol::Block(block) = &protocol else { unreachable!() };
            let (blocks, p) = (Blocks::of(block, &tallies), ramp(12));
            let (mean, variance) = blocks.tally_moments(&p);
            let draws = 2000;
            let mut sums = [0.0; 12];
            for i in 0..draws {
                let t = blocks.sample_tallies(&p, &mut generator(3, i));
                assert_eq!(t.iter().sum::<u64>(), tallies.n());
                sums.iter_mut().zip(&t).for_each(|(sum, t)| *sum += *t as f64);
            }
            for x in 0..12 {
                let off = sums[x] / draws as f64 - mean[x];
                assert!(off.abs() < 5.0 * (variance[x] / draws as f64).sqrt(), "{scale} {x}: {off}");
            }
        }
    }
}
