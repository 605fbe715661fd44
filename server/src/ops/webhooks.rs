//! Webhooks: URLs to which licd sends events. The module `delivery` sends them.

mod by_hand;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chrono::TimeDelta;
use common::{
    CreateWebhook, CreatedWebhook, DisabledReason, EventPattern, EventType, Open, ReplayWebhook,
    Retried, Role, RollKey, Timestamp, UpdateWebhook, Webhook, WebhookFailure, WebhookFailureId,
    WebhookField, WebhookId, WebhookSecret, WebhookState, WebhookUrl,
};

use super::change::{Change, Events};
use super::members::{refuse_contradictions, update as update_member};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::db::{self, AsWritten, Db};
use crate::delivery::sender::{Sender, seal_context};
use crate::delivery::settle::facts;
use crate::error::Error;
use crate::events::{NewEvent, WebhookFacts};
use crate::secrets::SecretKeys;
use crate::store::webhooks::{CountedWebhook, DeliveryState, StoredSecret, StoredWebhook};
use crate::store::{Found, Page, events, retention, sealed, webhooks};

pub use by_hand::send;

const NOT_FOUND: Error = Error::NotFound("webhook");
/// Maximum number of webhooks of a world.
const MAX_WEBHOOKS: usize = 20;
/// Maximum number of old secrets that sign in addition to the new one.
const MAX_OLD_SECRETS: usize = 3;
/// Time by which a replay starts earlier, because the clocks of nodes differ.
const MAX_DISORDER: TimeDelta = TimeDelta::minutes(1);

/// Fails if webhooks may not reach the URL.
fn check(sender: &Sender, url: &WebhookUrl) -> Result<(), Error> {
    if sender.client().allows(url) {
        return Ok(());
    }
    let rule = "url must be https and a public address: webhooks may not reach this one, unless the \
                operator of licd names it in LICD_WEBHOOK_ALLOW_NETS";
    Err(Error::invalid("url", rule))
}

/// Returns the record of a webhook.
fn record(counted: &CountedWebhook, keys: &SecretKeys, now: Timestamp) -> Webhook {
    let (it, delivery) = (&counted.stored, counted.stored.state);
    let state = match (it.disabled_at, delivery.failing_since) {
        (Some(_), _) => WebhookState::Disabled,
        (None, Some(_)) => WebhookState::Failing,
        (None, None) => WebhookState::Healthy,
    };
    let is_open = |secret: &StoredSecret| {
        STANDARD_NO_PAD.decode(&secret.sealed).is_ok_and(|sealed| keys.has_key_of(&sealed))
    };
    Webhook {
        id: it.id,
        url: it.url.clone(),
        description: it.description.clone(),
        types: it.event_types.as_ref().map(|types| types.0.clone()),
        state,
        disabled_reason: it.disabled_reason.clone(),
        secret_missing: !it.secrets.0.first().is_some_and(is_open),
        sequence: delivery.sequence,
        pending: (counted.last - delivery.sequence).max(0),
        held: counted.held,
        given_up: counted.given_up,
        first_given_up: counted.first_given_up,
        failing_since: delivery.failing_since,
        next_attempt_at: delivery.next_attempt_at,
        last_success_at: delivery.last_success_at,
        last_status: delivery.last_status,
        old_secret_until: it
            .secrets
            .0
            .iter()
            .filter_map(|it| it.until)
            .max()
            .filter(|it| *it > now),
        created_at: it.created_at,
        updated_at: it.updated_at,
    }
}

/// Reads the record of a webhook after a change.
async fn read(change: &mut Change, keys: &SecretKeys, id: WebhookId) -> Result<Webhook, Error> {
    let (scope, now) = (change.scope(), change.now);
    let counted = webhooks::find(change, scope, id).await?.ok_or(NOT_FOUND)?;
    Ok(record(&counted, keys, now))
}

async fn seal(
    change: &mut Change,
    keys: &SecretKeys,
    id: WebhookId,
    secret: &WebhookSecret,
) -> Result<StoredSecret, Error> {
    let (scope, is_sealed) = (change.scope(), sealed::any(change).await?);
    let sealed = keys.seal(secret.bytes(), &seal_context(scope, id), is_sealed).await?;
    Ok(StoredSecret { sealed: STANDARD_NO_PAD.encode(sealed), until: None })
}

fn patterns(types: &[EventPattern]) -> AsWritten<Vec<String>> {
    AsWritten(types.iter().map(|pattern| pattern.as_str().to_owned()).collect())
}

