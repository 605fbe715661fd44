//! The statements of the hot path that do not concern seats. Each handles a whole batch of
//! validations; `read` loads the data that the batch is decided on.

mod read;

use common::{Features, Timestamp, UserId};
use sqlx::types::Json;

use super::batch_rows::{self, BatchRow, over_rows};
use crate::db::{Conn, Result, Sql};

pub use read::{
    AssignedLicense, BatchHit, BatchQuery, BatchSlot, NamedLicense, UserLicenses, explain, find,
};

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
