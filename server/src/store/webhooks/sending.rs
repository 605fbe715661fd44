//! Statements of the sender of webhooks: due webhooks, claims, blocked subjects (in `webhook_holds`),
//! and failed attempts.

use common::{DisabledReason, Timestamp, WebhookFailure, WebhookId};
use sqlx::types::Json;

use super::{DeliveryState, StoredWebhook, columns};
use crate::db::{Conn, Result, Sql};
use crate::store::batch_rows::by_world;
use crate::store::table::insert;
use crate::store::{Scope, World};

/// Maximum number of stored failures of a webhook: of events that licd retries, and of events that it
/// has given up.
const MAX_FAILURES: i64 = 1000;
const MAX_GIVEN_UP: i64 = 10_000;

/// A webhook that has events to send.
#[derive(Clone, sqlx::FromRow)]
pub struct DueWebhook {
    #[sqlx(flatten)]
    pub scope: Scope,
    #[sqlx(flatten)]
    pub webhook: StoredWebhook,
    /// The sequence of the world's last event.
    pub last: i64,
    /// Number of blocked subjects.
    pub blocked: i64,
    pub has_given_up: bool,
}

/// Selects webhooks as they are sent to.
macro_rules! select_due {
    ($($condition:tt)*) => {
        concat!(
            "select w.world, o.tenant_id, o.mode, ",
            columns!(),
            ", e.last,
                 (select count(*) from webhook_holds h
                  where h.webhook_id = w.id and h.world = w.world) as blocked,
                 exists (select 1 from webhook_failures f
                     where f.webhook_id = w.id and f.world = w.world and f.gave_up)
                     as has_given_up
             from webhooks w
             join worlds o on o.id = w.world
             join event_counters e on e.world = w.world
             where ",
            $($condition)*
        )
    };
}

/// Returns webhooks that are not claimed and have an event after their cursor or a blocked subject
/// that is due, the least recently claimed first. Claims count by the clock that all nodes share:
/// PostgreSQL's. SQLite has one node.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<DueWebhook>> {
    macro_rules! due {
        ($clock:literal) => {
            select_due!(
                "w.disabled_at is null
                     and (w.next_attempt_at is null or w.next_attempt_at <= $1)
                     and (w.claimed_until is null or w.claimed_until < ",
                $clock,
                ")
                     and (w.sequence < e.last or exists (
                         select 1 from webhook_holds h
                         where h.webhook_id = w.id and h.world = w.world
                             and h.next_attempt_at <= $1))
                 order by w.claimed_until nulls first, w.id limit $2"
            )
        };
    }
    const DUE: Sql = Sql::Each { sqlite: due!("$1"), postgres: due!("statement_timestamp()") };
    conn.query(DUE).bind(now).bind(limit).fetch_all().await
}

/// Claims those of the webhooks that are not claimed, and returns them as they are at that time:
/// they may have changed since [`due`] found them.
pub async fn claim(
    tx: &mut Conn,
    webhooks: &[(World, WebhookId)],
    (claim, now, until): (i64, Timestamp, Timestamp),
) -> Result<Vec<DueWebhook>> {
    const CLAIM: Sql = Sql::Each {
        sqlite: "update webhooks set claim = $1, claimed_until = $2
                 where disabled_at is null and (claimed_until is null or claimed_until < $3)
                     and id in (select unhex(value) from json_each($4))
                     and (world = $5 or $5 is null)",
        postgres: "update webhooks set claim = $1,
                       claimed_until = date_trunc('milliseconds', statement_timestamp()) + ($2 - $3)
                   where (world = $5 or $5 is null) and (id, world) in (
                       select id, world from webhooks
                       where disabled_at is null and (world = $5 or $5 is null)
                           and (claimed_until is null or claimed_until < statement_timestamp())
                           and id in (select cast(value as uuid)
                               from jsonb_array_elements_text($4))
                       for update skip locked)",
    };
    const CLAIMED: Sql = Sql::Each {
        sqlite: select_due!(
            "w.claim = $1 and w.id in (select unhex(value) from json_each($2))
                 and (w.world = $3 or $3 is null)"
        ),
        postgres: select_due!(
            "w.claim = $1 and w.id in (select cast(value as uuid)
                 from jsonb_array_elements_text($2)) and (w.world = $3 or $3 is null)"
        ),
    };
    let mut claimed = Vec::new();
    for group in by_world(tx, webhooks, |(world, _)| *world) {
        let world = tx.is_sharded().then(|| group[0].0);
        let ids = Json(group.iter().map(|(_, id)| id.uuid().simple()).collect::<Vec<_>>());
        let update = tx.query(CLAIM).bind(claim).bind(until).bind(now).bind(&ids).bind(world);
        update.execute().await?;
        let query = tx.query(CLAIMED).bind(claim).bind(&ids).bind(world);
        claimed.extend(query.fetch_all::<DueWebhook>().await?);
    }
    Ok(claimed)
}

/// Returns whether a claim is still valid. A change of the webhook ends it.
pub async fn is_claimed(conn: &mut Conn, scope: Scope, id: WebhookId, claim: i64) -> Result<bool> {
    let sql = "select 1 from webhooks where id = $2 and world = $1 and claim = $3";
    let found: Option<(i32,)> =
        conn.query(sql).bind_scope(scope).bind(id).bind(claim).fetch_optional().await?;
    Ok(found.is_some())
}

/// Frees the claims of all processes. On SQLite, they are left over from a process that crashed.
pub async fn free_claims(conn: &mut Conn) -> Result<()> {
    conn.query("update webhooks set claimed_until = null where claimed_until is not null")
        .run()
        .await
}

