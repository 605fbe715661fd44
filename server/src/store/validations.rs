//! The statements of the hot path that do not concern seats. Each handles a whole batch of
//! validations; `read` loads the data that the batch is decided on, and [`explain`] that of one
//! user.

mod read;

use common::{Features, LicenseKeyId, Name, Timestamp, UserId};
use sqlx::types::Json;

use super::Scope;
use super::batch_rows::{self, BatchRow, over_rows};
use crate::db::{Conn, Result, Sql};

pub use read::{AssignedLicense, BatchHit, BatchQuery, BatchSlot, UserLicenses, find};

/// The positions of those `products` that exist.
pub async fn find_products(conn: &mut Conn, products: &[BatchRow<'_>]) -> Result<Vec<i64>> {
    const FIND: Sql = over_rows!(
        "select item.n from item
         join products p on p.id = item.id and p.world = item.world
         order by item.n"
    );
    let places: Vec<(i64,)> = batch_rows::query(conn, FIND, products)?.fetch_all().await?;
    Ok(places.into_iter().map(|(n,)| n).collect())
}

/// The features of `licenses`, each with the position of its license.
pub async fn find_features(
    conn: &mut Conn,
    licenses: &[BatchRow<'_>],
) -> Result<Vec<(i64, Json<Features>)>> {
    const FIND: Sql = over_rows!(
        "select item.n, l.features from item
         join licenses l on l.id = item.id and l.world = item.world"
    );
    batch_rows::query(conn, FIND, licenses)?.fetch_all().await
}

/// Creates the `users` that do not exist yet, in the given order, and returns the created ones.
pub async fn insert_users(
    conn: &mut Conn,
    users: &[BatchRow<'_>],
    now: Timestamp,
) -> Result<Vec<UserId>> {
    macro_rules! insert {
        ($world:literal, $from:literal) => {
            concat!(
                "insert into users (world, id, external_id, created_at, updated_at) select ",
                $world,
                ", item.id, item.external_id, $2, $2 from ",
                $from,
                " order by item.n on conflict (external_id, world) do nothing returning id"
            )
        };
    }
    const INSERT: Sql = over_rows!(
        insert!("item.world", "item where true"),
        insert!("item.world", "item"),
        // Rows that come from a table of the world are inserted where the world is.
        insert!("c.world", "item join event_counters c on c.world = item.world")
    );
    let created: Vec<(UserId,)> =
        batch_rows::query(conn, INSERT, users)?.bind(now).fetch_all().await?;
    Ok(created.into_iter().map(|(id,)| id).collect())
}

/// Locks `licenses` in the order of their ids, as every transaction that locks more than one must.
pub async fn lock_licenses(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<()> {
    const LOCK: Sql = over_rows!(
        "select 1",
        "select l.id from item
         join licenses l on l.id = item.id and l.world = item.world
         order by l.id for update of l"
    );
    batch_rows::query(conn, LOCK, licenses)?.run().await
}

#[derive(sqlx::FromRow)]
pub struct NamedLicense {
    #[sqlx(flatten)]
    pub assigned: AssignedLicense,
    pub product_name: Name,
    pub plan_name: Name,
    pub assigned_at: Timestamp,
    pub license_name: Option<Name>,
    pub claimed_with: Option<LicenseKeyId>,
    /// Time until which a lease holds the seat, which a validation does not read.
    leased_until: Option<Timestamp>,
}

/// All licenses of one user in the order in which a validation looks at them.
pub async fn explain(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<NamedLicense>> {
    let mut found: Vec<NamedLicense> = conn
        .query(
            "select s.user_id, s.assigned_at, s.leased_until, p.name as product_name,
             n.name as plan_name, l.id, l.product_id, l.plan_id, l.status, l.max_seats,
             l.seats_used, l.expires_at, l.features, false as features_omitted, l.created_at,
             l.updated_at, l.seat_idle_minutes, l.grace_days, l.pending_days,
             l.max_lease_seconds, l.seats_idle_at, s.activation_id, s.activated_at, s.last_checked_at,
             s.place < 0 as is_put_first, l.name as license_name, s.claimed_with
         from assignments s
         join licenses l on l.id = s.license_id and l.world = s.world
         join products p on p.id = l.product_id and p.world = l.world
         join plans n on n.id = l.plan_id and n.world = l.world
         where s.user_id = $2 and s.world = $1
         order by s.place, s.id",
        )
        .bind_scope(scope)
        .bind(user)
        .fetch_all()
        .await?;
    for NamedLicense { assigned, leased_until, .. } in &mut found {
        assigned.seat.iter_mut().for_each(|seat| seat.leased_until = *leased_until);
    }
    Ok(found)
}
