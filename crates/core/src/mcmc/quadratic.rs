//! A second-order expansion of a log-likelihood.

/// `q(p) = g·(p − c) − ½ (p − c)ᵀ J (p − c)` around the centre `c`.
pub(crate) struct Quadratic {
    centre: Vec<f64>,
    gradient: Vec<f64>,
    /// The negative Hessian, in row-major order.
    curvature: Vec<f64>,
}

impl Quadratic {
    /// The expansion around `centre`, from the gradient and the negative Hessian there.
    pub(crate) fn new(centre: Vec<f64>, (gradient, curvature): (Vec<f64>, Vec<f64>)) -> Self {
        Quadratic { centre, gradient, curvature }
    }

    /// `share` of this expansion and the rest of `q(p) = g·(p − c) − ½ Σ_x δ_x (p_x − c_x)²` around the same
    /// centre.
    pub(crate) fn mixed(&self, share: f64, gradient: &[f64], diagonal: &[f64]) -> Self {
        let rest = 1.0 - share;
        let slopes = self.gradient.iter().zip(gradient).map(|(g, h)| share * g + rest * h).collect();
        let mut curvature: Vec<f64> = self.curvature.iter().map(|j| share * j).collect();
        let a = self.centre.len();
        diagonal.iter().enumerate().for_each(|(x, delta)| curvature[x * (a + 1)] += rest * delta);
        Quadratic { centre: self.centre.clone(), gradient: slopes, curvature }
    }

    /// `∇q(p)`.
    pub(crate) fn gradient_at(&self, p: &[f64]) -> Vec<f64> {
        let deviation: Vec<f64> = p.iter().zip(&self.centre).map(|(p, c)| p - c).collect();
        self.gradient.iter().zip(self.pull(&deviation)).map(|(g, pull)| g - pull).collect()
    }

    /// `q(p)`, from the gradient there: the mean of the two gradients times the deviation.
    pub(crate) fn value(&self, p: &[f64], gradient: &[f64]) -> f64 {
        let terms = p.iter().zip(&self.centre).zip(self.gradient.iter().zip(gradient));
        terms.map(|((p, c), (g, h))| 0.5 * (p - c) * (g + h)).sum()
    }

    /// `vᵀJv` for `v = e_x − e_other`.
    pub(crate) fn curvature_between(&self, x: usize, other: usize) -> f64 {
        let a = self.centre.len();
        let j = |r: usize, c: usize| self.curvature[r * a + c];
        j(x, x) + j(other, other) - j(x, other) - j(other, x)
    }

    /// Updates the gradient after moving mass `step` from `other` to `x`.
    pub(crate) fn exchange(&self, gradient: &mut [f64], x: usize, other: usize, step: f64) {
        let a = self.centre.len();
        let [own, others] = [x, other].map(|v| &self.curvature[v * a..][..a]);
        let lines = own.iter().zip(others);
        gradient.iter_mut().zip(lines).for_each(|(g, (j, k))| *g -= step * (j - k));
    }

    /// `Jv`. `J` is symmetric, so this is `Σ_x v_x J_x`, in which no sum waits for the one before it.
    pub(crate) fn pull(&self, v: &[f64]) -> Vec<f64> {
        let mut pull = vec![0.0; v.len()];
        for (line, v_x) in self.curvature.chunks_exact(v.len()).zip(v) {
            pull.iter_mut().zip(line).for_each(|(pull, j)| *pull += v_x * j);
        }
        pull
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::RowLikelihood;
    use crate::likelihood::dense_rows::DenseRows;

    #[test]
    fn the_expansion_is_second_order() {
        let rows = DenseRows { a: 2, rows: vec![1.5, 0.5, 0.7, 1.2], counts: vec![3.0, 4.0] };
        let quadratic = Quadratic::new(vec![0.4, 0.6], rows.expansion(&[0.4, 0.6], true));
        let exact = |p: f64| rows.ln_likelihood(&[p, 1.0 - p]) - rows.ln_likelihood(&[0.4, 0.6]);
        for step in [1e-2, 1e-3] {
            let p = [0.4 + step, 0.6 - step];
            let off = quadratic.value(&p, &quadratic.gradient_at(&p)) - exact(p[0]);
            assert!(off.abs() < 10.0 * step * step * step, "{step}: {off}");
        }
    }
}
