//! The likelihood of tallies, without `O(b × a)` work.
//!
//! Every reported output is a *row* `(QP)_y = e^{ln_scale} (base + Σ_x gain_x P_x)`: the probability of the
//! least likely inputs, and the gain of the *members* beyond it. For unary encoding, local hash and subset
//! selection the members are the reported set, for randomised response the reported value. Proportional rows
//! are merged; so local hash with a few inputs has few rows, however many users there are.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rand::{Rng, RngExt};

use super::dense_rows::DenseRows;
use super::{RowLikelihood, Senders};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::protocol::Protocol;
use crate::model::tallies::Tallies;
use crate::numerics::random::multinomial;
use crate::numerics::stop::check;

/// The largest number of members of all rows: 1.5 GiB.
const MAX_MEMBERS: usize = 1 << 27;

/// The likelihood of tallies.
#[derive(Clone, Debug)]
pub(crate) struct SparseRows {
    a: usize,
    n: u64,
    rows: Vec<Row>,
    members: Vec<u32>,
    gains: Vec<f64>,
    /// The part that does not depend on `P`.
    ln_scale: f64,
}

/// One row: its count, base, and the end of its members.
#[derive(Clone, Copy, Debug)]
struct Row {
    count: u64,
    base: f64,
    end: usize,
}

/// A row with its members: the inputs that are more likely than the least likely ones. The largest entry is
/// 1.
pub(crate) struct RowView<'a> {
    pub count: u64,
    pub base: f64,
    pub members: &'a [u32],
    pub gains: &'a [f64],
}

impl RowView<'_> {
    /// `base + Σ gain_x p_x`.
    pub(crate) fn value(&self, p: &[f64]) -> f64 {
        let terms = self.members.iter().zip(self.gains);
        self.base + terms.map(|(x, gain)| gain * p[*x as usize]).sum::<f64>()
    }

    /// Writes the row in full.
    pub(crate) fn write(&self, row: &mut [f64]) {
        row.fill(self.base);
        self.members.iter().zip(self.gains).for_each(|(x, gain)| row[*x as usize] += gain);
    }
}

/// A row before it is stored: `ln` of its scale, base, members and gains.
struct SparseRow {
    ln_scale: f64,
    base: f64,
    members: Vec<u32>,
    gains: Vec<f64>,
}

impl SparseRow {
    /// Equal for rows that differ only by rounding.
    fn digits(&self) -> Vec<u64> {
        self.gains.iter().map(|gain| (gain * 44f64.exp2()).round() as u64).collect()
    }
}

impl SparseRows {
    /// The likelihood of these tallies.
    ///
    /// # Errors
    /// An output was reported that no input produces, or the rows do not fit into memory.
    pub(crate) fn new(protocol: &Protocol, tallies: &Tallies) -> Result<Self> {
        let a = protocol.inputs();
        let mut likelihood = SparseRows {
            a,
            n: tallies.n(),
            rows: Vec::new(),
            members: Vec::new(),
            gains: Vec::new(),
            ln_scale: 0.0,
        };
        let mut known: HashMap<(Vec<u32>, Vec<u64>), usize> = HashMap::new();
        for (output, count) in tallies.counts() {
            check();
            let row = sparse(protocol, output)?;
            if row.ln_scale == f64::NEG_INFINITY {
                return Err(Error::ImpossibleOutput { output: output.to_string() });
            }
            likelihood.ln_scale += *count as f64 * row.ln_scale;
            match known.entry((row.members.clone(), row.digits())) {
                Entry::Occupied(same) => likelihood.rows[*same.get()].count += count,
                Entry::Vacant(new) => {
                    new.insert(likelihood.rows.len());
                    likelihood.push(*count, row)?;
                }
            }
        }
        Ok(likelihood)
    }

    fn push(&mut self, count: u64, row: SparseRow) -> Result<()> {
        self.members.extend(row.members);
        self.gains.extend(row.gains);
        if self.members.len() > MAX_MEMBERS {
            let (what, max) = ("the likelihood of these reports", MAX_MEMBERS as u128);
            return Err(Error::TooMuch { what, entries: self.members.len() as u128, max });
        }
        self.rows.push(Row { count, base: row.base, end: self.members.len() });
        Ok(())
    }

