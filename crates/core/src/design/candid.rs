//! Candid protocols: a share `t_x` of those with value `x` say so, and all others say one and the same thing. Erasure is one.
//!
//! They are often the best of a limited average leakage, and all about them is known without any points of the prior. With the odds `w_x = (1 − t_x)/t_x`
//! of saying the one thing, `r = 1 − t`,
//! ```text
//! ln det J = Σ_x ln(t_x/P_x) + ln(w·P) − ln(r·P)
//! dᵀ J⁻¹ d = Σ_{x<z} (v_x − v_z)² P_x P_z (1 + w_x w_z/(w·P))
//! ```
//! so utility and leakage are integrals in one dimension, and what a direction gains, the mean of `dᵀ J⁻¹ d/(v·P)`, is one in one and one in two, of positive
//! terms only:
//! ```text
//! E[P_x P_z/((w·P)(v·P))] = ∫∫ Φ α_x α_z/(R_x R_z) ds dt,   R_x = 1 + s w_x + t v_x,   Φ = Π_x R_x^{−α_x}
//! E[P_x P_z/(v·P)]        = the same without s and w, over α0
//! ```

use crate::numerics::parallel::*;
use faer::{Mat, Side};

use super::direction::{Classes, Direction};
use super::price::{Gains, LeakageOf, SecondOrder};
use super::rule::Mean;
use super::triangle::entries;
use crate::model::prior::Dirichlet;
use crate::numerics::dirichlet_mean::{LinearForm, ln_one_plus, mean_products_of_shares};
use crate::numerics::stop::check;
use crate::numerics::trapezoid::trapezoids;

/// A candid protocol.
#[derive(Clone, Debug)]
pub(super) struct Candid<'a> {
    parts: &'a [(f64, &'a Dirichlet)],
    /// `w_x`.
    odds: Vec<f64>,
    /// The value that nobody says; its odds are all but infinite. There is no second one, or nothing would tell the two apart.
    silent: Option<usize>,
    precision: Precision,
}

/// How gains are integrated.
#[derive(Clone, Copy, Debug)]
struct Precision {
    step: f64,
    /// The error that is stated of a gain, as a share of it.
    accuracy: f64,
}

/// The multipliers at which no change of a candid protocol gains more than it costs.
#[derive(Clone, Debug)]
pub(super) struct Multipliers {
    pub lambda: Vec<f64>,
    pub nu: f64,
}

/// How many times the odds of erasure are those of a value that nobody says.
const SILENT: f64 = 1e11;
/// Where the integrals are all that is known. Largest error seen with a step of 0.4, parameters that add up to `1e5`: `1e-9`.
const ALONE: Precision = Precision { step: 1.0 / 3.0, accuracy: 1e-9 };
/// Beside points, which are off by more.
const BESIDE_POINTS: Precision = Precision { step: 0.5, accuracy: 1e-6 };
/// A gain to second order takes as long as on so many points times the square of the step.
const EFFORT: f64 = 2_000.0;

