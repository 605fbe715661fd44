//! The OpenAPI document. It is generated from the types of the handlers' parameters and responses,
//! each of which is described once: requests in [`parameters`], responses in `answers` and
//! [`refusals`], and types in `schemas`.

mod answers;
mod examples;
mod headers;
mod parameters;
mod refusals;
mod schemas;
mod webhooks;

use aide::generate::in_context;
use aide::openapi::{License, OpenApi, Operation, SecurityScheme, Server};
use aide::transform::TransformOpenApi;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use bytes::Bytes;

pub use examples::describe as add_examples;
pub use refusals::{Refusal, refuse};
pub use schemas::configure_generator;

const DESCRIPTION: &str =
    "Every response is an envelope: `success` with `data`, or `success: false` \
with `error`, a sentence for people, and `code`, for programs. A user who is not licensed is a \
success with `valid: false`.

Clients ignore members that they do not know, and treat an unknown `reason` as not valid: later \
versions may have more. In addition to the responses of each operation, every request may get \
400 if it is not well-formed HTTP/1.1, 404 if its address does not exist, and 431 if its head is \
too large. A request may carry `X-Request-Id`, which its response then repeats.";

/// The document as JSON. The router is cloned for every connection, so whatever its handlers hold
/// must be as cheap to clone as this.
pub fn text(document: &OpenApi) -> Bytes {
    serde_json::to_vec(document).unwrap_or_default().into()
}

pub fn serve(text: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text)
}

/// The part before the operations, and the components that they refer to.
pub fn preface(document: TransformOpenApi<'_>) -> TransformOpenApi<'_> {
    let key = SecurityScheme::Http {
        scheme: "bearer".into(),
        bearer_format: Some("sk_live_… or sk_test_…".into()),
        description: Some("An API key.".into()),
        extensions: Default::default(),
    };
    let license = License {
        name: env!("CARGO_PKG_LICENSE").into(),
        identifier: Some(env!("CARGO_PKG_LICENSE").into()),
        url: None,
        extensions: Default::default(),
    };
    let server = Server {
        url: "http://127.0.0.1:8080".into(),
        description: Some("licd's default address.".into()),
        ..Server::default()
    };
    let mut document = document
        .title("licd")
        .version(env!("CARGO_PKG_VERSION"))
        .summary("The licensing service")
        .description(DESCRIPTION)
        .license(license)
        .server(server)
        .security_scheme(parameters::KEY, key);
    let components = document.inner_mut().components.get_or_insert_default();
    headers::describe(components);
    in_context(|ctx| refusals::describe(ctx, components));
    in_context(|ctx| webhooks::describe(ctx, document.inner_mut()));
    document
}

/// Orders the responses of each operation by their status, and marks the operations that need no
/// key.
pub fn complete(operation: &mut Operation) {
    if let Some(responses) = &mut operation.responses {
        responses.responses.sort_unstable_keys();
    }
    if operation.security.is_empty() {
        operation.security.push(Default::default());
    }
}

#[cfg(test)]
mod tests;
