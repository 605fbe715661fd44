//! New ids are greater than those that are stored, whatever this machine's clock shows: a process
//! reads the greatest id once, before its first.

use common::advance_ids_past;
use uuid::Uuid;

use crate::db::{Conn, Result};

/// The greatest id in the lists of each world, and among keys and events. Each look is at the end
/// of an index, so the statement costs the same however many records there are.
///
/// A change makes the ids of its records before those of its events, so the last event is younger
/// than all assignments and seats, which no index lists.
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

/// Makes all further ids of this process greater than those that are stored.
pub async fn go_on(conn: &mut Conn) -> Result<()> {
    const NEWEST: &str = newest!("products", "plans", "licenses", "users", "refusals");
    let newest: Option<(Uuid,)> = conn.query(NEWEST).fetch_optional().await?;
    advance_ids_past(newest.map(|(id,)| id).unwrap_or_default());
    Ok(())
}
