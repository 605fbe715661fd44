//! `licd doctor` at a PostgreSQL of its own: with the settings of production, silent, gone, as a
//! standby, and behind PgBouncer.

use std::time::{Duration, Instant};

use super::Cluster;
use super::pgbouncer::Bouncer;
use crate::doctor::Examination;
use crate::nodes::process::{licd, licd_with};

/// Two checks and a start, on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(15);

fn migrate(url: &str) {
    assert!(licd(&["migrate", "--database-url", url]).status.success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_server_is_sound_slow_or_gone() {
    let cluster = Cluster::start().await;
    let url = cluster.url("licd");
    migrate(&url);
    let unsafe_writes = Examination::of(&url, &[]);
    assert_eq!(unsafe_writes.code, Some(1));
    let problem = unsafe_writes.with("problem").join("\n");
    assert_eq!(
        problem,
        "durability: fsync is off: a crash of the machine may destroy the database [set fsync = on in \
         postgresql.conf]"
    );
    cluster.execute("alter system set fsync = on").await;
    cluster.execute("select pg_reload_conf()").await;
    let sound = Examination::of(&url, &[]);
    assert_eq!((sound.code, sound.with("problem")), (Some(0), vec![]));

    cluster.execute("create database other encoding 'SQL_ASCII' template template0").await;
    let other = cluster.url("other");
    let problems = Examination::of(&other, &[]).with("problem").join("\n");
    assert!(problems.contains("encoding: it is SQL_ASCII, not UTF8 [create"), "{problems}");
    for command in ["migrate", "serve"] {
        let any_port = [("LICD_LISTEN", "127.0.0.1:0")];
        let refused = licd_with(&any_port, &[command, "--database-url", &other]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("the database's encoding is SQL_ASCII, not UTF8, so"), "{said}");
        assert_eq!(refused.status.code(), Some(1));
    }

    cluster.execute("create role guest login").await;
    cluster.execute("create database theirs").await;
    let theirs = cluster.url("theirs").replace("postgres://postgres@", "postgres://guest@");
    let refused = licd(&["migrate", "--database-url", &theirs]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("run: grant usage, create on schema public to ROLE"), "{said}");

    cluster.freeze();
    let begun = Instant::now();
    let silent = Examination::of(&url, &[]);
    assert!(begun.elapsed() < WAIT_TIMEOUT, "{:?}", begun.elapsed());
    assert_eq!(silent.code, Some(1));
    assert!(silent.only("problem").starts_with("database: "), "{}", silent.only("problem"));
    cluster.thaw();
    cluster.crash();
    let gone = Examination::of(&url, &[]);
    assert!(gone.only("problem").contains("Connection refused"), "{}", gone.only("problem"));
}

/// A standby is a problem if it is the only server, but not in addition to the primary. The same
/// applies to one that is away.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_standby_is_sound_beside_its_primary() {
    let primary = Cluster::start().await;
    migrate(&primary.url("licd"));
    primary.execute("alter system set fsync = on").await;
    let standby = primary.standby().await;
    let alone = Examination::of(&standby.url("licd"), &[]);
    assert_eq!(alone.code, Some(1));
    let problem = alone.only("problem");
    assert!(problem.starts_with("database: the server is a standby"), "{problem}");

    let both = format!("postgres://postgres@{},{}/licd", standby.address(), primary.address());
    let found = Examination::of(&both, &[]);
    assert_eq!(found.code, Some(0), "{:?}", found.with("problem"));
    let said = format!("database: {}: the server is a standby", standby.address());
    assert!(found.only("warning").starts_with(&said), "{}", found.only("warning"));
    standby.crash();
    assert_eq!(Examination::of(&both, &[]).code, Some(0));
}

/// PgBouncer drops what licd asks of PostgreSQL; set for the role, it is there.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs and PgBouncer; tests/run runs it"]
async fn settings_that_a_pooler_drops_are_found() {
    let cluster = Cluster::start().await;
    migrate(&cluster.url("licd"));
    let bouncer = Bouncer::before(&cluster).await;
    let url = bouncer.url();
    let told = Examination::of(&url, &[]).only("warning");
    assert!(told.starts_with("plans: licd's settings do not reach PostgreSQL"), "{told}");
    assert!(!told.contains("add ?pooler=transaction"), "{told}");
    let untold = Examination::of(url.trim_end_matches("?pooler=transaction"), &[]).only("warning");
    assert!(untold.contains("add ?pooler=transaction to the URL"), "{untold}");
    cluster.execute("alter role postgres set statement_timeout = '5s'").await;
    drop(bouncer);
    let bouncer = Bouncer::before(&cluster).await;
    assert_eq!(Examination::of(&bouncer.url(), &[]).with("warning"), Vec::<String>::new());
}

/// A role that may no longer write, and a table that is gone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn tables_that_licd_cannot_use_are_found() {
    let cluster = Cluster::start().await;
    migrate(&cluster.url("licd"));
    cluster.execute("create role licd login").await;
    cluster.execute("grant select on all tables in schema public to licd").await;
    let url = cluster.url("licd").replacen("postgres@", "licd@", 1);
    let said = "schema: licd's role cannot read and write these tables: ";
    assert!(Examination::of(&url, &[]).only("problem").starts_with(said));
    let all = "grant select, insert, update, delete on all tables in schema public to licd";
    cluster.execute(all).await;
    cluster.execute("alter table key_uses rename to other").await;
    let found = Examination::of(&url, &[]).only("problem");
    assert!(found.starts_with(&format!("{said}key_uses [")), "{found}");
    cluster.execute("alter table other rename to key_uses").await;
    assert_eq!(Examination::of(&url, &[]).with("problem").len(), 1, "but for fsync");
}
