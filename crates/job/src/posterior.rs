//! The job `posterior`: from tallies to what they say about the distribution and the population.

use sottovoce::estimate::{LeftInverse, Reports};
use sottovoce::information::{Choice, Observer};
use sottovoce::posterior::{Posterior, PosteriorOptions, Summary, posterior};
use sottovoce::{Protocol, Tallies};

use crate::admission::{admit, posterior_bytes};
use crate::collection::Collected;
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::Subject;

/// Whose posterior is wanted, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct PosteriorSpec {
    /// The protocol; unsaid, the one that the tallies name.
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// The tallies: a file, inline JSON, or `-`.
    pub tallies: String,
    /// Probability of the intervals, equally split to both sides.
    pub level: f64,
    /// Number of joint draws.
    pub draws: usize,
    /// Points of each marginal density; 0 for none.
    pub grid: usize,
    /// Which method.
    pub choice: Choice,
    /// Seed of all random draws.
    pub seed: u64,
    /// Whether an answer of chains that did not converge is wanted.
    pub unconverged: bool,
}

/// A valid request for a posterior.
#[derive(Clone, Debug)]
pub struct PosteriorJob {
    subject: Subject,
    tallies: Tallies,
    spec: PosteriorSpec,
}

/// A posterior with the names of its values.
#[derive(Clone, Debug)]
pub struct PosteriorReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// Probability of the intervals.
    pub level: f64,
    /// Names of the values.
    pub labels: Vec<String>,
    /// The posterior.
    pub posterior: Posterior,
    /// What it is compared with, for at most [`MOST_COMPARED`] values.
    pub compared: Option<Compared>,
}

/// What a posterior is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What was believed about `P` before the reports.
    pub prior: Vec<Summary>,
    /// The linear estimate, if the protocol has one and there are reports.
    pub linear: Option<Vec<f64>>,
}

/// Most values whose posterior is compared with the prior and the linear estimate: as many as a picture has rows.
pub const MOST_COMPARED: usize = 100;

impl PosteriorSpec {
    /// The posterior of these tallies with 90 % intervals.
    pub fn of(protocol: Written<ProtocolSpec>, tallies: String) -> Self {
        PosteriorSpec {
            protocol: Some(protocol),
            prior: PriorSpec::Jeffreys.into(),
            tallies,
            level: 0.9,
            draws: 0,
            grid: 0,
            choice: Choice::Automatic,
            seed: 0,
            unconverged: false,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior or a setting is out of range, or the tallies do not fit the protocol.
    pub fn check(&self) -> Result<PosteriorJob> {
        if !(self.level > 0.0 && self.level < 1.0) {
            let value = self.level.to_string();
            return Err(Error::Setting {
                name: "level",
                value,
                allowed: "a probability above 0 and below 1",
            });
        }
        let settings = sottovoce::metric::Settings { seed: self.seed, ..Default::default() };
        let collected = Collected::read(&self.tallies)?;
        let protocol = collected.protocol(self.protocol.as_ref())?;
        let subject = Subject::new(&protocol, &self.prior, settings)?;
        let tallies = collected.of(&subject.protocol, |file| file.check(&subject.protocol.protocol))?;
        admit(posterior_bytes(&subject.protocol.protocol, tallies.n(), self.draws, self.grid))?;
        Ok(PosteriorJob { subject, tallies, spec: self.clone() })
    }
}

impl PosteriorJob {
    /// The posterior, while the observer hears of the sampler.
    ///
    /// # Errors
    /// The reports are impossible, no method fits, or the chains did not converge.
    pub fn run(&self, observer: Option<Observer<'_>>) -> Result<PosteriorReport> {
        let options = PosteriorOptions {
            choice: self.spec.choice,
            probabilities: self.probabilities(),
            draws: self.spec.draws,
            grid: self.spec.grid,
            seed: self.spec.seed,
            unconverged: self.spec.unconverged,
            observer,
        };
        let named = &self.subject.protocol;
        let found = posterior(&named.protocol, &self.subject.prior, &self.tallies, &options)?;
        let compared = (named.protocol.inputs() <= MOST_COMPARED).then(|| self.compared()).transpose()?;
        Ok(PosteriorReport {
            protocol: named.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            level: self.spec.level,
            labels: (0..named.protocol.inputs()).map(|x| named.input(x)).collect(),
            posterior: found,
            compared,
        })
    }

    /// The prior is the posterior of no report at all.
    fn compared(&self) -> Result<Compared> {
        let (protocol, prior) = (&self.subject.protocol.protocol, &self.subject.prior);
        let silent = Protocol::identity(protocol.inputs())?;
        let none = Tallies::new(&silent, [])?;
        let options = PosteriorOptions { probabilities: self.probabilities(), ..PosteriorOptions::default() };
        let linear = LeftInverse::of(protocol)
            .and_then(|inverse| inverse.estimate(protocol, &Reports::Tallies(self.tallies.clone())));
        Ok(Compared {
            prior: posterior(&silent, prior, &none, &options)?.p,
            linear: linear.ok().map(|linear| linear.values().to_vec()),
        })
    }

    /// The ends of the intervals, and the median.
    fn probabilities(&self) -> Vec<f64> {
        // As a person would write it: 1 − 0.9 is not 0.1 in binary.
        let tail = (0.5e12 * (1.0 - self.spec.level)).round() / 1e12;
        vec![tail, 0.5, 1.0 - tail]
    }
}

/// The joint draws of `P` as Parquet: a column of doubles for each value.
///
/// # Errors
/// The writer refuses a label.
pub fn draws_parquet(report: &PosteriorReport) -> std::io::Result<Vec<u8>> {
    sottovoce_collect::files::number_table::parquet_table(&report.labels, &report.posterior.draws.p)
}

/// The joint draws of `P` as CSV: a column for each value, a line for each draw.
pub fn draws_csv(report: &PosteriorReport) -> String {
    let mut text = crate::render::csv::line(report.labels.iter().cloned());
    for p in &report.posterior.draws.p {
        text += &crate::render::csv::line(p.iter().map(|p_x| format!("{p_x:?}")));
    }
    text
}