impl<'a> Candid<'a> {
    /// The best candid protocol that leaks the budget; `None` if it is not found.
    pub(super) fn best(
        parts: &'a [(f64, &'a Dirichlet)],
        classes: &Classes,
        leakage: &LeakageOf<'_>,
        budget: f64,
    ) -> Option<(Self, Multipliers)> {
        let inputs = classes.inputs();
        let truths: Vec<f64> = (0..inputs).map(|x| leakage.at(&truth(x, inputs)) / inputs as f64).collect();
        // Erasure meets the budget.
        let erased = truths.iter().sum::<f64>() / budget - 1.0;
        let most = (SILENT * (1.0 + erased)).ln();
        let ln_odds = vec![erased.ln(); inputs];
        let mut search = Search { parts, classes, leakage, truths, ln_odds, most, silent: None };
        let nu = search.settled_within(budget)?;
        let odds = search.ln_odds.iter().map(|y| y.exp()).collect();
        let mut candid = Candid { parts, odds, silent: search.silent, precision: ALONE };
        let multipliers = search.multipliers(&candid, nu);
        // Else the truth is told to next to nobody, but to somebody.
        let costs = |x: usize| multipliers.lambda[x] + nu * search.truths[x];
        candid.silent = candid.silent.filter(|x| candid.gain_of_silent(*x) <= costs(*x));
        Some((candid, multipliers))
    }

    /// One whose gains are wanted beside points.
    pub(super) fn beside_points(parts: &'a [(f64, &'a Dirichlet)], odds: Vec<f64>) -> Self {
        Candid { parts, odds, silent: None, precision: BESIDE_POINTS }
    }

    /// The triangle of `K` at a point, where `vᵀ K v = dᵀ J⁻¹ d`.
    pub(super) fn form(&self, p: &[f64]) -> Vec<f64> {
        let likelihood: f64 = self.odds.iter().zip(p).map(|(w, p)| w * p).sum();
        let mut form = vec![0.0; entries(p.len())];
        for x in 0..p.len() {
            for z in 0..x {
                let both = p[x] * p[z] * (1.0 + self.odds[x] * self.odds[z] / likelihood);
                form[entries(x) + z] = -both;
                form[entries(x) + x] += both;
                form[entries(z) + z] += both;
            }
        }
        form
    }

    /// What the truth about `x` gains where nobody says it: `1 − E P_x + Σ_{z≠x} w_z E[P_z/P_x]`, which has no limit if `x` is rare now and then.
    fn gain_of_silent(&self, x: usize) -> f64 {
        let of_part = |(weight, part): &(f64, &Dirichlet)| {
            let alpha = part.alpha();
            let others = (0..alpha.len()).filter(|z| *z != x).map(|z| self.odds[z] * alpha[z]).sum::<f64>();
            let over = if alpha[x] > 1.0 { others / (alpha[x] - 1.0) } else { f64::INFINITY };
            weight * (1.0 - alpha[x] / part.total() + over)
        };
        self.parts.iter().map(of_part).sum()
    }

    /// The rows of the protocol, one of each orbit, with the weights of their orbits.
    pub(super) fn rows(&self, classes: &Classes) -> Vec<(f64, Direction)> {
        let inputs = self.odds.len();
        let is_first = |x: &usize| !classes.of[..*x].contains(&classes.of[*x]);
        let told = (0..inputs).filter(|x| Some(*x) != self.silent).filter(is_first);
        let told = told.map(|x| {
            let share = classes.sizes[classes.of[x]] as f64 / inputs as f64;
            (share / (1.0 + self.odds[x]), truth(x, inputs))
        });
        told.chain([vague(&self.odds)]).collect()
    }

    /// Both integrals of what is written at each node.
    fn integrals(&self, v: &[f64], sums: &mut [f64], mut write: impl FnMut(&[f64], &Node, &mut [f64])) {
        let (smallest, largest) = extremes(&self.odds);
        let (mut of_part, mut inner) = (vec![0.0; sums.len()], vec![0.0; sums.len()]);
        let mut node = Node::new(v.len());
        sums.fill(0.0);
        for (weight, part) in self.parts {
            check();
            let alpha = part.alpha();
            let left = -(largest * (2.0 + part.total())).ln();
            trapezoids(left, -smallest.ln(), self.precision.step, &mut of_part, |ln_s, values| {
                let ln_phi = node.begin(ln_s, alpha, &self.odds, v);
                node.integrate(ln_phi, part, self.precision.step, values, &mut write);
            });
            node.begin_without_odds(v);
            node.integrate(-part.total().ln(), part, self.precision.step, &mut inner, &mut write);
            for (sum, (outer, inner)) in sums.iter_mut().zip(of_part.iter().zip(&inner)) {
                *sum += weight * (outer + inner);
            }
        }
    }

    /// `h(v)`. Of two inputs of which one is impossible, `v_z = 0`, the term is that of the other alone: `P_x/(v·P)` does not depend on `P_z`.
    fn gain(&self, direction: &Direction) -> f64 {
        let v = &direction.values;
        let mut sum = [0.0];
        self.integrals(v, &mut sum, |alpha, node, values| {
            let (mut mass, mut first, mut impossible) = (0.0, 0.0, 0.0);
            let (mut parameter, mut lower) = (0.0, 0.0);
            for x in 0..v.len() {
                let m = alpha[x] * node.vague[x];
                if v[x] > 0.0 {
                    mass += m;
                    first += m * v[x];
                    parameter += alpha[x];
                    lower += alpha[x] * node.lower[x];
                } else {
                    impossible += m;
                }
            }
            let mean = first / mass;
            let (mut spread, mut beside) = (0.0, 0.0);
            for x in (0..v.len()).filter(|x| v[*x] > 0.0) {
                let m = alpha[x] * node.vague[x];
                spread += m * (v[x] - mean).powi(2);
                beside += m * v[x].powi(2) * (lower + node.lower[x]);
            }
            values[0] = mass * spread + impossible / parameter * beside;
        });
        sum[0]
    }
}

