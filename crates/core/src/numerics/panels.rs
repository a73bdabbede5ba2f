//! Densities with one peak on the whole line: integral, nodes, distribution function.
//!
//! # Method
//! From the peak, panels go out until `e^−45` of it is left; each is halved until two Gauss–Legendre rules of sixteen nodes agree. The distribution function integrates
//! within the panel where it falls, so it is as good as the integral itself.

use std::sync::LazyLock;

use crate::numerics::gauss::legendre;
use crate::numerics::stop;

/// Nodes of a panel.
const ORDER: usize = 16;

/// The rule of a panel.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| legendre(ORDER));

/// A panel is halved at most so often.
const MAX_DEPTH: u32 = 40;

/// What is left out beyond the last panels, as a logarithm relative to the peak.
const LN_NEGLIGIBLE: f64 = -45.0;

/// The logarithm of a density, up to a constant.
type LnDensity<'a> = &'a dyn Fn(f64) -> f64;

/// A density, cut into panels.
pub(crate) struct Panels {
    /// `ln` of the density at the peak, and the integral relative to it.
    ln_peak: f64,
    total: f64,
    panels: Vec<Panel>,
}

/// Part of the line, with the mass to its left and its nodes.
struct Panel {
    left: f64,
    right: f64,
    before: f64,
    mass: f64,
    /// Places and masses.
    nodes: Vec<(f64, f64)>,
}

impl Panels {
    /// The density around its peak. Panels are halved until two rules differ by less than `agreement`, a part of the whole: no less than the relative errors of the
    /// density, which no halving mends.
    pub(crate) fn new(ln_at: LnDensity<'_>, peak: f64, agreement: f64) -> Self {
        let mut panels = Panels { ln_peak: ln_at(peak), total: 1.0, panels: Vec::new() };
        let edges = panels.edges(ln_at, peak);
        let rough: f64 = edges.windows(2).map(|w| sum(&panels.rule(ln_at, w[0], w[1]))).sum();
        edges.windows(2).for_each(|w| panels.add(ln_at, (w[0], w[1]), agreement * rough, 0));
        for i in 1..panels.panels.len() {
            panels.panels[i].before = panels.panels[i - 1].before + panels.panels[i - 1].mass;
        }
        panels.total = panels.panels.iter().map(|panel| panel.mass).sum();
        panels
    }

    /// `ln` of the integral of the given density.
    pub(crate) fn ln_total(&self) -> f64 {
        self.ln_peak + self.total.ln()
    }

    /// Places with their masses, which sum to 1.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (f64, f64)> {
        self.panels.iter().flat_map(|panel| &panel.nodes).map(|(u, mass)| (*u, mass / self.total))
    }

    /// The ends of all panels, from left to right.
    pub(crate) fn edges_between(&self) -> Vec<f64> {
        let rights = self.panels.iter().map(|panel| panel.right);
        self.panels.first().map(|panel| panel.left).into_iter().chain(rights).collect()
    }

    /// Where the first panel begins and the last one ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.panels[0].left, self.panels[self.panels.len() - 1].right)
    }

    /// The probability below a place.
    pub(crate) fn below(&self, ln_at: LnDensity<'_>, u: f64) -> f64 {
        let number = self.panels.partition_point(|panel| panel.right <= u);
        let Some(panel) = self.panels.get(number) else { return 1.0 };
        if u <= panel.left {
            return panel.before / self.total;
        }
        (panel.before + sum(&self.rule(ln_at, panel.left, u))) / self.total
    }

    /// The density relative to its peak.
    fn relative(&self, ln_at: LnDensity<'_>, u: f64) -> f64 {
        (ln_at(u) - self.ln_peak).exp()
    }

    /// Where panels begin and end: steps away from the peak, growing until nothing is left.
    fn edges(&self, ln_at: LnDensity<'_>, peak: f64) -> Vec<f64> {
        let drop = |u: f64| ln_at(u) - self.ln_peak;
        // A step that costs about half of the height on the steeper side.
        let mut step = 1.0;
        while step > 1e-12 && drop(peak + step).min(drop(peak - step)) < -1.0 {
            step *= 0.5;
        }
        let side = |sign: f64| {
            let (mut edges, mut width) = (vec![peak + sign * step], step);
            while drop(edges[edges.len() - 1]) > LN_NEGLIGIBLE && edges.len() < 200 {
                edges.push(edges[edges.len() - 1] + sign * width);
                width *= 1.3;
            }
            edges
        };
        let mut edges: Vec<f64> = side(-1.0).into_iter().rev().collect();
        edges.push(peak);
        edges.extend(side(1.0));
        edges
    }

    fn rule(&self, ln_at: LnDensity<'_>, left: f64, right: f64) -> Vec<(f64, f64)> {
        stop::check();
        let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
        let at = |x: f64| middle + half * x;
        RULE.iter().map(|(x, w)| (at(*x), half * w * self.relative(ln_at, at(*x)))).collect()
    }

    fn add(&mut self, ln_at: LnDensity<'_>, (left, right): (f64, f64), tolerance: f64, depth: u32) {
        let middle = 0.5 * (left + right);
        let ends = [(left, middle), (middle, right)];
        let (whole, halves) = (self.rule(ln_at, left, right), ends.map(|(l, r)| self.rule(ln_at, l, r)));
        let masses = halves.each_ref().map(|nodes| sum(nodes));
        if depth < MAX_DEPTH && (sum(&whole) - masses[0] - masses[1]).abs() > tolerance {
            ends.into_iter().for_each(|ends| self.add(ln_at, ends, tolerance, depth + 1));
            return;
        }
        for ((nodes, mass), (left, right)) in halves.into_iter().zip(masses).zip(ends) {
            self.panels.push(Panel { left, right, before: 0.0, mass, nodes });
        }
    }
}

fn sum(nodes: &[(f64, f64)]) -> f64 {
    nodes.iter().map(|(_, mass)| mass).sum()
}
