//! The OpenAPI document: the parameters of each extractor and the schema of each answer, stated
//! once for its type, so that the document follows from the handlers and cannot drift from them.

use aide::generate::GenContext;
use aide::openapi::{
    Header, HeaderStyle, MediaType, OpenApi, Operation, Parameter, ParameterData,
    ParameterSchemaOrContent, PathStyle, ReferenceOr, RequestBody, Response, SchemaObject,
    SecurityScheme,
};
use aide::operation::{ParamLocation, add_parameters, parameters_from_schema, set_body};
use aide::transform::TransformOpenApi;
use aide::{OperationInput, OperationOutput};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use bytes::Bytes;
use common::{ExternalId, Failure, List, Success, Validate};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::error::Error;
use crate::http::answer::{Data, Streamed};
use crate::http::credentials::{Admin, Caller, Reader, Validator};
use crate::http::extract::{ExternalIdParam, Id, Json, Limit, Query, Sequence};
use crate::http::idempotency::Idempotency;
use crate::http::newest_first::NewestFirst;
use crate::ops::outcome::{Changed, Created, Upserted};
use crate::validation::ValidationRequest;

type Responses = Vec<(Option<u16>, Response)>;

/// The document as JSON. The router is cloned for every connection, so what its handlers hold must
/// be as cheap to clone as this.
pub fn text(document: &OpenApi) -> Bytes {
    serde_json::to_vec(document).unwrap_or_default().into()
}

pub fn serve(text: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text)
}

/// The part before the operations.
pub fn preface(document: TransformOpenApi<'_>) -> TransformOpenApi<'_> {
    let key = SecurityScheme::Http {
        scheme: "bearer".into(),
        bearer_format: Some("sk_live_… or sk_test_…".into()),
        description: Some("An API key.".into()),
        extensions: Default::default(),
    };
    document
        .title("licd")
        .version(env!("CARGO_PKG_VERSION"))
        .summary("The licensing service")
        .description(
            "Every answer is an envelope: `success` with `data`, or `success: false` with `error`. \
             A user who is not licensed is a success with `valid: false`.",
        )
        .security_scheme("key", key)
        .security_requirement("key")
}

/// Answers carry all of their members, null included; only a failure leaves some out. The generator
/// has one schema for a type, read or written, and cannot know this.
pub fn complete(document: &mut OpenApi) {
    let bodies = ["Create", "Update", "Assign", "Set", "Validate", "Explain", "Failure"];
    let schemas = document.components.iter_mut().flat_map(|components| &mut components.schemas);
    for (name, schema) in schemas {
        let is_body = bodies.iter().any(|body| name.starts_with(body));
        let is_answer = !is_body || name == "Explanation" || name.starts_with("Created");
        if let Some(members) = schema.json_schema.get("properties").and_then(Value::as_object)
            && is_answer
        {
            let names: Vec<String> = members.keys().cloned().collect();
            schema.json_schema.insert("required".into(), json!(names));
        }
    }
}

fn response<T: JsonSchema>(ctx: &mut GenContext, description: &str) -> Response {
    let json_schema = ctx.schema.subschema_for::<T>();
    let schema = SchemaObject { json_schema, external_docs: None, example: None };
    let media = MediaType { schema: Some(schema), ..MediaType::default() };
    Response {
        description: description.into(),
        content: [("application/json".into(), media)].into_iter().collect(),
        ..Response::default()
    }
}

fn failures(ctx: &mut GenContext, statuses: &[(u16, &str)]) -> Responses {
    let failure = |&(status, why): &(u16, &str)| {
        let mut failure = response::<Failure>(ctx, why);
        if matches!(status, 429 | 503) {
            failure.headers.insert("Retry-After".into(), ReferenceOr::Item(retry_after()));
        }
        (Some(status), failure)
    };
    statuses.iter().map(failure).collect()
}

fn retry_after() -> Header {
    let json_schema = schemars::json_schema!({ "type": "integer", "minimum": 1 });
    let schema = SchemaObject { json_schema, external_docs: None, example: None };
    Header {
        description: Some("Whole seconds to wait, as `retryAfter`.".into()),
        style: HeaderStyle::Simple,
        required: true,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema),
        example: None,
        examples: Default::default(),
        extensions: Default::default(),
    }
}

macro_rules! callers {
    ($($name:ident: $statuses:expr;)*) => {$(
        impl OperationInput for $name {
            fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
                failures(ctx, $statuses)
            }
        }
    )*};
}

const NO_KEY: (u16, &str) = (401, "The key is missing, unknown, expired or revoked");
const NOT_ALLOWED: (u16, &str) = (403, "The key's role does not permit this");
const TOO_OFTEN: (u16, &str) = (429, "The key has exceeded its rate; wait `retryAfter` seconds");

callers! {
    Caller: &[NO_KEY, TOO_OFTEN];
    Admin: &[NO_KEY, NOT_ALLOWED, TOO_OFTEN];
    Reader: &[NO_KEY, NOT_ALLOWED, TOO_OFTEN];
    Validator: &[NO_KEY, NOT_ALLOWED, TOO_OFTEN];
}

