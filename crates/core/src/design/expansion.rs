//! Second-order expansions of functions of a direction.

/// Value, gradient and Hessian at a direction, by the derivatives in `v_x`.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    pub value: f64,
    pub gradient: Vec<f64>,
    /// The lower triangle, as in [`packed_symmetric`](super::packed_symmetric).
    pub hessian: Vec<f64>,
}

impl Expansion {
    /// The sum with `factor` times another expansion.
    pub(super) fn plus(mut self, other: &Expansion, factor: f64) -> Self {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from)
        };
        self.value += factor * other.value;
        add(&mut self.gradient, &other.gradient);
        add(&mut self.hessian, &other.hessian);
        self
    }
}
