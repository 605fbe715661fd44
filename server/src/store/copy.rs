//! Reads and writes whole tables in batches, to move a database from one place to another.
//!
//! A record here is a row as stored, with nothing added or interpreted. Each table's columns are
//! listed once, and its statements are built from that list.

mod canonical;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use common::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::types::Json;
use uuid::Uuid;

use crate::db::{self, AsWritten, Conn, Query, Result, Sql};
use canonical::Canonical;

/// Number of rows that are read or written at a time. PostgreSQL allows at most 65,535 values in a
/// statement, SQLite 32,766, and no table has more than twenty columns.
pub const PORTION: usize = 200;

pub trait Table: db::Row {
    const NAME: &'static str;
    const COLUMNS: &'static [&'static str];
    /// The columns of the primary key, by which rows are read in order.
    const KEY: &'static [&'static str];

    fn statements() -> &'static Statements;

    fn bind<'c>(&self, query: Query<'c>) -> Query<'c>;

    fn bind_key<'c>(&self, query: Query<'c>) -> Query<'c>;

    /// Appends the encoding of the whole row.
    fn encode_canonical(&self, out: &mut Vec<u8>);

    /// The number of seats in the row.
    fn seats(&self) -> i64 {
        0
    }
}

pub struct Statements {
    first: String,
    next: String,
    insert_portion: String,
    insert_one: String,
    count: String,
    any: String,
    measure: String,
}

impl Statements {
    fn of<T: Table>() -> Self {
        let (name, columns, key) = (T::NAME, T::COLUMNS.join(", "), T::KEY.join(", "));
        let select = format!("select {columns} from {name}");
        let order = format!("order by {key} limit {PORTION}");
        Self {
            first: format!("{select} {order}"),
            next: format!("{select} where ({key}) > ({}) {order}", places(0, T::KEY.len())),
            insert_portion: insert::<T>(PORTION),
            insert_one: insert::<T>(1),
            count: format!("select count(*) from {name}"),
            any: format!("select 1 from {name} limit 1"),
            measure: format!("analyze {name}"),
        }
    }
}

/// `$1, $2, …`, numbered from `before`.
fn places(before: usize, count: usize) -> String {
    let places: Vec<String> = (1..=count).map(|place| format!("${}", before + place)).collect();
    places.join(", ")
}

fn insert<T: Table>(rows: usize) -> String {
    let width = T::COLUMNS.len();
    let rows: Vec<String> =
        (0..rows).map(|row| format!("({})", places(row * width, width))).collect();
    format!("insert into {} ({}) values {}", T::NAME, T::COLUMNS.join(", "), rows.join(", "))
}

macro_rules! tables {
    ($($(#[$doc:meta])* $row:ident = $name:ident by ($($key:ident),*)
        { $($column:ident: $type:ty),* $(,)? } $(seats $seats:ident)?;)*) => {$(
        $(#[$doc])*
        #[derive(sqlx::FromRow)]
        pub struct $row { $($column: $type),* }

        impl Table for $row {
            const NAME: &'static str = stringify!($name);
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),*];
            const KEY: &'static [&'static str] = &[$(stringify!($key)),*];

            fn statements() -> &'static Statements {
                static STATEMENTS: LazyLock<Statements> = LazyLock::new(Statements::of::<$row>);
                &STATEMENTS
            }

            fn bind<'c>(&self, query: Query<'c>) -> Query<'c> {
                query $(.bind(self.$column.clone()))*
            }

            fn bind_key<'c>(&self, query: Query<'c>) -> Query<'c> {
                query $(.bind(self.$key.clone()))*
            }

            fn encode_canonical(&self, out: &mut Vec<u8>) {
                $(self.$column.encode_canonical(out);)*
            }

            $(fn seats(&self) -> i64 {
                self.$seats.into()
            })?
        }
    )*};
}

type Time = Timestamp;
type Written = AsWritten<Box<RawValue>>;

