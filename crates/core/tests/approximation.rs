//! The bridged approximation of `I(Y⃗;P)` against exact and sampled values.
//!
//! `golden/approximation.csv` has 180 random cases of all kinds: 120 to which the stated error was fitted, and 60
//! others. `cargo xtask calibrate` computes the values that the file lacks, all of them if it is deleted: exact where
//! that takes seconds, by Monte Carlo otherwise.

use std::collections::HashMap;
use std::fmt::Write as _;

use sottovoce::information::{Choice, InformationOptions, distribution_information};
use sottovoce::metric::Settings;
use sottovoce::{Analysis, Evaluation, Metric, Prior, Protocol};

/// Where the values are.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/approximation.csv");

/// Cases that the error was fitted to, and others.
const CASES: [(&str, usize); 2] = [("fitted", 120), ("other", 60)];

/// One case.
#[derive(Clone, Debug)]
struct Case {
    set: &'static str,
    kind: &'static str,
    a: usize,
    /// Hash range, subset size, or number of outputs of a matrix.
    size: usize,
    epsilon: f64,
    /// The parameters of the prior run from `alpha / √spread` to `alpha √spread`.
    alpha: f64,
    spread: f64,
    n: u64,
}

impl Case {
    fn protocol(&self) -> Protocol {
        let Case { a, size, epsilon, .. } = *self;
        match self.kind {
            "grr" => Protocol::grr(a, epsilon),
            "oue" => Protocol::oue(a, epsilon),
            "rappor" => Protocol::rappor(a, epsilon),
            "lh" => Protocol::lh(a, size, epsilon),
            "subset" => Protocol::subset(a, size, epsilon),
            "mixture" => {
                let parts =
                    vec![Protocol::grr(a, epsilon).unwrap(), Protocol::subset(a, size, epsilon).unwrap()];
                Protocol::mixture(vec![0.4, 0.6], parts)
            }
            _ => Protocol::matrix(self.rows()),
        }
        .unwrap()
    }

    /// A matrix whose entries within a row differ by at most `e^ε` before columns are normalised.
    fn rows(&self) -> Vec<Vec<f64>> {
        let mut random = Random(self.n ^ (self.a as u64) << 40);
        let mut rows: Vec<Vec<f64>> = (0..self.size)
            .map(|_| (0..self.a).map(|_| (self.epsilon * random.uniform()).exp()).collect())
            .collect();
        for x in 0..self.a {
            let total: f64 = rows.iter().map(|row| row[x]).sum();
            rows.iter_mut().for_each(|row| row[x] /= total);
        }
        rows
    }

    fn prior(&self) -> Prior {
        let place = |x: usize| x as f64 / (self.a as f64 - 1.0) - 0.5;
        Prior::dirichlet((0..self.a).map(|x| self.alpha * self.spread.powf(place(x))).collect()).unwrap()
    }

    fn columns(&self) -> String {
        let Case { set, kind, a, size, epsilon, alpha, spread, n } = self;
        format!("{set},{kind},{a},{size},{epsilon},{alpha},{spread},{n}")
    }

    /// The exact or sampled value.
    fn reference(&self) -> Evaluation {
        let tolerance = 0.012 * ((self.a as f64 - 1.0).sqrt() / 3.0).max(1.0);
        let options =
            InformationOptions { choice: Choice::Automatic, tolerance, seed: 11, ..Default::default() };
        distribution_information(&self.protocol(), &self.prior(), self.n, &options).unwrap()
    }

    fn approximation(&self) -> Evaluation {
        let (protocol, prior) = (self.protocol(), self.prior());
        let settings = Settings { choice: Choice::Approximation, ..Settings::default() };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap();
        analysis.answer(Metric::AggregatorDistribution, Some(self.n)).number().unwrap()
    }
}

/// The mixing function of SplitMix64, as a source of cases.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }
}

