//! What a vendor sells: products and their plans.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ExpiresFrom, ExpiresInDays, Features, GraceDays, Line, MaxLeaseSeconds, MaxSeats, Name, PlanId,
    ProductId, SeatIdleMinutes, Timestamp,
};

/// A product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Product {
    pub id: ProductId,
    pub name: Name,
    pub description: Option<Line>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A plan: the terms of the licenses created from it. A change of the plan does not change them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub id: PlanId,
    pub product_id: ProductId,
    pub name: Name,
    pub description: Option<Line>,
    /// Null: no limit.
    pub max_seats: Option<MaxSeats>,
    /// Null: the licenses do not expire.
    pub expires_in_days: Option<ExpiresInDays>,
    #[cfg_attr(feature = "server", sqlx(json))]
    pub features: Features,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// A seat whose user was not validated for so long may be taken over. Null: users keep theirs.
    #[serde(default)]
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    /// How long licenses are still valid past their end. Null: not at all.
    #[serde(default)]
    pub grace_days: Option<GraceDays>,
    /// From when `expiresInDays` counts. Null: from the creation of the license.
    #[serde(default)]
    pub expires_from: Option<ExpiresFrom>,
    /// How long leases of the licenses last at most. Null: applications are given none.
    #[serde(default)]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
}

/// The body of `POST /api/v1/admin/products`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateProduct {
    pub name: Name,
    pub description: Option<Line>,
}

/// The body of `PATCH /api/v1/admin/products/{id}`. Absent members stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateProduct {
    pub name: Option<Name>,
    pub description: Option<Line>,
    /// Fields to set to null.
    pub clear: Option<Vec<ProductField>>,
}

string_enum! {
    /// The fields of a product that can be cleared.
    ProductField, "description", inline {
        Description = "description",
    }
}

/// The body of `POST /api/v1/admin/plans`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePlan {
    pub product_id: ProductId,
    pub name: Name,
    pub description: Option<Line>,
    pub max_seats: Option<MaxSeats>,
    pub expires_in_days: Option<ExpiresInDays>,
    pub features: Option<Features>,
    /// At most 10,000 seats can be floating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_days: Option<GraceDays>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_from: Option<ExpiresFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
}

/// The body of `PATCH /api/v1/admin/plans/{id}`. Absent members stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdatePlan {
    pub name: Option<Name>,
    pub description: Option<Line>,
    pub max_seats: Option<MaxSeats>,
    pub expires_in_days: Option<ExpiresInDays>,
    pub features: Option<Features>,
    /// At most 10,000 seats can be floating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_days: Option<GraceDays>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_from: Option<ExpiresFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
    /// Fields to set to null.
    pub clear: Option<Vec<PlanField>>,
}

string_enum! {
    /// The fields of a plan that can be cleared.
    PlanField,
    "one of description, maxSeats, expiresInDays, seatIdleMinutes, graceDays, expiresFrom, \
     maxLeaseSeconds", inline {
        Description = "description",
        MaxSeats = "maxSeats",
        ExpiresInDays = "expiresInDays",
        SeatIdleMinutes = "seatIdleMinutes",
        GraceDays = "graceDays",
        ExpiresFrom = "expiresFrom",
        MaxLeaseSeconds = "maxLeaseSeconds",
    }
}
