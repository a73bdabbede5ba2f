//! Posteriors and `I(Y⃗;P)` of two or three values (more are possible, but slow) by brute-force integration
//! over the simplex.
//!
//! # Method
//! Stick-breaking log-odds: `p_0 = σ(θ_0)`, `p_1 = (1 − p_0) σ(θ_1)`, …, so that corners lie at infinity and
//! densities like `p^{0.05 − 1}` become exponential tails. With respect to `dθ`, one component of the prior
//! times the likelihood is
//!
//! ```text
//! h(θ) = Σ_x α_x ln p_x + Σ_y s_y ln (Qp)_y − ln B(α),
//! ```
//! which is concave in `p`. So along each stick, with the later sticks maximised, it is unimodal in `θ`
//! however thin the ridge. Golden-section search finds the maximum, bisection finds where it has fallen by
//! given amounts, and adaptive Gauss–Kronrod panels between these points integrate. Sticks are nested.
//! Components of a mixture are integrated one by one, so none is missed.

use super::importance::names;
use super::model::{Mixture, Reports, exp, ln_beta, ln_gamma, ln_sum_exp, mean};
use super::reference::Value;

/// Moments of the posterior.
#[derive(Clone, Debug)]
pub struct Posterior {
    pub ln_evidence: f64,
    /// Mean and standard deviation of each `P_x`.
    pub p: Vec<(f64, f64)>,
    /// Mean and standard deviation of each `T_x`.
    pub t: Vec<(f64, f64)>,
}

impl Posterior {
    /// The moments by name. Panels leave a relative error of about `1e-9`, and standard deviations lose half
    /// of the digits.
    pub fn values(&self) -> Vec<Value> {
        let column = |of: &[(f64, f64)], sd: bool| of.iter().map(|v| if sd { v.1 } else { v.0 }).collect();
        let numbers: Vec<Vec<f64>> = vec![
            vec![self.ln_evidence],
            column(&self.p, false),
            column(&self.p, true),
            column(&self.t, false),
            column(&self.t, true),
        ];
        let value = |(name, v): (String, f64)| {
            let error = match name.as_str() {
                "ln_evidence" => 1e-8 + 1e-13 * v.abs(),
                name if name.starts_with("sd") => 1e-5 * v,
                _ => 1e-8 * v,
            };
            Value::new(name, v, error)
        };
        names(self.p.len()).into_iter().zip(numbers.concat()).map(value).collect()
    }
}

/// The posterior of `P` and of the senders' tallies.
pub fn posterior(reports: &Reports, prior: &Mixture) -> Posterior {
    let a = prior.inputs();
    // Moments are taken around the first component's mode, so that small variances are not differences of
    // large numbers.
    let top = Integrand { alpha: &prior.parts[0], reports }.mode();
    let (t_top, n) = (reports.tally_moments(&top).0, reports.n().max(1.0));
    let features = |ln_p: &[f64]| {
        let (t, variances) = reports.tally_moments(ln_p);
        let p = (0..a).map(|x| ln_p[x].exp() - top[x].exp());
        let t: Vec<f64> = (0..a).map(|x| (t[x] - t_top[x]) / n).collect();
        let squares = (0..a).map(|x| t[x] * t[x] + variances[x] / (n * n)).collect::<Vec<_>>();
        let p: Vec<f64> = p.collect();
        [p.clone(), p.iter().map(|v| v * v).collect(), t, squares].concat()
    };
    let (ln_evidence, m) = mean_over(reports, prior, &features);
    let sd = |mean: f64, square: f64| (square - mean * mean).max(0.0).sqrt();
    Posterior {
        ln_evidence,
        p: (0..a).map(|x| (m[x] + top[x].exp(), sd(m[x], m[a + x]))).collect(),
        t: (0..a).map(|x| (n * m[2 * a + x] + t_top[x], n * sd(m[2 * a + x], m[3 * a + x]))).collect(),
    }
}

/// `ln m(y⃗)` and the posterior mean of a function of `ln p`.
pub fn mean_over(
    reports: &Reports,
    prior: &Mixture,
    features: &dyn Fn(&[f64]) -> Vec<f64>,
) -> (f64, Vec<f64>) {
    let parts: Vec<(f64, Vec<f64>)> = prior
        .weights
        .iter()
        .zip(&prior.parts)
        .map(|(w, alpha)| {
            let (ln_mass, means) = Integrand { alpha, reports }.integrate(&mut Vec::new(), 0.0, features);
            (ln_mass + w.ln() - ln_beta(alpha), means)
        })
        .collect();
    let total = ln_sum_exp(&parts.iter().map(|p| p.0).collect::<Vec<_>>());
    let mut means = vec![0.0; parts[0].1.len()];
    for (ln_mass, part) in &parts {
        means.iter_mut().zip(part).for_each(|(m, v)| *m += (ln_mass - total).exp() * v);
    }
    (total, means)
}

