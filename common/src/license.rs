//! Licenses, their assignments to users, and activations.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ActivationId, AssignmentId, ExpiresInDays, ExternalId, Features, GraceDays, LicenseId, Line,
    MaxLeaseSeconds, MaxSeats, Metadata, MetadataPatch, Name, Open, PlanId, ProductId,
    SeatIdleMinutes, Terms, Timestamp, UserId,
};

string_enum! {
    /// The status of a license. Only an administrator changes it; passing `expiresAt` does not.
    Status, "one of active, suspended, revoked, expired" {
        Active = "active",
        Suspended = "suspended",
        Revoked = "revoked",
        Expired = "expired",
    }
}

/// A license.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "License"))]
pub struct License<S = Status> {
    pub id: LicenseId,
    pub product_id: ProductId,
    /// The plan from which the license was created.
    pub plan_id: PlanId,
    pub status: S,
    /// How many users may hold a seat at once; null: no limit.
    pub max_seats: Option<MaxSeats>,
    /// The time from which the license is expired; null: no expiry.
    pub expires_at: Option<Timestamp>,
    #[cfg_attr(feature = "server", sqlx(json))]
    pub features: Features,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl<S> License<S> {
    /// Whether its end has passed. If it is active, it is expired then.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

string_enum! {
    /// What a validation makes of a license: its status, and its end and grace.
    LicenseState, "one of active, suspended, revoked, expired, grace" {
        Active = "active",
        Suspended = "suspended",
        Revoked = "revoked",
        /// The status is expired, or the end and the grace have passed.
        Expired = "expired",
        /// The end has passed, and the grace has not.
        Grace = "grace",
    }
}

impl<S: PartialEq<Status>> License<S> {
    /// Until when a license with these terms is valid past its end, if it is now.
    pub fn in_grace_until(&self, terms: &Terms, now: Timestamp) -> Option<Timestamp> {
        let is_over = self.status == Status::Active && self.has_ended(now);
        terms.grace_ends_at(self.expires_at).filter(|end| is_over && now < *end)
    }

    pub fn is_in_grace(&self, terms: &Terms, now: Timestamp) -> bool {
        self.in_grace_until(terms, now).is_some()
    }

    /// When the next term of a license begins that is renewed now: when this one ends, or ended if it
    /// is in grace, so that nobody loses days by paying early, or gains them by paying late.
    pub fn renews_from(&self, terms: &Terms, now: Timestamp) -> Timestamp {
        match self.expires_at {
            Some(end) if end > now || self.is_in_grace(terms, now) => end,
            _ => now,
        }
    }
}

impl From<Status> for Open<Status> {
    fn from(status: Status) -> Self {
        Self::Known(status)
    }
}

impl<S: Clone + From<Status> + PartialEq<Status>> License<S> {
    /// The status as a validation treats it: an active license past its end is expired. What a person
    /// decided says more than a date, so one that is suspended or revoked stays so.
    pub fn effective_status(&self, now: Timestamp) -> S {
        if self.status == Status::Active && self.has_ended(now) {
            Status::Expired.into()
        } else {
            self.status.clone()
        }
    }
}

/// A license with its terms and what its vendor noted on it, which has no part in decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[cfg_attr(feature = "server", schemars(rename = "LicenseDetails"))]
pub struct LicenseDetails<S = Status> {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub license: License<S>,
    /// The license's name, such as that of a customer or an order.
    pub name: Option<Name>,
    #[cfg_attr(feature = "server", sqlx(json(nullable)))]
    pub metadata: Option<Metadata>,
    /// Absent if it has none.
    #[serde(default, skip_serializing_if = "Terms::are_none")]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub terms: Terms,
}

impl<S> Deref for LicenseDetails<S> {
    type Target = License<S>;

    fn deref(&self) -> &License<S> {
        &self.license
    }
}

/// The seats of a license.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Seats {
    /// How many users hold a seat.
    pub used: i32,
    /// How many users may hold one; null: no limit.
    pub allowed: Option<MaxSeats>,
}

/// A license with its name, metadata and seats, as in lists and in `GET` by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "LicenseWithSeats"))]
pub struct LicenseWithSeats<S = Status> {
    #[serde(flatten)]
    pub details: LicenseDetails<S>,
    pub seats: Seats,
}

impl<S> Deref for LicenseWithSeats<S> {
    type Target = LicenseDetails<S>;

    fn deref(&self) -> &LicenseDetails<S> {
        &self.details
    }
}

/// The assignment of a license to a user. It takes no seat; the first successful validation does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub id: AssignmentId,
    /// The internal id of the user.
    pub user_id: UserId,
    pub license_id: LicenseId,
    pub assigned_at: Timestamp,
    #[cfg_attr(feature = "server", sqlx(json(nullable)))]
    pub metadata: Option<Metadata>,
}

/// A seat that a user holds on a license.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    pub id: ActivationId,
    /// The internal id of the user.
    pub user_id: UserId,
    pub license_id: LicenseId,
    pub activated_at: Timestamp,
    /// The time of the latest successful validation.
    pub last_checked_at: Timestamp,
    /// Until when the last lease holds the seat, with five minutes for clocks. Absent if there was
    /// none, and in answers of validations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "server", sqlx(default))]
    pub leased_until: Option<Timestamp>,
}

