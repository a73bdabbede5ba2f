//! The job `analyse`: from the tallies of a study to the shares of each question, cross-tables, and means of numbers.
//!
//! Each collection has a posterior of its own on all combinations of answers of its group. Shares, row and column totals and conditional shares are
//! functionals of it ([`Functional`]), so that their intervals take into account what the cells have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::estimate::Reports;
use sottovoce::information::Sampling;
use sottovoce::posterior::{
    FUNCTIONAL_DRAWS, Functional, Posterior, PosteriorOptions, posterior, posterior_of_supports,
};
use sottovoce::{Evaluation, Method, Observer, Prior, Progress};
use sottovoce_collect::Error as CollectError;

use super::file::{Noise, Question, Strategy, StudyFile};
use super::groups::{Collection, Group, Study};
use super::problem::StudyProblem;
use super::randomise::stem;
use crate::admission::{admit, posterior_bytes};
use crate::collection::{Collected, WrittenTallies};
use crate::contract::{EvaluationFields, Name, Whole, by_name, evaluation, optional_whole, whole};
use crate::error::{Error, Result};
use crate::posterior::{interval_probabilities, usual_level};
use crate::source::Written;
use crate::spec::PriorSpec;

/// What to analyse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyseRequest {
    /// The study, with a complete plan.
    pub study: Written<StudyFile>,
    /// The directory of the files of tallies.
    pub tallies: String,
    /// Which round to analyse, if there are several.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub round: Option<u64>,
    /// Probability of the credible intervals, equally split to both sides.
    #[serde(default = "usual_level")]
    pub level: f64,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request to analyse a study.
#[derive(Clone, Debug)]
pub struct AnalyseJob {
    request: AnalyseRequest,
    study: Study,
    strategy: Strategy,
    tallied: Vec<Tallied>,
}

/// The reports of a collection, with what was believed before them.
#[derive(Clone, Debug)]
struct Tallied {
    collection: Collection,
    reports: Reports,
    prior_spec: PriorSpec,
    prior: Prior,
}

/// What the reports of a study say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnalyseReport {
    /// The strategy.
    pub strategy: Strategy,
    /// Which round, if there are several.
    pub round: Option<u64>,
    /// Where the noise of a round comes from.
    pub noise: Noise,
    /// Probability of the intervals.
    pub level: f64,
    /// The collections.
    pub collections: Vec<CollectionPosterior>,
    /// The questions.
    pub questions: Vec<QuestionShares>,
    /// The cross-tables.
    pub cross_tables: Vec<CrossTable>,
}

/// How the posterior of a collection was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectionPosterior {
    /// The collection.
    pub name: String,
    /// The number of reports.
    pub n: u64,
    /// The prior.
    pub prior: PriorSpec,
    /// How the shares of the combinations of answers were found.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Method>")]
    pub method: Method,
}

/// What is believed about a number.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Believed {
    /// The mean.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub mean: Evaluation,
    /// The standard deviation.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub sd: Evaluation,
    /// The lower end of the interval.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub low: Evaluation,
    /// The upper end of the interval.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub high: Evaluation,
}

/// The answers to a question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuestionShares {
    /// The question.
    pub name: String,
    /// The number of people who reported on it.
    pub n: u64,
    /// The share of each answer.
    pub answers: Vec<LabelledShare>,
    /// The mean and the median, if the answers are numbers in bins; each bin's numbers are taken to be spread evenly over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<NumberSummary>,
}

/// A share with its name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LabelledShare {
    /// The answer.
    pub label: String,
    /// Its share.
    pub share: Believed,
}

/// The distribution of a number in two numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NumberSummary {
    /// The mean; null if a bin has no end.
    pub mean: Option<Believed>,
    /// The median; null if it may lie in a bin without an end.
    pub median: Option<Believed>,
}

/// A cross-table: the last of its questions in columns, combinations of the others in rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CrossTable {
    /// The questions.
    pub questions: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<CrossRow>,
    /// The totals of the columns.
    pub totals: Vec<Believed>,
    /// If there are two rows: for each column, its share of the second row minus its share of the first.
    pub differences: Option<Vec<Believed>>,
}