/// `I(Y⃗;P) = H(Y⃗) − H(Y⃗|P)`: the evidence of each tally of reports, and one integral for the entropy given `P`.
pub fn distribution_information(rows: &[Vec<f64>], prior: &Mixture, n: u64) -> f64 {
    let given_p = |ln_p: &[f64]| {
        let p = exp(ln_p);
        let entropy = |row: &Vec<f64>| match mean(row, &p) {
            0.0 => 0.0,
            r => -r * r.ln(),
        };
        vec![rows.iter().map(entropy).sum::<f64>()]
    };
    let nothing = Reports::new(Vec::new());
    let noise = n as f64 * mean_over(&nothing, prior, &given_p).1[0];
    let mut entropy = 0.0;
    for counts in compositions(n, rows.len()) {
        let ln_orders =
            ln_gamma(n as f64 + 1.0) - counts.iter().map(|c| ln_gamma(*c as f64 + 1.0)).sum::<f64>();
        let reports = Reports::new(rows.iter().cloned().zip(counts).collect());
        let ln_m = mean_over(&reports, prior, &|_| Vec::new()).0;
        entropy -= (ln_orders + ln_m).exp() * ln_m;
    }
    entropy - noise
}

/// All ways to write `n` as an ordered sum of `parts` counts.
pub fn compositions(n: u64, parts: usize) -> Vec<Vec<u64>> {
    if parts == 1 {
        return vec![vec![n]];
    }
    let with = |first: u64| {
        compositions(n - first, parts - 1).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    (0..=n).flat_map(with).collect()
}

/// One component of the prior times the likelihood.
struct Integrand<'a> {
    alpha: &'a [f64],
    reports: &'a Reports,
}

/// `ln` of a mass, and means under it.
type Mass = (f64, Vec<f64>);

impl Integrand<'_> {
    fn h(&self, ln_p: &[f64]) -> f64 {
        let prior: f64 = self.alpha.iter().zip(ln_p).map(|(a, l)| a * l).sum();
        prior + self.reports.ln_likelihood(ln_p)
    }

    /// Log-odds beyond which only the tail `e^{−α|θ|}` is left.
    fn range(&self) -> f64 {
        60.0 + 60.0 / self.alpha.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest value of `h` for given first sticks, with mass `e^{ln_rest}` left, and where it is
    /// attained.
    fn best(&self, sticks: &mut [f64], ln_rest: f64) -> (f64, Vec<f64>) {
        if sticks.len() + 1 == self.alpha.len() {
            let ln_p = [&sticks[..], &[ln_rest]].concat();
            return (self.h(&ln_p), ln_p);
        }
        let theta = golden(&|theta| self.profile(sticks, ln_rest, theta), self.range());
        self.at(sticks, ln_rest, theta, |this, sticks, rest| this.best(sticks, rest))
    }

    fn mode(&self) -> Vec<f64> {
        self.best(&mut Vec::new(), 0.0).1
    }

    fn profile(&self, sticks: &[f64], ln_rest: f64, theta: f64) -> f64 {
        self.at(sticks, ln_rest, theta, |this, sticks, rest| this.best(sticks, rest).0)
    }

    /// Breaks the next stick at the log-odds `theta`.
    fn at<T>(
        &self,
        sticks: &[f64],
        ln_rest: f64,
        theta: f64,
        then: impl Fn(&Self, &mut Vec<f64>, f64) -> T,
    ) -> T {
        let mut sticks = sticks.to_vec();
        sticks.push(ln_rest - softplus(-theta));
        then(self, &mut sticks, ln_rest - softplus(theta))
    }

    /// The mass over all later sticks and the means of the features.
    fn integrate(&self, sticks: &mut [f64], ln_rest: f64, features: &dyn Fn(&[f64]) -> Vec<f64>) -> Mass {
        if sticks.len() + 1 == self.alpha.len() {
            let ln_p = [&sticks[..], &[ln_rest]].concat();
            return (self.h(&ln_p), features(&ln_p));
        }
        let profile = |theta: f64| self.profile(sticks, ln_rest, theta);
        let value = |theta: f64| {
            self.at(sticks, ln_rest, theta, |this, sticks, rest| this.integrate(sticks, rest, features))
        };
        let depth = self.alpha.len() - 2 - sticks.len();
        unimodal(&profile, &value, self.range(), if depth == 0 { 1e-11 } else { 1e-9 })
    }
}

