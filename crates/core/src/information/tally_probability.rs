//! The probability that independent users have a given tally.
//!
//! User `i` has value `x` with probability `q_i(x)`. The tally of all users has a distribution without a closed form once the `q_i` differ; the
//! exact one takes `n^{a−1}` numbers. One number of it, `P(T = t)`, is what `I(Y⃗;T)` asks for.
//!
//! # Method
//! Users get their values one after the other such that the tally becomes `t`: user `i` gets `x` with a probability `g_i(x)` close to the
//! one it has given `T = t`. The *weight* of such a walk, `W = Π_i q_i(x_i)/g_i(x_i)`, has mean `P(T = t)`. With `r` values still to be given and `m` the
//! expected tally of the users that follow,
//!
//! ```text
//! g_i(x) ∝ q_i(x) · (r_x/m_x) · exp( (K d)_x − ½ K_xx ),      d = r − m,      K = C⁻ − diag(1/m)
//! ```
//!
//! The first factor alone is drawing without replacement, exact when all `q_i` are equal. `C` is the covariance of the tally of those that follow
//! (with [`ALIKE`] more users that are all alike), so the second factor turns the Poisson variances `m` of the first into the right ones: it is a local
//! limit. Those who follow do not depend on the walk, so `K` is found once for all walks, in stages that shrink with the users left. Users whose values
//! are nearly known come first, so that those at the end, where no limit helps, are nearly alike.
//!
//! # Bounds
//! By Jensen's inequality the mean over `k` walks has `E ln W̄ ≤ ln P(T = t)`. The users' true values, where one has them, are an exact draw of the
//! values *given* their tally; the mean over `k` walks and this one has `E ln W̄ ≥ ln P(T = t)`. The half of the two logarithms is off by much less than
//! their distance.

use crate::numerics::stop::check;
use faer::prelude::Solve;
use faer::{Mat, Side};
use rand::Rng;

/// So many more users, all alike, are thought to follow: then covariances have an inverse.
const ALIKE: f64 = 1.0;

/// A stage ends when this share of its users is left.
const STAGE: f64 = 0.85;

/// From so many users on every one is a stage.
const SINGLE: usize = 24;

/// Most walks until one does not end nowhere.
const MOST_WALKS: usize = 4096;

/// Expectations below this are 0 with rounding errors.
const NOTHING: f64 = 1e-9;

/// Independent users in the order in which they get their values.
pub(crate) struct Independent {
    /// Number of values.
    pub a: usize,
    /// Different rows of probabilities.
    pub rows: Vec<f64>,
    /// The row of each user.
    pub row_of: Vec<u32>,
}

/// Two logarithms whose means enclose `ln P(T = t)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub lower: f64,
    pub upper: f64,
}

impl Independent {
    fn row(&self, i: usize) -> &[f64] {
        &self.rows[self.row_of[i] as usize * self.a..][..self.a]
    }

    fn users(&self) -> usize {
        self.row_of.len()
    }

    /// Bounds for `ln P(T = t)`, where `truth` are values of the users with the tally `t`, drawn from their distribution.
    pub(crate) fn ln_probability(&self, truth: &[u32], walks: usize, rng: &mut dyn Rng) -> Bounds {
        let mut t = vec![0.0; self.a];
        truth.iter().for_each(|x| t[*x as usize] += 1.0);
        let stages = self.stages();
        let mut drawn: Vec<f64> = (0..walks).map(|_| self.walk(&stages, t.clone(), None, rng)).collect();
        // Where some values are impossible walks may end nowhere, with weight 0.
        while ln_mean(&drawn) == f64::NEG_INFINITY && drawn.len() < MOST_WALKS {
            drawn.push(self.walk(&stages, t.clone(), None, rng));
        }
        let given = self.walk(&stages, t, Some(truth), rng);
        let all: Vec<f64> = drawn.iter().copied().chain([given]).collect();
        Bounds { lower: ln_mean(&drawn), upper: ln_mean(&all) }
    }

