//! Markov chains on the simplex, and the evidence computed from them.
//!
//! ```text
//! reports → RowLikelihood → Target (prior · e^{βL̂}, moves) → divergence of the posterior from the prior
//!                                                          → evidence by thermodynamic integration
//!                                                          → draws of the posterior (`crate::posterior`)
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `diagnostics` | convergence: R-hat and effective sample sizes |
//! | `concentration` | moves of the parameter of the adaptive prior |
//! | `normal_target` | chains for the posterior given supports |
//! | `product_form` | a likelihood with one factor for each value, whose evidence is exact |
//! | `divergence` | `KL(posterior‖prior)` on a short path from a product form |
//! | `quadratic` | a second-order expansion of a log-likelihood |
//! | `target` | which rows of the likelihood are exact and which are expanded; the tempered density and its moves |
//! | `evidence` | `ln m = ∫_0^1 E_β[L] dβ`, with the correction for the expanded rows |

pub(crate) mod concentration;
pub(crate) mod diagnostics;
pub(crate) mod divergence;
pub(crate) mod evidence;
pub(crate) mod normal_target;
pub(crate) mod product_form;
pub(crate) mod quadratic;
pub(crate) mod target;
