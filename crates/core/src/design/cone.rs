//! The cone of directions that an LDP level allows.

use super::direction::Direction;

/// `v ≥ 0` with `max v ≤ e^ε min v`; all `v ≥ 0` without a level. Its extreme rays are the two-valued directions `v ∈ {1, e^ε}^a`
/// except the constant ones; without a level, the unit directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cone {
    /// `e^{−ε}`, or 0 without a level: the least entry relative to the largest.
    pub floor: f64,
    /// `1 − e^{−ε}` with all its digits.
    pub span: f64,
}

impl Cone {
    pub(super) fn new(epsilon: Option<f64>) -> Self {
        let (floor, span) = epsilon.map_or((0.0, 1.0), |e| ((-e).exp(), -(-e).exp_m1()));
        Cone { floor, span }
    }

    /// The extreme ray that is large on `members`.
    pub(super) fn vertex(&self, members: &[bool]) -> Direction {
        Direction::two_valued(members, self.floor, self.span)
    }

    /// Whether a row may contain zeros: there is no level.
    pub(super) fn allows_zeros(&self) -> bool {
        self.floor == 0.0
    }

    /// A tolerance for squared distances between directions of this cone. It shrinks with the cone, `relative · (1 − e^{−ε})²`.
    pub(super) fn scaled_tolerance(&self, relative: f64) -> f64 {
        relative * self.span.powi(2)
    }
}
