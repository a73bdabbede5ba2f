//! Cyclic difference sets: `k` residues modulo `v` in which every difference `≠ 0` occurs equally often.
//!
//! The shifts of such a set `D` are a symmetric block design: `v` blocks of `k` points, any two points together in
//! `λ = k(k−1)/(v−1)` of them, any two blocks with `λ` points in common.
//!
//! | family | `v` | `k` | set |
//! |---|---|---|---|
//! | trivial | any | 1 | `{0}` |
//! | Singer | `(q^{m+1} − 1)/(q − 1)`, `q` a prime power, `m ≥ 2` | `(q^m − 1)/(q − 1)` | hyperplanes of a projective space |
//! | Paley | a prime, 3 modulo 4 | `(v − 1)/2` | nonzero squares |
//! | twin primes | `p(p + 2)` | `(v − 1)/2` | both residues squares or both not; and multiples of `p + 2` |
//! | fourth powers | a prime `4x² + 1`, `x` odd | `(v − 1)/4` | nonzero fourth powers |
//! | fourth powers and 0 | a prime `4x² + 9`, `x` odd | `(v + 3)/4` | fourth powers |
//!
//! and the complement of each, of `v − k` residues. Which set stands for `(v, k)` never changes: reports are
//! meaningless to somebody who has another one. If two families have the same `v` and `k`, the first in the table
//! counts. `docs/report-format.md` describes them for other programs.

use std::fmt;
use std::sync::OnceLock;

use super::cyclic_sum::CyclicSum;
use super::finite_field::{is_prime, prime_power, primitive_recurrence};

/// Largest `v`.
pub const MAX_ORDER: usize = 1 << 22;

/// A family of difference sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `{0}`.
    Trivial,
    /// The hyperplanes of a projective space of dimension `m` over the field of `q` elements.
    Singer {
        /// The size of the field.
        q: usize,
        /// The dimension.
        m: usize,
    },
    /// The nonzero squares modulo a prime.
    Paley,
    /// The product of two primes `p` and `p + 2`.
    TwinPrimes {
        /// The smaller one.
        p: usize,
    },
    /// The nonzero fourth powers modulo a prime.
    FourthPowers,
    /// The same with 0.
    FourthPowersAndZero,
}

impl Family {
    /// The family that has a set of exactly `k` residues modulo `v`; complements not considered.
    fn of(v: usize, k: usize) -> Option<Self> {
        if k == 1 && v >= 2 {
            return Some(Family::Trivial);
        }
        if let Some((q, m)) = singer_of(v, k) {
            return Some(Family::Singer { q, m });
        }
        if v == 4 * k + 1 && is_odd_square(k) && is_prime(v as u64) {
            return Some(Family::FourthPowers);
        }
        if v + 3 == 4 * k && k.checked_sub(3).is_some_and(is_odd_square) && is_prime(v as u64) {
            return Some(Family::FourthPowersAndZero);
        }
        if v < 3 || 2 * k + 1 != v {
            return None;
        }
        if v % 4 == 3 && is_prime(v as u64) {
            return Some(Family::Paley);
        }
        let p = (v + 1).isqrt() - 1;
        let twins = p * (p + 2) == v && is_prime(p as u64) && is_prime(p as u64 + 2);
        twins.then_some(Family::TwinPrimes { p })
    }

    fn elements(self, v: usize) -> Vec<u32> {
        match self {
            Family::Trivial => vec![0],
            Family::Singer { q, m } => singer(v, q, m),
            Family::Paley => indices(&squares(v)),
            Family::TwinPrimes { p } => twin_primes(p),
            Family::FourthPowers => indices(&fourth_powers(v)),
            Family::FourthPowersAndZero => {
                let mut inside = fourth_powers(v);
                inside[0] = true;
                indices(&inside)
            }
        }
    }
}

