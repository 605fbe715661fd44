//! Licenses, their assignments to users, and activations.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::terms::{clearable, with_terms};
use crate::{
    ActivationId, AssignmentId, ExpiresInDays, ExternalId, Features, LicenseId, Line, MaxSeats,
    Metadata, MetadataPatch, Name, NewUser, Open, PlanId, ProductId, Terms, Timestamp, UserId,
};

string_enum! {
    /// The status of a license. Only an administrator changes it; passing `expiresAt` does not.
    Status {
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
    /// Id of the plan from which the license was created.
    pub plan_id: PlanId,
    pub status: S,
    /// Maximum number of users who hold a seat. Null for no limit.
    pub max_seats: Option<MaxSeats>,
    /// Time from which the license is expired. Null if it does not expire.
    pub expires_at: Option<Timestamp>,
    #[cfg_attr(feature = "server", sqlx(json))]
    pub features: Features,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl<S> License<S> {
    /// Whether the end has passed. An active license is then expired.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

string_enum! {
    /// State of a license for validations, from its status, its end and its days of grace.
    LicenseState {
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
    /// Returns the end of the grace period, if the license is in it.
    pub fn in_grace_until(&self, terms: &Terms, now: Timestamp) -> Option<Timestamp> {
        let is_over = self.status == Status::Active && self.has_ended(now);
        terms.grace_ends_at(self.expires_at).filter(|end| is_over && now < *end)
    }

    pub fn is_in_grace(&self, terms: &Terms, now: Timestamp) -> bool {
        self.in_grace_until(terms, now).is_some()
    }

    /// Returns the start of the next term if the license is renewed now. It is the end of the
    /// present term, even in grace, so that customers lose no days by paying early and gain none by
    /// paying late.
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
    /// Returns the status for validations. An active license past its end is expired. A suspended
    /// or revoked license stays so, because an administrator decided that.
    pub fn effective_status(&self, now: Timestamp) -> S {
        if self.status == Status::Active && self.has_ended(now) {
            Status::Expired.into()
        } else {
            self.status.clone()
        }
    }
}

/// A license with its terms, name and metadata. Name and metadata never affect decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[cfg_attr(feature = "server", schemars(rename = "LicenseDetails"))]
pub struct LicenseDetails<S = Status> {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub license: License<S>,
    /// Name of the license, such as that of a customer or an order.
    pub name: Option<Name>,
    #[cfg_attr(feature = "server", sqlx(json(nullable)))]
    pub metadata: Option<Metadata>,
    /// Terms. Absent if the license has none.
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
    /// Number of users who hold a seat.
    pub used: i32,
    /// Maximum number of users who hold a seat. Null for no limit.
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

/// The assignment of a license to a user. It takes no seat. The first valid validation does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub id: AssignmentId,
    /// Internal id of the user.
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
    /// Internal id of the user.
    pub user_id: UserId,
    pub license_id: LicenseId,
    pub activated_at: Timestamp,
    /// Time of the last valid validation.
    pub last_checked_at: Timestamp,
    /// Time until which the last lease holds the seat: its end plus five minutes, because clocks
    /// differ. Absent without a lease, and in responses to validations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "server", sqlx(default))]
    pub leased_until: Option<Timestamp>,
}

impl Activation {
    /// Returns the time until which a lease holds the seat, if one does.
    pub fn lease_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.leased_until.filter(|until| now < *until)
    }
}

#[cfg(feature = "server")]
impl Activation {
    /// Creates a seat, which is not stored yet.
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
    /// External id of the user.
    pub external_id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    /// Seat of the user. Null if the user holds none.
    pub activation: Option<Activation>,
}

/// A seat, with both ids of its user, and the email if known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct UsageActivation {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub activation: Activation,
    /// External id of the user.
    pub external_id: ExternalId,
    #[serde(default)]
    pub email: Option<Line>,
}

/// Held seats of a license.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Usage"))]
pub struct Usage<S = Status> {
    pub license: License<S>,
    /// Seats, oldest first.
    pub activations: Vec<UsageActivation>,
    /// Total number of held seats, even if `activations` is only a page.
    pub total_activations: i64,
    /// Number of users who hold them.
    pub active_seats: i64,
}

/// The body of `POST /api/v1/admin/licenses`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateLicense {
    pub plan_id: PlanId,
    /// Overrides the plan's value.
    pub expires_in_days: Option<ExpiresInDays>,
    /// End of the license. Overrides the plan. Cannot be combined with `expiresInDays`.
    pub expires_at: Option<Timestamp>,
    /// Name, such as that of a customer or an order. It never affects decisions.
    pub name: Option<Name>,
    pub metadata: Option<Metadata>,
    /// Assigns the license to a user. Either both are done or neither is.
    pub assign_to: Option<AssignLicense>,
    /// With `assignTo`: creates no license if the user has one of the plan that is active or
    /// suspended. The response is then that license, with status 200.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unless_held: bool,
}

/// The body of `POST /api/v1/admin/licenses/{id}/transfer`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferLicense {
    /// External id of the user who has the license.
    pub from_user_id: ExternalId,
    /// External id of the user who gets the license. An unknown user is created. A user can have at
    /// most 100 licenses.
    pub to_user_id: ExternalId,
}

