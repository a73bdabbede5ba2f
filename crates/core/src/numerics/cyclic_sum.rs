//! Sums of a sequence over all shifts of a set of residues: `O(v log v)` by the fast Fourier transform.

use std::fmt;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// With at most so many additions the sums are made one by one, each with a relative error of a few roundings.
const MAX_DIRECT: usize = 1 << 18;

/// Digits of a count that are summed at a time. With at most `2^22` residues sums stay below `2^42`, and the error
/// of the transform far below a half.
const LIMB_BITS: u32 = 20;

/// Sums over the shifts of a set `D` of residues modulo `v`.
#[derive(Clone)]
pub struct CyclicSum {
    v: usize,
    elements: Vec<u32>,
    /// The transform of the indicator of `D`, if it is used.
    spectrum: Option<Spectrum>,
}

#[derive(Clone)]
struct Spectrum {
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    of_set: Vec<Complex<f64>>,
}

impl fmt::Debug for CyclicSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CyclicSum").field("v", &self.v).finish_non_exhaustive()
    }
}

/// Which sums.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    /// `Σ_{d ∈ D} f_{y+d}`.
    Ahead,
    /// `Σ_{d ∈ D} f_{x−d}`.
    Back,
}

impl CyclicSum {
    /// Sums over the shifts of `elements`, residues modulo `v`.
    pub fn new(v: usize, elements: &[u32]) -> Self {
        let spectrum = (v * elements.len() > MAX_DIRECT).then(|| {
            let mut planner = RealFftPlanner::new();
            let (forward, inverse) = (planner.plan_fft_forward(v), planner.plan_fft_inverse(v));
            let mut indicator = vec![0.0; v];
            elements.iter().for_each(|d| indicator[*d as usize] = 1.0);
            let of_set = transform(&*forward, &mut indicator);
            Spectrum { forward, inverse, of_set }
        });
        CyclicSum { v, elements: elements.to_vec(), spectrum }
    }

    /// The same without transforms, in `O(vk)`: sums of positive numbers have a relative error of a few roundings.
    pub fn one_by_one(v: usize, elements: &[u32]) -> Self {
        CyclicSum { v, elements: elements.to_vec(), spectrum: None }
    }

    /// `Σ_{d ∈ D} f_{y+d}` for each `y`: what the block of each `y` holds. `values` beyond those given are 0.
    ///
    /// # Accuracy
    /// Absolute error of about `1e-15 · max(1, √(k Σ f²))`; not below 0 if no value is.
    pub fn ahead(&self, values: &[f64]) -> Vec<f64> {
        self.sums(values, Direction::Ahead)
    }

    /// `Σ_{d ∈ D} f_{x−d}` for each `x`: what the blocks that contain `x` are worth together.
    pub fn back(&self, values: &[f64]) -> Vec<f64> {
        self.sums(values, Direction::Back)
    }

    /// [`ahead`](Self::ahead) of whole numbers, exactly.
    pub fn ahead_counts(&self, counts: &[u64]) -> Vec<u64> {
        self.exact(counts, Direction::Ahead)
    }

    /// [`back`](Self::back) of whole numbers, exactly.
    pub fn back_counts(&self, counts: &[u64]) -> Vec<u64> {
        self.exact(counts, Direction::Back)
    }

    fn sums(&self, values: &[f64], direction: Direction) -> Vec<f64> {
        let Some(spectrum) = &self.spectrum else {
            let mut sums = vec![0.0; self.v];
            self.direct(values, direction, |y, value| sums[y] += value);
            return sums;
        };
        let mut sums = spectrum.sums(self.v, values, direction);
        if values.iter().all(|value| *value >= 0.0) {
            sums.iter_mut().for_each(|sum| *sum = sum.max(0.0));
        }
        sums
    }

    /// Calls `add` with each place and each value that counts there.
    fn direct<T: Copy>(&self, values: &[T], direction: Direction, mut add: impl FnMut(usize, T)) {
        for (at, value) in values.iter().enumerate() {
            for d in &self.elements {
                let d = *d as usize;
                let place = match direction {
                    Direction::Ahead => {
                        if at >= d {
                            at - d
                        } else {
                            at + self.v - d
                        }
                    }
                    Direction::Back => {
                        if at + d < self.v {
                            at + d
                        } else {
                            at + d - self.v
                        }
                    }
                };
                add(place, *value);
            }
        }
    }

