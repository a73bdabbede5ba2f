//! Directions: the rows of a protocol without their weights.
//!
//! A direction `v ≥ 0` is scaled to mean one. Under the symmetry of the prior (inputs that it does not tell apart may be permuted) a
//! direction stands for its whole orbit, whose members share one weight: by concavity nothing is lost.

/// A direction with mean one, `v_x = base + d_x`, whose deviations `d_x` keep their digits at high privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// `v_x`.
    pub values: Vec<f64>,
    /// `d_x = v_x − base`.
    pub deviations: Vec<f64>,
}

impl Direction {
    /// The direction that says nothing.
    pub fn constant(inputs: usize) -> Self {
        Direction { values: vec![1.0; inputs], deviations: vec![0.0; inputs] }
    }

    /// `1` on `members` and `floor` elsewhere, scaled to mean one; `span = 1 − floor` with all its digits.
    pub fn two_valued(members: &[bool], floor: f64, span: f64) -> Self {
        let inputs = members.len() as f64;
        let mean = floor + span * members.iter().filter(|member| **member).count() as f64 / inputs;
        let deviation = |member: &bool| if *member { span / mean } else { 0.0 };
        let deviations: Vec<f64> = members.iter().map(deviation).collect();
        let values = members.iter().map(|member| if *member { 1.0 } else { floor } / mean).collect();
        Direction { values, deviations }
    }

    /// The direction half way to another.
    pub fn midpoint(&self, other: &Direction) -> Self {
        let mean = |l: &[f64], r: &[f64]| l.iter().zip(r).map(|(l, r)| 0.5 * (l + r)).collect();
        Direction {
            values: mean(&self.values, &other.values),
            deviations: mean(&self.deviations, &other.deviations),
        }
    }

    /// `Σ_i t_i u_i`, scaled to mean one.
    pub fn combination(parts: &[(f64, &Direction)]) -> Self {
        let total: f64 = parts.iter().map(|(t, _)| t).sum();
        let inputs = parts[0].1.values.len();
        let sum = |of: fn(&Direction) -> &[f64]| {
            (0..inputs).map(|x| parts.iter().map(|(t, u)| t / total * of(u)[x]).sum()).collect()
        };
        Direction { values: sum(|u| &u.values), deviations: sum(|u| &u.deviations) }
    }

    /// `v_x − u_x` for another direction `u`, with all its digits.
    pub fn minus(&self, other: &Direction) -> Vec<f64> {
        let mean = |deviations: &[f64]| deviations.iter().sum::<f64>() / deviations.len() as f64;
        let (here, there) = (mean(&self.deviations), mean(&other.deviations));
        self.deviations.iter().zip(&other.deviations).map(|(d, e)| (d - here) - (e - there)).collect()
    }

    /// The direction proportional to `floor + span · height_x`; `None` if that is zero.
    pub fn of_heights(heights: &[f64], floor: f64, span: f64) -> Option<Self> {
        let mean = floor + span * heights.iter().sum::<f64>() / heights.len() as f64;
        let value = |height: &f64| (floor + span * height) / mean;
        let deviations = heights.iter().map(|height| span * height / mean).collect();
        (mean > 0.0)
            .then(|| Direction { values: heights.iter().map(value).collect(), deviations })
            .filter(|direction| direction.spread() <= 1.0 / floor * (1.0 + 1e-12))
    }

    /// The heights of the direction, the largest being 1.
    pub fn heights(&self, floor: f64, span: f64) -> Vec<f64> {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        self.values.iter().map(|v| ((v / largest - floor) / span).clamp(0.0, 1.0)).collect()
    }

    /// The largest value over the smallest.
    fn spread(&self) -> f64 {
        let (least, most) =
            self.values.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &v| (l.min(v), m.max(v)));
        most / least
    }

    /// The squared distance of square roots: leakages bend like `v ln v` at the boundary.
    pub fn distance(&self, other: &Direction) -> f64 {
        self.values.iter().zip(&other.values).map(|(l, r)| (l.sqrt() - r.sqrt()).powi(2)).sum()
    }

    /// The [`distance`](Direction::distance) if inputs do not count alike.
    pub(super) fn counted_distance(&self, other: &Direction, counts: &[f64]) -> f64 {
        let pairs = self.values.iter().zip(&other.values).zip(counts);
        pairs.map(|((l, r), count)| count * (l.sqrt() - r.sqrt()).powi(2)).sum()
    }

    /// The direction whose values of one class that are nearer than `near` (as [`distance`](Direction::distance) counts) to the next
    /// larger are replaced by their mean: fewer different values make a smaller orbit.
    pub fn tied(&self, classes: &Classes, near: f64) -> Self {
        let mut tied = self.clone();
        for class in 0..classes.sizes.len() {
            let mut places: Vec<usize> = (0..self.values.len()).filter(|&x| classes.of[x] == class).collect();
            places.sort_by(|&x, &z| self.values[x].total_cmp(&self.values[z]));
            let joined =
                |x: &usize, z: &usize| (self.values[*x].sqrt() - self.values[*z].sqrt()).powi(2) < near;
            for group in places.chunk_by(joined) {
                let mean =
                    |values: &[f64]| group.iter().map(|&x| values[x]).sum::<f64>() / group.len() as f64;
                let (value, deviation) = (mean(&self.values), mean(&self.deviations));
                group.iter().for_each(|&x| (tied.values[x], tied.deviations[x]) = (value, deviation));
            }
        }
        tied
    }

    /// Whether it is possible for one input only.
    pub fn is_truth(&self) -> bool {
        self.values.iter().filter(|v| **v > 0.0).count() == 1
    }

    /// What is added to the deviations.
    pub fn base(&self) -> f64 {
        self.values[0] - self.deviations[0]
    }

    fn permuted(&self, order: &[usize]) -> Self {
        let pick = |values: &[f64]| order.iter().map(|&x| values[x]).collect();
        Direction { values: pick(&self.values), deviations: pick(&self.deviations) }
    }
}

