//! Cases in which a published value, or a claim of convergence, was once silently wrong.

use super::method::Method;
use super::model::Mixture;
use super::particle_filter::stream;
use super::reference::{Case, Data};

/// The thin ridge: two outputs of three values, so that a whole line of distributions explains the reports
/// equally well.
const RIDGE: &str = "matrix 2 3 0.5103031146729073 0 1 0.4896968853270927 1 0";

pub fn cases() -> Vec<(Case, Method)> {
    [information(), posteriors()].concat()
}

fn symmetric(a: usize, alpha: f64) -> Mixture {
    Mixture::single(vec![alpha; a])
}

fn far(weights: [f64; 2], parts: [&[f64]; 2]) -> Mixture {
    Mixture { weights: weights.to_vec(), parts: parts.map(<[f64]>::to_vec).to_vec() }
}

/// `I(Y⃗;P)` at low privacy, under sparse priors, and under priors with distant components.
fn information() -> Vec<(Case, Method)> {
    let of = |name: &str, words: &str, prior: Mixture, n: u64| Case {
        name: name.to_owned(),
        words: words.to_owned(),
        prior,
        data: Data::Users(n),
    };
    let filter = |particles, period, draws| Method::Filter { particles, period, draws };
    let far_4 = far([0.5; 2], [&[30.0, 5.0, 5.0, 5.0], &[5.0, 5.0, 5.0, 30.0]]);
    let far_3 = far([0.7, 0.3], [&[100.0, 10.0, 10.0], &[10.0, 20.0, 90.0]]);
    let matrix = "matrix 3 3 0.6 0.2 0.1 0.3 0.6 0.2 0.1 0.2 0.7";
    let importance = Method::Importance { draws: 3000, inner: 600 };
    vec![
        (of("low privacy, OUE 7", "oue 16 7", symmetric(16, 0.5), 100), filter(128, 20, 6000)),
        (of("low privacy, OUE 8", "oue 16 8", symmetric(16, 0.5), 100), filter(128, 0, 6000)),
        (of("low privacy, OUE 12", "oue 16 12", symmetric(16, 0.5), 100), filter(64, 0, 8000)),
        (of("low privacy, RAPPOR 8", "rappor 16 8", symmetric(16, 0.5), 100), filter(128, 20, 6000)),
        (of("low privacy, RAPPOR 12", "rappor 16 12", symmetric(16, 0.5), 100), filter(64, 0, 4000)),
        (of("low privacy, 32 values", "oue 32 8", symmetric(32, 0.5), 200), filter(128, 40, 3000)),
        (of("sparse, OUE 4", "oue 16 4", symmetric(16, 0.1), 100), filter(160, 1, 3000)),
        (of("sparse, OUE 5", "oue 16 5", symmetric(16, 0.1), 100), filter(160, 1, 3000)),
        (of("sparse, OUE 7", "oue 16 7", symmetric(16, 0.1), 100), filter(128, 5, 4000)),
        (of("sparse, OUE 12", "oue 16 12", symmetric(16, 0.1), 100), filter(128, 0, 6000)),
        (of("far parts, OUE 1", "oue 4 1", far_4, 200), importance),
        (of("far parts, matrix", matrix, far_3, 150), importance),
    ]
}

/// Posteriors under distant components, on thin ridges, and of ordinary reports whose evidence is requested.
fn posteriors() -> Vec<(Case, Method)> {
    let far_3 = far([0.9, 0.1], [&[160.0, 20.0, 20.0], &[20.0, 160.0, 20.0]]);
    let far_6 = far([0.5; 2], [&[30.0, 5.0, 5.0, 5.0, 5.0, 5.0], &[5.0, 5.0, 5.0, 5.0, 5.0, 30.0]]);
    let counted = |name: &str, words: &str, prior: Mixture, counts: [u64; 2]| Case {
        name: name.to_owned(),
        words: words.to_owned(),
        prior,
        data: Data::Counts(counts.into_iter().enumerate().collect()),
    };
    let tempering = Method::Tempering { particles: 300, steps: 30, sweeps: 2, draws: 100 };
    let importance = Method::Importance { draws: 40_000, inner: 1 };
    vec![
        (
            simulated("the less likely part", "oue 3 0.2", far_3.clone(), &[0.13, 0.77, 0.1], 3000),
            Method::Quadrature,
        ),
        (simulated("two likely parts", "oue 3 0.2", far_3, &[0.36, 0.54, 0.1], 1500), Method::Quadrature),
        (
            counted("a thin ridge", RIDGE, Mixture::single(vec![0.3, 0.5, 25.0]), [450_000, 550_000]),
            Method::Quadrature,
        ),
        (counted("a thin ridge, Jeffreys", RIDGE, symmetric(3, 0.5), [45_000, 55_000]), Method::Quadrature),
        (
            counted("a thinner ridge, Jeffreys", RIDGE, symmetric(3, 0.5), [450_000, 550_000]),
            Method::Quadrature,
        ),
        (
            simulated("evidence, OUE", "oue 6 2", symmetric(6, 0.5), &[0.4, 0.2, 0.2, 0.1, 0.08, 0.02], 600),
            tempering,
        ),
        (
            simulated("evidence, far parts", "oue 6 2", far_6, &[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], 600),
            importance,
        ),
    ]
}

/// Reports of `n` users with distribution `p`.
pub fn simulated(name: &str, words: &str, prior: Mixture, p: &[f64], n: u64) -> Case {
    let data = Data::Counts(Vec::new());
    let case = Case { name: name.to_owned(), words: words.to_owned(), prior, data };
    let ln_p: Vec<f64> = p.iter().map(|p_x| p_x.ln()).collect();
    let mut rng = stream(n, 0);
    Case { data: case.simulated(&ln_p, n, &mut rng), ..case }
}