tables! {
    World = worlds by (id) {
        id: i32, tenant_id: Uuid, tenant_name: String, mode: String, created_at: Time,
    };
    Key = keys by (id) {
        id: Uuid, world: i32, name: String, prefix: String, role: String, created_at: Time,
        expires_at: Option<Time>, last_used_at: Option<Time>, last_used_address: Option<String>,
        revoked_at: Option<Time>, hash: Vec<u8>, original_expires_at: Option<Time>,
        created_by: Option<Uuid>,
    };
    Session = sessions by (id) {
        id: Uuid, world: i32, key_id: Uuid, created_at: Time, expires_at: Time,
        address: Option<String>, browser: Option<String>, hash: Vec<u8>,
    };
    KeyUse = key_uses by (key_id, hour) { key_id: Uuid, hour: Time, count: i64 };
    Product = products by (id, world) {
        id: Uuid, world: i32, name: String, description: Option<String>, created_at: Time,
        updated_at: Time,
    };
    Plan = plans by (id, world) {
        id: Uuid, world: i32, product_id: Uuid, name: String, description: Option<String>,
        max_seats: Option<i32>, expires_in_days: Option<i32>, features: Json<Value>,
        created_at: Time, updated_at: Time, seat_idle_minutes: Option<i32>,
        grace_days: Option<i32>, expires_from: Option<String>, max_lease_seconds: Option<i32>,
        trial: bool,
    };
    License = licenses by (id, world) {
        id: Uuid, world: i32, product_id: Uuid, plan_id: Uuid, status: String,
        max_seats: Option<i32>, seats_used: i32, expires_at: Option<Time>, features: Json<Value>,
        created_at: Time, updated_at: Time, suffix: i32, name: Option<String>,
        metadata: Option<Written>, seat_idle_minutes: Option<i32>, grace_days: Option<i32>,
        pending_days: Option<i32>, grace_ends_at: Option<Time>, seats_idle_at: Option<Time>,
        max_lease_seconds: Option<i32>,
    } seats seats_used;
    LicenseKey = license_keys by (id, world) {
        id: Uuid, world: i32, license_id: Uuid, suffix: String, hash: Vec<u8>,
        max_uses: Option<i32>, created_at: Time, expires_at: Option<Time>,
        revoked_at: Option<Time>, reissued_as: Option<Uuid>,
    };
    LicensePhrase = license_phrases by (license_id, world, phrase) {
        license_id: Uuid, world: i32, phrase: String,
    };
    User = users by (id, world) {
        id: Uuid, world: i32, external_id: String, email: Option<String>, name: Option<String>,
        metadata: Option<Written>, created_at: Time, updated_at: Time,
    };
    UserPhrase = user_phrases by (user_id, world, phrase) {
        user_id: Uuid, world: i32, phrase: String,
    };
    Assignment = assignments by (user_id, license_id, world) {
        user_id: Uuid, license_id: Uuid, world: i32, id: Uuid, metadata: Option<Written>,
        assigned_at: Time, activation_id: Option<Uuid>, activated_at: Option<Time>,
        last_checked_at: Option<Time>, claimed_with: Option<Uuid>, place: i32,
        leased_until: Option<Time>, leased_device: Option<String>, last_seen_at: Option<Time>,
    };
    EventCounter = event_counters by (world) { world: i32, last: i64 };
    Event = events by (world, sequence) {
        world: i32, sequence: i64, id: Uuid, event_type: String, time: Time, actor_type: String,
        actor_key: Option<Uuid>, actor_session: Option<Uuid>, actor_name: Option<String>,
        subject_type: String, subject_id: String, external_id: Option<String>,
        related: Written, object: Written,
        previous: Option<Written>, request_id: Option<String>, reason: Option<String>,
    };
    Webhook = webhooks by (id, world) {
        id: Uuid, world: i32, url: String, description: Option<String>,
        event_types: Option<Written>, secrets: Written, created_at: Time, updated_at: Time,
        sequence: i64, failing_since: Option<Time>, attempts: i32,
        next_attempt_at: Option<Time>, last_success_at: Option<Time>, last_status: Option<i32>,
        disabled_at: Option<Time>, disabled_reason: Option<String>, claim: Option<i64>,
        claimed_until: Option<Time>,
    };
    WebhookHold = webhook_holds by (webhook_id, subject_id, world) {
        webhook_id: Uuid, world: i32, subject_id: String, sequence: i64, attempts: i32,
        refusals: i32, since: Time, next_attempt_at: Time,
    };
    WebhookFailure = webhook_failures by (id, world) {
        id: Uuid, webhook_id: Uuid, world: i32, event_id: Option<Uuid>, sequence: i64,
        attempt: i32, gave_up: bool, error: String, status: Option<i32>,
        response: Option<String>, duration_ms: i32, at: Time,
    };
    SigningKey = signing_keys by (id, world) {
        id: Uuid, world: i32, state: String, public_key: Vec<u8>, private_key: Option<Vec<u8>>,
        created_at: Time, retired_at: Option<Time>,
    };
    OutcomeCount = outcomes by (world, hour, outcome) {
        world: i32, hour: Time, outcome: String, count: i64,
    };
    OutcomeDay = outcome_days by (world, day, outcome) {
        world: i32, day: Time, outcome: String, count: i64,
    };
    PlanDay = plan_days by (world, day, plan_id) {
        world: i32, day: Time, plan_id: Uuid, licenses: i64, seats: i64, unlimited: i64,
        held_limited: i64, held_unlimited: i64, active: i64, full_seats: i64, over_seats: i64,
        waiting: i64, waiting_seats: i64, started: i64, ended: i64,
    };
    Refusal = refusals by (external_id, world, hour, reason) {
        external_id: String, world: i32, hour: Time, reason: String, id: Uuid,
        license_id: Option<Uuid>, count: i64, first_at: Time, last_at: Time,
    };
    Uptime = uptime by (one) {
        one: i32, seen_at: Time, resumed_at: Option<Time>, away_seconds: Option<i64>,
    };
    Notice = notices by (kind) { kind: String, reached_at: Time, license_id: Uuid };
    IdempotencyKey = idempotency_keys by (name, world) {
        name: String, world: i32, fingerprint: Vec<u8>, status: i32, body: Option<String>,
        created_at: Time, etag: Option<String>,
    };
}

