//! Posteriors: methods against each other, and intervals against the truth that they are about.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use sottovoce::evaluation::Method;
use sottovoce::information::{Choice, Progress};
use sottovoce::posterior::{Posterior, PosteriorOptions, exact_draws, posterior};
use sottovoce::prior::{Dirichlet, DirichletMixture, Points};
use sottovoce::protocol::GeneralisedRandomisedResponse;
use sottovoce::{Error, Output, Prior, Protocol, Tallies};

fn counted(protocol: &Protocol, counts: &[u64]) -> Tallies {
    Tallies::new(protocol, counts.iter().enumerate().map(|(y, count)| (Output::Index(y), *count))).unwrap()
}

fn as_matrix(protocol: &Protocol) -> Protocol {
    Protocol::matrix(protocol.to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect()).unwrap()
}

fn mixture() -> Prior {
    let parts = [vec![0.5, 2.0, 1.0], vec![6.0, 0.3, 3.0]].map(|alpha| Dirichlet::new(alpha).unwrap());
    Prior::DirichletMixture(DirichletMixture::new(vec![0.3, 0.7], parts.into()).unwrap())
}

/// Largest difference of means, standard deviations and quantiles, relative to the standard deviation; of tallies without quantiles,
/// which may come from draws.
fn distance(left: &Posterior, right: &Posterior) -> f64 {
    let pairs = left.p.iter().zip(&right.p).chain(left.t.iter().zip(&right.t)).enumerate();
    let of_pair = |(i, (l, r)): (usize, (&_, &_))| {
        let (l, r): (&sottovoce::posterior::Summary, &sottovoce::posterior::Summary) = (l, r);
        if i >= left.p.len() {
            // The variance of a tally that is all but known is a difference of large numbers.
            let spread = (l.sd * l.sd - r.sd * r.sd).abs() / (l.sd * l.sd + 1e-3);
            return spread.max((l.mean - r.mean).abs() / (l.sd + 1e-3));
        }
        let mut worst = (l.mean - r.mean).abs().max((l.sd - r.sd).abs());
        worst = l.quantiles.iter().zip(&r.quantiles).map(|(l, r)| (l.1 - r.1).abs()).fold(worst, f64::max);
        worst / (l.sd + 1e-3)
    };
    pairs.map(of_pair).fold(0.0, f64::max)
}

