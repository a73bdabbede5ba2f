//! How many of `n` reports of subset selection support each input, drawn without a single report.
//!
//! A reported set is uniform among all `k`-subsets with probability `1/(1 + (e^ε − 1) k/a)`, and otherwise among those that hold the user's own value,
//! since `Q_{y|x} ∝ 1 + (e^ε − 1) [x ∈ y]`. Input after input is then decided for all users at once. Of a user only two things matter: how many members the set still
//! lacks, and whether its own value, which it must hold, is yet to come:
//!
//! ```text
//! free     lacks j of the a − z inputs that are left              holds z with probability j/(a − z)
//! pending  lacks j of the a − z − 1 that are not its own value    owns z with probability p_z/(p_z + … + p_{a−1}), else holds it with probability j/(a − z − 1)
//! ```
//!
//! Users in the same state are alike, so one binomial number each says how many move on: `O(a k)` draws, however many users.

use rand::Rng;

use crate::model::protocol::{Channel, SubsetSelection};
use crate::numerics::random::binomial;
use crate::numerics::stop::check;

/// The supports of `n` reports of users whose values have distribution `p`.
pub(super) fn supports(subset: &SubsetSelection, n: u64, p: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
    let (a, k) = (subset.inputs(), subset.size());
    let uniform = 1.0 / (1.0 + subset.epsilon().exp_m1() * k as f64 / a as f64);
    // By how many members are lacking.
    let (mut free, mut pending) = (vec![0; k + 1], vec![0; k + 1]);
    free[k] = binomial(n, uniform, rng);
    pending[k - 1] = n - free[k];
    let last = p.iter().rposition(|p_x| *p_x > 0.0).unwrap_or(0);
    let mut rest: f64 = p.iter().sum();
    let mut support = |z: usize| {
        let owned = if z == last { 1.0 } else { (p[z] / rest).clamp(0.0, 1.0) };
        rest -= p[z];
        let owners = own(&mut pending, owned, rng);
        let held = hold(&mut pending, a - z - 1, rng) + hold(&mut free, a - z, rng);
        free.iter_mut().zip(&owners).for_each(|(free, owners)| *free += owners);
        held + owners.iter().sum::<u64>()
    };
    (0..a).map(&mut support).collect()
}

/// Takes out the users who own the next input, by how many members their sets lack.
fn own(pending: &mut [u64], owned: f64, rng: &mut dyn Rng) -> Vec<u64> {
    let mut of_state = |users: &mut u64| {
        let owners = binomial(*users, owned, rng);
        *users -= owners;
        owners
    };
    pending.iter_mut().map(&mut of_state).collect()
}

/// How many of the users hold the next of the `left` inputs that their sets may hold; these then lack one member less.
fn hold(users: &mut [u64], left: usize, rng: &mut dyn Rng) -> u64 {
    let mut sum = 0;
    for lacking in 1..users.len() {
        check();
        let holders = binomial(users[lacking], (lacking as f64 / left as f64).min(1.0), rng);
        users[lacking] -= holders;
        users[lacking - 1] += holders;
        sum += holders;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::protocol::Protocol;
    use crate::numerics::random::generator;

    /// The probabilities of all supports of three reports, from all triples of sets: what users report one after another.
    fn law(protocol: &Protocol, p: &[f64]) -> BTreeMap<Vec<u64>, f64> {
        let q = protocol.push_forward(p).unwrap();
        let mut law = BTreeMap::new();
        for triple in (0..q.len().pow(3)).map(|i| [i % q.len(), i / q.len() % q.len(), i / q.len().pow(2)]) {
            let mut supports = vec![0; p.len()];
            let outputs = triple.map(|row| protocol.output(row));
            outputs.iter().for_each(|output| {
                crate::model::protocol::supported(protocol, output).iter().for_each(|x| supports[*x] += 1);
            });
            *law.entry(supports).or_insert(0.0) += triple.iter().map(|row| q[*row]).product::<f64>();
        }
        law
    }

    /// χ² of the frequencies against the law, with rare supports taken together, as a normal deviate (Wilson and Hilferty).
    fn deviate(law: &BTreeMap<Vec<u64>, f64>, seen: &BTreeMap<Vec<u64>, u64>, draws: u64) -> f64 {
        let (mut chi, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
        let mut add = |expected: f64, found: f64| {
            chi += (found - expected).powi(2) / expected;
            cells += 1.0;
        };
        for (supports, probability) in law {
            let (expected, found) =
                (probability * draws as f64, seen.get(supports).map_or(0.0, |count| *count as f64));
            if expected >= 10.0 { add(expected, found) } else { rare = (rare.0 + expected, rare.1 + found) }
        }
        if rare.0 > 0.0 {
            add(rare.0.max(1e-9), rare.1);
        }
        let free: f64 = cells - 1.0;
        ((chi / free).cbrt() - (1.0 - 2.0 / (9.0 * free))) / (2.0 / (9.0 * free)).sqrt()
    }

    /// Eight laws, each a chi-square test at 4.5 standard deviations of one side: the false-alarm rate is below 1e-4.
    #[test]
    fn sets_drawn_at_once_have_the_law_of_users_one_by_one() {
        let draws = 40_000;
        let places = [[0.4, 0.3, 0.2, 0.1], [0.0, 0.7, 0.0, 0.3], [0.0, 0.0, 1.0, 0.0]];
        for (k, epsilon, place) in [
            (1, 1.0, 0),
            (2, 0.5, 0),
            (3, 2.0, 0),
            (2, 3.0, 1),
            (3, 0.1, 1),
            (2, 1.0, 2),
            (3, 1.0, 2),
            (1, 2.0, 1),
        ] {
            let subset = SubsetSelection::new(4, k, epsilon).unwrap();
            let law = law(&Protocol::subset(4, k, epsilon).unwrap(), &places[place]);
            let mut seen = BTreeMap::new();
            for i in 0..draws {
                *seen.entry(supports(&subset, 3, &places[place], &mut generator(11, i))).or_insert(0) += 1;
            }
            assert!(seen.keys().all(|supports| law.contains_key(supports)), "k = {k}: impossible supports");
            let z = deviate(&law, &seen, draws);
            assert!(z < 4.5, "k = {k}, epsilon = {epsilon}, {:?}: {z}", places[place]);
        }
    }

    /// Where the reports say all: each user's own value and nothing else.
    #[test]
    fn certain_sets_hold_the_own_values() {
        let subset = SubsetSelection::new(5, 1, 100.0).unwrap();
        let found = supports(&subset, 1000, &[0.0, 1.0, 0.0, 0.0, 0.0], &mut generator(0, 0));
        assert_eq!(found, [0, 1000, 0, 0, 0]);
        let all = SubsetSelection::new(3, 3, 1.0).unwrap();
        assert_eq!(supports(&all, 9, &[0.2, 0.3, 0.5], &mut generator(0, 0)), [9, 9, 9]);
    }
}
