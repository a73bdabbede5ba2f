//! Random numbers: the generator of each draw, and the distributions that draws are made of.
//!
//! Draw number `i` of a computation uses stream `i` of a ChaCha8 generator with the given seed. So an answer depends on the seed and not on the number of threads.

use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution as _, Gamma};

use super::special::ln_sum_exp;
use super::stop;

/// The generator of one draw. All draws begin here, so this is where a run may end.
pub(crate) fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    stop::check();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Draws the tally of `n` independent values with the given (not necessarily normalised) probabilities.
pub(crate) fn multinomial(n: u64, q: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
    let mut rest_mass: f64 = q.iter().sum();
    let mut rest = n;
    let last = q.iter().rposition(|q| *q > 0.0).unwrap_or(0);
    let mut draw = |(y, q_y): (usize, &f64)| {
        let share = if y == last { 1.0 } else { (q_y / rest_mass).clamp(0.0, 1.0) };
        let count = binomial(rest, share, rng);
        (rest, rest_mass) = (rest - count, rest_mass - q_y);
        count
    };
    q.iter().enumerate().map(&mut draw).collect()
}

/// Draws a binomial number.
pub(crate) fn binomial(n: u64, p: f64, rng: &mut dyn Rng) -> u64 {
    match Binomial::new(n, p) {
        Ok(distribution) if n > 0 => distribution.sample(rng),
        _ => 0,
    }
}

/// Draws an index with the given probabilities, which sum to `total`.
pub(crate) fn pick(weights: &[f64], total: f64, rng: &mut dyn Rng) -> usize {
    let mut rest = rng.random::<f64>() * total;
    let hit = weights.iter().position(|w| {
        rest -= w;
        rest < 0.0
    });
    hit.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(0)
}

/// A draw of `ln P` under the Dirichlet distribution with the given parameters. Stays finite where `P_x` itself would be rounded to zero.
pub(crate) fn sample_ln_dirichlet(alpha: impl Iterator<Item = f64>, rng: &mut dyn Rng) -> Vec<f64> {
    let ln_gammas: Vec<f64> = alpha.map(|alpha_x| sample_ln_gamma(alpha_x, rng)).collect();
    let ln_sum = ln_sum_exp(&ln_gammas);
    ln_gammas.into_iter().map(|ln_gamma| ln_gamma - ln_sum).collect()
}

/// A draw of `P` under the Dirichlet distribution with the given parameters.
pub(crate) fn sample_dirichlet(alpha: impl Iterator<Item = f64>, rng: &mut dyn Rng) -> Vec<f64> {
    sample_ln_dirichlet(alpha, rng).into_iter().map(f64::exp).collect()
}

/// `ln` of a Gamma(`alpha`) draw: a Gamma(`alpha + 1`) draw times `U^{1/alpha}`, which underflows for small `alpha` only
/// after the logarithm is taken.
pub(crate) fn sample_ln_gamma(alpha: f64, rng: &mut dyn Rng) -> f64 {
    // Unwrap safety: a valid Dirichlet has positive finite parameters.
    let boosted = Gamma::new(alpha + 1.0, 1.0).unwrap().sample(rng).ln();
    boosted + (1.0 - rng.random::<f64>()).ln() / alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words behind every golden value that was drawn: another generator must have them too, and take them in the same pieces.
    #[test]
    fn known_words() {
        for (seed, stream, wanted) in [
            (
                0,
                0,
                [0xb585_f767_a79a_3b6c, 0x7746_a55f_bad8_c037, 0x66bb_d30e_d39c_b892, 0x4a20_3585_be65_8446],
            ),
            (
                7,
                1,
                [0xfdfa_d737_a8d7_aac7, 0x0251_3177_1b7a_4e55, 0xb2b3_3019_329c_33f9, 0x1e75_6cb5_49e2_9cd9],
            ),
        ] {
            let mut rng = generator(seed, stream);
            let words: Vec<u64> = (0..300).map(|_| rng.next_u64()).collect();
            assert_eq!([words[0], words[1], words[32], words[299]], wanted, "{seed} {stream}");
        }
        let (mut rng, mut bytes) = (ChaCha8Rng::seed_from_u64(7), [0; 5]);
        assert_eq!((rng.next_u32(), rng.next_u64()), (0x23d7_43bb, 0x2e9b_293a_2865_5334));
        rng.fill_bytes(&mut bytes);
        assert_eq!((bytes, rng.next_u32()), ([0xd3, 0x59, 0x01, 0x2b, 0x31], 0xb44b_70b9));
    }
}