impl Gains for Candid<'_> {
    fn of_each(&self, directions: &[Direction]) -> Vec<Mean> {
        let mean = |direction: &Direction| {
            let value = self.gain(direction);
            Mean { value, error: self.precision.accuracy * value }
        };
        directions.par_iter().map(mean).collect()
    }

    /// With the means `m_x = α_x w_x/R_x` of independent `w_x G_x` and what is like them, `τ_x = t/R_x`, the moments of up to four of them are sums of
    /// products.
    fn about(&self, direction: &Direction) -> SecondOrder {
        let v = &direction.values;
        let inputs = v.len();
        let mut sums = vec![0.0; 1 + inputs + entries(inputs)];
        let (mut slopes, mut spreads) = (vec![0.0; inputs], vec![0.0; inputs]);
        self.integrals(v, &mut sums, |alpha, node, values| {
            let b = &node.vague;
            let told = |x: usize| node.told[x] * alpha[x];
            let mut form = 0.0;
            let mut mass = 0.0;
            for x in 0..inputs {
                let (mut slope, mut spread) = (0.0, 0.0);
                for z in 0..inputs {
                    let m = alpha[z] * b[z];
                    slope += m * (v[x] - v[z]);
                    spread += m * (v[x] - v[z]).powi(2);
                }
                slopes[x] = 2.0 * b[x] * slope;
                spreads[x] = b[x] * spread;
                form += 0.5 * alpha[x] * spreads[x];
                mass += alpha[x] * b[x];
            }
            values[0] = form;
            for x in 0..inputs {
                values[1 + x] = alpha[x] * slopes[x] - told(x) * (form + spreads[x]);
                let row = &mut values[1 + inputs + entries(x)..];
                for z in 0..x {
                    let step = 2.0 * b[x] * b[z] * (v[x] - v[z]);
                    let crossed =
                        told(z) * alpha[x] * (slopes[x] + step) + told(x) * alpha[z] * (slopes[z] - step);
                    let joint = form + spreads[x] + spreads[z] + 0.5 * step * (v[x] - v[z]);
                    row[z] = told(x) * told(z) * joint - crossed - 2.0 * b[x] * b[z] * alpha[x] * alpha[z];
                }
                let rest = mass - alpha[x] * b[x];
                let more = node.told[x] * (alpha[x] + 1.0);
                row[x] = 2.0 * b[x] * alpha[x] * rest - 2.0 * alpha[x] * more * slopes[x]
                    + told(x) * more * (form + 2.0 * spreads[x]);
            }
            // Times the values, so that none is so large that the others' last terms seem small.
            for x in 0..inputs {
                values[1 + x] *= v[x];
                let row = &mut values[1 + inputs + entries(x)..];
                (0..=x).for_each(|z| row[z] *= v[x] * v[z]);
            }
        });
        let mut curvature = sums.split_off(1 + inputs);
        let mut slope = sums.split_off(1);
        for x in 0..inputs {
            slope[x] /= v[x];
            (0..=x).for_each(|z| curvature[entries(x) + z] /= v[x] * v[z]);
        }
        SecondOrder { value: sums[0], slope, curvature }
    }

    fn points(&self) -> usize {
        0
    }

    fn effort(&self) -> usize {
        (EFFORT / self.precision.step.powi(2)) as usize
    }
}

/// A node of both integrals. Where `s` is too large or too small for a number its ratio to other numbers is not.
struct Node {
    /// `s/(1 + s w_x)`.
    scales: Vec<f64>,
    /// `s w_x/(1 + s w_x)`.
    shares: Vec<f64>,
    /// `c_x = v_x s/(1 + s w_x)`.
    forms: Vec<f64>,
    /// `1/(1 + c_x t/s)`.
    lower: Vec<f64>,
    /// `s w_x/R_x`.
    vague: Vec<f64>,
    /// `t/R_x`.
    told: Vec<f64>,
}

impl Node {
    fn new(inputs: usize) -> Self {
        let zeros = || vec![0.0; inputs];
        Node {
            scales: zeros(),
            shares: zeros(),
            forms: zeros(),
            lower: zeros(),
            vague: zeros(),
            told: zeros(),
        }
    }

    /// Of the single integral: as if `s` were one and no odds counted.
    fn begin_without_odds(&mut self, v: &[f64]) {
        self.scales.fill(1.0);
        self.shares.fill(1.0);
        self.forms.copy_from_slice(v);
    }

    /// Of the outer integral; `ln Φ` at `t = 0`.
    fn begin(&mut self, ln_s: f64, alpha: &[f64], odds: &[f64], v: &[f64]) -> f64 {
        let inverse = (-ln_s).exp();
        let mut ln_phi = 0.0;
        for x in 0..v.len() {
            self.scales[x] = 1.0 / (inverse + odds[x]);
            self.shares[x] = odds[x] * self.scales[x];
            self.forms[x] = v[x] * self.scales[x];
            ln_phi -= alpha[x] * ln_one_plus(odds[x], ln_s);
        }
        ln_phi
    }