/// All cases, the same each time.
fn cases() -> Vec<Case> {
    let mut random = Random(20_261_118);
    let mut cases = Vec::new();
    for (set, count) in CASES {
        for _ in 0..count {
            let kind = random
                .pick(&["grr", "grr", "oue", "oue", "rappor", "lh", "subset", "subset", "mixture", "matrix"]);
            let small = matches!(kind, "mixture" | "matrix");
            let a = if small {
                random.pick(&[3, 4, 6, 8])
            } else {
                random.pick(&[3, 4, 6, 8, 12, 16, 24, 32, 64])
            };
            let size = match kind {
                "lh" => random.pick(&[2, 3, 4, 6]),
                "subset" => 1 + (random.next() % (a as u64 / 3).max(1)) as usize,
                "mixture" => 2,
                "matrix" => a + random.pick(&[0, 2, 4]),
                _ => 0,
            };
            let epsilon = random.pick(&[0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]);
            let alpha = random.pick(&[0.1, 0.2, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 2.0, 5.0]);
            let spread = random.pick(&[1.0, 1.0, 4.0]);
            let n = 10f64.powf(0.5 + 4.5 * random.uniform());
            let most = if kind == "grr" { f64::INFINITY } else { 1e6 / a as f64 };
            cases.push(Case { set, kind, a, size, epsilon, alpha, spread, n: n.min(most) as u64 });
        }
    }
    cases
}

/// The values that are known, by the columns of their case.
fn values() -> HashMap<String, (Evaluation, String)> {
    let text = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    let value = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let value = Evaluation::new(number(8), number(9), sottovoce::Method::MonteCarlo);
        (fields[..8].join(","), (value, line.to_owned()))
    };
    text.lines().skip(1).map(value).collect()
}

/// The cases with their values.
fn known() -> Vec<(Case, Evaluation)> {
    let values = values();
    let find = |case: Case| {
        let columns = case.columns();
        let found = values.get(&columns);
        let (value, _) = found.unwrap_or_else(|| panic!("no value for {columns}: cargo xtask calibrate"));
        (case, *value)
    };
    cases().into_iter().map(find).collect()
}

/// Computes the values that the file does not have, if asked to.
#[test]
fn calibrate() {
    if std::env::var("SOTTOVOCE_CALIBRATE").is_err() {
        return;
    }
    let known = values();
    let mut text = String::from("set,kind,a,size,epsilon,alpha,spread,n,value,error,method\n");
    for case in cases() {
        let columns = case.columns();
        if let Some((_, line)) = known.get(&columns) {
            writeln!(text, "{line}").unwrap();
            continue;
        }
        let found = case.reference();
        writeln!(text, "{columns},{},{},{}", found.value, found.error, found.method).unwrap();
        println!("{columns} {found:?} {:?}", case.approximation());
    }
    std::fs::write(GOLDEN, &text).unwrap();
}

/// The stated error covers at least 95 % of the cases in each set. A sampled value adds 1.96 of its standard errors,
/// in quadrature.
#[test]
fn the_stated_error_covers_nineteen_cases_in_twenty() {
    let known = known();
    for (set, count) in CASES {
        let off = |(case, value): &(Case, Evaluation)| {
            let found = case.approximation();
            let outside = (found.value - value.value).abs() > found.error.hypot(1.96 * value.error);
            outside.then(|| {
                format!(
                    "{}: {} ± {}, {} ± {}",
                    case.columns(),
                    found.value,
                    found.error,
                    value.value,
                    value.error
                )
            })
        };
        let outside: Vec<String> = known.iter().filter(|(case, _)| case.set == set).filter_map(off).collect();
        println!("{set}: {} of {count} outside\n{}", outside.len(), outside.join("\n"));
        assert!(
            outside.len() * 20 <= count,
            "{set}: {} of {count} outside\n{}",
            outside.len(),
            outside.join("\n")
        );
    }
}

/// The page that quotes the table of errors.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy-and-speed.md");

/// Cases by kind, number of values, number of users and parameter of the prior.
fn groups(case: &Case) -> [String; 4] {
    let between = |value: f64, name: &str, bounds: [f64; 2]| match value {
        v if v < bounds[0] => format!("{name} < {}", bounds[0]),
        v if v <= bounds[1] => format!("{} ≤ {name} ≤ {}", bounds[0], bounds[1]),
        _ => format!("{name} > {}", bounds[1]),
    };
    [
        case.kind.to_owned(),
        between(case.a as f64, "a", [6.0, 16.0]),
        between(case.n as f64, "n", [100.0, 5000.0]),
        between(case.alpha, "alpha", [0.5, 1.0]),
    ]
}