/// `(q, m)` of the Singer set of `k` residues modulo `v`: `q` is `(v − 1)/k` for all `m`.
fn singer_of(v: usize, k: usize) -> Option<(usize, usize)> {
    if k < 3 || k >= v || !(v - 1).is_multiple_of(k) {
        return None;
    }
    let q = (v - 1) / k;
    prime_power(q as u64)?;
    let (mut points, mut m) = (q + 1, 1);
    while points < v {
        points = points * q + 1;
        m += 1;
    }
    (points == v && m >= 2).then_some((q, m))
}

/// With `s` the sequence `0, …, 0, 1, …` of the first primitive polynomial of degree `N = e(m+1)` over `GF(p)`, `q = p^e`:
/// all `i < v` with `s_i = s_{i+v} = … = s_{i+(e−1)v} = 0`.
///
/// `s_i = Tr(γ ω^i)`, and `ω^v` generates `GF(q)`, so these are the `i` with `Tr_{GF(q^{m+1})/GF(q)}(γ ω^i) = 0`: a
/// hyperplane, modulo factors in `GF(q)`.
fn singer(v: usize, q: usize, m: usize) -> Vec<u32> {
    // Unwrap safety: `q` is a prime power.
    let (p, e) = prime_power(q as u64).unwrap();
    let degree = e as usize * (m + 1);
    let c = primitive_recurrence(p, degree);
    let taps: Vec<(usize, u64)> = c.into_iter().enumerate().filter(|(_, c)| *c != 0).collect();
    // The last N terms in a ring.
    let (mut state, mut start) = (vec![0; degree], 0);
    state[degree - 1] = 1;
    let mut zeros = vec![0; v];
    for i in 0..e as usize * v {
        zeros[i % v] += u32::from(state[start] == 0);
        let at = |j: usize| if start + j < degree { start + j } else { start + j - degree };
        let next = taps.iter().map(|(j, c)| c * state[at(*j)]).sum::<u64>() % p;
        state[start] = next;
        start = at(1);
    }
    (0..v as u32).filter(|i| zeros[*i as usize] == e).collect()
}

/// Whether each residue modulo a prime is a nonzero square.
fn squares(p: usize) -> Vec<bool> {
    let mut is_square = vec![false; p];
    (1..=p / 2).for_each(|x| is_square[(x as u64 * x as u64 % p as u64) as usize] = true);
    is_square
}

/// Whether each residue modulo a prime is a nonzero fourth power.
fn fourth_powers(p: usize) -> Vec<bool> {
    let square = |x: u64| x * x % p as u64;
    let mut is_power = vec![false; p];
    (1..=p as u64 / 2).for_each(|x| is_power[square(square(x)) as usize] = true);
    is_power
}

fn is_odd_square(n: usize) -> bool {
    n % 2 == 1 && n.isqrt().pow(2) == n
}

fn twin_primes(p: usize) -> Vec<u32> {
    let (small, large) = (squares(p), squares(p + 2));
    let inside = |x: usize| match (x % p, x % (p + 2)) {
        (_, 0) => true,
        (0, _) => false,
        (r, s) => small[r] == large[s],
    };
    (0..p * (p + 2)).filter(|x| inside(*x)).map(|x| x as u32).collect()
}

fn indices(inside: &[bool]) -> Vec<u32> {
    (0..inside.len() as u32).filter(|x| inside[*x as usize]).collect()
}

/// A cyclic difference set.
pub struct DifferenceSet {
    v: usize,
    family: Family,
    elements: Vec<u32>,
    others: Vec<u32>,
    is_member: Vec<bool>,
    sum: OnceLock<CyclicSum>,
}

impl fmt::Debug for DifferenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { v, family, .. } = self;
        f.debug_struct("DifferenceSet")
            .field("v", v)
            .field("k", &self.size())
            .field("family", family)
            .finish()
    }
}

/// The set for given `v` and `k` is always the same.
impl PartialEq for DifferenceSet {
    fn eq(&self, other: &Self) -> bool {
        (self.v, self.size()) == (other.v, other.size())
    }
}