    /// Number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.a
    }

    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowView<'_>> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.end));
        starts.zip(&self.rows).map(|(start, row)| RowView {
            count: row.count,
            base: row.base,
            members: &self.members[start..row.end],
            gains: &self.gains[start..row.end],
        })
    }

    /// How many users surely hold each value, if every report reveals everything or nothing.
    pub(crate) fn certain(&self) -> Option<Vec<u64>> {
        let mut known = vec![0; self.a];
        for row in self.rows() {
            check();
            match (row.members, row.base) {
                ([], _) => {}
                ([x], 0.0) => known[*x as usize] += row.count,
                _ => return None,
            }
        }
        Some(known)
    }

    /// The rows for which `wanted` is true.
    fn only(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let mut kept = SparseRows { rows: Vec::new(), members: Vec::new(), gains: Vec::new(), ..*self };
        for (_, row) in self.rows().enumerate().filter(|(i, _)| wanted(*i)) {
            check();
            kept.members.extend_from_slice(row.members);
            kept.gains.extend_from_slice(row.gains);
            kept.rows.push(Row { count: row.count, base: row.base, end: kept.members.len() });
        }
        kept
    }
}

impl Senders for SparseRows {
    fn n(&self) -> u64 {
        self.n
    }

    fn ln_scale(&self) -> f64 {
        self.ln_scale
    }

    fn ln_value(&self, p: &[f64]) -> f64 {
        self.rows().map(|row| row.count as f64 * row.value(p).ln()).sum()
    }

    fn tally_moments(&self, p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut mean, mut squares) = (vec![0.0; self.a], vec![0.0; self.a]);
        let (mut base_mean, mut base_squares) = (0.0, 0.0);
        for row in self.rows() {
            check();
            let (count, value) = (row.count as f64, row.value(p));
            let base = row.base / value;
            base_mean += count * base;
            base_squares += count * base * base;
            for (x, gain) in row.members.iter().zip(row.gains) {
                let (x, gain) = (*x as usize, gain / value);
                mean[x] += count * gain;
                squares[x] += count * gain * (gain + 2.0 * base);
            }
        }
        for ((mean, squares), p_x) in mean.iter_mut().zip(&mut squares).zip(p) {
            *mean = (*mean + base_mean) * p_x;
            *squares = (*mean - (*squares + base_squares) * p_x * p_x).max(0.0);
        }
        (mean, squares)
    }

    /// A report comes from the base, that is from `P` itself, or from one of its members.
    fn sample_tallies(&self, p: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
        let (mut t, mut from_base) = (vec![0; self.a], 0);
        let mut masses = Vec::new();
        for row in self.rows() {
            check();
            masses.clear();
            masses.extend(row.members.iter().zip(row.gains).map(|(x, gain)| gain * p[*x as usize]));
            let own: f64 = masses.iter().sum();
            if row.count == 1 {
                let mut rest = rng.random::<f64>() * (row.base + own) - row.base;
                if rest < 0.0 || own == 0.0 {
                    from_base += 1;
                    continue;
                }
                let hit = masses.iter().position(|mass| {
                    rest -= mass;
                    rest < 0.0
                });
                // Unwrap safety: a row with mass has members; rounding may leave a rest for the last one.
                let member = hit.or_else(|| masses.iter().rposition(|mass| *mass > 0.0)).unwrap();
                t[row.members[member] as usize] += 1;
                continue;
            }
            masses.push(row.base);
            let counts = multinomial(row.count, &masses, rng);
            row.members.iter().zip(&counts).for_each(|(x, count)| t[*x as usize] += count);
            from_base += counts[row.members.len()];
        }
        t.iter_mut().zip(multinomial(from_base, p, rng)).for_each(|(t, more)| *t += more);
        t
    }
}

impl RowLikelihood for SparseRows {
    fn inputs(&self) -> usize {
        self.inputs()
    }

