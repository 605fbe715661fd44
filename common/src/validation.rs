//! Validations and explanations: requests and answers.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    Activation, ConstBool, ExpiresInDays, ExternalId, Features, License, LicenseKeyId, MaxSeats,
    Name, Open, ProductId, SeatIdleMinutes, Status, Terms, Timestamp, UsageActivation, User,
    UserId, UserRefusal,
};

/// The body of `POST /api/v1/validate`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Validate {
    /// The caller's own identifier of the user. An unknown user is created.
    pub user_id: ExternalId,
    /// Only licenses of this product count. Null is as if it were absent.
    pub product_id: Option<ProductId>,
}

/// Whether a user is licensed. `valid: false` is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Validation {
    Valid(Box<ValidAnswer>),
    Invalid(InvalidAnswer),
}

/// One schema for both answers: of two, generated clients in Java, Kotlin and Ruby cannot tell
/// which one they read.
#[cfg(feature = "server")]
impl schemars::JsonSchema for Validation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Validation".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Whether a user is licensed. A valid answer has `license`, `activation` \
                            and `features`, another one has `reason`.",
            "type": "object",
            "properties": {
                "valid": { "description": "Whether the user is licensed and holds a seat.",
                    "type": "boolean" },
                "license": generator.subschema_for::<License>(),
                "activation": generator.subschema_for::<Activation>(),
                "features": generator.subschema_for::<Features>(),
                "reason": generator.subschema_for::<Open<Reason>>(),
                "checkAfterSeconds": { "description": "How often the application asks at least, \
                    so that nobody takes a floating seat over. Absent for other seats.",
                    "type": "integer", "format": "int32" },
            },
            "required": ["valid"],
        })
    }
}

impl Validation {
    /// `idle`: how long a floating seat may stay unchecked.
    pub fn valid(license: License, activation: Activation, idle: Option<SeatIdleMinutes>) -> Self {
        Self::Valid(Box::new(ValidAnswer {
            valid: ConstBool,
            features: license.features.clone(),
            license,
            activation,
            check_after_seconds: idle.map(SeatIdleMinutes::check_after_seconds),
        }))
    }

    pub fn invalid(reason: Reason) -> Self {
        Self::Invalid(InvalidAnswer { valid: ConstBool, reason: Open::Known(reason) })
    }
}

/// The user is licensed and holds a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidAnswer {
    pub valid: ConstBool<true>,
    pub license: License,
    pub activation: Activation,
    /// The features of the license.
    pub features: Features,
    /// Of a floating seat alone: how often the application asks at least, so that nobody takes it
    /// over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_after_seconds: Option<i32>,
}

/// The user is not licensed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvalidAnswer {
    pub valid: ConstBool<false>,
    pub reason: Open<Reason>,
}

string_enum! {
    /// Why a user is not licensed. Later versions may have more.
    Reason, "one of no_license, expired, revoked, suspended, exceeded_seats, user_not_found" {
        /// No license is assigned to the user.
        NoLicense = "no_license",
        Expired = "expired",
        Revoked = "revoked",
        Suspended = "suspended",
        /// The selected license has no seat left, and the user holds none.
        ExceededSeats = "exceeded_seats",
        /// Only in explanations: a validation would create the user.
        UserNotFound = "user_not_found",
    }
}

/// The body of `POST /api/v1/admin/explain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Explain {
    /// The caller's own identifier of the user.
    pub user_id: ExternalId,
    /// Only licenses of this product count. Null is as if it were absent.
    pub product_id: Option<ProductId>,
}

/// The answer of a validation at `checkedAt`, and its reasons. An explanation has no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Explanation"))]
pub struct Explanation<S = Status> {
    pub valid: bool,
    /// Null if valid.
    pub reason: Option<Open<Reason>>,
    /// The answer in a sentence.
    pub summary: String,
    pub checked_at: Timestamp,
    /// Null if the user is unknown.
    pub user: Option<User>,
    /// Every license assigned to the user, in the order in which a validation looks at them.
    pub licenses: Vec<ExplainedLicense<S>>,
    /// The user's last refused validations, newest first, some seconds late.
    #[serde(default)]
    pub refusals: Vec<UserRefusal>,
    /// If the user is unknown or has no license: at most three users who have one, and whose
    /// external id, email or name is the same but for case, accents and signs. One may be meant.
    #[serde(default)]
    pub similar_users: Vec<User>,
    /// If the user is not licensed: the user who had this external id before and has another one now.
    /// The application may still send the former one. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<RenamedUser>,
}

