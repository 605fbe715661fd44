//! Seats: the activations that assignments hold, and each license's counter of them. Nothing else
//! writes either, and both change in one transaction that holds the license's lock.

use common::{ActivationId, LicenseId, Timestamp, UsageActivation, UserId};
use sqlx::types::Json;

use super::batch_rows::{BatchRow, over_rows};
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql};

/// Gives `seats` to users who are assigned and hold none, and adds them to the counters of their
/// `licenses`, which are locked and have enough free seats.
pub async fn take(
    conn: &mut Conn,
    seats: &[BatchRow<'_>],
    licenses: &[BatchRow<'_>],
    now: Timestamp,
) -> Result<()> {
    const TAKE: Sql = over_rows!(
        "update assignments
         set activation_id = item.id, activated_at = $2, last_checked_at = $2
         from item
         where assignments.user_id = item.user_id and assignments.license_id = item.license_id
             and assignments.world = item.world"
    );
    const COUNT: Sql = over_rows!(
        "update licenses set seats_used = seats_used + item.seats
         from item
         where licenses.id = item.id and licenses.world = item.world"
    );
    conn.query(TAKE).bind(Json(seats)).bind(now).execute().await?;
    conn.query(COUNT).bind(Json(licenses)).execute().await?;
    Ok(())
}

/// Updates the times of the last checks of `seats`. A later time is kept, and so is the time of
/// another seat that the user has taken meanwhile.
///
/// Two nodes may update overlapping sets of users at the same time. Seats are locked in the order
/// of users and licenses, in which the caller passes them, so the nodes cannot deadlock.
pub async fn check(conn: &mut Conn, seats: &[BatchRow<'_>]) -> Result<()> {
    const CHECK: Sql = over_rows!(
        "update assignments set last_checked_at = item.time
         from item
         where assignments.user_id = item.user_id and assignments.license_id = item.license_id
             and assignments.world = item.world and assignments.activation_id = item.id
             and assignments.last_checked_at < item.time"
    );
    conn.query(CHECK).bind(Json(seats)).execute().await?;
    Ok(())
}

/// Frees the user's seat on the license. The license is locked, and the user holds a seat.
pub async fn free(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query(
        "update assignments set activation_id = null, activated_at = null, last_checked_at = null
         where user_id = $2 and license_id = $3 and world = $1",
    )
    .bind_scope(scope)
    .bind(user)
    .bind(license)
    .execute()
    .await?;
    conn.query("update licenses set seats_used = seats_used - 1 where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(license)
        .execute()
        .await?;
    Ok(())
}

/// Frees all seats of the user. The licenses and the assignments are locked.
pub async fn free_all_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    conn.query(
        "update licenses set seats_used = seats_used - 1
         where world = $1 and id in (
             select license_id from assignments
             where user_id = $2 and world = $1 and last_checked_at is not null)",
    )
    .bind_scope(scope)
    .bind(user)
    .execute()
    .await?;
    conn.query(
        "update assignments set activation_id = null, activated_at = null, last_checked_at = null
         where user_id = $2 and world = $1 and last_checked_at is not null",
    )
    .bind_scope(scope)
    .bind(user)
    .execute()
    .await?;
    Ok(())
}

pub async fn page_of_license(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<UsageActivation>> {
    conn.query(
        "select s.activation_id as id, s.user_id, s.license_id, s.activated_at, s.last_checked_at,
             u.external_id, u.email
         from assignments s join users u on u.id = s.user_id and u.world = s.world
         where s.license_id = $2 and s.world = $1 and s.world > 0 and s.activation_id > $3
         order by s.activation_id limit $4",
    )
    .bind_scope(scope)
    .bind(license)
    .bind(page.cursor)
    .bind(page.limit)
    .fetch_all()
    .await
}

/// The number of seats in use, and of users who hold them.
pub async fn count(conn: &mut Conn, scope: Scope, license: LicenseId) -> Result<(i64, i64)> {
    conn.query(
        "select count(*), count(distinct user_id) from assignments
         where license_id = $2 and world = $1 and world > 0 and activation_id is not null",
    )
    .bind_scope(scope)
    .bind(license)
    .fetch_one()
    .await
}
