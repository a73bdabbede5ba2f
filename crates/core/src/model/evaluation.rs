//! A number with its method and its error: [`Evaluation`].

use std::fmt;

/// How a number was computed. Later variants are weaker; a combination of numbers has the weakest method of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// A formula in elementary and special functions.
    ClosedForm,
    /// Deterministic numerical integration, with an error bound.
    Quadrature,
    /// A finite sum over all cases.
    Enumeration,
    /// A truncated series, with a bound on the remainder.
    Expansion,
    /// A calibrated approximation, whose error covers at least 95 % of cases.
    Approximation,
    /// Random draws, with a standard error.
    MonteCarlo,
    /// The limit for many users, applied to a finite number of them. Its error is unknown.
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
            Method::Approximation => "approximation",
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

/// A computed number, its method and its error.
///
/// `error` is an absolute bound or, for [`Method::MonteCarlo`], a standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The number, in nats where it is an information.
    pub value: f64,
    /// Absolute error bound, or standard error for Monte Carlo.
    pub error: f64,
    /// How the number was computed.
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

    /// An information in nats, computed from probabilities with relative error `rounding`.
    ///
    /// Relative changes `δ_uy` of the likelihoods `f(y|u)` change `I = E ln(f/f̄)` by `E[δ ln(f/f̄)]` to first order, and `E|ln(f/f̄)| ≤ I + √(2I)`
    /// (Pinsker's inequality).
    pub(crate) fn of_rounded(self, rounding: f64) -> Self {
        let size = self.value.abs() + (2.0 * self.value.abs()).sqrt() + rounding;
        Evaluation { error: self.error + rounding * size, ..self }
    }

    /// By how much the number may be off: two standard errors for Monte Carlo, the error otherwise.
    pub fn reach(&self) -> f64 {
        if self.method == Method::MonteCarlo { 2.0 * self.error } else { self.error }
    }

    /// The sum of two numbers. Errors are added rather than combined in quadrature, so the result holds even
    /// if the draws are dependent.
    pub fn plus(self, other: Evaluation) -> Self {
        Evaluation::new(self.value + other.value, self.error + other.error, self.method.max(other.method))
    }

    /// The number times an exact factor.
    pub fn times(self, factor: f64) -> Self {
        Evaluation::new(self.value * factor, self.error * factor.abs(), self.method)
    }

    /// The quotient of two numbers. The divisor must have a relative error below one half.
    pub fn over(self, divisor: Evaluation) -> Self {
        let value = self.value / divisor.value;
        let error = (self.error + value.abs() * divisor.error) / (divisor.value.abs() - divisor.error);
        let rounding = f64::EPSILON * value.abs();
        Evaluation::new(value, error + rounding, self.method.max(divisor.method))
    }
}
