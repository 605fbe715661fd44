//! The transaction-per-request server: the same work as licd's, and a transaction for each request.
//!
//! The statements are the ordinary ones of a single validation: look up the key, read the user with
//! the licenses, write the time of the check, commit. Authentication, decision, database settings
//! and durability are licd's own. Users already hold their seats; it gives none.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use common::{ApiKey, Reason, Success, Timestamp, Validate, Validation};
use licd::db::{DatabaseUrl, Db, Tx};
use licd::store::Scope;
use licd::store::validations::AssignedLicense;
use licd::validation::verdict::{Decision, decide};
use tokio::net::TcpListener;

use crate::handler::json;
use crate::sql;

type Refused = (StatusCode, String);

pub async fn serve(listen: SocketAddr, database: &str) -> anyhow::Result<()> {
    let db = Db::open(&database.parse::<DatabaseUrl>()?).await?;
    let router = Router::new().route("/api/v1/validate", post(validate)).with_state(db);
    Ok(axum::serve(TcpListener::bind(listen).await?, router).await?)
}

async fn validate(
    State(db): State<Db>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let now = Timestamp::now();
    let key = bearer(&headers).ok_or((StatusCode::UNAUTHORIZED, String::new()))?;
    let request: Validate = serde_json::from_slice(&body)
        .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let failed = |error: sqlx::Error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
    let scope = authenticate(&db, &key, now).await.map_err(failed)?;
    let scope = scope.ok_or((StatusCode::UNAUTHORIZED, String::new()))?;
    let mut tx = db.begin().await.map_err(failed)?;
    let answer = answer(&mut tx, scope, &request, now).await.map_err(failed)?;
    tx.commit().await.map_err(failed)?;
    Ok(json(&Success::new(answer)))
}

fn bearer(headers: &HeaderMap) -> Option<ApiKey> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?.parse().ok()
}

async fn authenticate(db: &Db, key: &ApiKey, now: Timestamp) -> Result<Option<Scope>, sqlx::Error> {
    db.read()
        .await?
        .query(sql::FIND_KEY)
        .bind(licd::auth::gate::hash(key).as_slice())
        .bind(now)
        .fetch_optional()
        .await
}

async fn answer(
    tx: &mut Tx,
    scope: Scope,
    request: &Validate,
    now: Timestamp,
) -> Result<Validation, sqlx::Error> {
    let licenses: Vec<AssignedLicense> =
        tx.query(sql::FIND_LICENSES).bind_scope(scope).bind(&request.user_id).fetch_all().await?;
    let (license, mut seat) = match decide(&licenses, request.product_id, now) {
        Decision::Keep(assigned, seat) => (assigned.license.clone(), seat.clone()),
        Decision::Take(_) | Decision::TakeOver(_) => {
            return Ok(Validation::invalid(Reason::ExceededSeats));
        }
        Decision::Refuse(reason, _) => return Ok(Validation::invalid(reason)),
    };
    seat.last_checked_at = now;
    tx.query(sql::TOUCH)
        .bind_scope(scope)
        .bind(seat.user_id)
        .bind(seat.license_id)
        .bind(now)
        .execute()
        .await?;
    Ok(Validation::valid(license, seat, None))
}
