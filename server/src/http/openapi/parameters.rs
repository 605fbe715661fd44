//! Descriptions of extractors: parameters, bodies and keys, with the refusals of each.

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::{
    HeaderStyle, MediaType, Operation, Parameter, ParameterData, ParameterSchemaOrContent,
    PathStyle, QueryStyle, ReferenceOr, RequestBody,
};
use aide::operation::{add_parameters, set_body};
use common::{ExternalId, Validate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::refusals::{Refusal, refuse};
use super::schemas;
use crate::http::credentials::{Admin, Caller, ReadCaller, Reader, Validator};
use crate::http::extract::{
    ExternalIdParam, Id, Json, JsonAndQuery, Lenient, Limit, NoQuery, OptionalJson, Query, Sequence,
};
use crate::http::idempotency::{Idempotency, MAX_LENGTH};
use crate::http::if_match::IfMatch;
use crate::http::writer::Writer;
use crate::validation::ValidationRequest;

/// The name of the security scheme.
pub const KEY: &str = "key";

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

macro_rules! callers {
    ($($name:ident: $refusals:expr;)*) => {$(
        impl OperationInput for $name {
            fn operation_input(_: &mut GenContext, operation: &mut Operation) {
                operation.security = vec![[(KEY.to_owned(), Vec::new())].into_iter().collect()];
                refuse(operation, $refusals);
            }
        }
    )*};
}

callers! {
    Caller: &[Refusal::Unauthorized, Refusal::RateLimited];
    Admin: &[Refusal::Unauthorized, Refusal::Forbidden, Refusal::RateLimited];
    Reader: &[Refusal::Unauthorized, Refusal::Forbidden, Refusal::RateLimited];
    ReadCaller: &[Refusal::Unauthorized, Refusal::Forbidden, Refusal::RateLimited];
    Validator: &[Refusal::Unauthorized, Refusal::Forbidden, Refusal::RateLimited];
}

impl<T: JsonSchema + DeserializeOwned> OperationInput for Json<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        body::<T>(ctx, operation, Refusal::BodyTooLarge);
    }
}

impl<T, Q> OperationInput for JsonAndQuery<T, Q>
where
    T: JsonSchema + DeserializeOwned,
    Q: JsonSchema,
{
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Query::<Q>::operation_input(ctx, operation);
        Json::<T>::operation_input(ctx, operation);
    }
}

impl<T: JsonSchema + DeserializeOwned> OperationInput for OptionalJson<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Json::<T>::operation_input(ctx, operation);
        if let Some(ReferenceOr::Item(body)) = &mut operation.request_body {
            body.required = false;
        }
    }
}

impl<T: JsonSchema + DeserializeOwned> OperationInput for Lenient<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        body::<T>(ctx, operation, Refusal::ValidationTooLarge);
    }
}

/// The permission, and the body.
impl OperationInput for ValidationRequest {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Validator::operation_input(ctx, operation);
        body::<Validate>(ctx, operation, Refusal::ValidationTooLarge);
    }
}

fn body<T: JsonSchema>(ctx: &mut GenContext, operation: &mut Operation, too_large: Refusal) {
    let schema = Some(schemas::object(schemas::of_request::<T>(ctx)));
    let media = MediaType { schema, ..MediaType::default() };
    let content = [("application/json".to_owned(), media)].into_iter().collect();
    set_body(ctx, operation, RequestBody { content, required: true, ..RequestBody::default() });
    let unreadable = [Refusal::RequestTimeout, too_large, Refusal::UnsupportedMediaType];
    refuse(operation, &[Refusal::InvalidBody]);
    refuse(operation, &unreadable);
}

impl OperationInput for Writer {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Admin::operation_input(ctx, operation);
        Idempotency::operation_input(ctx, operation);
    }
}

impl OperationInput for Idempotency {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_LENGTH,
            "pattern": "^[!-~]*$",
            "examples": ["6f4f5bd2-64b1-4d3c-9c4c-0a0f6f1c2f6e"],
        });
        let description = "A unique name for this change, such as a new UUID: if the request is \
                           repeated with the same key, it has no second effect and gets the \
                           first response.";
        let parameter_data = parameter(IDEMPOTENCY_KEY, description, false, schema);
        let header = Parameter::Header { parameter_data, style: HeaderStyle::Simple };
        add_parameters(ctx, operation, [header]);
        let refusals = [Refusal::InvalidRequest, Refusal::Conflict, Refusal::IdempotencyKeyReused];
        refuse(operation, &refusals);
    }
}

