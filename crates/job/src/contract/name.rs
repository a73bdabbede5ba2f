//! The names of metrics, methods, estimators and distances: in JSON as texts, in schemas as lists of what is allowed.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use sottovoce::accuracy::Distance;
use sottovoce::estimate::Estimator;
use sottovoce::{Method, Metric};

/// Something that has a name for programs.
pub(crate) trait Named: Copy {
    /// What it is, as the title of its schema.
    const WHAT: &'static str;

    /// Its name.
    fn name(self) -> &'static str;

    /// All names.
    fn names() -> Vec<&'static str>;
}

impl Named for Metric {
    const WHAT: &'static str = "Metric";

    fn name(self) -> &'static str {
        Metric::name(self)
    }

    fn names() -> Vec<&'static str> {
        Metric::all().map(Metric::name).collect()
    }
}

impl Named for Method {
    const WHAT: &'static str = "Method";

    fn name(self) -> &'static str {
        Method::name(self)
    }

    fn names() -> Vec<&'static str> {
        use Method as M;
        let all = [
            M::ClosedForm,
            M::Quadrature,
            M::Enumeration,
            M::Expansion,
            M::Approximation,
            M::MonteCarlo,
            M::Asymptote,
        ];
        all.map(Method::name).into()
    }
}

impl Named for Distance {
    const WHAT: &'static str = "Distance";

    fn name(self) -> &'static str {
        Distance::name(self)
    }

    fn names() -> Vec<&'static str> {
        Distance::ALL.map(Distance::name).into()
    }
}

impl Named for Estimator {
    const WHAT: &'static str = "Estimator";

    fn name(self) -> &'static str {
        Estimator::name(self)
    }

    fn names() -> Vec<&'static str> {
        Estimator::ALL.map(Estimator::name).into()
    }
}

/// Something as its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Name<T>(pub T);

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<T: Named> JsonSchema for Name<T> {
    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": T::names()})
    }
}

/// Serialises a field as its name.
pub(crate) fn by_name<T: Named, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    Name(*value).serialize(serializer)
}

/// A name, or `all`.
pub(crate) struct NameOrAll<T>(PhantomData<T>);

impl<T: Named> JsonSchema for NameOrAll<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrAll", T::WHAT).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = T::names().into_iter().chain(["all"]).collect();
        json_schema!({"type": "string", "enum": names})
    }
}