impl DifferenceSet {
    /// The set of `k` residues modulo `v`, if one of the families or its complement has one.
    ///
    /// # Method and cost
    /// `O(e v)` for `q = p^e`; 0.05 s at `v = 10^6`.
    ///
    /// ```
    /// use sottovoce::numerics::difference_set::DifferenceSet;
    /// assert_eq!(DifferenceSet::new(7, 3).unwrap().elements(), [0, 1, 3]);
    /// assert!(DifferenceSet::new(8, 3).is_none());
    /// ```
    pub fn new(v: usize, k: usize) -> Option<Self> {
        if !DifferenceSet::exists(v, k) {
            return None;
        }
        let (family, is_complement) = match Family::of(v, k) {
            Some(family) => (family, false),
            None => (Family::of(v, v - k)?, true),
        };
        let mut is_member = vec![is_complement; v];
        family.elements(v).into_iter().for_each(|x| is_member[x as usize] = !is_complement);
        let elements = indices(&is_member);
        let others = (0..v as u32).filter(|x| !is_member[*x as usize]).collect();
        Some(DifferenceSet { v, family, elements, others, is_member, sum: OnceLock::new() })
    }

    /// Whether there is a set for `v` and `k`.
    pub fn exists(v: usize, k: usize) -> bool {
        (2..=MAX_ORDER).contains(&v)
            && (1..v).contains(&k)
            && (Family::of(v, k).is_some() || Family::of(v, v - k).is_some())
    }

    /// The modulus `v`.
    pub fn order(&self) -> usize {
        self.v
    }

    /// The number `k` of elements.
    pub fn size(&self) -> usize {
        self.elements.len()
    }

    /// `λ`, how often each difference occurs.
    pub fn index(&self) -> usize {
        index(self.v, self.size())
    }

    /// The family that the set, or its complement, belongs to.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Whether it is the complement of the family's set.
    pub fn is_complement(&self) -> bool {
        Family::of(self.v, self.size()).is_none()
    }

    /// The elements, ascending.
    pub fn elements(&self) -> &[u32] {
        &self.elements
    }

    /// The residues that are not elements, ascending.
    pub fn others(&self) -> &[u32] {
        &self.others
    }

    /// Whether a residue below `v` is an element.
    pub fn contains(&self, residue: usize) -> bool {
        self.is_member[residue]
    }

    /// Sums over the shifts of the set.
    pub fn sum(&self) -> &CyclicSum {
        self.sum.get_or_init(|| CyclicSum::new(self.v, &self.elements))
    }
}

/// `λ = k(k−1)/(v−1)` of a set of `k` residues modulo `v`.
pub fn index(v: usize, k: usize) -> usize {
    k * (k - 1) / (v - 1)
}

