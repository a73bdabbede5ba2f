//! Cases as lines of text, and their reference values in `golden/adversary.txt`.

use chacha20::ChaCha8Rng;
use sottovoce::prior::{Dirichlet, DirichletMixture};
use sottovoce::{Prior, Protocol, Tallies};

use super::model::{Mixture, Reports, Source, exp, mean, multinomial};

/// A question for the library and for an independent method.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// The protocol in prefix notation.
    pub words: String,
    pub prior: Mixture,
    pub data: Data,
}

/// What is known about the users.
#[derive(Clone, Debug)]
pub enum Data {
    /// Their number: the question is `I(Y⃗;P)`.
    Users(u64),
    /// Counts of rows: the question is the posterior.
    Counts(Vec<(usize, u64)>),
}

/// A value with its standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    pub value: f64,
    pub error: f64,
}

impl Value {
    pub fn new(name: impl Into<String>, value: f64, error: f64) -> Self {
        Value { name: name.into(), value, error }
    }
}

/// A case with the result of an independent method.
#[derive(Clone, Debug)]
pub struct Reference {
    pub case: Case,
    pub values: Vec<Value>,
    pub method: String,
}

pub fn references() -> Vec<Reference> {
    let text = include_str!("../golden/adversary.txt");
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(Reference::parse).collect()
}

impl Reference {
    pub fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [name, words, prior, data, values, method] = fields[..] else { panic!("six fields: {line}") };
        let value = |word: &str| {
            let (name, number) = word.split_once('=').unwrap();
            let (value, error) = number.split_once('~').unwrap();
            Value::new(name, value.parse().unwrap(), error.parse().unwrap())
        };
        Reference {
            case: Case {
                name: name.to_owned(),
                words: words.to_owned(),
                prior: parse_prior(prior),
                data: Data::parse(data),
            },
            values: values.split(' ').map(value).collect(),
            method: method.to_owned(),
        }
    }

    pub fn value(&self, name: &str) -> &Value {
        self.values
            .iter()
            .find(|v| v.name == name)
            .unwrap_or_else(|| panic!("no {name} of {}", self.case.name))
    }

    pub fn line(&self) -> String {
        let Reference { case, values, method } = self;
        let values: Vec<String> =
            values.iter().map(|v| format!("{}={:.11e}~{:.1e}", v.name, v.value, v.error)).collect();
        let (name, words) = (&case.name, &case.words);
        let (prior, data) = (prior_text(&case.prior), case.data.text());
        format!("{name} | {words} | {prior} | {data} | {} | {method}", values.join(" "))
    }
}

fn parse_prior(text: &str) -> Mixture {
    let repeated = |word: &str| match word.split_once('^') {
        Some((v, times)) => vec![v.parse::<f64>().unwrap(); times.parse().unwrap()],
        None => vec![word.parse().unwrap()],
    };
    let numbers = |text: &str| text.split(' ').flat_map(repeated).collect::<Vec<f64>>();
    let part = |text: &str| {
        let (weight, alpha) = text.split_once(" x ").unwrap();
        (weight.parse::<f64>().unwrap(), numbers(alpha))
    };
    let (weights, parts) = text.split(" + ").map(part).unzip();
    Mixture { weights, parts }
}

fn prior_text(prior: &Mixture) -> String {
    let run =
        |run: &[f64]| if run.len() == 1 { run[0].to_string() } else { format!("{}^{}", run[0], run.len()) };
    let join = |alpha: &Vec<f64>| alpha.chunk_by(|l, r| l == r).map(run).collect::<Vec<_>>().join(" ");
    let part = |(w, alpha): (&f64, &Vec<f64>)| format!("{w} x {}", join(alpha));
    prior.weights.iter().zip(&prior.parts).map(part).collect::<Vec<_>>().join(" + ")
}

impl Data {
    fn parse(text: &str) -> Self {
        if let Some(n) = text.strip_prefix("n=") {
            return Data::Users(n.parse().unwrap());
        }
        let count = |word: &str| {
            let (row, count) = word.split_once(':').unwrap();
            (row.parse().unwrap(), count.parse().unwrap())
        };
        Data::Counts(text.split(' ').map(count).collect())
    }

