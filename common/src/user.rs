//! Users of a vendor's application.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ExternalId, LicenseId, Line, Metadata, MetadataPatch, Name, Open, TenantId, Timestamp, UserId,
};

/// A user of the vendor's application, created by an administrator or by the first validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: UserId,
    pub tenant_id: TenantId,
    /// External id of the user.
    pub external_id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    #[cfg_attr(feature = "server", sqlx(json(nullable)))]
    pub metadata: Option<Metadata>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[cfg(feature = "server")]
impl User {
    /// Creates a user with only an external id, who is not stored yet.
    pub fn new(tenant_id: TenantId, external_id: ExternalId, now: Timestamp) -> Self {
        Self {
            id: UserId::new(now),
            tenant_id,
            external_id,
            email: None,
            name: None,
            metadata: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Data of a user whom a request creates along with another record. An existing user keeps theirs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
}

/// The body of `POST /api/v1/admin/users`, which updates an existing user: given members replace
/// the values, absent members stay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateUser {
    pub external_id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub metadata: Option<Metadata>,
    /// Changes the metadata as in RFC 7396: given members replace existing ones, null removes one,
    /// and all others stay. Cannot be combined with `metadata`.
    pub merge_metadata: Option<MetadataPatch>,
}

impl CreateUser {
    /// Creates the body with only an external id.
    pub fn new(external_id: ExternalId) -> Self {
        Self { external_id, email: None, name: None, metadata: None, merge_metadata: None }
    }
}

/// The body of `PATCH /api/v1/admin/users/{id}`. Absent members stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateUser {
    /// New external id, which must be unused. The user keeps licenses and seats. Past refusals stay
    /// with the old id.
    pub external_id: Option<ExternalId>,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub metadata: Option<Metadata>,
    /// Changes the metadata as in RFC 7396: given members replace existing ones, null removes one,
    /// and all others stay. Cannot be combined with `metadata`.
    pub merge_metadata: Option<MetadataPatch>,
    /// Fields to set to null.
    pub clear: Option<Vec<UserField>>,
}

string_enum! {
    /// The fields of a user that can be cleared.
    UserField, inline {
        Email = "email",
        Name = "name",
        Metadata = "metadata",
    }
}

/// The body of `POST /api/v1/admin/users/{id}/forget`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetUser {
    /// Whether the present and former external ids are replaced by `forgotten-…` too, because they
    /// are often email addresses. The application must then send the new id. If absent, false.
    pub external_id: Option<bool>,
}

/// A user whose personal data was removed, and the data that remains.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForgottenUser {
    /// Internal id of the user.
    pub user_id: UserId,
    /// External id, which is `forgotten-…` if it was replaced.
    pub external_id: ExternalId,
    /// Number of events from which data was removed.
    pub changed_events: i64,
    /// Data about the user that remains.
    pub remaining: Vec<RemainingData>,
}

/// Data about a forgotten user that remains.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemainingData {
    #[serde(rename = "type")]
    pub kind: Open<RemainingType>,
    /// Description of the data, and how to remove it.
    pub description: String,
    /// Id of the license. Null for other data.
    pub license_id: Option<LicenseId>,
    /// Time at which the data is gone. Null if it stays until you remove it.
    pub until: Option<Timestamp>,
}

string_enum! {
    /// Data about a forgotten user. Later versions may have more.
    RemainingType, "the type of data that remains" {
        /// The name and metadata of a license, which may name its customer.
        License = "license",
        /// The external id, if it was not replaced.
        ExternalId = "external_id",
        /// Offline leases, which contain the external id and the name of a device.
        Lease = "lease",
        /// Responses that are stored for their `Idempotency-Key`.
        StoredResponse = "stored_response",
        /// Events that receivers of webhooks already have.
        Delivery = "delivery",
        /// Backups of the database.
        Backup = "backup",
    }
}
