//! Cyclic difference sets: block designs that make a subset selection of few outputs.
//!
//! A set `D` of `k` residues modulo `a` in which every difference `≠ 0` occurs equally often (`λ = k(k−1)/(a−1)` times). Its shifts are a symmetric
//! block design: `a` sets of size `k`, each pair of inputs together in `λ` of them. Reporting only those instead of all `C(a, k)`
//! subsets costs no utility at the uniform distribution and little elsewhere. Projective planes of prime order are among them
//! (`a = q² + q + 1`, `k = q + 1`), and the quadratic residues of a prime `a ≡ 3 (mod 4)` (`k = (a−1)/2`).

use super::tolerances::Tolerances;
use super::toward_privacy::within_level;
use crate::model::error::Result;
use crate::model::protocol::Protocol;
use crate::numerics::stop::check;

/// A difference set of `k` residues modulo `a`, if the search finds one.
///
/// # Method and cost
/// A backtracking search in increasing order that gives up after two million steps, about a tenth of a second; then quadratic residues. Sets of
/// more than half the residues are complements.
///
/// # Example
/// ```
/// use sottovoce::design::difference_set;
/// assert_eq!(difference_set(7, 3), Some(vec![0, 1, 3]));
/// assert_eq!(difference_set(8, 3), None);
/// ```
pub fn difference_set(a: usize, k: usize) -> Option<Vec<usize>> {
    if !(2..a).contains(&k) || k == a - 1 || !(k * (k - 1)).is_multiple_of(a - 1) {
        return None;
    }
    if 2 * k > a {
        let few = difference_set(a, a - k)?;
        return Some((0..a).filter(|x| !few.contains(x)).collect());
    }
    let mut search =
        Backtracking { a, k, lambda: k * (k - 1) / (a - 1), counts: vec![0; a], left: max_steps() };
    let mut set = vec![0];
    if search.extend(&mut set) {
        return Some(set);
    }
    let residues = residues(a, k)?;
    Some(residues)
}

/// The quadratic residues, if they are a difference set of size `k`.
fn residues(a: usize, k: usize) -> Option<Vec<usize>> {
    let is_prime = a > 2 && (2..).take_while(|d| d * d <= a).all(|d| !a.is_multiple_of(d));
    if !is_prime || a % 4 != 3 || 2 * k + 1 != a {
        return None;
    }
    let mut residues: Vec<usize> = (1..a).map(|x| x * x % a).collect();
    residues.sort_unstable();
    residues.dedup();
    Some(residues)
}

fn max_steps() -> usize {
    Tolerances::default().limits.difference_set_steps
}

/// The search for a set in increasing order.
struct Backtracking {
    a: usize,
    k: usize,
    lambda: usize,
    /// How often each difference occurs.
    counts: Vec<usize>,
    /// Steps that are left.
    left: usize,
}

impl Backtracking {
    /// Whether the set can be completed; if so, it is.
    fn extend(&mut self, set: &mut Vec<usize>) -> bool {
        if set.len() == self.k {
            return true;
        }
        for next in set[set.len() - 1] + 1..self.a {
            check();
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            self.count(set, next, 1);
            let fits = set.iter().all(|&x| {
                self.counts[next - x] <= self.lambda && self.counts[self.a + x - next] <= self.lambda
            });
            if fits {
                set.push(next);
                if self.extend(set) {
                    return true;
                }
                set.pop();
            }
            self.count(set, next, usize::MAX);
        }
        false
    }

    /// Adds (`1`) or subtracts (`usize::MAX`) the differences between `next` and the set.
    fn count(&mut self, set: &[usize], next: usize, by: usize) {
        for &x in set {
            for difference in [next - x, self.a + x - next] {
                self.counts[difference] = self.counts[difference].wrapping_add(by);
            }
        }
    }
}

/// Subset selection with the `a` shifts of a difference set as its only subsets.
///
/// # Errors
/// `a` or `epsilon` is out of range.
pub fn block_selection(a: usize, set: &[usize], epsilon: f64) -> Result<Protocol> {
    super::Requirement::new(Some(epsilon), None)?;
    let unit = 1.0 / (set.len() as f64 * epsilon.exp() + (a - set.len()) as f64);
    let entry = |y: usize, x: usize| {
        if set.contains(&((x + a - y) % a)) { unit * epsilon.exp() } else { unit }
    };
    let rows = (0..a).map(|y| (0..a).map(|x| entry(y, x)).collect()).collect();
    within_level(rows, epsilon, &Tolerances::default().rounding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_difference_set(a: usize, set: &[usize]) -> bool {
        let lambda = set.len() * (set.len() - 1) / (a - 1);
        (1..a).all(|d| set.iter().filter(|&&x| set.contains(&((x + d) % a))).count() == lambda)
    }

    #[test]
    fn planes_and_residues_are_found() {
        // Planes of order 2, 3, 4, 5, 7; biplanes; residues of 11, 19, 103; a complement.
        for (a, k) in
            [(7, 3), (13, 4), (21, 5), (31, 6), (57, 8), (11, 5), (37, 9), (19, 9), (103, 51), (13, 9)]
        {
            let set = difference_set(a, k).unwrap_or_else(|| panic!("{a} {k}"));
            assert!(set.len() == k && is_difference_set(a, &set), "{a} {k} {set:?}");
        }
        for (a, k) in [(6, 2), (10, 4), (43, 7), (4, 3)] {
            assert_eq!(difference_set(a, k), None, "{a} {k}");
        }
    }
}
