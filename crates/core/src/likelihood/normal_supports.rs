//! The likelihood of supports, as a normal distribution with their exact mean and covariance.
//!
//! # Definition
//! A report supports each input with probability `m_x = λ + δp_x`, `δ = κ − λ`, and two inputs with a
//! probability that is linear in their shares ([`SupportRates::both`]). So the counts `S_x` of `n` reports
//! have mean `n m` and covariance `nΣ` with
//! ```text
//! Σ = diag(d) + U C Uᵀ,   U = [1, p],   C = [[c_0, c_1], [c_1, c_2]]
//! c_0 = both − λ²,  c_1 = own and other − both − λδ,  c_2 = −δ²,   d_x = m_x(1 − m_x) − c_0 − 2c_1p_x − c_2p_x²
//! L(p) = −½ ln det Σ(p) − (S − nm)ᵀ Σ(p)⁻¹ (S − nm) / 2n
//! ```
//! For sets of a fixed size `Σ` is singular along `1`, where the counts carry no information; a constant added
//! to `c_0` makes it regular and leaves `L` as it is, up to a constant.
//!
//! # Cost
//! By Woodbury's formula `L` is a function of seven sums over the values, so a move of two shares takes a
//! constant number of steps.

use crate::model::supports::{SupportRates, Supports};

/// The sums over all values that `L` is a function of: `1/d`, `p/d`, `p²/d`, `r/d`, `pr/d`, `r²/d` and `ln d`,
/// with `r = S − nm`.
pub(crate) type Sums = [f64; 7];

/// The normal likelihood of supports.
#[derive(Clone, Debug)]
pub(crate) struct NormalSupports {
    n: f64,
    counts: Vec<f64>,
    lambda: f64,
    delta: f64,
    /// `c_0`, `c_1`, `c_2`.
    c: [f64; 3],
    /// What was added to `c_0`, and is not part of the diagonal.
    lift: f64,
}

impl NormalSupports {
    /// `fixed_size` tells whether all reports support equally many inputs.
    pub(crate) fn new(rates: &SupportRates, fixed_size: bool, supports: &Supports) -> Self {
        let (lambda, delta) = (rates.other, rates.difference);
        let c_0 = rates.two_others - lambda * lambda;
        let c_1 = rates.own_and_other - rates.two_others - lambda * delta;
        let a = supports.counts().len() as f64;
        NormalSupports {
            n: supports.n() as f64,
            counts: supports.counts().iter().map(|count| *count as f64).collect(),
            lambda,
            delta,
            c: [c_0, c_1, -delta * delta],
            lift: if fixed_size { lambda * (1.0 - lambda) / a } else { 0.0 },
        }
    }

