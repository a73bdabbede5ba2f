//! What people ask of a distribution: a group's share, a mean, a quantile, a rank, and differences and ratios of these.
//!
//! A [`Functional`] is plain data, a rule from a distribution `P` to a number. Its posterior is in [`super::answer`].
//!
//! ```text
//! share of a group    Σ_{x in G} P_x
//! mean of scores      Σ_x s_x P_x
//! quantile of bins    the z with F(z) = q, where each value is spread evenly over its bin
//! rank of a value     1 + how many values have a larger share
//! difference, ratio   f(P) − g(P), f(P)/g(P)
//! ```

use crate::model::error::{Error, Result, in_range};

/// A rule from a distribution of `a` values to a number.
///
/// ```
/// use sottovoce::posterior::Functional;
///
/// let young = Functional::share(3, &[0, 1])?;
/// assert_eq!(young.of(&[0.25, 0.5, 0.25]), 0.75);
/// let old = Functional::share(3, &[2])?;
/// assert_eq!(young.over(old)?.of(&[0.25, 0.5, 0.25]), 3.0);
/// # Ok::<(), sottovoce::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Functional {
    inputs: usize,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// `Σ_x w_x P_x`.
    Linear(Vec<f64>),
    Quantile {
        probability: f64,
        bins: Vec<Bin>,
    },
    Rank(usize),
    Difference(Box<[Form; 2]>),
    Ratio(Box<[Form; 2]>),
}

/// A bin with the values that it holds.
#[derive(Clone, Debug, PartialEq)]
struct Bin {
    low: f64,
    high: f64,
    values: Vec<usize>,
}

impl Functional {
    /// The share of a group of the `a` values. Values that occur twice count once.
    ///
    /// # Errors
    /// A value does not exist.
    pub fn share(a: usize, group: &[usize]) -> Result<Self> {
        let mut weights = vec![0.0; a];
        for x in group {
            weights[checked(*x, a)?] = 1.0;
        }
        Ok(Functional { inputs: a, form: Form::Linear(weights) })
    }

    /// The mean of scores, one for each value.
    ///
    /// # Errors
    /// A score is not finite, or there are none.
    pub fn mean(scores: Vec<f64>) -> Result<Self> {
        if scores.is_empty() {
            return Err(Error::Empty { name: "scores" });
        }
        for score in &scores {
            in_range("score", *score, f64::is_finite, "finite")?;
        }
        Ok(Functional { inputs: scores.len(), form: Form::Linear(scores) })
    }

    /// The quantile for this probability of a number whose values are bins `(low, high)`, spread evenly within each; a bin may be a single
    /// number. Several values may have the same bin. Values without a bin are left out: the quantile is that of the others.
    ///
    /// # Errors
    /// The probability is not above 0 and below 1, a bin is empty or infinite, two of them overlap, or there are none.
    pub fn quantile(bins: &[Option<(f64, f64)>], probability: f64) -> Result<Self> {
        in_range("quantile", probability, |q| q > 0.0 && q < 1.0, "above 0 and below 1")?;
        let mut sorted: Vec<(f64, f64, usize)> = Vec::new();
        for (x, bin) in bins.iter().enumerate() {
            let Some((low, high)) = *bin else { continue };
            in_range("bin", low, f64::is_finite, "finite")?;
            in_range("bin", high, |high| high >= low && high.is_finite(), "at least the lower end")?;
            sorted.push((low, high, x));
        }
        sorted.sort_by(|l, r| l.0.total_cmp(&r.0).then(l.1.total_cmp(&r.1)));
        let mut found: Vec<Bin> = Vec::new();
        for (low, high, x) in sorted {
            match found.last_mut() {
                Some(last) if last.low == low && last.high == high => last.values.push(x),
                Some(last) if low < last.high => {
                    return Err(Error::OverlappingBins { first: last.values[0], second: x });
                }
                _ => found.push(Bin { low, high, values: vec![x] }),
            }
        }
        if found.is_empty() {
            return Err(Error::Empty { name: "bins" });
        }
        Ok(Functional { inputs: bins.len(), form: Form::Quantile { probability, bins: found } })
    }

    /// The rank of a value among `a`: 1 for the most common one. Equal shares have their mean rank.
    ///
    /// # Errors
    /// The value does not exist.
    pub fn rank(a: usize, x: usize) -> Result<Self> {
        Ok(Functional { inputs: a, form: Form::Rank(checked(x, a)?) })
    }

    /// The difference of two functionals of the same distribution.
    ///
    /// # Errors
    /// They are about different numbers of values.
    pub fn minus(self, other: Self) -> Result<Self> {
        Ok(Functional {
            inputs: self.alike(&other)?,
            form: Form::Difference(Box::new([self.form, other.form])),
        })
    }

    /// The ratio of two functionals of the same distribution.
    ///
    /// # Errors
    /// They are about different numbers of values.
    pub fn over(self, other: Self) -> Result<Self> {
        Ok(Functional { inputs: self.alike(&other)?, form: Form::Ratio(Box::new([self.form, other.form])) })
    }

    fn alike(&self, other: &Self) -> Result<usize> {
        checked_inputs(self.inputs, other.inputs)
    }

    /// The number of values `a`.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number for one distribution.
    pub fn of(&self, p: &[f64]) -> f64 {
        self.form.of(p)
    }

    /// The number that it is compared with: 0 for a difference, 1 for a ratio.
    pub fn reference(&self) -> Option<f64> {
        match self.form {
            Form::Difference(_) => Some(0.0),
            Form::Ratio(_) => Some(1.0),
            _ => None,
        }
    }

