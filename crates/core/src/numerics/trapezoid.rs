//! The trapezoidal rule on the whole line, for integrands in `u = ln t`.
//!
//! # Why it is enough
//! Every integral of this crate over `t ∈ (0, ∞)` has an integrand built from `(1 + r t)^{−α}` with `r ≥ 0`. In
//! `u = ln t` it decays exponentially at both ends, and it is analytic and bounded in the strip `|Im u| ≤ π/2`,
//! because `|1 + r t| ≥ 1` wherever `Re t ≥ 0`, whatever α is. The trapezoidal rule of step `h` then has the error
//! `O(e^{−π²/h})` (Trefethen and Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 2014,
//! theorem 5.1): `3e-9` for `h = ½`, `7e-18` for `h = ¼`, also for `α = 10^7`.
//!
//! # The left tail
//! Near `t = 0` the integrand is analytic in `t` itself, so the left tail may be compressed: `u = w − e^{l−w}` makes `t`
//! vanish doubly exponentially left of `w = l`, and leaves the rest of the line alone. With `l` three units left of where the integrand
//! begins, the strip stays as it is and some 150 nodes become thirty.
//!
//! # The right tail
//! For large `t` the integrand is a power of `t` times a function that is analytic in `1/t`, and `u = w + e^{w−r}` compresses that tail alike: a tail that falls no
//! faster than `t^{−α}` is as short as any other, if only the integrand is known where `t` itself is too large for a number. [`trapezoids`] does that.

/// The integrand at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Term {
    /// Its value.
    pub value: f64,
    /// The sum of the absolute values of the parts it was added from: rounding is relative to this.
    pub magnitude: f64,
}

impl Term {
    /// A value whose parts all have the same sign.
    pub fn of_one_sign(value: f64) -> Self {
        Term { value, magnitude: value.abs() }
    }

    fn add(&mut self, other: Term) {
        self.value += other.value;
        self.magnitude += other.magnitude;
    }
}

/// A number and the bound on its absolute error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounded {
    /// The number.
    pub value: f64,
    /// Bound on the absolute error.
    pub error: f64,
}

impl Bounded {
    /// A number with its bound.
    pub fn new(value: f64, error: f64) -> Self {
        Bounded { value, error }
    }

    /// The number and its error times a factor.
    pub fn scaled(self, factor: f64) -> Self {
        Bounded::new(self.value * factor, self.error * factor.abs())
    }
}

impl std::ops::Add for Bounded {
    type Output = Bounded;
    fn add(self, other: Bounded) -> Bounded {
        Bounded::new(self.value + other.value, self.error + other.error)
    }
}

/// First step. It is halved at least once, so that the last halving measures the error.
const FIRST_STEP: f64 = 0.5;
/// Relative discretisation error at which halving stops, ten times below the rounding that is stated anyway.
const TOLERANCE: f64 = 1e-15;
/// Halvings at most. Seven integrals in eight of our tests need one, none more than two.
const MOST_HALVINGS: u32 = 4;
/// A tail ends where the terms fall below this share of the sum.
const NEGLIGIBLE: f64 = 1e-19;
/// And below this share of the largest term, for functions that are found together.
const NEGLIGIBLE_TERM: f64 = 1e-14;
/// Rounding of one term, relative to its magnitude, in units of the machine epsilon. Measured: a node carries the
/// error of `e^y` with `|y| ≤ 40` at most.
const ROUNDING: f64 = 48.0;
/// A tail is at most so many nodes: the slowest decay is `e^{−u}`, from `1` to `NEGLIGIBLE` in 44 units of `u`.
const LONGEST_TAIL: u32 = 2000;

/// How far left of the integrand the compression of its left tail begins.
const LEAN: f64 = 3.0;

/// `f(u(w)) du/dw` with the left tail compressed.
fn compressed(w: f64, left: f64, integrand: &mut impl FnMut(f64) -> Term) -> Term {
    crate::numerics::stop::check();
    let lean = (left - LEAN - w).exp();
    let term = integrand(w - lean);
    Term { value: term.value * (1.0 + lean), magnitude: term.magnitude * (1.0 + lean) }
}

/// `∫ f(u) du` over the line, for an `f` that is a power series in `t = e^u` without constant term for `u < left`, and decays at
/// least as `e^{−u}` right of `right`.
///
/// # Method and cost
/// All nodes between `left` and `right`, then outwards until terms are negligible; then the step is halved, reusing
/// the nodes, until the change `d` of the sum says that the error, `d²` up to a factor for geometric convergence, is
/// below `1e-15`. About `4 (right − left + 50)` evaluations.
pub fn trapezoid(left: f64, right: f64, mut integrand: impl FnMut(f64) -> Term) -> Bounded {
    let mut integrand = |w| compressed(w, left, &mut integrand);
    let mut step = FIRST_STEP;
    let mut sum = Term::default();
    let core = ((right - left) / step).ceil().max(1.0) as i64;
    for k in 0..=core {
        sum.add(integrand(left + k as f64 * step));
    }
    let first = tail(&mut sum, left, -step, &mut integrand);
    let last = tail(&mut sum, left + core as f64 * step, step, &mut integrand);
    let mut nodes = ((last - first) / step).round() as i64 + 1;
    let mut discretisation = f64::INFINITY;
    for _ in 0..MOST_HALVINGS {
        let coarse = sum.value * step;
        for k in -1..nodes {
            sum.add(integrand(first + (k as f64 + 0.5) * step));
        }
        nodes *= 2;
        step *= 0.5;
        discretisation = halved_error((sum.value * step - coarse).abs(), sum.magnitude * step);
        if discretisation <= TOLERANCE * sum.value.abs() * step {
            break;
        }
    }
    let rounding = ROUNDING * f64::EPSILON * sum.magnitude;
    Bounded::new(sum.value * step, discretisation + rounding * step)
}