/// A row of a cross-table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CrossRow {
    /// Its name.
    pub label: String,
    /// The cells: shares of all people.
    pub cells: Vec<Believed>,
    /// The total of the row.
    pub total: Believed,
    /// The cells as shares of the row.
    pub of_row: Vec<Believed>,
    /// The cells as shares of their columns.
    pub of_column: Vec<Believed>,
}

impl AnalyseRequest {
    /// The analysis of the tallies in a directory, with 90 % intervals.
    pub fn of(study: impl Into<Written<StudyFile>>, tallies: &str) -> Self {
        let (study, tallies) = (study.into(), tallies.to_owned());
        AnalyseRequest { study, tallies, round: None, level: usual_level(), seed: 0 }
    }

    /// The job, if the study is valid and planned, and each collection has tallies of this study.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<AnalyseJob> {
        self.check_from(|study, collection| self.collected(study, collection))
    }

    /// The same with tallies in memory, one text for each collection of the plan in order, instead of those in the directory.
    ///
    /// # Errors
    /// As for [`check`](AnalyseRequest::check).
    pub fn check_with(&self, tallies: Vec<String>) -> Result<AnalyseJob> {
        let mut tallies = tallies.into_iter();
        self.check_from(|study, collection| {
            let missing = || StudyProblem::NoFile {
                directory: self.tallies.clone(),
                collection: collection.name.clone(),
                wanted: "tallies in memory".into(),
            };
            let text = tallies.next().ok_or_else(|| missing().found_in(&study.source))?;
            Collected::read(&WrittenTallies::Inline(text))
        })
    }

    fn check_from(
        &self,
        mut read: impl FnMut(&Study, &Collection) -> Result<Collected>,
    ) -> Result<AnalyseJob> {
        if !(self.level > 0.0 && self.level < 1.0) {
            let (value, allowed) = (self.level.to_string(), "a probability above 0 and below 1");
            return Err(Error::Setting { name: "level", value, allowed });
        }
        let study = self.study.check()?;
        let collections = study.collections()?.into_iter().zip(&study.groups);
        let tallied = collections.map(|(collection, group)| {
            let collected = read(&study, &collection)?;
            tallied(&study, collection, group, &collected)
        });
        let tallied = tallied.collect::<Result<Vec<_>>>()?;
        // There are no collections without a strategy.
        let strategy = study.file.plan.strategy.unwrap_or(Strategy::Split);
        Ok(AnalyseJob { request: self.clone(), study, strategy, tallied })
    }

    /// The tallies in the directory.
    fn collected(&self, study: &Study, collection: &Collection) -> Result<Collected> {
        let name = format!("{}.json", stem(study, &collection.name, self.round)?);
        let path = std::path::Path::new(&self.tallies).join(&name);
        if !path.exists() {
            let (directory, collection) = (self.tallies.clone(), collection.name.clone());
            return Err(StudyProblem::NoFile { directory, collection, wanted: name }.found_in(&study.source));
        }
        Collected::read(&WrittenTallies::File(path))
    }
}

fn tallied(study: &Study, collection: Collection, group: &Group, collected: &Collected) -> Result<Tallied> {
    let named = &collection.protocol.named;
    let reports = collected.of(named, |file| file.reports(&named.protocol)).map_err(|error| match error {
        Error::Tallies { source_name, problem: CollectError::MadeOtherwise { .. } } => {
            let (file, collection) = (source_name.to_string(), collection.name.clone());
            StudyProblem::Changed { file, collection }.found_in(&study.source)
        }
        other => other,
    })?;
    admit(posterior_bytes(&named.protocol, reports.n(), FUNCTIONAL_DRAWS, 0))?;
    let usual = || PriorSpec::usual(group.inputs());
    let prior_spec = study.own_prior(group).cloned().unwrap_or_else(usual);
    let prior = prior_spec.build(group.inputs())?;
    Ok(Tallied { collection, reports, prior_spec, prior })
}