/// Creates a webhook. The first event that it receives is the one of its creation.
pub async fn create(
    mut change: Change,
    sender: &Sender,
    new: CreateWebhook,
) -> Result<Created<CreatedWebhook>, Error> {
    let (scope, now, keys) = (change.scope(), change.now, &sender.secrets);
    check(sender, &new.url)?;
    if webhooks::all(&mut change, scope).await?.len() >= MAX_WEBHOOKS {
        return Err(Error::Conflict("The limit of 20 webhooks is reached. Delete one first"));
    }
    let (id, secret) = (WebhookId::new(now), new.secret.unwrap_or_else(WebhookSecret::generate));
    let sealed = seal(&mut change, keys, id, &secret).await?;
    let (_, last) = events::bounds(&mut change, scope).await?;
    let stored = StoredWebhook {
        id,
        url: new.url.as_str().to_owned(),
        description: new.description,
        event_types: new.types.as_deref().map(patterns),
        secrets: AsWritten(vec![sealed]),
        created_at: now,
        updated_at: now,
        state: DeliveryState { sequence: last, ..DeliveryState::default() },
        disabled_at: None,
        disabled_reason: None,
    };
    webhooks::insert(&mut change, scope, &stored).await?;
    let event = NewEvent::of_webhook(EventType::WebhookCreated, id, &facts(&stored));
    let record = read(&mut change, keys, id).await?;
    Ok(change.commit_secret(Created(CreatedWebhook { record, secret }), id, event).await?)
}

/// Masks the URL for every role except `admin`, because it may contain a token.
fn for_role(webhook: Webhook, role: Role) -> Webhook {
    match webhook.url.parse::<WebhookUrl>() {
        Ok(url) if role != Role::Admin => Webhook { url: url.masked(), ..webhook },
        _ => webhook,
    }
}

/// Returns the webhook as a key with this role sees it.
pub async fn get(
    view: View,
    keys: &SecretKeys,
    role: Role,
    id: WebhookId,
) -> Result<Webhook, Error> {
    let found = webhooks::find(&mut view.read().await?, view.scope, id).await?;
    Ok(for_role(record(&found.ok_or(NOT_FOUND)?, keys, Timestamp::now()), role))
}

/// Returns all webhooks as a key with this role sees them, oldest first.
pub async fn all(view: View, keys: &SecretKeys, role: Role) -> Result<Vec<Webhook>, Error> {
    let found = webhooks::all(&mut view.read().await?, view.scope).await?;
    let now = Timestamp::now();
    Ok(found.iter().map(|counted| for_role(record(counted, keys, now), role)).collect())
}

pub async fn page(
    view: View,
    keys: &SecretKeys,
    role: Role,
    page: Page<WebhookId>,
) -> Result<Vec<Webhook>, Error> {
    Ok(page.of(all(view, keys, role).await?, |webhook| webhook.id))
}

/// Ends the backoff, so that licd retries immediately after a change.
fn end_backoff(webhook: &mut StoredWebhook) {
    let state = &mut webhook.state;
    (state.failing_since, state.attempts, state.next_attempt_at) = (None, 0, None);
}

pub async fn update(
    mut change: Change,
    sender: &Sender,
    id: WebhookId,
    update: UpdateWebhook,
) -> Result<Changed<Webhook>, Error> {
    let (scope, now, keys) = (change.scope(), change.now, &sender.secrets);
    refuse_contradictions(&update)?;
    let clear = update.clear.unwrap_or_default();
    let before = webhooks::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let seen = read(&mut change, keys, id).await?;
    change.check(&seen)?;
    let mut after = before.clone();
    if let Some(url) = update.url {
        check(sender, &url)?;
        url.as_str().clone_into(&mut after.url);
        end_backoff(&mut after);
    }
    let is_cleared = |field| clear.contains(&field);
    update_member(
        &mut after.description,
        update.description,
        is_cleared(WebhookField::Description),
    );
    let types = update.types.as_deref().map(patterns);
    update_member(&mut after.event_types, types, is_cleared(WebhookField::Types));
    let mut kinds = Vec::new();
    let texts = |it: &StoredWebhook| {
        let types = it.event_types.as_ref().map(|types| types.0.clone());
        (it.url.clone(), it.description.clone(), types)
    };
    if texts(&before) != texts(&after) {
        kinds.push(EventType::WebhookUpdated);
    }
    match (update.enabled, before.disabled_at) {
        (Some(false), None) => {
            after.disabled_at = Some(now);
            after.disabled_reason = Some(Open::Known(DisabledReason::ByHand));
            kinds.push(EventType::WebhookDisabled);
        }
        (Some(true), disabled) => {
            (after.disabled_at, after.disabled_reason) = (None, None);
            end_backoff(&mut after);
            kinds.extend(disabled.map(|_| EventType::WebhookEnabled));
        }
        _ => {}
    }
    if !kinds.is_empty() {
        after.updated_at = change.time_after(before.updated_at);
    }
    webhooks::update(&mut change, scope, &after).await?;
    let reason = after.disabled_reason.as_ref().and_then(Open::known);
    let told = WebhookFacts { disabled_reason: reason, ..facts(&after) };
    let events: Vec<_> =
        kinds.into_iter().map(|kind| NewEvent::of_webhook(kind, id, &told)).collect();
    let record = read(&mut change, keys, id).await?;
    Ok(change.commit(Changed(record), events).await?)
}

