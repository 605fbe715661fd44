//! kill -9 in the middle of a storm, twenty times: every acknowledged change is on disk, and the
//! database is consistent.

use std::collections::BTreeSet;

use licd::db::Conn;
use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::harness::{Caller, TestDatabase};
use crate::nodes::process::{Process, first_key};

const CALLERS: usize = 24;
const KILLS: usize = 20;
/// The number of answers after which licd is killed: another one each time, so that the kills do not
/// all meet the same moment of a batch.
fn answers_before(kill: usize) -> usize {
    1 + kill * 37 % 150
}

/// An answered request.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answered {
    Assigned(String),
    Seated(String),
    Made(String),
}

/// Assigns, validates and makes users until licd no longer answers.
async fn ask(admin: Caller, license: String, name: String, told: UnboundedSender<Answered>) {
    let assign = format!("/api/v1/admin/licenses/{license}/assign");
    for n in 0.. {
        let user = format!("{name}-{n}");
        let other = format!("{user}-by-hand");
        for (path, body, answered) in [
            (&*assign, json!({ "userId": user }), Answered::Assigned(user.clone())),
            ("/api/v1/validate", json!({ "userId": user }), Answered::Seated(user.clone())),
            ("/api/v1/admin/users", json!({ "externalId": other }), Answered::Made(other)),
        ] {
            let sent = admin.try_send(Method::POST, path, |request| request.json(&body)).await;
            let Ok(answer) = sent else { return };
            // On a disk that stalls for seconds, what is refused need not survive.
            if answer.status != 503 && answer.body["data"]["valid"] != false {
                answer.data();
                // Fails only when the test is over.
                drop(told.send(answered));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_requests_survive_twenty_kills() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let mut licd = Process::start(&database.url, &key);
    let license = licd.caller(&key).license(json!({})).await;
    let mut answered = BTreeSet::new();
    for round in 0..KILLS {
        let (told, mut heard) = unbounded_channel();
        let (mut storm, admin) = (JoinSet::new(), licd.caller(&key));
        for n in 0..CALLERS {
            let name = format!("user-{round}-{n}");
            storm.spawn(ask(admin.clone(), license.clone(), name, told.clone()));
        }
        drop(told);
        let before = answered.len();
        while answered.len() < before + answers_before(round) {
            answered.insert(heard.recv().await.unwrap());
        }
        // Dropping the process sends SIGKILL.
        drop(licd);
        storm.join_all().await;
        while let Some(more) = heard.recv().await {
            answered.insert(more);
        }
        licd = Process::start(&database.url, &key);
        check(&database, &answered).await;
    }
    let end = tokio::task::spawn_blocking(|| licd.stop()).await.unwrap();
    assert!(end.success());
}

/// Compares the responses with the database, and the database with itself.
async fn check(database: &TestDatabase, answered: &BTreeSet<Answered>) {
    let db = database.open().await;
    let mut conn = db.read().await.unwrap();
    let names = async |conn: &mut Conn, sql: &'static str| {
        let rows: Vec<(String,)> = conn.query(sql).fetch_all().await.unwrap();
        rows.into_iter().map(|(name,)| name).collect::<BTreeSet<String>>()
    };
    let users = names(&mut conn, "select external_id from users").await;
    let assigned = "select external_id from users join assignments on user_id = users.id";
    let assigned = names(&mut conn, assigned).await;
    let seated = "select external_id from users join assignments on user_id = users.id
        where activation_id is not null";
    let seated = names(&mut conn, seated).await;
    for told in answered {
        let kept = match told {
            Answered::Made(user) => users.contains(user),
            Answered::Assigned(user) => assigned.contains(user),
            Answered::Seated(user) => seated.contains(user),
        };
        assert!(kept, "{told:?} was acknowledged, and is gone");
    }
    let counted: Vec<(i32,)> =
        conn.query("select seats_used from licenses").fetch_all().await.unwrap();
    assert_eq!(counted, [(seated.len() as i32,)], "the counter is the number of seats");
    events_have_no_gap(&mut conn, seated.len()).await;
    drop(conn);
    db.close().await;
    if !database.is_postgres() {
        file_is_whole(&database.url).await;
    }
}

/// The numbers of the world's events are 1, 2, 3 up to the counter, and each seat has its event.
async fn events_have_no_gap(conn: &mut Conn, seats: usize) {
    let numbered = "select min(sequence), max(sequence), count(*), count(distinct sequence), last
        from events join event_counters on event_counters.world = events.world
        group by events.world, last";
    let worlds: Vec<(i64, i64, i64, i64, i64)> = conn.query(numbered).fetch_all().await.unwrap();
    let [(first, newest, count, distinct, counter)] = worlds[..] else { panic!("{worlds:?}") };
    assert_eq!((first, count, distinct, counter), (1, newest, newest, newest));
    let taken = "select count(*) from events where event_type = 'seat.taken'";
    let (taken,): (i64,) = conn.query(taken).fetch_one().await.unwrap();
    assert_eq!(taken, seats as i64, "each seat has its event");
}

/// SQLite's own checks of a file find nothing.
async fn file_is_whole(url: &str) {
    let mut file = SqliteConnection::connect(url).await.unwrap();
    let integrity = sqlx::query_scalar("pragma integrity_check");
    let integrity: Vec<String> = integrity.fetch_all(&mut file).await.unwrap();
    assert_eq!(integrity, ["ok"]);
    let astray = sqlx::query("pragma foreign_key_check").fetch_all(&mut file).await.unwrap();
    assert!(astray.is_empty(), "{} rows refer to nothing", astray.len());
    file.close().await.unwrap();
}
