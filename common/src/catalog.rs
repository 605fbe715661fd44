//! Products and their plans.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::terms::{clearable, with_terms};
use crate::{
    ExpiresFrom, ExpiresInDays, Features, Line, MaxSeats, Name, PlanId, PlanTerms, ProductId,
    Timestamp,
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

/// A plan: a template for licenses. A change of the plan does not change existing licenses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub id: PlanId,
    pub product_id: ProductId,
    pub name: Name,
    pub description: Option<Line>,
    /// Maximum number of seats. Null for no limit.
    pub max_seats: Option<MaxSeats>,
    /// Validity of new licenses in days. Null if they do not expire.
    pub expires_in_days: Option<ExpiresInDays>,
    #[cfg_attr(feature = "server", sqlx(json))]
    pub features: Features,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub terms: PlanTerms,
    /// Start of the days of `expiresInDays`. Null for the creation of the license.
    #[serde(default)]
    pub expires_from: Option<ExpiresFrom>,
    /// Whether licenses of the plan are trials, which numbers of sales leave out. It never affects
    /// decisions.
    #[serde(default)]
    #[cfg_attr(feature = "server", schemars(required))]
    pub trial: bool,
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
    ProductField, inline {
        Description = "description",
    }
}

with_terms! {
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub expires_from: Option<ExpiresFrom>,
        /// Whether licenses of the plan are trials. If absent, they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub trial: Option<bool>,
    }
}

with_terms! {
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub expires_from: Option<ExpiresFrom>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub trial: Option<bool>,
        /// Fields to set to null.
        pub clear: Option<Vec<PlanField>>,
    }
}

clearable! {
    /// The fields of a plan that can be cleared.
    PlanField {
        Description = "description",
        MaxSeats = "maxSeats",
        ExpiresInDays = "expiresInDays",
        ExpiresFrom = "expiresFrom",
    }
}
