//! Callers that request long lists and do not read them: they cost licd little memory, no connection
//! to the database, and no time of other callers.

use futures_util::future::join_all;
use licd::db::Sql;
use serde_json::{Value, json};

use crate::harness::{App, Caller, TestDatabase};
use crate::nodes::process::{Process, first_key};
use crate::refusals::log::log_with;
use crate::refusals::raw::{Raw, head};

/// Asks for the list, reads the first bytes of it, and then no more.
async fn stall(caller: &Caller, path: &str) -> Raw {
    let key = format!("authorization: Bearer {}", caller.key.as_deref().unwrap());
    let mut connection = Raw::connect_narrow(&caller.base).await;
    connection.send(head("GET", path, &[key])).await;
    connection.read(100).await;
    connection
}

/// 300 users with 16 KiB of metadata each are a list of 5 MB. Ten callers who stall it need much
/// less memory than ten lists.
#[tokio::test(flavor = "multi_thread")]
async fn stalled_lists_take_little_memory_and_no_connection() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let admin = licd.caller(&key);
    let metadata = json!({ "notes": "x".repeat(16_000) });
    for tens in 0..30 {
        join_all((0..10).map(async |ones| {
            let user = json!({ "externalId": format!("{tens}-{ones}"), "metadata": metadata });
            admin.post("/api/v1/admin/users", user).await.data();
        }))
        .await;
    }
    let (mut stalled, mut before) = (Vec::new(), None);
    for path in ["/api/v1/admin/users", "/api/v1/admin/users?limit=1000"] {
        assert_eq!(admin.get(path).await.list().len(), 300);
        before.get_or_insert_with(|| licd.peak_memory());
        stalled.extend(join_all((0..5).map(|_| stall(&admin, path))).await);
        assert_eq!(admin.get(path).await.list().len(), 300);
    }
    admin.validate("0-0").await.data();
    let (before, after) = (before.unwrap(), licd.peak_memory());
    assert!(after < before + 25_000, "{before} KiB, then {after} KiB");
    break_off(&licd, &database, stalled.remove(0)).await;
}

/// A truncated list is not a valid answer, and the log names the reason.
async fn break_off(licd: &Process, database: &TestDatabase, mut list: Raw) {
    let db = database.open().await;
    let rename = "alter table users rename to users_that_were";
    db.write().await.unwrap().query(rename).execute().await.unwrap();
    db.close().await;
    let rest = list.end().await.unwrap_or_default();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "the last chunk of a whole answer");
    log_with(licd, |line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.contains("broke off") && line["request_id"].is_string()
    })
    .await;
}

/// Fills every license with seats of users made for it, past the interface.
async fn fill_seats(app: &App) {
    macro_rules! each {
        ($first:literal, $sqlite_id:literal, $postgres_id:literal, $rest:literal) => {
            Sql::Each {
                sqlite: concat!($first, $sqlite_id, $rest),
                postgres: concat!($first, $postgres_id, $rest),
            }
        };
    }
    let statements = [
        each!(
            "with recursive series (n) as (select 1 union all select n + 1 from series
                 where n < 2500)
             insert into users (world, id, external_id, created_at, updated_at)
             select world, ",
            "randomblob(16)",
            "gen_random_uuid()",
            ", 'user-' || n, created_at, created_at from licenses, series"
        ),
        each!(
            "insert into assignments (world, user_id, license_id, id, assigned_at,
                 activated_at, last_checked_at, activation_id)
             select u.world, u.id, l.id, ",
            "randomblob(16)",
            "gen_random_uuid()",
            ", u.created_at, u.created_at, u.created_at, u.id from users u, licenses l"
        ),
        Sql::Both("update licenses set seats_used = 2500"),
    ];
    let mut tx = app.db().begin().await.unwrap();
    for statement in statements {
        tx.query(statement).execute().await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// The activations, and the totals, of a license's usage.
fn shown(usage: &Value) -> (Vec<&str>, [&Value; 2]) {
    let activations = usage["activations"].as_array().unwrap();
    let ids = activations.iter().map(|it| it["id"].as_str().unwrap()).collect();
    (ids, [&usage["totalActivations"], &usage["activeSeats"]])
}

/// A usage is sent in many chunks. Seats that are freed during that leave the others as they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_usage_lists_every_seat_that_stays() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    fill_seats(&app).await;
    let path = format!("/api/v1/admin/licenses/{license}/usage");
    let mut before = 2500;
    for round in 1..=5 {
        let free = async |n| app.unassign(&license, &format!("user-{}", round * 10 + n)).await;
        let freed = join_all((0..10).map(free));
        let (usage, freed) = futures_util::future::join(app.get(&path), freed).await;
        assert!(freed.iter().all(|answer| answer.status == 200));
        let (ids, totals) = shown(usage.data());
        assert!((before - 10..=before).contains(&ids.len()), "{} of {before}", ids.len());
        assert_eq!(totals[0], totals[1]);
        assert!((before - 10..=before).contains(&(totals[0].as_u64().unwrap() as usize)));
        assert!(ids.is_sorted_by(|one, next| one < next), "in order, and none twice");
        before -= 10;
    }
    let page = app.get(&format!("{path}?limit=1000")).await;
    let (ids, totals) = shown(page.data());
    assert_eq!((ids.len(), totals), (1000, [&json!(before), &json!(before)]));
    assert_eq!(page.body["nextCursor"], *ids.last().unwrap());
}
