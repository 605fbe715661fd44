//! Assignments: which user may use which license, and the seat that the user holds on it.

use std::collections::HashMap;

use common::{
    Activation, ActivationId, Assignment, AssignmentId, DeviceName, ExternalId, LicenseAssignment,
    LicenseId, LicenseKeyId, Line, Name, Timestamp, UserId,
};

use super::batch_rows::{self, BatchRow, over_rows};
use super::page::paged;
use super::{Order, Page, Scope};
use crate::db::{AsWritten, Conn, Result, Sql, locking};

/// An assignment, with its seat if the user holds one.
pub struct AssignmentWithSeat {
    pub assignment: Assignment,
    pub seat: Option<Activation>,
    /// The machine of the last lease on the seat.
    pub leased_device: Option<DeviceName>,
}

#[derive(sqlx::FromRow)]
struct AssignmentRow {
    #[sqlx(flatten)]
    assignment: Assignment,
    activation_id: Option<ActivationId>,
    activated_at: Option<Timestamp>,
    last_checked_at: Option<Timestamp>,
    leased_until: Option<Timestamp>,
    #[sqlx(default)]
    leased_device: Option<DeviceName>,
}

impl From<AssignmentRow> for AssignmentWithSeat {
    fn from(row: AssignmentRow) -> Self {
        let AssignmentRow { assignment, activation_id, activated_at, last_checked_at, .. } = row;
        let seat = activation_id.zip(activated_at).zip(last_checked_at);
        let seat = seat.map(|((id, activated_at), last_checked_at)| Activation {
            id,
            user_id: assignment.user_id,
            license_id: assignment.license_id,
            activated_at,
            last_checked_at,
            leased_until: row.leased_until,
        });
        Self { assignment, seat, leased_device: row.leased_device }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, license_id, assigned_at, metadata, activation_id, activated_at, \
             last_checked_at, leased_until, leased_device from assignments ",
            $rest
        )
    };
}

/// The license and the user are locked, and the user does not have it yet. It is the last that a
/// validation looks at.
pub async fn insert(
    conn: &mut Conn,
    scope: Scope,
    assignment: &Assignment,
    claimed_with: Option<LicenseKeyId>,
) -> Result<()> {
    conn.query(
        "insert into assignments (world, user_id, license_id, id, metadata, assigned_at,
             claimed_with, place)
         values ($1, $2, $3, $4, $5, $6, $7, 0)",
    )
    .bind_scope(scope)
    .bind(assignment.user_id)
    .bind(assignment.license_id)
    .bind(assignment.id)
    .bind(assignment.metadata.as_ref().map(AsWritten))
    .bind(assignment.assigned_at)
    .bind(claimed_with)
    .run()
    .await
}

/// Copies place and license key from the assignment of the user who hands over the license.
pub async fn inherit(
    conn: &mut Conn,
    scope: Scope,
    assignment: &Assignment,
    from: UserId,
) -> Result<()> {
    conn.query(
        "update assignments set place = former.place, claimed_with = former.claimed_with
         from assignments former
         where assignments.user_id = $2 and assignments.license_id = $3 and assignments.world = $1
             and former.user_id = $4 and former.license_id = $3 and former.world = $1",
    )
    .bind_scope(scope)
    .bind(assignment.user_id)
    .bind(assignment.license_id)
    .bind(from)
    .run()
    .await
}

/// Puts the assignment before all others of its user, who is locked. Returns whether it was not.
pub async fn put_first(conn: &mut Conn, scope: Scope, assignment: &Assignment) -> Result<bool> {
    let moved: Option<(AssignmentId,)> = conn
        .query(
            "update assignments
             set place = (select min(case when other.place < 0 then other.place else 0 end) - 1
                          from assignments other
                          where other.user_id = $2 and other.world = $1)
             where user_id = $2 and license_id = $3 and world = $1 and (place >= 0 or exists (
                 select 1 from assignments other
                 where other.user_id = $2 and other.world = $1
                     and (other.place, other.id) < (assignments.place, assignments.id)))
             returning id",
        )
        .bind_scope(scope)
        .bind(assignment.user_id)
        .bind(assignment.license_id)
        .fetch_optional()
        .await?;
    Ok(moved.is_some())
}

/// The user's assignment to the license, locked until the end of the transaction.
pub async fn lock(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    license: LicenseId,
) -> Result<Option<AssignmentWithSeat>> {
    let row: Option<AssignmentRow> = conn
        .query(locking!(select!("where user_id = $2 and license_id = $3 and world = $1")))
        .bind_scope(scope)
        .bind(user)
        .bind(license)
        .fetch_optional()
        .await?;
    Ok(row.map(AssignmentWithSeat::from))
}

/// All assignments of the user, locked in the order of their licenses, as validations lock them.
pub async fn lock_of_user(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
) -> Result<Vec<AssignmentWithSeat>> {
    let rows: Vec<AssignmentRow> = conn
        .query(locking!(select!("where user_id = $2 and world = $1 order by license_id")))
        .bind_scope(scope)
        .bind(user)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(AssignmentWithSeat::from).collect())
}

#[derive(sqlx::FromRow)]
struct RowWithUser {
    #[sqlx(flatten)]
    row: AssignmentRow,
    external_id: ExternalId,
    email: Option<Line>,
    name: Option<Name>,
}

impl From<RowWithUser> for LicenseAssignment {
    fn from(RowWithUser { row, external_id, email, name }: RowWithUser) -> Self {
        let AssignmentWithSeat { assignment, seat: activation, .. } = row.into();
        Self { assignment, external_id, email, name, activation }
    }
}

