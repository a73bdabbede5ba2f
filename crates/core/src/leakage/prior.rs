//! What is assumed of the distribution `P` of the users' values, in the form the leakage kernels read.

use crate::model::prior::Component;
use crate::numerics::special::leave_one_out;

/// Inputs of equal prior mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    /// `α_x`, or `p_x` of a point prior.
    pub mass: f64,
    pub count: f64,
    /// The mass of all inputs but one of this group, summed without subtraction.
    pub others: f64,
    /// `w_x = mass / total`.
    pub weight: f64,
}

/// A Dirichlet prior, or a known `P`, as groups of equal inputs: a symmetric prior over 10^6 inputs is one group.
///
/// # Example
/// ```
/// use sottovoce::leakage::GroupedPrior;
/// assert_eq!(GroupedPrior::dirichlet(&[0.5; 100]), GroupedPrior::dirichlet_groups(&[(0.5, 100)]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedPrior {
    pub(super) groups: Vec<Group>,
    pub(super) total: f64,
    pub(super) is_point: bool,
}

impl GroupedPrior {
    /// One component of a prior.
    pub(crate) fn of(component: &Component) -> Self {
        match component {
            Component::Dirichlet(alpha) => GroupedPrior::dirichlet(alpha),
            Component::Point(p) => GroupedPrior::point(p),
        }
    }

    /// `P ~ Dirichlet(α)`.
    ///
    /// # Panics
    /// If an alpha is not a positive number, or there is none.
    pub fn dirichlet(alphas: &[f64]) -> Self {
        Self::grouped(alphas.iter().map(|&alpha| (alpha, 1)).collect(), false)
    }

    /// `P ~ Dirichlet(α)`, given as pairs (alpha, number of inputs that have it).
    ///
    /// # Panics
    /// As [`GroupedPrior::dirichlet`].
    pub fn dirichlet_groups(groups: &[(f64, usize)]) -> Self {
        Self::grouped(groups.to_vec(), false)
    }

    /// A known `P = p`. Inputs of probability zero are dropped.
    ///
    /// # Panics
    /// If a probability is negative or all are zero.
    pub fn point(probabilities: &[f64]) -> Self {
        Self::point_groups(&probabilities.iter().map(|&p| (p, 1)).collect::<Vec<_>>())
    }

    /// A known `P = p`, given as pairs (probability, number of inputs that have it).
    ///
    /// # Panics
    /// As [`GroupedPrior::point`].
    pub fn point_groups(groups: &[(f64, usize)]) -> Self {
        Self::grouped(groups.to_vec(), true)
    }

    fn grouped(mut pairs: Vec<(f64, usize)>, is_point: bool) -> Self {
        for &(mass, _) in &pairs {
            let valid = mass.is_finite() && if is_point { mass >= 0.0 } else { mass > 0.0 };
            assert!(valid, "prior mass {mass} is not a positive number");
        }
        pairs.retain(|&(_, count)| count > 0);
        pairs.sort_by(|x, y| x.0.total_cmp(&y.0));
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        assert!(pairs.iter().any(|&(mass, _)| mass > 0.0), "a prior needs an input of positive mass");
        let total: f64 = pairs.iter().map(|&(mass, count)| mass * count as f64).sum();
        let others = leave_one_out(&pairs);
        let group =
            |(&(mass, count), others)| Group { mass, count: count as f64, others, weight: mass / total };
        GroupedPrior { groups: pairs.iter().zip(others).map(group).collect(), total, is_point }
    }

    /// The number of inputs `a`.
    pub fn inputs(&self) -> f64 {
        self.groups.iter().map(|x| x.count).sum()
    }

    /// 1 for a Dirichlet prior, whose size-biased version has one more pseudo-count; 0 for a point.
    pub(super) fn bias(&self) -> f64 {
        if self.is_point { 0.0 } else { 1.0 }
    }
}
