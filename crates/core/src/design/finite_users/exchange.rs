//! The exchange algorithm of experimental design: weight moves to or from one part of a mixture at a time, as long as that helps.

use std::cell::Cell;

use crate::model::error::{Error, Result};
use crate::model::protocol::Protocol;
use crate::numerics::search::maximum;
use crate::numerics::stop::check;

/// A round over all parts that gains less ends the search, in nats.
const LEAST_GAIN: f64 = 1e-3;

/// Most rounds.
const ROUNDS: usize = 6;

/// The steps toward a part that are tried before a line search.
const TRIAL_STEPS: [f64; 2] = [0.15, 0.02];

/// The width at which a line search ends.
const STEP: f64 = 0.005;

/// Weights are rounded to this many parts of 1.
const WEIGHT_PARTS: f64 = 1e4;

/// A mixture and its value.
pub(super) struct Found {
    pub protocol: Protocol,
    pub value: f64,
    /// How many protocols were evaluated.
    pub evaluated: usize,
    pub interrupted: bool,
}

/// Mixtures of some protocols, judged by a function.
pub(super) struct Exchange<'a> {
    parts: Vec<Protocol>,
    value: &'a dyn Fn(&Protocol) -> Option<f64>,
    /// Hears how many protocols were evaluated; whether to stop.
    is_interrupted: &'a dyn Fn(usize) -> bool,
    evaluated: Cell<usize>,
    interrupted: Cell<bool>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        parts: Vec<Protocol>,
        value: &'a dyn Fn(&Protocol) -> Option<f64>,
        is_interrupted: &'a dyn Fn(usize) -> bool,
    ) -> Self {
        Exchange { parts, value, is_interrupted, evaluated: Cell::new(0), interrupted: Cell::new(false) }
    }

    /// A mixture that no exchange makes better, or the best one when the search was interrupted.
    ///
    /// # Errors
    /// No part has a value.
    pub(super) fn best(&self) -> Result<Found> {
        let (mut weights, mut best) = self.best_part()?;
        for _ in 0..ROUNDS {
            let before = best;
            for part in 0..self.parts.len() {
                check();
                if self.interrupted.get() {
                    return self.found(&weights, best);
                }
                if let Some((moved, value)) = self.exchanged(&weights, part, best) {
                    (weights, best) = (moved, value);
                }
            }
            if best - before < LEAST_GAIN {
                break;
            }
        }
        self.found(&weights, best)
    }

    /// All weight on the best part.
    fn best_part(&self) -> Result<(Vec<f64>, f64)> {
        let alone = |part: usize| (0..self.parts.len()).map(|j| f64::from(u8::from(j == part))).collect();
        let valued = (0..self.parts.len()).map(alone).map(|weights: Vec<f64>| {
            let value = self.of(&weights);
            (weights, value)
        });
        let best = valued.max_by(|l, r| l.1.total_cmp(&r.1)).ok_or(Error::DesignNotConverged)?;
        if best.1 == f64::NEG_INFINITY { Err(Error::DesignNotConverged) } else { Ok(best) }
    }

    /// The best weights on the line through all weight on `part`, if they are better than `best`.
    fn exchanged(&self, weights: &[f64], part: usize, best: f64) -> Option<(Vec<f64>, f64)> {
        let value = |step: f64| self.of(&toward(weights, part, step));
        let own = weights[part];
        // Away from the part at most until its weight is 0; toward it until all weight is there.
        let least = if own < 1.0 { -own / (1.0 - own) } else { 0.0 };
        let trials = TRIAL_STEPS.into_iter().chain((own > 0.0 && own < 1.0).then_some(0.5 * least));
        let helps = trials.into_iter().any(|step| value(step) > best);
        if !helps || own == 1.0 {
            return None;
        }
        let step = maximum(least, 1.0, STEP, value);
        let moved = rounded(&toward(weights, part, step));
        let found = self.of(&moved);
        (found > best).then_some((moved, found))
    }

    fn of(&self, weights: &[f64]) -> f64 {
        // The first part always has a value, so that there is something to return.
        if self.evaluated.get() > 0 && (self.interrupted.get() || (self.is_interrupted)(self.evaluated.get()))
        {
            self.interrupted.set(true);
            return f64::NEG_INFINITY;
        }
        self.evaluated.set(self.evaluated.get() + 1);
        let value = self.mixture(weights).ok().and_then(|protocol| (self.value)(&protocol));
        value.filter(|value| !value.is_nan()).unwrap_or(f64::NEG_INFINITY)
    }

    fn found(&self, weights: &[f64], value: f64) -> Result<Found> {
        let (evaluated, interrupted) = (self.evaluated.get(), self.interrupted.get());
        Ok(Found { protocol: self.mixture(weights)?, value, evaluated, interrupted })
    }

    /// The mixture, without mixtures inside it; one part alone is itself.
    fn mixture(&self, weights: &[f64]) -> Result<Protocol> {
        let mut flat: Vec<(f64, &Protocol)> = Vec::new();
        let mut add = |weight: f64, part| match flat.iter_mut().find(|(_, known)| *known == part) {
            Some((known, _)) => *known += weight,
            None => flat.push((weight, part)),
        };
        for (weight, part) in weights.iter().zip(&self.parts).filter(|(weight, _)| **weight > 0.0) {
            match part {
                Protocol::Mixture(inner) => {
                    inner
                        .weights()
                        .iter()
                        .zip(inner.parts())
                        .for_each(|(share, part)| add(weight * share, part));
                }
                part => add(*weight, part),
            }
        }
        if let [(_, alone)] = flat[..] {
            return Ok(alone.clone());
        }
        Protocol::mixture(
            flat.iter().map(|(w, _)| *w).collect(),
            flat.iter().map(|(_, p)| (*p).clone()).collect(),
        )
    }
}

