//! Assignments: which user may use which license, and the seat that the user holds on it.

use common::{Activation, ActivationId, Assignment, AssignmentId, LicenseId, Timestamp, UserId};

use super::Scope;
use crate::db::{AsWritten, Conn, Result, locking};

/// An assignment, with its seat if the user holds one.
pub struct Held {
    pub assignment: Assignment,
    pub seat: Option<Activation>,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    assignment: Assignment,
    activation_id: Option<ActivationId>,
    activated_at: Option<Timestamp>,
    last_checked_at: Option<Timestamp>,
}

impl From<Row> for Held {
    fn from(row: Row) -> Self {
        let Row { assignment, activation_id, activated_at, last_checked_at } = row;
        let seat = activation_id.zip(activated_at).zip(last_checked_at);
        let seat = seat.map(|((id, activated_at), last_checked_at)| Activation {
            id,
            user_id: assignment.user_id,
            license_id: assignment.license_id,
            activated_at,
            last_checked_at,
        });
        Self { assignment, seat }
    }
}

/// The one list of columns.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, license_id, assigned_at, metadata, activation_id, activated_at, \
             last_checked_at from assignments ",
            $rest
        )
    };
}

/// The license is locked, and the user does not have it yet.
pub async fn insert(conn: &mut Conn, scope: Scope, assignment: &Assignment) -> Result<()> {
    conn.query(
        "insert into assignments (world, user_id, license_id, id, metadata, assigned_at)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind_scope(scope)
    .bind(assignment.user_id)
    .bind(assignment.license_id)
    .bind(assignment.id)
    .bind(assignment.metadata.as_ref().map(AsWritten))
    .bind(assignment.assigned_at)
    .execute()
    .await?;
    Ok(())
}

/// The user's assignment to the license, locked until the transaction ends.
pub async fn lock(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    license: LicenseId,
) -> Result<Option<Held>> {
    let row: Option<Row> = conn
        .query(locking!(select!("where user_id = $2 and license_id = $3 and world = $1")))
        .bind_scope(scope)
        .bind(user)
        .bind(license)
        .fetch_optional()
        .await?;
    Ok(row.map(Held::from))
}

/// All assignments of the user, locked in the order of licenses, which is that of validations too.
pub async fn lock_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<Held>> {
    let rows: Vec<Row> = conn
        .query(locking!(select!("where user_id = $2 and world = $1 order by license_id")))
        .bind_scope(scope)
        .bind(user)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(Held::from).collect())
}

/// How many licenses the user has, and the id of the newest assignment.
pub async fn count_of_user(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
) -> Result<(i64, Option<AssignmentId>)> {
    let newest: Option<(i64, AssignmentId)> = conn
        .query(
            "select count(*) over (), id from assignments
             where user_id = $2 and world = $1
             order by id desc limit 1",
        )
        .bind_scope(scope)
        .bind(user)
        .fetch_optional()
        .await?;
    Ok(newest.map_or((0, None), |(count, id)| (count, Some(id))))
}

pub async fn set_metadata(conn: &mut Conn, scope: Scope, assignment: &Assignment) -> Result<()> {
    conn.query(
        "update assignments set metadata = $4
         where user_id = $2 and license_id = $3 and world = $1",
    )
    .bind_scope(scope)
    .bind(assignment.user_id)
    .bind(assignment.license_id)
    .bind(assignment.metadata.as_ref().map(AsWritten))
    .execute()
    .await?;
    Ok(())
}

/// Deletes an assignment that holds no seat.
pub async fn delete(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query("delete from assignments where user_id = $2 and license_id = $3 and world = $1")
        .bind_scope(scope)
        .bind(user)
        .bind(license)
        .execute()
        .await?;
    Ok(())
}

/// Deletes all assignments of a user who holds no seat.
pub async fn delete_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    conn.query("delete from assignments where user_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(user)
        .execute()
        .await?;
    Ok(())
}
