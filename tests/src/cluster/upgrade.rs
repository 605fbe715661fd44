//! Migrations while other nodes serve. Nodes of older releases are played by sessions that lock what
//! those lock, in their order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Client;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{cluster_with_license, free_port};
use crate::harness::{find, until};
use crate::nodes::process::{Process, licd};

/// Takes the schema back to version 2, from which it is migrated again.
const BACK: [&str; 23] = [
    "alter table plans drop column max_lease_seconds",
    "alter table licenses drop column max_lease_seconds",
    "alter table assignments drop column leased_until, drop column leased_device",
    "drop table signing_keys",
    "drop table webhook_failures, webhook_holds, webhooks",
    "drop table notices",
    "drop index licenses_by_end",
    "drop index licenses_by_grace_end",
    "alter table events drop column reason",
    "drop table uptime",
    "alter table licenses drop column seat_idle_minutes, drop column grace_days,
         drop column pending_days, drop column grace_ends_at, drop column seats_idle_at",
    "alter table plans drop column seat_idle_minutes, drop column grace_days,
         drop column expires_from",
    "drop table license_keys",
    "alter table assignments drop column claimed_with, drop column place",
    "drop table user_phrases",
    "create index users_by_start on users (world, external_id) where world > 0",
    "create index users_by_email on users (world, lower(email)) where world > 0",
    "create index users_by_name on users (world, lower(name)) where world > 0",
    "drop table license_phrases",
    "drop index assignments_by_age",
    "alter table licenses drop column name, drop column metadata",
    "alter table keys drop column rolled_at",
    "alter table idempotency_keys drop column etag",
];
const FORGET: &str = "delete from _sqlx_migrations where version > 2";

/// What a validation locks, and what a change locks, with a key that comes first and last.
const READS: [&str; 3] = [
    "select count(*) from keys",
    "select count(*) from licenses",
    "select count(*) from assignments",
];
const WRITES: [&str; 4] = [
    "insert into idempotency_keys select 'N', id, '', 200, null, now() from worlds limit 1",
    "update licenses set updated_at = now()",
    "update assignments set last_checked_at = last_checked_at",
    "select count(*) from keys",
];

/// Repeats a transaction until the migration has ended, and counts how often.
async fn serve(url: &str, name: &str, statements: &[&str], stop: &AtomicBool, done: &AtomicU64) {
    let mut conn = PgConnection::connect(url).await.unwrap();
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut tx = conn.begin().await.unwrap();
        for statement in statements {
            let statement = statement.replace("'N'", &format!("'{name}-{n}'"));
            let ran = tx.execute(AssertSqlSafe(statement.as_str())).await;
            ran.unwrap_or_else(|error| panic!("{name} failed in {statement}: {error}"));
        }
        tx.commit().await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// A reader who stays, such as a backup, makes the migration wait and nobody else.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_migration_stops_no_request() {
    let (cluster, node, _, _) = cluster_with_license().await;
    node.stop();
    let url = cluster.url("licd");
    for statement in BACK {
        cluster.execute(statement).await;
    }
    cluster.execute(FORGET).await;
    let mut reader = PgConnection::connect(&url).await.unwrap();
    reader.execute("begin; select * from keys").await.unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let names: Vec<_> = (0..6).map(|n| format!("session-{n}")).collect();
    let nodes = join_all(names.iter().enumerate().map(|(at, name)| {
        let statements = if at % 2 == 0 { &READS[..] } else { &WRITES };
        serve(&url, name, statements, &stop, &done)
    }));
    let migrating = async {
        let migration = tokio::task::spawn_blocking({
            let url = url.clone();
            move || licd(&["migrate", "--database-url", &url])
        });
        let tried = "select count(*) from pg_locks
            where not granted and mode = 'AccessExclusiveLock' and relation = 'keys'::regclass";
        until("the reader is waited for", async || cluster.number(tried).await > 0).await;
        let before = done.load(Ordering::Relaxed);
        until("the others go on", async || done.load(Ordering::Relaxed) > before + 100).await;
        reader.execute("commit").await.unwrap();
        let migrated = migration.await.unwrap();
        stop.store(true, Ordering::Relaxed);
        migrated
    };
    let (_, migrated) = join(nodes, migrating).await;
    let said = String::from_utf8(migrated.stdout).unwrap();
    let told = String::from_utf8(migrated.stderr).unwrap();
    assert!(migrated.status.success(), "{:?}: {said}{told}", migrated.status);
    assert!(said.contains("is now at schema version 21: 19 steps"), "{said}");
    assert!(told.contains("a table that the migration changes is in use"), "{told}");
    let log = std::fs::read_to_string(cluster.path("log")).unwrap();
    assert!(!log.contains("deadlock detected"), "{log}");
}

/// A platform that starts a node must not take it for dead, and must not send it requests.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_node_that_migrates_is_alive_and_not_ready() {
    let (cluster, node, _, _) = cluster_with_license().await;
    assert!(!node.log().contains("migrat"), "a new database is no upgrade: {}", node.log());
    node.stop();
    let url = cluster.url("licd");
    cluster.execute("alter table keys drop column rolled_at").await;
    cluster.execute("delete from _sqlx_migrations where version = 4").await;
    let mut reader = PgConnection::connect(&url).await.unwrap();
    reader.execute("begin; select * from keys").await.unwrap();
    let listen = format!("127.0.0.1:{}", free_port());
    let starting = Process::launch_with(&url, &[("LICD_LISTEN", &listen)]);
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
    let status = async |path: &str| {
        let answer = client.get(format!("http://{listen}{path}")).send().await.ok()?;
        Some(answer.status().as_u16())
    };
    let alive = find("it is alive", async || status("/healthz").await).await;
    assert_eq!(alive, 200);
    for path in ["/readyz", "/api/v1/key", "/dashboard"] {
        assert_eq!(status(path).await, Some(503), "{path}");
    }
    reader.execute("commit").await.unwrap();
    let node = starting.wait();
    assert_eq!(status("/readyz").await, Some(200));
    let log = node.log();
    for said in ["migrating the database: rolled keys", "migrated the database"] {
        assert!(log.contains(said), "{log}");
    }
    assert_eq!(node.stop().code(), Some(0));
    // A start on the same schema has nothing to say of it.
    let node = Process::launch_with(&url, &[]).wait();
    assert!(!node.log().contains("migrat"), "{}", node.log());
}
