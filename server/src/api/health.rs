//! Whether the process is up, and whether it can serve. No key, no limit.

use axum::extract::State;
use serde_json::{Value, json};

use crate::App;
use crate::error::Error;
use crate::http::answer::Data;

/// The process is up.
pub async fn healthz() -> Data<Value> {
    Data(json!({ "status": "ok" }))
}

/// The node can write to its database and answer validations.
pub async fn readyz(State(app): State<App>) -> Result<Data<Value>, Error> {
    if !app.validations.is_working() {
        return Err(Error::Unavailable);
    }
    app.readiness.check(&app.db).await?;
    Ok(Data(json!({ "status": "ok" })))
}
