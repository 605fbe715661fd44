//! New ids are greater than the stored ones, whatever this machine's clock shows: before a process
//! creates its first id, it reads the greatest.

use common::advance_ids_past;
use uuid::Uuid;

use crate::db::{Conn, Result};

/// The greatest id in the lists of each world, and among keys and events. Each sub-select reads one
/// end of an index, so the number of records does not matter.
///
/// A change creates the ids of its records before those of its events. So the last event's id is
/// greater than those of all assignments and seats, which no index lists.
macro_rules! newest {
    ($($table:literal),+) => {
        concat!(
            "select id from (
                 select tenant_id as id from worlds
                 union all select (select id from keys order by id desc limit 1)
                 union all select (select id from events order by id desc limit 1)",
            $(
                " union all select (select id from ", $table, " t
                     where t.world = w.id and t.world > 0 order by id desc limit 1)
                 from worlds w",
            )+
            ") newest where id is not null order by id desc limit 1"
        )
    };
}

/// Makes all further ids of this process greater than the stored ones.
pub async fn advance_past_stored(conn: &mut Conn) -> Result<()> {
    const NEWEST: &str =
        newest!("products", "plans", "licenses", "users", "refusals", "webhooks", "signing_keys");
    let newest: Option<(Uuid,)> = conn.query(NEWEST).fetch_optional().await?;
    advance_ids_past(newest.map(|(id,)| id).unwrap_or_default());
    Ok(())
}