/// Runs the block once for each table, in an order in which no row refers to a later table.
macro_rules! for_each_table {
    ($table:ident => $block:expr) => {{
        $crate::store::copy::for_each_table!(@ $table $block;
            World Key KeyUse Session Product Plan License LicenseKey LicensePhrase User UserPhrase Assignment EventCounter Event
            Webhook WebhookHold WebhookFailure SigningKey OutcomeCount OutcomeDay PlanDay Refusal Uptime Notice
            IdempotencyKey)
    }};
    (@ $table:ident $block:expr; $($row:ident)*) => {
        [$({
            use $crate::store::copy::$row as $table;
            $block
        }),*]
    };
}

pub(crate) use for_each_table;

/// The rows after `last`, or the first ones. Fewer than [`PORTION`] means that none remain.
pub async fn read<T: Table>(conn: &mut Conn, last: Option<&T>) -> Result<Vec<T>> {
    match last {
        None => conn.query(T::statements().first.as_str()).fetch_all().await,
        Some(last) => last.bind_key(conn.query(T::statements().next.as_str())).fetch_all().await,
    }
}

pub async fn insert_all<T: Table>(conn: &mut Conn, rows: &[T]) -> Result<()> {
    let statements = T::statements();
    if rows.len() == PORTION {
        let query = conn.query(statements.insert_portion.as_str());
        rows.iter().fold(query, |query, row| row.bind(query)).execute().await?;
        return Ok(());
    }
    for row in rows {
        row.bind(conn.query(statements.insert_one.as_str())).execute().await?;
    }
    Ok(())
}

pub async fn count<T: Table>(conn: &mut Conn) -> Result<u64> {
    let (count,): (i64,) = conn.query(T::statements().count.as_str()).fetch_one().await?;
    Ok(count.unsigned_abs())
}

pub async fn any<T: Table>(conn: &mut Conn) -> Result<bool> {
    let one: Option<(i32,)> = conn.query(T::statements().any.as_str()).fetch_optional().await?;
    Ok(one.is_some())
}

/// Analyzes the table on PostgreSQL, which plans the check of each reference once: planned for an
/// empty table, it would scan the whole table for every row.
pub async fn measure<T: Table>(conn: &mut Conn) -> Result<()> {
    let sql = Sql::Each { sqlite: "select 1", postgres: T::statements().measure.as_str() };
    conn.query(sql).run().await
}
