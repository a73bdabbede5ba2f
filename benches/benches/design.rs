//! Designs: the gap that is certified and what it takes, growth with the number of inputs, and what random protocols reach in the same time.

use std::time::Duration;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use sottovoce::design::{Design, Effort, Requirement, best_protocol};
use sottovoce::metric::{Settings, asymptotic_utility};
use sottovoce::{Prior, Protocol};
use stopwatch::{full, once, quotable, ratio, rounded, two_digits};

/// A requirement with a prior: a level (0 for none), the least average privacy (0 for none), and the parameters.
type Case = (f64, f64, &'static [f64]);

const ASYMMETRIC: &[Case] = &[
    (0.0, 0.6, &[0.5, 2.0, 0.7]),
    (0.0, 0.6, &[0.5, 2.0, 0.7, 1.0]),
    (0.0, 0.6, &[0.5, 2.0, 0.7, 1.0, 3.0]),
    (0.0, 0.6, &[0.5, 2.0, 0.7, 1.0, 3.0, 1.5]),
];
const JEFFREYS: &[Case] =
    &[(0.0, 0.6, &[0.5; 4]), (0.0, 0.6, &[0.5; 6]), (0.0, 0.6, &[0.5; 8]), (0.0, 0.6, &[0.5; 10])];
const HIGH_PRIVACY: &[Case] = &[
    (0.01, 0.999_999, &[0.5, 1.0, 2.0, 3.0]),
    (1e-5, 0.999_999_999_999, &[0.5, 1.0, 2.0, 3.0]),
    (0.03, 0.999_96, &[0.5, 2.0, 0.5, 1.0, 3.0]),
    (0.03, 0.999_99, &[0.5, 2.0, 0.7, 1.0, 3.0, 1.5]),
    (0.3, 0.997, &[0.5, 2.0, 0.7, 1.0, 3.0, 1.5]),
];
const FURTHER: &[Case] = &[
    (0.0, 0.5, &[0.05, 0.1, 2.0, 1.0]),
    (0.0, 0.5, &[0.1, 0.2, 0.3, 0.4, 0.5]),
    (0.0, 0.9, &[1.1, 1.2, 1.05, 2.0, 4.0]),
    (0.0, 0.99, &[1.1, 1.2, 1.05, 2.0, 4.0]),
    (0.0, 0.97, &[1.2, 1.3, 1.15, 1.25, 5.0]),
    (0.0, 0.9999, &[93.0, 650.0, 4.9]),
    (0.0, 0.999, &[1.0, 1.5, 1.5, 0.5]),
    (0.0, 0.999, &[0.5, 2.0, 1.5, 2.0, 0.5]),
    (0.0, 0.7, &[1.0, 0.5, 0.5, 2.0, 0.5]),
    (1.5, 0.9, &[0.5, 2.0, 0.5, 1.0, 3.0]),
    (0.0, 0.6, &[5.0, 10.0, 20.0, 3.0, 8.0, 2.0]),
    (0.0, 0.95, &[5.0, 10.0, 20.0, 3.0, 8.0, 2.0]),
    (0.0, 0.9999, &[2.2, 0.57, 0.27, 18.0, 0.15, 4.1]),
    (0.0, 0.99, &[4.3, 240.0, 24.0, 790.0, 27.0, 270.0]),
    (1.0, 0.0, &[0.5, 1.0, 2.0, 0.5, 1.0, 2.0]),
    (1.0, 0.0, &[0.5, 1.0, 2.0, 0.5, 1.0, 2.0, 3.0, 0.7, 1.2, 4.0]),
];
const SMALL_PARAMETERS: &[Case] = &[
    (0.0, 0.99, &[0.095, 0.0115, 0.012, 0.25]),
    (0.0, 0.9, &[0.13, 0.22, 0.47, 0.034, 0.92]),
    (5.0, 0.9, &[0.09, 0.26, 0.06, 0.5, 0.02]),
    (0.0, 0.9999, &[0.52, 0.4, 0.19, 0.23, 0.28, 0.019]),
    (0.0, 0.99, &[0.42, 0.0126, 0.71, 0.0153, 0.35, 0.48]),
    (0.0, 0.05, &[0.011, 0.068, 0.74, 0.034, 0.046]),
    (0.0, 0.9999, &[0.75, 0.056, 0.013, 0.25, 0.02]),
    (0.0, 0.999, &[0.0235, 0.966, 0.525, 0.0174]),
    (0.0, 0.999, &[0.0235, 0.966, 0.525, 0.0174, 0.0463]),
];

fn main() {
    let symmetric = table("average privacy at least 0.6, Jeffreys", JEFFREYS);
    quotable(
        "design.jeffreys_10",
        rounded(symmetric),
        "best protocol with S_mu of at least 0.6, Jeffreys, a = 10",
    );
    let asymmetric = table("average privacy at least 0.6, asymmetric priors", &ASYMMETRIC[..3]);
    quotable(
        "design.asymmetric_5",
        rounded(asymmetric),
        "best protocol with S_mu of at least 0.6, an asymmetric prior, a = 5",
    );
    table("epsilon and average privacy, both high", &HIGH_PRIVACY[..3]);
    against_random_protocols();
    if full() {
        table("average privacy at least 0.6, six values", &ASYMMETRIC[3..]);
        table("epsilon and average privacy, both high, six values", &HIGH_PRIVACY[3..]);
        table("other priors and requirements", FURTHER);
        table("parameters far below 1", SMALL_PARAMETERS);
    }
}

fn design(&(epsilon, privacy, alpha): &Case) -> Design {
    let given = |number: f64| (number > 0.0).then_some(number);
    let requirement = Requirement::new(given(epsilon), given(privacy)).unwrap();
    best_protocol(&Prior::dirichlet(alpha.to_vec()).unwrap(), &requirement, Effort::default()).unwrap()
}

/// Prints the gap and time of each case, and gives the time of the last.
fn table(name: &str, cases: &[Case]) -> Duration {
    println!("Best protocols: {name}");
    let mut last = None;
    // Only cases that differ in the number of inputs alone tell how cost grows.
    let grows = cases.iter().all(|case| case.1 == cases[0].1);
    for case in cases {
        let (time, design) = once(|| design(case));
        let growth =
            last.filter(|_| grows).map_or_else(String::new, |last| format!("{:.1} times", ratio(time, last)));
        let certificate = design.certificate;
        println!(
            "  epsilon {:<4} S_mu {:<4} alpha {:?}\n    gap {:.1e}, {} directions on {} points, {time:.1?}   {growth}",
            case.0, case.1, case.2, certificate.gap, certificate.priced, certificate.points
        );
        last = Some(time);
    }
    println!();
    last.unwrap_or_default()
}

/// Random epsilon-LDP matrices of some more rows than inputs, each judged by the metric, for a second: many times as long as the design takes.
fn against_random_protocols() {
    let case: Case = (1.0, 0.0, &[0.5, 2.0, 0.7, 1.0]);
    let (time, design) = once(|| design(&case));
    let prior = Prior::dirichlet(case.2.to_vec()).unwrap();
    let utility = |protocol: &Protocol| {
        asymptotic_utility(protocol, &prior, &Settings::default()).map_or(f64::NEG_INFINITY, |e| e.value)
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut tried, mut best) = (0, f64::NEG_INFINITY);
    let (spent, ()) = once(|| {
        let started = std::time::Instant::now();
        while started.elapsed().as_secs() < 1 {
            best = best.max(utility(&random_protocol(case.0, 4, 6, &mut rng)));
            tried += 1;
        }
    });
    let lost = utility(&design.protocol) - best;
    println!("Epsilon 1, alpha {:?}: the best of {tried} random protocols in {spent:.1?}", case.2);
    println!("  ({:.0} times as long as the design)", ratio(spent, time));
    let words = "nats of U_as by which a design for epsilon = 1 and a = 4 beats the best of a second of random protocols";
    quotable("design.against_random", two_digits(lost), words);
    println!(
        "  is {lost:.4} below the design in U_as, which is certified within {:.1e}",
        design.certificate.gap
    );
}

/// Rows of `1` and `e^epsilon` at random, with the weights that make the columns add up: by a last row that takes what is missing.
fn random_protocol(epsilon: f64, inputs: usize, rows: usize, rng: &mut ChaCha8Rng) -> Protocol {
    loop {
        let row = |rng: &mut ChaCha8Rng| {
            let weight = rng.random::<f64>();
            (0..inputs)
                .map(|_| if rng.random() { weight * epsilon.exp() } else { weight })
                .collect::<Vec<f64>>()
        };
        let mut matrix: Vec<Vec<f64>> = (1..rows).map(|_| row(rng)).collect();
        let sum = |x: usize| matrix.iter().map(|row| row[x]).sum::<f64>();
        let sums: Vec<f64> = (0..inputs).map(sum).collect();
        let most = sums.iter().copied().fold(0.0, f64::max) * (1.0 + rng.random::<f64>());
        matrix.push(sums.iter().map(|sum| most - sum).collect());
        let last = &matrix[rows - 1];
        let (low, high) = last.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &q| (l.min(q), h.max(q)));
        if low > 0.0 && high <= low * epsilon.exp() {
            let scaled = matrix.iter().map(|row| row.iter().map(|q| q / most).collect()).collect();
            return Protocol::matrix(scaled).unwrap();
        }
    }
}
