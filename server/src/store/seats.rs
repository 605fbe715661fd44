//! Activations: the seats that users hold. Taking them is in `validations`.

use common::{Activation, ActivationId, LicenseId, UserId};

use super::{Page, Scope};
use crate::db::{Conn, Result, locking};

pub async fn free(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query(
        "delete from activations
         where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4",
    )
    .bind_scope(scope)
    .bind(user)
    .bind(license)
    .execute()
    .await?;
    super::licenses::free_seat(conn, scope, license).await
}

pub async fn free_all_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    super::licenses::free_seats_of_user(conn, scope, user).await?;
    conn.query("delete from activations where tenant_id = $1 and mode = $2 and user_id = $3")
        .bind_scope(scope)
        .bind(user)
        .execute()
        .await?;
    Ok(())
}

pub async fn find(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    license: LicenseId,
) -> Result<Option<Activation>> {
    conn.query(locking!(
        "select id, user_id, license_id, activated_at, last_checked_at from activations
         where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4"
    ))
    .bind_scope(scope)
    .bind(user)
    .bind(license)
    .fetch_optional()
    .await
}

pub async fn page_of_license(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<Activation>> {
    conn.query(
        "select id, user_id, license_id, activated_at, last_checked_at from activations
         where tenant_id = $1 and mode = $2 and license_id = $3 and id > $4
         order by id limit $5",
    )
    .bind_scope(scope)
    .bind(license)
    .bind(page.after)
    .bind(page.limit)
    .fetch_all()
    .await
}

/// How many seats are held, and by how many users.
pub async fn count(conn: &mut Conn, scope: Scope, license: LicenseId) -> Result<(i64, i64)> {
    conn.query(
        "select count(*), count(distinct user_id) from activations
         where tenant_id = $1 and mode = $2 and license_id = $3",
    )
    .bind_scope(scope)
    .bind(license)
    .fetch_one()
    .await
}
