//! Licenses, and who may use them.

use axum::extract::State;
use chrono::Duration;
use common::{
    AssignLicense, Assignment, AssignmentId, CreateLicense, License, LicenseField, LicenseId,
    PlanId, SetStatus, Status, Timestamp, UpdateLicense, UserId, advance_ids_past,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{change, refuse_contradictions, users};
use crate::App;
use crate::db::Conn;
use crate::error::Error;
use crate::http::answer::{Created, Data, ListParams, Records, Upserted, records};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{ExternalIdParam, Id, Json, Limit, Query, filter};
use crate::ops::idempotency::{Idempotency, IdempotentTx};
use crate::store::assignments::Held;
use crate::store::{Scope, assignments, licenses, plans, seats, users as stored_users};

pub(super) const NOT_FOUND: Error = Error::NotFound("license");
const NOT_ASSIGNED: Error = Error::NotFound("assignment");

/// How many licenses a user may have. A validation reads them all.
const MAX_LICENSES: i64 = 100;
const TOO_MANY_LICENSES: &str =
    "A user has at most 100 licenses, and this one has them: take the user off another one first";

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Json(body): Json<CreateLicense>,
) -> Result<Created<License>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let plan = plans::find(&mut tx, scope, body.plan_id).await?;
    let plan = plan.ok_or_else(|| Error::unknown("planId", "plan"))?;
    let days = body.expires_in_days.or(plan.expires_in_days);
    let license = License {
        id: LicenseId::new(now),
        product_id: plan.product_id,
        plan_id: plan.id,
        status: Status::Active,
        max_seats: plan.max_seats,
        expires_at: days.map(|days| now.plus(Duration::days(days.get().into()))),
        features: plan.features,
        created_at: now,
        updated_at: now,
    };
    licenses::insert(&mut tx, scope, &license).await?;
    tx.commit(Created(license)).await
}

/// The query of the list of licenses.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub struct ListLicenses {
    /// Only licenses made from this plan.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<PlanId>")]
    plan_id: Option<PlanId>,
    limit: Option<Limit>,
    after: Option<LicenseId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListLicenses>,
) -> Result<Records<License>, Error> {
    let wanted = ListParams { after: query.after.unwrap_or_default().uuid(), limit: query.limit };
    let scope = caller.scope();
    records(wanted, move |page| {
        let app = app.clone();
        async move {
            let mut conn = app.read(scope.tenant).await?;
            Ok(match query.plan_id {
                Some(plan) => licenses::page_of_plan(&mut conn, scope, plan, page).await?,
                None => licenses::page(&mut conn, scope, page).await?,
            })
        }
    })
    .await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<LicenseId>,
) -> Result<Data<License>, Error> {
    let license =
        licenses::find(&mut app.read(caller.tenant.id).await?, caller.scope(), id).await?;
    license.map(Data).ok_or(NOT_FOUND)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<LicenseId>,
    Json(body): Json<UpdateLicense>,
) -> Result<Data<License>, Error> {
    let scope = caller.scope();
    let given = [
        (LicenseField::MaxSeats, body.max_seats.is_some()),
        (LicenseField::ExpiresAt, body.expires_at.is_some()),
    ];
    refuse_contradictions(body.clear.as_deref().unwrap_or_default(), &given)?;
    let tx = once.begin(&app, scope, &body).await?;
    let clear = body.clear.unwrap_or_default();
    let cleared = |field| clear.contains(&field);
    modify(tx, scope, id, |license| {
        license.features = body.features.unwrap_or_else(|| license.features.clone());
        change(&mut license.max_seats, body.max_seats, cleared(LicenseField::MaxSeats));
        change(&mut license.expires_at, body.expires_at, cleared(LicenseField::ExpiresAt));
    })
    .await
}

pub async fn set_status(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<LicenseId>,
    Json(body): Json<SetStatus>,
) -> Result<Data<License>, Error> {
    let scope = caller.scope();
    let tx = once.begin(&app, scope, &body).await?;
    modify(tx, scope, id, |license| license.status = body.status).await
}

/// Changes a license while nobody else does. What changes nothing leaves `updatedAt` too.
async fn modify(
    mut tx: IdempotentTx,
    scope: Scope,
    id: LicenseId,
    change: impl FnOnce(&mut License),
) -> Result<Data<License>, Error> {
    let before = licenses::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let mut license = before.clone();
    change(&mut license);
    if license != before {
        license.updated_at = tx.now;
        licenses::update(&mut tx, scope, &license).await?;
    }
    tx.commit(Data(license)).await
}

pub async fn assign(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<LicenseId>,
    Json(body): Json<AssignLicense>,
) -> Result<Upserted<Assignment>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    // Users before licenses: the order in which validations lock them too.
    let (_, user) = users::ensure(&mut tx, scope, &body.user_id, now).await?;
    licenses::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let known = assignments::lock(&mut tx, scope, user.id, id).await?;
    let saved = match known {
        None => {
            let assignment = Assignment {
                id: next_assignment(&mut tx, scope, user.id, now).await?,
                user_id: user.id,
                license_id: id,
                assigned_at: now,
                metadata: body.metadata,
            };
            assignments::insert(&mut tx, scope, &assignment).await?;
            Upserted::New(assignment)
        }
        Some(Held { mut assignment, .. }) => {
            if body.metadata.is_some() && assignment.metadata != body.metadata {
                assignment.metadata = body.metadata;
                assignments::set_metadata(&mut tx, scope, &assignment).await?;
            }
            Upserted::Known(assignment)
        }
    };
    tx.commit(saved).await
}

/// The id of the user's next assignment. Validations look at a user's licenses in the order of these
/// ids, so it is greater than those before, also when a node with another clock made them. The user
/// is locked.
async fn next_assignment(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
    now: Timestamp,
) -> Result<AssignmentId, Error> {
    let (count, newest) = assignments::count_of_user(conn, scope, user).await?;
    if count >= MAX_LICENSES {
        return Err(Error::Conflict(TOO_MANY_LICENSES));
    }
    if let Some(newest) = newest {
        advance_ids_past(newest.uuid());
    }
    Ok(AssignmentId::new(now))
}

/// Takes the user off the license, and frees the seat that the user may hold.
pub async fn unassign(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<LicenseId>,
    ExternalIdParam(user): ExternalIdParam,
) -> Result<Data<Assignment>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &()).await?;
    licenses::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let user = user.ok_or(NOT_ASSIGNED)?;
    let user = stored_users::find_external(&mut tx, scope, &user).await?.ok_or(NOT_ASSIGNED)?;
    let Held { assignment, seat } =
        assignments::lock(&mut tx, scope, user.id, id).await?.ok_or(NOT_ASSIGNED)?;
    if seat.is_some() {
        seats::free(&mut tx, scope, user.id, id).await?;
    }
    assignments::delete(&mut tx, scope, user.id, id).await?;
    tx.commit(Data(assignment)).await
}
