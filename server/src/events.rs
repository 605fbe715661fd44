//! The events that record changes. A constructor for each type defines its subject and its object;
//! [`commit()`] assigns the sequence numbers.
//!
//! Nothing secret can get into an event, since constructors take records as callers see them.

mod json;
mod origin;
mod record;

use common::{
    Activation, Assignment, DeviceName, DisabledReason, EventReason, EventType, ExternalId, Key,
    Lease, LeaseId, License, LicenseDetails, LicenseId, LicenseKey, Line, Plan, Product,
    RelatedRecords, SigningKey, SubjectType, Tenant, Timestamp, User, UserId, WebhookId,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::store::Scope;
use json::{as_json, as_text, changed_members};

pub use origin::{Actor, Origin};
pub use record::{commit, recorded};

/// An event that is not recorded yet.
#[derive(Clone, Debug)]
pub struct NewEvent {
    kind: EventType,
    subject: (SubjectType, String),
    related: RelatedRecords,
    object: Value,
    previous: Option<Map<String, Value>>,
    reason: Option<EventReason>,
    /// The world of the record, if it differs from that of the origin.
    scope: Option<Scope>,
}

/// Facts about a webhook in an event.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookFacts<'a> {
    pub id: WebhookId,
    /// Scheme and host.
    pub url: String,
    pub description: Option<&'a Line>,
    pub types: Option<&'a [String]>,
    pub disabled_reason: Option<DisabledReason>,
    /// Of a replay, and of events that expired before they could be sent: the events after this
    /// sequence,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// and before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
}

/// Facts about a lease in an event: everything except its token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeaseFacts<'a> {
    id: LeaseId,
    user_id: UserId,
    license_id: LicenseId,
    device: Option<&'a DeviceName>,
    issued_at: Timestamp,
    expires_at: Timestamp,
}

fn about_product(product: &Product) -> RelatedRecords {
    RelatedRecords { product_id: Some(product.id), ..RelatedRecords::default() }
}

fn about_plan(plan: &Plan) -> RelatedRecords {
    RelatedRecords {
        product_id: Some(plan.product_id),
        plan_id: Some(plan.id),
        ..RelatedRecords::default()
    }
}

fn about_license(license: &License) -> RelatedRecords {
    RelatedRecords {
        product_id: Some(license.product_id),
        plan_id: Some(license.plan_id),
        license_id: Some(license.id),
        ..RelatedRecords::default()
    }
}

fn about_user(user: &User) -> RelatedRecords {
    RelatedRecords {
        user_id: Some(user.id),
        external_id: Some(user.external_id.clone()),
        ..RelatedRecords::default()
    }
}

impl NewEvent {
    fn new(
        kind: EventType,
        subject: (SubjectType, String),
        related: RelatedRecords,
        object: &impl Serialize,
    ) -> Self {
        let (previous, reason, scope) = Default::default();
        Self { kind, subject, related, object: as_json(object), previous, reason, scope }
    }

    /// The event changed `before` into its object.
    fn with_previous(mut self, before: &impl Serialize) -> Self {
        self.previous = Some(changed_members(as_json(before), &self.object));
        self
    }

    /// The license was put before all others of its user.
    pub fn as_first(mut self) -> Self {
        self.object["first"] = true.into();
        self
    }

    /// Sets the world of the event.
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    fn of_product(kind: EventType, product: &Product) -> Self {
        let subject = (SubjectType::Product, product.id.to_string());
        Self::new(kind, subject, about_product(product), product)
    }

    fn of_plan(kind: EventType, plan: &Plan) -> Self {
        let subject = (SubjectType::Plan, plan.id.to_string());
        Self::new(kind, subject, about_plan(plan), plan)
    }

    fn of_license(kind: EventType, license: &LicenseDetails) -> Self {
        Self::on_license(kind, license, license)
    }

    fn of_user(kind: EventType, user: &User) -> Self {
        let subject = (SubjectType::User, user.id.to_string());
        Self::new(kind, subject, about_user(user), user)
    }

    fn of_key(kind: EventType, key: &Key) -> Self {
        let subject = (SubjectType::Key, key.id.to_string());
        Self::new(kind, subject, RelatedRecords::default(), key)
    }

