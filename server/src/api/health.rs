//! Whether the process is up, and whether it can serve. No key, no limit.

use axum::extract::State;
use axum::http::StatusCode;

use crate::App;
use crate::error::Error;
use crate::store::tenants;

/// The process is up.
pub async fn healthz() -> StatusCode {
    StatusCode::OK
}

/// The database answers, and its schema fits: it was brought up to date before the service started.
pub async fn readyz(State(app): State<App>) -> Result<StatusCode, Error> {
    tenants::any(&mut app.db.read().await?).await?;
    Ok(StatusCode::OK)
}
