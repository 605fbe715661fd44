//! Migrations while other nodes serve. The last migration that changes a table is undone and
//! applied again, under the load of sessions that lock what a node locks, in its order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Client;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{Cluster, cluster_with_license, free_port};
use crate::harness::{find, until};
use crate::nodes::process::{Process, licd};

/// Takes the schema back by the last migration that changes a table that nodes use.
async fn go_back(cluster: &Cluster) {
    cluster.execute("drop index keys_by_maker").await;
    cluster.execute("alter table keys drop column created_by").await;
    cluster.execute("delete from _sqlx_migrations where version in (2, 3)").await;
}

/// Statements that lock the rows of a validation and of a change, with keys at both ends of the
/// table.
const READS: [&str; 3] = [
    "select count(*) from keys",
    "select count(*) from licenses",
    "select count(*) from assignments",
];
const WRITES: [&str; 4] = [
    "insert into idempotency_keys select 'N', id, '', 200, null, null, now() from worlds limit 1",
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

/// A long reader, such as a backup, delays the migration and no other program.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_migration_stops_no_request() {
    let (cluster, node, _, _) = cluster_with_license().await;
    node.stop();
    let url = cluster.url("licd");
    go_back(&cluster).await;
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
    assert!(said.contains(": 2 steps"), "{said}");
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
    go_back(&cluster).await;
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
    for said in ["migrating the database: key makers", "migrated the database"] {
        assert!(log.contains(said), "{log}");
    }
    assert_eq!(node.stop().code(), Some(0));
    // A start on the same schema has nothing to say of it.
    let node = Process::launch_with(&url, &[]).wait();
    assert!(!node.log().contains("migrat"), "{}", node.log());
}
