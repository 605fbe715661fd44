//! Events: changes in one mode of a tenant, in the order of commit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::string_enum::string_enum;
use crate::{EventId, ExternalId, KeyId, LicenseId, Open, PlanId, ProductId, Timestamp, UserId};

string_enum! {
    /// The type of an event. Later versions may have more.
    EventType, "the type of an event" {
        ProductCreated = "product.created",
        ProductUpdated = "product.updated",
        ProductDeleted = "product.deleted",
        PlanCreated = "plan.created",
        PlanUpdated = "plan.updated",
        PlanDeleted = "plan.deleted",
        LicenseCreated = "license.created",
        LicenseUpdated = "license.updated",
        LicenseStatusChanged = "license.status_changed",
        LicenseDeleted = "license.deleted",
        LicenseExpiring = "license.expiring",
        LicenseExpired = "license.expired",
        LicenseGraceEnded = "license.grace_ended",
        LicenseAssigned = "license.assigned",
        LicenseUnassigned = "license.unassigned",
        LicenseKeyCreated = "license_key.created",
        LicenseKeyClaimed = "license_key.claimed",
        LicenseKeyReissued = "license_key.reissued",
        LicenseKeyRevoked = "license_key.revoked",
        SeatTaken = "seat.taken",
        SeatFreed = "seat.freed",
        LeaseIssued = "lease.issued",
        LeaseDropped = "lease.dropped",
        UserCreated = "user.created",
        UserUpdated = "user.updated",
        UserDeleted = "user.deleted",
        UserForgotten = "user.forgotten",
        KeyCreated = "key.created",
        KeyRolled = "key.rolled",
        KeyRevoked = "key.revoked",
        TenantCreated = "tenant.created",
        WebhookCreated = "webhook.created",
        WebhookUpdated = "webhook.updated",
        WebhookRolled = "webhook.rolled",
        WebhookDisabled = "webhook.disabled",
        WebhookEnabled = "webhook.enabled",
        WebhookReplayed = "webhook.replayed",
        WebhookEventsExpired = "webhook.events_expired",
        WebhookDeleted = "webhook.deleted",
        SigningKeyCreated = "signing_key.created",
        SigningKeyUpdated = "signing_key.updated",
        SigningKeyDeleted = "signing_key.deleted",
    }
}

impl EventType {
    /// Whether people or their administrative programs cause such events, and not validations or licd
    /// itself.
    pub fn is_by_people(self) -> bool {
        !matches!(
            self,
            Self::SeatTaken
                | Self::SeatFreed
                | Self::LeaseIssued
                | Self::UserCreated
                | Self::LicenseExpiring
                | Self::LicenseExpired
                | Self::LicenseGraceEnded
                | Self::LicenseKeyClaimed
                | Self::WebhookEventsExpired
        )
    }
}

string_enum! {
    /// Whose events a list has.
    EventsBy, inline {
        /// Changes by people and their administrative programs, without those of validations and of
        /// licd itself: seats, leases, new users and ends of licenses.
        People = "people",
    }
}

string_enum! {
    /// The kind of an actor. Later versions may have more.
    ActorType, "the type of an actor" {
        /// An API key.
        Key = "key",
        /// A session in the dashboard.
        Session = "session",
        /// A command of licd on the server's host.
        Host = "host",
        /// licd itself.
        System = "system",
    }
}

string_enum! {
    /// The kind of a subject. Later versions may have more.
    SubjectType, "the type of a subject" {
        Product = "product",
        Plan = "plan",
        License = "license",
        User = "user",
        Key = "key",
        Tenant = "tenant",
        Webhook = "webhook",
        SigningKey = "signing_key",
    }
}

string_enum! {
    /// Reason why a seat was freed or a license was updated. Later versions may have more.
    EventReason, "the reason of an event" {
        /// The holder was not validated for the idle time, and another user took over the seat.
        Idle = "idle",
        /// The application or an administrator released the seat.
        Released = "released",
        /// The user was unassigned from the license.
        Unassigned = "unassigned",
        /// The seat was transferred to another user, together with the license.
        Transferred = "transferred",
        /// The user was deleted.
        UserDeleted = "user_deleted",
        /// The license was renewed.
        Renewed = "renewed",
    }
}

/// The cause of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventActor {
    #[serde(rename = "type")]
    pub kind: Open<ActorType>,
    /// Id of the API key or of the session. Null for other actors.
    pub id: Option<String>,
    /// Name of the key at that time, or the command of licd.
    pub name: Option<String>,
    /// Id of the API key that acted, by the API or in a session. Null for other actors.
    #[serde(default)]
    pub key_id: Option<KeyId>,
}

/// The record that an event is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct EventSubject {
    #[serde(rename = "type")]
    pub kind: Open<SubjectType>,
    pub id: String,
}

/// Records that an event concerns, including its subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RelatedRecords {
    pub product_id: Option<ProductId>,
    pub plan_id: Option<PlanId>,
    pub license_id: Option<LicenseId>,
    /// Internal id of the user.
    pub user_id: Option<UserId>,
    /// External id of the user.
    pub external_id: Option<ExternalId>,
}

/// The record that an event changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct EventData {
    /// The record after the event, or before its deletion.
    pub object: Map<String, Value>,
    /// Previous values of the members that changed. Null for a new or deleted record.
    pub previous: Option<Map<String, Value>>,
    /// Reason of a `seat.freed`, and of a `license.updated` that renewed the license.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Open<EventReason>>,
}

impl EventData {
    /// Returns the members that the event changed, each with its value before and after. Members of
    /// `terms` are separate, and `updatedAt` is left out.
    pub fn changes(&self) -> Vec<(&str, &Value, &Value)> {
        let mut changes = Vec::new();
        for (member, before) in self.previous.iter().flatten() {
            let after = self.object.get(member).unwrap_or(&Value::Null);
            match (member.as_str(), before.as_object().or(after.as_object())) {
                ("updatedAt", _) => {}
                ("terms", Some(terms)) => {
                    let each = terms.keys().map(|term| (&**term, &before[term], &after[term]));
                    changes.extend(each.filter(|(_, before, after)| before != after));
                }
                (member, _) => changes.push((member, before, after)),
            }
        }
        changes
    }
}

/// A change in one mode of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: EventId,
    /// Number of the event, from 1 in each mode of a tenant, without gaps, in the order of commit.
    pub sequence: i64,
    #[serde(rename = "type")]
    pub kind: Open<EventType>,
    pub time: Timestamp,
    pub actor: EventActor,
    pub subject: EventSubject,
    pub related: RelatedRecords,
    pub data: EventData,
    /// Id of the request that caused the event. Null if no request did.
    pub request_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_of_a_later_version_can_be_read() {
        let sent = json!({
            "id": "evt_01h455vb4pex5vsknk084sn02q",
            "sequence": 7,
            "type": "license.transferred",
            "time": "2027-01-31T12:00:00.000Z",
            "actor": { "type": "robot", "id": "rob_1", "name": "ada", "keyId": null },
            "subject": { "type": "invoice", "id": "inv_1" },
            "related": { "productId": null, "planId": null, "licenseId": null, "userId": null,
                "externalId": null },
            "data": { "object": { "id": "inv_1" }, "previous": null },
            "requestId": null,
        });
        let event: Event = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(event.kind, Open::Unknown("license.transferred".into()));
        assert_eq!(serde_json::to_value(&event).unwrap(), sent);
    }

    #[test]
    fn a_known_word_is_itself() {
        for kind in EventType::ALL {
            assert_eq!(Open::<EventType>::from(kind.to_string()), Open::Known(*kind));
        }
    }
}