    /// The logarithm of the weight of one walk, along the given values if there are any.
    fn walk(&self, stages: &[Stage], mut r: Vec<f64>, given: Option<&[u32]>, rng: &mut dyn Rng) -> f64 {
        let (a, n) = (self.a, self.users());
        let (mut ln_weight, mut weights) = (0.0, vec![0.0; a]);
        for stage in stages {
            check();
            let mut m = stage.expected.clone();
            let mut force = stage.force(&r, &m);
            for i in stage.users.clone() {
                check();
                let row = self.row(i);
                if i > stage.users.start {
                    m.iter_mut().zip(row).for_each(|(m, q)| *m = (*m - q).max(0.0));
                    force.iter_mut().zip(stage.pull(self, i)).for_each(|(f, p)| *f += p);
                }
                let scale = if i + 1 < n { stage.rest / (n - i - 1) as f64 } else { 0.0 };
                let top = force.iter().zip(&r).filter(|(_, r)| **r > 0.0).map(|(f, _)| *f);
                let top = top.fold(f64::NEG_INFINITY, f64::max);
                for x in 0..a {
                    let tilt = if r[x] > 0.0 { (scale * (force[x] - top)).exp() } else { 0.0 };
                    weights[x] = row[x] * tilt * r[x] / m[x].max(NOTHING);
                }
                let total: f64 = weights.iter().sum();
                let x = given
                    .map_or_else(|| crate::numerics::random::pick(&weights, total, rng), |g| g[i] as usize);
                if weights[x] <= 0.0 {
                    return f64::NEG_INFINITY;
                }
                ln_weight += (row[x] * total / weights[x]).ln();
                r[x] -= 1.0;
                force.iter_mut().zip(&stage.matrix[x * a..][..a]).for_each(|(f, k)| *f -= k);
            }
        }
        ln_weight
    }

    fn stages(&self) -> Vec<Stage> {
        let (n, a) = (self.users(), self.a);
        let mut starts = vec![0];
        while let Some(left) = starts.last().map(|s| n - s).filter(|left| *left > 1) {
            let next = if left <= SINGLE { left - 1 } else { (left as f64 * STAGE) as usize };
            starts.push(n - next);
        }
        let mut moments = Moments::new(a);
        let mut stages = Vec::new();
        let mut end = n;
        for start in starts.into_iter().rev() {
            (start + 1..(end + 1).min(n)).for_each(|i| moments.add(self.row(i), 1.0));
            stages.push(Stage::new(self, start..end, &moments));
            end = start;
        }
        stages.reverse();
        stages
    }
}

/// Mean and covariance of a tally of independent users.
pub(crate) struct Moments {
    pub users: f64,
    pub mean: Vec<f64>,
    /// By rows.
    pub covariance: Vec<f64>,
}

impl Moments {
    pub(crate) fn new(a: usize) -> Self {
        Moments { users: 0.0, mean: vec![0.0; a], covariance: vec![0.0; a * a] }
    }

    /// Adds `count` users with these probabilities.
    pub(crate) fn add(&mut self, row: &[f64], count: f64) {
        self.users += count;
        for (x, (line, q)) in self.covariance.chunks_exact_mut(row.len()).zip(row).enumerate() {
            let part = count * q;
            line.iter_mut().zip(row).for_each(|(c, other)| *c -= part * other);
            line[x] += part;
            self.mean[x] += part;
        }
    }
}

/// Some consecutive users, with what is expected of those that follow.
struct Stage {
    users: std::ops::Range<usize>,
    /// How many users follow the first one of the stage.
    rest: f64,
    /// Their expected tally.
    expected: Vec<f64>,
    /// `K` for them, by rows.
    matrix: Vec<f64>,
    /// `K q` of the users of the stage, or of all rows if these are few.
    pulls: Vec<f64>,
    by_row: bool,
}

impl Stage {
    fn new(all: &Independent, users: std::ops::Range<usize>, moments: &Moments) -> Self {
        let a = all.a;
        let matrix = local_limit(moments);
        let by_row = all.rows.len() / a < users.len();
        let pull = |row: &[f64]| -> Vec<f64> {
            matrix.chunks_exact(a).map(|k| k.iter().zip(row).map(|(k, q)| k * q).sum()).collect()
        };
        let pulls = if by_row {
            all.rows.chunks_exact(a).flat_map(pull).collect()
        } else {
            users.clone().flat_map(|i| pull(all.row(i))).collect()
        };
        Stage { users, rest: moments.users, expected: moments.mean.clone(), matrix, pulls, by_row }
    }

    /// `K q_i`.
    fn pull(&self, all: &Independent, i: usize) -> &[f64] {
        let slot = if self.by_row { all.row_of[i] as usize } else { i - self.users.start };
        &self.pulls[slot * all.a..][..all.a]
    }

    /// `(K d)_x − ½ K_xx`.
    fn force(&self, r: &[f64], m: &[f64]) -> Vec<f64> {
        let a = r.len();
        let line = |(x, k): (usize, &[f64])| {
            k.iter().zip(r.iter().zip(m)).map(|(k, (r, m))| k * (r - m)).sum::<f64>() - 0.5 * k[x]
        };
        self.matrix.chunks_exact(a).enumerate().map(line).collect()
    }
}

