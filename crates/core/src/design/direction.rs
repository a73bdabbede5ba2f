//! Directions: the rows of a protocol without their weights.
//!
//! A direction `v ≥ 0` is scaled to mean one. A *unit* direction has one positive entry: the output discloses the value.

use super::symmetry::Symmetry;

/// A direction of mean one, `v_x = base + offset_x`. The offsets keep their digits at high privacy, where all `v_x` are close to one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direction {
    /// `v_x`.
    pub values: Vec<f64>,
    /// `offset_x = v_x − base`.
    pub offsets: Vec<f64>,
}

/// Rounding of `max v/min v` on the boundary of the cone.
const RATIO_ROUNDING: f64 = 1e-12;

impl Direction {
    /// The direction of an output that says nothing.
    pub(super) fn constant(inputs: usize) -> Self {
        Direction { values: vec![1.0; inputs], offsets: vec![0.0; inputs] }
    }

    /// The direction of an output that discloses the value `x`.
    pub(super) fn unit(x: usize, inputs: usize) -> Self {
        let members: Vec<bool> = (0..inputs).map(|z| z == x).collect();
        Direction::two_valued(&members, 0.0, 1.0)
    }

    /// `1` on `members` and `floor` elsewhere, scaled to mean one; `span = 1 − floor` with all its digits.
    pub(super) fn two_valued(members: &[bool], floor: f64, span: f64) -> Self {
        let inputs = members.len() as f64;
        let mean = floor + span * members.iter().filter(|member| **member).count() as f64 / inputs;
        let offset = |member: &bool| if *member { span / mean } else { 0.0 };
        let offsets: Vec<f64> = members.iter().map(offset).collect();
        let values = members.iter().map(|member| if *member { 1.0 } else { floor } / mean).collect();
        Direction { values, offsets }
    }

    /// The direction proportional to `floor + span · height_x`; `None` if that is zero or outside the cone.
    pub(super) fn from_heights(heights: &[f64], floor: f64, span: f64) -> Option<Self> {
        let mean = floor + span * heights.iter().sum::<f64>() / heights.len() as f64;
        let value = |height: &f64| (floor + span * height) / mean;
        let offsets = heights.iter().map(|height| span * height / mean).collect();
        (mean > 0.0)
            .then(|| Direction { values: heights.iter().map(value).collect(), offsets })
            .filter(|direction| direction.ratio() <= 1.0 / floor * (1.0 + RATIO_ROUNDING))
    }

    /// The direction of a row without a level; `None` if the row is zero.
    pub(super) fn from_row(row: &[f64]) -> Option<Self> {
        Direction::from_heights(row, 0.0, 1.0)
    }

    /// The heights of the direction, the largest being 1.
    pub(super) fn heights(&self, floor: f64, span: f64) -> Vec<f64> {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        self.values.iter().map(|v| ((v / largest - floor) / span).clamp(0.0, 1.0)).collect()
    }

    /// The midpoint of two directions.
    pub(super) fn midpoint(&self, other: &Direction) -> Self {
        let mean = |l: &[f64], r: &[f64]| l.iter().zip(r).map(|(l, r)| 0.5 * (l + r)).collect();
        Direction { values: mean(&self.values, &other.values), offsets: mean(&self.offsets, &other.offsets) }
    }

    /// `Σ_i t_i u_i`, scaled to mean one.
    pub(super) fn combination(parts: &[(f64, &Direction)]) -> Self {
        let total: f64 = parts.iter().map(|(t, _)| t).sum();
        let inputs = parts[0].1.values.len();
        let sum = |of: fn(&Direction) -> &[f64]| {
            (0..inputs).map(|x| parts.iter().map(|(t, u)| t / total * of(u)[x]).sum()).collect()
        };
        Direction { values: sum(|u| &u.values), offsets: sum(|u| &u.offsets) }
    }

