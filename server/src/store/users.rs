//! Users.

use common::{ExternalId, User, UserId};

use super::{Page, Scope};
use crate::db::{AsWritten, Conn, Result, locking};

/// The one list of columns; what follows narrows the scope further.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, tenant_id, external_id, email, name, metadata, created_at, updated_at from \
             users ",
            "where tenant_id = $1 and mode = $2 and ",
            $rest
        )
    };
}

/// Makes the user unless the external id is taken, and answers whether it did. Of many that make
/// the same user at once, one does; the others wait for it.
pub async fn insert_new(conn: &mut Conn, scope: Scope, user: &User) -> Result<bool> {
    let made = conn
        .query(
            "insert into users (tenant_id, mode, id, external_id, email, name, metadata,
                 created_at, updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (tenant_id, mode, external_id) do nothing",
        )
        .within(scope)
        .bind(user.id)
        .bind(&user.external_id)
        .bind(&user.email)
        .bind(&user.name)
        .bind(user.metadata.as_ref().map(AsWritten))
        .bind(user.created_at)
        .bind(user.updated_at)
        .execute()
        .await?;
    Ok(made == 1)
}

pub async fn find(conn: &mut Conn, scope: Scope, id: UserId) -> Result<Option<User>> {
    conn.query(select!("id = $3")).within(scope).bind(id).fetch_optional().await
}

pub async fn find_external(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Option<User>> {
    conn.query(select!("external_id = $3")).within(scope).bind(external_id).fetch_optional().await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: UserId) -> Result<Option<User>> {
    conn.query(locking!(select!("id = $3"))).within(scope).bind(id).fetch_optional().await
}

pub async fn lock_external(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Option<User>> {
    conn.query(locking!(select!("external_id = $3")))
        .within(scope)
        .bind(external_id)
        .fetch_optional()
        .await
}

pub async fn update(conn: &mut Conn, scope: Scope, user: &User) -> Result<()> {
    conn.query(
        "update users set email = $4, name = $5, metadata = $6, updated_at = $7
         where tenant_id = $1 and mode = $2 and id = $3",
    )
    .within(scope)
    .bind(user.id)
    .bind(&user.email)
    .bind(&user.name)
    .bind(user.metadata.as_ref().map(AsWritten))
    .bind(user.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page) -> Result<Vec<User>> {
    conn.query(select!("id > $3 order by id limit $4"))
        .within(scope)
        .bind(page.after)
        .bind(page.limit)
        .fetch_all()
        .await
}
