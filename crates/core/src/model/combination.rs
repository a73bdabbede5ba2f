//! Several collections of the same values under different protocols, as one collection.
//!
//! # Method
//! Likelihoods multiply. That is the mixture of the protocols with weights `n_j/n`, whose reports `[j, Y_j]` name the collection they come
//! from: `Π_j Π_y (n_j/n · (Q_j P)_y)^{s_jy}` differs from the product of the likelihoods by a constant factor only. Collections of the
//! same protocol are added up first.

use std::collections::BTreeMap;

use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::protocol::Protocol;
use crate::model::supports::{Reports, Supports};
use crate::model::tallies::Tallies;

/// Several collections as one.
///
/// ```
/// use sottovoce::estimate::{Combination, Reports};
/// use sottovoce::{Output, Protocol, Tallies};
///
/// let (first, second) = (Protocol::grr(3, 1.0)?, Protocol::grr(3, 2.0)?);
/// let reports = |protocol| Tallies::new(protocol, [(Output::Index(0), 10)]).map(Reports::Tallies);
/// let both = Combination::new(&[(&first, &reports(&first)?), (&second, &reports(&second)?)])?;
/// assert_eq!((both.reports.n(), both.protocol.parts().len()), (20, 2));
/// # Ok::<(), sottovoce::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Combination {
    /// The protocol that the collections have in common, or the mixture of their protocols.
    pub protocol: Protocol,
    /// All reports.
    pub reports: Reports,
    /// The protocols with their reports, each protocol once, without those that nobody used.
    pub parts: Vec<(Protocol, Reports)>,
}

impl Combination {
    /// The combination of these collections, of which there must be one at least.
    ///
    /// # Errors
    /// There is none, the protocols have different numbers of inputs, or only supports were kept of one of several protocols.
    pub fn new(collections: &[(&Protocol, &Reports)]) -> Result<Self> {
        let Some((first, _)) = collections.first() else { return Err(Error::Empty { name: "collections" }) };
        let mut groups: Vec<(&Protocol, Vec<&Reports>)> = Vec::new();
        for (position, (protocol, reports)) in collections.iter().enumerate() {
            let (found, expected) = (protocol.inputs(), first.inputs());
            if found != expected {
                return Err(Error::Mismatch { role: "collection", position, found, expected });
            }
            match groups.iter_mut().find(|(known, _)| known == protocol) {
                Some((_, group)) => group.push(reports),
                None => groups.push((protocol, vec![reports])),
            }
        }
        let sum = |(protocol, group): &(&Protocol, Vec<&Reports>)| {
            added(protocol, group).map(|reports| ((*protocol).clone(), reports))
        };
        let mut parts: Vec<(Protocol, Reports)> = groups.iter().map(sum).collect::<Result<_>>()?;
        // What nobody used tells nothing; if nobody reported at all, any will do.
        let used = parts.iter().filter(|(_, reports)| reports.n() > 0).count();
        match used {
            0 => parts.truncate(1),
            _ => parts.retain(|(_, reports)| reports.n() > 0),
        }
        if let [(protocol, reports)] = &parts[..] {
            let (protocol, reports) = (protocol.clone(), reports.clone());
            return Ok(Combination { protocol, reports, parts });
        }
        let n: f64 = parts.iter().map(|(_, reports)| reports.n() as f64).sum();
        let weights = parts.iter().map(|(_, reports)| reports.n() as f64 / n).collect();
        let protocols = parts.iter().map(|(protocol, _)| protocol.clone()).collect();
        let protocol = Protocol::mixture(weights, protocols)?;
        let mut counts = Vec::new();
        for (j, (_, reports)) in parts.iter().enumerate() {
            let Reports::Tallies(tallies) = reports else {
                return Err(Error::SupportsOnly { what: "a combination of different protocols" });
            };
            let part = |(output, count): &(Output, u64)| (Output::Part(j, Box::new(output.clone())), *count);
            counts.extend(tallies.counts().iter().map(part));
        }
        let reports = Reports::Tallies(Tallies::new(&protocol, counts)?);
        Ok(Combination { protocol, reports, parts })
    }

    /// `Σ_j n_j ln(n_j/n)`: by so much `ln P(y⃗)` under the mixture is below that of the reports given which collection each is from.
    pub fn ln_weights(&self) -> f64 {
        let n = self.reports.n() as f64;
        let term = |(_, reports): &(Protocol, Reports)| reports.n() as f64 * (reports.n() as f64 / n).ln();
        if self.parts.len() < 2 { 0.0 } else { self.parts.iter().map(term).sum() }
    }
}

/// The sum of reports of the same protocol: tallies if all are, else supports.
fn added(protocol: &Protocol, group: &[&Reports]) -> Result<Reports> {
    if let [only] = group {
        return Ok((*only).clone());
    }
    if group.iter().all(|reports| matches!(reports, Reports::Tallies(_))) {
        let mut counts = BTreeMap::<Output, u64>::new();
        for reports in group {
            let Reports::Tallies(tallies) = reports else { continue };
            for (output, count) in tallies.counts() {
                let sum = counts.entry(output.clone()).or_default();
                *sum = sum.checked_add(*count).ok_or(Error::TooManyReports)?;
            }
        }
        return Ok(Reports::Tallies(Tallies::new(protocol, counts)?));
    }
    let (mut n, mut sums) = (0u64, vec![0u64; protocol.inputs()]);
    for reports in group {
        let supports = match reports {
            Reports::Supports(supports) => supports.clone(),
            Reports::Tallies(tallies) => {
                Supports::of_tallies(protocol, tallies).ok_or(Error::NoSupports { kind: protocol.kind() })?
            }
        };
        n = n.checked_add(supports.n()).ok_or(Error::TooManyReports)?;
        for (sum, count) in sums.iter_mut().zip(supports.counts()) {
            *sum = sum.checked_add(*count).ok_or(Error::TooManyReports)?;
        }
    }
    Ok(Reports::Supports(Supports::new(protocol, n, sums)?))
}
