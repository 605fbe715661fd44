//! The question the service exists for, its answer, and the answer explained.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    Activation, ConstBool, ExternalId, Features, License, Name, ProductId, Timestamp, User,
    UserRefusal,
};

/// The body of `POST /api/v1/validate`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Validate {
    /// The caller's own identifier of the user, who is made if unknown.
    pub user_id: ExternalId,
    /// Looks only at this product's licenses.
    pub product_id: Option<ProductId>,
}

/// Whether a user is licensed. "No" is an answer too, never an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Validation {
    Valid(Box<ValidAnswer>),
    Invalid(InvalidAnswer),
}

impl Validation {
    pub fn valid(license: License, activation: Activation) -> Self {
        let features = license.features.clone();
        Self::Valid(Box::new(ValidAnswer { valid: ConstBool, license, activation, features }))
    }

    pub fn invalid(reason: Reason) -> Self {
        Self::Invalid(InvalidAnswer { valid: ConstBool, reason })
    }
}

/// The user is licensed, and holds a seat from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct ValidAnswer {
    pub valid: ConstBool<true>,
    pub license: License,
    pub activation: Activation,
    /// The license's features once more, where applications look first.
    pub features: Features,
}

/// The user is not licensed, and nothing but perhaps the user was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct InvalidAnswer {
    pub valid: ConstBool<false>,
    pub reason: Reason,
}

string_enum! {
    /// Why a user is not licensed.
    Reason, "one of no_license, expired, revoked, suspended, exceeded_seats, user_not_found" {
        /// No license is assigned to the user.
        NoLicense = "no_license",
        Expired = "expired",
        Revoked = "revoked",
        Suspended = "suspended",
        /// The selected license has no seat left, and the user holds none.
        ExceededSeats = "exceeded_seats",
        /// Only when explaining: a validation would make the user.
        UserNotFound = "user_not_found",
    }
}

/// The body of `POST /api/v1/admin/explain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    /// The caller's own identifier of the user.
    pub user_id: ExternalId,
    /// Looks only at this product's licenses.
    pub product_id: Option<ProductId>,
}

/// What a validation would answer at `checkedAt`, and why. Asking has no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub valid: bool,
    /// Null when valid.
    pub reason: Option<Reason>,
    /// The answer in a sentence.
    pub summary: String,
    pub checked_at: Timestamp,
    /// Null when the user is not known.
    pub user: Option<User>,
    /// Every license assigned to the user, in the order in which a validation looks at them.
    pub licenses: Vec<ExplainedLicense>,
    /// The user's last refused validations, newest first, known some seconds late.
    #[serde(default)]
    pub refusals: Vec<UserRefusal>,
}

/// One assigned license and what a validation makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExplainedLicense {
    pub license: License,
    pub product_name: Name,
    pub plan_name: Name,
    pub assigned_at: Timestamp,
    /// How many users hold a seat; the license's `maxSeats` says how many may.
    pub seats_used: i32,
    /// The seat of this user; null when the user holds none.
    pub activation: Option<Activation>,
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub sentence: String,
}

string_enum! {
    /// What a validation makes of one license.
    Verdict, "the verdict on a license" {
        /// Selected, and good.
        Valid = "valid",
        /// Selected, but full: it alone decides, so the answer is no.
        ExceededSeats = "exceeded_seats",
        Expired = "expired",
        Suspended = "suspended",
        Revoked = "revoked",
        /// Good in itself, but an earlier license was selected.
        NotReached = "not_reached",
        /// Of another product than the one asked for.
        OtherProduct = "other_product",
    }
}
