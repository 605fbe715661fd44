//! License keys: texts with which users claim a license. A license key is not an API key.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ExternalId, KeyState, KeyText, LicenseId, LicenseKeyId, MaxUses, Open, ProductId, Status,
    Timestamp,
};

string_enum! {
    /// Treatment of the keys of a deleted license.
    OnKeys, "revoke", inline {
        /// Revokes the keys with which a user could still claim the license.
        Revoke = "revoke",
    }
}

/// The record of a license key, without the key itself, because only its hash is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct LicenseKey {
    pub id: LicenseKeyId,
    pub license_id: LicenseId,
    /// Last characters of the key, for support. Null if the key is too short to show some.
    pub suffix: Option<String>,
    /// Maximum number of users who claim with the key. Null for the number of seats, or for no
    /// limit if the seats are floating.
    pub max_uses: Option<MaxUses>,
    /// Number of users who have claimed with the key and still have the license.
    pub uses: i64,
    /// Effective limit of uses: `maxUses`, or else the number of seats. Null for no limit.
    pub uses_limit: Option<i32>,
    /// Status of the license.
    pub license_status: Open<Status>,
    pub created_at: Timestamp,
    /// Time from which users cannot claim with the key. Null if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time of the revocation. Null if the key is not revoked.
    pub revoked_at: Option<Timestamp>,
}

impl LicenseKey {
    /// Whether the key itself is valid. A claim needs more: see [`state_name`](Self::state_name).
    pub fn state(&self, now: Timestamp) -> KeyState {
        KeyState::of(self.revoked_at, self.expires_at, now)
    }

    pub fn is_used_up(&self) -> bool {
        self.uses_limit.is_some_and(|limit| self.uses >= limit.into())
    }

    /// Returns the name of the state, which is "valid" only if a user can claim with the key.
    pub fn state_name(&self, now: Timestamp) -> &'static str {
        match (self.state(now), &self.license_status) {
            (KeyState::Revoked, _) => "revoked",
            (KeyState::Expired, _) => "expired",
            (_, Open::Known(Status::Revoked)) => "license revoked",
            (_, Open::Known(Status::Suspended)) => "license suspended",
            (_, Open::Known(Status::Expired)) => "license expired",
            _ if self.is_used_up() => "used up",
            _ => "valid",
        }
    }

    /// Returns the end of the key as people see it, or the id if too few characters are known.
    pub fn display_name(&self) -> String {
        self.suffix.as_ref().map_or_else(|| self.id.to_string(), |suffix| format!("…{suffix}"))
    }
}

/// The body of `POST /api/v1/admin/licenses/{id}/keys`.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateLicenseKey {
    /// A key that users have already. If absent, licd generates one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyText>,
    /// Maximum number of users who claim with the key. If absent, the number of seats, or no limit
    /// if the seats are floating.
    pub max_uses: Option<MaxUses>,
    /// Expiry, in the future. If absent, the key does not expire.
    pub expires_at: Option<Timestamp>,
    /// Whether `key` may have only 8 to 11 letters and digits, which can be guessed more easily.
    pub allow_short: Option<bool>,
}

/// The record of a license key, with the key itself.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct CreatedLicenseKey {
    #[serde(flatten)]
    pub record: LicenseKey,
    /// The key itself, which is not shown again.
    pub key: KeyText,
}

/// The body of `POST /api/v1/claim`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// External id of the user. An unknown user is created.
    pub user_id: ExternalId,
    /// License key as the user typed or pasted it. licd ignores case, blanks and dashes, and
    /// quotes, brackets and full stops around it.
    pub key: KeyText,
    /// Id of the product. The key must be for this product, and only its licenses count. Null is
    /// the same as absent.
    pub product_id: Option<ProductId>,
}

/// The body of `POST /api/v1/admin/license-keys/find`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindLicenseKey {
    /// Whole key, as a user typed it.
    pub key: KeyText,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_valid_only_if_a_user_can_claim_with_it() {
        let now = Timestamp::now();
        let ended = Some(now.plus(-chrono::TimeDelta::days(1)));
        let valid = LicenseKey {
            id: LicenseKeyId::new(now),
            license_id: LicenseId::new(now),
            suffix: None,
            max_uses: None,
            uses: 1,
            uses_limit: Some(2),
            license_status: Open::Known(Status::Active),
            created_at: now,
            expires_at: None,
            revoked_at: None,
        };
        let key = |change: &dyn Fn(&mut LicenseKey)| {
            let mut key = valid.clone();
            change(&mut key);
            key.state_name(now)
        };
        let of_license = |it: &mut LicenseKey, status| it.license_status = Open::Known(status);
        assert_eq!(key(&|_| ()), "valid");
        assert_eq!(key(&|it| it.uses_limit = None), "valid");
        assert_eq!(key(&|it| it.uses = 2), "used up");
        assert_eq!(key(&|it| of_license(it, Status::Revoked)), "license revoked");
        assert_eq!(key(&|it| of_license(it, Status::Suspended)), "license suspended");
        assert_eq!(key(&|it| it.expires_at = ended), "expired");
        assert_eq!(key(&|it| it.revoked_at = ended), "revoked");
    }
}
