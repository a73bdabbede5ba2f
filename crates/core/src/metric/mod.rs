//! The metrics of the paper, one file each, and [`Analysis`], which computes any of them by name.
//!
//! ```
//! use sottovoce::{Analysis, Metric, Prior, Protocol};
//!
//! let (protocol, prior) = (Protocol::grr(16, 2.0)?, Prior::jeffreys(16)?);
//! let analysis = Analysis::new(&protocol, &prior)?;
//! let privacy = analysis.answer(Metric::WorstCasePrivacy, None);
//! assert!((privacy.number().unwrap().value - (-2f64).exp()).abs() < 1e-15);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod analysis;
mod answer;
mod asymptotic_utility;
mod average_privacy;
mod bridged;
mod finite_users;
mod growth_constant;
mod limit;
mod monte_carlo;
mod name;
mod prior_entropy;
mod progress;
mod rounds;
mod tally_constant;
mod tradeoff;
mod worst_case_privacy;

pub use crate::model::absence::Absence;
pub use analysis::{Analysis, Settings};
pub use answer::{Answer, Value};
pub use asymptotic_utility::{
    asymptotic_utility, asymptotic_utility_numbers, effective_participation, truth_utility,
};
pub use average_privacy::{Leakage, average_privacy, private_leakage, user_entropy};
pub use finite_users::MOST_SAMPLED;
pub use growth_constant::{faithful_growth_constant, growth_constant};
pub use limit::{distribution_utility_limit, tally_utility_limit};
pub use name::Metric;
pub use prior_entropy::prior_entropy;
pub use progress::{Observer, Progress, unobserved};
pub use rounds::{MAX_ROUNDS, Rounds};
pub use tally_constant::{group_information_limit, tally_constant};
pub use tradeoff::{participation_bound, utility_bound};
pub use worst_case_privacy::{level_bracket, local_privacy_level, worst_case_privacy};
