//! Expected errors of the estimates of a study, in closed form.
//!
//! Each report gives an unbiased vote for the shares of a table with `s` entries (the answers of a question, or the cells of a group), so that the linear
//! estimate from `n` reports has the typical error of one share
//! ```text
//! sqrt((K − m)/(s n)),   K = E|z_Y|²,   m = E Σ_c M_c²
//! ```
//! where `z_Y` is the vote and `M` the table, on average over the prior. For all protocols here `K` does not depend on the user's value:
//!
//! - a protocol on the table itself: `K = κ' + (s − 1) λ'`, with the second moments of a vote for a value that is, or is not, the user's;
//! - the margin of a protocol on all `A` combinations of answers: a share is the sum of `A/s` cells, whose covariances follow from the probabilities that a
//!   report supports two values at once;
//! - the cells, from one report on each question: the vote for a cell is the product of the votes for its answers, and `K` is the product.

use sottovoce::accuracy::{AccuracyOptions, Distance, Place, accuracy};
use sottovoce::estimate::{Estimator, SupportRates};
use sottovoce::{Prior, Protocol};

use super::groups::{Group, Study};
use crate::error::Result;
use crate::spec::PriorSpec;

/// What is expected of a group before any report: the moments `E Σ M²` of its tables.
#[derive(Clone, Debug)]
pub(crate) struct Beliefs {
    /// Of the answers to each question.
    questions: Vec<f64>,
    /// Of the cells.
    cells: f64,
}

impl Beliefs {
    /// What the prior says: that of the question, or Jeffreys'.
    pub(crate) fn of(study: &Study, group: &Group) -> Result<Self> {
        let prior = study.own_prior(group).unwrap_or(&PriorSpec::Jeffreys).build(group.inputs())?;
        let cells = second_moment(&prior)?;
        let margin = |j: usize| match group.questions.len() {
            1 => Ok(cells),
            // Only a single question has a prior that cannot be merged.
            _ => prior.merged(&group.projection(j))?.map_or(Ok(f64::NAN), |margin| second_moment(&margin)),
        };
        let questions = (0..group.questions.len()).map(margin).collect::<sottovoce::Result<Vec<f64>>>()?;
        Ok(Beliefs { questions, cells })
    }
}

/// `E Σ_x P_x²`: one true value has the expected squared error `1 − E Σ_x P_x²`.
fn second_moment(prior: &Prior) -> sottovoce::Result<f64> {
    let truth = Protocol::identity(prior.inputs())?;
    let options = AccuracyOptions::default();
    let found = accuracy(&truth, 1, Estimator::Linear, Distance::SquaredL2, Place::Prior(prior), &options)?;
    Ok(1.0 - found.evaluation.value)
}

/// The errors of a group's tables for one report; those of `n` reports are smaller by `√n`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Errors {
    /// Of a share of each question.
    pub questions: Vec<f64>,
    /// Of a cell, if there are several questions.
    pub cells: Option<f64>,
}

impl Errors {
    /// Those of one protocol on all combinations of answers; `None` if its reports support no values.
    pub(crate) fn of_whole(group: &Group, beliefs: &Beliefs, protocol: &Protocol) -> Option<Self> {
        let rates = SupportRates::of(protocol)?;
        let margin = |(size, moment): (&usize, &f64)| {
            coefficient(squared_margin(&rates, group.inputs() / size, *size), *moment, *size)
        };
        let questions = group.sizes.iter().zip(&beliefs.questions).map(margin).collect();
        Some(Errors::new(group, beliefs, questions, rates.squared_vote(group.inputs())))
    }

    /// Those of one protocol for each question, on its own answers.
    pub(crate) fn of_parts(group: &Group, beliefs: &Beliefs, protocols: &[Protocol]) -> Option<Self> {
        let squared =
            |(protocol, size): (&Protocol, &usize)| Some(SupportRates::of(protocol)?.squared_vote(*size));
        let squares = protocols.iter().zip(&group.sizes).map(squared).collect::<Option<Vec<f64>>>()?;
        let margin = |((square, moment), size): ((&f64, &f64), &usize)| coefficient(*square, *moment, *size);
        let questions = squares.iter().zip(&beliefs.questions).zip(&group.sizes).map(margin).collect();
        Some(Errors::new(group, beliefs, questions, squares.iter().product()))
    }

    fn new(group: &Group, beliefs: &Beliefs, questions: Vec<f64>, square: f64) -> Self {
        let several = group.questions.len() > 1;
        Errors { questions, cells: several.then(|| coefficient(square, beliefs.cells, group.inputs())) }
    }

    /// The largest of them.
    pub(crate) fn largest(&self) -> f64 {
        self.questions.iter().copied().chain(self.cells).fold(0.0, f64::max)
    }
}

fn coefficient(square: f64, moment: f64, size: usize) -> f64 {
    ((square - moment) / size as f64).sqrt()
}