    /// The inner integral of what is written at each node.
    fn integrate(
        &mut self,
        ln_phi: f64,
        part: &Dirichlet,
        step: f64,
        sums: &mut [f64],
        write: &mut impl FnMut(&[f64], &Node, &mut [f64]),
    ) {
        let (smallest, largest) = extremes(&self.forms);
        let left = -(largest * (2.0 + part.total())).ln();
        trapezoids(left, -smallest.ln(), step, sums, |ln_ratio, values| {
            let weight = self.go(ln_ratio, ln_phi, part.alpha());
            write(part.alpha(), self, values);
            values.iter_mut().for_each(|value| *value *= weight);
        });
    }

    /// Of the inner integral; the weight `Φ t/s` of the node.
    fn go(&mut self, ln_ratio: f64, ln_phi: f64, alpha: &[f64]) -> f64 {
        let ratio = ln_ratio.exp();
        let mut ln_weight = ln_phi + ln_ratio;
        for (x, alpha) in alpha.iter().enumerate() {
            let form = self.forms[x] * ratio;
            self.lower[x] = 1.0 / (1.0 + form);
            self.vague[x] = self.shares[x] * self.lower[x];
            self.told[x] = self.scales[x] * self.lower[x] * ratio;
            ln_weight -= alpha * form.ln_1p();
        }
        ln_weight.exp()
    }
}

/// The smallest and the largest of the positive numbers.
fn extremes(numbers: &[f64]) -> (f64, f64) {
    let positive = numbers.iter().copied().filter(|number| *number > 0.0);
    positive.fold((f64::INFINITY, 0.0), |(s, l), number| (s.min(number), l.max(number)))
}

/// `E ln(c·P)` and all `E[c_x P_x c_z P_z/(c·P)²]`.
fn ln_and_shares(part: &Dirichlet, c: &[f64]) -> (f64, Vec<f64>) {
    let pairs: Vec<(f64, f64)> = part.alpha().iter().copied().zip(c.iter().copied()).collect();
    (LinearForm::from_coefficients(&pairs).mean_ln().value, mean_products_of_shares(&pairs))
}

/// The one thing that is said, with its weight.
fn vague(odds: &[f64]) -> (f64, Direction) {
    let inputs = odds.len() as f64;
    let told = |w: &f64| 1.0 / (1.0 + w);
    let theta = odds.iter().map(|w| w * told(w)).sum::<f64>() / inputs;
    let values = odds.iter().map(|w| w * told(w) / theta).collect();
    // Where little is told, only the shares of that keep the digits of differences.
    let deviations = odds.iter().map(|w| (told(&odds[0]) - told(w)) / theta).collect();
    (theta, Direction { values, deviations })
}

fn truth(x: usize, inputs: usize) -> Direction {
    let members: Vec<bool> = (0..inputs).map(|z| z == x).collect();
    Direction::two_valued(&members, 0.0, 1.0)
}

/// A step changes no logarithm of odds by more.
const LONGEST_STEP: f64 = 2.0;
/// Steps at most.
const STEPS: usize = 200;
/// Logarithms of odds that would change by less are right.
const SETTLED: f64 = 1e-11;
/// And where less than this is gained by changing them, as of a value that nearly all say.
const FLAT: f64 = 1e-13;
/// The budget is met within this share of less than this share below it.
const MET: f64 = 5e-10;
/// Multipliers of leakage that are tried at most; typical are ten.
const TRIES: usize = 100;

/// The search for the best odds.
struct Search<'a> {
    parts: &'a [(f64, &'a Dirichlet)],
    classes: &'a Classes,
    leakage: &'a LeakageOf<'a>,
    /// What the truth about each value leaks.
    truths: Vec<f64>,
    ln_odds: Vec<f64>,
    /// The logarithm of odds beyond which a value is one that nobody says.
    most: f64,
    silent: Option<usize>,
}

/// Utility less `ν` times leakage, by the logarithms of odds.
struct Worth {
    value: f64,
    slope: Vec<f64>,
    curvature: Mat<f64>,
    leakage: f64,
}

