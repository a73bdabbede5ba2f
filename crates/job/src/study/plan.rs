//! The job `plan`: which strategy, which protocols, and how many people a study needs.
//!
//! All strategies are compared at the same LDP level by their largest expected error: of the shares of each question and of the cells of each cross-table,
//! by the linear estimate and on average over the prior. Everything is a closed form and is compared before it is rounded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::absence::Absence;
use sottovoce::metric::{Answer, Rounds, Settings, Value, user_entropy};
use sottovoce::{Evaluation, Metric, Observer};

use super::expected::Beliefs;
use super::file::{Noise, PlannedCollection, Strategy, StudyFile};
use super::groups::{Group, Study, together};
use super::memoised::{ratio, remembered};
use super::problem::StudyProblem;
use super::strategies::{Asked, asked};
use crate::budget::schedule;
use crate::contract::{AnswerFields, EvaluationFields, Whole, answer, evaluation, optional_whole};
use crate::error::{Error, Result};
use crate::expected_error::ExpectedError;
use crate::render::text::plan_sentences;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::{Subject, check_users};

/// What is asked: errors for a number of users, the number of users for an error, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The study. If its plan has a strategy, only that one is planned.
    pub study: Written<StudyFile>,
    /// The strategy, instead of that of the study.
    #[serde(default)]
    pub strategy: Option<Strategy>,
    /// Number of users.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub n: Option<u64>,
    /// Largest expected error of any share.
    #[serde(default)]
    pub accuracy: Option<f64>,
}

/// A valid request for a plan.
#[derive(Clone, Debug)]
pub struct PlanJob {
    study: Study,
    beliefs: Vec<Beliefs>,
    n: Option<u64>,
    accuracy: Option<f64>,
}

/// The strategies, and the study with the best of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanReport {
    /// The LDP level of all that one person reports.
    pub epsilon: f64,
    /// How often each person is asked.
    pub rounds: u64,
    /// Where the noise of a round comes from.
    pub noise: Noise,
    /// The number of users, if it was given.
    pub n: Option<u64>,
    /// The largest expected error, if one is wanted.
    pub accuracy: Option<f64>,
    /// The strategies, best first.
    pub strategies: Vec<PlannedStrategy>,
    /// The study with the plan of the first.
    pub study: StudyFile,
    /// The recommendation in words.
    pub sentences: Vec<String>,
}

/// What a strategy is expected to give.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedStrategy {
    /// The strategy.
    pub strategy: Strategy,
    /// The number of users for which errors are given.
    pub n: u64,
    /// The LDP level of all that one person reports, in all rounds.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub ldp: Evaluation,
    /// The average privacy of all that one person reports in one round, if the distributions of different groups are independent.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub average_privacy: Answer,
    /// With memoised noise: privacy after 1, 2, 5, … rounds, and in the limit of many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PlannedRounds>,
    /// The largest expected error.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub largest_error: Evaluation,
    /// The number of users for the wanted accuracy.
    pub needed: Option<u64>,
    /// What is collected on each group.
    pub collections: Vec<CollectionPlan>,
}

/// Privacy of all that one person reports in some rounds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedRounds {
    /// Number of rounds; null for the limit of many.
    pub rounds: Option<u64>,
    /// The LDP level.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub ldp: Answer,
    /// The average privacy, if the distributions of different groups are independent.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub average_privacy: Answer,
}

/// What is collected on a group of questions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectionPlan {
    /// Its name.
    pub name: String,
    /// The probability that a person answers, or the share of epsilon.
    pub share: f64,
    /// The LDP level of its reports.
    pub epsilon: f64,
    /// One protocol for each question, or one for all combinations of answers.
    pub protocols: Vec<ProtocolSpec>,
    /// The expected errors.
    pub errors: Vec<TableError>,
    /// What else was compared, with the largest expected error of the collection.
    pub others: Vec<OtherProtocol>,
}

/// The expected error of one share.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableError {
    /// The question, or the group whose cells are meant.
    pub name: String,
    /// Whether it is a cell of a cross-table.
    pub cell: bool,
    /// The root of the mean square.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub error: Evaluation,
}

/// A protocol that was compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OtherProtocol {
    /// The protocol.
    pub protocol: ProtocolSpec,
    /// The largest expected error of the collection.
    #[serde(serialize_with = "evaluation")]
    #[schemars(with = "EvaluationFields")]
    pub error: Evaluation,
}

