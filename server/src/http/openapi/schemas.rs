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
///
/// Null means what absence means, and is not offered: generated clients would tell the two apart.
pub fn of_request<T: JsonSchema>(ctx: &mut GenContext) -> Schema {
    let mut settings = settings().for_deserialize();
    settings.transforms.push(Box::new(RecursiveTransform(without_null)));
    let mut generator = settings.into_generator();
    let schema = generator.subschema_for::<T>();
    for (name, part) in generator.take_definitions(true) {
        ctx.schema.definitions_mut().entry(name).or_insert(part);
    }
    schema
}

/// A member or parameter is given or absent.
pub fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.ensure_object().get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(variants)) = schema.remove("anyOf")
        && let Some(Value::Object(first)) = variants.into_iter().next()
    {
        schema.ensure_object().extend(first);
    }
}

pub fn object(json_schema: Schema) -> SchemaObject {
    SchemaObject { json_schema, external_docs: None, example: None }
}