impl AnalyseJob {
    /// The analysis, while the observer hears of the samplers.
    ///
    /// # Errors
    /// The reports are impossible, or chains did not converge.
    pub fn run(&self, observer: Observer<'_>) -> Result<AnalyseReport> {
        let mut report = AnalyseReport {
            strategy: self.strategy,
            round: self.request.round,
            noise: self.study.file.plan.noise,
            level: self.request.level,
            collections: Vec::new(),
            questions: Vec::new(),
            cross_tables: Vec::new(),
        };
        let mut questions = Vec::new();
        for (g, (tallied, group)) in self.tallied.iter().zip(&self.study.groups).enumerate() {
            let posterior = self.posterior(tallied, g as u64, observer)?;
            let analysis = Analysis { job: self, group, posterior };
            report.collections.push(CollectionPosterior {
                name: group.name.clone(),
                n: analysis.posterior.n,
                prior: tallied.prior_spec.clone(),
                method: analysis.posterior.method,
            });
            for (j, question) in self.study.questions(group).enumerate() {
                questions.push((group.questions[j], analysis.question(j, question)?));
            }
            let joints = self.study.file.joints.iter().filter_map(|joint| analysis.places(&joint.questions));
            for places in joints {
                report.cross_tables.push(analysis.cross_table(&places)?);
            }
        }
        questions.sort_by_key(|(place, _)| *place);
        report.questions = questions.into_iter().map(|(_, question)| question).collect();
        Ok(report)
    }

    fn posterior(&self, tallied: &Tallied, place: u64, observer: Observer<'_>) -> Result<Posterior> {
        let hear = |sampling: &Sampling| observer(&Progress::Posterior { sampling: *sampling });
        let options = PosteriorOptions {
            probabilities: interval_probabilities(self.request.level),
            draws: FUNCTIONAL_DRAWS,
            // Posteriors that are compared must not share their draws.
            seed: self.request.seed.wrapping_add(place),
            observer: Some(&hear),
            ..PosteriorOptions::default()
        };
        let protocol = &tallied.collection.protocol.named.protocol;
        Ok(match &tallied.reports {
            Reports::Tallies(tallies) => posterior(protocol, &tallied.prior, tallies, &options)?,
            Reports::Supports(supports) => {
                posterior_of_supports(protocol, &tallied.prior, supports, &options)?
            }
        })
    }
}

/// Where a median must lie, with nearly all probability, to be in no bin without an end.
const NEARLY_ALL: [f64; 2] = [0.0005, 0.9995];

/// The posterior of a group.
struct Analysis<'a> {
    job: &'a AnalyseJob,
    group: &'a Group,
    posterior: Posterior,
}

