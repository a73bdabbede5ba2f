//! A standing adversary: independent methods against which the library's answers are held.
//!
//! The methods in `adversary/` are code of their own. They share nothing with the library but the protocol's matrix (for unary encodings and hashes of more than seven values not even this, but the bits'
//! probabilities), and they are proven here against literal sums and against each other. What they found for named and random cases stands in
//! `golden/adversary.txt`; the library is compared with it.
//!
//! # False alarms
//! Each value must be within four combined standard errors. All seeds are fixed, so a test that passes goes on passing until a value changes; then about 300 values that
//! are compared make a false alarm in one of fifty changes, more for errors from few draws. The bounds of the rates have probabilities below one in a thousand.

#![allow(missing_docs)]

mod adversary {
    pub mod enumeration;
    pub mod importance;
    pub mod method;
    pub mod model;
    pub mod named_cases;
    pub mod particle_filter;
    pub mod quadrature;
    pub mod random_cases;
    pub mod reference;
    pub mod tempering;
}

use adversary::method::Method;
use adversary::model::{Collection, Mixture, Reports, Source};
use adversary::particle_filter::{Effort, Estimate, stream};
use adversary::reference::{Case, Data, Reference, Value, references};
use adversary::{enumeration, importance, named_cases, particle_filter, quadrature, random_cases, tempering};
use sottovoce::{Evaluation, information, posterior};

/// All cases, each with the independent method that answers it.
fn cases() -> Vec<(Case, Method)> {
    [named_cases::cases(), random_cases::cases()].concat()
}

/// Prints the lines that `golden/adversary.txt` lacks: take lines away and run this to make them anew.
#[test]
#[ignore = "half an hour for all lines"]
fn print_missing_references() {
    let known: Vec<String> = references().into_iter().map(|r| r.case.name).collect();
    for (case, method) in cases().into_iter().filter(|(case, _)| !known.contains(&case.name)) {
        println!("{}", method.answer(&case).line());
    }
}

/// A file that is older than the cases, or was edited, would compare the library with answers to other questions.
#[test]
fn the_references_are_those_of_the_cases() {
    let references = references();
    let cases = cases();
    assert_eq!(references.len(), cases.len());
    for (reference, (case, _)) in references.iter().zip(&cases) {
        let line =
            |case: &Case| Reference { case: case.clone(), values: Vec::new(), method: String::new() }.line();
        assert_eq!(line(&reference.case), line(case));
    }
}

// The methods themselves.

fn source(words: &str) -> Source {
    let prior = Mixture::single(Vec::new());
    Case { name: String::new(), words: words.to_owned(), prior, data: Data::Users(0) }.source()
}

/// Priors for three values: sparse, ordinary, sure, and two far parts.
fn priors() -> [Mixture; 4] {
    let single = |alpha: &[f64]| Mixture::single(alpha.to_vec());
    let parts = vec![vec![160.0, 20.0, 20.0], vec![20.0, 160.0, 20.0]];
    let far = Mixture { weights: vec![0.9, 0.1], parts };
    [single(&[0.05, 0.3, 0.1]), single(&[0.5; 3]), single(&[40.0, 3.0, 200.0]), far]
}

/// Whether the prior is too sparse for importance sampling.
fn sparse(prior: &Mixture) -> bool {
    prior.parts[0].iter().any(|alpha| *alpha < 2.0)
}

/// Mean and standard error of independent values.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (mean, (squares / count / (count - 1.0)).sqrt())
}

/// Quadrature, importance sampling, tempering and the filter against the literal sum over the values of six users. Sampled evidence is a mean over 40
/// runs; four of its standard errors are allowed, which 40 values of Student's t exceed in one of 3,600: 41 comparisons make a false alarm in one of 90.
#[test]
fn all_methods_find_the_evidence_of_few_users() {
    let mut rng = stream(7, 0);
    for words in ["oue 3 4", "grr 3 0.2", "matrix 2 3 0.5 0 1 0.5 1 0"] {
        for prior in priors() {
            let ln_p = prior.draw(&mut rng);
            let collection = source(words).collect(&ln_p, 6, &mut rng);
            check_evidence(&collection, &prior, &format!("{words} {prior:?}"));
        }
    }
}

