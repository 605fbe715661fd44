//! Webhooks as administrators write and see them. The statements of the sender are in `sending`.

pub mod sending;

use common::{DisabledReason, Line, Open, Timestamp, WebhookFailure, WebhookFailureId, WebhookId};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use super::page::paged;
use super::table::{insert, update};
use super::{Page, Scope};
use crate::db::{AsWritten, Conn, Result, Sql, locking};

/// Time for which failures are kept.
pub const FAILURES_KEPT: chrono::TimeDelta = chrono::TimeDelta::days(30);

/// A secret, sealed and in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    pub sealed: String,
    /// Null for the current one.
    pub until: Option<Timestamp>,
}

/// Delivery state of a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct DeliveryState {
    pub sequence: i64,
    pub failing_since: Option<Timestamp>,
    pub attempts: i32,
    pub next_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub last_status: Option<i32>,
    /// Reason why a delivery disables the webhook. `None` in a row as it is read, which has
    /// [`disabled_reason`](StoredWebhook::disabled_reason).
    #[sqlx(skip)]
    pub disabled: Option<DisabledReason>,
}

/// A row.
#[derive(Clone, sqlx::FromRow)]
pub struct StoredWebhook {
    pub id: WebhookId,
    pub url: String,
    pub description: Option<Line>,
    pub event_types: Option<AsWritten<Vec<String>>>,
    /// The current one first.
    pub secrets: AsWritten<Vec<StoredSecret>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[sqlx(flatten)]
    pub state: DeliveryState,
    pub disabled_at: Option<Timestamp>,
    pub disabled_reason: Option<Open<DisabledReason>>,
}

/// With what is counted for its record.
#[derive(sqlx::FromRow)]
pub struct CountedWebhook {
    #[sqlx(flatten)]
    pub stored: StoredWebhook,
    /// The sequence of the world's last event.
    pub last: i64,
    pub held: i64,
    pub given_up: i64,
    pub first_given_up: Option<i64>,
}

macro_rules! columns {
    () => {
        "w.id, w.url, w.description, w.event_types, w.secrets, w.created_at, w.updated_at,
             w.sequence, w.failing_since, w.attempts, w.next_attempt_at, w.last_success_at,
             w.last_status, w.disabled_at, w.disabled_reason"
    };
}
pub(crate) use columns;

macro_rules! counted {
    ($rest:expr) => {
        concat!(
            "select ",
            columns!(),
            ", (select last from event_counters e where e.world = $1) as last,
             (select count(*) from webhook_holds h
              where h.webhook_id = w.id and h.world = $1) as held,
             (select count(*) from webhook_failures f
              where f.webhook_id = w.id and f.world = $1 and f.gave_up) as given_up,
             (select min(f.sequence) from webhook_failures f
              where f.webhook_id = w.id and f.world = $1 and f.gave_up) as first_given_up
             from webhooks w where ",
            $rest
        )
    };
}

pub async fn insert(conn: &mut Conn, scope: Scope, webhook: &StoredWebhook) -> Result<()> {
    let query = insert!(
        conn,
        scope,
        webhooks {
            id: webhook.id,
            url: &webhook.url,
            description: &webhook.description,
            event_types: &webhook.event_types,
            secrets: &webhook.secrets,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
            sequence: webhook.state.sequence,
            attempts: webhook.state.attempts,
        }
    );
    query.run().await
}