    /// Number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.counts.len()
    }

    /// `d_x`.
    fn diagonal(&self, p: f64) -> f64 {
        let (m, [c_0, c_1, c_2]) = (self.lambda + self.delta * p, self.c);
        (m * (1.0 - m) - c_0 - p * (2.0 * c_1 + c_2 * p)).max(f64::MIN_POSITIVE)
    }

    /// The standard deviation of the linear estimate of a share, alone.
    pub(crate) fn noise(&self, p: f64) -> f64 {
        (self.diagonal(p) / self.n).sqrt() / self.delta
    }

    /// The linear estimate of a share.
    pub(crate) fn linear(&self, x: usize) -> f64 {
        (self.counts[x] / self.n - self.lambda) / self.delta
    }

    /// What a value contributes to the sums.
    pub(crate) fn terms(&self, x: usize, p: f64) -> Sums {
        let (d, r) = (self.diagonal(p), self.counts[x] - self.n * (self.lambda + self.delta * p));
        let (unit, off) = (1.0 / d, r / d);
        [unit, p * unit, p * p * unit, off, p * off, r * off, d.ln()]
    }

    /// `L`, up to a constant.
    pub(crate) fn ln_likelihood(&self, sums: &Sums) -> f64 {
        let (determinant, k) = self.core(sums);
        let [.., w_1, w_2, squares, ln_d] = *sums;
        let explained = k[0] * w_1 * w_1 + 2.0 * k[1] * w_1 * w_2 + k[2] * w_2 * w_2;
        -0.5 * (ln_d + determinant.ln() + (squares - explained) / self.n)
    }

    /// `det(I + CG)` and the entries of the symmetric `(I + CG)⁻¹ C`, with `G = Uᵀ diag(1/d) U`.
    fn core(&self, sums: &Sums) -> (f64, [f64; 3]) {
        let [c_0, c_1, c_2] = [self.c[0] + self.lift, self.c[1], self.c[2]];
        let [g_0, g_1, g_2, ..] = *sums;
        let (e, f) = (1.0 + c_0 * g_0 + c_1 * g_1, c_0 * g_1 + c_1 * g_2);
        let (h, i) = (c_1 * g_0 + c_2 * g_1, 1.0 + c_1 * g_1 + c_2 * g_2);
        let determinant = (e * i - f * h).max(f64::MIN_POSITIVE);
        let k = [
            (i * c_0 - f * c_1) / determinant,
            (i * c_1 - f * c_2) / determinant,
            (e * c_2 - h * c_1) / determinant,
        ];
        (determinant, k)
    }

    /// The mean of the senders' tallies given `P` and supports `S`, if tallies `t` would have the supports `s`:
    /// `t + δ A Σ⁻¹ (S − s)` with `A = diag(p) − ppᵀ`. With `t` and `s` drawn together it is a draw of the
    /// tallies given `S`.
    pub(crate) fn moved(&self, p: &[f64], t: &[f64], s: &[f64]) -> Vec<f64> {
        let mut sums = [0.0; 7];
        for (x, p_x) in p.iter().enumerate() {
            sums.iter_mut().zip(self.terms(x, *p_x)).for_each(|(sum, term)| *sum += term);
        }
        let (_, k) = self.core(&sums);
        let off: Vec<f64> = (0..p.len()).map(|x| (self.counts[x] - s[x]) / self.diagonal(p[x])).collect();
        let (w_1, w_2) = (off.iter().sum::<f64>(), off.iter().zip(p).map(|(o, p)| o * p).sum::<f64>());
        let (u_1, u_2) = (k[0] * w_1 + k[1] * w_2, k[1] * w_1 + k[2] * w_2);
        let solved: Vec<f64> =
            off.iter().zip(p).map(|(off, p_x)| off - (u_1 + u_2 * p_x) / self.diagonal(*p_x)).collect();
        let along: f64 = solved.iter().zip(p).map(|(v, p)| v * p).sum();
        (0..p.len()).map(|x| t[x] + self.delta * p[x] * (solved[x] - along)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protocol::Protocol;
    use faer::Mat;
    use faer::linalg::solvers::Solve;

    /// Against the dense covariance, from the rates of pairs.
    #[test]
    fn sums_give_the_dense_likelihood() {
        let a = 6;
        for protocol in [
            Protocol::oue(a, 1.0).unwrap(),
            Protocol::lh(a, 3, 2.0).unwrap(),
            Protocol::subset(a, 2, 1.0).unwrap(),
        ] {
            let fixed = matches!(protocol, Protocol::SubsetSelection(_));
            let counts =
                if fixed { vec![420, 350, 340, 330, 290, 270] } else { vec![500, 400, 300, 280, 290, 310] };
            let supports = Supports::new(&protocol, 1000, counts.clone()).unwrap();
            let rates = SupportRates::of(&protocol).unwrap();
            let normal = NormalSupports::new(&rates, fixed, &supports);
            // Leave one value out where the size of the sets is fixed.
            let kept = if fixed { a - 1 } else { a };
            let dense = |p: &[f64]| {
                let sigma = Mat::from_fn(kept, kept, |x, z| {
                    let both = if x == z { rates.rate(p[x]) } else { rates.both(p[x] + p[z]) };
                    both - rates.rate(p[x]) * rates.rate(p[z])
                });
                let r = Mat::from_fn(kept, 1, |x, _| counts[x] as f64 - 1000.0 * rates.rate(p[x]));
                let solved = sigma.partial_piv_lu().solve(&r);
                let square = (r.transpose() * solved)[(0, 0)];
                -0.5 * (sigma.determinant().ln() + square / 1000.0)
            };
            let found = |p: &[f64]| {
                let mut sums = [0.0; 7];
                for (x, p_x) in p.iter().enumerate() {
                    sums.iter_mut().zip(normal.terms(x, *p_x)).for_each(|(sum, term)| *sum += term);
                }
                normal.ln_likelihood(&sums)
            };
            let (one, other) = ([0.4, 0.2, 0.15, 0.1, 0.1, 0.05], [0.3, 0.3, 0.1, 0.05, 0.05, 0.2]);
            let (expected, found) = (dense(&one) - dense(&other), found(&one) - found(&other));
            assert!(
                (expected - found).abs() < 1e-8 * (1.0 + expected.abs()),
                "{protocol:?}: {expected} {found}"
            );
        }
    }
}
