//! Generalised randomised response reported several times: only how often each value was named matters.

use super::row::row_of_deviations;
use super::{GroupedPrior, row};
use crate::model::evaluation::Evaluation;
use crate::numerics::special::{exp_difference, ln_gamma};
use crate::numerics::stop::check;

/// Most count profiles that are visited: about a second.
const MOST_PROFILES: u64 = 1 << 16;

/// Several reports of randomised response about one of `a` values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedResponse {
    /// Number of values.
    pub a: usize,
    /// `ε` of the permanent report, if there is one.
    pub permanent: Option<f64>,
    /// `ε` of each report.
    pub each: f64,
}

impl RepeatedResponse {
    /// The LDP level after `rounds` reports, largest where all of them name the same value.
    ///
    /// # Definition
    /// With `T = e^{Kε'}` and `β = e^ε − 1` it is `ln(1 + β(T−1)/(β + T + a − 1))`, and `K ε'` without a permanent report.
    ///
    /// # Method
    /// Reports with counts `n_z` and `S = Σ_z e^{ε' n_z}` have the likelihood ratio `1 + β (u − w)/((β+1) w + u + rest)` between
    /// two values, where `u = e^{ε' n_x}`, `w = e^{ε' n_x'}` and `rest ≥ a − 2`. It increases with `u` and decreases with the
    /// others, and `n_x = K` has the best of all three at once.
    pub fn level(&self, rounds: u64) -> Evaluation {
        let spent = rounds as f64 * self.each;
        let Some(epsilon) = self.permanent else { return Evaluation::closed_form(spent, 4) };
        let (beta, inverse) = (epsilon.exp_m1(), (-spent).exp());
        let gain = beta * -(-spent).exp_m1() / (1.0 + (beta + self.a as f64 - 1.0) * inverse);
        Evaluation::closed_form(gain.ln_1p(), 16)
    }

    /// Leakage of `rounds` reports under a prior that treats all values alike; `None` if there are too many count profiles.
    ///
    /// # Method and cost
    /// One integral for each partition of `rounds` into at most `a` counts, of which 10 rounds have 42 and 40 rounds 37 338,
    /// for any number of values.
    ///
    /// # Panics
    /// If the prior does not treat all values alike.
    pub fn leakage(&self, rounds: u64, prior: &GroupedPrior) -> Option<Evaluation> {
        let [group] = &prior.groups[..] else { panic!("the values do not have equal prior mass") };
        if self.profiles(rounds)? > MOST_PROFILES {
            return None;
        }
        let mut sum = Evaluation::closed_form(0.0, 0);
        let mut counts = Vec::new();
        for_each_partition(rounds, rounds, self.a, &mut counts, &mut |counts| {
            check();
            sum = sum.plus(self.profile(rounds, counts, group.mass, prior.is_point));
        });
        Some(sum)
    }

    /// The number of partitions of `rounds` into at most `a` parts; `None` if it is astronomical.
    fn profiles(&self, rounds: u64) -> Option<u64> {
        let rounds = usize::try_from(rounds).ok().filter(|rounds| *rounds <= 4096)?;
        let mut ways = vec![0u64; rounds + 1];
        ways[0] = 1;
        // Partitions into at most a parts are as many as those into parts of at most a.
        for part in 1..=self.a.min(rounds) {
            for total in part..=rounds {
                ways[total] = ways[total].saturating_add(ways[total - part]);
            }
        }
        Some(ways[rounds])
    }