impl PlanRequest {
    /// A plan for so many users.
    pub fn of(study: impl Into<Written<StudyFile>>, n: u64) -> Self {
        PlanRequest { study: study.into(), strategy: None, n: Some(n), accuracy: None }
    }

    /// The job, if the study is valid.
    ///
    /// # Errors
    /// It is not, or nothing is asked.
    pub fn check(&self) -> Result<PlanJob> {
        let mut study = self.study.check()?;
        let plan = &mut study.file.plan;
        if self.strategy.is_some() && self.strategy != plan.strategy {
            plan.strategy = self.strategy;
            // Shares and protocols are those of the other strategy.
            plan.collections.clear();
        }
        check_users(&self.n.into_iter().collect::<Vec<_>>())?;
        if let Some(most) = self.accuracy {
            ExpectedError::named(None, None, most)?.check()?;
        }
        if self.n.is_none() && self.accuracy.is_none() {
            return Err(StudyProblem::NothingAsked.found_in(&study.source));
        }
        let beliefs = study.groups.iter().map(|group| Beliefs::of(&study, group)).collect::<Result<_>>()?;
        Ok(PlanJob { study, beliefs, n: self.n, accuracy: self.accuracy })
    }
}

impl PlanJob {
    /// The plan.
    ///
    /// # Errors
    /// No protocol exists at some level, or the job is stopped.
    pub fn run(&self, observer: Observer<'_>) -> Result<PlanReport> {
        let mut found = Vec::new();
        for strategy in self.strategies() {
            let asked = asked(&self.study, &self.beliefs, strategy, self.shares().as_deref())?;
            found.push((self.planned(strategy, &asked, observer), asked));
        }
        // Errors of one number of users are in the same order as numbers of users for one error.
        let score = |planned: &PlannedStrategy| planned.largest_error.value * (planned.n as f64).sqrt();
        found.sort_by(|(l, _), (r, _)| score(l).total_cmp(&score(r)));
        let study = found.first().map(|(best, asked)| self.completed(best.strategy, asked));
        let plan = &self.study.file.plan;
        let mut report = PlanReport {
            epsilon: plan.epsilon,
            rounds: plan.rounds,
            noise: plan.noise,
            n: self.n,
            accuracy: self.accuracy,
            strategies: found.into_iter().map(|(planned, _)| planned).collect(),
            study: study.unwrap_or_else(|| self.study.file.clone()),
            sentences: Vec::new(),
        };
        report.sentences = plan_sentences(&report);
        Ok(report)
    }

    /// The strategies that differ: without joint questions `joint` is `split`, and with one group `sample` is `joint`.
    fn strategies(&self) -> Vec<Strategy> {
        if let Some(strategy) = self.study.file.plan.strategy {
            return vec![strategy];
        }
        let groups = &self.study.groups;
        let differs = |strategy: &Strategy| match strategy {
            Strategy::Sample => groups.len() > 1,
            Strategy::Split => true,
            Strategy::Joint => groups.iter().any(|group| group.questions.len() > 1),
        };
        Strategy::ALL.into_iter().filter(differs).collect()
    }

    /// The shares that the study gives.
    fn shares(&self) -> Option<Vec<f64>> {
        let planned = &self.study.file.plan.collections;
        if planned.is_empty() { None } else { planned.iter().map(|planned| planned.share).collect() }
    }

    fn planned(&self, strategy: Strategy, asked: &[Asked], observer: Observer<'_>) -> PlannedStrategy {
        let largest = asked.iter().map(|asked| asked.largest(strategy)).fold(0.0, f64::max);
        let needed = self.accuracy.map(|most| ((largest / most).powi(2)).ceil().clamp(1.0, 1e18) as u64);
        // One of both is given.
        let n = self.n.or(needed).unwrap_or(1);
        let levels: Vec<f64> = asked.iter().map(|asked| asked.epsilon).collect();
        let plan = &self.study.file.plan;
        let groups = self.study.groups.iter().zip(asked);
        let after = match plan.noise {
            Noise::Fresh => Vec::new(),
            Noise::Memoised => self.after(strategy, asked, observer),
        };
        // However many rounds draw from a permanent report, they tell at most what that tells.
        let all = if plan.noise == Noise::Fresh { plan.rounds as f64 } else { ratio(&self.study) };
        PlannedStrategy {
            strategy,
            n,
            ldp: exact(all * together(strategy, &levels)),
            average_privacy: Answer::from(self.average_privacy(strategy, asked, observer)),
            after,
            largest_error: exact(largest / (n as f64).sqrt()),
            needed,
            collections: groups.map(|(group, asked)| self.collection(strategy, group, asked, n)).collect(),
        }
    }

