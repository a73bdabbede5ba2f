//! How long a computation may take that has an answer at any moment, if nobody says otherwise.

use std::time::Duration;

use sottovoce::Progress;

/// How long a number, and the search of a design, may take.
const NUMBER_LIMIT: Duration = Duration::from_secs(120);
const DESIGN_LIMIT: Duration = Duration::from_secs(600);

/// The usual limit of a computation that begins with this, if it begins with it; a posterior and a count have the time of the whole run.
pub fn limit_of_new(progress: &Progress) -> Option<Duration> {
    match progress {
        Progress::Metric { sampling, .. } | Progress::ExpectedError { sampling, .. } => {
            (sampling.draws == 0).then_some(NUMBER_LIMIT)
        }
        Progress::Design { directions: 0, .. } => Some(DESIGN_LIMIT),
        _ => None,
    }
}

/// How long the draws of a posterior may take.
pub const POSTERIOR_LIMIT: Duration = NUMBER_LIMIT;
