//! The constant `s_μ` of `I(Y⃗;T)`, against exact values at growing numbers of users.

use sottovoce::information::Choice;
use sottovoce::metric::{Settings, group_information_limit, growth_constant, tally_constant};
use sottovoce::{Analysis, Metric, Prior, Protocol};

/// An exact value at `n` users.
fn exact(protocol: &Protocol, prior: &Prior, metric: Metric, n: u64) -> f64 {
    let settings = Settings { choice: Choice::Exact, ..Settings::default() };
    let analysis = Analysis::with_settings(protocol, prior, settings).unwrap();
    let answer = analysis.answer(metric, Some(n));
    answer.number().unwrap_or_else(|| panic!("{} {n}: {answer:?}", protocol.kind())).value
}

fn matrix(rows: &[&[f64]]) -> Protocol {
    Protocol::matrix(rows.iter().map(|row| row.to_vec()).collect()).unwrap()
}

/// Two classes of outputs, of two inputs each.
fn two_classes() -> Protocol {
    matrix(&[&[0.8, 0.3, 0.0, 0.0], &[0.2, 0.7, 0.0, 0.0], &[0.0, 0.0, 0.6, 0.1], &[0.0, 0.0, 0.4, 0.9]])
}

/// `I(Y⃗;T) − I(Y⃗;P) − (b'−1)/2 ln n` approaches `s_μ − r_μ`, for ten protocols, two of them with several classes: at
/// twice the users the rest is at most 0.75 of what it was. (`I(Y⃗;P)` itself approaches `r_μ` slowly; see below.)
#[test]
fn exact_information_about_tallies_approaches_the_constant() {
    let cases: [(Protocol, [u64; 3]); 10] = [
        (Protocol::grr(2, 1.0).unwrap(), [100, 200, 400]),
        (Protocol::grr(2, 3.0).unwrap(), [100, 200, 400]),
        (Protocol::oue(2, 2.0).unwrap(), [10, 20, 40]),
        (Protocol::grr(3, 2.0).unwrap(), [10, 20, 40]),
        (Protocol::erasure(2, 0.6).unwrap(), [10, 20, 40]),
        (Protocol::ue(2, 0.7, 0.0).unwrap(), [10, 20, 40]),
        (Protocol::subset(3, 2, 1.5).unwrap(), [10, 20, 40]),
        (matrix(&[&[0.6, 0.2, 0.1], &[0.3, 0.5, 0.3], &[0.1, 0.3, 0.6]]), [10, 20, 40]),
        // Two and three classes.
        (two_classes(), [4, 8, 16]),
        (Protocol::identity(3).unwrap(), [50, 100, 200]),
    ];
    for (protocol, users) in cases {
        let prior = Prior::symmetric(protocol.inputs(), 3.0).unwrap();
        let settings = Settings::default();
        let constant = tally_constant(&protocol, &prior, &settings).unwrap();
        let beyond = constant.plus(growth_constant(&protocol, &prior, &settings).unwrap().times(-1.0));
        let classes = protocol.classes().unwrap() as f64;
        let rest = |n: u64| {
            let [tally, distribution] = [Metric::AggregatorTally, Metric::AggregatorDistribution]
                .map(|metric| exact(&protocol, &prior, metric, n));
            tally - distribution - 0.5 * (classes - 1.0) * (n as f64).ln() - beyond.value
        };
        let [few, more, most] = users.map(rest);
        println!("{} {few:.6} {more:.6} {most:.6}, error {:.1e}", protocol.kind(), constant.error);
        let shrinks = |early: f64, late: f64| late.abs() <= 0.75 * early.abs() + beyond.error + 1e-9;
        assert!(shrinks(few, more) && shrinks(more, most), "{}: {few} {more} {most}", protocol.kind());
    }
}