/// `ln(1 + e^z)`.
fn softplus(z: f64) -> f64 {
    if z > 0.0 { z + (-z).exp().ln_1p() } else { z.exp().ln_1p() }
}

/// The maximum of a unimodal function on `−range ..= range`.
fn golden(f: &dyn Fn(f64) -> f64, range: f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (-range, range);
    let inner = |low: f64, high: f64| (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut l, mut r) = inner(low, high);
    let (mut f_l, mut f_r) = (f(l), f(r));
    while high - low > 1e-7 {
        if f_l < f_r {
            low = l;
            (l, f_l) = (r, f_r);
            r = inner(low, high).1;
            f_r = f(r);
        } else {
            high = r;
            (r, f_r) = (l, f_l);
            l = inner(low, high).0;
            f_l = f(l);
        }
    }
    0.5 * (low + high)
}

/// The integral of `e^{ln mass}` where a unimodal profile is within 60 of its maximum.
fn unimodal(profile: &dyn Fn(f64) -> f64, value: &dyn Fn(f64) -> Mass, range: f64, tolerance: f64) -> Mass {
    let top = golden(profile, range);
    let best = profile(top);
    let mut ends = vec![top];
    for drop in [0.5, 4.0, 15.0, 60.0] {
        for side in [-range, range] {
            ends.push(fall(profile, top, side, best - drop));
        }
    }
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let mut panels: Vec<Panel> = ends.windows(2).map(|w| Panel::new(w[0], w[1], best, value)).collect();
    for _ in 0..400 {
        let total: f64 = panels.iter().map(|p| p.sums[0]).sum();
        let off: f64 = panels.iter().map(|p| p.off).sum();
        if off <= tolerance * total {
            break;
        }
        let worst = (0..panels.len()).max_by(|l, r| panels[*l].off.total_cmp(&panels[*r].off)).unwrap();
        let Panel { low, high, .. } = panels.swap_remove(worst);
        let middle = 0.5 * (low + high);
        panels.push(Panel::new(low, middle, best, value));
        panels.push(Panel::new(middle, high, best, value));
    }
    let mut sums = vec![0.0; panels[0].sums.len()];
    for panel in &panels {
        sums.iter_mut().zip(&panel.sums).for_each(|(s, v)| *s += v);
    }
    (best + sums[0].ln(), sums[1..].iter().map(|s| s / sums[0]).collect())
}

/// Where the profile has fallen to `level` on the way from the top to `side`.
fn fall(profile: &dyn Fn(f64) -> f64, top: f64, side: f64, level: f64) -> f64 {
    let (mut inside, mut outside) = (top, side);
    while (outside - inside).abs() > 0.02 * (inside - top).abs() + 1e-9 {
        let middle = 0.5 * (inside + outside);
        if profile(middle) > level { inside = middle } else { outside = middle }
    }
    outside
}

/// An interval with its Gauss–Kronrod sums: the mass, then the features' integrals.
struct Panel {
    low: f64,
    high: f64,
    sums: Vec<f64>,
    off: f64,
}

/// Nodes of the 15-point Kronrod rule, with its weights and those of the 7-point Gauss rule inside it.
const KRONROD: [(f64, f64, f64); 8] = [
    (0.0, 0.209_482_141_084_727_83, 0.417_959_183_673_469_4),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4, 0.381_830_050_505_118_9),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92, 0.279_705_391_489_276_67),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_55, 0.129_484_966_168_869_7),
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
];

impl Panel {
    fn new(low: f64, high: f64, best: f64, value: &dyn Fn(f64) -> Mass) -> Self {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let (mut sums, mut gauss) = (Vec::new(), 0.0);
        for (node, kronrod, inner) in KRONROD {
            for side in [-1.0, 1.0].into_iter().skip(usize::from(node == 0.0)) {
                let (ln_mass, features) = value(middle + side * node * half);
                let mass = half * (ln_mass - best).exp();
                sums.resize(features.len() + 1, 0.0);
                sums[0] += kronrod * mass;
                gauss += inner * mass;
                sums[1..].iter_mut().zip(features).for_each(|(s, v)| *s += kronrod * mass * v);
            }
        }
        let off = (sums[0] - gauss).abs();
        Panel { low, high, sums, off }
    }
}
