//! Several rounds about one value: privacy after 1, 2, …, `K` reports, and in the limit.

use super::answer::Answer;
use super::average_privacy::{Leakage, average, given};
use super::{Analysis, Metric, Settings, level_bracket, local_privacy_level, user_entropy};
use crate::leakage::{self, GroupedPrior, RepeatedBits, RepeatedResponse};
use crate::model::absence::Absence;
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Component, Prior};
use crate::model::protocol::{Channel, Matrix, Protocol};
use crate::numerics::parallel::*;
use crate::numerics::random::{generator, pick};
use crate::numerics::stop;

/// The largest number of rounds.
pub const MAX_ROUNDS: u64 = 10_000;

/// Beyond this many rounds the expanded protocol is not tried: it is built one factor at a time.
const MAX_FACTORS: u64 = 100;

/// Reports about the same value of the same person, round after round.
///
/// # Definition
/// ```text
/// fresh      Y_k = R_k(x)                     the product R × … × R
/// memoised   Z = Q(x) once, Y_k = R_k(Z)      the composition of Q and the product R × … × R
/// ```
/// where all `R_k` draw independently. If `Q` and `R` are both unary encodings of the same values, `R` draws each bit from
/// the bit of `Z`, as RAPPOR does: one with probability `κ` if that is one, else `λ`.
///
/// # Method and cost
/// - LDP: closed form for fresh noise, for randomised response after randomised response, and for unary encoding bit by bit;
///   otherwise from the expanded protocol, or a bracket between a smaller number of rounds and the permanent report.
/// - `S_μ`: one integral for unary encoding and local hash (fresh noise, or bit by bit); one for each profile of counts for
///   randomised response under a prior that treats all values alike; otherwise from the rows of the expanded protocol or, if
///   these are too many, Monte Carlo over reports with one integral each.
///
/// # Example
/// ```
/// use sottovoce::metric::{Rounds, Settings};
/// use sottovoce::{Prior, Protocol};
///
/// let daily = Rounds::memoised(Protocol::grr(8, 1.0)?, Protocol::grr(8, 2.0)?)?;
/// let after = |rounds| daily.level(rounds).number().unwrap().value;
/// assert!(after(1) < after(10) && after(10) < 1.0); // never more than the permanent report
/// assert_eq!(daily.level_limit().number().unwrap().value, 1.0);
/// # Ok::<(), sottovoce::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    permanent: Option<Protocol>,
    each: Protocol,
}

/// What makes rounds exact for any number of values.
enum Structure {
    Bits(RepeatedBits),
    Response(RepeatedResponse),
    None,
}

impl Rounds {
    /// Each report is drawn from the value, with fresh noise.
    pub fn fresh(each: Protocol) -> Self {
        Rounds { permanent: None, each }
    }

    /// A permanent report is drawn once and remembered; each report is drawn from that.
    ///
    /// # Errors
    /// The outputs of `permanent` are not the inputs of `each`, and they are not both unary encodings of the same values.
    pub fn memoised(permanent: Protocol, each: Protocol) -> Result<Self> {
        let rounds = Rounds { permanent: Some(permanent), each };
        if matches!(rounds.structure(), Structure::None) {
            rounds.expanded(1)?;
        }
        Ok(rounds)
    }

    /// Number of values `a`.
    pub fn inputs(&self) -> usize {
        self.permanent.as_ref().unwrap_or(&self.each).inputs()
    }

    /// Whether the bits of the reports are drawn from the bits of the permanent report.
    pub fn bit_by_bit(&self) -> bool {
        self.permanent.is_some() && matches!(self.structure(), Structure::Bits(_))
    }

    /// `rounds` reports as one protocol, whose output is the list of their outputs.
    ///
    /// # Errors
    /// As for [`Protocol::composition`]; always if the bits of a permanent report are drawn from one by one, which is no
    /// composition of protocols of values.
    pub fn expanded(&self, rounds: u64) -> Result<Protocol> {
        let reports = match usize::try_from(rounds) {
            Ok(1) => self.each.clone(),
            Ok(rounds) => Protocol::product(vec![self.each.clone(); rounds])?,
            Err(_) => return Err(Error::Empty { name: "factors" }),
        };
        match &self.permanent {
            Some(permanent) => Protocol::composition(vec![permanent.clone(), reports]),
            None => Ok(reports),
        }
    }

    fn structure(&self) -> Structure {
        match (&self.permanent, &self.each) {
            (None, Protocol::UnaryEncoding(each)) => {
                Structure::Bits(RepeatedBits { permanent: None, each: *each.bits() })
            }
            (None, Protocol::LocalHash(each)) => {
                Structure::Bits(RepeatedBits { permanent: None, each: *each.as_unary().bits() })
            }
            (Some(Protocol::UnaryEncoding(permanent)), Protocol::UnaryEncoding(each))
                if permanent.inputs() == each.inputs() =>
            {
                Structure::Bits(RepeatedBits { permanent: Some(*permanent.bits()), each: *each.bits() })
            }
            (None, Protocol::GeneralisedRandomisedResponse(each)) => Structure::Response(RepeatedResponse {
                a: each.inputs(),
                permanent: None,
                each: each.epsilon(),
            }),
            (
                Some(Protocol::GeneralisedRandomisedResponse(permanent)),
                Protocol::GeneralisedRandomisedResponse(each),
            ) if permanent.inputs() == each.inputs() => Structure::Response(RepeatedResponse {
                a: each.inputs(),
                permanent: Some(permanent.epsilon()),
                each: each.epsilon(),
            }),
            _ => Structure::None,
        }
    }

