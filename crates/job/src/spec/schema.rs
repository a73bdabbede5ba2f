//! JSON schemas of the specifications, for editors and other programs.

use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, schema_for};
use serde_json::{Value, json};
use sottovoce::protocol::{MAX_EPSILON, MAX_INPUTS};

use super::{PriorSpec, ProtocolSpec};

/// The JSON schema of a protocol specification.
pub fn protocol_schema() -> Schema {
    let mut schema = schema_for!(ProtocolSpec);
    Ranges.transform(&mut schema);
    schema
}

/// The JSON schema of a prior specification.
pub fn prior_schema() -> Schema {
    schema_for!(PriorSpec)
}

/// Adds the ranges of the parameters, which have the same name and range in all kinds.
pub(crate) struct Ranges;

impl Transform for Ranges {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, property) in properties {
                if let (Value::Object(property), Value::Object(range)) = (property, range(name)) {
                    property.remove("format");
                    property.extend(range);
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

fn range(parameter: &str) -> Value {
    match parameter {
        "a" => json!({"minimum": 2, "maximum": MAX_INPUTS}),
        "g" | "k" => json!({"minimum": 1, "maximum": MAX_INPUTS}),
        "epsilon" => json!({"exclusiveMinimum": 0, "maximum": MAX_EPSILON}),
        "kappa" | "lambda" | "reveal" => json!({"minimum": 0, "maximum": 1}),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_reach_the_fields_of_the_kinds() {
        let schema = serde_json::to_value(protocol_schema()).unwrap();
        let grr = &schema["oneOf"][1]["properties"];
        assert_eq!((&grr["kind"]["const"], &grr["a"]["minimum"]), (&json!("grr"), &json!(2)));
        assert_eq!(grr["epsilon"]["exclusiveMinimum"], json!(0));
    }
}
