//! The report of the job `posterior` as JSON has it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use sottovoce::Method;
use sottovoce::posterior::{Diagnostics, Summary};

use super::PosteriorReport;
use crate::contract::{Name, Number};
use crate::functional::{AskedFields, asked};
use crate::gathered::Gathering;
use crate::spec::{PriorSpec, ProtocolSpec};

/// What tallies say about the distribution of the values, and about the population.
#[derive(Serialize, JsonSchema)]
struct PosteriorFields<'r> {
    /// The protocol, with all sizes filled in.
    protocol: &'r ProtocolSpec,
    /// The prior.
    prior: &'r PriorSpec,
    /// The collections, if there are several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    collections: &'r [Gathering],
    /// The number of reports.
    n: u64,
    /// Probability of the credible intervals.
    level: Number,
    /// How the marginals of `p` were found.
    method: Name<Method>,
    /// The logarithm of the probability of the reports in one order, given which collection each is from; null if it is not known.
    log_evidence: Option<Number>,
    /// Its error.
    log_evidence_error: Option<Number>,
    /// Why it is not known.
    log_evidence_reason: Option<&'static str>,
    /// The answers to what was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    of: Vec<AskedFields<'r>>,
    /// The collections that they were compared with.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    against: &'r [Gathering],
    /// For each value, its share in the distribution.
    p: Vec<Marginal<'r>>,
    /// For each value, how many of the users hold it.
    t: Vec<Marginal<'r>>,
    /// How the quantiles of `t` were found.
    t_quantiles_method: Name<Method>,
    /// The parameter of the adaptive prior; null under other priors.
    alpha: Option<Parameter<'r>>,
    /// The roughness of the curve of ln shares, under the smoothing prior.
    #[serde(skip_serializing_if = "Option::is_none")]
    roughness: Option<Parameter<'r>>,
    /// The values whose linear estimate lies outside the interval of their share.
    linear_outside: Vec<Outside<'r>>,
    /// How well the Markov chains agree; null where there are none.
    diagnostics: Option<Chains>,
    /// Joint draws of the shares, if they were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    draws: &'r [Vec<f64>],
}

/// A marginal, with the name of its value.
#[derive(Serialize, JsonSchema)]
struct Marginal<'r> {
    /// The name of the value.
    label: &'r str,
    /// The mean.
    mean: Number,
    /// The standard deviation.
    sd: Number,
    /// Monte Carlo standard error of the mean; 0 for exact methods.
    error: Number,
    /// Quantiles, named by their probabilities.
    quantiles: Quantiles<'r>,
    /// Points and densities, if they were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    density: &'r [(f64, f64)],
}

/// What the reports say about the parameter of the adaptive or the smoothing prior.
#[derive(Serialize, JsonSchema)]
struct Parameter<'r> {
    /// The mean.
    mean: Number,
    /// The standard deviation.
    sd: Number,
    /// Monte Carlo standard error of the mean; 0 for exact methods.
    error: Number,
    /// Quantiles, named by their probabilities.
    quantiles: Quantiles<'r>,
}

/// A value whose linear estimate lies outside its interval.
#[derive(Serialize, JsonSchema)]
struct Outside<'r> {
    /// The name of the value.
    label: &'r str,
    /// The linear estimate of its share.
    linear: Number,
}

/// Probabilities and quantiles, as an object in that order.
struct Quantiles<'r>(&'r [(f64, f64)]);

impl Serialize for Quantiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(q, value)| (probability(*q), Number(*value))))
    }
}

impl JsonSchema for Quantiles<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Quantiles".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, Number>::json_schema(generator)
    }
}

/// A probability as the name of its quantile: `0.05` and not `0.04999999999999999`.
fn probability(q: f64) -> String {
    ((q * 1e12).round() / 1e12).to_string()
}

/// How well the chains of the sampler agree.
#[derive(Serialize, JsonSchema)]
struct Chains {
    /// Number of chains.
    chains: usize,
    /// Draws of each.
    length: usize,
    /// The largest split R-hat of ranks, over all values.
    r_hat: Number,
    /// The smallest effective sample size of ranks.
    ess_bulk: Number,
    /// The smallest effective sample size for the 5 % and 95 % quantiles.
    ess_tail: Number,
    /// Share of proposals that were accepted.
    acceptance: Number,
    /// Whether R-hat and sample sizes are good enough.
    converged: bool,
}

impl From<&Diagnostics> for Chains {
    fn from(found: &Diagnostics) -> Self {
        Chains {
            chains: found.chains,
            length: found.length,
            r_hat: Number(found.r_hat),
            ess_bulk: Number(found.bulk),
            ess_tail: Number(found.tail),
            acceptance: Number(found.acceptance),
            converged: found.converged,
        }
    }
}

impl<'r> From<&'r Summary> for Parameter<'r> {
    fn from(found: &'r Summary) -> Self {
        Parameter {
            mean: Number(found.mean),
            sd: Number(found.sd),
            error: Number(found.error),
            quantiles: Quantiles(&found.quantiles),
        }
    }
}

fn marginals<'r>(labels: &'r [String], summaries: &'r [Summary]) -> Vec<Marginal<'r>> {
    let marginal = |(label, summary): (&'r String, &'r Summary)| Marginal {
        label,
        mean: Number(summary.mean),
        sd: Number(summary.sd),
        error: Number(summary.error),
        quantiles: Quantiles(&summary.quantiles),
        density: &summary.density,
    };
    labels.iter().zip(summaries).map(marginal).collect()
}

impl<'r> From<&'r PosteriorReport> for PosteriorFields<'r> {
    fn from(report: &'r PosteriorReport) -> Self {
        let found = &report.posterior;
        let evidence = found.log_evidence.as_ref();
        PosteriorFields {
            protocol: &report.protocol,
            prior: &report.prior,
            collections: if report.collections.len() > 1 { &report.collections } else { &[] },
            n: found.n,
            level: Number(report.level),
            method: Name(found.method),
            log_evidence: evidence.ok().map(|e| Number(e.value)),
            log_evidence_error: evidence.ok().map(|e| Number(e.error)),
            log_evidence_reason: evidence.err().copied(),
            of: asked(&report.of, &report.labels),
            against: &report.against,
            p: marginals(&report.labels, &found.p),
            t: marginals(&report.labels, &found.t),
            t_quantiles_method: Name(found.t_quantiles),
            alpha: found.alpha.as_ref().map(Parameter::from),
            roughness: found.roughness.as_ref().map(Parameter::from),
            linear_outside: (report.linear_outside().into_iter())
                .map(|(x, linear)| Outside { label: &report.labels[x], linear: Number(linear) })
                .collect(),
            diagnostics: found.diagnostics.as_ref().map(Chains::from),
            draws: &found.draws.p,
        }
    }
}

impl Serialize for PosteriorReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PosteriorFields::from(self).serialize(serializer)
    }
}

impl JsonSchema for PosteriorReport {
    fn schema_name() -> Cow<'static, str> {
        "PosteriorReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PosteriorFields::json_schema(generator)
    }
}
