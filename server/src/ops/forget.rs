//! Removes the personal data of a user: name, email, metadata and, if asked for, the external ids.
//!
//! The events are changed first, in batches, then the user together with the event
//! `user.forgotten`. So a request that fails in between has reported nothing, and can be repeated.

use std::collections::BTreeSet;

use common::{
    ExternalId, ForgottenUser, LicenseDetails, Open, RemainingData, RemainingType, Timestamp,
    UserId,
};
use serde_json::{Map, Value};

use super::Operations;
use super::change::{Change, Events};
use super::idempotency;
use super::outcome::Changed;
use super::users::{UNIQUE_VIOLATION, store as store_user};
use super::view::View;
use crate::db::{self, AsWritten, Conn};
use crate::error::{Error, has_code};
use crate::events::{NewEvent, Origin};
use crate::store::forget::{self, EventData};
use crate::store::{Scope, assignments, licenses, users};

/// Maximum number of events in a transaction, which holds SQLite's only writer.
const BATCH: i64 = 500;

/// A user to forget, who may be deleted already.
#[derive(Clone)]
pub struct Person {
    /// Internal ids. There are several if users with the same external id were deleted one after
    /// another.
    ids: Vec<UserId>,
    /// Present and former external ids.
    external_ids: BTreeSet<ExternalId>,
    /// External id after the change.
    external_id: ExternalId,
    /// Whether it replaces the present and former external ids.
    replaces_id: bool,
}

/// Finds a user by the internal id, or by the external id, which may be that of deleted users.
pub async fn find(view: &View, text: &str, replaces_id: bool) -> Result<Option<Person>, Error> {
    let (mut conn, scope) = (view.snapshot().await?, view.scope);
    let external_id = text.parse::<ExternalId>().ok();
    let present = match (text.parse(), &external_id) {
        (Ok(id), _) => users::find(&mut conn, scope, id).await?,
        (Err(_), Some(id)) => users::find_external(&mut conn, scope, id).await?,
        (Err(_), None) => None,
    };
    let mut external_ids: BTreeSet<ExternalId> =
        present.iter().map(|user| user.external_id.clone()).collect();
    let mut ids = Vec::new();
    match (present, text.parse(), external_id) {
        (Some(user), ..) => ids.push(user.id),
        (None, Ok(id), _) => ids.push(id),
        (None, Err(_), Some(id)) => ids = deleted_users(&mut conn, scope, &id).await?,
        (None, Err(_), None) => {}
    }
    for id in &ids {
        let known = forget::external_ids_of(&mut conn, scope, *id).await?;
        external_ids.extend(known.into_iter().map(|(id,)| id));
    }
    let (Some(first), Some(last_id)) = (ids.first(), external_ids.last()) else { return Ok(None) };
    let replacement = first.to_string().replace("usr_", "forgotten-");
    let external_id = match replaces_id {
        true => replacement.parse().map_err(|_| Error::Internal)?,
        false => last_id.clone(),
    };
    Ok(Some(Person { ids, external_ids, external_id, replaces_id }))
}

