//! A standing adversary.

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
use adversary::model::{Mixture, Source};
use adversary::particle_filter::Effort;
use adversary::reference::{Case, Data, references};
use adversary::{enumeration, named_cases, particle_filter, quadrature, random_cases};

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
        let time = std::time::Instant::now();
        println!("{}", method.answer(&case).line());
        eprintln!("{:?}", time.elapsed());
    }
}

fn row_matrix(words: &str) -> Vec<Vec<f64>> {
    let case = Case { name: String::new(), words: words.into(), prior: Mixture::single(vec![]), data: Data::Users(0) };
    let Source::Rows(rows) = case.source() else { panic!("{words} has no small matrix") };
    rows
}

/// Priors for three values: sparse, ordinary, sure, and two far parts.
fn priors() -> Vec<Mixture> {
    let single = |alpha: &[f64]| Mixture::single(alpha.to_vec());
    let far = Mixture { weights: vec![0.9, 0.1], parts: vec![vec![160.0, 20.0, 20.0], vec![20.0, 160.0, 20.0]] };
    vec![single(&[0.05, 0.3, 0.1]), single(&[0.5; 3]), single(&[40.0, 3.0, 200.0]), far]
}

/// Quadrature, importance sampling and the particle filter against the literal sum over all values of few users. The filter's evidence is the mean over
/// 40 filters, whose standard error is found from them; four are allowed: a false alarm in one of 15,000.
#[test]
fn all_methods_find_the_evidence_of_few_users() {
    let mut rng = particle_filter::stream(7, 0);
    for words in ["oue 3 4", "grr 3 0.2", "matrix 2 3 0.5 0 1 0.5 1 0"] {
        let rows = row_matrix(words);
        for prior in priors() {
            let ln_p = prior.draw(&mut rng);
            let collection = Source::Rows(rows.clone()).collect(&ln_p, 6, &mut rng);
            let reports = collection.reports();
            let exact = enumeration::ln_evidence(&reports, &prior);
            let by_quadrature = quadrature::posterior(&reports, &prior).ln_evidence;
            assert!((by_quadrature - exact).abs() < 1e-9, "{words} {prior:?}: {by_quadrature} {exact}");
            for period in [0, 2] {
                let effort = Effort { particles: 200, period, draws: 0, seed: 0 };
                let z: Vec<f64> = (0..40)
                    .map(|_| (particle_filter::ln_evidence(&collection, &prior, effort, &mut rng) - exact).exp())
                    .collect();
                let mean = z.iter().sum::<f64>() / 40.0;
                let error = (z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 40.0 / 39.0).sqrt();
                assert!((mean - 1.0).abs() < 4.0 * error + 1e-12, "{words} {prior:?}: {mean} ± {error}");
            }
        }
    }
}
