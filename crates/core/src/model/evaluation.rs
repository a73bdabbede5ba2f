//! A number never travels alone: [`Evaluation`] carries how it was found and how far off it may be.

use std::fmt;

/// How a number was found. Later variants are weaker; a combination of numbers has the weakest method of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// A formula in elementary and special functions.
    ClosedForm,
    /// Deterministic numerical integration, with an error bound.
    Quadrature,
    /// A finite sum over all cases.
    Enumeration,
    /// A series cut off, with a bound on the rest.
    Expansion,
    /// Random draws, with a standard error.
    MonteCarlo,
    /// The limit for many users, used for a finite number of them. Its error is unknown.
    Asymptote,
}

impl Method {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::ClosedForm => "closed_form",
            Method::Quadrature => "quadrature",
            Method::Enumeration => "enumeration",
            Method::Expansion => "expansion",
            Method::MonteCarlo => "monte_carlo",
            Method::Asymptote => "asymptote",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A computed number, the method that found it and its error.
///
/// `error` is an absolute bound or, for [`Method::MonteCarlo`], a standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The number, in nats where it is an information.
    pub value: f64,
    /// Absolute error bound, or standard error for Monte Carlo.
    pub error: f64,
    /// How the number was found.
    pub method: Method,
}

impl Evaluation {
    /// A number with its error and method.
    pub fn new(value: f64, error: f64, method: Method) -> Self {
        Evaluation { value, error, method }
    }

    /// A number from a closed form, with the rounding error of `operations` floating-point operations.
    pub fn closed_form(value: f64, operations: u32) -> Self {
        Evaluation::new(value, value.abs() * f64::EPSILON * f64::from(operations), Method::ClosedForm)
    }

    /// An information in nats, found from probabilities whose relative error is `rounding`.
    ///
    /// Relative changes `δ_uy` of the likelihoods `f(y|u)` change `I = E ln(f/f̄)` by `E[δ ln(f/f̄)]` to first order, and `E|ln(f/f̄)| ≤ I + √(2I)`
    /// (Pinsker's inequality).
    pub(crate) fn of_rounded(self, rounding: f64) -> Self {
        let size = self.value.abs() + (2.0 * self.value.abs()).sqrt() + rounding;
        Evaluation { error: self.error + rounding * size, ..self }
    }

    /// The sum of two numbers. Standard errors of independent draws would add in squares; a plain sum is also right when
    /// they are not independent.
    pub fn plus(self, other: Evaluation) -> Self {
        Evaluation::new(self.value + other.value, self.error + other.error, self.method.max(other.method))
    }

    /// The number times an exact factor.
    pub fn times(self, factor: f64) -> Self {
        Evaluation::new(self.value * factor, self.error * factor.abs(), self.method)
    }

    /// The quotient of two numbers, of which the divisor is known to better than half of itself.
    pub fn over(self, divisor: Evaluation) -> Self {
        let value = self.value / divisor.value;
        let error = (self.error + value.abs() * divisor.error) / (divisor.value.abs() - divisor.error);
        let rounding = f64::EPSILON * value.abs();
        Evaluation::new(value, error + rounding, self.method.max(divisor.method))
    }
}