    fn of_signing_key(kind: EventType, key: &SigningKey) -> Self {
        let subject = (SubjectType::SigningKey, key.id.to_string());
        Self::new(kind, subject, RelatedRecords::default(), key)
    }

    /// An event about a record that belongs to a license. The license is its subject, so that the
    /// license's history is complete.
    fn on_license(kind: EventType, license: &License, record: &impl Serialize) -> Self {
        let subject = (SubjectType::License, license.id.to_string());
        Self::new(kind, subject, about_license(license), record)
    }

    /// Creates an event about a record that connects a license and a user.
    fn of_binding(
        kind: EventType,
        license: &License,
        user_id: UserId,
        external_id: &ExternalId,
        record: &impl Serialize,
    ) -> Self {
        let mut event = Self::on_license(kind, license, record);
        event.related.user_id = Some(user_id);
        event.related.external_id = Some(external_id.clone());
        event
    }

    pub fn product_created(product: &Product) -> Self {
        Self::of_product(EventType::ProductCreated, product)
    }

    pub fn product_updated(before: &Product, after: &Product) -> Self {
        Self::of_product(EventType::ProductUpdated, after).with_previous(before)
    }

    pub fn product_deleted(product: &Product) -> Self {
        Self::of_product(EventType::ProductDeleted, product)
    }

    pub fn plan_created(plan: &Plan) -> Self {
        Self::of_plan(EventType::PlanCreated, plan)
    }

    pub fn plan_updated(before: &Plan, after: &Plan) -> Self {
        Self::of_plan(EventType::PlanUpdated, after).with_previous(before)
    }

    pub fn plan_deleted(plan: &Plan) -> Self {
        Self::of_plan(EventType::PlanDeleted, plan)
    }

    pub fn license_created(license: &LicenseDetails) -> Self {
        Self::of_license(EventType::LicenseCreated, license)
    }

    pub fn license_updated(before: &LicenseDetails, after: &LicenseDetails) -> Self {
        Self::of_license(EventType::LicenseUpdated, after).with_previous(before)
    }

    pub fn license_renewed(before: &LicenseDetails, after: &LicenseDetails) -> Self {
        Self { reason: Some(EventReason::Renewed), ..Self::license_updated(before, after) }
    }

    pub fn license_status_changed(before: &LicenseDetails, after: &LicenseDetails) -> Self {
        Self::of_license(EventType::LicenseStatusChanged, after).with_previous(before)
    }

    pub fn license_deleted(license: &LicenseDetails) -> Self {
        Self::of_license(EventType::LicenseDeleted, license)
    }

    /// The license ends in this number of days.
    pub fn license_expiring(license: &LicenseDetails, days: u16) -> Self {
        let mut event = Self::of_license(EventType::LicenseExpiring, license);
        event.object["days"] = days.into();
        event
    }

    pub fn license_expired(license: &LicenseDetails) -> Self {
        let mut event = Self::of_license(EventType::LicenseExpired, license);
        if let Some(end) = license.terms.grace_ends_at(license.expires_at) {
            event.object["graceEndsAt"] = as_json(&end);
        }
        event
    }

    pub fn license_grace_ended(license: &LicenseDetails) -> Self {
        Self::of_license(EventType::LicenseGraceEnded, license)
    }

    pub fn license_assigned(license: &License, user: &ExternalId, assignment: &Assignment) -> Self {
        let kind = EventType::LicenseAssigned;
        Self::of_binding(kind, license, assignment.user_id, user, assignment)
    }

    /// The license was assigned again, with different metadata.
    pub fn license_reassigned(
        license: &License,
        user: &ExternalId,
        before: &Assignment,
        after: &Assignment,
    ) -> Self {
        Self::license_assigned(license, user, after).with_previous(before)
    }

    pub fn license_unassigned(
        license: &License,
        user: &ExternalId,
        assignment: &Assignment,
    ) -> Self {
        let kind = EventType::LicenseUnassigned;
        Self::of_binding(kind, license, assignment.user_id, user, assignment)
    }

    pub fn seat_taken(license: &License, user: &ExternalId, seat: &Activation) -> Self {
        Self::of_binding(EventType::SeatTaken, license, seat.user_id, user, seat)
    }

