//! Markov chains on the simplex, and the evidence they give.
//!
//! ```text
//! reports → RowLikelihood → Target (prior · e^{βL̂}, moves) → evidence by thermodynamic integration
//!                                                          → draws of the posterior (`crate::posterior`)
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `diagnostics` | whether chains agree: R-hat and effective sample sizes |
//! | `quadratic` | a second-order expansion of a log-likelihood |
//! | `target` | which rows of the likelihood are followed exactly and which by their expansion; the tempered density and its moves |
//! | `evidence` | `ln m = ∫_0^1 E_β[L] dβ`, with the correction for the rows that are only expanded |

pub(crate) mod diagnostics;
pub(crate) mod evidence;
mod quadratic;
pub(crate) mod target;