    /// The weights `w` of `Σ_x w_x P_x`, if it is linear.
    pub(super) fn weights(&self) -> Option<Vec<f64>> {
        self.form.weights()
    }

    /// A group and a group that contains it, if it is the ratio of their shares; the share of a group is its ratio to
    /// all values.
    pub(super) fn nested(&self) -> Option<(Vec<bool>, Vec<bool>)> {
        let group = |form: &Form| match form {
            Form::Linear(weights) if weights.iter().all(|w| *w == 0.0 || *w == 1.0) => {
                Some(weights.iter().map(|w| *w == 1.0).collect::<Vec<bool>>())
            }
            _ => None,
        };
        let (inner, outer) = match &self.form {
            Form::Ratio(parts) => (group(&parts[0])?, group(&parts[1])?),
            form => (group(form)?, vec![true; self.inputs]),
        };
        inner.iter().zip(&outer).all(|(i, o)| *o || !*i).then_some((inner, outer))
    }
}

impl Form {
    fn of(&self, p: &[f64]) -> f64 {
        match self {
            Form::Linear(weights) => weights.iter().zip(p).map(|(w, p)| w * p).sum(),
            Form::Quantile { probability, bins } => quantile(bins, *probability, p),
            Form::Rank(x) => {
                let (larger, equal) = standing(p, *x);
                larger as f64 + 0.5 * (1 + equal) as f64
            }
            Form::Difference(parts) => parts[0].of(p) - parts[1].of(p),
            Form::Ratio(parts) => ratio(parts[0].of(p), parts[1].of(p)),
        }
    }

    fn weights(&self) -> Option<Vec<f64>> {
        match self {
            Form::Linear(weights) => Some(weights.clone()),
            Form::Difference(parts) => {
                let (left, right) = (parts[0].weights()?, parts[1].weights()?);
                Some(left.iter().zip(right).map(|(l, r)| l - r).collect())
            }
            _ => None,
        }
    }
}

/// How many shares are larger than that of `x`, and how many are equal to it, its own included.
pub(super) fn standing(p: &[f64], x: usize) -> (usize, usize) {
    let larger = p.iter().filter(|other| **other > p[x]).count();
    (larger, p.iter().filter(|other| **other == p[x]).count())
}

/// A ratio, where a share below the smallest number counts as that number.
pub(super) fn ratio(above: f64, below: f64) -> f64 {
    let floored = |value: f64| if value == 0.0 { f64::MIN_POSITIVE } else { value };
    floored(above) / floored(below)
}

fn quantile(bins: &[Bin], probability: f64, p: &[f64]) -> f64 {
    let mass = |bin: &Bin| bin.values.iter().map(|x| p[*x]).sum::<f64>();
    let mut rest = probability * bins.iter().map(mass).sum::<f64>();
    for bin in bins {
        let mass = mass(bin);
        if mass > 0.0 && rest <= mass {
            return bin.low + rest / mass * (bin.high - bin.low);
        }
        rest -= mass;
    }
    // Rounding has used up all bins.
    bins[bins.len() - 1].high
}

fn checked(x: usize, a: usize) -> Result<usize> {
    match x < a {
        true => Ok(x),
        false => Err(Error::Count { name: "value", value: x, low: 0, high: a.saturating_sub(1) }),
    }
}

/// The number of values, if both are the same.
pub(super) fn checked_inputs(found: usize, expected: usize) -> Result<usize> {
    match found == expected {
        true => Ok(found),
        false => Err(Error::FunctionalSize { found, expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_need_no_order_and_may_have_gaps() {
        let bins = [Some((30.0, 40.0)), Some((0.0, 10.0)), None, Some((10.0, 20.0))];
        let p = [0.25, 0.25, 0.5, 0.0];
        let at = |q| Functional::quantile(&bins, q).unwrap().of(&p);
        assert_eq!((at(0.25), at(0.5), at(0.75)), (5.0, 10.0, 35.0));
        let numbers = [Some((1.0, 1.0)), Some((2.0, 2.0)), Some((3.0, 3.0))];
        assert_eq!(Functional::quantile(&numbers, 0.5).unwrap().of(&[0.4, 0.2, 0.4]), 2.0);
    }

    #[test]
    fn what_is_not_valid_is_refused() {
        let overlapping = Functional::quantile(&[Some((0.0, 10.0)), Some((5.0, 20.0))], 0.5);
        assert_eq!(overlapping, Err(Error::OverlappingBins { first: 0, second: 1 }));
        for q in [0.0, 1.0, f64::NAN] {
            assert!(Functional::quantile(&[Some((0.0, 1.0))], q).is_err());
        }
        assert!(Functional::quantile(&[Some((1.0, 0.0))], 0.5).is_err());
        assert!(Functional::quantile(&[None], 0.5).is_err());
        assert!(Functional::share(3, &[3]).is_err() && Functional::rank(3, 3).is_err());
        assert!(Functional::mean(vec![f64::NAN]).is_err());
        let (two, three) = (Functional::share(2, &[0]).unwrap(), Functional::share(3, &[0]).unwrap());
        assert_eq!(two.minus(three), Err(Error::FunctionalSize { found: 2, expected: 3 }));
    }

    #[test]
    fn equal_shares_have_their_mean_rank() {
        let rank = |x: usize| Functional::rank(4, x).unwrap().of(&[0.2, 0.4, 0.2, 0.2]);
        assert_eq!((rank(1), rank(0)), (1.0, 3.0));
    }
}