/// Returns deleted users who had this external id in events, the last one first.
async fn deleted_users(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> db::Result<Vec<UserId>> {
    let mut ids = Vec::new();
    for id in forget::users_of(conn, scope, external_id).await? {
        if users::find(conn, scope, id).await?.is_none() {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Removes the person's data from events and refusals. Returns the number of changed events.
pub async fn change_events(
    ops: &Operations,
    origin: &Origin,
    person: Option<&Person>,
) -> Result<i64, Error> {
    let Some(person) = person else { return Ok(0) };
    let mut changed = 0;
    for external_id in &person.external_ids {
        let mut after = Some(0);
        while let Some(sequence) = after {
            let mut tx = ops.begin(origin).await?;
            let events =
                forget::event_data(&mut tx, origin.scope, external_id, sequence, BATCH).await?;
            after = events.last().map(|event| event.sequence);
            for mut event in events {
                if person.erase(&mut event) {
                    forget::set_event_data(&mut tx, origin.scope, &event).await?;
                    changed += 1;
                }
            }
            tx.commit().await?;
        }
        change_refusals(ops, origin, person, external_id).await?;
    }
    Ok(changed)
}

/// Removes the person's data from refusals. They have no internal id, so refusals of an external id
/// that another user has now stay.
async fn change_refusals(
    ops: &Operations,
    origin: &Origin,
    person: &Person,
    external_id: &ExternalId,
) -> Result<(), Error> {
    if !person.replaces_id || person.external_id == *external_id {
        return Ok(());
    }
    let mut tx = ops.begin(origin).await?;
    let present = users::find_external(&mut tx, origin.scope, external_id).await?;
    if present.is_none_or(|user| person.ids.contains(&user.id)) {
        forget::rename_refusals(&mut tx, origin.scope, external_id, &person.external_id).await?;
        tx.commit().await?;
    }
    Ok(())
}

impl Person {
    /// Removes the data from an event. Returns whether it contained any.
    fn erase(&self, event: &mut EventData) -> bool {
        let related = &mut event.related.0;
        if !related.user_id.is_some_and(|id| self.ids.contains(&id)) {
            return false;
        }
        let mut is_changed = false;
        let previous = event.previous.as_mut().map(|AsWritten(previous)| previous);
        for members in previous.into_iter().chain([&mut event.object.0]) {
            is_changed |= self.erase_members(members);
        }
        if self.replaces_id && related.external_id.as_ref() != Some(&self.external_id) {
            related.external_id = Some(self.external_id.clone());
            is_changed = true;
        }
        is_changed
    }

    fn erase_members(&self, members: &mut Map<String, Value>) -> bool {
        let mut is_changed = false;
        for name in ["email", "name", "metadata"] {
            if let Some(value) = members.get_mut(name).filter(|value| !value.is_null()) {
                *value = Value::Null;
                is_changed = true;
            }
        }
        let external_id = members.get_mut("externalId").filter(|_| self.replaces_id);
        if let Some(value) = external_id.filter(|it| it.as_str() != Some(self.external_id.as_str()))
        {
            *value = self.external_id.as_str().into();
            is_changed = true;
        }
        is_changed
    }
}

/// Removes the data of the user and of the user's assignments. Seats and leases stay.
pub async fn forget(
    mut change: Change,
    person: Option<Person>,
    changed_events: i64,
) -> Result<Changed<ForgottenUser>, Error> {
    let scope = change.scope();
    let person = person.ok_or(Error::NotFound("user"))?;
    let mut is_changed = changed_events > 0;
    let mut forgotten = ForgottenUser {
        user_id: person.ids[0],
        external_id: person.external_id.clone(),
        changed_events,
        remaining: Vec::new(),
    };
    if let Some(before) = users::lock(&mut change, scope, person.ids[0]).await? {
        change.check(&before)?;
        let mut user = before.clone();
        (user.email, user.name, user.metadata) = (None, None, None);
        if person.replaces_id {
            user.external_id = person.external_id.clone();
        }
        forgotten.external_id = user.external_id.clone();
        is_changed |= user != before;
        store_user(&mut change, &before, user).await.map_err(|error| {
            let is_taken = has_code(&error, |code| code == UNIQUE_VIOLATION);
            if is_taken {
                Error::Conflict("Another user has the new externalId")
            } else {
                error.into()
            }
        })?;
        let id = before.id;
        is_changed |= assignments_cleared(&mut change, scope, id).await?;
        let licenses = licenses::lock_of_user(&mut change, scope, id).await?;
        let held = assignments::lock_of_user(&mut change, scope, id).await?;
        let seats = held.into_iter().filter_map(|held| held.seat);
        let leased = seats.filter_map(|seat| seat.lease_until(change.now)).max();
        forgotten.remaining.extend(remaining_of(&licenses, leased));
    }
    forgotten.remaining.extend(person.remaining(change.now));
    let event = NewEvent::user_forgotten(forgotten.user_id, &forgotten.external_id);
    let events = if is_changed { event.into() } else { Events::none() };
    Ok(change.commit(Changed(forgotten), events).await?)
}

async fn assignments_cleared(conn: &mut Conn, scope: Scope, user: UserId) -> db::Result<bool> {
    Ok(forget::clear_metadata_of_user(conn, scope, user).await? > 0)
}

fn remaining(kind: RemainingType, description: &str, until: Option<Timestamp>) -> RemainingData {
    let description = description.to_owned();
    RemainingData { kind: Open::Known(kind), description, license_id: None, until }
}

/// Returns the data that remains in the licenses of the user.
fn remaining_of(
    licenses: &[LicenseDetails],
    leased: Option<Timestamp>,
) -> impl Iterator<Item = RemainingData> {
    const LICENSE: &str = "The license has a name or metadata, which may name the customer. \
                           Change or clear them.";
    const LEASE: &str = "The lease on the user's device contains the external id. Events about \
                         leases also contain the name of the device.";
    let is_named = |it: &&LicenseDetails| it.name.is_some() || it.metadata.is_some();
    let licenses = licenses.iter().filter(is_named).map(|license| RemainingData {
        license_id: Some(license.license.id),
        ..remaining(RemainingType::License, LICENSE, None)
    });
    licenses.chain(leased.map(|until| remaining(RemainingType::Lease, LEASE, Some(until))))
}

impl Person {
    /// Returns the data that remains outside of the user's own records.
    fn remaining(&self, now: Timestamp) -> Vec<RemainingData> {
        const EXTERNAL_ID: &str = "The external ids, in the user, events and refusals. To replace \
                                   them, send externalId: true.";
        const RESPONSE: &str = "Responses to requests about the user, stored for their \
                                Idempotency-Key.";
        const DELIVERY: &str = "Events that the receivers of your webhooks already have. They \
                                receive user.forgotten.";
        const BACKUP: &str = "Backups of the database. After you restore one, repeat this request.";
        let stored_until = Some(now.plus(idempotency::RETENTION));
        let mut all = Vec::new();
        if !self.replaces_id {
            all.push(remaining(RemainingType::ExternalId, EXTERNAL_ID, None));
        }
        all.push(remaining(RemainingType::StoredResponse, RESPONSE, stored_until));
        all.push(remaining(RemainingType::Delivery, DELIVERY, None));
        all.push(remaining(RemainingType::Backup, BACKUP, None));
        all
    }
}
