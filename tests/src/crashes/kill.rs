//! kill -9 in the middle of a storm: everything that was answered is on disk.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::harness::{Caller, TestDatabase};
use crate::nodes::process::{Process, first_key};

const CALLERS: usize = 24;
/// After how many answers licd is killed.
const ENOUGH: usize = 400;

/// What was answered before the end.
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
            if answer.body["data"]["valid"] != false {
                answer.data();
                // Fails only when the test is over.
                drop(told.send(answered));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_survives_kill_9() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let mut licd = Process::start(&database.url, &key);
    let license = licd.caller(&key).license(json!({})).await;
    let mut answered = BTreeSet::new();
    for round in 0..3 {
        let (told, mut heard) = unbounded_channel();
        let mut storm = JoinSet::new();
        for n in 0..CALLERS {
            let (admin, name) = (licd.caller(&key), format!("user-{round}-{n}"));
            storm.spawn(ask(admin, license.clone(), name, told.clone()));
        }
        drop(told);
        let before = answered.len();
        while answered.len() < before + ENOUGH {
            answered.insert(heard.recv().await.unwrap());
        }
        // Kills it: nobody is told, nothing is flushed.
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

/// Compares what was answered with what the database holds.
async fn check(database: &TestDatabase, answered: &BTreeSet<Answered>) {
    let db = database.open().await;
    let mut conn = db.read().await.unwrap();
    let names = async |conn: &mut licd::db::Conn, sql: &'static str| {
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
        assert!(kept, "{told:?} was answered, and is gone");
    }
    let counted: Vec<(i32,)> =
        conn.query("select seats_used from licenses").fetch_all().await.unwrap();
    assert_eq!(counted, [(seated.len() as i32,)], "the counter is the number of seats");
    drop(conn);
    db.close().await;
}