/// A subject whose events wait behind one that the receiver did not accept.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct BlockedSubject {
    #[sqlx(rename = "subject_id")]
    pub id: String,
    /// Sequence of the event that is sent next.
    pub sequence: i64,
    pub attempts: i32,
    pub refusals: i32,
    /// Time at which the subject was blocked at this event.
    pub since: Timestamp,
    pub next_attempt_at: Timestamp,
}

/// Returns all blocked subjects of a webhook, those that are due first.
pub async fn blocked(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<Vec<BlockedSubject>> {
    conn.query(
        "select subject_id, sequence, attempts, refusals, since, next_attempt_at
         from webhook_holds where webhook_id = $2 and world = $1 order by next_attempt_at",
    )
    .bind_scope(scope)
    .bind(id)
    .fetch_all()
    .await
}

/// Writes the state of a webhook if the claim is still valid, and returns whether it is. Ends the
/// claim if `is_last`.
pub async fn settle(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    state: &DeliveryState,
    claim: i64,
    (now, is_last): (Timestamp, bool),
) -> Result<bool> {
    let settled = conn
        .query(
            "update webhooks set sequence = $4, failing_since = $5, attempts = $6,
                 next_attempt_at = $7, last_success_at = $8, last_status = $9,
                 disabled_at = $10, disabled_reason = $11
             where id = $2 and world = $1 and claim = $3",
        )
        .bind_scope(scope)
        .bind(id)
        .bind(claim)
        .bind(state.sequence)
        .bind(state.failing_since)
        .bind(state.attempts)
        .bind(state.next_attempt_at)
        .bind(state.last_success_at)
        .bind(state.last_status)
        .bind(state.disabled.map(|_| now))
        .bind(state.disabled.map(DisabledReason::as_str))
        .execute()
        .await?;
    if is_last {
        end_claim(conn, scope, id, claim, now).await?;
    }
    Ok(settled == 1)
}

async fn end_claim(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    claim: i64,
    now: Timestamp,
) -> Result<()> {
    const END: Sql = Sql::Each {
        sqlite: "update webhooks set claim = null, claimed_until = $4
                 where id = $2 and world = $1 and claim = $3",
        postgres: "update webhooks set claim = null,
                       claimed_until = least($4, date_trunc('milliseconds', statement_timestamp()))
                   where id = $2 and world = $1 and claim = $3",
    };
    conn.query(END).bind_scope(scope).bind(id).bind(claim).bind(now).run().await
}

/// Blocks a subject, or updates a blocked one.
pub async fn block(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    subject: &BlockedSubject,
) -> Result<()> {
    let query = insert!(conn, scope, webhook_holds {
        webhook_id: id, subject_id: &subject.id, sequence: subject.sequence,
        attempts: subject.attempts, refusals: subject.refusals, since: subject.since,
        next_attempt_at: subject.next_attempt_at,
    } "on conflict (webhook_id, subject_id, world) do update
           set sequence = excluded.sequence, attempts = excluded.attempts,
               refusals = excluded.refusals, since = excluded.since,
               next_attempt_at = excluded.next_attempt_at");
    query.run().await
}

/// Unblocks a subject.
pub async fn unblock(conn: &mut Conn, scope: Scope, id: WebhookId, subject: &str) -> Result<()> {
    conn.query("delete from webhook_holds where webhook_id = $2 and subject_id = $3 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .bind(subject)
        .run()
        .await
}

/// Stores a failure. If its event was given up, this replaces the failures of earlier attempts.
pub async fn insert_failure(
    conn: &mut Conn,
    scope: Scope,
    id: WebhookId,
    failure: &WebhookFailure,
) -> Result<()> {
    if failure.gave_up {
        conn.query(
            "delete from webhook_failures
             where webhook_id = $2 and sequence = $3 and world = $1",
        )
        .bind_scope(scope)
        .bind(id)
        .bind(failure.sequence)
        .execute()
        .await?;
    }
    let query = insert!(
        conn,
        scope,
        webhook_failures {
            id: failure.id,
            webhook_id: id,
            event_id: failure.event,
            sequence: failure.sequence,
            attempt: failure.attempt,
            gave_up: failure.gave_up,
            error: failure.error.to_string(),
            status: failure.status,
            response: &failure.response,
            duration_ms: failure.duration_ms,
            at: failure.at,
        }
    );
    query.run().await
}

/// Counts of the webhooks of all worlds, and the start of the longest failure among them.
#[derive(sqlx::FromRow)]
pub struct WebhookStates {
    pub webhooks: i64,
    pub failing: i64,
    pub disabled: i64,
    pub failing_since: Option<Timestamp>,
}

pub async fn states(conn: &mut Conn) -> Result<WebhookStates> {
    conn.query(
        "select count(*) as webhooks, count(disabled_at) as disabled,
             count(case when disabled_at is null then failing_since end) as failing,
             min(case when disabled_at is null then failing_since end) as failing_since
         from webhooks",
    )
    .fetch_one()
    .await
}

/// Deletes the oldest failures of a webhook beyond the maximum numbers.
pub async fn delete_excess_failures(conn: &mut Conn, scope: Scope, id: WebhookId) -> Result<()> {
    for (gave_up, max) in [(false, MAX_FAILURES), (true, MAX_GIVEN_UP)] {
        conn.query(
            "delete from webhook_failures where world = $1 and webhook_id = $2 and id in (
                 select id from webhook_failures
                 where webhook_id = $2 and world = $1 and gave_up = $3
                 order by id desc limit 500 offset $4)",
        )
        .bind_scope(scope)
        .bind(id)
        .bind(gave_up)
        .bind(max)
        .execute()
        .await?;
    }
    Ok(())
}