/// Randomised response: epsilon, the prior's parameters, the tally, the log evidence, and for each value the mean and standard deviation of `T_x` and the mean of
/// `P_x`; from the urn of all users' tallies in arithmetic of 60 digits.
type Sure = (f64, &'static [f64], &'static [u64], f64, &'static [[f64; 3]]);

/// Priors that are sure of themselves and reports that are nearly the truth. The tallies are then what a difference of large numbers would not show.
#[test]
fn strong_beliefs_and_weak_noise_keep_their_digits() {
    let cases: [Sure; 9] = [
        (
            20.0,
            &[100000000.0, 100000000.0, 100000000.0],
            &[1, 0, 0],
            -1.0986122886681098,
            &[
                [0.9999999958776927, 6.420519613621846e-05, 0.33333333555555555],
                [2.061153613941849e-09, 4.539992962212051e-05, 0.3333333322222222],
                [2.061153613941849e-09, 4.539992962212051e-05, 0.3333333322222222],
            ],
        ),
        (
            1.0,
            &[100000000.0, 100000000.0, 100000000.0],
            &[2, 1, 0],
            -3.295836866004329,
            &[
                [1.3641753292545906, 0.8095892651714557, 0.3333333345472511],
                [0.9999999994378307, 0.7604280972353795, 0.3333333333333333],
                [0.6358246713075786, 0.7078608640669127, 0.33333333211941557],
            ],
        ),
        (
            0.5,
            &[1000000.0, 1000000.0],
            &[3, 1],
            -2.772588722239784,
            &[
                [2.2449190077442953, 0.969544312678629, 0.500000122459259],
                [1.755080992255705, 0.969544312678629, 0.49999987754074104],
            ],
        ),
        (
            30.0,
            &[0.5, 0.5, 0.5],
            &[2, 2, 1],
            -7.051855622954895,
            &[
                [2.0000000000002807, 1.1308736176403458e-06, 0.3846153846154278],
                [2.0000000000002807, 1.1308736176403458e-06, 0.3846153846154278],
                [0.9999999999994386, 1.1445816771363189e-06, 0.23076923076914438],
            ],
        ),
        (
            2.0,
            &[10000000.0, 0.5, 1000.0],
            &[1, 2, 1],
            -6.957626293171615,
            &[
                [3.999047331115267, 0.030856176843283723, 0.9998999599537558],
                [7.955616820631106e-07, 0.0008919428913688866, 4.9995057552637045e-08],
                [0.0009518733230512545, 0.030843286286955863, 9.99900511866906e-05],
            ],
        ),
        (
            25.0,
            &[100000.0, 100000.0, 100000.0],
            &[20, 15, 5],
            -43.944041608355086,
            &[
                [19.999999999722316, 2.8866074413844313e-05, 0.33335555259298666],
                [14.999999999930562, 2.7637423788308804e-05, 0.3333388881482467],
                [5.000000000347122, 2.4998371885267227e-05, 0.33330555925876665],
            ],
        ),
        (
            24.0,
            &[10000000.0, 30000000.0],
            &[30, 12],
            -45.04099152609064,
            &[
                [29.99999999675339, 5.957028096683981e-05, 0.25000048749948806],
                [12.000000003246607, 5.957028096683981e-05, 0.749999512500512],
            ],
        ),
        (
            1.5,
            &[2000000.0, 2000000.0, 2000000.0],
            &[17, 20, 9],
            -50.536162826165395,
            &[
                [16.22859962120465, 2.722293502859486, 0.33333348254323736],
                [17.840082465037558, 2.7675810439512976, 0.33333375112165226],
                [11.931317913757793, 2.597668839884692, 0.3333327663351104],
            ],
        ),
        (
            0.01,
            &[1e8, 1e8, 1e8],
            &[3, 0, 1],
            -4.394449154672327,
            &[
                [1.3388981172111925, 0.9437837268293472, 0.3333333333518826],
                [1.3288815062311794, 0.9420191084524259, 0.3333333333184939],
                [1.3322203765576281, 0.9426076816306138, 0.3333333333296235],
            ],
        ),
    ];
    for (epsilon, alpha, counts, ln_evidence, values) in cases {
        let (grr, prior) =
            (Protocol::grr(alpha.len(), epsilon).unwrap(), Prior::dirichlet(alpha.to_vec()).unwrap());
        let matrix = as_matrix(&grr);
        let options = PosteriorOptions { draws: 0, probabilities: vec![0.5], ..PosteriorOptions::default() };
        for protocol in [&grr, &matrix] {
            let found = posterior(protocol, &prior, &counted(protocol, counts), &options).unwrap();
            assert_ne!(found.method, Method::MonteCarlo);
            let evidence = found.log_evidence.unwrap();
            let off = (evidence.value - ln_evidence).abs();
            // A matrix is given in rounded numbers, which move each report by so much.
            let rounding =
                counts.iter().sum::<u64>() as f64 * 4.0 * f64::EPSILON * (1.0 + epsilon.exp() * f64::EPSILON);
            assert!(off <= evidence.error + rounding, "{epsilon} {alpha:?}: {evidence:?} {ln_evidence}");
            for (x, [mean, sd, p]) in values.iter().enumerate() {
                for (found, exact) in [(found.t[x].mean, mean), (found.t[x].sd, sd), (found.p[x].mean, p)] {
                    assert!((found / exact - 1.0).abs() < 1e-9, "{epsilon} {alpha:?} {x}: {found} {exact}");
                }
            }
        }
    }
}

#[test]
fn products_of_polynomials_and_the_mixture_of_all_tallies_agree() {
    for prior in [Prior::jeffreys(3).unwrap(), Prior::dirichlet(vec![0.05, 3.0, 40.0]).unwrap(), mixture()] {
        for epsilon in [0.1, 1.0, 5.0, 50.0] {
            let grr = Protocol::grr(3, epsilon).unwrap();
            let counts = [40, 0, 17];
            let products =
                posterior(&grr, &prior, &counted(&grr, &counts), &PosteriorOptions::default()).unwrap();
            let matrix = as_matrix(&grr);
            let all =
                posterior(&matrix, &prior, &counted(&matrix, &counts), &PosteriorOptions::default()).unwrap();
            let off = distance(&products, &all);
            assert!(off < 1e-7, "{epsilon} {prior:?}: {off:e}");
            let (l, r) = (products.log_evidence.unwrap().value, all.log_evidence.unwrap().value);
            assert!((l - r).abs() < 1e-10, "{epsilon}: {l} {r}");
        }
    }
}

/// Randomised response has methods of its own, polynomials for few reports and shares for many; its matrix is left to quadrature.
#[test]
fn two_values_of_randomised_response_and_of_its_matrix_agree_for_a_million_users() {
    let (grr, prior) = (Protocol::grr(2, 0.5).unwrap(), Prior::dirichlet(vec![0.5, 3.0]).unwrap());
    // Shares do not apply where all values but one are too rare to be seen.
    for (counts, method) in [
        ([600_000, 400_000], Method::Quadrature),
        ([1_000_000, 0], Method::Enumeration),
        ([0, 1], Method::Enumeration),
    ] {
        let products =
            posterior(&grr, &prior, &counted(&grr, &counts), &PosteriorOptions::default()).unwrap();
        let matrix = as_matrix(&grr);
        let quadrature =
            posterior(&matrix, &prior, &counted(&matrix, &counts), &PosteriorOptions::default()).unwrap();
        assert_eq!((products.method, quadrature.method), (method, Method::Quadrature));
        let off = distance(&products, &quadrature);
        assert!(off < 1e-6, "{counts:?}: {off:e}");
    }
}

/// Marginals of polynomial products that do not integrate to the evidence are not given; another method answers. Its means meet exact
/// independent draws: five comparisons at four standard errors of 4000 draws, false-alarm rate 0.03 %.
#[test]
fn marginals_that_miss_mass_are_left_to_another_method() {
    for counts in [vec![600_000, 400_000], vec![50_000, 30_000, 20_000]] {
        let a = counts.len();
        let (grr, prior) = (Protocol::grr(a, 0.5).unwrap(), Dirichlet::jeffreys(a).unwrap());
        let tallies = counted(&grr, &counts);
        let response = GeneralisedRandomisedResponse::new(a, 0.5).unwrap();
        let draws = exact_draws(&response, &tallies, &prior, 4000, 1).unwrap().p;
        let found =
            posterior(&grr, &Prior::Dirichlet(prior), &tallies, &PosteriorOptions::default()).unwrap();
        for (x, summary) in found.p.iter().enumerate() {
            let mean = draws.iter().map(|p| p[x]).sum::<f64>() / 4000.0;
            let error = (summary.sd / 4000f64.sqrt()).hypot(summary.error);
            assert!((mean - summary.mean).abs() < 4.0 * error, "{counts:?} {x}: {mean} {summary:?}");
        }
    }
}

#[test]
fn the_truth_and_blanks_have_closed_forms() {
    let (identity, prior) = (Protocol::identity(3).unwrap(), Prior::jeffreys(3).unwrap());
    let found =
        posterior(&identity, &prior, &counted(&identity, &[5, 0, 2]), &PosteriorOptions::default()).unwrap();
    assert!((found.p[0].mean - 5.5 / 8.5).abs() < 1e-13);
    assert_eq!((found.t[0].mean, found.t[0].sd, found.t[0].quantiles[0].1), (5.0, 0.0, 5.0));
    let erasure = Protocol::erasure(3, 0.4).unwrap();
    let blanks =
        posterior(&erasure, &prior, &counted(&erasure, &[5, 0, 2, 6]), &PosteriorOptions::default()).unwrap();
    assert!(distance(&found, &Posterior { t: found.t.clone(), ..blanks.clone() }) < 1e-12);
    let matrix = as_matrix(&erasure);
    let chains = PosteriorOptions { choice: Choice::MonteCarlo, ..PosteriorOptions::default() };
    let sampled = posterior(&matrix, &prior, &counted(&matrix, &[5, 0, 2, 6]), &chains).unwrap();
    assert!((sampled.t[1].mean - blanks.t[1].mean).abs() < 4.0 * sampled.t[1].error + 1e-9);
}

#[test]
fn bayes_rule_for_points() {
    let points = vec![vec![0.2, 0.8], vec![0.6, 0.4]];
    let prior = Prior::Points(Points::new(vec![0.3, 0.7], points).unwrap());
    let identity = Protocol::identity(2).unwrap();
    let found =
        posterior(&identity, &prior, &counted(&identity, &[1, 2]), &PosteriorOptions::default()).unwrap();
    let joint = [0.3 * 0.2 * 0.64, 0.7 * 0.6 * 0.16];
    let mean = (joint[0] * 0.2 + joint[1] * 0.6) / (joint[0] + joint[1]);
    assert!((found.p[0].mean - mean).abs() < 1e-14);
    assert!((found.log_evidence.unwrap().value - (joint[0] + joint[1]).ln()).abs() < 1e-14);
    let certain =
        Prior::Points(Points::new(vec![0.5, 0.5], vec![vec![0.0, 0.5, 0.5], vec![0.0, 0.2, 0.8]]).unwrap());
    let identity = Protocol::identity(3).unwrap();
    let refused =
        posterior(&identity, &certain, &counted(&identity, &[1, 0, 0]), &PosteriorOptions::default());
    assert_eq!(refused.unwrap_err(), Error::ImpossibleReports);
}

/// Twelve means of `P` and `T` in each of four cases at four standard errors: false-alarm rate 0.3 %.
#[test]
fn chains_meet_exact_posteriors_under_unequal_priors() {
    let priors = [Prior::dirichlet(vec![0.1, 1.0, 7.0]).unwrap(), mixture()];
    for prior in &priors {
        for protocol in [Protocol::oue(3, 0.5).unwrap(), Protocol::subset(3, 2, 4.0).unwrap()] {
            let tallies = simulated(&protocol, &[0.2, 0.3, 0.5], 150, 5);
            let exact = posterior(&protocol, prior, &tallies, &PosteriorOptions::default()).unwrap();
            let options = PosteriorOptions { choice: Choice::MonteCarlo, ..PosteriorOptions::default() };
            let sampled = posterior(&protocol, prior, &tallies, &options).unwrap();
            assert!(exact.diagnostics.is_none() && sampled.diagnostics.as_ref().unwrap().converged);
            for (e, s) in exact.p.iter().zip(&sampled.p).chain(exact.t.iter().zip(&sampled.t)) {
                assert!((e.mean - s.mean).abs() < 4.0 * s.error + 1e-9, "{protocol:?}: {e:?} {s:?}");
                assert!((e.sd / s.sd - 1.0).abs() < 0.15, "{protocol:?}: {e:?} {s:?}");
            }
            if let Ok(found) = sampled.log_evidence {
                assert!((found.value - exact.log_evidence.unwrap().value).abs() < 4.0 * found.error + 1e-9);
            }
        }
    }
}

#[test]
fn threads_do_not_matter_and_an_early_end_is_refused() {
    let (protocol, prior) = (Protocol::oue(5, 1.0).unwrap(), Prior::jeffreys(5).unwrap());
    let tallies = simulated(&protocol, &[0.1, 0.2, 0.3, 0.4, 0.0], 300, 1);
    let options = PosteriorOptions { choice: Choice::MonteCarlo, ..PosteriorOptions::default() };
    let many = posterior(&protocol, &prior, &tallies, &options).unwrap();
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(many, single.install(|| posterior(&protocol, &prior, &tallies, &options)).unwrap());
    let stop = |_: &Progress| std::ops::ControlFlow::Break(());
    let stopped = PosteriorOptions { observer: Some(&stop), ..options };
    let refused = posterior(&protocol, &prior, &tallies, &stopped).unwrap_err();
    assert!(matches!(refused, Error::Unconverged { .. }), "{refused}");
    let seen =
        posterior(&protocol, &prior, &tallies, &PosteriorOptions { unconverged: true, ..stopped }).unwrap();
    assert!(!seen.diagnostics.unwrap().converged);
}

/// The tallies of the reports of `n` users.
fn simulated(protocol: &Protocol, p: &[f64], n: usize, seed: u64) -> Tallies {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts = std::collections::BTreeMap::<Output, u64>::new();
    for _ in 0..n {
        let mut rest = rng.random::<f64>();
        let x = p.iter().position(|p_x| {
            rest -= p_x;
            rest < 0.0
        });
        let x = x.unwrap_or_else(|| p.iter().rposition(|p_x| *p_x > 0.0).unwrap());
        *counts.entry(protocol.sample(x, &mut rng).unwrap()).or_default() += 1;
    }
    Tallies::new(protocol, counts).unwrap()
}

/// Whether the 90 % interval of a simulated `P_0` covers it, and its rank among 99 draws.
fn trial(protocol: &Protocol, alpha: &[f64], n: usize, seed: u64) -> (bool, usize) {
    let dirichlet = Dirichlet::new(alpha.to_vec()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xABCD);
    let p: Vec<f64> = dirichlet.sample_ln(&mut rng).iter().map(|ln| ln.exp()).collect();
    let tallies = simulated(protocol, &p, n, seed);
    let options = PosteriorOptions { seed, draws: 99, unconverged: true, ..PosteriorOptions::default() };
    let found = posterior(protocol, &Prior::Dirichlet(dirichlet), &tallies, &options).unwrap();
    let [low, high] = [found.p[0].quantiles[0].1, found.p[0].quantiles[2].1];
    let rank = found.draws.p.iter().filter(|draw| draw[0] < p[0]).count();
    ((low..=high).contains(&p[0]), rank)
}

/// Simulated distributions and reports: 90 % intervals cover nine times of ten, and the truth is as likely anywhere among the draws.
///
/// Each case may be off by four binomial standard deviations, and χ² of ten classes of ranks may reach 45 (nine degrees of freedom). Over all eighteen cases
/// the false-alarm rate is 0.4 % for 60 trials a case and 0.2 % for 1,000.
#[test]
fn intervals_cover_as_often_as_they_say() {
    let full = std::env::var("SOTTOVOCE_FULL").is_ok();
    let trials: usize = if full { 1000 } else { 60 };
    let rows = vec![vec![0.5, 0.1, 0.2], vec![0.1, 0.6, 0.3], vec![0.25, 0.2, 0.1], vec![0.15, 0.1, 0.4]];
    let (mut covered, mut all) = (0, 0);
    for epsilon in [0.5, 3.0] {
        let protocols = [
            Protocol::grr(4, epsilon).unwrap(),
            Protocol::oue(4, epsilon).unwrap(),
            Protocol::lh(4, 2, epsilon).unwrap(),
            Protocol::subset(4, 2, epsilon).unwrap(),
            Protocol::matrix(rows.clone()).unwrap(),
        ];
        // The matrix is the same at every epsilon.
        let different = if epsilon == 0.5 { 5 } else { 4 };
        for (number, protocol) in protocols.iter().enumerate().take(different) {
            let alpha: &[f64] = if number == 4 { &[0.5, 1.0, 2.0] } else { &[0.5, 1.0, 2.0, 0.3] };
            // 500 users of four values need chains, except under randomised response: for the long run.
            for n in if full { [10, 500] } else { [10, 60] } {
                let start = std::time::Instant::now();
                let results: Vec<(bool, usize)> =
                    (0..trials).into_par_iter().map(|i| trial(protocol, alpha, n, i as u64)).collect();
                let hits = results.iter().filter(|(hit, _)| *hit).count();
                let mut classes = [0.0; 10];
                results.iter().for_each(|(_, rank)| classes[rank / 10] += 1.0);
                let expected = trials as f64 / 10.0;
                let chi: f64 = classes.iter().map(|c| (c - expected).powi(2) / expected).sum();
                println!(
                    "{} epsilon {epsilon} n {n}: covers {:.1} %, chi² {chi:.1}, {:.1?}",
                    protocol.kind(),
                    100.0 * hits as f64 / trials as f64,
                    start.elapsed()
                );
                let deviation = (trials as f64 * 0.09).sqrt();
                assert!(
                    (hits as f64 - 0.9 * trials as f64).abs() < 4.0 * deviation,
                    "{protocol:?} {n}: {hits}"
                );
                assert!(chi < 45.0, "{protocol:?} {n}: {classes:?}");
                (covered, all) = (covered + hits, all + trials);
            }
        }
    }
    let share = covered as f64 / all as f64;
    println!("all cases: {:.2} % of {all}", 100.0 * share);
    assert!((share - 0.9).abs() < 4.0 * (0.09 / all as f64).sqrt(), "{share}");
}