fn check_evidence(collection: &Collection, prior: &Mixture, what: &str) {
    let reports = collection.reports();
    let exact = enumeration::ln_evidence(&reports, prior);
    let found = quadrature::posterior(&reports, prior).ln_evidence;
    assert!((found - exact).abs() < 1e-8, "{what}: {found} {exact}");
    let filter = |period: usize| {
        let effort = Effort { particles: 100, period, draws: 0, seed: 0 };
        let run = |i| particle_filter::ln_evidence(collection, prior, effort, &mut stream(3, i));
        mean(&(0..40).map(|i| (run(i) - exact).exp()).collect::<Vec<_>>())
    };
    let effort = tempering::Effort { particles: 50, steps: 5, sweeps: 1, draws: 40, seed: 3 };
    let tempered = &tempering::posterior(&reports, prior, effort)[0];
    let mut sampled = vec![filter(0), filter(2), ((tempered.value - exact).exp(), tempered.error)];
    if !sparse(prior) {
        let found = &importance::posterior(&reports, prior, 4000, 3)[0];
        sampled.push(((found.value - exact).exp(), found.error));
    }
    for (ratio, error) in sampled {
        assert!((ratio - 1.0).abs() < 4.0 * error + 1e-12, "{what}: {ratio} ± {error}");
    }
}

/// `I(Y⃗;P)` by filter, tempering and importance sampling against the sum over all tallies of reports. The two sides of the certified methods must enclose it within four standard errors;
/// 30 comparisons make a false alarm in one of 500.
#[test]
fn all_methods_find_the_information_of_few_users() {
    for (words, n) in [("grr 3 2", 6), ("matrix 2 3 0.5 0 1 0.5 1 0", 12)] {
        for prior in priors() {
            let source = source(words);
            let Source::Rows(rows) = &source else { panic!("{words} has few outputs") };
            let exact = quadrature::distribution_information(rows, &prior, n);
            let filter = Effort { particles: 50, period: 3, draws: 500, seed: 5 };
            let tempered = tempering::Effort { particles: 30, steps: 6, sweeps: 1, draws: 500, seed: 5 };
            let mut found = vec![
                particle_filter::distribution_information(&source, &prior, n, filter),
                tempering::distribution_information(&source, &prior, n, tempered),
            ];
            if !sparse(&prior) {
                found.push(importance::distribution_information(&source, &prior, n, (500, 400), 5));
            }
            for Estimate { value, error, low, high } in found {
                assert!((value - exact).abs() < 4.0 * error, "{words} {prior:?}: {value} ± {error}, {exact}");
                let enclosed = low - 4.0 * error < exact && exact < high + 4.0 * error;
                assert!(enclosed, "{words} {prior:?}: {low} {high}, {exact}");
            }
        }
    }
}

/// Reports that are the truth tell what the users know, which is a finite sum. The control variate leaves no variance.
#[test]
fn the_filter_knows_what_the_truth_tells() {
    let (prior, identity) =
        (Mixture::single(vec![0.3; 12]), (0..12).map(|x| (0..12).map(|z| f64::from(x == z)).collect()));
    let source = Source::Rows(identity.collect::<Vec<Vec<f64>>>());
    let effort = Effort { particles: 20, period: 0, draws: 50, seed: 1 };
    let found = particle_filter::distribution_information(&source, &prior, 80, effort);
    let exact = particle_filter::users_information(&prior.parts[0], 80);
    assert!((found.value - exact).abs() < 1e-9, "{found:?} {exact}");
    let of_three = Source::Rows(vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]]);
    let Source::Rows(rows) = &of_three else { unreachable!() };
    let by_sum = quadrature::distribution_information(rows, &priors()[0], 5);
    assert!((by_sum - particle_filter::users_information(&priors()[0].parts[0], 5)).abs() < 1e-8);
}