/// The body of `POST /api/v1/admin/licenses/{id}/assign`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignLicense {
    /// External id of the user. An unknown user is created; a user has at most
    /// 100 licenses.
    pub user_id: ExternalId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_user: Option<NewUser>,
    /// Replaces the metadata. If absent, the metadata of an existing assignment stays. At most 16
    /// KiB as compact JSON and 32 levels, without NUL characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Changes the metadata as in RFC 7396: given members replace existing ones, null removes one,
    /// and all others stay. Cannot be combined with `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_metadata: Option<MetadataPatch>,
    /// Whether validations consider this license before the user's others, even if it is assigned
    /// already. If absent, an existing assignment keeps its place, and a new one comes last.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first: bool,
}

impl AssignLicense {
    /// Creates an assignment without metadata, after the user's other licenses.
    pub fn to(user_id: ExternalId) -> Self {
        Self { user_id, new_user: None, metadata: None, merge_metadata: None, first: false }
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

with_terms! {
    /// The body of `PATCH /api/v1/admin/licenses/{id}`. Absent members stay as they are.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct UpdateLicense {
        /// Maximum number of seats. A limit below the number of held seats frees none, but prevents
        /// new ones.
        pub max_seats: Option<MaxSeats>,
        /// Adds this number to the limit. Cannot be combined with `maxSeats`, and fails without a
        /// limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub add_seats: Option<MaxSeats>,
        /// End of the license. A license that starts with its first validation then no longer does.
        pub expires_at: Option<Timestamp>,
        pub features: Option<Features>,
        pub name: Option<Name>,
        /// Replaces the metadata. At most 16 KiB as compact JSON and 32 levels, without NUL
        /// characters.
        pub metadata: Option<Metadata>,
        /// Changes the metadata as in RFC 7396: given members replace existing ones, null removes
        /// one, and all others stay. Cannot be combined with `metadata`.
        pub merge_metadata: Option<MetadataPatch>,
        /// Makes the license start with its first validation, and end this number of days later.
        /// Fails while a user holds a seat. Cannot be combined with `expiresAt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub starts_with_days: Option<ExpiresInDays>,
        /// Applies a plan, which may belong to another product or be the present one. The license
        /// takes its limit, features and terms, except for those in this request. Its end stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub plan_id: Option<PlanId>,
        /// Fields to set to null.
        pub clear: Option<Vec<LicenseField>>,
    }
}

clearable! {
    /// The fields of a license that can be cleared.
    LicenseField {
        MaxSeats = "maxSeats",
        ExpiresAt = "expiresAt",
        Name = "name",
        Metadata = "metadata",
    }
}
