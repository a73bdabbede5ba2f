//! The finite-n quantities against 30-digit values, literal sums and each other.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use sottovoce::evaluation::{Evaluation, Method};
use sottovoce::information::{
    AggregatorSide, Choice, InformationOptions, digit_utility, distribution_information,
    distribution_utility, tally_information, tally_utility, users_side, users_side_of,
};
use sottovoce::prior::{Dirichlet, DirichletMixture, Points};
use sottovoce::{Analysis, Metric, Prior, Protocol};

/// One line of the golden file.
struct Case {
    protocol: Protocol,
    dirichlet: Dirichlet,
    n: u64,
    values: Vec<(String, f64)>,
    line: String,
}

impl Case {
    fn prior(&self) -> Prior {
        Prior::Dirichlet(self.dirichlet.clone())
    }
}

fn cases() -> Vec<Case> {
    let text = include_str!("golden/finite_users.txt");
    text.lines().filter(|line| !line.starts_with('#')).map(case).collect()
}

fn case(line: &str) -> Case {
    let parts: Vec<&str> = line.split(" | ").collect();
    let value = |pair: &str| {
        let (name, number) = pair.split_once('=').unwrap();
        (name.to_owned(), number.parse().unwrap())
    };
    Case {
        protocol: protocol(&mut parts[0].split(' ')),
        dirichlet: Dirichlet::new(parts[1].split(' ').map(|v| v.parse().unwrap()).collect()).unwrap(),
        n: parts[2].parse().unwrap(),
        values: parts[3].split(' ').map(value).collect(),
        line: line.to_owned(),
    }
}

/// Reads a protocol in prefix notation.
fn protocol<'t>(words: &mut impl Iterator<Item = &'t str>) -> Protocol {
    let kind = words.next().unwrap();
    let count = |words: &mut dyn Iterator<Item = &'t str>| words.next().unwrap().parse::<usize>().unwrap();
    let number = |words: &mut dyn Iterator<Item = &'t str>| words.next().unwrap().parse::<f64>().unwrap();
    let a = count(words);
    match kind {
        "identity" => Protocol::identity(a),
        "grr" => Protocol::grr(a, number(words)),
        "rappor" => Protocol::rappor(a, number(words)),
        "oue" => Protocol::oue(a, number(words)),
        "blh" => Protocol::blh(a, number(words)),
        "ue" => Protocol::ue(a, number(words), number(words)),
        "lh" => Protocol::lh(a, count(words), number(words)),
        "deterministic" => Protocol::deterministic((0..a).map(|_| count(words)).collect()),
        "matrix" => {
            let columns = count(words);
            Protocol::matrix((0..a).map(|_| (0..columns).map(|_| number(words)).collect()).collect())
        }
        "composition" => Protocol::composition((0..a).map(|_| protocol(words)).collect()),
        "product" => Protocol::product((0..a).map(|_| protocol(words)).collect()),
        "mixture" => {
            let weights = (0..a).map(|_| number(words)).collect();
            Protocol::mixture(weights, (0..a).map(|_| protocol(words)).collect())
        }
        other => panic!("{other} is not in the golden file"),
    }
    .unwrap()
}

fn check(found: f64, expected: f64, tolerance: f64, what: &str) {
    let scale = if expected == 0.0 { 1.0 } else { expected.abs().max(1e-6) };
    let off = (found - expected).abs() / scale;
    assert!(off < tolerance, "{what}: {found:e}, expected {expected:e}, off by {off:e}");
}

/// `h(P)` of a Dirichlet distribution, needed for the digit utility in the golden file.
fn prior_entropy(dirichlet: &Dirichlet) -> Evaluation {
    let psi = |z: f64| (libm_ln_gamma(z + 1e-5) - libm_ln_gamma(z - 1e-5)) / 2e-5;
    let (alpha, total) = (dirichlet.alpha(), dirichlet.total());
    let terms: f64 = alpha.iter().map(|a| (a - 1.0) * (psi(*a) - psi(total))).sum();
    Evaluation::new(dirichlet.ln_normaliser() - terms, 1e-9, Method::ClosedForm)
}

