//! A full queue of validations, seen from outside: further callers are refused immediately, and
//! waiting ones get a response or a refusal in time.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::TURN;
use crate::harness::{Caller, until};
use crate::nodes::process::{Process, first_key};

/// More validations than may wait at the same time, by docs/reference/limits.md.
const ASKED: usize = 4096 + 400;
/// Maximum median time of a refusal, because the machine is busy with waiting requests.
const AT_ONCE: Duration = Duration::from_millis(100);
/// An answer is due in 5 s; the rest is a margin for a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs some thousand open files; tests/run allows them"]
async fn a_full_queue_refuses_at_once_and_nobody_waits_in_vain() {
    let _turn = TURN.acquire().await.unwrap();
    let (folder, key) = (TempDir::new().unwrap(), first_key());
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    let node = Process::start(&url, &key);
    let admin = &node.caller(&key);
    let license = admin.license(json!({})).await;
    for user in ["ada", "bob"] {
        admin.assign(&license, user).await.data();
    }
    assert_eq!(admin.validate("ada").await.verdict(), "valid");

    // Nothing can be written, so the first batch that needs a seat waits, and all others behind it.
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("begin immediate").execute(&mut other).await.unwrap();
    let full = &Notify::new();
    let asking = join_all((0..ASKED).map(async |_| {
        let begun = Instant::now();
        let answer = admin.validate("bob").await;
        if answer.body["code"] == "overloaded" {
            full.notify_one();
        }
        (answer, begun.elapsed())
    }));
    let (asked, refusals) = tokio::join!(asking, refusals(admin, full));
    assert_eq!(admin.validate("ada").await.verdict(), "valid", "she holds her seat");
    sqlx::query("rollback").execute(&mut other).await.unwrap();
    for (answer, took) in &asked {
        assert!(*took < MAX_WAIT, "{took:?}");
        assert_eq!(answer.status, 503, "{answer}");
        assert!(answer.number("retry-after") >= 1, "{answer}");
    }
    assert!(refusals.len() > 20, "the queue takes {ASKED}");
    let (median, slowest) = (refusals[refusals.len() / 2], refusals.last());
    println!("{} found the queue full: {median:?}, at most {slowest:?}", refusals.len());
    assert!(median < AT_ONCE, "{refusals:?}");
    until("validations succeed", async || admin.validate("bob").await.status == 200).await;
    assert!(node.stop().success());
}

/// Waits until the queue is full, and asks one after the other until there is a place. Answers how
/// long each refusal took, the shortest first.
async fn refusals(admin: &Caller, full: &Notify) -> Vec<Duration> {
    let mut took = Vec::new();
    if timeout(MAX_WAIT, full.notified()).await.is_err() {
        return took;
    }
    while took.len() < 200 {
        let begun = Instant::now();
        if admin.validate("bob").await.body["code"] != "overloaded" {
            break;
        }
        took.push(begun.elapsed());
    }
    took.sort();
    took
}
