//! Seeded random cases in the regions where methods fail: low privacy, sparse and concentrated priors,
//! distant components, unfaithful matrices, one user and a million.

use chacha20::ChaCha8Rng;
use rand::RngExt;

use super::method::Method;
use super::model::{Mixture, ln_dirichlet};
use super::particle_filter::stream;
use super::reference::{Case, Data};

/// Cases of `I(Y⃗;P)`.
pub const INFORMATION: usize = 28;

/// Cases of posteriors.
pub const POSTERIORS: usize = 32;

/// All random cases: case `i` is drawn from stream `i`.
pub fn cases() -> Vec<(Case, Method)> {
    let information = (0..INFORMATION).map(|i| information(i, &mut stream(1907, i as u64)));
    let posteriors = (0..POSTERIORS).map(|i| posterior(i, &mut stream(1908, i as u64)));
    information.chain(posteriors).collect()
}

fn uniform(low: f64, high: f64, rng: &mut ChaCha8Rng) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

/// A log-uniform number with three digits.
fn spread(low: f64, high: f64, rng: &mut ChaCha8Rng) -> f64 {
    let v = uniform(low.ln(), high.ln(), rng).exp();
    let unit = 10f64.powf(v.log10().floor() - 2.0);
    ((v / unit).round() * unit * 1e6).round() / 1e6
}

fn users(low: f64, high: f64, rng: &mut ChaCha8Rng) -> u64 {
    spread(low, high, rng).round() as u64
}

/// Parameters between `low` and `high`, either different for each value or equal for all.
fn dirichlet(a: usize, low: f64, high: f64, rng: &mut ChaCha8Rng) -> Mixture {
    if rng.random::<bool>() {
        return Mixture::single(vec![spread(low, high, rng); a]);
    }
    Mixture::single((0..a).map(|_| spread(low, high, rng)).collect())
}

/// Two or three components, each concentrated on a different value.
fn far_parts(a: usize, rng: &mut ChaCha8Rng) -> Mixture {
    let parts = rng.random_range(2..=3usize.min(a));
    let small = spread(2.0, 10.0, rng);
    let part = |j: usize, rng: &mut ChaCha8Rng| {
        let mut alpha = vec![small; a];
        alpha[j] = (small * uniform(5.0, 15.0, rng)).round();
        alpha
    };
    let weights = if parts == 2 { vec![0.75, 0.25] } else { vec![0.5, 0.3, 0.2] };
    Mixture { weights, parts: (0..parts).map(|j| part(j, rng)).collect() }
}

/// A random column-stochastic matrix with the given concentration, whose columns sum to 1 in the printed digits.
fn matrix(b: usize, a: usize, concentration: f64, rng: &mut ChaCha8Rng) -> String {
    let column = |rng: &mut ChaCha8Rng| {
        let p = ln_dirichlet(&vec![concentration; b], rng);
        let mut thousandths: Vec<i64> = p.iter().map(|l| (1000.0 * l.exp()).round() as i64).collect();
        let largest = (0..b).max_by_key(|y| thousandths[*y]).unwrap();
        thousandths[largest] += 1000 - thousandths.iter().sum::<i64>();
        thousandths.into_iter().map(|t| t as f64 / 1000.0).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..a).map(|_| column(rng)).collect();
    let entries = (0..b).flat_map(|y| columns.iter().map(move |c| c[y].to_string()));
    format!("matrix {b} {a} {}", entries.collect::<Vec<_>>().join(" "))
}

/// GRR, alone or combined with another protocol.
fn combined(a: usize, epsilon: f64, rng: &mut ChaCha8Rng) -> String {
    match rng.random_range(0..4) {
        0 => format!("mixture 2 0.4 0.6 grr {a} {epsilon} {}", matrix(2, a, 1.0, rng)),
        1 => format!("product 2 grr {a} {epsilon} {}", matrix(2, a, 1.0, rng)),
        2 => format!("composition 2 grr {a} {epsilon} erasure {a} 0.6"),
        _ => format!("grr {a} {epsilon}"),
    }
}

