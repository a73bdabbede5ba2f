//! Permutations of the inputs that leave the prior unchanged, and orbits of directions under them.
//!
//! Inputs with equal parameters form a class, and may be permuted within it. Because the utility is concave, some optimum gives equal
//! weights to all members of an orbit: a direction stands for its orbit.

use super::direction::Direction;

/// The classes of inputs that the prior treats alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Symmetry {
    /// The class of each input.
    pub class_of: Vec<usize>,
    /// The number of inputs of each class.
    pub class_sizes: Vec<usize>,
}

impl Symmetry {
    /// Classes of inputs with equal keys.
    pub(super) fn new<K: PartialEq>(keys: &[K]) -> Self {
        let mut first: Vec<usize> = Vec::new();
        let mut class_sizes = Vec::new();
        let mut class_of = Vec::new();
        for (x, key) in keys.iter().enumerate() {
            let class = first.iter().position(|&z| keys[z] == *key).unwrap_or_else(|| {
                first.push(x);
                class_sizes.push(0);
                class_sizes.len() - 1
            });
            class_sizes[class] += 1;
            class_of.push(class);
        }
        Symmetry { class_of, class_sizes }
    }

    /// The number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.class_of.len()
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.class_sizes.len()
    }

    /// Whether all inputs are alike.
    pub(super) fn is_full(&self) -> bool {
        self.classes() == 1
    }

    /// Whether no two inputs are alike.
    pub(super) fn is_trivial(&self) -> bool {
        self.classes() == self.inputs()
    }

    /// The inputs of a class.
    pub(super) fn members(&self, class: usize) -> impl Iterator<Item = usize> {
        (0..self.inputs()).filter(move |x| self.class_of[*x] == class)
    }

    /// The first input of each class.
    pub(super) fn representatives(&self) -> impl Iterator<Item = usize> {
        (0..self.inputs()).filter(|x| !self.class_of[..*x].contains(&self.class_of[*x]))
    }

    /// `Σ_{x ∈ class} v_x / a` for each class: a column's coefficients in the constraints `Σ_j θ_j v_j = 1`.
    pub(super) fn class_sums(&self, direction: &Direction) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes()];
        for (class, v_x) in self.class_of.iter().zip(&direction.values) {
            sums[*class] += v_x / self.inputs() as f64;
        }
        sums
    }

    /// All different directions that permutations within classes make of one.
    pub(super) fn orbit(&self, direction: &Direction) -> Vec<Direction> {
        let mut members = Vec::new();
        self.extend_arrangement(direction, &mut Vec::new(), &mut members);
        members
    }

    /// Assigns to the next input each different entry that is left in its class.
    fn extend_arrangement(
        &self,
        direction: &Direction,
        order: &mut Vec<usize>,
        members: &mut Vec<Direction>,
    ) {
        let x = order.len();
        if x == self.inputs() {
            members.push(direction.permuted(order));
            return;
        }
        let mut tried: Vec<f64> = Vec::new();
        for z in 0..self.inputs() {
            let value = direction.values[z];
            if self.class_of[z] == self.class_of[x] && !order.contains(&z) && !tried.contains(&value) {
                tried.push(value);
                order.push(z);
                self.extend_arrangement(direction, order, members);
                order.pop();
            }
        }
    }

    /// One set of each orbit of subsets of the inputs, without the empty and the full set.
    pub(super) fn subset_representatives(&self) -> Vec<Vec<bool>> {
        let inputs = self.inputs();
        let contains = |set: u32, x: usize| set >> x & 1 == 1;
        // Within a class, members come first.
        let is_representative = |set: &u32| {
            (0..inputs).all(|x| {
                let missing_before =
                    (0..x).any(|z| self.class_of[z] == self.class_of[x] && !contains(*set, z));
                !contains(*set, x) || !missing_before
            })
        };
        let sets = (1..(1u32 << inputs) - 1).filter(is_representative);
        sets.map(|set| (0..inputs).map(|x| contains(set, x)).collect()).collect()
    }

    /// The orders of the inputs from the largest entry to the smallest, one of each orbit.
    pub(super) fn order_representatives(&self) -> Vec<Vec<usize>> {
        let mut orders = Vec::new();
        self.extend_order(&mut Vec::new(), &mut orders);
        orders
    }

    fn extend_order(&self, order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
        if order.len() == self.inputs() {
            orders.push(order.clone());
            return;
        }
        for class in 0..self.classes() {
            let next = self.members(class).find(|x| !order.contains(x));
            if let Some(x) = next {
                order.push(x);
                self.extend_order(order, orders);
                order.pop();
            }
        }
    }

    /// All products of rotations within the classes.
    pub(super) fn rotations(&self) -> Vec<Vec<usize>> {
        let mut rotations = vec![(0..self.inputs()).collect::<Vec<usize>>()];
        for class in 0..self.classes() {
            let places: Vec<usize> = self.members(class).collect();
            let shifted = |rotation: &Vec<usize>, shift: usize| {
                let mut rotation = rotation.clone();
                let shifts = places.iter().enumerate();
                shifts.for_each(|(i, &x)| rotation[x] = places[(i + shift) % places.len()]);
                rotation
            };
            rotations = rotations
                .iter()
                .flat_map(|rotation| (0..places.len()).map(|s| shifted(rotation, s)).collect::<Vec<_>>())
                .collect();
        }
        rotations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbits_and_orders_are_counted_right() {
        let symmetry = Symmetry::new(&[0.5, 2.0, 0.5, 0.5]);
        assert_eq!(symmetry.class_sizes, [3, 1]);
        assert_eq!(symmetry.representatives().collect::<Vec<_>>(), [0, 1]);
        // Subsets by how many of the three and of the one: 4 · 2 without the empty and the full one.
        assert_eq!(symmetry.subset_representatives().len(), 6);
        // Where the single input stands among the three.
        assert_eq!(symmetry.order_representatives().len(), 4);
        assert_eq!(symmetry.rotations().len(), 3);
        let pair = Direction::two_valued(&[true, false, true, false], 0.0, 1.0);
        assert_eq!(symmetry.orbit(&pair).len(), 3);
        assert_eq!(symmetry.class_sums(&pair), [1.0, 0.0]);
    }
}
