//! A valid study: its questions, the groups that are asked together, and the collections that it consists of.

use std::collections::HashSet;
use std::path::Path;

use sottovoce::Protocol;
use sottovoce::protocol::MAX_EPSILON;
use sottovoce_collect::Domain;
use sottovoce_collect::destination::is_standard_output;

use super::file::{Noise, PlannedCollection, Question, Strategy, StudyFile, VERSION};
use super::memoised::one_round;
use super::problem::StudyProblem;
use super::randomise::stem;
use crate::collection::Identified;
use crate::error::{Error, Result};
use crate::source::{Source, Written};
use crate::spec::{PriorSpec, ProtocolKind, ProtocolSpec};

/// Most combinations of answers of questions that are asked together: each has a label in every file.
pub const MAX_CELLS: usize = 1 << 16;

/// By this factor levels may exceed the budget: they are sums of rounded numbers.
const ROUNDED: f64 = 1.0 + 1e-9;

/// A valid study.
#[derive(Clone, Debug)]
pub struct Study {
    /// The study as written.
    pub file: StudyFile,
    /// Where it was written.
    pub source: Source,
    /// The groups of questions, in the order of their first questions.
    pub groups: Vec<Group>,
}

/// Questions that joint questions link, or a question that none links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name: those of its questions, joined by `+`.
    pub name: String,
    /// The positions of its questions in the study, ascending.
    pub questions: Vec<usize>,
    /// The number of answers of each of them.
    pub sizes: Vec<usize>,
}

impl Group {
    /// The number of combinations of answers.
    pub fn inputs(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The combination that these answers are, given for the questions of the group in order. The last question varies fastest.
    pub fn cell(&self, answers: impl IntoIterator<Item = usize>) -> usize {
        self.sizes.iter().zip(answers).fold(0, |cell, (size, answer)| cell * size + answer)
    }

    /// The answer to question number `j` of the group in each combination.
    pub fn projection(&self, j: usize) -> Vec<usize> {
        let faster: usize = self.sizes[j + 1..].iter().product();
        (0..self.inputs()).map(|cell| cell / faster % self.sizes[j]).collect()
    }
}

/// What is collected on one group: an ordinary protocol on an ordinary domain.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The name of the group.
    pub name: String,
    /// The probability that a person answers, or the share of epsilon, if it is given.
    pub share: Option<f64>,
    /// The protocol of the reports, with the labels of the group.
    pub protocol: Identified,
    /// With memoised noise, where they are drawn from.
    pub permanent: Option<Permanent>,
}

/// Permanent reports, and how a round draws from them.
#[derive(Clone, Debug)]
pub struct Permanent {
    /// The protocol of the permanent reports.
    pub protocol: Identified,
    /// The protocol of a round on a permanent report; none if that is sent as it is.
    pub then: Option<Protocol>,
}

impl Question {
    /// The number of possible answers.
    pub fn answers(&self) -> usize {
        match (&self.labels, &self.bins) {
            (Some(labels), _) => labels.len(),
            (None, Some(bins)) => bins.len().saturating_sub(1),
            (None, None) => 0,
        }
    }

    /// The names of the answers: the labels, or bins such as `[20, 35)`.
    pub fn answer_labels(&self) -> Vec<String> {
        let Some(bins) = &self.bins else { return self.labels.clone().unwrap_or_default() };
        let last = bins.len().saturating_sub(2);
        let bin = |(x, pair): (usize, &[super::file::Edge])| {
            let (low, high) = (pair[0].0, pair[1].0);
            let open = if low == f64::NEG_INFINITY { "(" } else { "[" };
            let close = if x == last && high.is_finite() { "]" } else { ")" };
            format!("{open}{low}, {high}{close}")
        };
        bins.windows(2).enumerate().map(bin).collect()
    }

    /// The edges of the bins, if it asks for a number.
    pub fn edges(&self) -> Option<Vec<f64>> {
        Some(self.bins.as_ref()?.iter().map(|edge| edge.0).collect())
    }