/// Importance sampling and tempering against quadrature, all moments: 4 errors each, of about 200 correlated values, a false alarm in one of 80.
#[test]
fn sampled_moments_are_those_of_quadrature() {
    let mut rng = stream(11, 0);
    for prior in priors() {
        for (words, n) in [("oue 3 3", 40), ("grr 3 0.5", 5000)] {
            let reports = source(words).tally(&prior.draw(&mut rng), n, &mut rng);
            let exact = quadrature::posterior(&reports, &prior).values();
            let effort = tempering::Effort { particles: 100, steps: 20, sweeps: 2, draws: 40, seed: 2 };
            let mut sampled = vec![tempering::posterior(&reports, &prior, effort)];
            if !sparse(&prior) {
                sampled.push(importance::posterior(&reports, &prior, 8000, 2));
            }
            for values in sampled {
                assert_near(&values, &exact, &format!("{words} {prior:?}"));
            }
        }
    }
}

fn assert_near(found: &[Value], exact: &[Value], what: &str) {
    for (l, r) in found.iter().zip(exact) {
        let error = l.error.hypot(r.error) + 1e-9 * r.value.abs();
        assert!((l.value - r.value).abs() < 4.0 * error, "{what}: {l:?} {r:?}");
    }
}

/// Reports that merge two of three values: `P_0 + P_1` is a beta distribution, split by the prior, also for a million users.
#[test]
fn quadrature_follows_a_thin_ridge() {
    let rows = [(vec![1.0, 1.0, 0.0], 600_000), (vec![0.0, 0.0, 1.0], 400_000)];
    for alpha in [[0.3, 0.5, 25.0], [0.5; 3], [3.0, 40.0, 0.05]] {
        let prior = Mixture::single(alpha.to_vec());
        let found = quadrature::posterior(&Reports::new(rows.to_vec()), &prior);
        let (merged, total) = (alpha[0] + alpha[1], alpha.iter().sum::<f64>());
        let (mean, share) = ((merged + 6e5) / (total + 1e6), alpha[0] / merged);
        let beta = |a: f64, b: f64| adversary::model::ln_beta(&[a, b]);
        let ln_evidence = beta(merged + 6e5, alpha[2] + 4e5) - beta(merged, alpha[2]);
        let square =
            mean * (merged + 6e5 + 1.0) / (total + 1e6 + 1.0) * share * (alpha[0] + 1.0) / (merged + 1.0);
        let variance = square - (mean * share).powi(2);
        assert!((found.ln_evidence - ln_evidence).abs() < 1e-6, "{found:?} {ln_evidence}");
        assert!((found.p[0].0 / (mean * share) - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.p[0].1 / variance.sqrt() - 1.0).abs() < 1e-6, "{found:?} {}", variance.sqrt());
        assert!((found.t[2].0 - 4e5).abs() < 1e-3 && found.t[2].1 < 1e-2, "{found:?}");
    }
}

// The library against the references.

/// One value of the library beside the independent one.
#[derive(Clone, Debug)]
struct Comparison {
    what: String,
    found: (f64, f64),
    reference: (f64, f64),
}

impl Comparison {
    /// Distance in combined standard errors. The file rounds its values to twelve digits.
    fn z(&self) -> f64 {
        (self.found.0 - self.reference.0) / (self.error() + 1e-10 * self.reference.0.abs())
    }

    fn error(&self) -> f64 {
        self.found.1.hypot(self.reference.1)
    }

    /// Whether chance has a part in it: numbers that are exact on both sides have no rate.
    fn sampled(&self) -> bool {
        self.error() > 1e-5 * self.reference.0.abs()
    }

    fn text(&self) -> String {
        let Comparison { what, found, reference } = self;
        let z = self.z();
        format!(
            "{what}: {} ± {:.1e}, independent {} ± {:.1e}, z = {z:.2}",
            found.0, found.1, reference.0, reference.1
        )
    }
}

/// What the library says about a case: values, and what it refuses.
#[derive(Default)]
struct Answer {
    values: Vec<Comparison>,
    refusals: Vec<String>,
}

