//! The ceiling: an axum handler that parses the same request into the same type and writes the same
//! answer, and does nothing in between. Nothing that speaks HTTP and JSON this way can be faster.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use common::{Success, Validate, Validation};
use tokio::net::TcpListener;

/// As long as what licd answers for a user of the benchmark.
const ANSWER: &str = r#"{"success":true,"data":{"valid":true,"license":{
    "id":"lic_01h455vb4pex5vsknk084sn02q","productId":"prd_01h455vb4pex5vsknk084sn02q",
    "planId":"pln_01h455vb4pex5vsknk084sn02q","status":"active","maxSeats":200,"expiresAt":null,
    "features":["reports","export","single-sign-on"],
    "createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"},
    "activation":{"id":"act_01h455vb4pex5vsknk084sn02q","userId":"usr_01h455vb4pex5vsknk084sn02q",
    "licenseId":"lic_01h455vb4pex5vsknk084sn02q","activatedAt":"2026-01-01T00:00:00.000Z",
    "lastCheckedAt":"2026-01-01T00:00:00.000Z"},
    "features":["reports","export","single-sign-on"]}}"#;

pub async fn serve(listen: SocketAddr) -> anyhow::Result<()> {
    let answer: Success<Validation> = serde_json::from_str(ANSWER).context("the sample answer")?;
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
