//! Whether the process is up, and whether it can serve. No key, no limit.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::error::Error;
use crate::http::answer::Data;
use crate::http::openapi::examples::Example;

/// The state of a node that is well.
#[derive(Serialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a node that is not well answers an error.
    status: &'static str,
}

const OK: Health = Health { status: "ok" };

impl Example for Health {
    fn example() -> Self {
        OK
    }
}

/// The process is up.
pub async fn healthz() -> Data<Health> {
    Data(OK)
}

/// The node can write to its database and answer validations.
pub async fn readyz(State(app): State<App>) -> Result<Data<Health>, Error> {
    check(&app).await?;
    Ok(Data(OK))
}

/// Fails while the node cannot serve.
pub async fn check(app: &App) -> Result<(), Error> {
    if !app.validations.is_working() {
        return Err(Error::Unavailable);
    }
    app.readiness.check(&app.db).await
}