/// A user who had another external id before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RenamedUser {
    /// The internal id of the user.
    pub user_id: UserId,
    /// The present external id.
    pub external_id: ExternalId,
    /// The time at which the user lost the former external id.
    pub renamed_at: Timestamp,
}

/// An assigned license and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "ExplainedLicense"))]
pub struct ExplainedLicense<S = Status> {
    pub license: License<S>,
    pub product_name: Name,
    pub plan_name: Name,
    pub assigned_at: Timestamp,
    /// The license's name, such as that of a customer or an order; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The license key with which the user claimed the license; absent if it was assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_with: Option<LicenseKeyId>,
    /// Absent if the license has none.
    #[serde(default, skip_serializing_if = "Terms::are_none")]
    pub terms: Terms,
    /// How many users hold a seat; `maxSeats` of the license is the limit.
    pub seats_used: i32,
    /// The seat of this user; null if the user holds none.
    pub activation: Option<Activation>,
    pub verdict: Open<Verdict>,
    /// The verdict in a sentence.
    pub sentence: String,
    /// If the user is refused because of this license: what would help, least drastic first.
    #[serde(default)]
    pub remedies: Vec<Remedy>,
}

/// A change that helps a refused user, alone or with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    #[serde(rename = "type")]
    pub kind: Open<RemedyType>,
    /// Of `free_seats`: how many users must be unassigned, more than one if the limit was lowered.
    pub count: Option<i32>,
    /// Of `free_seats`: some of the users who hold a seat, longest unused first, and last those
    /// whose lease runs.
    pub holders: Vec<UsageActivation>,
    /// Of `raise_limit`: the limit with which one seat is free.
    pub max_seats: Option<MaxSeats>,
    /// Of `renew`: another term of the license's plan, if the plan has one: beginning now, or
    /// in the days of grace, when the one before ended.
    pub term: Option<Term>,
}

#[cfg(feature = "server")]
impl Remedy {
    /// A remedy of this type alone.
    pub fn new(kind: RemedyType) -> Self {
        let kind = Open::Known(kind);
        Self { kind, count: None, holders: Vec::new(), max_seats: None, term: None }
    }
}

string_enum! {
    /// What a remedy changes. Later versions may have more.
    RemedyType, "the type of a remedy" {
        /// Unassign this user from this license: another of the user's licenses has a free seat.
        Unassign = "unassign",
        /// Unassign users who hold a seat.
        FreeSeats = "free_seats",
        /// Raise the seat limit.
        RaiseLimit = "raise_limit",
        /// Set the status to active.
        Activate = "activate",
        /// Set a new expiry.
        Renew = "renew",
    }
}

/// The term of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Term {
    /// How long it lasts.
    pub days: ExpiresInDays,
    /// When it ends if the license is renewed now.
    pub expires_at: Timestamp,
}

#[cfg(feature = "server")]
impl Term {
    /// None if its end cannot be represented.
    pub fn beginning(start: Timestamp, days: ExpiresInDays) -> Option<Self> {
        start.plus_term(days).map(|expires_at| Self { days, expires_at })
    }
}

string_enum! {
    /// The verdict of a validation on one license. Later versions may have more.
    Verdict, "the verdict on a license" {
        /// It decides, and a seat is held or free.
        Valid = "valid",
        /// In force, but no seat is free.
        ExceededSeats = "exceeded_seats",
        Expired = "expired",
        Suspended = "suspended",
        Revoked = "revoked",
        /// In force, but another license decides.
        NotReached = "not_reached",
        /// Of another product than the request names.
        OtherProduct = "other_product",
    }
}
