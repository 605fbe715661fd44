//! `licd distribute`, as far as a PostgreSQL without the extension shows it. The statements of a
//! sharded database are tested by `LICD_TEST_SHARDED=1`, which has the other tests run them.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::doctor::Examination;
use crate::harness::{TestDatabase, catalog};
use crate::host::refused;

#[tokio::test]
async fn a_database_that_cannot_be_distributed_is_left_as_it_is() {
    let database = TestDatabase::ready().await;
    let settings = [("LICD_DATABASE_URL", &*database.url)];
    let told = refused(&settings, &["distribute"], &database.url);
    let reason = match database.is_postgres() {
        true => "the extension Citus is missing",
        false => "only PostgreSQL can be distributed",
    };
    assert!(told.contains(reason), "{told}");
    let told = refused(&settings, &["distribute", "--shards", "0"], &database.url);
    assert!(told.contains("0 is not in 1..=1024"), "{told}");
    database.open().await.close().await;
}

/// The doctor reads a catalog that this test changes, as a cluster would.
#[tokio::test]
#[ignore = "needs PostgreSQL; tests/run runs it"]
async fn each_fault_of_a_cluster_is_found() {
    let database = TestDatabase::ready().await;
    let mut conn = PgConnection::connect(&database.url).await.unwrap();
    conn.execute(AssertSqlSafe(catalog())).await.unwrap();
    let found = |state: &str| {
        let mut found = Examination::of(&database.url, &[]).with(state);
        found.retain(|line| line.starts_with("sharding: ") || line.starts_with("connections: "));
        found.join("\n")
    };
    let sound = found("ok");
    assert!(sound.contains("sharding: Citus 13.2.2 has placed all tables; servers: 1"), "{sound}");
    assert!(sound.contains("are enough for 9 nodes"), "{sound}");
    assert_eq!((found("warning"), found("problem")), (String::new(), String::new()));

    let node = "returns table (nodeid int, success boolean, result text) language sql as";
    let run = format!("create or replace function run_command_on_all_nodes(command text) {node}");
    for (change, state, finding) in [
        ("insert into pg_dist_cleanup values (1)", "warning", "have left behind: 1 ["),
        (
            "update pg_dist_partition set partmethod = 'n' where logicalrelid::text = 'users'",
            "problem",
            "as licd expects: users [licd distribute",
        ),
        (
            "update pg_dist_partition set colocationid = 2 where logicalrelid::text = 'plans'",
            "problem",
            "as licd expects: plans, users [",
        ),
        (
            &*format!("{run} $$select 1, true, 'false 30'$$"),
            "warning",
            "server:5432 may choose slow plans",
        ),
        ("select 1", "problem", "connections: 30 are too few for a node"),
        (
            &format!("{run} $$select 1, false, 'refused'$$"),
            "problem",
            "no response from server:5432",
        ),
        (
            "create or replace function citus_version() returns text language sql
                 as $$select 'Citus 11.3.0 on x86_64'$$",
            "warning",
            "the extension Citus has version 11.3.0 [upgrade",
        ),
    ] {
        conn.execute(AssertSqlSafe(change.to_owned())).await.unwrap();
        let found = found(state);
        assert!(found.contains(finding), "{change}: {found}");
    }
    conn.close().await.unwrap();
}