/// `(v, k)` of the sets with `least ≤ v ≤ most`, complements left out: of each projective space over each field the
/// smallest, of each other family the smallest, and the trivial one.
pub fn smallest_parameters(least: usize, most: usize) -> Vec<(usize, usize)> {
    let most = most.min(MAX_ORDER);
    let mut found = vec![(least.max(2), 1)];
    let fields = (2..).take_while(|q| q * q + q < most).filter(|q| prime_power(*q as u64).is_some());
    found.extend(fields.filter_map(|q| {
        let (mut v, mut k) = (q * q + q + 1, q + 1);
        while v < least {
            (k, v) = (v, v * q + 1);
        }
        (v <= most).then_some((v, k))
    }));
    let paley = (least..=most).find(|v| v % 4 == 3 && is_prime(*v as u64));
    let twins = (3..)
        .take_while(|p| p * (p + 2) <= most)
        .find(|p| p * (p + 2) >= least && is_prime(*p as u64) && is_prime(*p as u64 + 2));
    let halves = paley.into_iter().chain(twins.map(|p| p * (p + 2))).filter(|v| *v >= 7);
    found.extend(halves.map(|v| (v, (v - 1) / 2)));
    let fourth = |beyond: usize| {
        let orders = (1..).step_by(2).map(move |x: usize| 4 * x * x + beyond).take_while(move |v| *v <= most);
        orders.filter(move |v| *v >= least).find(|v| is_prime(*v as u64))
    };
    found.extend(fourth(1).map(|v| (v, (v - 1) / 4)));
    found.extend(fourth(9).map(|v| (v, v.div_ceil(4))));
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_difference_set(set: &DifferenceSet) -> bool {
        let v = set.order();
        let mut counts = vec![0; v];
        for x in set.elements() {
            set.elements().iter().for_each(|y| counts[(v + *x as usize - *y as usize) % v] += 1);
        }
        counts[1..].iter().all(|count| *count == set.index())
    }

    #[test]
    fn every_family_and_every_complement_is_one() {
        let mut seen = 0;
        for v in 2..=200 {
            for k in 1..v {
                let Some(set) = DifferenceSet::new(v, k) else { continue };
                assert!(set.size() == k && is_difference_set(&set), "{v} {k} {set:?}");
                assert_eq!(set.others().len(), v - k);
                seen += usize::from(k > 1 && 2 * k <= v);
            }
        }
        assert!(seen >= 42, "{seen}");
    }

    /// Dimensions above 2, fields that are not prime, and twin primes beyond 200.
    #[test]
    fn larger_ones_are_difference_sets() {
        for (v, k) in [
            (364, 121),
            (341, 85),
            (585, 73),
            (820, 91),
            (651, 26),
            (757, 28),
            (1057, 33),
            (323, 161),
            (677, 169),
        ] {
            let set = DifferenceSet::new(v, k).unwrap_or_else(|| panic!("{v} {k}"));
            assert!(set.size() == k && is_difference_set(&set), "{v} {k}");
        }
    }

    /// What reports of all versions rely on.
    #[test]
    fn the_sets_never_change() {
        for (v, k, elements) in [
            (7, 3, vec![0, 1, 3]),
            (13, 4, vec![0, 1, 3, 9]),
            (21, 5, vec![3, 6, 7, 12, 14]),
            (31, 6, vec![0, 1, 3, 8, 12, 18]),
            (57, 8, vec![0, 1, 3, 13, 32, 36, 43, 52]),
            (73, 9, vec![1, 3, 25, 41, 42, 53, 61, 67, 71]),
            (40, 13, vec![0, 1, 2, 4, 5, 8, 13, 14, 17, 19, 24, 26, 34]),
            (11, 5, vec![1, 3, 4, 5, 9]),
            (35, 17, vec![0, 1, 3, 4, 7, 9, 11, 12, 13, 14, 16, 17, 21, 27, 28, 29, 33]),
            (13, 9, vec![2, 4, 5, 6, 7, 8, 10, 11, 12]),
            (37, 9, vec![1, 7, 9, 10, 12, 16, 26, 33, 34]),
            (
                109,
                28,
                vec![
                    0, 1, 3, 5, 7, 9, 15, 16, 21, 22, 25, 26, 27, 35, 38, 45, 48, 49, 63, 66, 73, 75, 78, 80,
                    81, 89, 97, 105,
                ],
            ),
        ] {
            assert_eq!(DifferenceSet::new(v, k).unwrap().elements(), elements, "{v} {k}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for (v, k) in [(6, 2), (10, 4), (43, 7), (7, 0), (7, 7), (1, 1), (0, 0), (MAX_ORDER + 1, 1)] {
            assert!(DifferenceSet::new(v, k).is_none(), "{v} {k}");
        }
    }

    #[test]
    fn parameters_that_are_listed_exist() {
        for least in [2, 3, 7, 50, 100, 1000] {
            let listed = smallest_parameters(least, 8 * least + 64);
            assert!(listed.iter().all(|(v, k)| *v >= least && DifferenceSet::exists(*v, *k)), "{listed:?}");
        }
        for pair in [(121, 40), (101, 25), (109, 28)] {
            assert!(smallest_parameters(100, 1000).contains(&pair), "{pair:?}");
        }
    }

    #[test]
    fn a_million_residues_take_no_time() {
        for (v, k) in [(1_043_463, 1022), (797_161, 265_720), (1_048_575, 524_287), (1_398_101, 349_525)] {
            let set = DifferenceSet::new(v, k).unwrap_or_else(|| panic!("{v} {k}"));
            assert_eq!(set.size(), k);
        }
    }
}
