//! Progress of the notices about the ends of licenses, in all worlds alike, and the licenses that
//! are next.

use common::{LicenseDetails, LicenseId, Timestamp};

use super::Scope;
use super::licenses::columns;
use crate::db::{Conn, Result, locking};

/// A moment, and a license of those that have it: licenses are in this order.
pub type Reached = (Timestamp, LicenseId);

/// Locks and returns the progress of a kind of notice. `None` if it was never begun.
pub async fn lock(conn: &mut Conn, kind: &str) -> Result<Option<Reached>> {
    conn.query(locking!("select reached_at, license_id from notices where kind = $1"))
        .bind(kind)
        .fetch_optional()
        .await
}

/// Notes how far it has come, if that is further than before.
pub async fn set(conn: &mut Conn, kind: &str, (moment, license): Reached) -> Result<()> {
    conn.query(
        "insert into notices (kind, reached_at, license_id) values ($1, $2, $3)
         on conflict (kind) do update set reached_at = $2, license_id = $3
         where (notices.reached_at, notices.license_id) < ($2, $3)",
    )
    .bind(kind)
    .bind(moment)
    .bind(license)
    .run()
    .await
}

#[derive(sqlx::FromRow)]
struct NoticeRow {
    #[sqlx(flatten)]
    scope: Scope,
    #[sqlx(flatten)]
    license: LicenseDetails,
}

macro_rules! next {
    ($end:literal) => {
        concat!(
            "select world, tenant_id, mode, ",
            columns!(),
            " from (select * from licenses
                    where status = 'active' and (", $end, ", id) > ($1, $2) and ", $end, " < $3
                    order by ", $end, ", id limit $4) licenses
             join (select id as world_id, tenant_id, mode from worlds) worlds on world_id = world
             order by ", $end, ", id"
        )
    };
}

/// Kind of end of a license.
pub enum End {
    Expiry,
    Grace,
}

/// The active licenses that end next, before a time.
pub async fn ending(
    conn: &mut Conn,
    end: End,
    (moment, license): Reached,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(Scope, LicenseDetails)>> {
    let query = conn.query(match end {
        End::Expiry => next!("expires_at"),
        End::Grace => next!("grace_ends_at"),
    });
    let query = query.bind(moment).bind(license).bind(before).bind(limit);
    let rows: Vec<NoticeRow> = query.fetch_all().await?;
    Ok(rows.into_iter().map(|row| (row.scope, row.license)).collect())
}
