//! Protocols as written: which kinds there are, which keys each has, and how they become a [`Protocol`].

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer};
use sottovoce::Protocol;
use sottovoce::design::optimal_parameter::{best_block, best_hash_range, best_subset_size};
use sottovoce::protocol::Specification;

use super::fields::{Fields, Kind, Path, count, list, number, numbers, rows, text};
use super::prior::{PriorSpec, entry};
use super::tree::{Tree, shown};
use crate::admission::{admit, size_search_bytes};
use crate::error::{Expected, FieldProblem, Result, Specified};
use crate::source::Written;

/// A protocol as written, with names for its inputs if it has any.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Protocol", deny_unknown_fields)]
pub struct ProtocolSpec {
    /// The kind and its parameters.
    #[serde(flatten)]
    pub kind: ProtocolKind,
    /// Names of the inputs, all different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

/// A kind of protocol with its parameters. `a` is the number of inputs, `epsilon` the LDP level in nats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs)] // The fields are those of the interface; each variant says what they mean.
pub enum ProtocolKind {
    /// Tells the truth.
    Identity { a: usize },
    /// Generalised randomised response.
    Grr { a: usize, epsilon: f64 },
    /// Unary encoding: the true bit is set with probability `kappa`, each other bit with probability `lambda`.
    Ue { a: usize, kappa: f64, lambda: f64 },
    /// Basic RAPPOR: unary encoding that flips all bits equally often.
    Rappor { a: usize, epsilon: f64 },
    /// Optimised unary encoding.
    Oue { a: usize, epsilon: f64 },
    /// Binary local hash, as a unary encoding.
    Blh { a: usize, epsilon: f64 },
    /// Local hash into `g` buckets, over all hash functions. Without `g`, the best for the asymptotic utility.
    Lh {
        a: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        g: Option<usize>,
        epsilon: f64,
    },
    /// Selection of a subset of size `k`. Without `k`, the best for the asymptotic utility.
    Subset {
        a: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        k: Option<usize>,
        epsilon: f64,
    },
    /// Selection of one of `v ≥ a` blocks of `k` residues modulo `v`, the shifts of a difference set. Without `v` or `k`, the best for the
    /// asymptotic utility.
    Block {
        a: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        v: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        k: Option<usize>,
        epsilon: f64,
    },
    /// Reports `map[x]` for input `x`.
    Deterministic { map: Vec<usize> },
    /// The truth with probability `reveal`, else a blank.
    Erasure { a: usize, reveal: f64 },
    /// Any matrix: `rows[y][x]` is the probability of output `y` given input `x`.
    Matrix { rows: Vec<Vec<f64>> },
    /// One protocol after another.
    Composition { steps: Vec<ProtocolSpec> },
    /// Several protocols on the same value, all reported together.
    Product { factors: Vec<ProtocolSpec> },
    /// One of several protocols, drawn with the given probabilities and named in the report.
    Mixture { weights: Vec<f64>, parts: Vec<ProtocolSpec> },
}

const LABELS: &[&str] = &["labels"];

const fn kind(name: &'static str, required: &'static [&'static str]) -> Kind {
    Kind { name, required, optional: LABELS }
}

const KINDS: &[Kind] = &[
    kind("identity", &["a"]),
    kind("grr", &["a", "epsilon"]),
    kind("ue", &["a", "kappa", "lambda"]),
    kind("rappor", &["a", "epsilon"]),
    kind("oue", &["a", "epsilon"]),
    kind("blh", &["a", "epsilon"]),
    Kind { name: "lh", required: &["a", "epsilon"], optional: &["g", "labels"] },
    Kind { name: "subset", required: &["a", "epsilon"], optional: &["k", "labels"] },
    Kind { name: "block", required: &["a", "epsilon"], optional: &["v", "k", "labels"] },
    kind("deterministic", &["map"]),
    kind("erasure", &["a", "reveal"]),
    kind("matrix", &["rows"]),
    kind("composition", &["steps"]),
    kind("product", &["factors"]),
    kind("mixture", &["weights", "parts"]),
];

/// The names of all kinds of protocol.
pub(crate) fn kinds() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

impl ProtocolSpec {
    /// Reads a protocol from a tree, checking keys and types.
    pub(crate) fn from_tree(tree: Tree, path: &Path<'_>) -> Result<Self> {
        let mut fields = Kind::of(tree, path, Specified::Protocol, KINDS)?;
        let labels = fields.take_optional("labels", list(Expected::Texts, text))?;
        Ok(ProtocolSpec { kind: ProtocolKind::from_fields(&mut fields)?, labels })
    }

    /// The name of the kind, as in JSON.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The protocols that this one combines.
    pub fn parts(&self) -> &[ProtocolSpec] {
        match &self.kind {
            ProtocolKind::Composition { steps: parts }
            | ProtocolKind::Product { factors: parts }
            | ProtocolKind::Mixture { parts, .. } => parts,
            _ => &[],
        }
    }

    fn parts_mut(&mut self) -> &mut [ProtocolSpec] {
        match &mut self.kind {
            ProtocolKind::Composition { steps: parts }
            | ProtocolKind::Product { factors: parts }
            | ProtocolKind::Mixture { parts, .. } => parts,
            _ => &mut [],
        }
    }

    /// The names of the inputs: its own, or those of the first part that sees the same inputs and has names.
    fn input_labels(&self) -> Option<&Vec<String>> {
        let seeing = match &self.kind {
            ProtocolKind::Composition { steps } => &steps[..steps.len().min(1)],
            _ => self.parts(),
        };
        self.labels.as_ref().or_else(|| seeing.iter().find_map(ProtocolSpec::input_labels))
    }

    /// Fills in the sizes that were left out, with the best for asymptotic utility under the prior.
    ///
    /// The prior is on the inputs of the whole, so later steps of a composition are filled in under the Jeffreys prior.
    fn fill_in_sizes(&mut self, prior: &PriorSpec) {
        match &mut self.kind {
            ProtocolKind::Lh { a, g: g @ None, epsilon } => *g = best(*a, *epsilon, prior, best_hash_range),
            ProtocolKind::Subset { a, k: k @ None, epsilon } => {
                *k = best(*a, *epsilon, prior, best_subset_size);
            }
            ProtocolKind::Block { a, v, k, epsilon } if v.is_none() || k.is_none() => {
                let size = |prior: &sottovoce::Prior, epsilon: f64| best_block(prior, epsilon, *v, *k);
                if let Some(Some((blocks, size))) = best(*a, *epsilon, prior, size) {
                    (*v, *k) = (Some(blocks), Some(size));
                }
            }
            _ => {}
        }
        let composed = matches!(self.kind, ProtocolKind::Composition { .. });
        for (position, part) in self.parts_mut().iter_mut().enumerate() {
            part.fill_in_sizes(if composed && position > 0 { &PriorSpec::Jeffreys } else { prior });
        }
    }

    fn build(&self, path: &Path<'_>) -> Result<Protocol> {
        let list = self.kind.parts_key();
        let place = Path::Key(path, list);
        let part = |(i, part): (usize, &ProtocolSpec)| part.build(&Path::Index(&place, i));
        let parts = self.parts().iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
        let protocol = self.kind.construct(parts).map_err(|error| match self.kind.field_of(&error) {
            Some(field) => Path::Key(path, &field).error(error.into()),
            None => path.error(error.into()),
        })?;
        self.check_labels(&protocol, path)?;
        Ok(protocol)
    }

    fn check_labels(&self, protocol: &Protocol, path: &Path<'_>) -> Result<()> {
        let (place, expected) = (Path::Key(path, "labels"), protocol.inputs());
        let Some(labels) = &self.labels else { return Ok(()) };
        if labels.len() != expected {
            return Err(place.error(FieldProblem::LabelCount { found: labels.len(), expected }));
        }
        let mut seen = HashMap::new();
        for (x, label) in labels.iter().enumerate() {
            if let Some(first) = seen.insert(label, x) {
                let problem = FieldProblem::DuplicateLabel { label: shown(label), first };
                return Err(Path::Index(&place, x).error(problem));
            }
        }
        Ok(())
    }
}

/// The best size under the prior, if the other parameters are in range; if the prior is not, that error is for whoever
/// uses the prior to tell.
fn best<T>(
    a: usize,
    epsilon: f64,
    prior: &PriorSpec,
    size: impl Fn(&sottovoce::Prior, f64) -> T,
) -> Option<T> {
    Protocol::grr(a, epsilon).ok()?;
    let prior = prior.build(a).or_else(|_| PriorSpec::Jeffreys.build(a)).ok()?;
    Some(size(&prior, epsilon))
}

impl ProtocolKind {
    fn from_fields(fields: &mut Fields<'_>) -> Result<Self> {
        use ProtocolKind as K;
        let parts = || list(Expected::Protocols, ProtocolSpec::from_tree);
        Ok(match fields.kind.name {
            "grr" => K::Grr { a: fields.take("a", count)?, epsilon: fields.take("epsilon", number)? },
            "ue" => K::Ue {
                a: fields.take("a", count)?,
                kappa: fields.take("kappa", number)?,
                lambda: fields.take("lambda", number)?,
            },
            "rappor" => K::Rappor { a: fields.take("a", count)?, epsilon: fields.take("epsilon", number)? },
            "oue" => K::Oue { a: fields.take("a", count)?, epsilon: fields.take("epsilon", number)? },
            "blh" => K::Blh { a: fields.take("a", count)?, epsilon: fields.take("epsilon", number)? },
            "lh" => K::Lh {
                a: fields.take("a", count)?,
                g: fields.take_optional("g", count)?,
                epsilon: fields.take("epsilon", number)?,
            },
            "subset" => K::Subset {
                a: fields.take("a", count)?,
                k: fields.take_optional("k", count)?,
                epsilon: fields.take("epsilon", number)?,
            },
            "block" => K::Block {
                a: fields.take("a", count)?,
                v: fields.take_optional("v", count)?,
                k: fields.take_optional("k", count)?,
                epsilon: fields.take("epsilon", number)?,
            },
            "deterministic" => K::Deterministic { map: fields.take("map", list(Expected::Counts, count))? },
            "erasure" => K::Erasure { a: fields.take("a", count)?, reveal: fields.take("reveal", number)? },
            "matrix" => K::Matrix { rows: fields.take("rows", rows)? },
            "composition" => K::Composition { steps: fields.take("steps", parts())? },
            "product" => K::Product { factors: fields.take("factors", parts())? },
            "mixture" => K::Mixture {
                weights: fields.take("weights", numbers)?,
                parts: fields.take("parts", parts())?,
            },
            _ => K::Identity { a: fields.take("a", count)? },
        })
    }

    fn construct(&self, parts: Vec<Protocol>) -> sottovoce::Result<Protocol> {
        use ProtocolKind as K;
        match self {
            K::Identity { a } => Protocol::identity(*a),
            K::Grr { a, epsilon } => Protocol::grr(*a, *epsilon),
            K::Ue { a, kappa, lambda } => Protocol::ue(*a, *kappa, *lambda),
            K::Rappor { a, epsilon } => Protocol::rappor(*a, *epsilon),
            K::Oue { a, epsilon } => Protocol::oue(*a, *epsilon),
            K::Blh { a, epsilon } => Protocol::blh(*a, *epsilon),
            // Without a size the other parameters are out of range, which the constructor says.
            K::Lh { a, g, epsilon } => Protocol::lh(*a, g.unwrap_or(1), *epsilon),
            K::Subset { a, k, epsilon } => Protocol::subset(*a, k.unwrap_or(1), *epsilon),
            K::Block { a, v: None, k: Some(k), epsilon } => {
                Protocol::block(*a, *a, 1, *epsilon)?;
                Err(sottovoce::Error::NoDifferenceSetOfSize { a: *a, k: *k })
            }
            K::Block { a, v: Some(v), k: None, epsilon } => {
                Protocol::block(*a, *v, 1, *epsilon)?;
                Err(sottovoce::Error::NoDifferenceSetModulo { v: *v })
            }
            K::Block { a, v, k, epsilon } => Protocol::block(*a, v.unwrap_or(*a), k.unwrap_or(1), *epsilon),
            K::Deterministic { map } => Protocol::deterministic(map.clone()),
            K::Erasure { a, reveal } => Protocol::erasure(*a, *reveal),
            K::Matrix { rows } => Protocol::matrix(rows.clone()),
            K::Composition { .. } => Protocol::composition(parts),
            K::Product { .. } => Protocol::product(parts),
            K::Mixture { weights, .. } => Protocol::mixture(weights.clone(), parts),
        }
    }

    /// The field that an error of the constructor concerns, if it concerns a single one.
    fn field_of(&self, error: &sottovoce::Error) -> Option<String> {
        use sottovoce::Error as E;
        let field = match error {
            E::Inputs { .. } => match self {
                ProtocolKind::Deterministic { .. } => "map".into(),
                ProtocolKind::Matrix { .. } => "rows[0]".into(),
                _ => "a".into(),
            },
            E::OutOfRange { name: "weights", .. } => match self {
                ProtocolKind::Mixture { weights, .. } => entry("weights", weights, error),
                _ => "weights".into(),
            },
            E::KappaBelowLambda { .. } => "kappa".into(),
            E::NoDifferenceSet { .. } | E::NoDifferenceSetOfSize { .. } => "k".into(),
            E::NoDifferenceSetModulo { .. } => "v".into(),
            E::Count { name: "map", value, .. } => self.map_entry(*value),
            E::OutOfRange { name, .. }
            | E::Count { name, .. }
            | E::Empty { name }
            | E::WeightSum { name, .. }
            | E::Lengths { left: name, .. } => (*name).to_owned(),
            E::RaggedRow { row, .. } => format!("rows[{row}]"),
            E::Entry { y, x, .. } => format!("rows[{y}][{x}]"),
            E::ColumnSum { .. } => "rows".into(),
            E::Mismatch { position, .. } => format!("{}[{position}]", self.parts_key()),
            _ => return None,
        };
        Some(field)
    }

    fn map_entry(&self, value: usize) -> String {
        let position = match self {
            ProtocolKind::Deterministic { map } => map.iter().position(|y| *y == value),
            _ => None,
        };
        position.map_or_else(|| "map".into(), |x| format!("map[{x}]"))
    }

    fn parts_key(&self) -> &'static str {
        match self {
            ProtocolKind::Composition { .. } => "steps",
            ProtocolKind::Product { .. } => "factors",
            _ => "parts",
        }
    }

    /// The name of the kind, as in JSON.
    pub fn name(&self) -> &'static str {
        use ProtocolKind as K;
        match self {
            K::Identity { .. } => "identity",
            K::Grr { .. } => "grr",
            K::Ue { .. } => "ue",
            K::Rappor { .. } => "rappor",
            K::Oue { .. } => "oue",
            K::Blh { .. } => "blh",
            K::Lh { .. } => "lh",
            K::Subset { .. } => "subset",
            K::Block { .. } => "block",
            K::Deterministic { .. } => "deterministic",
            K::Erasure { .. } => "erasure",
            K::Matrix { .. } => "matrix",
            K::Composition { .. } => "composition",
            K::Product { .. } => "product",
            K::Mixture { .. } => "mixture",
        }
    }
}

