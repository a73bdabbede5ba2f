//! The likelihood of reports of a block design, by transforms: `O(v log v)` whatever the number of reports.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::{Likelihood, Slope};
use crate::model::output::Output;
use crate::model::protocol::{Block, Channel};
use crate::model::tallies::Tallies;
use crate::numerics::stop::check;

/// How often each block was reported.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    block: Block,
    n: f64,
    counts: Vec<f64>,
}

impl Blocks {
    /// The counts of these tallies.
    pub(crate) fn of(block: &Block, tallies: &Tallies) -> Self {
        let mut counts = vec![0.0; block.order()];
        for (output, count) in tallies.counts() {
            if let Output::Index(y) = output {
                counts[*y] += *count as f64;
            }
        }
        Blocks { block: block.clone(), n: tallies.n() as f64, counts }
    }

    /// `e^ε − 1`, and the probability `p(B_y)` of each block.
    fn held(&self, p: &[f64]) -> (f64, Vec<f64>) {
        check();
        (self.block.epsilon().exp_m1(), self.block.set().sum().ahead(p))
    }
}

impl Likelihood for Blocks {
    fn inputs(&self) -> usize {
        self.block.inputs()
    }

    fn reports(&self) -> f64 {
        self.n
    }

    /// With `w_y = s_y/(1 + β p(B_y))` the gradient less `n` is `β (Σ_{y ∋ x} w_y − Σ_y w_y p(B_y))`.
    fn slope(&self, p: &[f64]) -> Slope {
        let (beta, held) = self.held(p);
        let value = self.counts.iter().zip(&held).map(|(count, held)| count * (beta * held).ln_1p()).sum();
        let weights: Vec<f64> =
            self.counts.iter().zip(&held).map(|(count, held)| count / (1.0 + beta * held)).collect();
        let mean: f64 = weights.iter().zip(&held).map(|(weight, held)| weight * held).sum();
        let with_x = self.block.set().sum().back(&weights);
        let excess = with_x[..self.inputs()].iter().map(|with_x| beta * (with_x - mean)).collect();
        Slope { value, excess }
    }

    fn information(&self, p: &[f64]) -> Mat<f64> {
        let (a, (beta, held)) = (self.inputs(), self.held(p));
        let scores = Mat::from_fn(held.len(), a, |y, x| {
            let inside = f64::from(u8::from(self.block.holds(y, x)));
            self.counts[y].sqrt() * beta * (inside - held[y]) / (1.0 + beta * held[y])
        });
        let mut information = Mat::zeros(a, a);
        matmul(information.as_mut(), Accum::Replace, scores.transpose(), &scores, 1.0, Par::Seq);
        information
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::centred_rows::CentredRows;
    use crate::model::protocol::Protocol;

    #[test]
    fn it_is_the_likelihood_of_the_rows() {
        let protocol = Protocol::block(10, 13, 4, 1.2).unwrap();
        let Protocol::Block(block) = &protocol else { unreachable!() };
        let counts = (0..13).map(|y| (Output::Index(y), (y as u64 * 7) % 5));
        let tallies = Tallies::new(&protocol, counts).unwrap();
        let (fast, exact) = (Blocks::of(block, &tallies), CentredRows::of(&protocol, &tallies).unwrap());
        let p: Vec<f64> = (0..10).map(|x| f64::from(x + 1) / 55.0).collect();
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
}