    /// The leakage of all reports whose counts are these in some order.
    fn profile(&self, rounds: u64, counts: &[u64], mass: f64, is_point: bool) -> Evaluation {
        let mut groups: Vec<(u64, u64)> = Vec::new();
        for &count in counts {
            match groups.last_mut() {
                Some((last, values)) if *last == count => *values += 1,
                _ => groups.push((count, 1)),
            }
        }
        let unnamed = (self.a - counts.len()) as u64;
        groups.extend((unnamed > 0).then_some((0, unnamed)));
        let ln_factorial = |n: u64| ln_gamma(n as f64 + 1.0);
        let most = groups[0].0;
        let fewest = groups[groups.len() - 1].0;
        // ε' (n − max n), so that nothing overflows.
        let ln_weight = |count: u64| -self.each * (most - count) as f64;
        let sum: f64 = groups.iter().map(|&(count, values)| values as f64 * ln_weight(count).exp()).sum();
        let ln_total = (self.each.exp_m1() + self.a as f64).ln();
        let ln_theta = ln_factorial(self.a as u64) - groups.iter().map(|g| ln_factorial(g.1)).sum::<f64>()
            + ln_factorial(rounds)
            - counts.iter().map(|n| ln_factorial(*n)).sum::<f64>()
            + sum.ln()
            + self.each * most as f64
            - rounds as f64 * ln_total
            - (self.a as f64).ln();
        let theta = ln_theta.exp();
        let above = |count: u64| {
            let difference = self.each * (count - fewest) as f64;
            exp_difference(ln_weight(count), ln_weight(fewest), difference)
        };
        let pair =
            |&(count, values): &(u64, u64), form: &dyn Fn(u64) -> f64| (values as f64 * mass, form(count));
        let pairs =
            |form: &dyn Fn(u64) -> f64| groups.iter().map(|group| pair(group, form)).collect::<Vec<_>>();
        let leakage = match self.permanent {
            Some(epsilon) => {
                let beta = epsilon.exp_m1();
                let least = sum + beta * ln_weight(fewest).exp();
                row_of_deviations(theta, &pairs(&|count| beta * above(count) / least), is_point)
            }
            None if self.each * ((most - fewest) as f64) < 30.0 => {
                let deviation = |count| (self.each * (count - fewest) as f64).exp_m1();
                row_of_deviations(theta, &pairs(&deviation), is_point)
            }
            None => {
                // The mean of the likelihoods is theta.
                let scale = theta * self.a as f64 / sum;
                row(&pairs(&|count| scale * ln_weight(count).exp()), is_point)
            }
        };
        // Logarithms of factorials limit the accuracy of theta.
        let rounding = 8.0 * f64::EPSILON * (ln_factorial(rounds) + ln_factorial(self.a as u64) + 4.0);
        Evaluation { error: leakage.error + rounding * leakage.value, ..leakage }
    }
}

/// Calls `visit` with each partition of `total` into at most `parts` parts of at most `largest`, descending.
fn for_each_partition(
    total: u64,
    largest: u64,
    parts: usize,
    counts: &mut Vec<u64>,
    visit: &mut impl FnMut(&[u64]),
) {
    if total == 0 {
        return visit(counts);
    }
    if parts == 0 {
        return;
    }
    for part in (total.div_ceil(parts as u64)..=largest.min(total)).rev() {
        counts.push(part);
        for_each_partition(total - part, part, parts - 1, counts, visit);
        counts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_counted_and_visited() {
        for (a, rounds, expected) in [(2, 10, 6), (3, 6, 7), (50, 10, 42), (50, 40, 37_338)] {
            let response = RepeatedResponse { a, permanent: None, each: 1.0 };
            let mut visited = 0;
            for_each_partition(rounds, rounds, a, &mut vec![], &mut |_| visited += 1);
            assert_eq!((response.profiles(rounds), visited), (Some(expected), expected));
        }
    }

    #[test]
    fn the_profiles_are_all_reports() {
        for permanent in [None, Some(1.0)] {
            // Without noise on the permanent report, all that is left of the leakage is the entropy.
            let response = RepeatedResponse { a: 5, permanent, each: 60.0 };
            let prior = GroupedPrior::dirichlet_groups(&[(0.5, 5)]);
            let found = response.leakage(3, &prior).unwrap();
            let expected = match permanent {
                None => crate::leakage::user_entropy(&prior),
                Some(epsilon) => crate::leakage::randomised_response(epsilon, &prior),
            };
            assert!((found.value - expected.value).abs() < 1e-13, "{found:?} {expected:?}");
        }
    }
}