    /// The answers as the table of people names them.
    pub(crate) fn domain(&self) -> Domain {
        match self.edges() {
            Some(edges) => Domain::of_bins(&edges),
            None => Domain::new(self.answers(), self.labels.as_deref()),
        }
    }

    /// The column of the table of people.
    pub fn column(&self) -> &str {
        self.column.as_deref().unwrap_or(&self.name)
    }

    fn check(&self) -> Result<(), StudyProblem> {
        let name = || self.name.clone();
        let forbidden = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
        let length = (1..=100).contains(&self.name.len());
        if !length
            || self.name.contains(forbidden)
            || self.name.starts_with('.')
            || self.name.trim() != self.name
        {
            return Err(StudyProblem::Name { name: name() });
        }
        if self.labels.is_some() == self.bins.is_some() {
            return Err(StudyProblem::NoAnswers { name: name() });
        }
        if self.answers() < 2 {
            return Err(StudyProblem::FewAnswers { name: name(), found: self.answers() });
        }
        let mut seen = HashSet::new();
        if let Some(label) = self.labels.iter().flatten().find(|label| !seen.insert(*label)) {
            return Err(StudyProblem::DuplicateLabel { name: name(), label: label.clone() });
        }
        let edges = self.edges().unwrap_or_default();
        if let Some(pair) = edges.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(StudyProblem::Bins { name: name(), edge: pair[1], before: pair[0] });
        }
        match self.prior.as_ref().map(|prior| prior.build(self.answers())) {
            Some(Err(error)) => Err(StudyProblem::Prior { name: name(), problem: error.to_string() }),
            _ => Ok(()),
        }
    }
}

impl Written<StudyFile> {
    /// The study, if all of it is valid.
    ///
    /// # Errors
    /// What is wrong with its questions, its joint questions or its plan.
    pub fn check(&self) -> Result<Study> {
        let found = |problem: StudyProblem| problem.found_in(&self.source);
        let groups = groups(&self.spec).map_err(found)?;
        let study = Study { file: self.spec.clone(), source: self.source.clone(), groups };
        study.check_plan().map_err(found)?;
        Ok(study)
    }
}

/// The groups of questions that joint questions link.
fn groups(file: &StudyFile) -> Result<Vec<Group>, StudyProblem> {
    if file.version != VERSION {
        return Err(StudyProblem::Version { found: file.version });
    }
    if file.questions.is_empty() {
        return Err(StudyProblem::NoQuestion);
    }
    file.questions.iter().try_for_each(Question::check)?;
    // The first question of the group of each question.
    let mut first: Vec<usize> = (0..file.questions.len()).collect();
    for joint in &file.joints {
        let place = |name: &String| {
            let found = file.questions.iter().position(|question| question.name == *name);
            found.ok_or_else(|| StudyProblem::UnknownQuestion { name: name.clone() })
        };
        let linked = joint.questions.iter().map(place).collect::<Result<Vec<usize>, _>>()?;
        if linked.iter().collect::<HashSet<_>>().len() < 2 {
            return Err(StudyProblem::JointOfOne);
        }
        let merged: Vec<usize> = linked.iter().map(|question| first[*question]).collect();
        let least = merged.iter().copied().min().unwrap_or(0);
        first.iter_mut().filter(|f| merged.contains(f)).for_each(|f| *f = least);
    }
    let mut seen = HashSet::new();
    let names = file.questions.iter().map(|question| question.name.clone());
    let groups = (0..file.questions.len())
        .filter(|question| first[*question] == *question)
        .map(|leader| group(file, (0..file.questions.len()).filter(|q| first[*q] == leader).collect()))
        .collect::<Result<Vec<Group>, _>>()?;
    let joined = groups.iter().filter(|group| group.questions.len() > 1).map(|group| group.name.clone());
    match names.chain(joined).find(|name| !seen.insert(name.clone())) {
        Some(name) => Err(StudyProblem::DuplicateName { name }),
        None => Ok(groups),
    }
}

