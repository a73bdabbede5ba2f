//! What a job would take of memory, known before it begins.
//!
//! A request of a hundred bytes may ask for the Fisher information of sixteen million values. Each kind of job has here an upper bound of the bytes it would hold, from the kind of
//! the protocol, the numbers of inputs, outputs and users; what is above the [allowed](allowing) bytes is refused with both numbers. The bounds are compared with
//! measured ones in `crates/cli/tests/limits.rs`. They count what grows; the program itself takes about 20 MB more.
//!
//! How long a job takes is not foretold: it is ended when its time is over ([`sottovoce::stop`]).

use std::cell::Cell;

use sottovoce::fisher::{FisherInformation, SubsetSelection, UnaryEncoding};
use sottovoce::information::Choice;
use sottovoce::metric::{MOST_SAMPLED, asymptotic_utility_numbers};
use sottovoce::prior::Adaptive;
use sottovoce::protocol::{BitNoise, MAX_ENTRIES, MAX_INPUTS, MAX_ORDER};
use sottovoce::{Error as NumbersError, Metric, Prior, Protocol};

use crate::spec::{PriorSpec, ProtocolKind, ProtocolSpec};

thread_local! {
    /// What jobs of this thread may take, if it was said.
    static ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Does some work whose jobs may take so many bytes; half of what is free if nothing is said.
pub fn allowing<T>(bytes: Option<u64>, work: impl FnOnce() -> T) -> T {
    let before = ALLOWED.replace(bytes);
    let done = work();
    ALLOWED.set(before);
    done
}

/// The bytes that a job of this thread may take.
pub fn allowed() -> u64 {
    ALLOWED.get().unwrap_or_else(|| free_memory().map_or(UNKNOWN, |free| free / 2))
}

/// Allowed where the system does not tell what is free.
const UNKNOWN: u64 = 2 << 30;

/// The memory that is free, where Linux tells it.
fn free_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Refuses what would take too much.
///
/// # Errors
/// [`NumbersError::TooMuchMemory`].
pub fn admit(bytes: f64) -> Result<(), NumbersError> {
    let allowed = allowed();
    // A number below 10^19 bytes, or that.
    if bytes <= allowed as f64 {
        Ok(())
    } else {
        Err(NumbersError::TooMuchMemory { bytes: bytes as u64, allowed })
    }
}

/// Bytes of a number.
const NUMBER: f64 = 8.0;

fn threads() -> f64 {
    sottovoce::stop::threads() as f64
}

/// A protocol and a prior on its inputs: some vectors of them, and the matrices of combinations with what their decomposition takes.
pub fn protocol_bytes(protocol: &Protocol) -> f64 {
    10.0 * NUMBER * protocol.inputs() as f64 + matrix_bytes(protocol)
}

/// A prior that is a mixture of many Dirichlet distributions, beyond what [`protocol_bytes`] counts.
pub fn prior_bytes(prior: &PriorSpec, a: usize) -> f64 {
    match prior {
        PriorSpec::Adaptive => NUMBER * (Adaptive::NODES * a) as f64,
        _ => 0.0,
    }
}

/// Entries of the matrix, if it is made.
fn entries(protocol: &Protocol) -> f64 {
    let entries = protocol.outputs().map_or(f64::INFINITY, |b| b as f64 * protocol.inputs() as f64);
    if entries <= MAX_ENTRIES as f64 { entries } else { 0.0 }
}

fn matrix_bytes(protocol: &Protocol) -> f64 {
    let parts: f64 = protocol.parts().iter().map(matrix_bytes).sum();
    // The matrix, its merged rows, and the singular value decomposition with its working space.
    let own = 10.0 * NUMBER * entries(protocol);
    match protocol {
        Protocol::Composition(_) => {
            own + parts + protocol.parts().iter().map(|s| NUMBER * entries(s)).sum::<f64>()
        }
        // Rows beyond the largest matrix are visited one by one, and merged.
        Protocol::Product(_) | Protocol::Mixture(_) => own + parts,
        Protocol::Matrix(_) => own,
        _ => 0.0,
    }
}

/// The search for the best hash range or subset size that was left out.
pub fn size_search_bytes(spec: &ProtocolSpec) -> f64 {
    // What is out of range is refused where that is checked.
    let sensible = |a: usize, epsilon: f64| (3..=MAX_INPUTS).contains(&a) && epsilon > 0.0 && epsilon < 700.0;
    let own = match spec.kind {
        ProtocolKind::Lh { a, g: None, epsilon } if sensible(a, epsilon) => {
            fisher(&UnaryEncoding::new(a, &BitNoise::oue(epsilon), SEARCHED))
        }
        // The tables of a difference set, whose order is at most 8a + 64 if it is not given.
        ProtocolKind::Block { a, v, .. } => 16.0 * v.unwrap_or(a.saturating_mul(8)).min(MAX_ORDER) as f64,
        ProtocolKind::Subset { a, k: None, epsilon } if sensible(a, epsilon) => {
            fisher(&SubsetSelection::new(a, 1 + a / 4, epsilon, SEARCHED))
        }
        _ => 0.0,
    };
    own + spec.parts().iter().map(size_search_bytes).sum::<f64>()
}

/// Relative tolerance of the eigenvalues in that search.
const SEARCHED: f64 = 1e-6;

/// One evaluation on each thread, and the points where they are made.
fn fisher(information: &dyn FisherInformation) -> f64 {
    let a = information.inputs() as f64;
    NUMBER * (threads() * information.numbers(0.5) + a * 2.0 * (8192.0 / a).clamp(8.0, 512.0))
}

/// A metric of a protocol under a prior.
pub fn metric_bytes(
    protocol: &Protocol,
    prior: &Prior,
    metric: Metric,
    users: Option<u64>,
    choice: Choice,
) -> f64 {
    let utility = || {
        let held = asymptotic_utility_numbers(protocol, prior).unwrap_or(3.0 * entries(protocol));
        NUMBER * threads() * (held + 8.0 * protocol.inputs() as f64)
    };
    match metric {
        Metric::AsymptoticUtility | Metric::EffectiveParticipation | Metric::GrowthConstant => utility(),
        // The information and what is left of it after a report, both at once.
        Metric::GroupInformationLimit | Metric::TallyConstant => 2.0 * utility(),
        // The users' side, and what n users leak one by one.
        Metric::UsersDistribution
        | Metric::UsersTally
        | Metric::UsersGroup
        | Metric::UsersIndividual
        | Metric::AggregatorPrivate => 10.0 * NUMBER * protocol.inputs() as f64,
        _ if metric.needs_users() => {
            let n = users.unwrap_or(0) as f64;
            let sampled = match choice {
                Choice::Approximation | Choice::Asymptote => false,
                Choice::Automatic => n * protocol.inputs() as f64 <= MOST_SAMPLED,
                _ => true,
            };
            // The approximation needs the Fisher information, and rules with about √n nodes for each problem.
            let approximated =
                utility() + NUMBER * (64.0 * n.min(1e9).sqrt() + 16.0 * protocol.inputs() as f64);
            approximated.max(if sampled { reports_bytes(protocol, n) } else { 0.0 })
        }
        _ => 0.0,
    }
}

/// What `n` reports tell.
fn reports_bytes(protocol: &Protocol, n: f64) -> f64 {
    let a = protocol.inputs() as f64;
    match protocol {
        Protocol::Identity(_) | Protocol::Deterministic(_) | Protocol::Erasure(_) => 10.0 * NUMBER * a,
        // Products of polynomials as wide as the standard deviations of the counts, and the rules that sum over them.
        Protocol::GeneralisedRandomisedResponse(_) => {
            NUMBER * (256.0 * n.sqrt() + threads() * (64.0 * (a * n).sqrt() + 64.0 * a))
        }
        // The rows of all users, and the second derivative of their likelihood.
        Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_) => {
            NUMBER * threads() * (6.0 * (n * a).min(MOST_ROWS) + (a * a).min(MOST_CURVATURE) + 64.0 * a)
        }
        _ => NUMBER * (20.0 * tallies(protocol, n).min(MOST_TALLIES) + threads() * 8.0 * entries(protocol)),
    }
}