pub async fn delete(
    mut change: Change,
    keys: &SecretKeys,
    id: WebhookId,
) -> Result<Changed<Webhook>, Error> {
    let scope = change.scope();
    let stored = webhooks::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let record = read(&mut change, keys, id).await?;
    change.check(&record)?;
    webhooks::delete(&mut change, scope, id).await?;
    let event = NewEvent::of_webhook(EventType::WebhookDeleted, id, &facts(&stored));
    Ok(change.commit(Changed(record), event).await?)
}

/// Creates another secret, which only this result shows. Old secrets sign in addition until the
/// overlap ends. Without an overlap they end immediately.
pub async fn roll(
    mut change: Change,
    keys: &SecretKeys,
    id: WebhookId,
    roll: RollKey,
) -> Result<Created<CreatedWebhook>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let mut stored = webhooks::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let overlap = roll.overlap();
    let until =
        |old: StoredSecret| StoredSecret { until: old.until.or(Some(now.plus(overlap))), ..old };
    let old: Vec<StoredSecret> = match overlap.is_zero() {
        true => Vec::new(),
        false => stored.secrets.0.drain(..).map(until).collect(),
    };
    let old: Vec<_> = old.into_iter().filter(|old| old.until > Some(now)).collect();
    if old.len() > MAX_OLD_SECRETS {
        return Err(Error::Conflict(
            "Three old secrets sign already. Wait until one ends, or roll with overlapSeconds 0, \
             which ends them all",
        ));
    }
    let secret = WebhookSecret::generate();
    let new = seal(&mut change, keys, id, &secret).await?;
    stored.secrets = AsWritten([vec![new], old].concat());
    stored.updated_at = change.time_after(stored.updated_at);
    end_backoff(&mut stored);
    webhooks::update(&mut change, scope, &stored).await?;
    let event = NewEvent::of_webhook(EventType::WebhookRolled, id, &facts(&stored));
    let record = read(&mut change, keys, id).await?;
    Ok(change.commit_secret(Created(CreatedWebhook { record, secret }), id, event).await?)
}

/// Sends events again: those after a sequence, or since a time. The change only moves the cursor.
pub async fn replay(
    mut change: Change,
    keys: &SecretKeys,
    id: WebhookId,
    replay: ReplayWebhook,
) -> Result<Changed<Webhook>, Error> {
    let scope = change.scope();
    let mut stored = webhooks::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let (oldest, last) = events::bounds(&mut change, scope).await?;
    let after = match (replay.after, replay.since) {
        (Some(after), None) if (0..=last).contains(&after) => after,
        (Some(_), None) => {
            let rule = format!("after must be from 0 to {last}, the sequence of the last event");
            return Err(Error::invalid("after", rule));
        }
        (None, Some(since)) => {
            events::first_at(&mut change, scope, since.plus(-MAX_DISORDER)).await? - 1
        }
        _ => return Err(Error::invalid("after", "Send either after or since")),
    };
    stored.state.sequence = after.max(oldest - 1);
    end_backoff(&mut stored);
    webhooks::release_all(&mut change, scope, id).await?;
    webhooks::update(&mut change, scope, &stored).await?;
    let told = WebhookFacts { after: Some(stored.state.sequence), ..facts(&stored) };
    let event = NewEvent::of_webhook(EventType::WebhookReplayed, id, &told);
    let record = read(&mut change, keys, id).await?;
    Ok(change.commit(Changed(record), event).await?)
}

/// Sends events that were given up again, and later events of the same subjects.
pub async fn retry(mut change: Change, id: WebhookId) -> Result<Changed<Retried>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let mut stored = webhooks::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let subjects = webhooks::hold_given_up(&mut change, scope, id, now).await?;
    end_backoff(&mut stored);
    webhooks::update(&mut change, scope, &stored).await?;
    let retried = Retried { subjects: i64::try_from(subjects).unwrap_or(i64::MAX) };
    Ok(change.commit(Changed(retried), Events::none()).await?)
}

/// Returns the failures of the webhook, newest first.
pub async fn failures(
    view: View,
    id: WebhookId,
    page: Page<WebhookFailureId>,
) -> Result<Found<WebhookFailure, WebhookFailureId>, Error> {
    let records = webhooks::failures(&mut view.read().await?, view.scope, id, page).await?;
    Ok(Found { records, rest: None })
}

/// Deletes failures that are older than 30 days.
pub async fn forget_old_failures(db: &Db, now: Timestamp) -> db::Result<()> {
    let before = now.plus(-webhooks::FAILURES_KEPT);
    retention::delete_old(db, retention::WEBHOOK_FAILURES, before).await
}