impl From<ProtocolKind> for ProtocolSpec {
    fn from(kind: ProtocolKind) -> Self {
        ProtocolSpec { kind, labels: None }
    }
}

/// The specification that a protocol carries, written out. It has no names for its inputs.
impl From<Specification> for ProtocolSpec {
    fn from(specification: Specification) -> Self {
        ProtocolKind::from(specification).into()
    }
}

impl From<Specification> for ProtocolKind {
    fn from(specification: Specification) -> Self {
        use ProtocolKind as K;
        use Specification as S;
        let written = |parts: Vec<S>| parts.into_iter().map(ProtocolSpec::from).collect();
        match specification {
            S::Identity { a } => K::Identity { a },
            S::Grr { a, epsilon } => K::Grr { a, epsilon },
            S::Ue { a, kappa, lambda } => K::Ue { a, kappa, lambda },
            S::Rappor { a, epsilon } => K::Rappor { a, epsilon },
            S::Oue { a, epsilon } => K::Oue { a, epsilon },
            S::Blh { a, epsilon } => K::Blh { a, epsilon },
            S::Lh { a, g, epsilon } => K::Lh { a, g: Some(g), epsilon },
            S::Subset { a, k, epsilon } => K::Subset { a, k: Some(k), epsilon },
            S::Block { a, v, k, epsilon } => K::Block { a, v: Some(v), k: Some(k), epsilon },
            S::Deterministic { map } => K::Deterministic { map },
            S::Erasure { a, reveal } => K::Erasure { a, reveal },
            S::Matrix { rows } => K::Matrix { rows },
            S::Composition { steps } => K::Composition { steps: written(steps) },
            S::Product { factors } => K::Product { factors: written(factors) },
            S::Mixture { weights, parts } => K::Mixture { weights, parts: written(parts) },
        }
    }
}

