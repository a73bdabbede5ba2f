//! JSON schemas of requests and reports, made from their types.

use schemars::generate::SchemaSettings;
use schemars::transform::Transform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::spec::Ranges;

/// The schema of a request: its fields, and the key `job` with the name of the job.
pub(crate) fn request_schema<T: JsonSchema>(job: &str) -> Schema {
    let mut schema = SchemaSettings::default().into_generator().into_root_schema_for::<T>();
    Ranges.transform(&mut schema);
    let object = schema.ensure_object();
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.shift_insert(
            0,
            "job".into(),
            json!({"const": job, "description": "The name of the job."}),
        );
    }
    let required = object.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        required.insert(0, json!("job"));
    }
    schema
}

/// The schema of a report.
pub(crate) fn report_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>()
}
