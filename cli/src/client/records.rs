//! The records with statuses and roles, to which a later licd may add: licctl shows unknown words
//! as they are.

use common::{Feature, Features, Lease, Open, Role, SigningKeyState, Status, WebhookState};
use serde::Deserialize;

pub type CreatedKey = common::CreatedKey<Open<Role>>;
pub type CurrentKey = common::CurrentKey<Open<Role>>;
pub type ExplainedLicense = common::ExplainedLicense<Open<Status>>;
pub type Explanation = common::Explanation<Open<Status>>;
pub type Key = common::Key<Open<Role>>;
pub type License = common::License<Open<Status>>;
pub type LicenseDetails = common::LicenseDetails<Open<Status>>;
pub type LicenseWithSeats = common::LicenseWithSeats<Open<Status>>;
pub type CreatedWebhook = common::CreatedWebhook<Open<WebhookState>>;
pub type Webhook = common::Webhook<Open<WebhookState>>;
pub type SigningKey = common::SigningKey<Open<SigningKeyState>>;
pub type SigningKeys = common::SigningKeys<Open<SigningKeyState>>;
pub type Usage = common::Usage<Open<Status>>;

/// The answer to a request for a lease.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseAnswer {
    pub valid: bool,
    pub reason: Option<String>,
    pub lease: Option<Lease>,
    pub lease_reason: Option<Open<common::LeaseReason>>,
}

/// The answer to a validation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    pub valid: bool,
    pub reason: Option<String>,
    pub license: Option<License>,
    pub features: Option<Features>,
    /// Required features that the license lacks, which licctl adds.
    #[serde(default)]
    pub missing_features: Vec<Feature>,
}
