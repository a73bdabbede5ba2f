//! Parameters of a protocol that a job may turn: those that are swept over, and those that are solved for.

use super::protocol::{ProtocolKind, ProtocolSpec};

/// A parameter that several kinds of protocol have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `epsilon`, the LDP level.
    Epsilon,
    /// `a`, the number of inputs.
    Inputs,
    /// `reveal`, of erasure.
    Reveal,
}

impl Parameter {
    /// The name in specifications.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Epsilon => "epsilon",
            Parameter::Inputs => "a",
            Parameter::Reveal => "reveal",
        }
    }
}

impl ProtocolSpec {
    /// The parameter that says how much noise there is, if there is one.
    pub fn noise(&self) -> Option<Parameter> {
        [Parameter::Epsilon, Parameter::Reveal].into_iter().find(|p| self.parameter(*p).is_some())
    }

    /// The value of a parameter, if the kind has it.
    pub fn parameter(&self, parameter: Parameter) -> Option<f64> {
        let mut copy = self.clone();
        copy.slot(parameter).map(|slot| match slot {
            Slot::Number(value) => *value,
            Slot::Count(value) => *value as f64,
        })
    }

    /// The same with another value of a parameter, if the kind has it. Names of inputs go when their number changes.
    pub fn with_parameter(&self, parameter: Parameter, value: f64) -> Option<ProtocolSpec> {
        let mut changed = self.clone();
        match changed.slot(parameter)? {
            Slot::Number(slot) => *slot = value,
            Slot::Count(slot) => *slot = value.round().max(0.0) as usize,
        }
        if parameter == Parameter::Inputs {
            changed.labels = None;
        }
        Some(changed)
    }

    fn slot(&mut self, parameter: Parameter) -> Option<Slot<'_>> {
        use ProtocolKind as K;
        match (&mut self.kind, parameter) {
            (
                K::Grr { epsilon, .. }
                | K::Rappor { epsilon, .. }
                | K::Oue { epsilon, .. }
                | K::Blh { epsilon, .. }
                | K::Lh { epsilon, .. }
                | K::Subset { epsilon, .. }
                | K::Block { epsilon, .. },
                Parameter::Epsilon,
            ) => Some(Slot::Number(epsilon)),
            (K::Erasure { reveal, .. }, Parameter::Reveal) => Some(Slot::Number(reveal)),
            (
                K::Identity { a }
                | K::Grr { a, .. }
                | K::Ue { a, .. }
                | K::Rappor { a, .. }
                | K::Oue { a, .. }
                | K::Blh { a, .. }
                | K::Lh { a, .. }
                | K::Subset { a, .. }
                | K::Block { a, .. }
                | K::Erasure { a, .. },
                Parameter::Inputs,
            ) => Some(Slot::Count(a)),
            _ => None,
        }
    }
}

enum Slot<'a> {
    Number(&'a mut f64),
    Count(&'a mut usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_protocol;

    #[test]
    fn parameters_are_read_and_replaced() {
        let spec = read_protocol("grr:a=3,eps=1,labels=x/y/z").unwrap().spec;
        assert_eq!((spec.parameter(Parameter::Epsilon), spec.noise()), (Some(1.0), Some(Parameter::Epsilon)));
        let wider = spec.with_parameter(Parameter::Inputs, 5.0).unwrap();
        assert_eq!((wider.parameter(Parameter::Inputs), wider.labels), (Some(5.0), None));
        assert_eq!(read_protocol("identity:a=3").unwrap().spec.noise(), None);
        let matrix = read_protocol("matrix:rows=1/0//0/1").unwrap().spec;
        assert_eq!(matrix.with_parameter(Parameter::Inputs, 5.0), None);
    }
}
