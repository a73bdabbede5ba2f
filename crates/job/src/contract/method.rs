//! The setting `method` of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::information::Choice;

/// Which method to use for metrics that depend on the number of users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MethodChoice {
    /// Exact where that takes less than a second, then the approximation if it is accurate enough, then Monte Carlo.
    #[default]
    Auto,
    /// Exact or not at all.
    Exact,
    /// The calibrated approximation, also where an exact method is affordable.
    Approximation,
    /// Monte Carlo, also where an exact method is affordable.
    MonteCarlo,
    /// The asymptote, as n grows; its error is unknown.
    Asymptote,
}

impl From<MethodChoice> for Choice {
    fn from(method: MethodChoice) -> Self {
        match method {
            MethodChoice::Auto => Choice::Automatic,
            MethodChoice::Exact => Choice::Exact,
            MethodChoice::Approximation => Choice::Approximation,
            MethodChoice::MonteCarlo => Choice::MonteCarlo,
            MethodChoice::Asymptote => Choice::Asymptote,
        }
    }
}