    /// The LDP level of `rounds` reports together.
    pub fn level(&self, rounds: u64) -> Answer {
        match stop::caught(|| self.level_of(rounds).map_err(Absence::from)).unwrap_or(Err(Absence::Stopped)) {
            Ok(answer) => answer,
            Err(absence) => Err(absence).into(),
        }
    }

    fn level_of(&self, rounds: u64) -> Result<Answer> {
        let exact = match (self.structure(), &self.permanent) {
            (Structure::Bits(bits), _) => Ok(bits.level(rounds)),
            (Structure::Response(response), _) => Ok(response.level(rounds)),
            // The worst pair of values is the same in every round.
            (Structure::None, None) => local_privacy_level(&self.each).map(|one| one.times(rounds as f64)),
            (Structure::None, Some(_)) if rounds > MAX_FACTORS => Err(self.too_many_rounds(rounds)),
            (Structure::None, Some(_)) => local_privacy_level(&self.expanded(rounds)?),
        };
        match exact {
            Ok(level) => Ok(Ok(level).into()),
            Err(Error::TooLarge { .. }) => {
                let (low, high) = level_bracket(&self.expanded(rounds.min(2))?)?;
                let high = match &self.permanent {
                    Some(permanent) => level_bracket(permanent)?.1,
                    None => high,
                };
                Ok(Answer::between(low, high, Method::ClosedForm))
            }
            Err(error) => Err(error),
        }
    }

    fn too_many_rounds(&self, rounds: u64) -> Error {
        Error::TooLarge {
            what: "rounds",
            outputs: format!("2^{:.0}", self.each.report_bits() * rounds as f64),
            inputs: self.inputs(),
        }
    }

    /// The LDP level in the limit of many rounds: that of what they identify in the end.
    pub fn level_limit(&self) -> Answer {
        let identified = match self.identified() {
            Ok(identified) => identified,
            Err(error) => return Err(Absence::from(error)).into(),
        };
        match local_privacy_level(&identified) {
            Ok(level) => Ok(level).into(),
            Err(error) => Err(Absence::from(error)).into(),
        }
    }

    /// Average privacy `S_μ` of `rounds` reports together.
    pub fn average_privacy(&self, rounds: u64, prior: &Prior, settings: &Settings) -> Answer {
        let found = stop::caught(|| {
            let leakage = self.leakage(rounds, prior, settings)?;
            Ok((leakage.as_privacy(user_entropy(prior, settings)), leakage.bracketed))
        });
        match found.unwrap_or(Err(Absence::Stopped)) {
            Ok((privacy, bracketed)) => Answer { bracketed, ..Ok(privacy).into() },
            Err(absence) => Err(absence).into(),
        }
    }

    /// Average privacy in the limit of many rounds: that of what they identify in the end.
    pub fn average_privacy_limit(&self, prior: &Prior, settings: &Settings) -> Answer {
        match self.identified() {
            Ok(identified) => match Analysis::with_settings(&identified, prior, *settings) {
                Ok(analysis) => analysis.answer(Metric::AveragePrivacy, None),
                Err(error) => Err(Absence::from(error)).into(),
            },
            Err(error) => Err(Absence::from(error)).into(),
        }
    }

    fn leakage(&self, rounds: u64, prior: &Prior, settings: &Settings) -> Result<Leakage, Absence> {
        average(prior, settings, &|part| {
            let grouped = || GroupedPrior::of(part);
            match self.structure() {
                Structure::Bits(bits) => {
                    return Ok(Leakage::exact(leakage::repeated_bits(&bits, rounds, &grouped())));
                }
                Structure::Response(response) if part.is_symmetric() => {
                    if let Some(found) = response.leakage(rounds, &grouped()) {
                        return Ok(Leakage::exact(found));
                    }
                }
                _ => {}
            }
            let visited = match rounds <= MAX_FACTORS {
                true => Some(given(&self.expanded(rounds)?, part)?).filter(|found| !found.bracketed),
                false => None,
            };
            match visited {
                Some(found) => Ok(found),
                None => self.sampled(rounds, part, settings).map(Leakage::exact),
            }
        })
    }