/// Numbers that the rows of simulated reports, a second derivative and exact sums over tallies are allowed by `sottovoce`.
const MOST_ROWS: f64 = 6.7e7;
const MOST_CURVATURE: f64 = 6.7e7;
const MOST_TALLIES: f64 = 1e7;

/// `C(n + b − 1, b − 1)`: how many tallies of `n` reports there are.
fn tallies(protocol: &Protocol, n: f64) -> f64 {
    let b = protocol.outputs().unwrap_or(usize::MAX).min(1 << 10);
    (1..b).map(|k| (n + k as f64) / k as f64).product()
}

/// The posterior of `n` reports: chains or polynomials, draws, densities, and the text of all that.
pub fn posterior_bytes(protocol: &Protocol, n: u64, draws: usize, grid: usize) -> f64 {
    let a = protocol.inputs() as f64;
    let held = (draws as f64).max((2e7 / a).min(4000.0)).max(100.0);
    let method = match protocol {
        Protocol::GeneralisedRandomisedResponse(_) => {
            3.0 * (16.0 * a * (n as f64).sqrt()).min(MOST_CURVATURE)
        }
        Protocol::Identity(_) | Protocol::Deterministic(_) | Protocol::Erasure(_) => 0.0,
        _ => 3.0 * (a * a).min(MOST_CURVATURE),
    };
    NUMBER * method + a * (4000.0 + 600.0 * grid as f64 + 2.0 * NUMBER * held + 30.0 * draws as f64)
}

/// Estimates of all frequencies with their intervals, and the text of them.
pub fn estimate_bytes(protocol: &Protocol, estimators: usize) -> f64 {
    protocol.inputs() as f64 * (600.0 + 900.0 * estimators as f64)
}

/// Simulated collections of `n` users: their different reports, on each thread.
pub fn accuracy_bytes(protocol: &Protocol, n: u64, closed_form: bool) -> f64 {
    let a = protocol.inputs() as f64;
    let reports = match protocol {
        _ if closed_form => 0.0,
        Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_) => {
            (n as f64 * (a + 16.0)).min(MOST_SIMULATED) + (a * a).min(MOST_CURVATURE)
        }
        _ => n as f64,
    };
    NUMBER * threads() * (reports + 64.0 * a)
}

/// Numbers that simulated collections are allowed by `sottovoce`.
const MOST_SIMULATED: f64 = 1e9;

/// A choice among protocols on `a` values: subset selection takes most.
pub fn choice_bytes(a: usize, epsilon: Option<f64>) -> f64 {
    let a = a.clamp(3, MAX_INPUTS);
    2.0 * fisher(&SubsetSelection::new(
        a,
        1 + a / 4,
        epsilon.unwrap_or(1.0).clamp(0.1, 20.0),
        SEARCHED * 1e-2,
    ))
}
