//! Leases: which seats they hold, and until when. The licenses and the assignments are locked.

use common::{Activation, AssignmentId, DeviceName, LicenseId, RunningLease, Timestamp, UserId};

use super::batch_rows::{self, BatchRow, over_rows};
use super::page::{scanned, stop};
use super::{Found, Page, Scope};
use crate::db::{Conn, Result, Sql};

/// Notes the last lease on a seat.
pub async fn set(
    conn: &mut Conn,
    scope: Scope,
    seat: &Activation,
    until: Timestamp,
    device: Option<&DeviceName>,
) -> Result<()> {
    conn.query(
        "update assignments set leased_until = $4, leased_device = $5
         where user_id = $2 and license_id = $3 and world = $1",
    )
    .bind_scope(scope)
    .bind(seat.user_id)
    .bind(seat.license_id)
    .bind(until)
    .bind(device)
    .run()
    .await
}

/// The filter of a list of running leases.
#[derive(Clone, Copy)]
pub struct LeaseFilter {
    pub user: Option<UserId>,
    pub license: Option<LicenseId>,
}

/// A page of the leases that hold a seat at a time, in the order of their assignments.
pub async fn running(
    conn: &mut Conn,
    scope: Scope,
    filter: LeaseFilter,
    now: Timestamp,
    page: Page<AssignmentId>,
) -> Result<Found<RunningLease, AssignmentId>> {
    macro_rules! found_by {
        ($condition:literal) => {
            (
                scanned!(
                    page,
                    "id, user_id, license_id, leased_device as device, leased_until,
                     (select external_id from users u
                      where u.id = assignments.user_id and u.world = $1)
                         as external_id",
                    "assignments" where $condition,
                    "leased_until > $6 and (cast($7 as uuid) is null or license_id = $7)",
                    "id"
                ),
                stop!(page, "assignments" where $condition, "id"),
            )
        };
    }
    let LeaseFilter { user, license } = filter;
    let (matches, stop) = match (user, license) {
        (Some(_), _) => found_by!("user_id = $5 and world = $1"),
        (None, Some(_)) => found_by!("license_id = $5 and world = $1 and world > 0"),
        (None, None) => found_by!(
            "world = $1 and leased_until is not null and world > 0
             and cast($5 as uuid) is null"
        ),
    };
    let of = user.map(UserId::uuid).or(license.map(LicenseId::uuid));
    let matches = conn.query(matches).bind_scope(scope).bind_scan(page);
    let matches = matches.bind(of).bind(now).bind(license);
    let records = matches.fetch_all().await?;
    page.found(records, conn.query(stop).bind_scope(scope).bind_stop(page).bind(of)).await
}

/// Ends all leases of the user, who keeps the seats. Each of the `floating` licenses has the time at
/// which a seat of it can be idle at the latest.
pub async fn drop_of_user(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    floating: &[BatchRow<'_>],
) -> Result<()> {
    conn.query(
        "update assignments set leased_until = null, leased_device = null
         where user_id = $2 and world = $1 and leased_until is not null",
    )
    .bind_scope(scope)
    .bind(user)
    .execute()
    .await?;
    const SET: Sql = over_rows!(
        "update licenses set seats_idle_at = item.time
         from item
         where licenses.id = item.id and licenses.world = item.world
             and licenses.seats_idle_at > item.time"
    );
    batch_rows::query(conn, SET, floating)?.run().await
}
