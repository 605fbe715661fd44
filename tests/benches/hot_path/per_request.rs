//! What licd's hot path is better than: the same work with a transaction for each request.
//!
//! Its statements are the ordinary ones of a single validation: look the key up, read the user with
//! the licenses, write what was decided, commit. Authentication, decision, database settings and
//! durability are licd's own.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use common::{Activation, ApiKey, Mode, Success, TenantId, Timestamp, Validate, Validation};
use licd::db::{DatabaseUrl, Db, Tx};
use licd::store::Scope;
use licd::store::validations::AssignedLicense;
use licd::validation::verdict::{Decision, decide};
use tokio::net::TcpListener;

use crate::ceiling::json;

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
    let asked: Validate = serde_json::from_slice(&body)
        .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let failed = |error: sqlx::Error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
    let scope = authenticate(&db, &key, now).await.map_err(failed)?;
    let scope = scope.ok_or((StatusCode::UNAUTHORIZED, String::new()))?;
    let mut tx = db.begin().await.map_err(failed)?;
    let answer = answer(&mut tx, scope, &asked, now).await.map_err(failed)?;
    tx.commit().await.map_err(failed)?;
    Ok(json(&Success::new(answer)))
}

fn bearer(headers: &HeaderMap) -> Option<ApiKey> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?.parse().ok()
}

async fn authenticate(db: &Db, key: &ApiKey, now: Timestamp) -> Result<Option<Scope>, sqlx::Error> {
    let found: Option<(TenantId, Mode)> = db
        .read()
        .await?
        .query(
            "select tenant_id, mode from keys where hash = $1 and revoked_at is null
                 and (expires_at is null or expires_at > $2)",
        )
        .bind(licd::http::credentials::hash(key).as_slice())
        .bind(now)
        .fetch_optional()
        .await?;
    Ok(found.map(|(tenant, mode)| Scope { world: 1.into(), tenant, mode }))
}

async fn answer(
    tx: &mut Tx,
    scope: Scope,
    asked: &Validate,
    now: Timestamp,
) -> Result<Validation, sqlx::Error> {
    let mut links: Vec<AssignedLicense> = tx
        .query(
            "select u.id as user_id, l.id, l.product_id, l.plan_id, l.status, l.max_seats,
                 l.seats_used, l.expires_at, l.features, l.created_at, l.updated_at,
                 a.id as activation_id, a.activated_at, a.last_checked_at
             from users u
             join assignments s on s.tenant_id = u.tenant_id and s.mode = u.mode
                 and s.user_id = u.id
             join licenses l on l.tenant_id = s.tenant_id and l.mode = s.mode
                 and l.id = s.license_id
             left join activations a on a.tenant_id = s.tenant_id and a.mode = s.mode
                 and a.user_id = s.user_id and a.license_id = s.license_id
             where u.tenant_id = $1 and u.mode = $2 and u.external_id = $3
             order by s.id",
        )
        .bind_scope(scope)
        .bind(&asked.user_id)
        .fetch_all()
        .await?;
    let link = match decide(&links, asked.product_id, now) {
        Decision::Refuse(reason) => return Ok(Validation::invalid(reason)),
        Decision::Keep(at) | Decision::Take(at) => links.swap_remove(at),
    };
    let activation = match link.seat {
        Some(seat) => touch(tx, scope, seat, now).await?,
        None => take(tx, scope, &link, now).await?,
    };
    Ok(Validation::valid(link.license, activation))
}

async fn touch(
    tx: &mut Tx,
    scope: Scope,
    seat: Activation,
    now: Timestamp,
) -> Result<Activation, sqlx::Error> {
    tx.query(
        "update activations set last_checked_at = $5
         where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4",
    )
    .bind_scope(scope)
    .bind(seat.user_id)
    .bind(seat.license_id)
    .bind(now)
    .execute()
    .await?;
    Ok(Activation { last_checked_at: now, ..seat })
}

async fn take(
    tx: &mut Tx,
    scope: Scope,
    link: &AssignedLicense,
    now: Timestamp,
) -> Result<Activation, sqlx::Error> {
    let taken = tx
        .query(
            "update licenses set seats_used = seats_used + 1
             where tenant_id = $1 and mode = $2 and id = $3
                 and (max_seats is null or seats_used < max_seats)",
        )
        .bind_scope(scope)
        .bind(link.license.id)
        .execute()
        .await?;
    if taken == 0 {
        return Err(sqlx::Error::RowNotFound);
    }
    let seat = Activation::new(link.user_id, link.license.id, now);
    tx.query(
        "insert into activations (tenant_id, mode, user_id, license_id, id, activated_at,
             last_checked_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
    )
    .bind_scope(scope)
    .bind(seat.user_id)
    .bind(seat.license_id)
    .bind(seat.id)
    .bind(now)
    .execute()
    .await?;
    Ok(seat)
}
