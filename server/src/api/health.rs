//! Whether the process is up, and whether it can serve. No key, no limit.

use axum::extract::State;
use serde_json::{Value, json};

use crate::App;
use crate::answer::Data;
use crate::error::Error;
use crate::store::tenants;

/// The process is up.
pub async fn healthz() -> Data<Value> {
    Data(json!({ "status": "ok" }))
}

/// The database answers. Its schema fits, or the service would not have started.
pub async fn readyz(State(app): State<App>) -> Result<Data<Value>, Error> {
    tenants::any(&mut app.db.read().await?).await?;
    Ok(Data(json!({ "status": "ok" })))
}
