//! Single licenses. Their lists are in `lists`, their seat counters in `store::seats`.

mod lists;
mod source;

use common::{LicenseDetails, LicenseId, LicenseWithSeats, Seats, UserId};
use sqlx::types::Json;

use super::Scope;
use super::table::table;
use crate::db::{AsWritten, Conn, Result, locking};

pub use lists::{by_end, page, totals};
pub use source::{LicenseFilter, Suffixes};

table! {
    licenses of license: LicenseDetails by LicenseId;
    computed "seats_used";
    fixed { created_at, suffix: Suffixes::of(license.id).first }
    changing {
        product_id, plan_id, status, max_seats, expires_at, features: Json(&license.features),
        updated_at, name, metadata: license.metadata.as_ref().map(AsWritten),
        seat_idle_minutes: license.terms.seat_idle_minutes, grace_days: license.terms.grace_days,
        pending_days: license.terms.starts_with_days,
        grace_ends_at: license.terms.grace_ends_at(license.expires_at),
        max_lease_seconds: license.terms.max_lease_seconds,
    }
    insert find lock update delete
}
pub(super) use columns;

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

pub async fn find_with_seats(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseWithSeats>> {
    let query = conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id);
    let found = query.fetch_optional::<CountedLicense>().await?;
    Ok(found.map(LicenseWithSeats::from))
}

/// Like [`lock`], with the seats. Every change of a license or of its seats starts with one of them.
pub async fn lock_with_seats(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseWithSeats>> {
    let query = conn.query(locking!(select!("id = $2 and world = $1")));
    let query = query.bind_scope(scope).bind(id);
    let found = query.fetch_optional::<CountedLicense>().await?;
    Ok(found.map(LicenseWithSeats::from))
}

/// Locks all licenses of a user in the order of their ids. The user must be locked.
pub async fn lock_of_user(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
) -> Result<Vec<LicenseDetails>> {
    conn.query(locking!(select!(
        "world = $1 and id in (
             select license_id from assignments where user_id = $2 and world = $1)
         order by id"
    )))
    .bind_scope(scope)
    .bind(user)
    .fetch_all()
    .await
}
