//! New ids are greater than the stored ones, whatever this machine's clock shows: before a process
//! creates its first id, it reads the greatest.

use common::advance_ids_past;
use uuid::Uuid;

use crate::db::{Conn, Result};

/// The greatest id of several tables. Each sub-select reads one end of an index, so the number of
/// records does not matter. No index lists the ids of refusals; the newest is in the newest hour.
///
/// A change creates the ids of its records before those of its events. So the last event's id is
/// greater than those of all assignments and seats, which no index lists.
macro_rules! newest {
    ($($table:literal),+) => {
        concat!(
            "select id from (
                 select tenant_id as id from worlds
                 union all select id from (
                     select id from refusals
                     where world > 0 and hour = (select max(hour) from refusals where world > 0)
                     order by id desc limit 1) refusals",
            $(
                " union all select id from (
                     select id from ", $table, " order by id desc limit 1) ", $table,
            )+
            ") newest where id is not null order by id desc limit 1"
        )
    };
}

/// Makes all further ids of this process greater than the stored ones.
pub async fn advance_past_stored(conn: &mut Conn) -> Result<()> {
    const NEWEST: &str = newest!(
        "events",
        "keys",
        "licenses",
        "plans",
        "products",
        "signing_keys",
        "users",
        "webhooks"
    );
    let newest: Option<(Uuid,)> = conn.query(NEWEST).fetch_optional().await?;
    advance_ids_past(newest.map(|(id,)| id).unwrap_or_default());
    Ok(())
}
