//! Leases: with one, an application knows without the network that its user is licensed, until the
//! lease ends. The seat stays counted as long.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    AssignmentId, DeviceName, ExternalId, InvalidAnswer, LeaseId, LicenseId, Open, ProductId,
    Timestamp, TtlSeconds, UserId, ValidAnswer,
};

/// The body of `POST /api/v1/lease`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RequestLease {
    /// The caller's own identifier of the user. An unknown user is created.
    pub user_id: ExternalId,
    /// Only licenses of this product count, and the lease names it, so that an application takes none
    /// of another.
    pub product_id: ProductId,
    /// How long the lease is to last. A key with the role `validate` gets at most the license's
    /// `maxLeaseSeconds`. Absent: as much as the license offers, unless its seats are floating.
    pub ttl_seconds: Option<TtlSeconds>,
    /// The machine, as the application recognizes it again. The lease repeats it, unread.
    pub device: Option<DeviceName>,
}

/// A validation's answer, and if it is valid, a lease or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LeaseAnswer {
    Valid(Box<LeasedAnswer>),
    Invalid(InvalidAnswer),
}

/// The answer to a licensed user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeasedAnswer {
    #[serde(flatten)]
    pub validation: ValidAnswer,
    pub lease: Option<Lease>,
    /// Why there is no lease; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_reason: Option<Open<LeaseReason>>,
}

/// One schema, as of [`Validation`](crate::Validation).
#[cfg(feature = "server")]
impl schemars::JsonSchema for LeaseAnswer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LeaseAnswer".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let lease = generator.subschema_for::<Option<Lease>>();
        let reason = generator.subschema_for::<Open<LeaseReason>>();
        let mut schema = crate::Validation::json_schema(generator);
        schema.insert(
            "description".into(),
            "What a validation answers. A valid answer has `lease` too, which is null if there is \
             none; then `leaseReason` says why."
                .into(),
        );
        let members = schema.ensure_object().get_mut("properties");
        if let Some(members) = members.and_then(|it| it.as_object_mut()) {
            members.insert("lease".into(), lease.to_value());
            members.insert("leaseReason".into(), reason.to_value());
        }
        schema
    }
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    pub id: LeaseId,
    /// The signed lease, a line of text: a JSON Web Token.
    pub token: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    /// When half of its time has passed: from then on the application asks for the next one.
    pub renew_after: Timestamp,
}

string_enum! {
    /// Why a licensed user gets no lease. Later versions may have more.
    LeaseReason, "why there is no lease" {
        /// The license has no `maxLeaseSeconds`; or the request no `ttlSeconds`, which floating seats
        /// require, and administrators where no lease is offered.
        NotOffered = "not_offered",
        /// The license ends within a minute.
        EndsSoon = "ends_soon",
        /// There is no signing key, or the server cannot open it.
        NoSigningKey = "no_signing_key",
        /// The lease would be longer than 16 KiB.
        TooLarge = "too_large",
    }
}

string_enum! {
    /// What happens to a lease that holds a seat which is to be taken away.
    OnLease, "drop", inline {
        /// The seat is free at once. Until the lease ends, one user more than there are seats may use
        /// the license.
        Drop = "drop",
    }
}

/// A lease that holds a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct RunningLease {
    /// The id of the user's assignment to the license.
    pub id: AssignmentId,
    /// The internal id of the user.
    pub user_id: UserId,
    /// The caller's own identifier of the user.
    pub external_id: ExternalId,
    pub license_id: LicenseId,
    /// The device that the last lease was issued for, if the request named one.
    pub device: Option<DeviceName>,
    /// The end of the last lease plus five minutes: the seat cannot be freed before.
    pub leased_until: Timestamp,
}

/// A seat that stays where it is, since a lease holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LeasedSeat {
    pub license_id: LicenseId,
    pub leased_until: Timestamp,
}