/// `I(Y⃗;T) − ½ ln n` of two values, up to 10⁵ users: what is left of it beyond `s_μ` falls like `1/n`.
#[test]
fn two_values_reach_the_whole_constant() {
    for (epsilon, alpha) in [(1.0, 3.0), (3.0, 3.0), (2.0, 2.0)] {
        let (protocol, prior) = (Protocol::grr(2, epsilon).unwrap(), Prior::symmetric(2, alpha).unwrap());
        let constant = tally_constant(&protocol, &prior, &Settings::default()).unwrap();
        let rest = |n: u64| {
            exact(&protocol, &prior, Metric::AggregatorTally, n) - 0.5 * (n as f64).ln() - constant.value
        };
        let [few, more, most] = [1_000, 10_000, 100_000].map(rest);
        println!("{epsilon} {alpha}: {few:.6} {more:.6} {most:.6}");
        assert!(few > 5.0 * more && more > 5.0 * most && most > 0.0 && most < 5e-4, "{few} {more} {most}");
    }
}

/// `I(Y⃗;T|P)` reaches its limit with few users, also under the Jeffreys prior: the difference is at most
/// `(4 + a/4)/n` of that at one user and of a quarter of the limit, which the approximation of `I(Y⃗;T)` states as its error.
#[test]
fn what_reports_tell_beyond_the_distribution_reaches_its_limit_with_few_users() {
    let cases: [(Protocol, &[u64]); 7] = [
        (Protocol::grr(2, 1.0).unwrap(), &[3, 10, 100]),
        (Protocol::grr(2, 4.0).unwrap(), &[3, 10, 100]),
        (Protocol::grr(3, 2.0).unwrap(), &[3, 10, 30]),
        (Protocol::oue(2, 3.0).unwrap(), &[3, 10, 30]),
        (Protocol::oue(3, 2.0).unwrap(), &[3, 6]),
        (Protocol::erasure(3, 0.5).unwrap(), &[3, 10]),
        (Protocol::subset(4, 2, 2.0).unwrap(), &[3, 6]),
    ];
    for (protocol, users) in cases {
        let a = protocol.inputs();
        for prior in [Prior::jeffreys(a).unwrap(), Prior::symmetric(a, 2.0).unwrap()] {
            let limit = group_information_limit(&protocol, &prior, &Settings::default()).unwrap();
            let one = exact(&protocol, &prior, Metric::AggregatorGroup, 1);
            for &n in users {
                let off = exact(&protocol, &prior, Metric::AggregatorGroup, n) - limit.value;
                let allowed = ((limit.value - one).abs() + 0.25 * limit.value)
                    * ((4.0 + 0.25 * a as f64) / n as f64).min(1.0);
                println!("{} {n}: off {off:.5}, allowed {allowed:.5}", protocol.kind());
                assert!(
                    off.abs() <= allowed + limit.error + 1e-9,
                    "{} {n}: {off} {allowed}",
                    protocol.kind()
                );
            }
        }
    }
}

/// Reports of several classes tell the number of users in each class exactly, so there is no limit.
#[test]
fn classes_have_no_limit() {
    let (protocol, prior) = (two_classes(), Prior::jeffreys(4).unwrap());
    let limit = group_information_limit(&protocol, &prior, &Settings::default()).unwrap();
    assert_eq!(limit.value, f64::INFINITY);
}

/// Randomised response on many values, by one-dimensional integrals, against the same numbers by random points: within
/// four standard errors (false alarm 6e-5 each).
#[test]
fn many_values_agree_with_random_points() {
    for (a, epsilon, alpha) in [(2000usize, 1.0, 0.5), (3000, 1.5, 2.0)] {
        let prior = Prior::symmetric(a, alpha).unwrap();
        let found =
            group_information_limit(&Protocol::grr(a, epsilon).unwrap(), &prior, &Settings::default());
        let same = Protocol::subset(a, 1, epsilon).unwrap();
        let sampled = group_information_limit(&same, &prior, &Settings::default()).unwrap();
        let found = found.unwrap();
        let off = (found.value - sampled.value).abs();
        assert!(off <= found.error + 4.0 * sampled.error + 1e-9, "{a}: {found:?} {sampled:?}");
    }
}
