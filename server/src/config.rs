//! Settings of the service.

use std::path::PathBuf;

use crate::auth::limit::{NewUserLimit, RateLimit};
use crate::delivery::addresses::AddressRules;
use crate::http::{ConnectionLimits, Tls, TrustedProxies};
use crate::ops::events::Retention;
use crate::ops::notices::ExpiryNotices;
use crate::secrets::SecretKeys;

/// The settings of a service, except its database.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub rate_limit: RateLimit,
    pub new_users: NewUserLimit,
    pub connections: ConnectionLimits,
    pub trusted_proxies: TrustedProxies,
    /// None for plain HTTP.
    pub tls: Option<Tls>,
    pub events_kept: Retention,
    pub expiry_notices: ExpiryNotices,
    pub secret_keys: SecretKeys,
    pub webhooks: WebhookSettings,
}

/// Settings of the sender of webhooks on this node.
#[derive(Clone, Debug, Default)]
pub struct WebhookSettings {
    /// Whether this node sends nothing, for drills with a restored copy and for incidents.
    pub are_off: bool,
    pub rules: AddressRules,
}

/// The default database: a file in the user's data folder.
pub fn default_database() -> PathBuf {
    match directories::ProjectDirs::from("", "", "licd") {
        Some(folders) => folders.data_dir().join("licd.db"),
        None => PathBuf::from("licd.db"),
    }
}