    fn collection(&self, strategy: Strategy, group: &Group, asked: &Asked, n: u64) -> CollectionPlan {
        let scale = (n as f64 * asked.reach(strategy)).sqrt();
        let questions = self.study.questions(group).zip(&asked.errors.questions);
        let question = |(question, error): (&super::file::Question, &f64)| TableError {
            name: question.name.clone(),
            cell: false,
            error: exact(error / scale),
        };
        let cells = asked.errors.cells.map(|error| TableError {
            name: group.name.clone(),
            cell: true,
            error: exact(error / scale),
        });
        let other = |(protocol, error): &(ProtocolSpec, f64)| OtherProtocol {
            protocol: protocol.clone(),
            error: exact(error / scale),
        };
        CollectionPlan {
            name: group.name.clone(),
            share: asked.share,
            epsilon: asked.epsilon,
            protocols: asked.protocols.iter().map(|(_, spec)| spec.clone()).collect(),
            errors: questions.map(question).chain(cells).collect(),
            others: asked.others.iter().map(other).collect(),
        }
    }

    /// `1 − Σ w_g I_g / Σ H_g` for one round.
    fn average_privacy(
        &self,
        strategy: Strategy,
        asked: &[Asked],
        observer: Observer<'_>,
    ) -> Result<Evaluation, Absence> {
        self.weighted(strategy, asked, &|group, asked| {
            let specs = asked.protocols.iter().map(|(_, spec)| spec.clone()).collect();
            self.metric(group, specs, Metric::AveragePrivacy, observer)
        })
    }