impl Activation {
    /// Until when a lease holds the seat, if one does.
    pub fn lease_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.leased_until.filter(|until| now < *until)
    }
}

#[cfg(feature = "server")]
impl Activation {
    /// A new seat, which is not stored yet.
    pub fn new(user_id: UserId, license_id: LicenseId, now: Timestamp) -> Self {
        let id = ActivationId::new(now);
        Self {
            id,
            user_id,
            license_id,
            activated_at: now,
            last_checked_at: now,
            leased_until: None,
        }
    }
}

/// An assignment, with its user and the seat that the user holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LicenseAssignment {
    #[serde(flatten)]
    pub assignment: Assignment,
    /// The caller's own identifier of the user.
    pub external_id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    /// The seat; null while the user holds none.
    pub activation: Option<Activation>,
}

/// A seat, with both identifiers of its user, and the email if it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct UsageActivation {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub activation: Activation,
    /// The caller's own identifier of the user.
    pub external_id: ExternalId,
    #[serde(default)]
    pub email: Option<Line>,
}

/// The seats of a license that are held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Usage"))]
pub struct Usage<S = Status> {
    pub license: License<S>,
    /// The seats held now, oldest first.
    pub activations: Vec<UsageActivation>,
    /// How many seats are held in all, also if `activations` is a page of them.
    pub total_activations: i64,
    /// How many different users hold them.
    pub active_seats: i64,
}

/// The body of `POST /api/v1/admin/licenses`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateLicense {
    pub plan_id: PlanId,
    /// Overrides the plan's value.
    pub expires_in_days: Option<ExpiresInDays>,
    /// When the license ends, whatever the plan says. Not together with `expiresInDays`.
    pub expires_at: Option<Timestamp>,
    /// A name, such as that of a customer or an order. It has no part in decisions.
    pub name: Option<Name>,
    pub metadata: Option<Metadata>,
}

/// The body of `POST /api/v1/admin/licenses/{id}/transfer`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferLicense {
    /// The caller's own identifier of the user who has the license.
    pub from_user_id: ExternalId,
    /// The same of the user who gets it. An unknown user is created; a user has at most 100 licenses.
    pub to_user_id: ExternalId,
}

/// The body of `POST /api/v1/admin/licenses/{id}/assign`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignLicense {
    /// The caller's own identifier of the user. An unknown user is created; a user has at most
    /// 100 licenses.
    pub user_id: ExternalId,
    /// Replaces the metadata of an existing assignment; absent: it stays. At most 16 KiB as compact
    /// JSON and 32 levels, without NUL characters.
    pub metadata: Option<Metadata>,
    /// Changes the metadata as in RFC 7396: given members replace former ones, null removes one, and
    /// all others stay. Not together with `metadata`.
    pub merge_metadata: Option<MetadataPatch>,
    /// Whether validations look at this license before all others that the user has, also at one
    /// that is assigned already; absent: it stays where it is, and a new one comes last.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first: bool,
}

impl AssignLicense {
    /// An assignment without metadata, after the user's other licenses.
    pub fn to(user_id: ExternalId) -> Self {
        Self { user_id, metadata: None, merge_metadata: None, first: false }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The body of `PATCH /api/v1/admin/licenses/{id}/status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetStatus {
    pub status: Status,
}

/// The body of `PATCH /api/v1/admin/licenses/{id}`. Absent members stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateLicense {
    /// A limit below the number of seats held takes no seat away; it prevents new ones.
    pub max_seats: Option<MaxSeats>,
    /// Of a license that waits for its first validation: it does not any more.
    pub expires_at: Option<Timestamp>,
    pub features: Option<Features>,
    pub name: Option<Name>,
    /// Replaces the former. At most 16 KiB as compact JSON and 32 levels, without NUL characters.
    pub metadata: Option<Metadata>,
    /// Changes the metadata as in RFC 7396: given members replace former ones, null removes one, and
    /// all others stay. Not together with `metadata`.
    pub merge_metadata: Option<MetadataPatch>,
    /// Seats that were not validated for so long may be taken over. Nobody counts as idle before so
    /// much time has passed since this change. At most 10,000 seats can be floating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_days: Option<GraceDays>,
    /// The license waits for its first validation, and ends so many days after it. Not while
    /// somebody holds a seat, and not together with `expiresAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_with_days: Option<ExpiresInDays>,
    /// Leases that are running stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
    /// Another plan, also of another product, or the same one anew: the license takes its limit,
    /// features and terms, but for those that this request sets. Its end stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// Fields to set to null.
    pub clear: Option<Vec<LicenseField>>,
}

string_enum! {
    /// The fields of a license that can be cleared.
    LicenseField,
    "one of maxSeats, expiresAt, name, metadata, seatIdleMinutes, graceDays, maxLeaseSeconds",
    inline {
        MaxSeats = "maxSeats",
        ExpiresAt = "expiresAt",
        Name = "name",
        Metadata = "metadata",
        SeatIdleMinutes = "seatIdleMinutes",
        GraceDays = "graceDays",
        MaxLeaseSeconds = "maxLeaseSeconds",
    }
}