/// The largest errors in nats, as lines of a table: for each group its cases, those that the stated error covers, the root mean square
/// and the largest difference from the value, and the median of the stated error.
fn table(known: &[(Case, Evaluation)]) -> String {
    let found: Vec<(&Case, f64, bool, f64)> = known
        .iter()
        .map(|(case, value)| {
            let found = case.approximation();
            let off = (found.value - value.value).abs();
            (case, off, off <= found.error.hypot(1.96 * value.error), found.error)
        })
        .collect();
    let mut text = String::from(
        "| cases | number | covered | rms | largest | stated (median) |\n|---|---|---|---|---|---|\n",
    );
    for column in 0..4 {
        let mut names: Vec<String> = found.iter().map(|(case, ..)| groups(case)[column].clone()).collect();
        names.sort_by_key(|name| (name.contains('>'), !name.contains(" < "), name.clone()));
        names.dedup();
        for name in names {
            let group: Vec<_> = found.iter().filter(|(case, ..)| groups(case)[column] == name).collect();
            let count = group.len() as f64;
            let covered = group.iter().filter(|(_, _, covered, _)| *covered).count();
            let rms = (group.iter().map(|(_, off, ..)| off * off).sum::<f64>() / count).sqrt();
            let largest = group.iter().map(|(_, off, ..)| *off).fold(0.0, f64::max);
            let mut stated: Vec<f64> = group.iter().map(|(.., stated)| *stated).collect();
            stated.sort_by(f64::total_cmp);
            let median = stated[stated.len() / 2];
            writeln!(text, "| {name} | {count} | {covered} | {rms:.3} | {largest:.2} | {median:.3} |")
                .unwrap();
        }
    }
    text
}

/// The book quotes the table. `SOTTOVOCE_UPDATE_DOCS=1` writes it there.
#[test]
fn the_book_has_the_table_of_errors() {
    let Ok(page) = std::fs::read_to_string(PAGE) else { return };
    let [begin, end] = ["<!-- approximation -->\n", "<!-- /approximation -->"];
    let (before, rest) = page.split_once(begin).unwrap();
    let (quoted, after) = rest.split_once(end).unwrap();
    let table = table(&known());
    if std::env::var("SOTTOVOCE_UPDATE_DOCS").is_ok() {
        std::fs::write(PAGE, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(quoted, table);
    }
}

/// The cases for which the formula was first tried: randomised response within 0.05 nats for 16 values and more,
/// unary encoding within 0.05 √(a−1). Values with their standard errors, by long Monte Carlo runs.
#[test]
fn the_first_cases_are_close() {
    let grr = |a: usize, epsilon: f64| Protocol::grr(a, epsilon).unwrap();
    let cases = [
        (grr(16, 2.0), 0.5, 1_000, 12.8045, 0.012),
        (grr(16, 2.0), 0.5, 10_000, 25.728, 0.012),
        (grr(16, 1.0), 0.5, 1_000, 4.451, 0.008),
        (grr(16, 1.0), 0.5, 10_000, 13.651, 0.014),
        (grr(16, 1.0), 0.5, 100_000, 26.552, 0.013),
        (grr(64, 2.0), 0.5, 10_000, 29.800, 0.010),
        (grr(64, 2.0), 0.5, 100_000, 74.574, 0.009),
        (Protocol::oue(16, 2.0).unwrap(), 0.5, 1_000, 12.948, 0.051),
        (Protocol::oue(16, 2.0).unwrap(), 0.5, 10_000, 25.841, 0.058),
        (Protocol::oue(16, 1.0).unwrap(), 1.0, 1_000, 4.779, 0.058),
        (Protocol::oue(16, 1.0).unwrap(), 1.0, 10_000, 15.250, 0.059),
        (Protocol::rappor(8, 1.0).unwrap(), 0.5, 300, 3.276, 0.037),
        (Protocol::rappor(8, 1.0).unwrap(), 0.5, 3_000, 8.213, 0.035),
    ];
    for (protocol, alpha, n, value, error) in cases {
        let a = protocol.inputs();
        let prior = Prior::symmetric(a, alpha).unwrap();
        let settings = Settings { choice: Choice::Approximation, ..Settings::default() };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap();
        let found = analysis.answer(Metric::AggregatorDistribution, Some(n)).number().unwrap();
        let most = if protocol.kind() == "grr" { 0.05 } else { 0.05 * (a as f64 - 1.0).sqrt() };
        let off = (found.value - value).abs();
        assert!(off < most + 2.0 * error, "{} {a} {n}: {found:?} {value}", protocol.kind());
    }
}