    fn counts(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.count as f64).collect()
    }

    fn ln_likelihood(&self, p: &[f64]) -> f64 {
        self.ln_value(p)
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        self.rows().map(|row| row.value(p)).collect()
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let (mut gradient, mut base) = (vec![0.0; self.a], 0.0);
        for row in self.rows() {
            check();
            let factor = row.count as f64 / row.value(p);
            base += factor * row.base;
            let members = row.members.iter().zip(row.gains);
            members.for_each(|(x, gain)| gradient[*x as usize] += factor * gain);
        }
        gradient.iter().map(|g| g + base).collect()
    }

    fn expansion(&self, centre: &[f64], _: bool) -> (Vec<f64>, Vec<f64>) {
        let a = self.inputs();
        let (mut curvature, mut mixed, mut base_curvature) = (vec![0.0; a * a], vec![0.0; a], 0.0);
        for row in self.rows() {
            check();
            let second = row.count as f64 / row.value(centre).powi(2);
            base_curvature += second * row.base * row.base;
            for (x, gain) in row.members.iter().zip(row.gains) {
                let x = *x as usize;
                mixed[x] += second * row.base * gain;
                let (line, factor) = (&mut curvature[x * a..][..a], second * gain);
                row.members.iter().zip(row.gains).for_each(|(y, gain)| line[*y as usize] += factor * gain);
            }
        }
        for (line, mixed_x) in curvature.chunks_exact_mut(a).zip(&mixed) {
            line.iter_mut().zip(&mixed).for_each(|(j, mixed_y)| *j += mixed_x + mixed_y + base_curvature);
        }
        (self.gradient(centre), curvature)
    }

    fn steps(&self) -> f64 {
        (self.members.len() + self.rows.len()) as f64
    }

    fn split(&self, chosen: &[bool]) -> (DenseRows, Box<dyn RowLikelihood>) {
        let exact = self.only(|i| chosen[i]);
        let mut rows = vec![0.0; self.a * exact.rows.len()];
        rows.chunks_exact_mut(self.a).zip(exact.rows()).for_each(|(full, row)| row.write(full));
        (DenseRows { a: self.a, rows, counts: exact.counts() }, Box::new(self.only(|i| !chosen[i])))
    }
}

/// The row of an output.
fn sparse(protocol: &Protocol, output: &Output) -> Result<SparseRow> {
    match (protocol, output) {
        (Protocol::UnaryEncoding(_) | Protocol::SubsetSelection(_), Output::Subset(members)) => {
            of_set(protocol, output, members.iter().map(|x| *x as u32).collect())
        }
        (Protocol::LocalHash(hash), _) => {
            let support = hash.support(output)?;
            let members = support.iter().enumerate().filter(|(_, inside)| **inside).map(|(x, _)| x as u32);
            of_set(protocol, output, members.collect())
        }
        (Protocol::Block(block), Output::Index(y)) => {
            of_set(protocol, output, block.members(*y).into_iter().map(|x| x as u32).collect())
        }
        (Protocol::Mixture(mixture), Output::Part(part, inner)) => {
            let mut row = sparse(&mixture.parts()[*part], inner)?;
            row.ln_scale += mixture.weights()[*part].ln();
            Ok(row)
        }
        (Protocol::GeneralisedRandomisedResponse(_) | Protocol::Identity(_), Output::Index(x)) => {
            of_set(protocol, output, vec![*x as u32])
        }
        _ => dense(protocol, output),
    }
}

/// The row of an output that only reveals whether the input is one of the members.
fn of_set(protocol: &Protocol, output: &Output, members: Vec<u32>) -> Result<SparseRow> {
    let a = protocol.inputs();
    let outside = (0..a).find(|x| members.get(*x) != Some(&(*x as u32))).filter(|_| members.len() < a);
    let ln = |x: Option<usize>| x.map_or(Ok(f64::NEG_INFINITY), |x| protocol.ln_probability(output, x));
    let (inside, outside) = (ln(members.first().map(|x| *x as usize))?, ln(outside)?);
    let ln_scale = inside.max(outside);
    if outside >= inside || members.len() == a {
        return Ok(SparseRow { ln_scale, base: 1.0, members: Vec::new(), gains: Vec::new() });
    }
    let base = (outside - ln_scale).exp();
    let gain = -(outside - inside).exp_m1();
    Ok(SparseRow { ln_scale, base, gains: vec![gain; members.len()], members })
}

/// The row of any output.
fn dense(protocol: &Protocol, output: &Output) -> Result<SparseRow> {
    let a = protocol.inputs();
    let ln: Vec<f64> = match protocol.row_of(output) {
        Ok(row) => {
            let mut values = vec![0.0; a];
            protocol.row_into(row, &mut values)?;
            values.iter().map(|q| q.ln()).collect()
        }
        // Too many rows to number.
        Err(_) => (0..a).map(|x| protocol.ln_probability(output, x)).collect::<Result<_>>()?,
    };
    let ln_scale = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = ln.iter().copied().fold(f64::INFINITY, f64::min);
    let base = (lowest - ln_scale).exp();
    let gain = |ln_q: f64| (ln_q - ln_scale).exp() - base;
    let (members, gains) = ln
        .iter()
        .enumerate()
        .map(|(x, ln_q)| (x as u32, gain(*ln_q)))
        .filter(|(_, gain)| *gain > 0.0)
        .unzip();
    Ok(SparseRow { ln_scale, base, members, gains })
}