fn group(file: &StudyFile, questions: Vec<usize>) -> Result<Group, StudyProblem> {
    let of = |question: &usize| &file.questions[*question];
    let names: Vec<&str> = questions.iter().map(|question| of(question).name.as_str()).collect();
    let (name, sizes) = (names.join("+"), questions.iter().map(|q| of(q).answers()).collect::<Vec<_>>());
    if let Some(question) = questions.iter().map(of).find(|q| questions.len() > 1 && q.prior.is_some()) {
        return Err(StudyProblem::JointPrior { name: question.name.clone() });
    }
    let cells = sizes.iter().fold(1u128, |cells, size| cells.saturating_mul(*size as u128));
    match cells > MAX_CELLS as u128 {
        true => Err(StudyProblem::TooLarge { group: name, cells }),
        false => Ok(Group { name, questions, sizes }),
    }
}

impl Study {
    /// The questions of a group.
    pub fn questions<'s>(&'s self, group: &'s Group) -> impl Iterator<Item = &'s Question> {
        group.questions.iter().map(|question| &self.file.questions[*question])
    }

    /// The names of the combinations of answers: labels of a single question, else such as `sex=Female, income=>50K`.
    pub fn labels(&self, group: &Group) -> Vec<String> {
        let questions: Vec<(&str, Vec<String>, Vec<usize>)> = (self.questions(group).enumerate())
            .map(|(j, question)| (question.name.as_str(), question.answer_labels(), group.projection(j)))
            .collect();
        if let [(_, labels, _)] = questions.as_slice() {
            return labels.clone();
        }
        let cell = |x: usize| {
            let parts =
                questions.iter().map(|(name, labels, answer)| format!("{name}={}", labels[answer[x]]));
            parts.collect::<Vec<_>>().join(", ")
        };
        (0..group.inputs()).map(cell).collect()
    }

    /// The prior of a group, if its question has one of its own.
    pub fn own_prior(&self, group: &Group) -> Option<&PriorSpec> {
        self.file.questions[*group.questions.first()?].prior.as_ref()
    }

    /// The LDP level that one round may have.
    pub fn round_epsilon(&self) -> f64 {
        let plan = &self.file.plan;
        match plan.noise {
            Noise::Fresh => plan.epsilon / plan.rounds as f64,
            Noise::Memoised => plan.round_epsilon.unwrap_or(plan.epsilon),
        }
    }

    fn check_plan(&self) -> Result<(), StudyProblem> {
        let plan = &self.file.plan;
        if !(plan.epsilon > 0.0 && plan.epsilon <= MAX_EPSILON) {
            let (value, allowed) = (plan.epsilon.to_string(), "a level above 0 and at most 100");
            return Err(StudyProblem::PlanNumber { name: "epsilon", value, allowed });
        }
        if !(1..=10_000).contains(&plan.rounds) {
            let (value, allowed) = (plan.rounds.to_string(), "a number of rounds from 1 to 10000");
            return Err(StudyProblem::PlanNumber { name: "rounds", value, allowed });
        }
        if let Some(level) = plan.round_epsilon {
            let allowed = level > 0.0 && level <= plan.epsilon && plan.noise == Noise::Memoised;
            if !allowed {
                let allowed = "a level above 0 and at most plan.epsilon, for memoised noise";
                return Err(StudyProblem::PlanNumber {
                    name: "round_epsilon",
                    value: level.to_string(),
                    allowed,
                });
            }
        }
        if plan.collections.is_empty() {
            return Ok(());
        }
        let of = |planned: &PlannedCollection| planned.questions.join("+");
        if !plan.collections.iter().map(of).eq(self.groups.iter().map(|group| group.name.clone())) {
            let names = self.groups.iter().map(|group| crate::spec::shown(&group.name));
            let groups = names.take(20).collect::<Vec<_>>().join("; ");
            return Err(StudyProblem::OtherCollections { groups });
        }
        let given: Vec<f64> = plan.collections.iter().filter_map(|planned| planned.share).collect();
        let sum: f64 = given.iter().sum();
        let complete = given.len() == self.groups.len() && given.iter().all(|share| *share > 0.0);
        let whole = complete && (sum - 1.0).abs() < 1e-6;
        if !given.is_empty() && !whole {
            return Err(StudyProblem::Shares { sum });
        }
        let filled =
            !given.is_empty() || plan.collections.iter().any(|planned| !planned.protocols.is_empty());
        if filled && plan.strategy.is_none() { Err(StudyProblem::NoStrategy) } else { Ok(()) }
    }

