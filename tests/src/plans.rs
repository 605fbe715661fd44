//! PostgreSQL's plans on a database of a new customer: statements are planned while the tables are
//! empty, nothing analyzes them, and then users come. A validation must go on reading a handful of
//! rows, as PostgreSQL's own counters show; so must the lists that people look at.

mod lists;

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::harness::{App, Caller, TestDatabase, until};

/// Number of users who validate at a time.
const TOGETHER: usize = 25;
/// Number of users who validate. Half of them hold a seat, the others take one.
const VALIDATIONS: i64 = 600;
/// Maximum number of rows and of entries of indexes that a validation reads: the user, the
/// assignment, the license, and its share of the key and the world; as much again when a seat is
/// taken; and the rows that are written, with their constraints.
const MOST_ROWS: i64 = 30;

async fn connect(database: &TestDatabase) -> PgConnection {
    PgConnection::connect(&database.url).await.unwrap()
}

async fn run(conn: &mut PgConnection, sql: &str) {
    sqlx::query(AssertSqlSafe(sql)).execute(conn).await.unwrap();
}

async fn number(conn: &mut PgConnection, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(conn).await.unwrap()
}

/// Nothing but this test analyzes the tables.
async fn stop_autovacuum(conn: &mut PgConnection) {
    run(
        conn,
        "do $$ declare t text; begin for t in select relname from pg_stat_user_tables loop
             execute format('alter table %I set (autovacuum_enabled = false)', t);
         end loop; end $$",
    )
    .await;
}

/// Returns the rows of tables and entries of indexes that sessions have read and reported so far.
async fn rows_read(conn: &mut PgConnection) -> i64 {
    let sql = "select cast(
        (select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
            from pg_stat_user_tables)
        + (select sum(idx_tup_read) from pg_stat_user_indexes) as bigint)";
    number(conn, sql).await
}

/// The tables with the most reads, for an engineer who has to fix a plan.
async fn most_read(conn: &mut PgConnection) -> Vec<(String, i64)> {
    let sql = "select indexrelname::text, idx_tup_read from pg_stat_user_indexes
        union all select relname::text, seq_tup_read from pg_stat_user_tables
        order by 2 desc limit 5";
    sqlx::query_as(sql).fetch_all(conn).await.unwrap()
}

/// Runs every statement of the hot path, so that it is planned.
async fn plan(app: &Caller, license: &str, product: &str) {
    let long: Vec<String> = (0..5).map(|n| n.to_string().repeat(100)).collect();
    let featured = app.license(json!({ "features": long })).await;
    for (user, license) in [("ada", license), ("grace", license), ("lin", &*featured)] {
        app.validate(user).await.data();
        app.assign(license, user).await.data();
        assert_eq!(app.validate(user).await.verdict(), "valid");
        assert_eq!(app.validate(user).await.verdict(), "valid");
        let of_product = json!({ "userId": user, "productId": product });
        assert_eq!(app.post("/api/v1/validate", of_product).await.verdict(), "no_license");
    }
}

/// Users who are assigned the one license that is there; the even ones hold a seat.
const LOAD: [&str; 3] = [
    "insert into users (id, world, external_id, created_at, updated_at)
     select gen_random_uuid(), 1, 'user-' || n, now(), now() from generate_series(1, 20000) n",
    "insert into assignments (user_id, license_id, world, id, assigned_at, activation_id,
         activated_at, last_checked_at)
     select u.id, l.id, 1, gen_random_uuid(), now(), case when even then gen_random_uuid() end,
         case when even then now() end, case when even then now() end
     from (select id, cast(substr(external_id, 6) as integer) % 2 = 0 as even
         from users where external_id like 'user-%') u,
         (select id from licenses where max_seats is not null) l",
    "update licenses set seats_used = (
         select count(activation_id) from assignments s where s.license_id = licenses.id)",
];

/// Validates users of whom every other holds a seat.
async fn validate_many(caller: &Caller) {
    let users: Vec<String> = (1..=VALIDATIONS).map(|n| format!("user-{n}")).collect();
    for users in users.chunks(TOGETHER) {
        let answers = join_all(users.iter().map(|user| caller.validate(user))).await;
        assert!(answers.iter().all(|answer| answer.verdict() == "valid"));
    }
}

/// Waits until all sessions of licd have ended, which is when they report what they read.
async fn until_sessions_end(conn: &mut PgConnection) {
    let sessions = "select count(*) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and backend_type = 'client backend'";
    until("all sessions of licd end", async || number(conn, sessions).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL, which counts the rows it reads"]
async fn a_validation_reads_a_handful_of_rows_on_tables_that_were_never_analyzed() {
    let app = App::start().await;
    let mut conn = connect(&app.database).await;
    stop_autovacuum(&mut conn).await;
    let license = app.license(json!({ "maxSeats": 1_000_000 })).await;
    let product = app.product("Other").await;
    plan(&app, &license, &product).await;
    for statement in LOAD {
        run(&mut conn, statement).await;
    }
    run(&mut conn, "select pg_stat_force_next_flush()").await;
    let before = rows_read(&mut conn).await;
    validate_many(&app).await;
    let database = app.stop().await;
    until_sessions_end(&mut conn).await;
    let read = rows_read(&mut conn).await - before;
    let most_read = most_read(&mut conn).await;
    conn.close().await.unwrap();
    drop(database);
    let each = read / VALIDATIONS;
    assert!(each <= MOST_ROWS, "{each} rows a validation, {most_read:?}");
}