/// Random cases of the quick run.
const CHEAP: [&str; 20] = [
    "random information 0,",
    "random information 5,",
    "random information 9,",
    "random information 10,",
    "random information 12,",
    "random information 19,",
    "random information 23,",
    "random information 26,",
    "random posterior 1,",
    "random posterior 6,",
    "random posterior 7,",
    "random posterior 8,",
    "random posterior 9,",
    "random posterior 12,",
    "random posterior 14,",
    "random posterior 15,",
    "random posterior 17,",
    "random posterior 21,",
    "random posterior 23,",
    "random posterior 27,",
];

fn full() -> bool {
    std::env::var_os("SOTTOVOCE_FULL").is_some()
}

/// Draws of every third random case of information, so that errors which are stated after few draws are tested too.
const FEW_DRAWS: u64 = 200;

fn information_options(number: Option<usize>) -> information::InformationOptions<'static> {
    let few = number.is_some_and(|number| number.is_multiple_of(3));
    let (tolerance, most) = if full() { (0.05, 1 << 24) } else { (0.1, 256) };
    let draws = if few { FEW_DRAWS } else { most };
    information::InformationOptions { tolerance, draws, seed: 1, ..Default::default() }
}

fn answer(reference: &Reference) -> Answer {
    let case = &reference.case;
    let refused =
        |reason: String| Answer { refusals: vec![format!("{}: {reason}", case.name)], ..Answer::default() };
    match case.data {
        Data::Users(n) => {
            let options = information_options(case.number());
            information::distribution_information(&case.protocol(), &case.library_prior(), n, &options)
                .map_or_else(
                    |absence| refused(format!("{absence:?}")),
                    |found| of_information(reference, found),
                )
        }
        Data::Counts(_) => {
            let options = posterior::PosteriorOptions { seed: 1, ..Default::default() };
            posterior::posterior(&case.protocol(), &case.library_prior(), &case.tallies(), &options)
                .map_or_else(|error| refused(error.to_string()), |found| of_posterior(reference, &found))
        }
    }
}

fn of_information(reference: &Reference, found: Evaluation) -> Answer {
    let Value { value, error, .. } = reference.values[0];
    let comparison = Comparison {
        what: reference.case.name.clone(),
        found: (found.value, found.error),
        reference: (value, error),
    };
    Answer { values: vec![comparison], refusals: Vec::new() }
}

fn of_posterior(reference: &Reference, found: &posterior::Posterior) -> Answer {
    let name = &reference.case.name;
    let mut answer = Answer::default();
    let mut compare = |what: &str, found: (f64, f64)| {
        let Value { value, error, .. } = reference.value(what);
        answer.values.push(Comparison {
            what: format!("{what} of {name}"),
            found,
            reference: (*value, *error),
        });
    };
    let draws_of_t: Vec<Vec<f64>> =
        found.draws.t.iter().map(|t| t.iter().map(|v| *v as f64).collect()).collect();
    for (kind, marginals, draws) in [("p", &found.p, &found.draws.p), ("t", &found.t, &draws_of_t)] {
        for (x, marginal) in marginals.iter().enumerate() {
            compare(&format!("{kind}{x}"), (marginal.mean, marginal.error));
            compare(&format!("sd_{kind}{x}"), (marginal.sd, marginal.error * sd_factor(draws, x)));
        }
    }
    match &found.log_evidence {
        Ok(evidence) => compare("ln_evidence", (evidence.value, evidence.error)),
        Err(reason) => answer.refusals.push(format!("evidence of {name}: {reason}")),
    }
    answer
}

/// How much larger the standard error of a standard deviation is than that of the mean: `√(κ − 1)/2`, with the kurtosis `κ` of the draws, and at least that of normal ones.
fn sd_factor(draws: &[Vec<f64>], x: usize) -> f64 {
    let count = draws.len() as f64;
    let mean = draws.iter().map(|d| d[x]).sum::<f64>() / count;
    let moment = |power: i32| draws.iter().map(|d| (d[x] - mean).powi(power)).sum::<f64>() / count;
    let kurtosis = moment(4) / moment(2).powi(2);
    0.5 * (kurtosis.max(3.0) - 1.0).sqrt()
}