impl OperationInput for IfMatch {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = json_schema!({
            "type": "string",
            "pattern":
                r#"^([ \t]*\*[ \t]*|[ \t,]*(W/)?"[!#-~]*"([ \t]*,[ \t,]*(W/)?"[!#-~]*")*[ \t,]*)$"#,
            "examples": [r#""1801483200000""#],
        });
        let description = "The `ETag` of the record as it was read: if it has changed since, nothing \
                           is done, and the response is a 409 with the code `changed`. Absent or \
                           `*`: the record may be in any state.";
        let parameter_data = parameter("If-Match", description, false, schema);
        let header = Parameter::Header { parameter_data, style: HeaderStyle::Simple };
        add_parameters(ctx, operation, [header]);
        refuse(operation, &[Refusal::InvalidRequest, Refusal::Conflict]);
    }
}

/// Whether the operation takes an `Idempotency-Key`, as those that change something do.
pub fn has_idempotency_key(operation: &Operation) -> bool {
    let mut parameters = operation.parameters.iter().filter_map(|parameter| parameter.as_item());
    parameters.any(|parameter| parameter.parameter_data_ref().name == IDEMPOTENCY_KEY)
}

impl<T: JsonSchema> OperationInput for Query<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let mut query = schemas::of_request::<T>(ctx);
        let required = query.remove("required").unwrap_or_default();
        let Some(Value::Object(members)) = query.remove("properties") else { return };
        for (name, schema) in members {
            let Value::Object(schema) = schema else { continue };
            let mut schema = Schema::from(schema);
            schemas::without_null(&mut schema);
            schemas::tidy(&mut schema);
            let description = schema.remove("description").unwrap_or_default();
            let is_required =
                required.as_array().is_some_and(|names| names.contains(&name.as_str().into()));
            let description = description.as_str().unwrap_or_default();
            let parameter_data = parameter(&name, description, is_required, schema);
            let style = QueryStyle::Form;
            let query = Parameter::Query {
                parameter_data,
                allow_reserved: false,
                style,
                allow_empty_value: None,
            };
            add_parameters(ctx, operation, [query]);
        }
        refuse(operation, &[Refusal::InvalidQuery]);
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Maximum number of records. All if absent.",
            "type": "integer",
            "format": "int32",
            "minimum": 1,
            "maximum": Self::MAX,
            "examples": [100],
        })
    }
}

impl JsonSchema for Sequence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sequence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "format": "int64", "minimum": 0, "examples": [1041] })
    }
}

impl<T: JsonSchema> OperationInput for Id<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let name = T::schema_name();
        let record = name.trim_end_matches("Id").to_lowercase();
        path_parameter::<T>(ctx, operation, "id", &format!("The id of the {record}."));
        refuse(operation, &[Refusal::NotFound]);
    }
}

impl OperationInput for NoQuery {
    fn operation_input(_: &mut GenContext, operation: &mut Operation) {
        refuse(operation, &[Refusal::InvalidQuery]);
    }
}

impl OperationInput for ExternalIdParam {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let description = "The caller's own identifier of the user, percent-encoded. `.` and `..` \
                           cannot be part of a path.";
        path_parameter::<ExternalId>(ctx, operation, "userId", description);
    }
}

fn path_parameter<T: JsonSchema>(
    ctx: &mut GenContext,
    operation: &mut Operation,
    name: &str,
    description: &str,
) {
    let parameter_data = parameter(name, description, true, schemas::of_request::<T>(ctx));
    let path = Parameter::Path { parameter_data, style: PathStyle::Simple };
    add_parameters(ctx, operation, [path]);
}

fn parameter(name: &str, description: &str, required: bool, schema: Schema) -> ParameterData {
    ParameterData {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schemas::object(schema)),
        example: None,
        examples: Default::default(),
        explode: None,
        extensions: Default::default(),
    }
}