impl Search<'_> {
    /// Settles where the budget is leaked, and tells the multiplier.
    fn settled_within(&mut self, budget: f64) -> Option<f64> {
        let mut ln_nu = ((self.truths.len() as f64 - 1.0) / budget).ln();
        // Multipliers on both sides of the budget, and by how much it is missed: less leaks at a higher one.
        let mut sides: [Option<(f64, f64)>; 2] = [None, None];
        for _ in 0..TRIES {
            check();
            let off = (self.settle(ln_nu.exp())? / budget).ln() + MET;
            if off.abs() <= MET {
                return Some(ln_nu.exp());
            }
            sides[usize::from(off > 0.0)] = Some((ln_nu, off));
            ln_nu = match sides {
                [Some((high, below)), Some((low, above))] => {
                    let share = (above / (above - below)).clamp(0.05, 0.95);
                    low + share * (high - low)
                }
                _ => ln_nu + 2.0 * off,
            };
        }
        None
    }

    /// Newton's method for the best odds at a price of leakage; what leaks.
    fn settle(&mut self, nu: f64) -> Option<f64> {
        let mut worth = self.worth(&self.ln_odds, nu);
        for _ in 0..STEPS {
            check();
            let step = self.step(&worth)?;
            let is_settled = |(step, slope): (&f64, &f64)| step.abs() < SETTLED || slope.abs() < FLAT;
            if step.iter().zip(&worth.slope).all(is_settled) {
                return Some(worth.leakage);
            }
            let rounding = 1e-12 * (1.0 + worth.value.abs());
            let mut tried = (0..30).map(|halvings| {
                let moved =
                    self.ln_odds.iter().zip(&step).map(|(y, step)| y + step / f64::from(1u32 << halvings));
                let moved: Vec<f64> = moved.map(|y| y.min(self.most)).collect();
                (self.worth(&moved, nu), moved)
            });
            let better = tried.find(|(tried, _)| tried.value >= worth.value - rounding);
            (worth, self.ln_odds) = better?;
            self.silent = self.ln_odds.iter().position(|y| *y >= self.most);
        }
        None
    }

    /// Uphill also where it bends the other way.
    fn step(&self, worth: &Worth) -> Option<Vec<f64>> {
        let inputs = self.ln_odds.len();
        // A value that nobody says stays so: if that is wrong the truth about it will be seen to gain.
        let active: Vec<usize> = (0..inputs).filter(|x| Some(*x) != self.silent).collect();
        let matrix = Mat::from_fn(active.len(), active.len(), |i, j| worth.curvature[(active[i], active[j])]);
        let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
        let (vectors, values) = (eigen.U(), eigen.S());
        let mut step = vec![0.0; inputs];
        for k in 0..active.len() {
            let slope: f64 = (0..active.len()).map(|i| vectors[(i, k)] * worth.slope[active[i]]).sum();
            let length = slope / values[k].abs().max(1e-12);
            active.iter().enumerate().for_each(|(i, x)| step[*x] += length * vectors[(i, k)]);
        }
        let longest = step.iter().map(|step| step.abs()).fold(0.0, f64::max);
        let scale = (LONGEST_STEP / longest).min(1.0);
        // Inputs that the prior does not tell apart stay together.
        let of_class = |class: usize| {
            let members = (0..inputs).filter(|x| self.classes.of[*x] == class);
            scale * members.map(|x| step[x]).sum::<f64>() / self.classes.sizes[class] as f64
        };
        let steps: Vec<f64> = self.classes.of.iter().map(|class| of_class(*class)).collect();
        steps.iter().all(|step| step.is_finite()).then_some(steps)
    }

    /// `Σ_x ln t_x + E ln(w·P) − E ln(r·P) − ν (Σ_x t_x ℓ(e_x) + ℓ(r))`.
    fn worth(&self, ln_odds: &[f64], nu: f64) -> Worth {
        let inputs = ln_odds.len();
        let odds: Vec<f64> = ln_odds.iter().map(|y| y.exp()).collect();
        let told: Vec<f64> = odds.iter().map(|w| 1.0 / (1.0 + w)).collect();
        let vague: Vec<f64> = odds.iter().zip(&told).map(|(w, t)| w * t).collect();
        let (theta, direction) = self::vague(&odds);
        let leaks = self.leakage.about(&direction);
        let mut leakage = theta * leaks.value;
        let mut value: f64 = told.iter().map(|t| t.ln()).sum();
        let mut slope: Vec<f64> = vague.iter().map(|r| -r).collect();
        let mut curvature = Mat::<f64>::zeros(inputs, inputs);
        for (weight, part) in self.parts {
            let (mean_ln, products) = ln_and_shares(part, &odds);
            let (mean_ln_vague, products_vague) = ln_and_shares(part, &vague);
            value += weight * (mean_ln - mean_ln_vague);
            for x in 0..inputs {
                for z in 0..inputs {
                    let place = entries(x.max(z)) + x.min(z);
                    let (product, of_vague) = (weight * products[place], weight * products_vague[place]);
                    slope[x] += product - told[x] * of_vague;
                    curvature[(x, x)] += product + told[x] * (vague[x] - told[x]) * of_vague;
                    curvature[(x, z)] += told[x] * told[z] * of_vague - product;
                }
            }
        }
        for x in 0..inputs {
            let both = told[x] * vague[x];
            let rise = leaks.slope[x] - self.truths[x];
            leakage += told[x] * self.truths[x];
            slope[x] -= nu * both * rise;
            curvature[(x, x)] -= both + nu * both * (told[x] - vague[x]) * rise;
            for z in 0..inputs {
                let bend = leaks.curvature[entries(x.max(z)) + x.min(z)] / theta;
                curvature[(x, z)] -= nu * both * told[z] * vague[z] * bend;
            }
        }
        value -= nu * leakage;
        Worth { value, slope, curvature, leakage }
    }

    /// What is said gains what it costs: a truth `1 − E P_x + w_x Σ_{z≠x} E[w_z P_z/(w·P)]`, and the one thing in the place of it as its slope tells. Both
    /// say the same of `λ_x`; the more common of the two says it better.
    fn multipliers(&self, candid: &Candid<'_>, nu: f64) -> Multipliers {
        let inputs = self.ln_odds.len();
        let (_, vague) = vague(&candid.odds);
        let (gain, leaks) = (candid.about(&vague), self.leakage.about(&vague));
        let means = self.leakage.means();
        let shares: Vec<(f64, Vec<f64>)> =
            self.parts.iter().map(|(weight, part)| (*weight, ln_and_shares(part, &candid.odds).1)).collect();
        let of_truth = |x: usize| {
            let others = |shares: &Vec<f64>| {
                let pairs = (0..inputs).filter(|y| *y != x).flat_map(|y| (0..inputs).map(move |z| (y, z)));
                pairs.map(|(y, z)| shares[entries(y.max(z)) + y.min(z)]).sum::<f64>()
            };
            let others: f64 = shares.iter().map(|(weight, shares)| weight * others(shares)).sum();
            1.0 - means[x] + candid.odds[x] * others - nu * self.truths[x]
        };
        let of_vague = |x: usize| gain.slope[x] - nu * leaks.slope[x];
        let lambda = |x: usize| if candid.odds[x] < 1.0 { of_truth(x) } else { of_vague(x) };
        Multipliers { lambda: (0..inputs).map(lambda).collect(), nu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::price::Prices;
    use crate::design::program::Column;
    use crate::design::rule::{Rule, Wanted};
    use crate::numerics::split_mix::split_mix;

    /// Three cases with the points of a rule, where all is known from the information of the rows.
    fn on_points(test: impl Fn(&Candid<'_>, &Prices<'_>)) {
        for (alpha, odds) in [
            (vec![0.5, 1.0, 2.5], vec![0.3, 2.0, 5.0]),
            (vec![0.5, 0.7, 1.0], vec![100.0, 200.0, 150.0]),
            (vec![0.3, 0.4, 1.5], vec![1e-5, 0.01, 3.0]),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let parts = [(1.0, &prior)];
            let candid = Candid { parts: &parts, odds, silent: None, precision: ALONE };
            let classes = Classes::new(prior.alpha());
            let wanted = Wanted { points: 20_000, contrast: 1e6, form: None, seed: 0 };
            let rule = Rule::new(&parts, &classes, &wanted);
            let rows = candid.rows(&classes);
            let columns: Vec<Column> =
                rows.iter().map(|(_, row)| Column::new(row, 0.0, &classes, &rule)).collect();
            let theta: Vec<f64> = rows.iter().map(|(theta, _)| *theta).collect();
            test(&candid, &Prices::new(&rule, &columns, &theta, 3).unwrap());
        }
    }

    /// Some of their inputs are impossible if `zeros` are wanted.
    fn random_directions(inputs: usize, zeros: bool) -> Vec<Direction> {
        let random = |i: u64| {
            let height = |x: usize| {
                let number = split_mix(i, x as u64) as f64 / u64::MAX as f64;
                if zeros && number < 0.2 { 0.0 } else { number.powi(3) }
            };
            Direction::of_heights(&(0..inputs).map(height).collect::<Vec<f64>>(), 0.0, 1.0)
        };
        (0..20).filter_map(random).collect()
    }

    #[test]
    fn gains_are_those_of_the_rows() {
        on_points(|candid, prices| {
            let directions = random_directions(3, true);
            assert!(directions.iter().any(|direction| direction.values.contains(&0.0)));
            for (exact, mean) in candid.of_each(&directions).iter().zip(prices.of_each(&directions)) {
                assert!((exact.value - mean.value).abs() <= exact.error + mean.error, "{exact:?} {mean:?}");
            }
        });
    }

    #[test]
    fn gains_beside_points_are_as_good_as_stated() {
        for alpha in [vec![0.01, 0.5, 0.02, 1.0], vec![3.0, 1e-2, 40.0], vec![2e4, 3e4, 5e4]] {
            let prior = Dirichlet::new(alpha.clone()).unwrap();
            let parts = [(1.0, &prior)];
            for odds in [[9e3, 110.0, 2e3, 150.0], [1e-3, 30.0, 0.2, 1.0]] {
                let beside = Candid::beside_points(&parts, odds[..alpha.len()].to_vec());
                let alone = Candid { precision: ALONE, ..beside.clone() };
                for direction in random_directions(alpha.len(), true) {
                    let (gain, exact) = (beside.gain(&direction), alone.gain(&direction));
                    let stated = BESIDE_POINTS.accuracy;
                    assert!((gain / exact - 1.0).abs() < 0.5 * stated, "{alpha:?} {odds:?} {gain} {exact}");
                }
            }
        }
    }

    /// By differences of gains, in steps that share no scale: a direction times a factor gains as many times more.
    #[test]
    fn gains_to_second_order_are_those_of_gains() {
        on_points(|candid, _| {
            for direction in random_directions(3, false) {
                let at = |steps: &[f64]| {
                    let moved: Vec<f64> =
                        direction.values.iter().zip(steps).map(|(v, s)| v * (1.0 + s)).collect();
                    let mean = moved.iter().sum::<f64>() / 3.0;
                    mean * candid.gain(&Direction::of_heights(&moved, 0.0, 1.0).unwrap())
                };
                let about = candid.about(&direction);
                assert!((about.value / at(&[0.0; 3]) - 1.0).abs() < ALONE.accuracy);
                let step = 1e-3;
                let moved = |x: usize, s: f64, z: usize, t: f64| {
                    let mut steps = [0.0; 3];
                    steps[x] += s * step;
                    steps[z] += t * step;
                    at(&steps)
                };
                for x in 0..3 {
                    let slope = (moved(x, 1.0, x, 0.0) - moved(x, -1.0, x, 0.0)) / (2.0 * step);
                    let exact = about.slope[x] * direction.values[x];
                    assert!((slope - exact).abs() < 1e-5 * about.value, "{slope} {exact} {}", about.value);
                    for z in 0..=x {
                        let sign = |s: f64, t: f64| moved(x, s, z, t);
                        let bend = (sign(1.0, 1.0) - sign(1.0, -1.0) - sign(-1.0, 1.0) + sign(-1.0, -1.0))
                            / (4.0 * step * step);
                        let exact =
                            about.curvature[entries(x) + z] * direction.values[x] * direction.values[z];
                        assert!((bend - exact).abs() < 1e-4 * about.value, "{bend} {exact} {}", about.value);
                    }
                }
            }
        });
    }

    /// `Σ_j θ_j h(v_j) = a − 1` over the rows, and a truth gains what is an integral in one dimension.
    #[test]
    fn rows_gain_one_less_than_there_are_values_at_the_extremes_too() {
        for (alpha, odds) in [
            (vec![0.01, 0.02, 0.01], vec![1e-9, 1.0, 30.0]),
            (vec![0.01; 6], vec![1e4, 2e4, 1e4, 5e4, 1e5, 1e3]),
            (vec![0.5, 1e4, 3.0, 200.0], vec![0.1, 1e6, 40.0, 7.0]),
            (vec![1e4, 2e4], vec![3.0, 1e3]),
            (vec![1e6, 3e6, 0.5], vec![3.0, 1e3, 0.1]),
            (vec![0.7, 2.0, 0.5, 0.3], vec![2.0, SILENT, 3.0, 0.9]),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let parts = [(1.0, &prior)];
            let silent = odds.iter().position(|w| *w == SILENT);
            let candid = Candid { parts: &parts, odds, silent, precision: ALONE };
            let inputs = candid.odds.len();
            let each = Classes::new(&(0..inputs).collect::<Vec<usize>>());
            let rows = candid.rows(&each);
            let gains: f64 = rows.iter().map(|(theta, row)| theta * candid.gain(row)).sum();
            assert!(
                (gains / (inputs as f64 - 1.0) - 1.0).abs() < ALONE.accuracy,
                "{:?} {gains}",
                candid.odds
            );
            let shares = ln_and_shares(&prior, &candid.odds).1;
            for x in 0..inputs {
                let share = |y: usize, z: usize| shares[entries(y.max(z)) + y.min(z)];
                let others =
                    (0..inputs).filter(|y| *y != x).flat_map(|y| (0..inputs).map(move |z| share(y, z)));
                let exact = 1.0 - prior.alpha()[x] / prior.total() + candid.odds[x] * others.sum::<f64>();
                let gain = candid.gain(&truth(x, inputs)) / inputs as f64;
                assert!((gain / exact - 1.0).abs() < ALONE.accuracy, "{:?} {x}: {gain} {exact}", candid.odds);
            }
        }
    }

    #[test]
    fn the_best_leaks_the_budget_and_each_row_gains_what_it_costs() {
        for (alpha, privacy, silent) in [
            (vec![0.5, 0.3, 0.7], 0.6, None),
            // Nobody with the common value says so.
            (vec![0.5, 2.0, 0.7], 0.6, Some(1)),
            // Nearly all with the rare value do.
            (vec![0.011, 0.068, 0.74, 0.034, 0.046], 0.05, None),
            (vec![0.42, 0.0126, 0.71, 0.0153, 0.35, 0.48], 0.9999, None),
            (vec![30.0, 20.0], 0.999_999, Some(0)),
            (vec![0.5, 0.3], 0.999_999_999_999, None),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let parts = [(1.0, &prior)];
            let leakage = LeakageOf(&parts);
            let classes = Classes::new(prior.alpha());
            let inputs = classes.inputs();
            let entropy: f64 = (0..inputs).map(|x| leakage.at(&truth(x, inputs)) / inputs as f64).sum();
            let budget = (1.0 - privacy) * entropy;
            let (candid, Multipliers { lambda, nu }) =
                Candid::best(&parts, &classes, &leakage, budget).unwrap();
            assert_eq!(candid.silent, silent);
            let rows = candid.rows(&classes);
            let leaks: f64 = rows.iter().map(|(theta, row)| theta * leakage.at(row)).sum();
            assert!(leaks <= budget && leaks > budget * (1.0 - 1e-8), "{leaks} {budget}");
            for (_, row) in &rows {
                let linear: f64 = lambda.iter().zip(&row.values).map(|(lambda, v)| lambda * v).sum();
                let (gain, cost) = (candid.gain(row), linear + nu * leakage.at(row));
                // Costs are differences of numbers of order one.
                assert!(
                    (gain - cost).abs() < 1e-8 * gain + 1e-9,
                    "{:?}: {row:?} {gain} {cost}",
                    prior.alpha()
                );
            }
            let dual = lambda.iter().sum::<f64>() + nu * budget;
            assert!((dual - (inputs as f64 - 1.0)).abs() < 1e-7, "{dual}");
        }
    }

    /// What the truth gains if next to nobody tells it is far less than what it gains if nobody does, and only the latter is in the protocol.
    #[test]
    fn a_value_that_is_rare_now_and_then_is_never_silent() {
        for (alpha, privacy, silent) in [
            (vec![0.01, 0.99], 0.9, None),
            (vec![0.01, 1.005], 0.9, None),
            (vec![0.01, 1.0, 0.012], 0.5, None),
            (vec![0.01, 1.1], 0.9, Some(1)),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let parts = [(1.0, &prior)];
            let (leakage, classes) = (LeakageOf(&parts), Classes::new(prior.alpha()));
            let inputs = classes.inputs();
            let entropy: f64 = (0..inputs).map(|x| leakage.at(&truth(x, inputs)) / inputs as f64).sum();
            let (candid, Multipliers { lambda, nu }) =
                Candid::best(&parts, &classes, &leakage, (1.0 - privacy) * entropy).unwrap();
            assert_eq!(candid.silent, silent, "{:?}", prior.alpha());
            assert_eq!(candid.rows(&classes).len(), inputs + usize::from(silent.is_none()));
            if let Some(x) = silent {
                let costs = lambda[x] + nu * leakage.at(&truth(x, inputs)) / inputs as f64;
                // By the integral at odds that are all but infinite.
                let gain = candid.gain(&truth(x, inputs)) / inputs as f64;
                assert!(gain < candid.gain_of_silent(x) && candid.gain_of_silent(x) < costs);
            }
        }
    }

    #[test]
    fn under_a_symmetric_prior_it_is_erasure() {
        let prior = Dirichlet::new(vec![0.5; 7]).unwrap();
        let parts = [(1.0, &prior)];
        let (leakage, classes) = (LeakageOf(&parts), Classes::new(prior.alpha()));
        let entropy = leakage.at(&truth(0, 7));
        let (candid, _) = Candid::best(&parts, &classes, &leakage, 0.3 * entropy).unwrap();
        let rows = candid.rows(&classes);
        assert!(rows.len() == 2 && rows[1].1.deviations.iter().all(|d| *d == 0.0), "{rows:?}");
        assert!((rows[0].0 - 0.3).abs() < 1e-8, "{rows:?}");
    }
}
