//! How far the bridged approximation may be off.
//!
//! The error was fitted to 120 random cases against exact or sampled values, enlarged after a trial on 60 others, and
//! covers at least 95 % of both (`tests/approximation.rs`; `cargo xtask calibrate` makes the values) and of all reference
//! values (`crates/job/tests/golden.rs`). It is the smallest of
//! ```text
//! 0.03 I · max(f_ε, f_α)                     few reports: information is nearly additive
//! (0.009 + 0.025/a) √(a−1) · f_ε · f_α        each value contributes an error of its own
//! 0.3 |I − asymptote|                        many reports: the difference tends to 0
//! ```
//! The first two are `1 + 50 δ` times larger, where `δ` is the relative error at `n = 1`, whose value is known. It is
//! nearly 0 for protocols that treat all values alike. A matrix whose report says much about some combination of
//! frequencies and little about any one of them has a large `δ`; beyond 0.1 nothing is claimed but the bounds
//! ```text
//! 0 ≤ I(Y⃗;P) ≤ min(n I(Y;P), I(X⃗;P))
//! ```
//! which also limit the error of all others.
//!
//! All three are `1 + ¾ (r − 4)` times larger if the largest parameter of the prior is `r > 4` times the smallest: with
//! parameters from 0.1 to 5 the value was up to 27 % too low.
//!
//! `f_ε = max(1, ε/1.3)` with the level `ε` of the efficient channels, and 1 for randomised response, whose counts
//! tell all there is. `f_α = max(1, 0.5/α)` with the smallest parameter of the prior.

use crate::model::prior::Dirichlet;
use crate::model::protocol::{BitNoise, Protocol};

/// Largest share of the information.
const SHARE: f64 = 0.03;

/// Error of each value, for many and for few values.
const EACH: [f64; 2] = [0.009, 0.025];

/// The level of a channel beyond which the error grows with it.
const LEVEL: f64 = 1.3;

/// The parameter of the prior below which the error grows.
const PARAMETER: f64 = 0.5;

/// How much the errors grow with the relative error at `n = 1`.
const MISMATCH: f64 = 50.0;

/// The ratio of the largest parameter of the prior to the smallest beyond which the errors grow, and how much they grow with it.
const UNEVEN: [f64; 2] = [4.0, 0.75];

/// The relative error at `n = 1` beyond which the approximation claims nothing.
const LARGEST_MISMATCH: f64 = 0.1;

/// Largest share of the distance from the asymptote.
const DISTANCE: f64 = 0.3;

/// The error that each value of a protocol under a prior contributes, added up.
#[derive(Debug)]
pub(super) struct Calibration {
    of_values: f64,
    share: f64,
    /// Share of the distance from the asymptote.
    distance: f64,
}

impl Calibration {
    /// `mismatch` is the relative error of the approximation at `n = 1`.
    pub(super) fn new(protocol: &Protocol, dirichlet: &Dirichlet, bits: &[BitNoise], mismatch: f64) -> Self {
        let a = protocol.inputs() as f64;
        let level = bits.iter().map(BitNoise::level).fold(0.0, f64::max).min(10.0);
        let by_level = match protocol {
            Protocol::GeneralisedRandomisedResponse(_) => 1.0,
            _ => (level / LEVEL).max(1.0),
        };
        let smallest = dirichlet.alpha().iter().copied().fold(f64::INFINITY, f64::min);
        let by_parameter = (PARAMETER / smallest).max(1.0);
        let largest = dirichlet.alpha().iter().copied().fold(0.0, f64::max);
        let uneven = 1.0 + UNEVEN[1] * (largest / smallest - UNEVEN[0]).max(0.0);
        let claims = mismatch <= LARGEST_MISMATCH;
        let factor = if claims { uneven * (1.0 + MISMATCH * mismatch) } else { f64::INFINITY };
        let each = (EACH[0] + EACH[1] / a) * by_level * by_parameter;
        let distance = if claims { uneven * DISTANCE } else { f64::INFINITY };
        Calibration {
            of_values: factor * each * (a - 1.0).sqrt(),
            share: factor * SHARE * by_level.max(by_parameter),
            distance,
        }
    }

    /// The error of `information`, given its asymptote.
    pub(super) fn error(&self, information: f64, asymptote: f64) -> f64 {
        let parts =
            [self.share * information, self.of_values, self.distance * (information - asymptote).abs()];
        // `min` leaves out NaN: no distance from the asymptote, and nothing claimed.
        parts.into_iter().fold(f64::INFINITY, f64::min)
    }
}
