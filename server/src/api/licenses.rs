//! Licenses, and the users to whom they are assigned.

use common::{
    AssignLicense, Assignment, AssignmentId, CreateLicense, ExternalId, LicenseAssignment,
    LicenseDetails, LicenseId, LicenseKeyId, LicenseState, LicenseTotals, LicenseWithSeats, List,
    OnKeys, OnLease, PlanId, ProductId, ReleaseSeat, Released, RenewLicense, SeatsTaken, SetStatus,
    Status, Timestamp, TransferLicense, UpdateLicense,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Leases;
use crate::error::Error;
use crate::http::answer::{Data, ListParams, Single, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{
    ExternalIdParam, Id, Json, JsonAndQuery, Limit, NoQuery, Query, filter,
};
use crate::http::if_match::IfMatch;
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::licenses::{self, LicenseQuery};
use crate::ops::outcome::{Changed, Upserted};
use crate::ops::release;

pub async fn create(
    writer: Writer,
    Json(body): Json<CreateLicense>,
) -> Result<Idempotent<Upserted<LicenseDetails>>, Error> {
    writer.once(body, licenses::create).await
}

/// A query with the filters of licenses, and other parameters after them.
macro_rules! with_filters {
    ($(#[doc = $doc:literal])* pub struct $name:ident { $($rest:tt)* }) => {
        $(#[doc = $doc])*
        #[derive(Deserialize, JsonSchema)]
        #[schemars(inline)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            /// Only licenses made from this plan.
            #[serde(default, deserialize_with = "filter")]
            #[schemars(with = "Option<String>")]
            plan_id: Option<PlanId>,
            /// Only licenses of this product.
            #[serde(default, deserialize_with = "filter")]
            #[schemars(with = "Option<String>")]
            product_id: Option<ProductId>,
            /// Only licenses with this status, which an administrator sets. It does not change when a
            /// license ends: `status=expired` does not list such a license, `state=expired` does.
            status: Option<Status>,
            /// Only licenses in this state: their status, or for an active license that has ended,
            /// `grace` while its days of grace last, and `expired`.
            state: Option<LicenseState>,
            /// Only licenses assigned to this user: the caller's own identifier.
            user_id: Option<String>,
            /// Only licenses that end at this time in RFC 3339 or later.
            ends_from: Option<Timestamp>,
            /// Only licenses that end before this time in RFC 3339, or have ended.
            ends_before: Option<Timestamp>,
            /// Only licenses in force with this share of their seats taken.
            seats: Option<SeatsTaken>,
            /// Only licenses of plans that are trials, or only of those that are not.
            trial: Option<bool>,
            /// Only licenses whose ids end with these characters, or who have these words, from their
            /// starts on and in any order, in the name or a value of the metadata, ignoring case and
            /// accents: "ber studio" finds "Acme Studio, Berlin".
            search: Option<String>,
            $($rest)*
        }

        impl $name {
            fn filters(self) -> LicenseQuery {
                let now = Timestamp::now();
                LicenseQuery {
                    plan: self.plan_id,
                    product: self.product_id,
                    status: self.status,
                    state: self.state.map(|state| (state, now)),
                    user: self.user_id,
                    ends: period(self.ends_from, self.ends_before),
                    seats: self.seats.map(|seats| (seats, now)),
                    trial: self.trial,
                    search: self.search,
                    ..LicenseQuery::default()
                }
            }
        }
    };
}

with_filters! {
    /// The query of the list of licenses.
    pub struct ListLicenses {
        limit: Option<Limit>,
        /// Only records after the one with this id: the `nextCursor` of the page before.
        after: Option<LicenseId>,
    }
}

with_filters! {
    /// The query of the totals.
    pub struct TotalLicenses {}
}

/// The period of which one or both limits are given.
fn period(from: Option<Timestamp>, before: Option<Timestamp>) -> Option<(Timestamp, Timestamp)> {
    let is_given = from.is_some() || before.is_some();
    is_given.then(|| (from.unwrap_or(Timestamp::FIRST), before.unwrap_or(Timestamp::LAST)))
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<ListLicenses>,
) -> Result<Streamed<List<LicenseWithSeats>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let query = query.filters();
    Streamed::list(params, move |page| licenses::page(view.clone(), query.clone(), page)).await
}

pub async fn totals(
    Reader(view): Reader,
    Query(query): Query<TotalLicenses>,
) -> Result<Data<LicenseTotals>, Error> {
    licenses::totals(view, query.filters()).await.map(Data)
}

pub async fn get(
    Reader(view): Reader,
    Id(id): Id<LicenseId>,
    _: NoQuery,
) -> Result<Single<LicenseWithSeats>, Error> {
    licenses::get(view, id).await.map(Single)
}

pub async fn update(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<LicenseId>,
    Json(body): Json<UpdateLicense>,
) -> Result<Idempotent<Changed<LicenseDetails>>, Error> {
    writer.expecting(expected).once(body, |change, body| licenses::update(change, id, body)).await
}

pub async fn renew(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<LicenseId>,
    Json(body): Json<RenewLicense>,
) -> Result<Idempotent<Changed<LicenseDetails>>, Error> {
    writer.expecting(expected).once(body, |change, body| licenses::renew(change, id, body)).await
}

pub async fn set_status(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<LicenseId>,
    Json(body): Json<SetStatus>,
) -> Result<Idempotent<Changed<LicenseDetails>>, Error> {
    writer
        .expecting(expected)
        .once(body, |change, body| licenses::set_status(change, id, body.status))
        .await
}

pub async fn delete(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<LicenseId>,
    Query(query): Query<DeleteLicense>,
) -> Result<Idempotent<Changed<LicenseDetails>>, Error> {
    let change = async |change, query: DeleteLicense| {
        licenses::delete(change, id, query.keys.is_some()).await
    };
    writer.expecting(expected).once(query, change).await
}

/// The query of the deletion of a license.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct DeleteLicense {
    /// Action for keys with which a user could still claim the license. Without it, they prevent
    /// the deletion of the license.
    keys: Option<OnKeys>,
}

pub async fn assign(
    writer: Writer,
    Id(id): Id<LicenseId>,
    Json(body): Json<AssignLicense>,
) -> Result<Idempotent<Upserted<Assignment>>, Error> {
    writer.once(body, |change, body| licenses::assign(change, id, body)).await
}

/// The query of the list of a license's assignments.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct ListAssignments {
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<AssignmentId>,
    /// Only users who claimed the license with this license key.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    key: Option<LicenseKeyId>,
}

