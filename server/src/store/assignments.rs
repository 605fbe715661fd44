//! Assignments: which user may use which license.

use common::{Activation, Assignment, AssignmentId, LicenseId, UserId};

use super::Scope;
use crate::db::{AsWritten, Conn, Result};

/// The license is locked, and the user does not have it yet.
pub async fn insert(conn: &mut Conn, scope: Scope, assignment: &Assignment) -> Result<()> {
    conn.query(
        "insert into assignments (tenant_id, mode, user_id, license_id, id, metadata, assigned_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
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

pub struct Held {
    pub assignment: Assignment,
    pub seat: Option<Activation>,
}

pub async fn lock(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    license: LicenseId,
) -> Result<Option<Held>> {
    let assignment: Option<Assignment> = conn
        .query(
            "select id, user_id, license_id, assigned_at, metadata from assignments
             where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4",
        )
        .bind_scope(scope)
        .bind(user)
        .bind(license)
        .fetch_optional()
        .await?;
    let Some(assignment) = assignment else { return Ok(None) };
    let seat = super::seats::find(conn, scope, user, license).await?;
    Ok(Some(Held { assignment, seat }))
}

pub async fn lock_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<Held>> {
    let assignments: Vec<Assignment> = conn
        .query(
            "select id, user_id, license_id, assigned_at, metadata from assignments
             where tenant_id = $1 and mode = $2 and user_id = $3 order by license_id",
        )
        .bind_scope(scope)
        .bind(user)
        .fetch_all()
        .await?;
    let mut held = Vec::new();
    for assignment in assignments {
        let seat = super::seats::find(conn, scope, user, assignment.license_id).await?;
        held.push(Held { assignment, seat });
    }
    Ok(held)
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
             where tenant_id = $1 and mode = $2 and user_id = $3
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
        "update assignments set metadata = $5
         where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4",
    )
    .bind_scope(scope)
    .bind(assignment.user_id)
    .bind(assignment.license_id)
    .bind(assignment.metadata.as_ref().map(AsWritten))
    .execute()
    .await?;
    Ok(())
}

pub async fn delete(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query(
        "delete from assignments
         where tenant_id = $1 and mode = $2 and user_id = $3 and license_id = $4",
    )
    .bind_scope(scope)
    .bind(user)
    .bind(license)
    .execute()
    .await?;
    Ok(())
}

/// Deletes all assignments of a user who holds no seat.
pub async fn delete_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    conn.query("delete from assignments where tenant_id = $1 and mode = $2 and user_id = $3")
        .bind_scope(scope)
        .bind(user)
        .execute()
        .await?;
    Ok(())
}
