//! Single licenses. Their lists are in `lists`, their seat counters in `store::seats`.

mod lists;
mod source;

use common::{License, LicenseDetails, LicenseId, LicenseWithSeats, Seats, UserId};
use sqlx::types::Json;

use super::Scope;
use crate::db::{AsWritten, Conn, Result, Sql, locking};

pub use lists::{ExpiryFilter, by_expiry, full, page};
pub use source::{LicenseFilter, Suffixes};

/// The columns of a [`License`].
macro_rules! columns {
    () => {
        "id, product_id, plan_id, status, max_seats, expires_at, features, created_at, updated_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select ", columns!(), " from licenses where ", $rest)
    };
}

/// The columns of a [`LicenseDetails`].
macro_rules! details {
    () => {
        concat!(
            "name, metadata, seat_idle_minutes, grace_days, pending_days, max_lease_seconds, ",
            $crate::store::licenses::columns!()
        )
    };
}

macro_rules! select_details {
    ($rest:literal) => {
        concat!("select ", details!(), " from licenses where ", $rest)
    };
}

/// The columns of a [`CountedLicense`].
macro_rules! columns_with_seats {
    () => {
        concat!("seats_used, ", $crate::store::licenses::details!())
    };
}

use columns_with_seats;
pub(super) use {columns, details};

#[derive(sqlx::FromRow)]
struct CountedLicense {
    #[sqlx(flatten)]
    details: LicenseDetails,
    seats_used: i32,
}

impl From<CountedLicense> for LicenseWithSeats {
    fn from(CountedLicense { details, seats_used }: CountedLicense) -> Self {
        Self { seats: Seats { used: seats_used, allowed: details.max_seats }, details }
    }
}

pub async fn insert(conn: &mut Conn, scope: Scope, license: &LicenseDetails) -> Result<()> {
    conn.query(
        "insert into licenses (world, id, product_id, plan_id, status, max_seats, expires_at,
             features, created_at, updated_at, suffix, name, metadata, seat_idle_minutes,
             grace_days, pending_days, grace_ends_at, max_lease_seconds)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
             $18)",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.product_id)
    .bind(license.plan_id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.created_at)
    .bind(license.updated_at)
    .bind(Suffixes::of(license.id).first)
    .bind(&license.name)
    .bind(license.metadata.as_ref().map(AsWritten))
    .bind(license.terms.seat_idle_minutes)
    .bind(license.terms.grace_days)
    .bind(license.terms.starts_with_days)
    .bind(license.terms.grace_ends_at(license.expires_at))
    .bind(license.terms.max_lease_seconds)
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn find_with_seats(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseWithSeats>> {
    let sql =
        concat!("select ", columns_with_seats!(), " from licenses where id = $2 and world = $1");
    let query = conn.query(sql).bind_scope(scope).bind(id);
    let found = query.fetch_optional::<CountedLicense>().await?;
    Ok(found.map(LicenseWithSeats::from))
}

/// The license, locked. Every change of a license or of its seats starts with this.
pub async fn lock(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

/// Like [`lock`], with everything else and the seats.
pub async fn lock_with_seats(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseWithSeats>> {
    const LOCK: Sql = locking!(concat!(
        "select ",
        columns_with_seats!(),
        " from licenses where id = $2 and world = $1"
    ));
    let query = conn.query(LOCK).bind_scope(scope).bind(id);
    let found = query.fetch_optional::<CountedLicense>().await?;
    Ok(found.map(LicenseWithSeats::from))
}

/// Like [`lock`], with the other columns that can change.
pub async fn lock_details(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseDetails>> {
    conn.query(locking!(select_details!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

/// Locks all licenses of a user in the order of their ids. The user must be locked.
pub async fn lock_of_user(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
) -> Result<Vec<LicenseDetails>> {
    conn.query(locking!(select_details!(
        "world = $1 and id in (
             select license_id from assignments where user_id = $2 and world = $1)
         order by id"
    )))
    .bind_scope(scope)
    .bind(user)
    .fetch_all()
    .await
}

pub async fn update(conn: &mut Conn, scope: Scope, license: &LicenseDetails) -> Result<()> {
    conn.query(
        "update licenses set status = $3, max_seats = $4, expires_at = $5, features = $6,
             updated_at = $7, name = $8, metadata = $9, seat_idle_minutes = $10,
             grace_days = $11, pending_days = $12, grace_ends_at = $13, product_id = $14,
             plan_id = $15, max_lease_seconds = $16
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.updated_at)
    .bind(&license.name)
    .bind(license.metadata.as_ref().map(AsWritten))
    .bind(license.terms.seat_idle_minutes)
    .bind(license.terms.grace_days)
    .bind(license.terms.starts_with_days)
    .bind(license.terms.grace_ends_at(license.expires_at))
    .bind(license.product_id)
    .bind(license.plan_id)
    .bind(license.terms.max_lease_seconds)
    .execute()
    .await?;
    Ok(())
}

/// Deletes a license without a name; the database refuses if it has assignments.
pub async fn delete(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<()> {
    conn.query("delete from licenses where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    Ok(())
}
