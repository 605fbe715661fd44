//! The bare handler: axum, which parses the same request into the same type and serializes the same
//! answer, and does nothing in between. It is what HTTP and JSON cost by themselves.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use common::{Success, Validate, Validation};
use tokio::net::TcpListener;

/// Serves the answer that lies in a file.
pub async fn serve(listen: SocketAddr, answer: &Path) -> anyhow::Result<()> {
    let bytes = std::fs::read(answer)?;
    let answer: Success<Validation> = serde_json::from_slice(&bytes).context("the answer")?;
    ensure!(serde_json::to_vec(&answer)? == bytes, "the answer does not serialize to itself");
    let router =
        Router::new().route("/api/v1/validate", post(validate)).with_state(Arc::new(answer));
    Ok(axum::serve(TcpListener::bind(listen).await?, router).await?)
}

async fn validate(State(answer): State<Arc<Success<Validation>>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Validate>(&body) {
        Ok(_) => json(&answer),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

/// An answer in JSON, as licd writes it.
pub fn json(answer: &Success<Validation>) -> Response {
    let json = serde_json::to_vec(answer).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], Body::from(json)).into_response()
}
