//! Whether the process is up, and whether it can serve. No key, no limit.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::error::Error;
use crate::http::answer::Data;
use crate::http::extract::Query;
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

/// The query of the readiness.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ReadinessQuery {
    /// `writes`: ready is only a node that can write as well.
    #[schemars(with = "Purpose")]
    #[serde(default)]
    r#for: Option<Purpose>,
}

/// What a node is to be ready for.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
enum Purpose {
    Writes,
}

/// The state of a node that is ready.
#[derive(Serialize, JsonSchema)]
pub struct Readiness {
    /// Always `ok`: a node that is not ready answers an error.
    status: &'static str,
    /// Whether the node can write. While it cannot, it validates users who hold their seats, and
    /// answers everything that changes something with 503.
    writes: bool,
}

impl Example for Readiness {
    fn example() -> Self {
        Self { status: OK.status, writes: true }
    }
}

/// The node can answer validations, and write if that is asked for.
pub async fn readyz(
    State(app): State<App>,
    Query(query): Query<ReadinessQuery>,
) -> Result<Data<Readiness>, Error> {
    let Abilities { validates, writes } = check(&app).await;
    let is_ready = match query.r#for {
        None => validates,
        Some(Purpose::Writes) => validates && writes,
    };
    if is_ready {
        Ok(Data(Readiness { status: OK.status, writes }))
    } else {
        Err(Error::Unavailable)
    }
}

/// What a node can do at the moment.
pub struct Abilities {
    pub validates: bool,
    pub writes: bool,
}

pub async fn check(app: &App) -> Abilities {
    let (reads, writes) =
        tokio::join!(app.readiness.reads.check(&app.db), app.readiness.writes.check(&app.db));
    Abilities { validates: reads, writes }
}
