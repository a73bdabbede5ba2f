//! Randomising: from a value to a report, on the user's side.
//!
//! The channel that is sampled is not the protocol's matrix of real numbers but one of fractions, whose denominators are powers of two
//! (for subset selection, block designs and the functions of a local hash inside a composition also counts of sets, blocks and functions). They are rounded
//! *toward privacy*: the likelier of two outcomes that tell values apart is rounded down, the rarer up. Sampling compares whole numbers
//! from the generator with whole numbers, so there is no floating-point arithmetic between the secret and the report, and nothing in the
//! low bits of a report that could tell more than the protocol allows.
//!
//! ```
//! use sottovoce::Protocol;
//! use sottovoce_collect::randomise::{Generator, Randomiser, Randomness};
//!
//! let protocol = Protocol::grr(16, 1.0)?;
//! let randomiser = Randomiser::new(&protocol)?;
//! assert!(randomiser.realised().loss.within(1.0)); // certain, by whole numbers
//!
//! let mut generator = Generator::new(Randomness::System, 0)?;
//! let report = randomiser.report(3, &mut generator)?;
//! assert!(protocol.row_of(&report)? < 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *How exact*. A word has 64 bits. Of generalised randomised response on `a` inputs a lie has probability `⌈2^64/(e^ε+a−1)⌉/2^64`, which
//! lowers the level by less than `a²/2^64`; where that is more than a hundredth of the level, the protocol is refused rather than made useless.
//! A level above `ln 2^64 ≈ 44` is lowered to about that, since no chance is between 0 and `2^−64`. A matrix keeps its level by a trace of the
//! protocol that says nothing, and is refused where its entries are too small for that.
//!
//! *Local hash* draws a 64-bit seed instead of one of all `g^a` functions. Its privacy is that of the response on the bucket, whatever
//! the functions are. For each input every bucket has `⌊2^64/g⌋` or `⌈2^64/g⌉` of the seeds, since the seed is scrambled one to one; that
//! different inputs fall together once in `g` times is a property of the hash, tested and not proven.

mod batch;

pub use batch::Batches;
pub use sottovoce_client::{ExactMatrix, Generator, Loss, Randomiser, Randomness, Realised, Words};
