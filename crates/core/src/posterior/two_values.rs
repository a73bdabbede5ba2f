//! Two values: one integral, for any protocol and any number of users.
//!
//! `P_1 = 1 − P_0`, so the posterior is a one-dimensional density `p^{α_0−1} (1−p)^{α_1−1} Π_y (base_y +
//! gain_{y0} p + gain_{y1} (1−p))^{s_y}`.

use crate::numerics::parallel::*;
use rand::RngExt;

use super::Parts;
use super::marginal::{Marginal, Mixture};
use super::summary::{Draws, Posterior, PosteriorOptions, Summary, mixed};
use crate::likelihood::Senders;
use crate::likelihood::sparse_rows::SparseRows;
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::random::generator;
use crate::numerics::special::ln_sum_exp;

/// The posterior of two values.
pub(crate) fn posterior(
    likelihood: &SparseRows,
    parts: &Parts<'_>,
    options: &PosteriorOptions<'_>,
) -> Posterior {
    let rows: Vec<[f64; 3]> = rows(likelihood);
    let marginals = [0, 1].map(|x| {
        let of_part = |(_, prior): &(f64, &crate::model::prior::Dirichlet)| {
            density(&rows, x, prior.alpha()[x], prior.alpha()[1 - x])
        };
        parts.iter().map(of_part).collect::<Vec<_>>()
    });
    let ln_joint: Vec<f64> =
        parts.iter().zip(&marginals[0]).map(|((w, _), m)| w.ln() + m.ln_total()).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let [first, second] =
        marginals.map(|parts| Mixture { parts: weights.iter().copied().zip(parts).collect() });
    let silent = likelihood.n() as f64 - rows.iter().map(|[count, ..]| count).sum::<f64>();
    let tally_of = |mixture: &Mixture<'_>, x: usize| {
        let given = |ln_p: f64, ln_q: f64| tally(&rows, silent, x, ln_p.exp(), ln_q.exp());
        let (mean, sd) = mixed(mixture.parts.iter().map(|(w, marginal)| (*w, marginal.moments(given))));
        Summary { mean, sd, ..Summary::default() }
    };
    let mut t = vec![tally_of(&first, 0), tally_of(&second, 1)];
    let draws = draws(likelihood, &first, options).into_quantiles(&mut t, options);
    let value = ln_total + likelihood.ln_scale();
    Posterior {
        n: likelihood.n(),
        method: Method::Quadrature,
        log_evidence: Ok(Evaluation::new(value, 1e-13 * (1.0 + value.abs()), Method::Quadrature)),
        p: vec![first.summary(options), second.summary(options)],
        t,
        t_quantiles: Method::MonteCarlo,
        draws,
        alpha: None,
        roughness: None,
        weights: weights.clone(),
        terms: Vec::new(),
        diagnostics: None,
    }
}

/// `ln` of the evidence under one Dirichlet distribution, without its scale.
pub(super) fn ln_evidence(likelihood: &SparseRows, prior: &crate::model::prior::Dirichlet) -> f64 {
    density(&rows(likelihood), 0, prior.alpha()[0], prior.alpha()[1]).ln_total()
}

/// Count and the two entries of every row that depends on the value.
fn rows(likelihood: &SparseRows) -> Vec<[f64; 3]> {
    let full = |row: crate::likelihood::sparse_rows::RowView<'_>| {
        let mut entries = [0.0; 2];
        row.write(&mut entries);
        [row.count as f64, entries[0], entries[1]]
    };
    likelihood.rows().filter(|row| !row.members.is_empty()).map(full).collect()
}

/// Mean and variance of `T_x` given `P_x = p = 1 − q`: the senders of reports are independent, and those of
/// `silent` reports (which carry no information) hold `x` with the same probability as any user.
fn tally(rows: &[[f64; 3]], silent: f64, x: usize, p: f64, q: f64) -> (f64, f64) {
    let add = |(mean, variance): (f64, f64), row: &[f64; 3]| {
        let (own, rest) = (row[1 + x], row[2 - x]);
        let all = own * p + rest * q;
        // If only one value can produce the output, its sender's value is known, even where the probability
        // underflows.
        let (holds, not) = match (own == 0.0, rest == 0.0) {
            (true, _) => (0.0, 1.0),
            (_, true) => (1.0, 0.0),
            _ => (own * p / all, rest * q / all),
        };
        (mean + row[0] * holds, variance + row[0] * holds * not)
    };
    rows.iter().fold((silent * p, silent * p * q), add)
}

/// The posterior density of `P_x` with respect to its log-odds; its integral is the evidence.
fn density(rows: &[[f64; 3]], x: usize, alpha: f64, other: f64) -> Marginal<'_> {
    let ln_factor = move |ln_p: f64, ln_q: f64| {
        let (p, q) = (ln_p.exp(), ln_q.exp());
        let term = |row: &[f64; 3]| {
            let (own, rest) = (row[1 + x], row[2 - x]);
            // If one value never produces the output, the logarithm of the other's share keeps its digits.
            row[0]
                * if rest == 0.0 {
                    own.ln() + ln_p
                } else if own == 0.0 {
                    rest.ln() + ln_q
                } else {
                    (own * p + rest * q).ln()
                }
        };
        rows.iter().map(term).sum::<f64>()
    };
    Marginal::new((alpha, other), Box::new(ln_factor))
}

/// Independent draws by inverting the distribution function.
fn draws(likelihood: &SparseRows, first: &Mixture<'_>, options: &PosteriorOptions<'_>) -> Draws {
    let draw = |i: usize| {
        let rng = &mut generator(options.seed, i as u64);
        let p_0 = first.quantile(rng.random::<f64>());
        let p = vec![p_0, 1.0 - p_0];
        let t = likelihood.sample_tallies(&p, rng);
        (p, t)
    };
    Draws::independent((0..options.enough_draws(2)).into_par_iter().map(draw).unzip())
}
