//! Leases, with which an application is licensed offline until the lease ends. The seat stays taken
//! until then.

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
    /// External id of the user. An unknown user is created.
    pub user_id: ExternalId,
    /// Id of the product. Only its licenses count, and the lease contains it, so that an
    /// application accepts no lease of another product.
    pub product_id: ProductId,
    /// Duration of the lease in seconds. A key with the role `validate` gets at most the license's
    /// `maxLeaseSeconds`. If absent, the maximum that the license offers, unless its seats are
    /// floating.
    pub ttl_seconds: Option<TtlSeconds>,
    /// Text by which the application recognizes the machine. The lease repeats it.
    pub device: Option<DeviceName>,
}

/// The result of a validation and, if it is valid, a lease or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LeaseAnswer {
    Valid(Box<LeasedAnswer>),
    Invalid(InvalidAnswer),
}

/// The response for a licensed user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeasedAnswer {
    #[serde(flatten)]
    pub validation: ValidAnswer,
    pub lease: Option<Lease>,
    /// Reason why there is no lease. Absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_reason: Option<Open<LeaseReason>>,
}

/// Describes one schema, as [`Validation`](crate::Validation) does.
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
    /// Signed lease: a JSON Web Token, which is a line of text.
    pub token: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    /// Time at which half of the duration has passed. From then on the application requests the
    /// next lease.
    pub renew_after: Timestamp,
}

string_enum! {
    /// Reason why a licensed user gets no lease. Later versions may have more.
    LeaseReason, "why there is no lease" {
        /// The license has no `maxLeaseSeconds`, or the request has no `ttlSeconds`. That is
        /// required for floating seats, and for an administrator if the license offers no leases.
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
    /// Treatment of a lease that holds the seat to free.
    OnLease, "drop", inline {
        /// Frees the seat immediately. Until the lease ends, one more user than there are seats may
        /// use the license.
        Drop = "drop",
    }
}

/// A lease that holds a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct RunningLease {
    /// Id of the user's assignment to the license.
    pub id: AssignmentId,
    /// Internal id of the user.
    pub user_id: UserId,
    /// External id of the user.
    pub external_id: ExternalId,
    pub license_id: LicenseId,
    /// Device of the last lease, if the request named one.
    pub device: Option<DeviceName>,
    /// End of the last lease plus five minutes. The seat cannot be freed before.
    pub leased_until: Timestamp,
}

/// A seat that was not released, because a lease holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LeasedSeat {
    pub license_id: LicenseId,
    pub leased_until: Timestamp,
}