/// `E|z_Y|²` of the sums of votes over `size` groups of `cells` values each.
fn squared_margin(rates: &SupportRates, cells: usize, size: usize) -> f64 {
    let (m, p, q) = (cells as f64, rates.own, rates.other);
    let unit = rates.difference * rates.difference;
    // The number of supported values in a group is N; its vote is (N − mλ)/(κ − λ).
    let variance = |mean: f64, square: f64| square - 2.0 * m * q * mean + (m * q).powi(2);
    let own = variance(
        p + (m - 1.0) * q,
        p + (m - 1.0) * q + 2.0 * (m - 1.0) * rates.own_and_other + (m - 1.0) * (m - 2.0) * rates.two_others,
    );
    let other = variance(m * q, m * q + m * (m - 1.0) * rates.two_others);
    (own + (size as f64 - 1.0) * other) / unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Written;
    use crate::study::{Question, StudyFile};

    /// A study of two linked questions with 2 and 3 answers.
    fn study() -> Study {
        let question = |name: &str, count: usize| Question {
            name: name.into(),
            text: None,
            column: None,
            labels: Some((0..count).map(|x| x.to_string()).collect()),
            bins: None,
            prior: None,
        };
        let file: StudyFile = serde_json::from_value(serde_json::json!({
            "version": 1,
            "question": [question("one", 2), question("two", 3)],
            "joint": [{"questions": ["one", "two"]}],
            "plan": {"epsilon": 1},
        }))
        .unwrap();
        Written::from(file).check().unwrap()
    }

    /// `P(set | x)` for all sets of `a` inputs, up to a factor.
    fn sets(protocol: &Protocol, a: usize, x: usize) -> Vec<(usize, f64)> {
        let holds = |set: usize, x: usize| set >> x & 1 == 1;
        let weight = |set: usize| match protocol {
            Protocol::GeneralisedRandomisedResponse(response) => {
                let lie = if set == 1 << x { response.epsilon().exp() } else { 1.0 };
                if set.count_ones() == 1 { lie } else { 0.0 }
            }
            Protocol::SubsetSelection(subset) => {
                let own = if holds(set, x) { subset.epsilon().exp() } else { 1.0 };
                if set.count_ones() as usize == subset.size() { own } else { 0.0 }
            }
            _ => {
                let rates = SupportRates::of(protocol).unwrap();
                let bit = |z: usize| {
                    let rate = if z == x { rates.own } else { rates.other };
                    if holds(set, z) { rate } else { 1.0 - rate }
                };
                (0..a).map(bit).product()
            }
        };
        let all: Vec<(usize, f64)> = (0..1 << a).map(|set| (set, weight(set))).collect();
        let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
        all.into_iter().map(|(set, weight)| (set, weight / sum)).collect()
    }

    /// The expected squared length of the votes for a margin, from all sets and all values of the user.
    fn enumerated(protocol: &Protocol, map: &[usize], size: usize) -> f64 {
        let (a, rates) = (map.len(), SupportRates::of(protocol).unwrap());
        let vote = |set: usize, x: usize| {
            let supported = f64::from(u8::from(set >> x & 1 == 1));
            (supported - rates.other) / rates.difference
        };
        let length = |set: usize| {
            let of = |c: usize| (0..a).filter(|x| map[*x] == c).map(|x| vote(set, x)).sum::<f64>().powi(2);
            (0..size).map(of).sum::<f64>()
        };
        let of_user = |x: usize| sets(protocol, a, x).iter().map(|(set, p)| p * length(*set)).sum::<f64>();
        (0..a).map(of_user).sum::<f64>() / a as f64
    }

    #[test]
    fn margins_agree_with_all_sets() {
        let study = study();
        let group = &study.groups[0];
        let beliefs = Beliefs::of(&study, group).unwrap();
        for protocol in [
            Protocol::grr(6, 1.3).unwrap(),
            Protocol::oue(6, 0.7).unwrap(),
            Protocol::rappor(6, 2.0).unwrap(),
            Protocol::subset(6, 2, 1.1).unwrap(),
            Protocol::subset(6, 3, 0.2).unwrap(),
        ] {
            let errors = Errors::of_whole(group, &beliefs, &protocol).unwrap();
            for (j, size) in [2, 3].into_iter().enumerate() {
                let map = group.projection(j);
                // Under Jeffreys' prior on 6 cells a margin is Dirichlet with parameters 3/size.
                let alpha = 3.0 / size as f64;
                let moment = size as f64 * alpha * (alpha + 1.0) / (3.0 * 4.0);
                let expected = ((enumerated(&protocol, &map, size) - moment) / size as f64).sqrt();
                assert!((errors.questions[j] / expected - 1.0).abs() < 1e-10, "{protocol:?} {j}");
            }
            let identity: Vec<usize> = (0..6).collect();
            let moment = 6.0 * 0.5 * 1.5 / (3.0 * 4.0);
            let expected = ((enumerated(&protocol, &identity, 6) - moment) / 6.0).sqrt();
            assert!((errors.cells.unwrap() / expected - 1.0).abs() < 1e-10, "{protocol:?}");
        }
    }

    /// The product of two randomised responses has one left inverse, so that the closed form is that of the numerical library.
    #[test]
    fn cells_of_two_reports_agree_with_the_product() {
        let study = study();
        let group = &study.groups[0];
        let beliefs = Beliefs::of(&study, group).unwrap();
        let parts = [Protocol::grr(2, 0.8).unwrap(), Protocol::grr(3, 1.5).unwrap()];
        let errors = Errors::of_parts(group, &beliefs, &parts).unwrap();
        let factor = |j: usize| {
            let projection = Protocol::deterministic(group.projection(j)).unwrap();
            Protocol::composition(vec![projection, parts[j].clone()]).unwrap()
        };
        let whole = Protocol::product(vec![factor(0), factor(1)]).unwrap();
        let prior = Prior::jeffreys(6).unwrap();
        let (distance, place) = (Distance::RootMeanSquare, Place::Prior(&prior));
        let found = accuracy(&whole, 1, Estimator::Linear, distance, place, &AccuracyOptions::default());
        let expected = found.unwrap().evaluation.value;
        assert!((errors.cells.unwrap() / expected - 1.0).abs() < 1e-9, "{errors:?} {expected}");
    }
}