    fn text(&self) -> String {
        match self {
            Data::Users(n) => format!("n={n}"),
            Data::Counts(counts) => {
                counts.iter().map(|(row, count)| format!("{row}:{count}")).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

impl Case {
    /// The index of a random case.
    pub fn number(&self) -> Option<usize> {
        let rest =
            self.name.strip_prefix("random information ").or(self.name.strip_prefix("random posterior "))?;
        rest.split(',').next()?.parse().ok()
    }

    pub fn protocol(&self) -> Protocol {
        parse_protocol(&mut self.words.split(' '))
    }

    pub fn library_prior(&self) -> Prior {
        let mut parts: Vec<Dirichlet> =
            self.prior.parts.iter().map(|alpha| Dirichlet::new(alpha.clone()).unwrap()).collect();
        if parts.len() == 1 {
            return Prior::Dirichlet(parts.remove(0));
        }
        Prior::DirichletMixture(DirichletMixture::new(self.prior.weights.clone(), parts).unwrap())
    }

    /// How reports are generated: by the protocol's matrix, or by its bits where the matrix would be large.
    pub fn source(&self) -> Source {
        let words: Vec<&str> = self.words.split(' ').collect();
        let number = |i: usize| words[i].parse::<f64>().unwrap();
        let a = if words[0] == "matrix" { 0.0 } else { number(1) };
        let bits = match words[0] {
            "oue" => Some((0.5, 1.0 / (number(2).exp() + 1.0))),
            "rappor" => Some((1.0 / ((-0.5 * number(2)).exp() + 1.0), 1.0 / ((0.5 * number(2)).exp() + 1.0))),
            "lh" => Some((1.0 / (1.0 + (number(2) - 1.0) * (-number(3)).exp()), 1.0 / number(2))),
            _ => None,
        };
        match bits.filter(|_| a > 7.0 || words[0] == "lh") {
            Some((kappa, lambda)) => Source::Bits { a: a as usize, kappa, lambda },
            None => Source::Rows(self.rows()),
        }
    }

    /// The protocol's matrix.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        self.protocol().to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect()
    }

    /// Counts of the rows of the protocol's matrix, for `n` users with distribution `e^{ln_p}`.
    pub fn simulated(&self, ln_p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Data {
        let p = exp(ln_p);
        let shares: Vec<f64> = self.rows().iter().map(|row| mean(row, &p)).collect();
        let counts = multinomial(n, &shares, rng).into_iter().enumerate();
        Data::Counts(counts.filter(|(_, count)| *count > 0).collect())
    }

    /// The counted reports with their likelihoods.
    pub fn reports(&self) -> Reports {
        let Data::Counts(counts) = &self.data else { panic!("{} has no reports", self.name) };
        let protocol = self.protocol();
        let row = |row: usize| {
            let mut values = vec![0.0; protocol.inputs()];
            protocol.row_into(row, &mut values).unwrap();
            values
        };
        Reports::new(counts.iter().map(|(y, count)| (row(*y), *count)).collect())
    }

    pub fn tallies(&self) -> Tallies {
        let Data::Counts(counts) = &self.data else { panic!("{} has no reports", self.name) };
        let protocol = self.protocol();
        Tallies::new(&protocol, counts.iter().map(|(y, count)| (protocol.output(*y), *count))).unwrap()
    }
}

/// Reads a protocol in prefix notation.
fn parse_protocol(words: &mut dyn Iterator<Item = &str>) -> Protocol {
    fn next<T: std::str::FromStr>(words: &mut dyn Iterator<Item = &str>) -> T {
        words.next().unwrap().parse().ok().unwrap()
    }
    let kind = words.next().unwrap();
    let a: usize = next(words);
    match kind {
        "grr" => Protocol::grr(a, next(words)),
        "rappor" => Protocol::rappor(a, next(words)),
        "oue" => Protocol::oue(a, next(words)),
        "lh" => Protocol::lh(a, next(words), next(words)),
        "subset" => Protocol::subset(a, next(words), next(words)),
        "erasure" => Protocol::erasure(a, next(words)),
        "deterministic" => Protocol::deterministic((0..a).map(|_| next(words)).collect()),
        "matrix" => {
            let columns: usize = next(words);
            Protocol::matrix((0..a).map(|_| (0..columns).map(|_| next(words)).collect()).collect())
        }
        "composition" => Protocol::composition((0..a).map(|_| parse_protocol(words)).collect()),
        "product" => Protocol::product((0..a).map(|_| parse_protocol(words)).collect()),
        "mixture" => {
            let weights = (0..a).map(|_| next(words)).collect();
            Protocol::mixture(weights, (0..a).map(|_| parse_protocol(words)).collect())
        }
        other => panic!("{other} is no protocol"),
    }
    .unwrap()
}