/// The answers to the quick cases, in the full run to all whose names begin so.
fn answers(of: &[&str], quick: &[&str]) -> Vec<Answer> {
    let wanted = if full() { of } else { quick };
    let chosen = |r: &Reference| wanted.iter().any(|name| r.case.name.starts_with(name));
    let references: Vec<Reference> = references().into_iter().filter(chosen).collect();
    assert!(references.len() >= wanted.len(), "{} cases for {wanted:?}", references.len());
    references.iter().map(answer).collect()
}

/// No value is further off than four combined standard errors.
fn assert_near_references(answers: &[Answer]) {
    let far = |c: &&Comparison| c.z().is_nan() || c.z().abs() > 4.0;
    let wrong: Vec<String> =
        answers.iter().flat_map(|a| &a.values).filter(far).map(Comparison::text).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn refusals(answers: &[Answer]) -> Vec<&String> {
    answers.iter().flat_map(|a| &a.refusals).collect()
}

/// All values are right, and none is refused.
fn assert_right(of: &[&str], quick: &[&str]) {
    let answers = answers(of, quick);
    assert_near_references(&answers);
    assert!(refusals(&answers).is_empty(), "{:#?}", refusals(&answers));
}

#[test]
fn information_is_right_at_low_privacy() {
    assert_right(&["low privacy"], &["low privacy, OUE 12"]);
}

#[test]
fn information_is_right_under_sparse_priors() {
    assert_right(&["sparse"], &["sparse, OUE 4"]);
}

#[test]
fn information_is_right_under_priors_with_far_parts() {
    assert_right(&["far parts"], &["far parts, matrix"]);
}

#[test]
fn posteriors_are_right_under_priors_with_far_parts() {
    assert_right(&["the less likely part", "two likely parts"], &["the less likely part"]);
}

#[test]
fn posteriors_are_right_on_thin_ridges() {
    assert_right(&["a thin"], &["a thin ridge", "a thinner ridge"]);
}

#[test]
fn everyday_posteriors_have_their_evidence() {
    assert_right(&["evidence"], &["evidence, OUE"]);
}

/// Sixty random cases; twenty of the cheapest in the quick run. At most one in twenty may be refused. In the full run the number of values beyond 1.96 errors, one value a case, must be
/// one that a rate of 5 % exceeds with a probability of less than one in a thousand, and the mean of `z²` must tell that errors are not stated several times too large.
#[test]
fn random_cases_are_right() {
    let answers = answers(&["random"], &CHEAP);
    assert_near_references(&answers);
    let refused = refusals(&answers);
    assert!(20 * refused.len() <= answers.len(), "{} of {}: {refused:#?}", refused.len(), answers.len());
    if full() {
        assert_rate(&answers);
    }
}

fn assert_rate(answers: &[Answer]) {
    let first = |answer: &Answer| answer.values.first().filter(|c| c.sampled()).map(Comparison::z);
    let z: Vec<f64> = answers.iter().filter_map(first).collect();
    let beyond = z.iter().filter(|z| z.abs() > 1.96).count();
    let squares = z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64;
    println!("{} values, {beyond} beyond 1.96, mean square {squares:.2}", z.len());
    assert!(z.len() >= 30, "{}", z.len());
    assert!(binomial_tail(z.len(), 0.05, beyond) > 1e-3, "{beyond} of {} beyond 1.96: {z:?}", z.len());
    assert!(squares > 0.3, "{squares}: {z:?}");
}

/// The probability of at least `least` successes.
fn binomial_tail(trials: usize, p: f64, least: usize) -> f64 {
    let ln_gamma = |v: usize| adversary::model::ln_gamma(v as f64 + 1.0);
    let term = |k: usize| {
        let ln_choose = ln_gamma(trials) - ln_gamma(k) - ln_gamma(trials - k);
        (ln_choose + k as f64 * p.ln() + (trials - k) as f64 * (1.0 - p).ln()).exp()
    };
    (least..=trials).map(term).sum()
}