/// The integrals of several functions as [`trapezoid`] takes them, but falling as any power of `t` right of `right`, at nodes that they share and with one
/// step: what `step` leaves is for the caller to know. The function writes its values.
pub fn trapezoids(
    left: f64,
    right: f64,
    step: f64,
    sums: &mut [f64],
    mut integrands: impl FnMut(f64, &mut [f64]),
) {
    sums.fill(0.0);
    let mut values = vec![0.0; sums.len()];
    let mut add = |w: f64, lean: f64, stretch: f64| {
        crate::numerics::stop::check();
        integrands(w - lean + stretch, &mut values);
        let mut largest = 0.0f64;
        for (sum, value) in sums.iter_mut().zip(&values) {
            let term = value * (1.0 + lean + stretch);
            *sum += step * term;
            largest = largest.max(term.abs());
        }
        largest
    };
    // How far nodes are compressed changes by a factor from one to the next.
    let factor = step.exp();
    let (mut w, mut lean, mut stretch) = (left, (-LEAN).exp(), (left - right - LEAN).exp());
    let (first_lean, first_stretch) = (lean, stretch);
    let mut largest = add(w, lean, stretch);
    for k in 1..=((right - left) / step).ceil().max(1.0) as i64 {
        (w, lean, stretch) = (left + k as f64 * step, lean / factor, stretch * factor);
        largest = largest.max(add(w, lean, stretch));
    }
    for k in 1..=LONGEST_TAIL {
        (lean, stretch) = (lean / factor, stretch * factor);
        if add(w + f64::from(k) * step, lean, stretch) <= NEGLIGIBLE_TERM * largest {
            break;
        }
    }
    (lean, stretch) = (first_lean, first_stretch);
    for k in 1..=LONGEST_TAIL {
        (lean, stretch) = (lean * factor, stretch / factor);
        if add(left - f64::from(k) * step, lean, stretch) <= NEGLIGIBLE_TERM * largest {
            break;
        }
    }
}

/// Error after halving the step changed the sum by `change`. Geometric convergence squares the relative error; the
/// factor ten allows for a part of the integrand that converges more slowly than its whole.
fn halved_error(change: f64, magnitude: f64) -> f64 {
    if magnitude > 0.0 { 10.0 * change * change / magnitude } else { 0.0 }
}

/// Adds the nodes beyond `from`, in steps of the signed `step`, until two in a row are negligible. Returns the last.
fn tail(sum: &mut Term, from: f64, step: f64, integrand: &mut impl FnMut(f64) -> Term) -> f64 {
    let mut small = 0;
    let mut u = from;
    for _ in 0..LONGEST_TAIL {
        u += step;
        let term = integrand(u);
        sum.add(term);
        small = if term.magnitude <= NEGLIGIBLE * sum.magnitude { small + 1 } else { 0 };
        if small == 2 {
            break;
        }
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_integral_of_every_scale_is_exact() {
        for scale in [1e-9, 1.0, 1e9_f64] {
            let term = |u: f64| Term::of_one_sign((u - scale * u.exp() + scale.ln()).exp());
            let integral = trapezoid(-scale.ln(), -scale.ln(), term);
            assert!((integral.value - 1.0).abs() < 1e-14 && integral.error < 1e-13);
        }
    }

    #[test]
    fn zero_integrates_to_zero() {
        assert_eq!(trapezoid(0.0, 1.0, |_| Term::default()), Bounded::default());
    }

    /// `∫ t (1 + t)^{−1−α} dt/t = 1/α`, where `t` is written by its inverse.
    #[test]
    fn slow_tails_are_short() {
        for alpha in [1e-3, 0.1, 1.0, 30.0] {
            let mut sums = [0.0];
            let mut nodes = 0;
            trapezoids(-(2.0f64 + alpha).ln(), 0.0, 1.0 / 3.0, &mut sums, |u, values| {
                nodes += 1;
                let share = 1.0 / (1.0 + (-u).exp());
                values[0] = share * (-alpha * ((-u).exp().ln_1p() + u)).exp();
            });
            assert!((sums[0] * alpha - 1.0).abs() < 1e-11, "{alpha}: {}", sums[0] * alpha);
            assert!(nodes < 80, "{alpha}: {nodes}");
        }
    }
}
