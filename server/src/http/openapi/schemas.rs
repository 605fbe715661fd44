//! Schemas of types: as read from requests, or as written to responses. Members that may be null
//! can be left out of a request, but are always part of a response.

use aide::generate::{GenContext, in_context};
use aide::openapi::SchemaObject;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Makes aide describe responses, in the dialect of OpenAPI 3.1.
pub fn configure_generator() {
    in_context(|ctx| ctx.schema = settings().for_serialize().into_generator());
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(tidy)));
    })
}

/// Joins the lines of a comment, and removes the default of missing members.
pub fn tidy(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.ensure_object().get_mut("description") {
        *text = text.replace("\n ", " ");
    }
    schema.remove("default");
}

/// The schema of a type in responses.
pub fn of_answer<T: JsonSchema>(ctx: &mut GenContext) -> Schema {
    ctx.schema.subschema_for::<T>()
}

/// The schema of a type in requests. The document has one schema for each name, so a type with
/// members that may be null is used either in requests or in responses, never in both.
///
/// Null has the same meaning as absence and is not offered, since generated clients would
/// distinguish the two.
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

/// A member or parameter is given or absent, never null.
pub fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.ensure_object().get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(words)) = schema.ensure_object().get_mut("enum") {
        words.retain(|word| !word.is_null());
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
