//! Lists that are longer than one read: complete, in order, and in constant memory.

use std::collections::BTreeSet;

use common::{ExternalId, Mode, TenantId, Timestamp, UserId};
use licd::db::Db;
use licd::store::batch_rows::BatchRow;
use licd::store::validations::insert_users;
use licd::store::worlds;
use reqwest::Method;

use super::pages;
use crate::harness::{App, Caller, TestDatabase};
use crate::nodes::process::{Process, first_key};

const USERS: &str = "/api/v1/admin/users";

/// Makes users past the interface, where thousands of requests would only take time. Those that
/// are there already stay.
async fn make_users(db: &Db, admin: &Caller, count: usize) {
    let current = admin.get("/api/v1/key").await;
    let tenant: TenantId = current["tenant"]["id"].as_str().unwrap().parse().unwrap();
    let now = Timestamp::now();
    let scope = worlds::find(&mut db.read().await.unwrap(), tenant, Mode::Live).await.unwrap();
    let scope = scope.unwrap();
    let names: Vec<ExternalId> =
        (0..count).map(|n| format!("user-{n:06}").parse().unwrap()).collect();
    for names in names.chunks(10_000) {
        let item = |name| BatchRow::new_user(scope, UserId::new(now), name);
        let items: Vec<BatchRow<'_>> = names.iter().map(item).collect();
        let mut tx = db.begin().await.unwrap();
        insert_users(&mut tx, &items, now).await.unwrap();
        tx.commit().await.unwrap();
    }
}

/// Around the size of one read, no record is lost or repeated.
#[tokio::test]
async fn a_long_list_is_whole() {
    let app = App::start().await;
    for count in [15, 16, 17, 18, 300, 516, 517, 1500] {
        make_users(app.db(), &app, count).await;
        let users = app.get(USERS).await;
        let names: BTreeSet<&str> = users.each("externalId").into_iter().collect();
        assert_eq!((users.list().len(), names.len()), (count, count));
        assert!(users.each("id").is_sorted());
    }
    let pages = pages(&app, USERS, 1000).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 500]);
}

/// Reads the whole list of users bit by bit, and answers how many there are and how many bytes.
async fn stream(admin: &Caller) -> (usize, usize) {
    let mut answer = admin.request(Method::GET, USERS).send().await.unwrap();
    let (mut records, mut size, mut tail) = (0, 0, Vec::new());
    let mark = br#""externalId":"#;
    while let Some(chunk) = answer.chunk().await.unwrap() {
        size += chunk.len();
        // A chunk's edge may cut the mark.
        tail.extend_from_slice(&chunk);
        records += tail.windows(mark.len()).filter(|part| part == mark).count();
        let kept = tail.len().min(mark.len() - 1);
        tail.drain(..tail.len() - kept);
    }
    assert!(tail.ends_with(b":null}"), "it ended as it should");
    (records, size)
}

/// 100,000 records, 23 MB of JSON, are streamed: the process that sends them needs hardly more
/// memory than for 20,000. The difference are the database's own caches, a few MB. A list that is
/// held in memory would be several times its size.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_records_are_streamed_in_flat_memory() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let admin = licd.caller(&key);
    let db = database.open().await;
    make_users(&db, &admin, 20_000).await;
    assert_eq!(stream(&admin).await.0, 20_000);
    let before = licd.peak_memory();
    make_users(&db, &admin, 100_000).await;
    db.close().await;
    let (records, size) = stream(&admin).await;
    assert_eq!(records, 100_000);
    let after = licd.peak_memory();
    assert!(size > 20_000_000, "{size} bytes are no test of this");
    assert!(after < before + 10_000, "{before} KiB, then {after} KiB for {size} bytes");
}