impl<T: JsonSchema> OperationInput for Json<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let content = response::<T>(ctx, "").content;
        set_body(ctx, operation, RequestBody { content, required: true, ..RequestBody::default() });
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
        body_failures(ctx, "The body is larger than 1 MiB")
    }
}

fn body_failures(ctx: &mut GenContext, too_large: &str) -> Responses {
    let statuses = [
        (400, "The body is invalid; `field` names the member at fault"),
        (408, "The body took too long to arrive"),
        (413, too_large),
        (415, "The body is not JSON in UTF-8, or it is compressed"),
    ];
    failures(ctx, &statuses)
}

/// The permission, and the body.
impl OperationInput for ValidationRequest {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Json::<Validate>::operation_input(ctx, operation);
    }

    fn inferred_early_responses(ctx: &mut GenContext, operation: &mut Operation) -> Responses {
        let mut responses = Validator::inferred_early_responses(ctx, operation);
        responses.extend(body_failures(ctx, "The body is larger than 16 KiB"));
        responses
    }
}

impl OperationInput for Idempotency {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let mut schema = SchemaGenerator::default().subschema_for::<ExternalId>();
        schema.insert(
            "description".into(),
            json!("A request that is sent again with the same key has no second effect and gets the first answer."),
        );
        let parameter_data = parameter(schema, "Idempotency-Key", false);
        let header = Parameter::Header { parameter_data, style: HeaderStyle::Simple };
        add_parameters(ctx, operation, [header]);
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
        let statuses = [
            (400, "The request is invalid; `field` names the member, parameter or header at fault"),
            (
                409,
                "The request conflicts with the current state, or a request with this Idempotency-Key is still in progress",
            ),
            (422, "Another request used this Idempotency-Key before"),
        ];
        failures(ctx, &statuses)
    }
}

impl<T: JsonSchema> OperationInput for Query<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = ctx.schema.subschema_for::<T>();
        let parameters = parameters_from_schema(ctx, schema, ParamLocation::Query);
        add_parameters(ctx, operation, parameters);
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
        failures(ctx, &[(400, "The query is invalid; `field` names the parameter at fault")])
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
        schemars::json_schema!({
            "description": "The greatest number of records; absent: all.",
            "type": "integer",
            "minimum": 1,
            "maximum": Self::MAX,
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
        schemars::json_schema!({ "type": "integer", "format": "int64", "minimum": 0 })
    }
}

impl<T: JsonSchema> OperationInput for Id<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        path_parameter::<T>(ctx, operation, "id");
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
        failures(ctx, &[(404, "The id is unknown to this key's tenant and mode")])
    }
}

impl OperationInput for ExternalIdParam {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        path_parameter::<ExternalId>(ctx, operation, "userId");
    }
}

fn path_parameter<T: JsonSchema>(ctx: &mut GenContext, operation: &mut Operation, name: &str) {
    let parameter_data = parameter(ctx.schema.subschema_for::<T>(), name, true);
    let path = Parameter::Path { parameter_data, style: PathStyle::Simple };
    add_parameters(ctx, operation, [path]);
}

fn parameter(json_schema: Schema, name: &str, required: bool) -> ParameterData {
    let schema = SchemaObject { json_schema, external_docs: None, example: None };
    ParameterData {
        name: name.into(),
        description: None,
        required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema),
        example: None,
        examples: Default::default(),
        explode: None,
        extensions: Default::default(),
    }
}

macro_rules! answers {
    ($($name:ident<T> as $envelope:ty: $($status:literal $why:literal),+;)*) => {$(
        impl<T: JsonSchema> OperationOutput for $name<T> {
            type Inner = T;

            fn inferred_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
                vec![$((Some($status), response::<$envelope>(ctx, $why))),+]
            }
        }
    )*};
}

answers! {
    Data<T> as Success<T>: 200 "OK";
    Changed<T> as Success<T>: 200 "OK";
    Created<T> as Success<T>: 201 "Created";
    Upserted<T> as Success<T>: 201 "Created", 200 "The record existed before";
    Streamed<T> as T: 200 "The whole list or a page, oldest first";
    NewestFirst<T> as List<T>: 200 "A page, newest first";
}

impl OperationOutput for Error {
    type Inner = Failure;

    fn inferred_responses(ctx: &mut GenContext, _: &mut Operation) -> Responses {
        let statuses = [
            (500, "The service failed"),
            (
                503,
                "The service is overloaded, or its database does not answer; wait `Retry-After` seconds",
            ),
        ];
        failures(ctx, &statuses)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_in_the_repository_is_the_one_that_is_served() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
        let stored = std::fs::read_to_string(path).unwrap();
        let served = serde_json::to_string_pretty(&crate::routes::document()).unwrap() + "\n";
        assert!(
            stored == served,
            "it changed: cargo run --bin licd -- openapi > docs/openapi.json, and look at the diff"
        );
    }
}