fn information(i: usize, rng: &mut ChaCha8Rng) -> (Case, Method) {
    let filter = |particles, period, draws| Method::Filter { particles, period, draws };
    let (kind, words, prior, n, method) = match i % 7 {
        0 => {
            let a = rng.random_range(6..=16);
            let kind = ["oue", "rappor"][i / 7 % 2];
            let words = format!("{kind} {a} {}", spread(6.0, 12.0, rng));
            ("bits", words, dirichlet(a, 0.05, 0.7, rng), users(10.0, 150.0, rng), filter(128, 5, 1500))
        }
        1 => {
            let (a, g) = (rng.random_range(5..=9), rng.random_range(3..=8));
            let words = format!("lh {a} {g} {}", spread(4.0, 12.0, rng));
            ("hash", words, dirichlet(a, 0.1, 2.0, rng), users(5.0, 60.0, rng), filter(128, 2, 1500))
        }
        2 => {
            let (a, b) = (rng.random_range(3..=6), rng.random_range(4..=6));
            let words = matrix(b, a, 0.4, rng);
            let method = Method::Tempering { particles: 60, steps: 20, sweeps: 3, draws: 1000 };
            ("matrix", words, dirichlet(a, 0.05, 3.0, rng), users(20.0, 120.0, rng), method)
        }
        3 => {
            let a = rng.random_range(3..=5);
            let words = [format!("oue {a} {}", spread(0.5, 3.0, rng)), matrix(4, a, 0.7, rng)];
            let method = Method::Importance { draws: 1500, inner: 600 };
            ("far parts", words[i / 7 % 2].clone(), far_parts(a, rng), users(20.0, 2000.0, rng), method)
        }
        4 => {
            let epsilon = spread(0.01, 3.0, rng);
            let a = rng.random_range(3..=6);
            let words = combined(a, epsilon, rng);
            let method = Method::Importance { draws: 1500, inner: 600 };
            ("sure", words, dirichlet(a, 5.0, 200.0, rng), users(1e3, 1e6, rng), method)
        }
        5 => {
            let prior =
                if (i / 7).is_multiple_of(2) { dirichlet(3, 0.05, 200.0, rng) } else { far_parts(3, rng) };
            let words = matrix(2, 3, 0.5, rng);
            ("not faithful", words, prior, users(1.0, 100.0, rng), Method::Quadrature)
        }
        _ => {
            let a = rng.random_range(5..=7);
            let words = format!("subset {a} 2 {}", spread(3.0, 12.0, rng));
            ("subset", words, dirichlet(a, 0.1, 1.0, rng), users(10.0, 80.0, rng), filter(128, 3, 1500))
        }
    };
    let name = format!("random information {i}, {kind}");
    (Case { name, words, prior, data: Data::Users(n) }, method)
}

fn posterior(i: usize, rng: &mut ChaCha8Rng) -> (Case, Method) {
    let tempering = Method::Tempering { particles: 200, steps: 30, sweeps: 2, draws: 60 };
    let importance = Method::Importance { draws: 20_000, inner: 1 };
    let (kind, words, prior, n, method) = match i % 8 {
        0 => {
            let a = rng.random_range(2..=3);
            let words = matrix(rng.random_range(3..=5), a, 0.5, rng);
            ("matrix", words, dirichlet(a, 0.05, 200.0, rng), users(1.0, 1e6, rng), Method::Quadrature)
        }
        1 => {
            let prior = dirichlet(3, 0.3, 50.0, rng);
            ("not faithful", matrix(2, 3, 0.5, rng), prior, users(100.0, 1e6, rng), Method::Quadrature)
        }
        2 => {
            let a = rng.random_range(3..=6);
            let words = format!("oue {a} {}", spread(0.1, 2.0, rng));
            ("far parts", words, far_parts(a, rng), users(10.0, 1e5, rng), importance)
        }
        3 => {
            let words = format!("{} 3 {}", ["oue", "rappor"][i / 8 % 2], spread(0.1, 8.0, rng));
            ("far parts", words, far_parts(3, rng), users(10.0, 1e5, rng), Method::Quadrature)
        }
        4 => {
            let a = rng.random_range(4..=7);
            let words = format!("oue {a} {}", spread(3.0, 12.0, rng));
            ("sparse", words, dirichlet(a, 0.05, 0.5, rng), users(10.0, 1000.0, rng), tempering)
        }
        5 => {
            let a = rng.random_range(4..=5);
            let words = [
                format!("lh {a} 3 {}", spread(0.2, 4.0, rng)),
                format!("subset {a} 2 {}", spread(0.2, 4.0, rng)),
            ];
            (
                "sets",
                words[i / 8 % 2].clone(),
                dirichlet(a, 0.2, 2.0, rng),
                users(50.0, 2000.0, rng),
                tempering,
            )
        }
        6 => {
            let epsilon = spread(0.01, 4.0, rng);
            let a = rng.random_range(3..=6);
            let words = combined(a, epsilon, rng);
            ("sure", words, dirichlet(a, 5.0, 200.0, rng), users(10.0, 1e6, rng), importance)
        }
        _ => {
            let words = format!("oue 3 {}", spread(0.01, 12.0, rng));
            ("bits", words, dirichlet(3, 0.05, 20.0, rng), users(1.0, 1e5, rng), Method::Quadrature)
        }
    };
    let name = format!("random posterior {i}, {kind}");
    let case = Case { name, words, prior, data: Data::Users(n) };
    let ln_p = case.prior.draw(rng);
    let data = case.simulated(&ln_p, n, rng);
    (Case { data, ..case }, method)
}