    /// The name of the files of a collection, without what says their format.
    ///
    /// # Errors
    /// The study has several rounds and this is none of them.
    pub fn stem(&self, collection: &str, round: Option<u64>) -> Result<String> {
        stem(self, collection, round)
    }

    /// Multiples of `2^−64` with which a device draws each collection, if it draws one: they add up to `2^64`.
    ///
    /// # Errors
    /// The plan is not complete.
    pub fn words(&self) -> Result<Option<Vec<u128>>> {
        if self.file.plan.strategy != Some(Strategy::Sample) {
            return Ok(None);
        }
        let shares = self.collections()?.into_iter().map(|collection| collection.share.unwrap_or(0.0));
        let chances = chances(shares);
        // What is above all of them is the last one's.
        let ends = chances.iter().map(|end| u128::from(*end)).chain([1 << 64]);
        let before = [0].into_iter().chain(chances.iter().map(|end| u128::from(*end)));
        let words = ends.zip(before).map(|(end, start)| end - start).collect();
        Ok(Some(words))
    }

    /// The collections that the study consists of, if its plan is complete and keeps to its budget.
    ///
    /// # Errors
    /// It is not, or does not.
    pub fn collections(&self) -> Result<Vec<Collection>> {
        self.planned().map_err(|problem| problem.found_in(&self.source))
    }

    fn planned(&self) -> Result<Vec<Collection>, StudyProblem> {
        let plan = &self.file.plan;
        let Some(strategy) = plan.strategy.filter(|_| !plan.collections.is_empty()) else {
            return Err(StudyProblem::NotPlanned);
        };
        let (mut collections, mut levels, mut permanent) = (Vec::new(), Vec::new(), Vec::new());
        for (group, planned) in self.groups.iter().zip(&plan.collections) {
            let (collection, level) = self.collection(strategy, group, planned)?;
            permanent.push(match &collection.permanent {
                Some(_) => self.level(group, &planned.protocols)?,
                None => level,
            });
            collections.push(collection);
            levels.push(level);
        }
        if strategy == Strategy::Sample && collections.iter().any(|collection| collection.share.is_none()) {
            return Err(StudyProblem::NotPlanned);
        }
        let (level, allowed) = (together(strategy, &levels), self.round_epsilon());
        let within = level <= allowed * ROUNDED;
        if !within {
            return Err(StudyProblem::AboveBudget { level, allowed });
        }
        let (level, allowed) = (together(strategy, &permanent), plan.epsilon);
        match level <= allowed * ROUNDED {
            true => Ok(collections),
            false => Err(StudyProblem::AboveBudget { level, allowed }),
        }
    }

