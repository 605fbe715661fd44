//! Ids go on after those that are stored, however this machine's clock stands: a process that makes
//! some looks once, before its first.

use chrono::TimeDelta;
use common::{ActivationId, Timestamp, advance_ids_past};
use uuid::Uuid;

use crate::db::{Conn, Result};

/// Times of last use are written some seconds late; those of a node that was killed are missing.
const LAG: TimeDelta = TimeDelta::seconds(5);

/// The greatest id in the lists of each tenant and mode. Each look is at the end of one key, so the
/// statement costs the same however many records there are.
macro_rules! newest {
    ($($table:literal),+) => {
        concat!(
            "with scope as (
                 select id as tenant_id, mode from tenants
                 cross join (select 'live' as mode union all select 'test') modes
             )
             select id from (
                 select id from tenants union all select id from keys",
            $(
                " union all select (select id from ", $table, " t
                     where t.tenant_id = scope.tenant_id and t.mode = scope.mode
                     order by id desc limit 1) from scope",
            )+
            ") newest where id is not null order by id desc limit 1"
        )
    };
}

/// Makes the ids of this process greater than those that are stored. The assignments of a user are
/// looked after when one more is made.
pub async fn go_on(conn: &mut Conn) -> Result<()> {
    const NEWEST: &str = newest!("products", "plans", "licenses", "users");
    let newest: Option<(Uuid,)> = conn.query(NEWEST).fetch_optional().await?;
    advance_ids_past(newest.map(|(id,)| id).unwrap_or_default());
    // No key ends with the ids of all seats. A seat was taken with an API key, in its last use or
    // before.
    let (used,): (Option<Timestamp>,) =
        conn.query("select max(last_used_at) from keys").fetch_one().await?;
    if let Some(used) = used {
        advance_ids_past(ActivationId::new(used.plus(LAG)).uuid());
    }
    Ok(())
}