pub async fn find(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<Option<CountedWebhook>> {
    let sql = counted!("w.id = $2 and w.world = $1");
    conn.query(sql).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<Option<StoredWebhook>> {
    conn.query(locking!(concat!(
        "select ",
        columns!(),
        " from webhooks w where w.id = $2 and w.world = $1"
    )))
    .bind_scope(scope)
    .bind(id)
    .fetch_optional()
    .await
}

/// The world's webhooks, oldest first. There are at most a few.
pub async fn all(conn: &mut Conn, scope: Scope) -> Result<Vec<CountedWebhook>> {
    let sql = counted!("w.world = $1 and w.world > 0 order by w.id");
    conn.query(sql).bind_scope(scope).fetch_all().await
}

/// Writes the fields that an administrator may change. A delivery with the old state is stopped.
pub async fn update(conn: &mut Conn, scope: Scope, webhook: &StoredWebhook) -> Result<()> {
    let (state, reason) = (&webhook.state, &webhook.disabled_reason);
    let query = update!(conn, scope, webhooks webhook.id => {
        url: &webhook.url, description: &webhook.description, event_types: &webhook.event_types,
        secrets: &webhook.secrets, updated_at: webhook.updated_at, sequence: state.sequence,
        failing_since: state.failing_since, attempts: state.attempts,
        next_attempt_at: state.next_attempt_at, disabled_at: webhook.disabled_at,
        disabled_reason: reason.as_ref().map(ToString::to_string),
    } ", claim = null, claimed_until = null");
    query.run().await
}

pub async fn delete(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<()> {
    release_all(conn, scope, id).await?;
    for sql in [
        "delete from webhook_failures where webhook_id = $2 and world = $1",
        "delete from webhooks where id = $2 and world = $1",
    ] {
        conn.query(sql).bind_scope(scope).bind(id).execute().await?;
    }
    Ok(())
}

/// Ends all holds.
pub async fn release_all(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<()> {
    conn.query("delete from webhook_holds where webhook_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .run()
        .await
}

/// Holds each subject of which an event was given up at the first such event, unless it is held
/// before that already, and returns how many there are. What is not kept any more is left out, and
/// what is sent again anyway, after a replay.
pub async fn hold_given_up(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    now: Timestamp,
) -> Result<u64> {
    conn.query(
        "insert into webhook_holds (webhook_id, world, subject_id, sequence, attempts, refusals,
             since, next_attempt_at)
         select f.webhook_id, f.world, e.subject_id, min(e.sequence), 0, 0, $3, $3
         from webhook_failures f join events e on e.world = f.world and e.sequence = f.sequence
         join webhooks w on w.id = f.webhook_id and w.world = f.world
         where f.webhook_id = $2 and f.world = $1 and f.gave_up and f.event_id = e.id
             and f.sequence <= w.sequence
         group by f.webhook_id, f.world, e.subject_id
         on conflict (webhook_id, subject_id, world) do update
             set sequence = case when webhook_holds.sequence < excluded.sequence
                     then webhook_holds.sequence else excluded.sequence end,
                 attempts = 0, refusals = 0, since = $3, next_attempt_at = $3",
    )
    .bind_scope(scope)
    .bind(id)
    .bind(now)
    .execute()
    .await
}

/// The failures of a webhook.
pub async fn failures(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    page: Page<WebhookFailureId>,
) -> Result<Vec<WebhookFailure>> {
    macro_rules! select {
        ($rest:expr) => {
            concat!(
                "select id, event_id as event, sequence, attempt, gave_up, error, status, response,
                     duration_ms, at
                 from webhook_failures where ",
                $rest
            )
        };
    }
    conn.query(paged!(page, select!("webhook_id = $4 and world = $1 and world > 0"), "id"))
        .bind_page(scope, page)
        .bind(id)
        .fetch_all()
        .await
}

/// An event that was given up was taken after all.
pub async fn forget_given_up(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    sequences: &[i64],
) -> Result<()> {
    const FORGET: Sql = Sql::Each {
        sqlite: "delete from webhook_failures
                 where webhook_id = $2 and world = $1 and gave_up
                     and sequence in (select value from json_each($3))",
        postgres: "delete from webhook_failures
                   where webhook_id = $2 and world = $1 and gave_up and sequence in
                       (select cast(value as bigint) from jsonb_array_elements_text($3))",
    };
    conn.query(FORGET).bind_scope(scope).bind(id).bind(Json(sequences)).run().await
}
