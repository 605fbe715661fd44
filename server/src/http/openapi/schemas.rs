//! Schemas of types: as they are read from requests, or as they are written into answers. A member
//! that may be null can be left out of a request, and is never left out of an answer.

use aide::generate::{GenContext, in_context};
use aide::openapi::SchemaObject;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Makes aide describe answers, in the dialect of OpenAPI 3.1.
pub fn begin() {
    in_context(|ctx| ctx.schema = settings().for_serialize().into_generator());
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(tidy)));
    })
}

/// Joins the lines of a comment, and drops what a missing member would be read as.
pub fn tidy(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.ensure_object().get_mut("description") {
        *text = text.replace("\n ", " ");
    }
    schema.remove("default");
}

/// What is written into answers.
pub fn of_answer<T: JsonSchema>(ctx: &mut GenContext) -> Schema {
    ctx.schema.subschema_for::<T>()
}

/// What is read from requests. The document has one schema of each name, so a type with members
/// that may be null is for requests or for answers and never for both.
pub fn of_request<T: JsonSchema>(ctx: &mut GenContext) -> Schema {
    let mut generator = settings().for_deserialize().into_generator();
    let schema = generator.subschema_for::<T>();
    for (name, part) in generator.take_definitions(true) {
        ctx.schema.definitions_mut().entry(name).or_insert(part);
    }
    schema
}

pub fn object(json_schema: Schema) -> SchemaObject {
    SchemaObject { json_schema, external_docs: None, example: None }
}
