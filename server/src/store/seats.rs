//! Seats: the activations that assignments hold, and each license's counter of them. Nothing else
//! writes either, and both change in one transaction that holds the license's lock.

use common::{Activation, ActivationId, ExternalId, LicenseId, Timestamp, UsageActivation, UserId};

use super::batch_rows::{self, BatchRow, by_world, first_world, over_rows};
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql};

/// Time of the check of a seat, by the clock of the node, but at most ten seconds from that of the
/// server: on floating seats all nodes must agree.
macro_rules! checked_at {
    () => {
        "greatest(date_trunc('milliseconds', now() - interval '10 s'),
             least(date_trunc('milliseconds', now() + interval '10 s'), item.time))"
    };
}

/// Gives `seats`, checked just now, to users who are assigned and hold none. The licenses are locked,
/// and have enough free seats, which [`add`] takes off.
pub async fn take(conn: &mut Conn, seats: &[BatchRow<'_>], now: Timestamp) -> Result<()> {
    macro_rules! take {
        ($checked_at:expr) => {
            concat!(
                "update assignments
                 set activation_id = item.id, activated_at = $2, last_checked_at = ",
                $checked_at,
                " from item
                 where assignments.user_id = item.user_id
                     and assignments.license_id = item.license_id
                     and assignments.world = item.world"
            )
        };
    }
    const TAKE: Sql = over_rows!(take!("item.time"), take!(checked_at!()));
    batch_rows::query(conn, TAKE, seats)?.bind(now).run().await
}

/// Adds to the counters of `licenses`, which are locked, the seats that were taken and not freed.
pub async fn add(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<()> {
    const ADD: Sql = over_rows!(
        "update licenses set seats_used = seats_used + item.seats
         from item
         where licenses.id = item.id and licenses.world = item.world"
    );
    batch_rows::query(conn, ADD, licenses)?.run().await
}

/// A floating seat with the caller's own identifier of its user.
#[derive(Clone, sqlx::FromRow)]
pub struct HeldSeat {
    #[sqlx(flatten)]
    pub seat: Activation,
    pub external_id: ExternalId,
    /// From when its idle time counts: from the last check, or so that it ends with a lease.
    pub idle_from: Timestamp,
}

/// From when the idle time of a seat `s` of license `l` counts. A lease holds it like a check whose
/// idle time ends when the lease does.
macro_rules! idle_from {
    (sqlite) => {
        "max(s.last_checked_at, coalesce(s.leased_until - l.seat_idle_minutes * 60000, 0))"
    };
    (postgres) => {
        "greatest(s.last_checked_at, s.leased_until - l.seat_idle_minutes * interval '1 minute')"
    };
}

/// Returns the longest idle seats of floating `licenses`, the longest first, and of each license as
/// many as its row says.
pub async fn longest_idle(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<Vec<HeldSeat>> {
    macro_rules! longest {
        ($idle_from:expr, $world:expr) => {
            concat!(
                "select held.id, held.user_id, held.license_id, held.activated_at,
                     held.last_checked_at, held.leased_until, held.idle_from, u.external_id
                 from (
                     select seat.*, row_number() over (
                         partition by license_id order by idle_from, user_id) as place
                     from (
                         select s.activation_id as id, s.user_id, s.license_id, s.world,
                             s.activated_at, s.last_checked_at, s.leased_until, item.seats, ",
                $idle_from,
                " as idle_from
                         from item
                         join licenses l on l.id = item.id and l.world = item.world
                         join assignments s on s.license_id = l.id and s.world = l.world
                         where s.world > 0 and s.activation_id is not null
                     ) seat
                 ) held
                 join users u on u.id = held.user_id and u.world = ",
                $world,
                " where held.place <= held.seats
                 order by held.license_id, held.place"
            )
        };
    }
    const OLDEST: Sql = over_rows!(
        longest!(idle_from!(sqlite), "held.world"),
        longest!(idle_from!(postgres), "held.world"),
        longest!(idle_from!(postgres), first_world!())
    );
    batch_rows::query(conn, OLDEST, licenses)?.fetch_all().await
}

/// Locks the assignments of `seats` in the order in which [`check`] locks them.
pub async fn lock(conn: &mut Conn, seats: &[BatchRow<'_>]) -> Result<()> {
    const LOCK: Sql = over_rows!(
        "select 1",
        "select 1 from item
         join assignments s on s.user_id = item.user_id and s.license_id = item.license_id
             and s.world = item.world
         order by s.user_id, s.license_id for update of s"
    );
    batch_rows::query(conn, LOCK, seats)?.run().await
}

/// Marks floating `seats`, which are locked, as checked at the times in the rows.
pub async fn hold(conn: &mut Conn, seats: &[BatchRow<'_>]) -> Result<()> {
    macro_rules! hold {
        ($later:literal, $checked_at:expr) => {
            concat!(
                "update assignments set last_checked_at = ",
                $later,
                "(assignments.last_checked_at, ",
                $checked_at,
                ") from item
                 where assignments.user_id = item.user_id
                     and assignments.license_id = item.license_id
                     and assignments.world = item.world and assignments.activation_id = item.id"
            )
        };
    }
    const HOLD: Sql = over_rows!(hold!("max", "item.time"), hold!("greatest", checked_at!()));
    batch_rows::query(conn, HOLD, seats)?.run().await
}

/// Frees those of `seats`, which are locked with their licenses, whose idle time counts from before
/// the time in their row. Returns how many.
pub async fn free_idle(conn: &mut Conn, seats: &[BatchRow<'_>]) -> Result<u64> {
    macro_rules! free {
        ($lease_is_over:literal) => {
            concat!(
                "update assignments as s set activation_id = null, activated_at = null,
                     last_seen_at = last_checked_at, last_checked_at = null, leased_until = null, leased_device = null
                 from item
                 join licenses l on l.id = item.license_id and l.world = item.world
                 where s.user_id = item.user_id and s.license_id = item.license_id
                     and s.world = item.world and s.activation_id = item.id
                     and s.last_checked_at < item.time and (s.leased_until is null or ",
                $lease_is_over,
                ")"
            )
        };
    }
    const FREE: Sql = over_rows!(
        free!("s.leased_until - item.time < l.seat_idle_minutes * 60000"),
        free!("s.leased_until - item.time < l.seat_idle_minutes * interval '1 minute'")
    );
    batch_rows::query(conn, FREE, seats)?.execute().await
}

/// Returns the earliest time at which a seat of a license can become idle, if that is known.
pub async fn idle_at(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
) -> Result<Option<Timestamp>> {
    let query = conn.query("select seats_idle_at from licenses where id = $2 and world = $1");
    let found: Option<(Option<Timestamp>,)> =
        query.bind_scope(scope).bind(license).fetch_optional().await?;
    Ok(found.and_then(|(time,)| time))
}

/// Notes when the next seat of each of `licenses` can become idle at the earliest.
pub async fn set_idle_at(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<()> {
    const SET: Sql = over_rows!(
        "update licenses set seats_idle_at = item.time
         from item
         where licenses.id = item.id and licenses.world = item.world"
    );
    batch_rows::query(conn, SET, licenses)?.run().await
}

/// Updates the times of the last checks of `seats`. A later time is kept, and so is the time of
/// another seat that the user has taken in the meantime.
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
    for seats in by_world(conn, seats, |seat| seat.world()) {
        batch_rows::query(conn, CHECK, &seats)?.execute().await?;
    }
    Ok(())
}

/// Frees the user's seat on the license. The license is locked, and the user holds a seat.
pub async fn free(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query(
        "update assignments set activation_id = null, activated_at = null,
             last_seen_at = last_checked_at, last_checked_at = null, leased_until = null,
             leased_device = null
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
        .run()
        .await
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
        "update assignments set activation_id = null, activated_at = null,
             last_seen_at = last_checked_at, last_checked_at = null, leased_until = null,
             leased_device = null
         where user_id = $2 and world = $1 and last_checked_at is not null",
    )
    .bind_scope(scope)
    .bind(user)
    .run()
    .await
}

pub async fn page_of_license(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<UsageActivation>> {
    conn.query(
        "select s.activation_id as id, s.user_id, s.license_id, s.activated_at, s.last_checked_at,
             s.leased_until, u.external_id, u.email
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
