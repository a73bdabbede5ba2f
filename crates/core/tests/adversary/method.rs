//! Which independent method is used for which case, and with what effort.

use super::reference::{Case, Data, Reference, Value};
use super::{importance, particle_filter, quadrature, tempering};

/// A method with its effort.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    Filter { particles: usize, period: usize, draws: u64 },
    Tempering { particles: usize, steps: usize, sweeps: usize, draws: u64 },
    Importance { draws: u64, inner: usize },
    Quadrature,
}

/// The seed of all reference values.
const SEED: u64 = 1;

impl Method {
    pub fn answer(self, case: &Case) -> Reference {
        let (values, found) = match case.data {
            Data::Users(n) => self.information(case, n),
            Data::Counts(_) => (self.posterior(case), String::new()),
        };
        Reference { case: case.clone(), values, method: format!("{}{found}", self.text()) }
    }

    fn information(self, case: &Case, n: u64) -> (Vec<Value>, String) {
        let (source, prior) = (case.source(), &case.prior);
        let found = match self {
            Method::Filter { particles, period, draws } => {
                let effort = particle_filter::Effort { particles, period, draws, seed: SEED };
                particle_filter::distribution_information(&source, prior, n, effort)
            }
            Method::Tempering { particles, steps, sweeps, draws } => {
                let effort = tempering::Effort { particles, steps, sweeps, draws, seed: SEED };
                tempering::distribution_information(&source, prior, n, effort)
            }
            Method::Importance { draws, inner } => {
                importance::distribution_information(&source, prior, n, (draws, inner), SEED)
            }
            Method::Quadrature => {
                let value = quadrature::distribution_information(&case.rows(), prior, n);
                return (vec![Value::new("i_y_p", value, 1e-8)], String::new());
            }
        };
        let between = format!(", between {:.4} and {:.4}", found.low, found.high);
        let between = if found.low == found.high { String::new() } else { between };
        (vec![Value::new("i_y_p", found.value, found.error)], between)
    }

    fn posterior(self, case: &Case) -> Vec<Value> {
        let (reports, prior) = (case.reports(), &case.prior);
        match self {
            Method::Tempering { particles, steps, sweeps, draws } => {
                let effort = tempering::Effort { particles, steps, sweeps, draws, seed: SEED };
                tempering::posterior(&reports, prior, effort)
            }
            Method::Importance { draws, .. } => importance::posterior(&reports, prior, draws as usize, SEED),
            Method::Quadrature => quadrature::posterior(&reports, prior).values(),
            Method::Filter { .. } => panic!("the filter needs the order of the reports"),
        }
    }

    fn text(self) -> String {
        match self {
            Method::Filter { particles, period, draws } => {
                format!("particle filter: {particles} particles, moves every {period}, {draws} draws")
            }
            Method::Tempering { particles, steps, sweeps, draws } => {
                format!("tempering: {particles} particles, {steps} steps of {sweeps} sweeps, {draws} runs")
            }
            Method::Importance { draws, inner } => format!("importance sampling: {draws} x {inner} draws"),
            Method::Quadrature => "quadrature".to_owned(),
        }
    }
}