fn libm_ln_gamma(z: f64) -> f64 {
    sottovoce::numerics::special::ln_gamma(z)
}

#[test]
fn finite_values_agree_with_the_reference() {
    let mut compared = 0;
    for case in cases() {
        let (prior, options) = (case.prior(), InformationOptions::default());
        let users = users_side(&case.dirichlet, case.n);
        let distribution = distribution_information(&case.protocol, &prior, case.n, &options).unwrap();
        let tally = tally_information(&case.protocol, &prior, case.n, &options).unwrap();
        let leakage = case.values.iter().find(|(name, _)| name == "i_y_x_given_p").map_or(0.0, |(_, v)| *v);
        let leakage = Evaluation::new(leakage / case.n as f64, 0.0, Method::ClosedForm);
        let side = AggregatorSide::new(distribution, tally, leakage, case.n);
        for (name, expected) in &case.values {
            let found = match name.as_str() {
                "i_x_p" => users.distribution,
                "h_t" => users.tally(),
                "h_t_given_p" => users.group,
                "h_x_given_t" => users.individual,
                "i_y_p" => distribution,
                "i_y_t" => tally,
                "i_y_t_given_p" => side.group(),
                "i_y_x_given_t" => side.individual(),
                "i_y_x" => side.total(),
                "i_y_x_given_p" => side.private,
                "u_distr" => distribution_utility(distribution, users.distribution),
                "u_tally" => tally_utility(tally, users.tally()),
                "u_digit" => {
                    digit_utility(distribution, prior_entropy(&case.dirichlet), case.dirichlet.alpha().len())
                }
                other => panic!("{other} is not a metric of this file"),
            };
            // The prior's entropy is only needed here, and differences of log-gammas are accurate enough to
            // reveal mistakes.
            let tolerance = if name == "u_digit" { 1e-5 } else { 1e-9 };
            check(found.value, *expected, tolerance, &format!("{name} of {}", case.line));
            assert!(
                name == "u_digit" || (found.value - expected).abs() <= found.error.max(1e-12),
                "{name} of {}: {found:?}",
                case.line
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 1417);
}

#[test]
fn the_truth_is_fully_useful() {
    let (truth, options) = (Protocol::identity(3).unwrap(), InformationOptions::default());
    for prior in [Prior::jeffreys(3).unwrap(), Prior::dirichlet(vec![0.3, 1.2, 2.5]).unwrap()] {
        // The users' side against the aggregator's sums over all tallies: the identity as a plain matrix.
        let rows = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        let nameless = Protocol::matrix(rows).unwrap();
        for n in [1, 2, 17] {
            let users = users_side_of(&prior, n, &options).unwrap();
            for protocol in [&truth, &nameless] {
                let distribution = distribution_information(protocol, &prior, n, &options).unwrap();
                let tally = tally_information(protocol, &prior, n, &options).unwrap();
                check(distribution_utility(distribution, users.distribution).value, 1.0, 1e-12, "U_distr");
                check(tally_utility(tally, users.tally()).value, 1.0, 1e-12, "U_tally");
            }
        }
    }
}

#[test]
fn information_grows_with_users_and_stays_below_the_users_own() {
    let prior = Prior::dirichlet(vec![0.3, 1.2, 2.5]).unwrap();
    for protocol in
        [Protocol::oue(3, 1.0), Protocol::grr(3, 0.1), Protocol::erasure(3, 0.4), Protocol::lh(3, 2, 2.0)]
    {
        let protocol = protocol.unwrap();
        let mut before = 0.0;
        for n in [1, 2, 4, 8] {
            let distribution =
                distribution_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
            let tally = tally_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
            let users = users_side_of(&prior, n, &InformationOptions::default()).unwrap();
            assert!(distribution.value > before, "{protocol:?} {n}");
            assert!(distribution.value <= tally.value + 1e-12, "{protocol:?} {n}");
            assert!(distribution.value < users.distribution.value && tally.value < users.tally().value);
            before = distribution.value;
        }
    }
}

/// One user's tally is the value: `I(Y;T) = I(X;Y)` under the mean of the prior, and `I(Y;P) = I(X;Y) − I(X;Y|P)`.
#[test]
fn one_user_has_closed_formulas() {
    let alpha = [0.3, 1.2, 2.5, 0.7];
    let prior = Prior::dirichlet(alpha.to_vec()).unwrap();
    let total: f64 = alpha.iter().sum();
    for protocol in [
        Protocol::grr(4, 1.0),
        Protocol::oue(4, 1.0),
        Protocol::lh(4, 3, 2.0),
        Protocol::subset(4, 2, 0.5),
        Protocol::erasure(4, 0.3),
        Protocol::deterministic(vec![0, 1, 1, 2]),
    ] {
        let protocol = protocol.unwrap();
        let matrix = protocol.to_matrix().unwrap();
        let mut told = 0.0;
        for row in matrix.rows() {
            let mean: f64 = row.iter().zip(alpha).map(|(q, alpha)| q * alpha / total).sum();
            told += row.iter().zip(alpha).map(|(q, alpha)| alpha / total * x_ln_ratio(*q, mean)).sum::<f64>();
        }
        let analysis = Analysis::new(&protocol, &prior).unwrap();
        let number = |metric| analysis.answer(metric, None).number().unwrap().value;
        let leakage = (1.0 - number(Metric::AveragePrivacy)) * number(Metric::UserEntropy);
        let options = InformationOptions::default();
        let tally = tally_information(&protocol, &prior, 1, &options).unwrap();
        check(tally.value, told, 1e-12, protocol.kind());
        let distribution = distribution_information(&protocol, &prior, 1, &options).unwrap();
        check(distribution.value, told - leakage, 1e-10, protocol.kind());
    }
}

fn x_ln_ratio(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * (x / y).ln() }
}

/// Between 300 and 5,000 users `I(Y;T)` grows by nearly the limiting share of the growth of `H(T)`:
/// `(a + b' − 2)/(2(a − 1))` for `b'` blocks. The standard error of the share is about 0.012: five of them
/// are allowed.
#[test]
fn blocks_show_in_the_tallies() {
    let (grr, prior) = (Protocol::grr(4, 3.0).unwrap(), Prior::symmetric(4, 5.0).unwrap());
    let rows = vec![
        vec![0.8, 0.1, 0.0, 0.0],
        vec![0.2, 0.9, 0.0, 0.0],
        vec![0.0, 0.0, 0.9, 0.2],
        vec![0.0, 0.0, 0.1, 0.8],
    ];
    let options = InformationOptions { tolerance: 0.05, ..InformationOptions::default() };
    for (protocol, limit) in [(grr, 0.5), (Protocol::matrix(rows).unwrap(), 2.0 / 3.0)] {
        let at = |n: u64| {
            let told = tally_information(&protocol, &prior, n, &options).unwrap();
            (told.value, users_side_of(&prior, n, &options).unwrap().tally().value)
        };
        let ((few, few_true), (many, many_true)) = (at(300), at(5000));
        let share = (many - few) / (many_true - few_true);
        assert!((share - limit).abs() < 0.06, "{} {share} {limit}", protocol.kind());
    }
}

#[test]
fn a_protocol_that_ignores_its_input_tells_nothing() {
    let constant = Protocol::matrix(vec![vec![0.3; 3], vec![0.7; 3]]).unwrap();
    let prior = Prior::jeffreys(3).unwrap();
    assert_eq!(
        distribution_information(&constant, &prior, 1000, &InformationOptions::default()).unwrap().value,
        0.0
    );
    assert_eq!(
        tally_information(&constant, &prior, 1000, &InformationOptions::default()).unwrap().value,
        0.0
    );
}

#[test]
fn non_faithful_protocols_approach_their_limit() {
    // Reports reveal only which pair a value belongs to: (d−1)/(a−1) = 1/3, approached with more users.
    let (protocol, prior) =
        (Protocol::deterministic(vec![0, 1, 0, 1]).unwrap(), Prior::symmetric(4, 2.0).unwrap());
    let utility = |n: u64| {
        let users = users_side_of(&prior, n, &InformationOptions::default()).unwrap();
        let learned = distribution_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
        distribution_utility(learned, users.distribution).value
    };
    let [few, more, most] = [100, 10_000, 100_000_000].map(|n| (utility(n) - 1.0 / 3.0).abs());
    assert!(most < more && more < few && most < 0.02, "{few} {more} {most}");
}

#[test]
fn a_mixture_of_one_prior_with_itself_changes_nothing() {
    let part = Dirichlet::new(vec![0.5, 0.8, 1.5]).unwrap();
    let alone = Prior::Dirichlet(part.clone());
    let twice =
        Prior::DirichletMixture(DirichletMixture::new(vec![0.4, 0.6], vec![part.clone(), part]).unwrap());
    for protocol in
        [Protocol::grr(3, 1.5).unwrap(), Protocol::rappor(3, 1.0).unwrap(), Protocol::identity(3).unwrap()]
    {
        for question in [distribution_information, tally_information] {
            let [one, two] = [&alone, &twice]
                .map(|prior| question(&protocol, prior, 6, &InformationOptions::default()).unwrap());
            check(two.value, one.value, 1e-11, protocol.kind());
        }
    }
    let [one, two] =
        [&alone, &twice].map(|prior| users_side_of(prior, 9, &InformationOptions::default()).unwrap());
    check(two.total().value, one.total().value, 1e-12, "H(X)");
}

#[test]
fn points_are_told_apart_eventually() {
    let points = vec![vec![0.2, 0.8], vec![0.6, 0.4]];
    let prior = Prior::Points(Points::new(vec![0.25, 0.75], points).unwrap());
    let entropy = -(0.25f64 * 0.25f64.ln() + 0.75 * 0.75f64.ln());
    let protocol = Protocol::grr(2, 2.0).unwrap();
    let found = distribution_information(&protocol, &prior, 2000, &InformationOptions::default()).unwrap();
    check(found.value, entropy, 1e-9, "I(Y;P) of two points");
}

/// A random protocol and prior that are small enough for an exact sum.
fn random_case(rng: &mut ChaCha8Rng, number: usize) -> (Protocol, Prior, u64) {
    let a = rng.random_range(2..5usize);
    let epsilon = 0.5 + 2.5 * rng.random::<f64>();
    let column = |rng: &mut ChaCha8Rng, b: usize| {
        let weights: Vec<f64> = (0..b).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect::<Vec<f64>>()
    };
    let mut matrix = |b: usize| {
        let columns: Vec<Vec<f64>> = (0..a).map(|_| column(rng, b)).collect();
        Protocol::matrix((0..b).map(|y| columns.iter().map(|c| c[y]).collect()).collect())
    };
    let protocol = match number % 12 {
        0 => Protocol::grr(a, epsilon),
        1 => matrix(3),
        2 => Protocol::rappor(3, epsilon),
        3 => Protocol::oue(3, epsilon),
        4 => Protocol::lh(3, 3, epsilon),
        5 => Protocol::subset(a, 1, epsilon),
        6 => Protocol::erasure(a, 0.5),
        7 => Protocol::deterministic((0..a).map(|x| x % 2).collect()),
        8 => Protocol::composition(vec![
            Protocol::grr(a, epsilon).unwrap(),
            Protocol::erasure(a, 0.7).unwrap(),
        ]),
        9 => Protocol::product(vec![Protocol::grr(2, epsilon).unwrap(), Protocol::grr(2, 0.5).unwrap()]),
        10 => Protocol::mixture(vec![0.5, 0.5], vec![Protocol::grr(a, epsilon).unwrap(), matrix(2).unwrap()]),
        _ => Protocol::identity(a),
    }
    .unwrap();
    let a = protocol.inputs();
    let alpha = if rng.random::<bool>() {
        vec![0.5; a]
    } else {
        (0..a).map(|_| 0.2 + 2.0 * rng.random::<f64>()).collect()
    };
    let n = rng.random_range(2..12);
    (protocol, Prior::dirichlet(alpha).unwrap(), n)
}

#[test]
fn monte_carlo_intervals_cover_the_exact_values() {
    intervals_cover(false);
}

#[test]
fn monte_carlo_intervals_of_tallies_cover_the_exact_values() {
    intervals_cover(true);
}

/// Coverage of the intervals of `I(Y⃗;P)`, or of `I(Y⃗;T)`.
fn intervals_cover(tally: bool) {
    // 95 % intervals: of 72 cases (all kinds of protocols six times) between 62 and 72 cover, except with
    // probability 1e-3 (binomial). The short run has 12 cases, of which at least 9 cover except with
    // probability 3e-3; seeds are fixed.
    let full = std::env::var("SOTTOVOCE_FULL").is_ok();
    let (cases, draws) = if full { (72, 1024) } else { (12, 64) };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let question = if tally { tally_information } else { distribution_information };
    let (mut covered, mut squares) = (0, 0.0);
    for number in 0..cases {
        let (protocol, prior, n) = random_case(&mut rng, number);
        let exact = question(&protocol, &prior, n, &InformationOptions::default()).unwrap();
        let options = InformationOptions {
            choice: Choice::MonteCarlo,
            draws,
            // Out of reach, so that all draws are made; for tallies it also determines the number of walks
            // per draw.
            tolerance: if tally { 1e-3 } else { 1e-9 },
            seed: number as u64,
            ..InformationOptions::default()
        };
        let found = question(&protocol, &prior, n, &options).unwrap();
        assert!(exact.method != Method::MonteCarlo && found.method == Method::MonteCarlo);
        // For a deterministic protocol nothing is random given the tally.
        let z = (found.value - exact.value) / (found.error + 1e-12);
        covered += usize::from(z.abs() < 1.96);
        squares += z * z;
        println!(
            "{} {} n = {n}: {:.4} ± {:.4}, exactly {:.4}, z = {z:.2}",
            if tally { "I(Y;T)" } else { "I(Y;P)" },
            protocol.kind(),
            found.value,
            found.error,
            exact.value
        );
    }
    println!(
        "tally {tally}: {covered} of {cases} intervals cover; mean square of z {:.2}",
        squares / cases as f64
    );
    assert!(covered >= if full { 62 } else { 9 }, "{covered} of {cases}");
}

#[test]
fn monte_carlo_of_tallies_covers_the_exact_values() {
    // GRR; off by 4 standard errors with probability 6e-5 for each of these seeds.
    for (a, epsilon, n) in [(2, 1.0, 40), (3, 2.0, 20), (4, 0.5, 9)] {
        let (protocol, prior) = (Protocol::grr(a, epsilon).unwrap(), Prior::jeffreys(a).unwrap());
        let exact = tally_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
        let options = InformationOptions {
            choice: Choice::MonteCarlo,
            tolerance: 5e-3,
            ..InformationOptions::default()
        };
        let found = tally_information(&protocol, &prior, n, &options).unwrap();
        assert!((found.value - exact.value).abs() < 4.0 * found.error, "{found:?} {exact:?}");
    }
}

#[test]
fn a_group_tells_more_than_its_distribution_and_less_than_it_knows() {
    // Beyond enumeration: 0 ≤ I(Y;T|P) ≤ H(T|P), and more privacy means less information. Four standard
    // errors with fixed seeds.
    let prior = Prior::jeffreys(6).unwrap();
    let n = 300;
    let users = users_side_of(&prior, n, &InformationOptions::default()).unwrap();
    let mut before = users.group.value;
    for epsilon in [4.0, 2.0, 0.5] {
        let protocol = Protocol::oue(6, epsilon).unwrap();
        // With the distribution taken as known, only the information about the group is left.
        let distribution = Some(Evaluation::new(0.0, 0.0, Method::ClosedForm));
        let options = InformationOptions { tolerance: 0.05, distribution, ..InformationOptions::default() };
        let group = tally_information(&protocol, &prior, n, &options).unwrap();
        assert_eq!(group.method, Method::MonteCarlo);
        assert!(group.value > -4.0 * group.error, "{epsilon}: {group:?}");
        assert!(group.value < before + 4.0 * group.error, "{epsilon}: {group:?} {before}");
        before = group.value;
    }
}

#[test]
fn the_number_of_threads_does_not_change_tallies() {
    let (protocol, prior) = (Protocol::oue(5, 1.0).unwrap(), Prior::jeffreys(5).unwrap());
    let options = InformationOptions { draws: 32, tolerance: 1e-3, ..InformationOptions::default() };
    let found = || tally_information(&protocol, &prior, 50, &options).unwrap();
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(found(), single.install(found));
}

#[test]
fn large_problems_reach_their_tolerance() {
    // Prints the times; minutes on two cores, so only in the full run.
    if std::env::var("SOTTOVOCE_FULL").is_err() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(84);
    let columns: Vec<Vec<f64>> = (0..4)
        .map(|_| {
            let weights: Vec<f64> = (0..8).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|w| w / total).collect()
        })
        .collect();
    let matrix = (0..8).map(|y| columns.iter().map(|c| c[y]).collect()).collect();
    let cases = [
        (Protocol::grr(16, 2.0), 10_000, 0.02),
        (Protocol::grr(128, 2.0), 100_000, 0.2),
        (Protocol::oue(16, 1.0), 10_000, 0.05),
        (Protocol::matrix(matrix), 1_000_000, 0.02),
        (Protocol::lh(64, 4, 1.0), 10_000, 0.1),
    ];
    for (protocol, n, tolerance) in cases {
        let protocol = protocol.unwrap();
        let prior = Prior::jeffreys(protocol.inputs()).unwrap();
        let start = std::time::Instant::now();
        let found = distribution_information(
            &protocol,
            &prior,
            n,
            &InformationOptions { tolerance, ..InformationOptions::default() },
        )
        .unwrap();
        println!(
            "{} a = {}, n = {n}: {found:?} in {:?}",
            protocol.kind(),
            protocol.inputs(),
            start.elapsed()
        );
        assert!(found.error <= tolerance);
    }
}

