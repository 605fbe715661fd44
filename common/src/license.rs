//! Licenses and what binds users to them: assignments and activations.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ActivationId, AssignmentId, ExpiresInDays, ExternalId, Features, LicenseId, MaxSeats, Metadata,
    PlanId, ProductId, Timestamp, UserId,
};

string_enum! {
    /// Where a license stands. It is moved only by the administrator; that time has passed
    /// `expiresAt` never rewrites it.
    Status, "one of active, suspended, revoked, expired" {
        Active = "active",
        Suspended = "suspended",
        Revoked = "revoked",
        Expired = "expired",
    }
}

/// A license: the same nine fields wherever one is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct License {
    pub id: LicenseId,
    pub product_id: ProductId,
    /// The plan it was made from.
    pub plan_id: PlanId,
    pub status: Status,
    /// How many users may hold a seat at once; null for no limit.
    pub max_seats: Option<MaxSeats>,
    /// The first moment at which it is no longer valid; null for never.
    pub expires_at: Option<Timestamp>,
    #[cfg_attr(feature = "server", sqlx(json))]
    pub features: Features,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The seats of a license.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Seats {
    /// How many users hold one.
    pub used: i32,
    /// How many users may; null for no limit.
    pub allowed: Option<MaxSeats>,
}

/// A license with its seats, as lists and `GET` by id show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct LicenseWithSeats {
    #[serde(flatten)]
    pub license: License,
    pub seats: Seats,
}

/// A user's link to a license. It takes no seat; the first successful validation does.
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
}

#[cfg(feature = "server")]
impl Activation {
    /// A fresh seat, which nobody has stored yet.
    pub fn new(user_id: UserId, license_id: LicenseId, now: Timestamp) -> Self {
        let id = ActivationId::new(now);
        Self { id, user_id, license_id, activated_at: now, last_checked_at: now }
    }
}

/// A seat, with the user's identifier on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct UsageActivation {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub activation: Activation,
    /// The caller's own identifier of the user.
    pub external_id: ExternalId,
}

/// Who uses a license, all read at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub license: License,
    /// The seats held now, oldest first.
    pub activations: Vec<UsageActivation>,
    /// How many seats are held in all, also when `activations` is only a page of them.
    pub total_activations: i64,
    /// How many different users hold them.
    pub active_seats: i64,
}

/// The body of `POST /api/v1/admin/licenses`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateLicense {
    pub plan_id: PlanId,
    /// Overrides the plan's own.
    pub expires_in_days: Option<ExpiresInDays>,
}

/// The body of `POST /api/v1/admin/licenses/{id}/assign`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssignLicense {
    /// The caller's own identifier of the user, who is made if unknown, and has at most 100
    /// licenses.
    pub user_id: ExternalId,
    /// Replaces what an earlier assignment carried; absent leaves it.
    pub metadata: Option<Metadata>,
}

/// The body of `PATCH /api/v1/admin/licenses/{id}/status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct SetStatus {
    pub status: Status,
}

/// The body of `PATCH /api/v1/admin/licenses/{id}`. What is absent stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpdateLicense {
    /// A limit below the seats in use refuses newcomers; nobody loses a seat.
    pub max_seats: Option<MaxSeats>,
    pub expires_at: Option<Timestamp>,
    pub features: Option<Features>,
    /// Fields to set to null.
    pub clear: Option<Vec<LicenseField>>,
}

string_enum! {
    /// The fields of a license that can be cleared.
    LicenseField, "one of maxSeats, expiresAt" {
        MaxSeats = "maxSeats",
        ExpiresAt = "expiresAt",
    }
}