impl<'de> Deserialize<'de> for ProtocolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ProtocolSpec::from_tree(Tree::deserialize(deserializer)?, &Path::Root).map_err(de::Error::custom)
    }
}

/// A valid protocol with the names of its inputs and the specification it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedProtocol {
    /// The specification, with all sizes filled in.
    pub spec: ProtocolSpec,
    /// The protocol.
    pub protocol: Protocol,
    /// Names of the inputs, if they were given.
    pub labels: Option<Vec<String>>,
}

impl NamedProtocol {
    /// The name of an input: its label, or its number.
    pub fn input(&self, x: usize) -> String {
        self.labels.as_ref().map_or_else(|| x.to_string(), |labels| labels[x].clone())
    }
}

impl Written<ProtocolSpec> {
    /// The protocol, with sizes that were left out filled in as is best under the prior.
    ///
    /// # Errors
    /// A parameter is out of range, parts do not fit together, or labels are not as many as inputs.
    pub fn check(&self, prior: &PriorSpec) -> Result<NamedProtocol> {
        let mut spec = self.spec.clone();
        admit(size_search_bytes(&spec))?;
        spec.fill_in_sizes(prior);
        let protocol = spec.build(&Path::Root).map_err(|error| error.found_in(&self.source))?;
        let labels = spec.input_labels().cloned();
        Ok(NamedProtocol { spec, protocol, labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::spec::read_protocol;

    fn check(argument: &str) -> Result<NamedProtocol> {
        read_protocol(argument)?.check(&PriorSpec::Jeffreys)
    }

    fn place(argument: &str) -> String {
        match check(argument).unwrap_err() {
            Error::Field { path, .. } => path,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_table_of_kinds_is_that_of_the_type() {
        for kind in KINDS {
            let nothing = Tree::Object(vec![("kind".into(), Tree::Text(kind.name.into()))]);
            assert!(ProtocolSpec::from_tree(nothing, &Path::Root).is_err());
        }
        assert_eq!(check("identity:a=3").unwrap().spec.name(), "identity");
    }

    #[test]
    fn errors_name_the_field() {
        assert_eq!(place("grr:a=1,eps=1"), "a");
        assert_eq!(place("grr:a=3,eps=-1"), "epsilon");
        assert_eq!(place("ue:a=3,kappa=0.1,lambda=0.2"), "kappa");
        assert_eq!(place("lh:a=3,eps=nan"), "epsilon");
        assert_eq!(place("subset:a=3,k=4,eps=1"), "k");
        assert_eq!(place("block:a=8,v=7,k=3,eps=1"), "v");
        assert_eq!(place("block:a=7,v=7,k=2,eps=1"), "k");
        assert_eq!(place("block:a=7,k=2,eps=1"), "k");
        assert_eq!(place("block:a=8,v=7,eps=1"), "v");
        assert_eq!(place("block:a=100,v=122,eps=1"), "v");
        assert_eq!(place("deterministic:map=0/99999999"), "map[1]");
        assert_eq!(place("matrix:rows=0.5/0.5//0.5"), "rows[1]");
        assert_eq!(place("matrix:rows=0.5/2//0.5/0"), "rows[0][1]");
        assert_eq!(place("grr:a=3,eps=1,labels=a/b/a"), "labels[2]");
        assert_eq!(
            place(
                r#"{"kind":"product","factors":[{"kind":"grr","a":3,"epsilon":1},
                   {"kind":"mixture","weights":[0.5,0.5],"parts":[{"kind":"identity","a":3},
                                                                  {"kind":"grr","a":3,"epsilon":0}]}]}"#
            ),
            "factors[1].parts[1].epsilon"
        );
        assert_eq!(
            place(r#"{"kind":"composition","steps":[{"kind":"identity","a":3},{"kind":"identity","a":4}]}"#),
            "steps[1]"
        );
    }

    #[test]
    fn sizes_left_out_are_filled_in_and_echoed() {
        let hash = check("lh:a=16,eps=1").unwrap();
        assert_eq!(hash.spec.kind, ProtocolKind::Lh { a: 16, g: Some(4), epsilon: 1.0 });
        let subset = check("subset:a=16,eps=1").unwrap();
        assert_eq!(subset.spec.kind, ProtocolKind::Subset { a: 16, k: Some(4), epsilon: 1.0 });
        let block = check("block:a=100,eps=1").unwrap();
        let filled = |v, k| ProtocolKind::Block { a: 100, v: Some(v), k: Some(k), epsilon: 1.0 };
        assert_eq!(block.spec.kind, filled(109, 28));
        assert_eq!(check("block:a=100,v=103,eps=1").unwrap().spec.kind, filled(103, 51));
        assert_eq!(check("block:a=100,k=31,eps=1").unwrap().spec.kind, filled(156, 31));
        assert!(check("lh:a=16,eps=100").is_ok());
        let none = check("block:a=100,k=5,eps=1").unwrap_err().to_string();
        assert!(none.contains("k = 5 residues modulo 100 or more"), "{none}");
    }

    #[test]
    fn labels_come_from_the_first_part_that_has_them() {
        let json = r#"{"kind":"composition","steps":[{"kind":"grr","a":2,"epsilon":1,"labels":["no","yes"]},
                       {"kind":"identity","a":2,"labels":["x","y"]}]}"#;
        assert_eq!(check(json).unwrap().labels.unwrap(), ["no", "yes"]);
    }
}