pub async fn assignments(
    Reader(view): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<ListAssignments>,
) -> Result<Streamed<List<LicenseAssignment>>, Error> {
    licenses::get(view.clone(), id).await?;
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| licenses::assignments(view.clone(), id, query.key, page))
        .await
}

pub async fn unassign(
    writer: Writer,
    Id(id): Id<LicenseId>,
    ExternalIdParam(user): ExternalIdParam,
    Query(leases): Query<Leases>,
) -> Result<Idempotent<Changed<Assignment>>, Error> {
    writer
        .dropping_leases(leases.drops())
        .once((), |change, ()| async move {
            Ok(Changed(licenses::unassign(change, id, user).await?.assignment))
        })
        .await
}

pub async fn release(
    writer: Writer,
    Id(id): Id<LicenseId>,
    JsonAndQuery(body, leases): JsonAndQuery<ReleaseSeat, Leases>,
) -> Result<Idempotent<Changed<Released>>, Error> {
    writer
        .dropping_leases(leases.drops())
        .once(body, |change, body| release::release_one(change, id, body.user_id))
        .await
}

pub async fn transfer(
    writer: Writer,
    Id(id): Id<LicenseId>,
    JsonAndQuery(body, leases): JsonAndQuery<TransferLicense, Leases>,
) -> Result<Idempotent<Changed<LicenseAssignment>>, Error> {
    writer
        .dropping_leases(leases.drops())
        .once(body, |change, body| licenses::transfer(change, id, body))
        .await
}

/// The query that names the user to unassign.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnassignUser {
    /// The caller's own identifier of the user.
    user_id: ExternalId,
    /// `drop` frees the seat immediately, even if a lease holds it. If absent, that is a 409.
    #[serde(skip_serializing_if = "Option::is_none")]
    leases: Option<OnLease>,
}

/// Like [`unassign`], for users whose ids cannot be part of a path: `.` and `..`.
pub async fn unassign_by_query(
    writer: Writer,
    Id(id): Id<LicenseId>,
    Query(query): Query<UnassignUser>,
) -> Result<Idempotent<Changed<Assignment>>, Error> {
    writer
        .dropping_leases(query.leases.is_some())
        .once(query, |change, query| async move {
            Ok(Changed(licenses::unassign(change, id, Some(query.user_id)).await?.assignment))
        })
        .await
}
