//! Priors as written: which kinds there are, which keys each has, and how they become a [`Prior`].

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer};
use sottovoce::Prior;
use sottovoce::prior::{Dirichlet, DirichletMixture, Points};

use super::fields::{Kind, Path, number, numbers, rows};
use super::tree::Tree;
use crate::error::{Error, FieldProblem, Result, Specified};
use crate::source::Written;

/// A prior as written. The number of values is that of the protocol it is used with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(title = "Prior")]
pub enum PriorSpec {
    /// The Dirichlet distribution with all parameters 1/2.
    #[default]
    Jeffreys,
    /// The Dirichlet distribution with all parameters equal.
    Symmetric {
        /// The parameter, from 1e-4 to 1e8.
        alpha: f64,
    },
    /// Symmetric Dirichlet distributions whose parameter is unknown, with its logarithm uniform from ln 2/a (at most ln 0.1) to ln 10.
    Adaptive,
    /// For ordered values, such as bins of a number, in `posterior` and `estimate`: the logarithms of the shares are a random walk of
    /// second order with unknown roughness, so that the shares form a smooth curve.
    Smooth,
    /// A Dirichlet distribution.
    Dirichlet {
        /// The parameters, one for each input.
        alpha: Vec<f64>,
    },
    /// A mixture of Dirichlet distributions.
    DirichletMixture {
        /// The probability of each part.
        weights: Vec<f64>,
        /// The Dirichlet parameters of each part.
        parts: Vec<Vec<f64>>,
    },
    /// Finitely many possible distributions. Not continuous, so the asymptotic metrics do not exist.
    Points {
        /// The probability of each point.
        weights: Vec<f64>,
        /// The possible distributions.
        points: Vec<Vec<f64>>,
    },
}

const KINDS: &[Kind] = &[
    Kind { name: "jeffreys", required: &[], optional: &[] },
    Kind { name: "symmetric", required: &["alpha"], optional: &[] },
    Kind { name: "adaptive", required: &[], optional: &[] },
    Kind { name: "smooth", required: &[], optional: &[] },
    Kind { name: "dirichlet", required: &["alpha"], optional: &[] },
    Kind { name: "dirichlet_mixture", required: &["weights", "parts"], optional: &[] },
    Kind { name: "points", required: &["weights", "points"], optional: &[] },
];

/// The names of all kinds of prior.
pub(crate) fn kinds() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

impl PriorSpec {
    /// The prior of posteriors on `a` values where none is given, as [`Prior::usual`].
    pub(crate) fn usual(a: usize) -> Self {
        if a > 2 { PriorSpec::Adaptive } else { PriorSpec::Jeffreys }
    }

    /// Reads a prior from a tree, checking keys and types.
    pub(crate) fn from_tree(tree: Tree, path: &Path<'_>) -> Result<Self> {
        let mut fields = Kind::of(tree, path, Specified::Prior, KINDS)?;
        Ok(match fields.kind.name {
            "symmetric" => PriorSpec::Symmetric { alpha: fields.take("alpha", number)? },
            "adaptive" => PriorSpec::Adaptive,
            "smooth" => PriorSpec::Smooth,
            "dirichlet" => PriorSpec::Dirichlet { alpha: fields.take("alpha", numbers)? },
            "dirichlet_mixture" => PriorSpec::DirichletMixture {
                weights: fields.take("weights", numbers)?,
                parts: fields.take("parts", rows)?,
            },
            "points" => PriorSpec::Points {
                weights: fields.take("weights", numbers)?,
                points: fields.take("points", rows)?,
            },
            _ => PriorSpec::Jeffreys,
        })
    }

    /// The prior on `a` values, or what is wrong and with which field.
    pub(crate) fn build(&self, a: usize) -> Result<Prior> {
        let prior = self.construct(a).map_err(|(field, error)| match (self, error) {
            // The number of values comes with what the prior is for, and not from the prior.
            (
                PriorSpec::Jeffreys | PriorSpec::Adaptive | PriorSpec::Smooth | PriorSpec::Symmetric { .. },
                error @ (sottovoce::Error::Inputs { .. } | sottovoce::Error::TooMuch { .. }),
            ) => error.into(),
            (_, error) => Path::Key(&Path::Root, &field).error(error.into()),
        })?;
        if prior.inputs() == a {
            return Ok(prior);
        }
        let error = sottovoce::Error::PriorSize { prior: prior.inputs(), protocol: a };
        Err(Path::Key(&Path::Root, self.size_field()).error(FieldProblem::Value(error)))
    }

    fn construct(&self, a: usize) -> Result<Prior, (String, sottovoce::Error)> {
        let at = |field: &str| {
            let field = field.to_owned();
            move |error| (field, error)
        };
        match self {
            PriorSpec::Jeffreys => Prior::jeffreys(a).map_err(at("kind")),
            PriorSpec::Adaptive => Prior::adaptive(a).map_err(at("kind")),
            PriorSpec::Smooth => Prior::smooth(a).map_err(at("kind")),
            PriorSpec::Symmetric { alpha } => Prior::symmetric(a, *alpha).map_err(at("alpha")),
            PriorSpec::Dirichlet { alpha } => Dirichlet::new(alpha.clone())
                .map(Prior::Dirichlet)
                .map_err(|e| (entry("alpha", alpha, &e), e)),
            PriorSpec::DirichletMixture { weights, parts } => {
                let part = |(i, alpha): (usize, &Vec<f64>)| {
                    let refused = |e| (entry(&format!("parts[{i}]"), alpha, &e), e);
                    Dirichlet::new(alpha.clone()).map_err(refused)
                };
                let parts = parts.iter().enumerate().map(part).collect::<Result<Vec<_>, _>>()?;
                let mixture = DirichletMixture::new(weights.clone(), parts);
                mixture.map(Prior::DirichletMixture).map_err(|e| (mixture_field(weights, &e, "parts"), e))
            }
            PriorSpec::Points { weights, points } => Points::new(weights.clone(), points.clone())
                .map(Prior::Points)
                .map_err(|e| (points_field(weights, points, &e), e)),
        }
    }