    /// `E_y[leakage of y]`, over reports `y` of a random user: each leaks what its likelihoods say, in one integral.
    fn sampled(&self, rounds: u64, part: &Component, settings: &Settings) -> Result<Evaluation, Absence> {
        let permanent = self.permanent.as_ref().map(Protocol::to_matrix).transpose()?;
        let (a, middle) = (self.inputs(), self.each.inputs());
        let work = rounds as f64 * middle as f64 + 200.0 * a as f64 + (a * middle) as f64;
        let most = (WORK / work).clamp(256.0, MOST_DRAWS as f64) as u64;
        let wanted = settings.mean_tolerance().max(1e-3);
        let (mut draws, mut sum, mut squares) = (0u64, 0.0, 0.0);
        while draws < most {
            let wave = draws.max(256).min(most - draws);
            let values: Vec<f64> = (draws..draws + wave)
                .into_par_iter()
                .map(|stream| self.draw(rounds, part, permanent.as_ref(), settings.seed, stream))
                .collect::<Result<_>>()?;
            draws += wave;
            sum += values.iter().sum::<f64>();
            squares += values.iter().map(|v| v * v).sum::<f64>();
            let mean = sum / draws as f64;
            let variance = (squares / draws as f64 - mean * mean).max(0.0);
            if (variance / (draws - 1) as f64).sqrt() <= wanted * mean.min(1.0) {
                break;
            }
        }
        let mean = sum / draws as f64;
        let variance = (squares / draws as f64 - mean * mean).max(0.0);
        Ok(Evaluation::new(mean, (variance / (draws - 1) as f64).sqrt(), Method::MonteCarlo))
    }

    /// The leakage of the reports of one random user.
    fn draw(
        &self,
        rounds: u64,
        part: &Component,
        permanent: Option<&Matrix>,
        seed: u64,
        stream: u64,
    ) -> Result<f64> {
        let mut rng = generator(seed, stream);
        let masses = part.masses();
        let x = pick(masses, masses.iter().sum(), &mut rng);
        let reported = match &self.permanent {
            Some(permanent) => permanent.row_of(&permanent.sample(x, &mut rng)?)?,
            None => x,
        };
        let mut ln_likelihoods = vec![0.0; self.each.inputs()];
        for _ in 0..rounds {
            let output = self.each.sample(reported, &mut rng)?;
            for (z, ln_likelihood) in ln_likelihoods.iter_mut().enumerate() {
                *ln_likelihood += self.each.ln_probability(&output, z)?;
            }
        }
        let largest = ln_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let likelihoods: Vec<f64> = ln_likelihoods.iter().map(|ln| (ln - largest).exp()).collect();
        let likelihoods = match permanent {
            None => likelihoods,
            Some(matrix) => {
                let mut sums = vec![0.0; masses.len()];
                for (row, weight) in matrix.rows().zip(&likelihoods) {
                    sums.iter_mut().zip(row).for_each(|(sum, q_zx)| *sum += weight * q_zx);
                }
                sums
            }
        };
        let total: f64 = masses.iter().sum();
        let theta: f64 = masses.iter().zip(&likelihoods).map(|(mass, v)| mass / total * v).sum();
        let pairs: Vec<(f64, f64)> =
            masses.iter().zip(&likelihoods).map(|(mass, v)| (*mass, v / theta)).collect();
        Ok(leakage::row(&pairs, part.is_point()).value)
    }

    /// What infinitely many reports tell: inputs of `R` with different columns are told apart in the end.
    fn identified(&self) -> Result<Protocol> {
        let map = self.distinguished()?;
        let told = match (&self.permanent, map) {
            // The bits of the permanent report are told apart, or nothing is.
            (Some(permanent), Distinguished::All) => return Ok(permanent.clone()),
            (None, Distinguished::All) => Protocol::identity(self.inputs())?,
            (_, Distinguished::None) => return Protocol::deterministic(vec![0; self.inputs()]),
            (_, Distinguished::Classes(map)) => Protocol::deterministic(map)?,
        };
        match &self.permanent {
            Some(permanent) => Protocol::composition(vec![permanent.clone(), told]),
            None => Ok(told),
        }
    }

    fn distinguished(&self) -> Result<Distinguished> {
        if let Some(level) = self.each.uniform_level() {
            return Ok(if level > 0.0 { Distinguished::All } else { Distinguished::None });
        }
        let matrix = self.each.to_matrix()?;
        let same = |x: usize, other: usize| {
            matrix.rows().all(|row| (row[x] - row[other]).abs() <= SAME_ENTRY * row[x].max(row[other]))
        };
        let mut first: Vec<usize> = Vec::new();
        let map: Vec<usize> = (0..matrix.inputs())
            .map(|x| match first.iter().position(|other| same(x, *other)) {
                Some(class) => class,
                None => {
                    stop::check();
                    first.push(x);
                    first.len() - 1
                }
            })
            .collect();
        Ok(match first.len() {
            1 => Distinguished::None,
            classes if classes == map.len() => Distinguished::All,
            _ => Distinguished::Classes(map),
        })
    }
}

/// Entries that differ by less, relatively, are equal but for rounding.
const SAME_ENTRY: f64 = 1e-12;

/// Most draws of a Monte Carlo run, and about how many elementary steps it may take: a few seconds.
const MOST_DRAWS: u64 = 1 << 15;
const WORK: f64 = 4e8;

/// Which inputs have different columns.
enum Distinguished {
    All,
    None,
    /// The class of each input.
    Classes(Vec<usize>),
}