    /// A metric of a protocol for a group.
    fn metric(
        &self,
        group: &Group,
        specs: Vec<ProtocolSpec>,
        metric: Metric,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Absence> {
        let protocol = self.study.protocol(group, specs).into();
        let subject = Subject::new(&protocol, &self.prior(group).into(), Settings::default());
        let subject = subject.map_err(|error| match error {
            Error::Numbers(error) => Absence::Failed(error),
            _ => Absence::NoMethod { what: "the protocol of a group" },
        })?;
        subject.admit(metric, None)?;
        match subject.analysis(observer).answer(metric, None).value? {
            Value::Number(found) => Ok(found),
            _ => Err(Absence::NoMethod { what: "a metric that is not a number" }),
        }
    }

    fn prior(&self, group: &Group) -> PriorSpec {
        self.study.own_prior(group).cloned().unwrap_or(PriorSpec::Jeffreys)
    }

    /// `1 − Σ w_g (1 − S_g) H_g / Σ H_g`, where `hidden` tells `S_g`.
    fn weighted(
        &self,
        strategy: Strategy,
        asked: &[Asked],
        hidden: &dyn Fn(&Group, &Asked) -> Result<Evaluation, Absence>,
    ) -> Result<Evaluation, Absence> {
        let (mut leaked, mut entropy): (Option<Evaluation>, Option<Evaluation>) = (None, None);
        for (group, asked) in self.study.groups.iter().zip(asked) {
            let hidden = hidden(group, asked)?;
            let prior = self
                .prior(group)
                .build(group.inputs())
                .map_err(|_| Absence::NoMethod { what: "the prior of a group" })?;
            let secret = user_entropy(&prior, &Settings::default());
            let lost = Evaluation {
                value: (1.0 - hidden.value) * secret.value,
                error: hidden.error * secret.value,
                ..hidden
            };
            let lost = lost.times(asked.reach(strategy));
            leaked = Some(leaked.map_or(lost, |sum| sum.plus(lost)));
            entropy = Some(entropy.map_or(secret, |sum| sum.plus(secret)));
        }
        let share = leaked.zip(entropy).map(|(leaked, entropy)| leaked.over(entropy));
        let share = share.ok_or(Absence::NoMethod { what: "a study without questions" })?;
        Ok(Evaluation { value: 1.0 - share.value, ..share })
    }

    /// Privacy after some memoised rounds: a person keeps to the groups and the permanent reports of the first.
    fn after(&self, strategy: Strategy, asked: &[Asked], observer: Observer<'_>) -> Vec<PlannedRounds> {
        let times = schedule(self.study.file.plan.rounds).into_iter().map(Some);
        let after = |rounds: Option<u64>| {
            let level =
                |asked: &Asked| asked.protocols.iter().map(|(_, spec)| self.level(spec, rounds)).sum();
            let levels: Result<Vec<f64>, Absence> = asked.iter().map(level).collect();
            let hidden = |group: &Group, asked: &Asked| self.hidden(group, asked, rounds, observer);
            PlannedRounds {
                rounds,
                ldp: Answer::from(levels.map(|levels| exact(together(strategy, &levels)))),
                average_privacy: Answer::from(self.weighted(strategy, asked, &hidden)),
            }
        };
        times.chain([None]).map(after).collect()
    }

    /// The permanent report of what a round sends, and how it draws from it.
    fn remembered(&self, round: &ProtocolSpec) -> Option<(ProtocolSpec, ProtocolSpec)> {
        Some(ratio(&self.study)).filter(|ratio| *ratio > 1.0).and_then(|ratio| remembered(round, ratio))
    }

    fn rounds(&self, round: &ProtocolSpec) -> Result<Option<Rounds>, Absence> {
        let Some((first, then)) = self.remembered(round) else { return Ok(None) };
        let built =
            |spec: ProtocolSpec| Written::from(spec).check(&PriorSpec::Jeffreys).map(|named| named.protocol);
        let failed = |_| Absence::NoMethod { what: "the protocol of a round" };
        Ok(Some(Rounds::memoised(built(first).map_err(failed)?, built(then).map_err(failed)?)?))
    }

    fn level(&self, round: &ProtocolSpec, rounds: Option<u64>) -> Result<f64, Absence> {
        let answer = match (self.rounds(round)?, rounds) {
            // The permanent report itself is sent, in each round.
            (None, _) => {
                let named = Written::from(round.clone()).check(&PriorSpec::Jeffreys);
                let named = named.map_err(|_| Absence::NoMethod { what: "the protocol of a round" })?;
                return named.protocol.level().map_err(Absence::from);
            }
            (Some(of), Some(times)) => of.level(times),
            (Some(of), None) => of.level_limit(),
        };
        match answer.value? {
            Value::Number(found) if !answer.bracketed => Ok(found.value),
            _ => Err(Absence::NoMethod { what: "the LDP level of so many rounds" }),
        }
    }

    fn hidden(
        &self,
        group: &Group,
        asked: &Asked,
        rounds: Option<u64>,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Absence> {
        let specs: Vec<ProtocolSpec> = asked.protocols.iter().map(|(_, spec)| spec.clone()).collect();
        let of = match specs.as_slice() {
            [only] => self.rounds(only)?,
            // Reports on each question of a group are no protocol that has rounds of its own, unless all rounds are the same.
            _ if ratio(&self.study) > 1.0 => {
                return Err(Absence::NoMethod { what: "rounds of several questions of a group" });
            }
            _ => None,
        };
        let prior = self
            .prior(group)
            .build(group.inputs())
            .map_err(|_| Absence::NoMethod { what: "the prior of a group" })?;
        let answer = match (of, rounds) {
            (None, _) => return self.metric(group, specs, Metric::AveragePrivacy, observer),
            (Some(of), Some(times)) => of.average_privacy(times, &prior, &Settings::default()),
            (Some(of), None) => of.average_privacy_limit(&prior, &Settings::default()),
        };
        match answer.value? {
            Value::Number(found) if !answer.bracketed => Ok(found),
            _ => Err(Absence::NoMethod { what: "the average privacy of so many rounds" }),
        }
    }

    /// The study with the plan of a strategy.
    fn completed(&self, strategy: Strategy, asked: &[Asked]) -> StudyFile {
        let mut file = self.study.file.clone();
        let planned = |(group, asked): (&Group, &Asked)| {
            let sent = asked.protocols.iter().map(|(_, spec)| spec.clone());
            let apart: Option<Vec<_>> = sent.clone().map(|spec| self.remembered(&spec)).collect();
            let (protocols, then) =
                apart.map_or_else(|| (sent.collect(), Vec::new()), |pairs| pairs.into_iter().unzip());
            let questions = self.study.questions(group).map(|question| question.name.clone()).collect();
            PlannedCollection { questions, share: Some(asked.share), protocols, then }
        };
        file.plan.strategy = Some(strategy);
        file.plan.collections = self.study.groups.iter().zip(asked).map(planned).collect();
        file
    }
}

/// A number that some hundred roundings make.
fn exact(value: f64) -> Evaluation {
    Evaluation::closed_form(value, 256)
}
