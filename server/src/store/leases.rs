//! Leases: which seats they hold, and until when. The licenses and the assignments are locked.

use common::{Activation, DeviceName, Timestamp, UserId};
use sqlx::types::Json;

use super::Scope;
use super::batch_rows::{BatchRow, over_rows};
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
    .execute()
    .await?;
    Ok(())
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
    conn.query(SET).bind(Json(floating)).execute().await?;
    Ok(())
}
