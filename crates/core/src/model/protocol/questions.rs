//! The methods of [`Channel`], available on a [`Protocol`] directly.

use rand::Rng;

use super::{Channel, Matrix, Protocol, Rank, RowSpace};
use crate::model::error::Result;
use crate::model::output::Output;

/// The methods of every protocol; see [`Channel`] for each.
impl Protocol {
    /// The protocol as a [`Channel`].
    pub fn channel(&self) -> &dyn Channel {
        match self {
            Protocol::Identity(protocol) => protocol,
            Protocol::GeneralisedRandomisedResponse(protocol) => protocol,
            Protocol::UnaryEncoding(protocol) => protocol,
            Protocol::LocalHash(protocol) => protocol,
            Protocol::SubsetSelection(protocol) => protocol,
            Protocol::Block(protocol) => protocol,
            Protocol::Deterministic(protocol) => protocol,
            Protocol::Erasure(protocol) => protocol,
            Protocol::Matrix(protocol) => protocol,
            Protocol::Composition(protocol) => protocol,
            Protocol::Product(protocol) => protocol,
            Protocol::Mixture(protocol) => protocol,
        }
    }

    /// The protocol's kind, as in its specification.
    pub fn kind(&self) -> &'static str {
        self.channel().kind()
    }

    /// Number of inputs `a`.
    pub fn inputs(&self) -> usize {
        self.channel().inputs()
    }

    /// Number of outputs `b`, or `None` if it does not fit a machine word.
    pub fn outputs(&self) -> Option<usize> {
        self.channel().outputs()
    }

    /// Bits per report with a fixed-length code.
    pub fn report_bits(&self) -> f64 {
        self.channel().report_bits()
    }

    /// The output that row `row` stands for. `row` must be smaller than [`outputs`](Channel::outputs).
    pub fn output(&self, row: usize) -> Output {
        self.channel().output(row)
    }

    /// The row that stands for `output`.
    ///
    /// # Errors
    /// The output does not exist, or there are too many rows to number.
    pub fn row_of(&self, output: &Output) -> Result<usize> {
        self.channel().row_of(output)
    }

    /// `ln Q_{y|x}`; `−∞` where the output is impossible.
    ///
    /// # Errors
    /// The output or the input does not exist.
    pub fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.channel().ln_probability(output, x)
    }

    /// `Q_{y|x}` for row `y`.
    ///
    /// # Errors
    /// The protocol needs a dense matrix that would be too large.
    pub fn entry(&self, row: usize, x: usize) -> Result<f64> {
        self.channel().entry(row, x)
    }

    /// Writes row `row` of the matrix.
    ///
    /// # Errors
    /// As for [`entry`](Channel::entry).
    pub fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        self.channel().row_into(row, values)
    }

    /// The distribution of `Q(x)` over the rows.
    ///
    /// # Errors
    /// More outputs than a dense vector may have.
    pub fn column(&self, x: usize) -> Result<Vec<f64>> {
        self.channel().column(x)
    }

    /// `Q_* p`, the distribution of the output of a user whose value has distribution `p`.
    ///
    /// # Errors
    /// `p` has the wrong length, or there are more outputs than a dense vector may have.
    pub fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.channel().push_forward(p)
    }

    /// Draws `Q(x)`, for simulation. A real collection randomises with exact integer arithmetic and a
    /// cryptographic generator instead.
    ///
    /// # Errors
    /// The input does not exist.
    pub fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.channel().sample(x, rng)
    }

    /// The largest `ln(Q_{y|x} / Q_{y|x'})` over the outputs `y` that `x` can produce.
    ///
    /// # Errors
    /// The protocol needs a dense matrix that would be too large.
    pub fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        self.channel().level_between(x, other)
    }

    /// `LDP(Q)`, the largest [`level_between`](Channel::level_between) over all pairs of inputs.
    ///
    /// # Errors
    /// As for [`level_between`](Channel::level_between).
    pub fn level(&self) -> Result<f64> {
        self.channel().level()
    }

    /// A bound on the error of [`level`](Channel::level): a few roundings where the level is a parameter or
    /// the entries are given, the error of the entries where they are computed.
    ///
    /// # Errors
    /// As for [`level`](Channel::level).
    pub fn level_error(&self) -> Result<f64> {
        self.channel().level_error()
    }

    /// The level that holds between *all* pairs of different inputs, if there is one such level.
    pub fn uniform_level(&self) -> Option<f64> {
        self.channel().uniform_level()
    }

    /// `rk Q`.
    ///
    /// # Errors
    /// The protocol needs a dense matrix that would be too large.
    pub fn rank(&self) -> Result<Rank> {
        self.channel().rank()
    }

    /// The span of the rows, from which the rank of a combination follows.
    ///
    /// # Errors
    /// As for [`rank`](Channel::rank).
    pub fn row_space(&self) -> Result<RowSpace> {
        self.channel().row_space()
    }

    /// Whether some output is possible for both inputs.
    ///
    /// # Errors
    /// As for [`rank`](Channel::rank).
    pub fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        self.channel().share_output(x, other)
    }

    /// `b'`, the number of classes of possible outputs under the relation generated by "some input can produce both".
    ///
    /// # Errors
    /// As for [`rank`](Channel::rank).
    pub fn classes(&self) -> Result<usize> {
        self.channel().classes()
    }

    /// A bound on the relative error of the matrix's entries, where they are computed rather than given. At
    /// high privacy the entries of a row are nearly equal, so anything computed from their differences has a
    /// much larger relative error.
    pub(crate) fn rounding(&self) -> f64 {
        self.channel().rounding()
    }

    /// The dense matrix.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) above [`MAX_ENTRIES`](super::MAX_ENTRIES) entries.
    pub fn to_matrix(&self) -> Result<Matrix> {
        self.channel().to_matrix()
    }

    /// The number of outputs, if a dense object with `width` numbers per output is within the size limit.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) above [`MAX_ENTRIES`](super::MAX_ENTRIES) numbers.
    pub(crate) fn countable_outputs(&self, width: usize) -> Result<usize> {
        self.channel().countable_outputs(width)
    }

    /// Rejects a vector with the wrong number of inputs.
    ///
    /// # Errors
    /// [`Error::PriorSize`](crate::Error::PriorSize).
    pub(crate) fn check_distribution(&self, p: &[f64]) -> Result<()> {
        self.channel().check_distribution(p)
    }
}
