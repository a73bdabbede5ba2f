//! Prime powers and primitive polynomials: the little of finite fields that difference sets need.
//!
//! A primitive polynomial `f` of degree `N` over `GF(p)` gives the whole field `GF(p^N)`: the powers of its root
//! `ω` are all elements but 0. Every nonzero sequence with the recurrence of `f` is `s_i = Tr(γ ω^i)` for some
//! `γ ≠ 0`, so the field need not be represented any further.

/// Whether `n` is prime, by trial division.
pub fn is_prime(n: u64) -> bool {
    n >= 2 && smallest_factor(n) == n
}

/// `(p, e)` with `q = p^e` and `p` prime, if there are such.
///
/// ```
/// use sottovoce::numerics::finite_field::prime_power;
/// assert_eq!((prime_power(27), prime_power(12), prime_power(1)), (Some((3, 3)), None, None));
/// ```
pub fn prime_power(q: u64) -> Option<(u64, u32)> {
    if q < 2 {
        return None;
    }
    let p = smallest_factor(q);
    let (mut rest, mut e) = (q, 0);
    while rest.is_multiple_of(p) {
        rest /= p;
        e += 1;
    }
    (rest == 1).then_some((p, e))
}

fn smallest_factor(n: u64) -> u64 {
    (2..).take_while(|d| d * d <= n).find(|d| n.is_multiple_of(*d)).unwrap_or(n)
}

/// The different primes that divide `n`.
fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    while n > 1 {
        let p = smallest_factor(n);
        factors.push(p);
        while n.is_multiple_of(p) {
            n /= p;
        }
    }
    factors
}

/// The coefficients `c_0, …, c_{N−1}` of the first primitive polynomial `x^N − c_{N−1} x^{N−1} − … − c_0` over
/// `GF(p)`, in the order of the numbers `Σ_j c_j p^j`. `p` is prime and `p^N` at most `2^63`.
///
/// # Method and cost
/// `x` must have the order `p^N − 1`, which no polynomial that is not primitive gives it. A share of about
/// `1/N` or somewhat less of all polynomials is primitive; milliseconds up to `p^N = 10^11`.
///
/// ```
/// use sottovoce::numerics::finite_field::primitive_recurrence;
/// assert_eq!(primitive_recurrence(2, 3), [1, 1, 0]); // x³ = x + 1
/// assert_eq!(primitive_recurrence(3, 2), [1, 1]); // x² = x + 1
/// ```
pub fn primitive_recurrence(p: u64, degree: usize) -> Vec<u64> {
    let order = p.pow(degree as u32) - 1;
    let factors = prime_factors(order);
    let is_primitive = |c: &[u64]| {
        let ring = Quotient { p, c };
        ring.is_one(&ring.power_of_x(order))
            && factors.iter().all(|r| !ring.is_one(&ring.power_of_x(order / r)))
    };
    let digits = |mut number: u64| -> Vec<u64> {
        let digit = |_| {
            let digit = number % p;
            number /= p;
            digit
        };
        (0..degree).map(digit).collect()
    };
    // Unwrap safety: every degree over every prime field has a primitive polynomial.
    (1..=order).map(digits).find(|c| c[0] != 0 && is_primitive(c)).unwrap()
}

/// Polynomials over `GF(p)` modulo `x^N = c_{N−1} x^{N−1} + … + c_0`.
struct Quotient<'a> {
    p: u64,
    c: &'a [u64],
}

impl Quotient<'_> {
    fn is_one(&self, element: &[u64]) -> bool {
        element.iter().enumerate().all(|(j, digit)| *digit == u64::from(j == 0))
    }

    fn times_x(&self, element: &mut [u64]) {
        let top = element[element.len() - 1];
        element.rotate_right(1);
        element[0] = 0;
        element.iter_mut().zip(self.c).for_each(|(digit, c)| *digit = (*digit + top * c) % self.p);
    }

    fn square(&self, element: &[u64]) -> Vec<u64> {
        let (mut sum, mut shifted) = (vec![0; element.len()], element.to_vec());
        for factor in element {
            sum.iter_mut().zip(&shifted).for_each(|(sum, digit)| *sum = (*sum + factor * digit) % self.p);
            self.times_x(&mut shifted);
        }
        sum
    }

    fn power_of_x(&self, exponent: u64) -> Vec<u64> {
        let mut power = vec![0; self.c.len()];
        power[0] = 1;
        for bit in (0..64 - exponent.leading_zeros()).rev() {
            power = self.square(&power);
            if exponent >> bit & 1 == 1 {
                self.times_x(&mut power);
            }
        }
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_up_to_fifty() {
        let found: Vec<u64> = (0..50).filter(|q| prime_power(*q).is_some()).collect();
        let known = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49];
        assert_eq!(found, known);
    }

    /// The powers of the root are all nonzero elements.
    #[test]
    fn the_root_generates_the_field() {
        for (p, degree) in [(2, 1), (2, 2), (2, 8), (3, 3), (5, 2), (7, 3), (31, 2)] {
            let c = primitive_recurrence(p, degree);
            let ring = Quotient { p, c: &c };
            let (mut element, mut order) = (ring.power_of_x(1), 1);
            while !ring.is_one(&element) {
                ring.times_x(&mut element);
                order += 1;
            }
            assert_eq!(order, p.pow(degree as u32) - 1, "{p} {degree} {c:?}");
        }
    }

    /// Primitive polynomials over GF(2) as tables of shift registers have them.
    #[test]
    fn known_binary_polynomials() {
        for (degree, known) in [(4, 0b0011), (5, 0b0_0101), (8, 0b0001_1101), (16, 0b0000_0000_0010_1101)] {
            let found = primitive_recurrence(2, degree);
            let number: u64 = found.iter().enumerate().map(|(j, c)| c << j).sum();
            assert_eq!(number, known, "degree {degree}");
        }
    }
}
