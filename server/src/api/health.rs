//! Whether the process is up, and whether it can serve. Requires no key and has no rate limit.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::http::App;
use crate::http::answer::Data;
use crate::http::extract::Query;

/// The state of a healthy node.
#[derive(Serialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a node that is not healthy returns an error.
    status: &'static str,
}

const OK: Health = Health { status: "ok" };

pub async fn healthz() -> Data<Health> {
    Data(OK)
}

/// The query of the readiness check.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ReadinessQuery {
    /// `writes`: the node must also be able to write.
    #[schemars(with = "Purpose")]
    #[serde(default)]
    r#for: Option<Purpose>,
}

/// The ability that a node is asked for.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
enum Purpose {
    Writes,
}

/// The state of a ready node.
#[derive(Serialize, JsonSchema)]
pub struct Readiness {
    /// Always `ok`: a node that is not ready returns an error.
    status: &'static str,
    /// Whether the node can write. While it cannot, it validates users who hold their seats, and
    /// refuses every change with 503.
    writes: bool,
}

/// Whether the node can validate users, and write if required.
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

/// Abilities of a node at the moment.
pub struct Abilities {
    pub validates: bool,
    pub writes: bool,
}

pub async fn check(app: &App) -> Abilities {
    let (reads, writes) =
        tokio::join!(app.readiness.reads.check(&app.db), app.readiness.writes.check(&app.db));
    Abilities { validates: reads, writes }
}
