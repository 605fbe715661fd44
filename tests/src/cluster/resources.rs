//! PostgreSQL ends licd's connections, or has none left for it: every result is right, other
//! requests get a 503 in time, and nothing needs a restart.

use std::time::Instant;

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::outage::{Load, MAX_WAIT, all_seated, away};
use super::{Cluster, cluster_with_license};
use crate::harness::{Caller, until};
use crate::nodes::process::{Process, first_key, licd};

/// An administrator's way to end all of licd's connections.
const END_ALL: &str = "select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'licd'";
const KILLS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn connections_that_are_ended_in_a_storm_lose_nothing_that_was_answered() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let nodes = [(); 2].map(|()| Process::start(&cluster.url("licd"), &key));
    let callers = [nodes[0].caller(&key), nodes[1].caller(&key)];
    let license = callers[0].license(json!({})).await;
    let load = Load::new();
    let killing = async {
        for _ in 0..KILLS {
            load.seats_more(20).await;
            cluster.execute(END_ALL).await;
        }
        for caller in &callers {
            until("/readyz is 200", async || caller.get("/readyz").await.status == 200).await;
        }
        load.seats_more(20).await;
        load.stop();
    };
    tokio::join!(load.run(&callers, 16, &license), killing);
    assert!(load.slowest() < MAX_WAIT, "a caller waited {:?}", load.slowest());
    all_seated(&cluster, &callers, &license, &load.seated()).await;
    for node in nodes {
        assert!(node.stop().success());
    }
}

/// Takes all connections that are left.
async fn take_rest(cluster: &Cluster, others: &mut Vec<PgConnection>) {
    loop {
        match PgConnection::connect(&cluster.url("licd")).await {
            Ok(conn) => others.push(conn),
            Err(error) => {
                assert!(error.to_string().contains("too many clients"), "{error}");
                return;
            }
        }
    }
}

/// Ends licd's connections and takes their places, until all of the server's are taken.
async fn take_all(cluster: &Cluster, others: &mut Vec<PgConnection>) {
    let most = "select current_setting('max_connections')::int";
    let most: i32 = sqlx::query_scalar(most).fetch_one(&mut others[0]).await.unwrap();
    while others.len() < usize::try_from(most).unwrap() {
        sqlx::query(END_ALL).execute(&mut others[0]).await.unwrap();
        take_rest(cluster, others).await;
    }
}

/// Sends sixty requests at the same time. Each is right or refused in time. Returns the number that
/// succeeded.
async fn ask_many(caller: &Caller) -> usize {
    let begun = Instant::now();
    let asked = join_all((0..30).map(|_| caller.validate("ada")));
    let listed = join_all((0..30).map(|_| caller.get("/api/v1/admin/users?limit=1")));
    let (asked, listed) = tokio::join!(asked, listed);
    assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
    for told in asked.iter().filter(|told| told.status != 503) {
        assert_eq!(told.verdict(), "valid");
    }
    for told in listed.iter().filter(|told| told.status != 503) {
        assert_eq!(told.list().len(), 1);
    }
    asked.iter().chain(&listed).filter(|told| told.status == 200).count()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_server_without_free_connections_is_used_with_the_open_ones() {
    let (cluster, node, caller, _) = cluster_with_license().await;
    assert_eq!(caller.validate("ada").await.verdict(), "valid");

    let mut others = Vec::new();
    take_rest(&cluster, &mut others).await;
    assert!(ask_many(&caller).await > 0, "those that are open go on");
    // licd closes connections on its own, and a start may be quicker to take their places.
    until("a new start is refused", async || {
        take_rest(&cluster, &mut others).await;
        let begun = Instant::now();
        let start = licd(&["migrate", "--database-url", &cluster.url("licd")]);
        assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
        start.status.code() == Some(1)
    })
    .await;

    take_all(&cluster, &mut others).await;
    away(&caller).await;
    assert_eq!(ask_many(&caller).await, 0, "there is no connection");
    drop(others);
    until("/readyz is 200 again", async || caller.get("/readyz").await.status == 200).await;
    assert_eq!(ask_many(&caller).await, 60);
    assert!(node.stop().success());
}

/// A full or failing disk of PostgreSQL, as far as licd can tell it: the codes of its errors.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_server_whose_disk_is_full_or_fails_is_unavailable() {
    let (cluster, node, caller, license) = cluster_with_license().await;
    for (code, name) in [("53100", "disk_full"), ("58030", "io_error")] {
        let fail = format!(
            "create function {name}() returns trigger language plpgsql as
             $$ begin raise exception '{name}' using errcode = '{code}'; end $$"
        );
        cluster.execute(&fail).await;
        for table in ["users", "events"] {
            let on = "before insert on";
            let trigger = format!("create trigger {name} {on} {table} execute function {name}()");
            cluster.execute(&trigger).await;
        }
        let made = caller.post("/api/v1/admin/users", json!({ "externalId": name })).await;
        assert_eq!(made.refusal(), "503 unavailable", "{code}");
        assert_eq!(caller.validate("ada").await.refusal(), "503 unavailable", "{code}");
        assert_eq!(caller.get("/readyz?for=writes").await.status, 503, "{code}");
        assert_eq!(caller.get("/readyz").await.data()["writes"], false, "{code}");
        assert_eq!(caller.get("/api/v1/admin/users").await.list().len(), 1, "{code}");
        cluster.execute(&format!("drop function {name} cascade")).await;
        assert_eq!(caller.validate("ada").await.verdict(), "valid", "{code}");
        let writes = "/readyz?for=writes";
        until("it can write", async || caller.get(writes).await.status == 200).await;
        let off = caller.unassign(&license, "ada").await;
        assert_eq!(off.status, 200);
        caller.assign(&license, "ada").await.data();
    }
    assert!(node.stop().success());
}

/// A start that waits for another node's migration says so.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_start_that_waits_for_a_migration_says_so() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let mut other = PgConnection::connect(&cluster.url("licd")).await.unwrap();
    let lock = "select pg_advisory_lock(7017269530431091044)";
    sqlx::query(lock).execute(&mut other).await.unwrap();
    let starting = Process::launch(&cluster.url("licd"), &key);
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    until("licd waits", async || cluster.number(waiting).await == 1).await;
    other.close().await.unwrap();
    let node = starting.wait();
    assert!(node.log().contains("another licd is migrating the database"), "{}", node.log());
    assert!(node.stop().success());
}