    fn exact(&self, counts: &[u64], direction: Direction) -> Vec<u64> {
        let mut sums = vec![0; self.v];
        let Some(spectrum) = &self.spectrum else {
            self.direct(counts, direction, |y, count| sums[y] += count);
            return sums;
        };
        let most = counts.iter().copied().max().unwrap_or(0);
        let limbs = (0..u64::BITS).step_by(LIMB_BITS as usize).take_while(|shift| most >> shift > 0);
        for shift in limbs {
            let limb = |count: &u64| (count >> shift & ((1 << LIMB_BITS) - 1)) as f64;
            let limb: Vec<f64> = counts.iter().map(limb).collect();
            let found = spectrum.sums(self.v, &limb, direction);
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += (found.round() as u64) << shift);
        }
        sums
    }
}

impl Spectrum {
    fn sums(&self, v: usize, values: &[f64], direction: Direction) -> Vec<f64> {
        let mut padded = vec![0.0; v];
        padded[..values.len()].copy_from_slice(values);
        let mut product = transform(&*self.forward, &mut padded);
        for (value, of_set) in product.iter_mut().zip(&self.of_set) {
            *value *= if direction == Direction::Back { *of_set } else { of_set.conj() };
        }
        // The first bin, and the last of an even length, are real up to rounding; the inverse transform requires them to be exactly real.
        product[0].im = 0.0;
        if let (true, Some(last)) = (v.is_multiple_of(2), product.last_mut()) {
            last.im = 0.0;
        }
        // Unwrap safety: the lengths are those of the plan.
        self.inverse.process(&mut product, &mut padded).unwrap();
        padded.iter_mut().for_each(|sum| *sum /= v as f64);
        padded
    }
}

fn transform(plan: &dyn RealToComplex<f64>, values: &mut [f64]) -> Vec<Complex<f64>> {
    let mut spectrum = plan.make_output_vec();
    // Unwrap safety: the lengths are those of the plan.
    plan.process(values, &mut spectrum).unwrap();
    spectrum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::split_mix::split_mix;

    fn both(v: usize, k: usize) -> (CyclicSum, CyclicSum) {
        let mut elements: Vec<u32> = (0..v as u32).collect();
        elements.sort_by_key(|x| split_mix(0, u64::from(*x)));
        elements.truncate(k);
        let fast = CyclicSum::new(v, &elements);
        assert!(fast.spectrum.is_some());
        (CyclicSum { spectrum: None, ..fast.clone() }, fast)
    }

    #[test]
    fn transforms_are_sums_one_by_one() {
        for (v, k) in [(1093, 364), (2048, 200), (1500, 700)] {
            let (direct, fast) = both(v, k);
            for length in [v, v - 400] {
                let values: Vec<f64> =
                    (0..length).map(|i| split_mix(1, i as u64) as f64 / 2f64.powi(64)).collect();
                for (left, right) in
                    [(direct.ahead(&values), fast.ahead(&values)), (direct.back(&values), fast.back(&values))]
                {
                    let off = left.iter().zip(&right).map(|(l, r)| (l - r).abs()).fold(0.0, f64::max);
                    assert!(off < 1e-12 * k as f64, "{v} {off}");
                }
            }
        }
    }

    /// Counts near the largest that sums of all of them leave within a word.
    #[test]
    fn sums_of_whole_numbers_are_exact() {
        let (direct, fast) = both(1093, 364);
        for bits in [1, 20, 21, 45, 53] {
            let counts: Vec<u64> = (0..1000).map(|i| split_mix(2, i) >> (64 - bits)).collect();
            assert_eq!(direct.ahead_counts(&counts), fast.ahead_counts(&counts), "{bits}");
            assert_eq!(direct.back_counts(&counts), fast.back_counts(&counts), "{bits}");
        }
    }
}
