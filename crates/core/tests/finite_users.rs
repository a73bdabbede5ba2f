//! The finite-n quantities against 30-digit values, literal sums and each other.

use sottovoce::information::{Options, distribution_information, tally_information, users_side};
use sottovoce::prior::Dirichlet;
use sottovoce::{Prior, Protocol};

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
    let off = (found - expected).abs() / expected.abs().max(1e-6);
    assert!(off < tolerance, "{what}: {found:e}, expected {expected:e}, off by {off:e}");
}

#[test]
fn finite_values_agree_with_the_reference() {
    for case in cases() {
        let (prior, options) = (case.prior(), Options::default());
        let users = users_side(&case.dirichlet, case.n);
        for (name, expected) in &case.values {
            let found = match name.as_str() {
                "i_x_p" => users.distribution.value,
                "h_t" => users.tally().value,
                "h_t_given_p" => users.group.value,
                "h_x_given_t" => users.individual.value,
                "i_y_p" => distribution_information(&case.protocol, &prior, case.n, &options).unwrap().value,
                "i_y_t" => tally_information(&case.protocol, &prior, case.n, &options).unwrap().value,
                _ => continue,
            };
            if *expected != 0.0 {
                check(found, *expected, 1e-9, &format!("{name} of {}", case.line));
            }
        }
    }
}