impl Analysis<'_> {
    fn believed(&self, functional: &Functional) -> Result<Believed> {
        let probabilities = interval_probabilities(self.job.request.level);
        let found = self.posterior.functional(functional, &probabilities)?;
        let end = |at: Option<&(f64, Evaluation)>| at.map_or(found.mean, |(_, quantile)| *quantile);
        Ok(Believed {
            mean: found.mean,
            sd: found.sd,
            low: end(found.quantiles.first()),
            high: end(found.quantiles.last()),
        })
    }

    /// The share of the combinations for which something holds.
    fn share(&self, holds: impl Fn(usize) -> bool) -> Result<Functional> {
        let cells = self.group.inputs();
        Ok(Functional::share(cells, &(0..cells).filter(|cell| holds(*cell)).collect::<Vec<_>>())?)
    }

    fn question(&self, j: usize, question: &Question) -> Result<QuestionShares> {
        let answer = self.group.projection(j);
        let share = |(x, label): (usize, String)| {
            let share = self.believed(&self.share(|cell| answer[cell] == x)?)?;
            Ok(LabelledShare { label, share })
        };
        let answers =
            question.answer_labels().into_iter().enumerate().map(share).collect::<Result<Vec<_>>>()?;
        let number = question.edges().map(|edges| self.number(&answer, &edges)).transpose()?;
        Ok(QuestionShares { name: question.name.clone(), n: self.posterior.n, answers, number })
    }

    /// The mean of a number, if all its bins have two ends, and its median, if that does not lie in a bin without an end.
    fn number(&self, answer: &[usize], edges: &[f64]) -> Result<NumberSummary> {
        let last = edges.len() - 1;
        // Of a bin without an end, its other one; a median there cannot be told apart from that.
        let bin = |x: &usize| match (edges[*x], edges[x + 1]) {
            (low, high) if low.is_infinite() && high.is_infinite() => None,
            (low, high) if low.is_infinite() => Some((high, high)),
            (low, high) if high.is_infinite() => Some((low, low)),
            ends => Some(ends),
        };
        let closed = edges[0].is_finite() && edges[last].is_finite();
        let bins: Vec<Option<(f64, f64)>> = answer.iter().map(bin).collect();
        if bins.contains(&None) {
            return Ok(NumberSummary { mean: None, median: None });
        }
        let median = Functional::quantile(&bins, 0.5)?;
        let inside = closed || {
            let (low, high) = (edges[1], edges[last - 1]);
            let found = self.posterior.functional(&median, &NEARLY_ALL)?;
            let within = |(_, end): &(f64, Evaluation)| {
                (edges[0].is_finite() || end.value > low) && (edges[last].is_finite() || end.value < high)
            };
            found.quantiles.iter().all(within)
        };
        let middle = |x: &usize| 0.5 * (edges[*x] + edges[x + 1]);
        let mean = closed.then(|| self.believed(&Functional::mean(answer.iter().map(middle).collect())?));
        let median = inside.then(|| self.believed(&median));
        Ok(NumberSummary { mean: mean.transpose()?, median: median.transpose()? })
    }

    /// The places in the group of the questions of a cross-table, if it is one of this group.
    fn places(&self, names: &[String]) -> Option<Vec<usize>> {
        let own: Vec<&str> =
            self.job.study.questions(self.group).map(|question| question.name.as_str()).collect();
        names.iter().map(|name| own.iter().position(|own| own == name)).collect()
    }

    fn cross_table(&self, places: &[usize]) -> Result<CrossTable> {
        let questions: Vec<&Question> = self.job.study.questions(self.group).collect();
        let (column_place, row_places) = (places[places.len() - 1], &places[..places.len() - 1]);
        let columns = questions[column_place].answer_labels();
        let column = self.group.projection(column_place);
        // The rows are the combinations of a group of their own.
        let rows = Group {
            name: String::new(),
            questions: row_places.to_vec(),
            sizes: row_places.iter().map(|place| self.group.sizes[*place]).collect(),
        };
        let answers: Vec<Vec<usize>> = row_places.iter().map(|place| self.group.projection(*place)).collect();
        let row: Vec<usize> = (0..self.group.inputs())
            .map(|cell| rows.cell(answers.iter().map(|answer| answer[cell])))
            .collect();
        let cross_row = |r: usize| {
            let label = |(j, place): (usize, &usize)| {
                questions[*place].answer_labels().swap_remove(rows.projection(j)[r])
            };
            let total = self.share(|cell| row[cell] == r)?;
            let (mut cells, mut of_row, mut of_column) = (Vec::new(), Vec::new(), Vec::new());
            for c in 0..columns.len() {
                let both = self.share(|cell| row[cell] == r && column[cell] == c)?;
                let whole = self.share(|cell| column[cell] == c)?;
                cells.push(self.believed(&both)?);
                of_row.push(self.believed(&both.clone().over(total.clone())?)?);
                of_column.push(self.believed(&both.over(whole)?)?);
            }
            let label = row_places.iter().enumerate().map(label).collect::<Vec<_>>().join(", ");
            Ok(CrossRow { label, cells, total: self.believed(&total)?, of_row, of_column })
        };
        let totals = (0..columns.len()).map(|c| self.believed(&self.share(|cell| column[cell] == c)?));
        let of_row = |r: usize, c: usize| -> Result<Functional> {
            let both = self.share(|cell| row[cell] == r && column[cell] == c)?;
            Ok(both.over(self.share(|cell| row[cell] == r)?)?)
        };
        let difference = |c: usize| self.believed(&of_row(1, c)?.minus(of_row(0, c)?)?);
        let differences = (rows.inputs() == 2).then(|| (0..columns.len()).map(difference).collect());
        Ok(CrossTable {
            questions: places.iter().map(|place| questions[*place].name.clone()).collect(),
            totals: totals.collect::<Result<_>>()?,
            rows: (0..rows.inputs()).map(cross_row).collect::<Result<_>>()?,
            differences: differences.transpose()?,
            columns,
        })
    }
}