    /// A collection with its LDP level.
    fn collection(
        &self,
        strategy: Strategy,
        group: &Group,
        planned: &PlannedCollection,
    ) -> Result<(Collection, f64), StudyProblem> {
        let (name, found) = (group.name.clone(), planned.protocols.len());
        let needed = if strategy == Strategy::Split { group.questions.len() } else { 1 };
        if found == 0 {
            return Err(StudyProblem::NotPlanned);
        }
        if found != needed {
            return Err(StudyProblem::ProtocolCount { name, strategy: strategy.name(), found, needed });
        }
        let (count, memoised) = (planned.then.len(), self.file.plan.noise == Noise::Memoised);
        if count != 0 && (count != found || !memoised) {
            return Err(StudyProblem::Then { name });
        }
        let sent = match count {
            0 => planned.protocols.clone(),
            _ => planned
                .protocols
                .iter()
                .zip(&planned.then)
                .map(|(first, then)| one_round(first, then))
                .collect(),
        };
        let level = self.level(group, &sent)?;
        let identified = |specs| {
            let spec = self.protocol(group, specs);
            Identified::written(&spec.into()).map_err(|error| refused(group, &error))
        };
        let permanent = || {
            let protocol = identified(planned.protocols.clone())?;
            let then = planned.then.iter().map(|spec| built(group, spec)).collect::<Result<Vec<_>, _>>()?;
            let then = match then.len() {
                0 => None,
                1 => then.into_iter().next(),
                _ => Some(Protocol::product(then).map_err(|error| refused(group, &error.into()))?),
            };
            Ok(Permanent { protocol, then })
        };
        let permanent = memoised.then(permanent).transpose()?;
        Ok((Collection { name, share: planned.share, protocol: identified(sent)?, permanent }, level))
    }

    /// The LDP level of a report of each of these protocols. Answers to different questions may differ all at once, so that their levels add up.
    fn level(&self, group: &Group, specs: &[ProtocolSpec]) -> Result<f64, StudyProblem> {
        let level =
            |spec: &ProtocolSpec| built(group, spec)?.level().map_err(|error| refused(group, &error.into()));
        specs.iter().map(level).sum()
    }

    /// The protocol of a group on all combinations of answers, with their labels: one on the combinations, or one for each question.
    pub fn protocol(&self, group: &Group, mut protocols: Vec<ProtocolSpec>) -> ProtocolSpec {
        let labels = Some(self.labels(group));
        if protocols.len() == 1 {
            return ProtocolSpec { labels, ..protocols.remove(0) };
        }
        let answered = |(j, protocol): (usize, ProtocolSpec)| {
            let projection = ProtocolKind::Deterministic { map: group.projection(j) };
            ProtocolKind::Composition { steps: vec![projection.into(), protocol] }.into()
        };
        let factors = protocols.into_iter().enumerate().map(answered).collect();
        ProtocolSpec { kind: ProtocolKind::Product { factors }, labels }
    }
}

fn refused(group: &Group, error: &Error) -> StudyProblem {
    StudyProblem::Protocol { name: group.name.clone(), problem: error.to_string() }
}

fn built(group: &Group, spec: &ProtocolSpec) -> Result<Protocol, StudyProblem> {
    let named = Written::from(spec.clone()).check(&PriorSpec::Jeffreys);
    Ok(named.map_err(|error| refused(group, &error))?.protocol)
}

/// Multiples of `2^−64` below which a random word chooses a collection; what is above all of them chooses the last.
pub(super) fn chances(shares: impl Iterator<Item = f64>) -> Vec<u64> {
    let sums = shares.scan(0.0, |sum, share| {
        *sum += share;
        Some(*sum)
    });
    // A conversion to a whole number ends at the largest one.
    let mut chances: Vec<u64> = sums.map(|sum| (sum * 2f64.powi(64)) as u64).collect();
    chances.pop();
    chances
}

/// Refuses standard output where a directory is needed.
pub(crate) fn check_directory(output: &Path) -> Result<()> {
    match is_standard_output(output) {
        true => Err(Error::Setting { name: "output", value: "-".into(), allowed: "a directory" }),
        false => Ok(()),
    }
}

/// The LDP level of all that one person reports: one collection, or all of them.
pub(crate) fn together(strategy: Strategy, levels: &[f64]) -> f64 {
    match strategy {
        Strategy::Sample => levels.iter().copied().fold(0.0, f64::max),
        Strategy::Split | Strategy::Joint => levels.iter().sum(),
    }
}