macro_rules! select_with_user {
    ($rest:expr) => {
        concat!(
            "select s.id, s.user_id, s.license_id, s.assigned_at, s.metadata, s.activation_id,
                 s.activated_at, s.last_checked_at, s.leased_until, u.external_id, u.email, u.name
             from assignments s join users u on u.id = s.user_id and u.world = s.world
             where ",
            $rest
        )
    };
}

/// A page of the license's assignments, all or those that were claimed with a key.
pub async fn page_of_license(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    claimed_with: Option<LicenseKeyId>,
    page: Page<AssignmentId>,
) -> Result<Vec<LicenseAssignment>> {
    let sql = match claimed_with {
        None => paged!(
            page,
            select_with_user!(
                "s.license_id = $4 and s.world = $1 and s.world > 0
                 and cast($5 as uuid) is null"
            ),
            "s.id"
        ),
        Some(_) => paged!(
            page,
            select_with_user!("s.license_id = $4 and s.world = $1 and s.claimed_with = $5"),
            "s.id"
        ),
    };
    let rows: Vec<RowWithUser> =
        conn.query(sql).bind_page(scope, page).bind(license).bind(claimed_with).fetch_all().await?;
    Ok(rows.into_iter().map(LicenseAssignment::from).collect())
}

/// Returns the number of licenses of a user, and the id of the newest assignment.
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

#[derive(Debug, PartialEq, sqlx::FromRow)]
pub struct AssignedUser {
    pub assignment_id: AssignmentId,
    pub user_id: UserId,
    pub external_id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub assigned_at: Timestamp,
}

#[derive(Debug, PartialEq, sqlx::FromRow)]
pub struct SeatHolder {
    #[sqlx(flatten)]
    pub user: AssignedUser,
    pub activation_id: ActivationId,
    pub activated_at: Timestamp,
    pub last_checked_at: Timestamp,
    pub leased_until: Option<Timestamp>,
    pub leased_device: Option<DeviceName>,
}

/// The users of license `$4`, in the order of one index, in which those without a seat are
/// adjacent.
macro_rules! select_users {
    ($rest:expr) => {
        concat!(
            "select s.id as assignment_id, s.user_id, u.external_id, u.email, u.name,
                 s.assigned_at, s.activation_id, s.activated_at, s.last_checked_at,
                 s.leased_until, s.leased_device
             from assignments s join users u on u.id = s.user_id and u.world = s.world
             where s.license_id = $4 and s.world = $1 and s.world > 0 and ",
            $rest
        )
    };
}

/// A page of the users with a seat, in the order of their seats.
pub async fn holders(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<SeatHolder>> {
    conn.query(paged!(page, select_users!("s.activation_id is not null"), "s.activation_id"))
        .bind_page(scope, page)
        .bind(license)
        .fetch_all()
        .await
}

/// A page of the users without a seat, in the order of their assignments.
pub async fn waiting(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<AssignmentId>,
) -> Result<Vec<AssignedUser>> {
    // PostgreSQL uses the order of an index only if all its leading columns are named.
    let sql = match page.order {
        Order::OldestFirst => select_users!(
            "s.activation_id is null and s.id > $2 order by s.activation_id, s.id limit $3"
        ),
        Order::NewestFirst => select_users!(
            "s.activation_id is null and s.id < $2
             order by s.activation_id desc, s.id desc limit $3"
        ),
    };
    conn.query(sql).bind_page(scope, page).bind(license).fetch_all().await
}

/// The number of users without a seat, counted up to `most`.
pub async fn count_waiting(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    most: i64,
) -> Result<i64> {
    let (count,): (i64,) = conn
        .query(
            "select count(*) from (
                 select 1 from assignments
                 where license_id = $2 and world = $1 and world > 0 and activation_id is null
                 limit $3) waiting",
        )
        .bind_scope(scope)
        .bind(license)
        .bind(most)
        .fetch_one()
        .await?;
    Ok(count)
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
    .run()
    .await
}

/// Deletes an assignment that holds no seat.
pub async fn delete(conn: &mut Conn, scope: Scope, user: UserId, license: LicenseId) -> Result<()> {
    conn.query("delete from assignments where user_id = $2 and license_id = $3 and world = $1")
        .bind_scope(scope)
        .bind(user)
        .bind(license)
        .run()
        .await
}

/// Deletes all assignments of a user who holds no seat.
pub async fn delete_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    conn.query("delete from assignments where user_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(user)
        .run()
        .await
}

/// Returns the holder of the oldest seat of each of these licenses, if any.
pub async fn first_holders(
    conn: &mut Conn,
    scope: Scope,
    licenses: impl IntoIterator<Item = LicenseId>,
) -> Result<HashMap<LicenseId, ExternalId>> {
    const FIRST: Sql = over_rows!(
        "select item.id, u.external_id from item
         join assignments s on s.license_id = item.id and s.world = $2 and s.world > 0
             and s.activation_id = (
                 select first.activation_id from assignments first
                 where first.license_id = item.id and first.world = $2
                     and first.world > 0 and first.activation_id is not null
                 order by first.activation_id limit 1)
         join users u on u.id = s.user_id and u.world = $2"
    );
    let rows: Vec<_> = licenses.into_iter().map(|id| BatchRow::license(scope, id, 0)).collect();
    let holders: Vec<(LicenseId, ExternalId)> =
        batch_rows::query(conn, FIRST, &rows)?.bind_scope(scope).fetch_all().await?;
    Ok(holders.into_iter().collect())
}