    pub fn seat_freed(
        license: &License,
        user: &ExternalId,
        seat: &Activation,
        reason: EventReason,
    ) -> Self {
        let event = Self::of_binding(EventType::SeatFreed, license, seat.user_id, user, seat);
        Self { reason: Some(reason), ..event }
    }

    /// A user has a lease who had none on this machine.
    pub fn lease_issued(
        license: &License,
        user: &ExternalId,
        seat: &Activation,
        lease: &Lease,
        device: Option<&DeviceName>,
    ) -> Self {
        let facts = LeaseFacts {
            id: lease.id,
            user_id: seat.user_id,
            license_id: seat.license_id,
            device,
            issued_at: lease.issued_at,
            expires_at: lease.expires_at,
        };
        Self::of_binding(EventType::LeaseIssued, license, seat.user_id, user, &facts)
    }

    /// The seat is not held by its lease any more, though that has not ended. The object is the seat
    /// as it was.
    pub fn lease_dropped(license: &License, user: &ExternalId, seat: &Activation) -> Self {
        Self::of_binding(EventType::LeaseDropped, license, seat.user_id, user, seat)
    }

    pub fn license_key_created(license: &License, key: &LicenseKey) -> Self {
        Self::on_license(EventType::LicenseKeyCreated, license, key)
    }

    /// A user has claimed the license. The object is the key with this use.
    pub fn license_key_claimed(license: &License, user: &User, key: &LicenseKey) -> Self {
        Self::of_binding(EventType::LicenseKeyClaimed, license, user.id, &user.external_id, key)
    }

    pub fn license_key_reissued(license: &License, before: &LicenseKey, key: &LicenseKey) -> Self {
        Self::on_license(EventType::LicenseKeyReissued, license, key).with_previous(before)
    }

    pub fn license_key_revoked(license: &License, before: &LicenseKey, key: &LicenseKey) -> Self {
        Self::on_license(EventType::LicenseKeyRevoked, license, key).with_previous(before)
    }

    pub fn user_created(user: &User) -> Self {
        Self::of_user(EventType::UserCreated, user)
    }

    pub fn user_updated(before: &User, after: &User) -> Self {
        Self::of_user(EventType::UserUpdated, after).with_previous(before)
    }

    pub fn user_deleted(user: &User) -> Self {
        Self::of_user(EventType::UserDeleted, user)
    }

    /// The personal data of the user was removed. The object has only the ids.
    pub fn user_forgotten(id: UserId, external_id: &ExternalId) -> Self {
        let related = RelatedRecords {
            user_id: Some(id),
            external_id: Some(external_id.clone()),
            ..RelatedRecords::default()
        };
        let object = serde_json::json!({ "id": id, "externalId": external_id });
        Self::new(EventType::UserForgotten, (SubjectType::User, id.to_string()), related, &object)
    }

    /// Creates an event about a webhook. It contains only scheme and host of the URL, because the
    /// rest may be a secret.
    pub fn of_webhook(kind: EventType, id: WebhookId, facts: &WebhookFacts<'_>) -> Self {
        Self::new(kind, (SubjectType::Webhook, id.to_string()), RelatedRecords::default(), facts)
    }

    pub fn key_created(key: &Key) -> Self {
        Self::of_key(EventType::KeyCreated, key)
    }

    pub fn key_rolled(before: &Key, after: &Key) -> Self {
        Self::of_key(EventType::KeyRolled, after).with_previous(before)
    }

    pub fn key_revoked(before: &Key, after: &Key) -> Self {
        Self::of_key(EventType::KeyRevoked, after).with_previous(before)
    }

    pub fn signing_key_created(key: &SigningKey) -> Self {
        Self::of_signing_key(EventType::SigningKeyCreated, key)
    }

    pub fn signing_key_updated(before: &SigningKey, after: &SigningKey) -> Self {
        Self::of_signing_key(EventType::SigningKeyUpdated, after).with_previous(before)
    }

    pub fn signing_key_deleted(key: &SigningKey) -> Self {
        Self::of_signing_key(EventType::SigningKeyDeleted, key)
    }

    pub fn tenant_created(tenant: &Tenant) -> Self {
        let subject = (SubjectType::Tenant, tenant.id.to_string());
        Self::new(EventType::TenantCreated, subject, RelatedRecords::default(), tenant)
    }
}