/// With hundreds of outputs and few users the tables of tallies are small, but intermediate binomial
/// coefficients need not be. One report carries the information `I(X;Y) − I(X;Y|P)` about `P`, where under a
/// symmetric prior `X` is uniform.
#[test]
fn one_report_of_many_outputs_is_counted_exactly() {
    let (a, k, epsilon) = (12, 4, 1.0f64);
    let (protocol, prior) = (Protocol::subset(a, k, epsilon).unwrap(), Prior::jeffreys(a).unwrap());
    let analysis = Analysis::new(&protocol, &prior).unwrap();
    let value = |metric: Metric, n: Option<u64>| analysis.answer(metric, n).number().unwrap().value;
    // Sets of 4 out of 12; of these, C(11, 3) contain a given value and C(11, 4) do not.
    let (all, with, without) = (495f64, 165f64, 330f64);
    let held = with * epsilon.exp() / (with * epsilon.exp() + without);
    let given_x = -held * (held / with).ln() - (1.0 - held) * ((1.0 - held) / without).ln();
    let given_p = (1.0 - value(Metric::AveragePrivacy, None)) * value(Metric::UserEntropy, None);
    let expected = all.ln() - given_x - given_p;
    let found = value(Metric::AggregatorDistribution, Some(1));
    assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
}

/// A single report of unary encoding by Monte Carlo: it may have no bit set, which is as if nobody had reported a pattern. Within 4 standard
/// errors of the closed form (false alarm 6e-5, fixed seed).
#[test]
fn one_report_by_monte_carlo() {
    let (protocol, prior) = (Protocol::oue(16, 2.0).unwrap(), Prior::jeffreys(16).unwrap());
    let options =
        InformationOptions { choice: Choice::MonteCarlo, tolerance: 0.002, ..InformationOptions::default() };
    let sampled = distribution_information(&protocol, &prior, 1, &options).unwrap();
    let settings = sottovoce::metric::Settings { choice: Choice::Automatic, ..Default::default() };
    let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap();
    let exact = analysis.answer(Metric::AggregatorDistribution, Some(1)).number().unwrap();
    assert!(exact.error < 1e-9, "{exact:?}");
    assert!((sampled.value - exact.value).abs() < 4.0 * sampled.error, "{sampled:?} {exact:?}");
}