/// `K = C⁻ − diag(1/m)`, 0 for values that nobody has.
fn local_limit(moments: &Moments) -> Vec<f64> {
    let (a, users) = (moments.mean.len(), moments.users);
    let mut matrix = vec![0.0; a * a];
    let held: Vec<usize> = (0..a).filter(|x| moments.mean[*x] > NOTHING).collect();
    if held.len() < 2 {
        return matrix;
    }
    let share = |i: usize| moments.mean[held[i]] / users;
    // Adding the same number everywhere changes nothing for tallies of the same total.
    let lift = users / held.len() as f64;
    let covariance = |i: usize, j: usize| {
        let alike = share(i) * (f64::from(u8::from(i == j)) - share(j));
        moments.covariance[held[i] * a + held[j]] + ALIKE * alike + lift
    };
    let Ok(factor) = Mat::from_fn(held.len(), held.len(), covariance).llt(Side::Lower) else { return matrix };
    let inverse = factor.solve(Mat::<f64>::identity(held.len(), held.len()));
    for (i, x) in held.iter().enumerate() {
        for (j, y) in held.iter().enumerate() {
            matrix[x * a + y] = inverse[(i, j)];
        }
        matrix[x * a + x] -= 1.0 / (moments.mean[*x] * (1.0 + ALIKE / users));
    }
    matrix
}

/// `ln` of the mean of numbers given by their logarithms.
fn ln_mean(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + (logs.iter().map(|l| (l - top).exp()).sum::<f64>() / logs.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::numerics::random::pick;

    /// Users with random probabilities, some of them impossible, and values drawn from these.
    fn random_users(a: usize, n: usize, rng: &mut ChaCha8Rng) -> (Independent, Vec<u32>) {
        let mut rows = Vec::new();
        for _ in 0..n {
            let mut row: Vec<f64> = (0..a).map(|_| (2.0 * rng.random::<f64>()).exp()).collect();
            row[0] *= f64::from(u8::from(rng.random::<bool>()));
            let total: f64 = row.iter().sum();
            rows.extend(row.into_iter().map(|q| q / total));
        }
        let truth = rows.chunks_exact(a).map(|row| pick(row, 1.0, rng) as u32).collect();
        (Independent { a, rows, row_of: (0..n as u32).collect() }, truth)
    }

    /// `P(T = t)` by the sum over all assignments, one user after the other.
    fn literal(users: &Independent, i: usize, r: &mut [u32]) -> f64 {
        if i == users.users() {
            return 1.0;
        }
        let mut sum = 0.0;
        for x in 0..users.a {
            if r[x] > 0 {
                r[x] -= 1;
                sum += users.row(i)[x] * literal(users, i + 1, r);
                r[x] += 1;
            }
        }
        sum
    }

    #[test]
    fn walks_have_the_probability_as_their_mean() {
        // 20000 walks; off by 5 standard errors with probability 6e-7 for each of six cases.
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (a, n) in [(2, 6), (3, 5), (3, 9), (4, 7), (2, 12), (5, 6)] {
            let (users, truth) = random_users(a, n, &mut rng);
            let mut t = vec![0; a];
            truth.iter().for_each(|x| t[*x as usize] += 1);
            let exact = literal(&users, 0, &mut t.clone());
            let (stages, start) = (users.stages(), t.iter().map(|t| f64::from(*t)).collect::<Vec<_>>());
            let ratio = |_| users.walk(&stages, start.clone(), None, &mut rng).exp() / exact;
            let ratios: Vec<f64> = (0..20_000).map(ratio).collect();
            let mean = ratios.iter().sum::<f64>() / 2e4;
            let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 2e4;
            assert!((mean - 1.0).abs() < 5.0 * (variance / 2e4).sqrt() + 1e-12, "{a} {n}: {mean} {variance}");
            assert!(variance < 1.0, "{a} {n}: {variance}");
        }
    }

    #[test]
    fn users_that_are_alike_need_one_walk() {
        let p = [0.2, 0.3, 0.5];
        let users = Independent { a: 3, rows: p.to_vec(), row_of: vec![0; 40] };
        let truth: Vec<u32> = (0..40).map(|i| [0, 1, 1, 2, 2][i % 5]).collect();
        let Bounds { lower, upper } = users.ln_probability(&truth, 1, &mut ChaCha8Rng::seed_from_u64(1));
        let ln = |k: f64| crate::numerics::stirling::ln_factorial(k);
        let exact = ln(40.0) - ln(8.0) - 2.0 * ln(16.0) + 8.0 * p[0].ln() + 16.0 * (p[1] * p[2]).ln();
        assert!((lower - exact).abs() < 1e-9 && (upper - exact).abs() < 1e-9, "{lower} {upper} {exact}");
    }

    #[test]
    fn many_users_have_walks_of_nearly_the_same_weight() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for n in [300, 3000] {
            let (users, truth) = random_users(8, n, &mut rng);
            let Bounds { lower, upper } = users.ln_probability(&truth, 16, &mut rng);
            assert!((upper - lower).abs() < 0.1, "{n}: {lower} {upper}");
        }
    }
}