    /// `v_x − u_x` for another direction `u`, with all its digits.
    pub(super) fn difference(&self, other: &Direction) -> Vec<f64> {
        let mean = |offsets: &[f64]| offsets.iter().sum::<f64>() / offsets.len() as f64;
        let (here, there) = (mean(&self.offsets), mean(&other.offsets));
        self.offsets.iter().zip(&other.offsets).map(|(d, e)| (d - here) - (e - there)).collect()
    }

    /// `max v/min v`.
    fn ratio(&self) -> f64 {
        let (least, most) =
            self.values.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &v| (l.min(v), m.max(v)));
        most / least
    }

    /// `Σ_x (√v_x − √u_x)²`: leakage bends like `v ln v` at the boundary.
    pub(super) fn squared_distance(&self, other: &Direction) -> f64 {
        self.values.iter().zip(&other.values).map(|(l, r)| (l.sqrt() - r.sqrt()).powi(2)).sum()
    }

    /// The [`squared_distance`](Direction::squared_distance) with a weight for each input.
    pub(super) fn weighted_squared_distance(&self, other: &Direction, weights: &[f64]) -> f64 {
        let pairs = self.values.iter().zip(&other.values).zip(weights);
        pairs.map(|((l, r), weight)| weight * (l.sqrt() - r.sqrt()).powi(2)).sum()
    }

    /// Entries of one class that are closer than `near` (as in [`squared_distance`](Direction::squared_distance)) to the next larger one are replaced
    /// by their mean: fewer different entries make a smaller orbit.
    pub(super) fn with_ties(&self, symmetry: &Symmetry, near: f64) -> Self {
        let mut tied = self.clone();
        for class in 0..symmetry.classes() {
            let mut places: Vec<usize> = symmetry.members(class).collect();
            places.sort_by(|&x, &z| self.values[x].total_cmp(&self.values[z]));
            let is_close =
                |x: &usize, z: &usize| (self.values[*x].sqrt() - self.values[*z].sqrt()).powi(2) < near;
            for group in places.chunk_by(is_close) {
                let mean =
                    |values: &[f64]| group.iter().map(|&x| values[x]).sum::<f64>() / group.len() as f64;
                let (value, offset) = (mean(&self.values), mean(&self.offsets));
                group.iter().for_each(|&x| (tied.values[x], tied.offsets[x]) = (value, offset));
            }
        }
        tied
    }

    /// Whether the output discloses the value: one entry is positive.
    pub(super) fn is_unit(&self) -> bool {
        self.values.iter().filter(|v| **v > 0.0).count() == 1
    }

    /// `v_x − offset_x`, the same for all `x`.
    pub(super) fn base(&self) -> f64 {
        self.values[0] - self.offsets[0]
    }

    pub(super) fn permuted(&self, order: &[usize]) -> Self {
        let pick = |values: &[f64]| order.iter().map(|&x| values[x]).collect();
        Direction { values: pick(&self.values), offsets: pick(&self.offsets) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_entries_are_tied_within_their_class() {
        let direction =
            Direction { values: vec![1.0, 1.001, 1.0005, 0.5], offsets: vec![0.5, 0.501, 0.5005, 0.0] };
        let tied = direction.with_ties(&Symmetry::new(&[0, 0, 1, 0]), 1e-4);
        assert_eq!(tied.values[0], tied.values[1]);
        assert!((tied.values[0] - 1.0005).abs() < 1e-12 && tied.values[2..] == [1.0005, 0.5]);
        assert_eq!(direction.with_ties(&Symmetry::new(&[0, 0, 1, 0]), 1e-12), direction);
    }

    #[test]
    fn directions_have_mean_one() {
        let two = Direction::two_valued(&[true, false, false], (-1f64).exp(), -(-1f64).exp_m1());
        let mixed = Direction::combination(&[(0.3, &two), (0.2, &Direction::constant(3))]);
        for direction in [&two, &mixed, &two.midpoint(&mixed)] {
            assert!((direction.values.iter().sum::<f64>() - 3.0).abs() < 1e-14);
            let base = direction.base();
            for (v, d) in direction.values.iter().zip(&direction.offsets) {
                assert!((v - d - base).abs() < 1e-15);
            }
        }
    }
}