/// Inputs that the prior does not tell apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The class of each input.
    pub of: Vec<usize>,
    /// The number of inputs of each class.
    pub sizes: Vec<usize>,
}

impl Classes {
    /// Classes of inputs with equal keys.
    pub fn new<K: PartialEq>(keys: &[K]) -> Self {
        let mut first: Vec<usize> = Vec::new();
        let mut sizes = Vec::new();
        let mut of = Vec::new();
        for (x, key) in keys.iter().enumerate() {
            let class = first.iter().position(|&z| keys[z] == *key).unwrap_or_else(|| {
                first.push(x);
                sizes.push(0);
                sizes.len() - 1
            });
            sizes[class] += 1;
            of.push(class);
        }
        Classes { of, sizes }
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.of.len()
    }

    /// `Σ_x∈class v_x / a` for each class: the rows of the constraints.
    pub fn sums(&self, direction: &Direction) -> Vec<f64> {
        let mut sums = vec![0.0; self.sizes.len()];
        for (class, v_x) in self.of.iter().zip(&direction.values) {
            sums[*class] += v_x / self.inputs() as f64;
        }
        sums
    }

    /// All different directions that permutations within classes make of one.
    pub fn orbit(&self, direction: &Direction) -> Vec<Direction> {
        let mut members = Vec::new();
        self.arrange(direction, &mut Vec::new(), &mut members);
        members
    }

    /// Puts a value at the next input: each different one that is left in its class.
    fn arrange(&self, direction: &Direction, order: &mut Vec<usize>, members: &mut Vec<Direction>) {
        let x = order.len();
        if x == self.inputs() {
            members.push(direction.permuted(order));
            return;
        }
        let mut tried: Vec<f64> = Vec::new();
        for z in 0..self.inputs() {
            let value = direction.values[z];
            if self.of[z] == self.of[x] && !order.contains(&z) && !tried.contains(&value) {
                tried.push(value);
                order.push(z);
                self.arrange(direction, order, members);
                order.pop();
            }
        }
    }

    /// One set of each orbit of subsets that are neither empty nor all.
    pub fn subsets(&self) -> Vec<Vec<bool>> {
        let inputs = self.inputs();
        let first_of_class = |set: u32| {
            // Within a class, members come first.
            (0..inputs).all(|x| {
                let missing_before = (0..x).any(|z| self.of[z] == self.of[x] && set >> z & 1 == 0);
                set >> x & 1 == 0 || !missing_before
            })
        };
        let sets = (1..(1u32 << inputs) - 1).filter(|set| first_of_class(*set));
        sets.map(|set| (0..inputs).map(|x| set >> x & 1 == 1).collect()).collect()
    }

    /// The orders of the inputs, from the largest value to the smallest, up to permutations within classes.
    pub fn orders(&self) -> Vec<Vec<usize>> {
        let mut orders = Vec::new();
        self.extend_order(&mut Vec::new(), &mut orders);
        orders
    }

    fn extend_order(&self, order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
        if order.len() == self.inputs() {
            orders.push(order.clone());
            return;
        }
        for class in 0..self.sizes.len() {
            let next = (0..self.inputs()).find(|x| self.of[*x] == class && !order.contains(x));
            if let Some(x) = next {
                order.push(x);
                self.extend_order(order, orders);
                order.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbits_and_orders_are_counted_right() {
        let classes = Classes::new(&[0.5, 2.0, 0.5, 0.5]);
        assert_eq!(classes.sizes, [3, 1]);
        // Subsets by how many of the three and of the one: 4 · 2 without the empty and the full one.
        assert_eq!(classes.subsets().len(), 6);
        // Where the single input stands among the three.
        assert_eq!(classes.orders().len(), 4);
        let pair = Direction::two_valued(&[true, false, true, false], 0.0, 1.0);
        assert_eq!(classes.orbit(&pair).len(), 3);
        assert_eq!(classes.sums(&pair), [1.0, 0.0]);
    }

    #[test]
    fn near_values_are_tied_within_their_class() {
        let direction =
            Direction { values: vec![1.0, 1.001, 1.0005, 0.5], deviations: vec![0.5, 0.501, 0.5005, 0.0] };
        let tied = direction.tied(&Classes::new(&[0, 0, 1, 0]), 1e-4);
        assert_eq!(tied.values[0], tied.values[1]);
        assert!((tied.values[0] - 1.0005).abs() < 1e-12 && tied.values[2..] == [1.0005, 0.5]);
        assert_eq!(direction.tied(&Classes::new(&[0, 0, 1, 0]), 1e-12), direction);
    }

    #[test]
    fn directions_have_mean_one() {
        let two = Direction::two_valued(&[true, false, false], (-1f64).exp(), -(-1f64).exp_m1());
        let mixed = Direction::combination(&[(0.3, &two), (0.2, &Direction::constant(3))]);
        for direction in [&two, &mixed, &two.midpoint(&mixed)] {
            assert!((direction.values.iter().sum::<f64>() - 3.0).abs() < 1e-14);
            let base = direction.base();
            for (v, d) in direction.values.iter().zip(&direction.deviations) {
                assert!((v - d - base).abs() < 1e-15);
            }
        }
    }
}