    fn size_field(&self) -> &'static str {
        match self {
            PriorSpec::DirichletMixture { .. } => "parts",
            PriorSpec::Points { .. } => "points",
            _ => "alpha",
        }
    }
}

/// The list `name`, or its entry that is out of range.
pub(super) fn entry(name: &str, values: &[f64], error: &sottovoce::Error) -> String {
    let same = |wrong: f64| values.iter().position(|v| v.to_bits() == wrong.to_bits());
    match error {
        sottovoce::Error::OutOfRange { value, .. } => {
            same(*value).map_or_else(|| name.to_owned(), |at| format!("{name}[{at}]"))
        }
        _ => name.to_owned(),
    }
}

/// The field of a mixture that an error concerns: the weights, or a part.
fn mixture_field(weights: &[f64], error: &sottovoce::Error, parts: &str) -> String {
    match error {
        sottovoce::Error::Mismatch { position, .. } => format!("{parts}[{position}]"),
        sottovoce::Error::Empty { name } => (*name).to_owned(),
        sottovoce::Error::OutOfRange { .. } => entry("weights", weights, error),
        sottovoce::Error::WeightSum { .. } | sottovoce::Error::Lengths { .. } => "weights".into(),
        _ => parts.to_owned(),
    }
}

fn points_field(weights: &[f64], points: &[Vec<f64>], error: &sottovoce::Error) -> String {
    use sottovoce::Error as E;
    match error {
        E::OutOfRange { name: "point", .. } => {
            let fields = points.iter().enumerate().map(|(i, p)| entry(&format!("points[{i}]"), p, error));
            fields
                .into_iter()
                .find(|field| field.matches('[').count() == 2)
                .unwrap_or_else(|| "points".into())
        }
        E::WeightSum { name: "point", sum, .. } => {
            let wrong = points.iter().position(|p| p.iter().sum::<f64>().to_bits() == sum.to_bits());
            wrong.map_or_else(|| "points".into(), |at| format!("points[{at}]"))
        }
        E::Inputs { .. } => "points[0]".into(),
        _ => mixture_field(weights, error, "points"),
    }
}

impl Written<PriorSpec> {
    /// The prior on `a` values, for metrics.
    ///
    /// # Errors
    /// A parameter is out of range, the prior is on another number of values, or it is only for posteriors.
    pub fn check(&self, a: usize) -> Result<Prior> {
        match self.check_of_posterior(a)? {
            Prior::Smooth(_) => {
                let allowed = "a Dirichlet prior, a mixture or points: the smoothing prior is for posteriors";
                Err(Error::Setting { name: "prior", value: "smooth".into(), allowed })
            }
            prior => Ok(prior),
        }
    }

    /// The prior on `a` values, for a posterior.
    ///
    /// # Errors
    /// A parameter is out of range, or the prior is on another number of values.
    pub fn check_of_posterior(&self, a: usize) -> Result<Prior> {
        self.spec.build(a).map_err(|error| error.found_in(&self.source))
    }
}

impl<'de> Deserialize<'de> for PriorSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PriorSpec::from_tree(Tree::deserialize(deserializer)?, &Path::Root).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_prior;

    fn place(argument: &str) -> String {
        match read_prior(argument).unwrap().check(2).unwrap_err() {
            Error::Field { path, .. } => path,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_smoothing_prior_is_for_posteriors() {
        let smooth = read_prior("smooth").unwrap();
        assert!(matches!(smooth.check(5), Err(Error::Setting { name: "prior", .. })));
        assert!(smooth.check_of_posterior(5).is_ok());
        assert!(matches!(smooth.check_of_posterior(5000), Err(Error::Numbers(_))));
    }

    #[test]
    fn errors_name_the_entry() {
        assert_eq!(place("symmetric:alpha=-1"), "alpha");
        assert_eq!(place("dirichlet:alpha=1/0"), "alpha[1]");
        assert_eq!(place("dirichlet:alpha=1/2/3"), "alpha");
        assert_eq!(place(r#"{"kind":"dirichlet_mixture","weights":[1],"parts":[[1,-1]]}"#), "parts[0][1]");
        assert_eq!(place(r#"{"kind":"dirichlet_mixture","weights":[0.5],"parts":[[1,1]]}"#), "weights");
        assert_eq!(place(r#"{"kind":"points","weights":[0.5,0.5],"points":[[1,0],[0.5,0.6]]}"#), "points[1]");
        assert_eq!(
            place(r#"{"kind":"points","weights":[0.5,0.5],"points":[[1,0],[1.5,-0.5]]}"#),
            "points[1][0]"
        );
        assert_eq!(place(r#"{"kind":"points","weights":[0.5,0.5],"points":[[1,0],[0,1]]}"#), "points");
    }
}
