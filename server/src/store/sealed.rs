//! Whether anything is sealed with a secret key, in whatever world.

use crate::db::{Conn, Result};

pub async fn any(conn: &mut Conn) -> Result<bool> {
    let sql = "select 1 from webhooks union all
               select 1 from signing_keys where private_key is not null limit 1";
    let one: Option<(i32,)> = conn.query(sql).fetch_optional().await?;
    Ok(one.is_some())
}