/// `(1 − t) w + t e_part`.
fn toward(weights: &[f64], part: usize, step: f64) -> Vec<f64> {
    let moved = |(j, weight): (usize, &f64)| (1.0 - step) * weight + if j == part { step } else { 0.0 };
    weights.iter().enumerate().map(moved).map(|weight| weight.max(0.0)).collect()
}

/// Weights that a person can read, with the sum 1.
fn rounded(weights: &[f64]) -> Vec<f64> {
    let mut rounded: Vec<f64> = weights.iter().map(|w| (w * WEIGHT_PARTS).round() / WEIGHT_PARTS).collect();
    let largest = (0..rounded.len()).max_by(|l, r| rounded[*l].total_cmp(&rounded[*r])).unwrap_or(0);
    let others: f64 = rounded.iter().enumerate().filter(|(j, _)| *j != largest).map(|(_, w)| w).sum();
    rounded[largest] = 1.0 - others;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A concave function of the weights of a mixture, largest at 0.3 and 0.7.
    #[test]
    fn the_best_mixture_is_found() {
        let parts: Vec<Protocol> = (1..4).map(|k| Protocol::subset(5, k, 1.0).unwrap()).collect();
        let weight = |protocol: &Protocol, size: usize| match protocol {
            Protocol::Mixture(mixture) => {
                let is_it = |part: &Protocol| *part == Protocol::subset(5, size, 1.0).unwrap();
                let known = mixture.parts().iter().zip(mixture.weights());
                known.filter(|(part, _)| is_it(part)).map(|(_, w)| *w).sum()
            }
            part => f64::from(u8::from(*part == Protocol::subset(5, size, 1.0).unwrap())),
        };
        let value = |protocol: &Protocol| {
            let (first, third) = (weight(protocol, 1), weight(protocol, 3));
            Some(-(first - 0.3).powi(2) - (third - 0.7).powi(2))
        };
        let found = Exchange::new(parts, &value, &|_| false).best().unwrap();
        assert!(found.value > -2e-3, "{:?}", found.protocol);
        let stopped = Exchange::new(vec![Protocol::grr(3, 1.0).unwrap()], &|_| Some(1.0), &|_| true).best();
        let stopped = stopped.unwrap();
        assert!(stopped.interrupted && stopped.protocol == Protocol::grr(3, 1.0).unwrap());
        let unknown = Exchange::new(vec![Protocol::grr(3, 1.0).unwrap()], &|_| None, &|_| false).best();
        assert!(matches!(unknown, Err(Error::DesignNotConverged)));
    }
}
