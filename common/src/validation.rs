//! Validations and explanations: requests and responses.

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
    /// External id of the user. An unknown user is created.
    pub user_id: ExternalId,
    /// Id of the product. Only its licenses count. Null is the same as absent.
    pub product_id: Option<ProductId>,
}

/// Whether a user is licensed. `valid: false` is a result, not an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Validation {
    Valid(Box<ValidAnswer>),
    Invalid(InvalidAnswer),
}

/// Describes one schema for both results, because generated clients in Java, Kotlin and Ruby cannot
/// distinguish two.
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
    /// Features of the license.
    pub features: Features,
    /// Only for a floating seat: interval in seconds in which the application must validate to keep
    /// it.
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
    /// Reason why a user is not licensed. Later versions may have more.
    Reason {
        /// No license is assigned to the user.
        NoLicense = "no_license",
        Expired = "expired",
        Revoked = "revoked",
        Suspended = "suspended",
        /// The selected license has no free seat, and the user holds none.
        ExceededSeats = "exceeded_seats",
        /// Only in explanations, because a validation creates the user.
        UserNotFound = "user_not_found",
    }
}

/// The body of `POST /api/v1/admin/explain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Explain {
    /// External id of the user.
    pub user_id: ExternalId,
    /// Id of the product. Only its licenses count. Null is the same as absent.
    pub product_id: Option<ProductId>,
}

/// The result of a validation at `checkedAt`, with its reasons. An explanation has no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Explanation"))]
pub struct Explanation<S = Status> {
    pub valid: bool,
    /// Reason. Null if valid.
    pub reason: Option<Open<Reason>>,
    /// Result in a sentence.
    pub summary: String,
    pub checked_at: Timestamp,
    /// User. Null if unknown.
    pub user: Option<User>,
    /// All licenses of the user, in the order in which a validation considers them.
    pub licenses: Vec<ExplainedLicense<S>>,
    /// Last refused validations of the user, newest first, with a delay of some seconds.
    #[serde(default)]
    pub refusals: Vec<UserRefusal>,
    /// At most three users with a license who may be the same person, if the user is unknown or has
    /// no license: their external id, email or name is the same except for case, accents and
    /// punctuation.
    #[serde(default)]
    pub similar_users: Vec<User>,
    /// User who had this external id before and has another one now, if the user is not licensed. The
    /// application may still send the old id. Absent if there is no such user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<RenamedUser>,
}

/// A user who had another external id before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RenamedUser {
    /// Internal id of the user.
    pub user_id: UserId,
    /// Present external id.
    pub external_id: ExternalId,
    /// Time at which the external id changed.
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
    /// Name of the license, such as that of a customer or an order. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// License key with which the user claimed the license. Absent if the license was assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_with: Option<LicenseKeyId>,
    /// Terms of the license. Absent if it has none.
    #[serde(default, skip_serializing_if = "Terms::are_none")]
    pub terms: Terms,
    /// Number of users who hold a seat. The limit is `maxSeats` of the license.
    pub seats_used: i32,
    /// Seat of this user. Null if the user holds none.
    pub activation: Option<Activation>,
    pub verdict: Open<Verdict>,
    /// Verdict in a sentence.
    pub sentence: String,
    /// Remedies if the user is refused because of this license, least drastic first.
    #[serde(default)]
    pub remedies: Vec<Remedy>,
}

/// A change that licenses a refused user, on its own or together with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    #[serde(rename = "type")]
    pub kind: Open<RemedyType>,
    /// Of `free_seats`: number of users to unassign, which is more than one if the limit was lowered.
    pub count: Option<i32>,
    /// Of `free_seats`: some of the users who hold a seat, longest unused first. Users with a
    /// running lease come last.
    pub holders: Vec<UsageActivation>,
    /// Of `raise_limit`: the limit with which one seat is free.
    pub max_seats: Option<MaxSeats>,
    /// Of `renew`: another term of the license's plan, if it has one. It starts now or, in the
    /// grace period, at the end of the previous term.
    pub term: Option<Term>,
}

#[cfg(feature = "server")]
impl Remedy {
    /// Creates a remedy with only a type.
    pub fn new(kind: RemedyType) -> Self {
        let kind = Open::Known(kind);
        Self { kind, count: None, holders: Vec::new(), max_seats: None, term: None }
    }
}

string_enum! {
    /// Type of a remedy. Later versions may have more.
    RemedyType, "the type of a remedy" {
        /// Unassign this user from this license, because another license of the user has a free seat.
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
    /// Duration in days.
    pub days: ExpiresInDays,
    /// End of the term if the license is renewed now.
    pub expires_at: Timestamp,
}

#[cfg(feature = "server")]
impl Term {
    /// Creates a term. `None` if its end cannot be represented.
    pub fn beginning(start: Timestamp, days: ExpiresInDays) -> Option<Self> {
        start.plus_term(days).map(|expires_at| Self { days, expires_at })
    }
}

string_enum! {
    /// The verdict of a validation on one license. Later versions may have more.
    Verdict, "the verdict on a license" {
        /// The license decides, and a seat is held or free.
        Valid = "valid",
        /// The license is in force, but no seat is free.
        ExceededSeats = "exceeded_seats",
        Expired = "expired",
        Suspended = "suspended",
        Revoked = "revoked",
        /// The license is in force, but another license decides.
        NotReached = "not_reached",
        /// The license is for another product.
        OtherProduct = "other_product",
    }
}
