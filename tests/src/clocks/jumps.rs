//! A wall clock that jumps while licd serves: nothing breaks, nothing is forgotten, and what has
//! expired is accepted for no longer than the jump.
//!
//! A preloaded library, compiled from `clock.c`, shifts the clock.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::Timestamp;
use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::build_shim;
use crate::harness::{Answer, Caller, TestDatabase, Visitor, until};
use crate::nodes::process::{Process, first_key};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const WRITERS: usize = 3;
const PRODUCTS: &str = "/api/v1/admin/products";
const KEYS: &str = "/dashboard/live/keys";

/// A licd whose clock the test sets.
struct Jumping {
    node: Process,
    admin: Caller,
    folder: TempDir,
    database: TestDatabase,
}

impl Jumping {
    async fn start(settings: &[(&str, &str)]) -> Self {
        let (database, key) = (TestDatabase::empty().await, first_key());
        let folder = TempDir::new().unwrap();
        let (shim, clock) =
            (build_shim("clocks/clock.c", folder.path()), folder.path().join("clock"));
        let own = [
            ("LICD_BOOTSTRAP_KEY", key.as_str()),
            ("LD_PRELOAD", shim.to_str().unwrap()),
            ("LICD_TEST_CLOCK", clock.to_str().unwrap()),
        ];
        let node = Process::launch_with(&database.url, &[&own, settings].concat()).wait();
        let admin = node.caller(&key);
        Self { node, admin, folder, database }
    }

    /// Sets the clock so many seconds ahead.
    fn set(&self, seconds: i64) {
        let draft = self.folder.path().join("draft");
        fs::write(&draft, seconds.to_string()).unwrap();
        // At once, so that licd never reads half a number.
        fs::rename(draft, self.folder.path().join("clock")).unwrap();
    }

    /// Sets the clock to a date.
    fn set_to(&self, date: &str) {
        let date: Timestamp = date.parse().unwrap();
        self.set(date.since(Timestamp::now()).num_seconds());
    }

    /// Waits until the background tasks have run through: until they have twice deleted an answer
    /// that is old by any clock.
    async fn until_tasks_have_run(&self) {
        let db = self.database.open().await;
        for _ in 0..2 {
            let mut conn = db.write().await.unwrap();
            let before_all = Timestamp::from_millis(-2_000_000_000_000).unwrap();
            let old = "insert into idempotency_keys (world, name, fingerprint, status, created_at)
                select world, 'old', hash, 200, $1 from keys limit 1";
            conn.query(old).bind(before_all).execute().await.unwrap();
            drop(conn);
            until("what is old is deleted", async || {
                let mut conn = db.read().await.unwrap();
                let left = "select name from idempotency_keys where name = 'old'";
                let left: Vec<(String,)> = conn.query(left).fetch_all().await.unwrap();
                left.is_empty()
            })
            .await;
        }
        db.close().await;
    }

    fn end(self) {
        let log = self.node.log();
        assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
        assert!(self.node.stop().success());
    }
}

fn seconds_from_now(seconds: i64) -> String {
    Timestamp::now().plus(chrono::Duration::seconds(seconds)).to_string()
}

/// Writers that make products, users and seats, and read lists, until they are stopped.
#[derive(Default)]
struct Storm {
    stop: AtomicBool,
    rounds: AtomicUsize,
}

impl Storm {
    /// Answers the ids of the products, in the order of their making.
    async fn write(&self, admin: &Caller, license: &str, writer: usize) -> Vec<String> {
        let mut made = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let name = format!("user-{writer}-{}", made.len());
            made.push(admin.product(&name).await);
            admin.assign(license, &name).await.data();
            assert_eq!(admin.validate(&name).await.verdict(), "valid");
            assert_eq!(admin.explain(&name).await["valid"], true);
            assert!(!admin.get(&format!("{PRODUCTS}?limit=5")).await.list().is_empty());
            admin.get("/api/v1/admin/statistics").await.data();
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
        made
    }

    async fn goes_on(&self) {
        let goal = self.rounds.load(Ordering::Relaxed) + 3 * WRITERS;
        until("the storm goes on", async || self.rounds.load(Ordering::Relaxed) >= goal).await;
    }
}

async fn keyed_product(admin: &Caller) -> Answer {
    let keyed = |request: RequestBuilder| {
        request.header("Idempotency-Key", "once").json(&json!({ "name": "Once" }))
    };
    admin.send(Method::POST, PRODUCTS, keyed).await
}

/// The whole list, oldest first, page by page. `cursor` is the member that the next page goes by.
async fn all(admin: &Caller, path: &str, cursor: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::<Value>::new(), String::new());
    loop {
        let page = admin.get(&format!("{path}?limit=200{after}")).await;
        let Some(last) = page.list().last() else { return found };
        after = match &last[cursor] {
            Value::String(text) => format!("&after={text}"),
            number => format!("&after={number}"),
        };
        found.extend(page.list().iter().cloned());
    }
}

/// Lists have each product once and in their order, and events have no gap.
async fn lists_are_whole(admin: &Caller, made: &[Vec<String>]) {
    for writer in made {
        assert!(writer.is_sorted_by(|earlier, later| earlier < later), "{writer:?}");
    }
    let products = all(admin, PRODUCTS, "id").await;
    let listed: Vec<&str> = products.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(listed.is_sorted_by(|earlier, later| earlier < later));
    let made: BTreeSet<&str> = made.iter().flatten().map(String::as_str).collect();
    assert!(made.is_subset(&listed.into_iter().collect()));
    let events = all(admin, "/api/v1/admin/events", "sequence").await;
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], at + 1, "no event is missing, nor was one deleted");
    }
    let ids: BTreeSet<&str> = events.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), events.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_both_ways_breaks_and_forgets_nothing() {
    let jumping = Jumping::start(&[]).await;
    let admin = &jumping.admin;
    let license = &admin.license(json!({})).await;
    let visitor = Visitor::at(&jumping.node.base, admin.key.as_ref().unwrap()).await;
    let first = keyed_product(admin).await;
    let storm = Storm::default();
    let jumps = async {
        let now = &Timestamp::now().to_string();
        let back_in_time = &seconds_from_now(-HOUR);
        let ahead = [&*seconds_from_now(HOUR), &*seconds_from_now(400 * DAY)].map(str::to_owned);
        let far = ["1970-01-01T00:00:10Z", "2100-06-01T00:00:00Z"];
        for date in [&ahead[0], now, back_in_time, now, &ahead[1], now, far[0], now, far[1], now] {
            jumping.set_to(date);
            storm.goes_on().await;
            if date != now {
                jumping.until_tasks_have_run().await;
            }
            let again = keyed_product(admin).await;
            assert_eq!(
                (again.told().1, again.header("idempotency-replayed")),
                (first.told().1, Some("true"))
            );
        }
        jumping.set(0);
        storm.stop.store(true, Ordering::Relaxed);
    };
    let writers = join_all((0..WRITERS).map(|writer| storm.write(admin, license, writer)));
    let (made, ()) = tokio::join!(writers, jumps);
    lists_are_whole(admin, &made).await;
    assert_eq!(visitor.status(KEYS).await, 200, "the session is there again");
    jumping.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expires_is_accepted_for_no_longer_than_the_jump() {
    let jumping = Jumping::start(&[]).await;
    let admin = &jumping.admin;
    let licensed = async |user: &str, end: &str| {
        let license = admin.license(json!({})).await;
        admin.update(&license, json!({ "expiresAt": end })).await.data();
        admin.assign(&license, user).await.data();
        assert_eq!(admin.validate(user).await.verdict(), "valid", "{user}");
    };
    let key = json!({ "name": "short", "role": "read", "expiresAt": seconds_from_now(600) });
    let key = admin.post("/api/v1/admin/keys", key).await["key"].as_str().unwrap().to_owned();
    let visitor = Visitor::at(&jumping.node.base, &key).await;
    licensed("ada", &seconds_from_now(600)).await;
    jumping.set(-HOUR);
    licensed("bob", &seconds_from_now(-600)).await;

    for (shift, ada, bob, of_key, of_session) in [
        (0, "valid", "expired", 200, 200),
        (HOUR, "expired", "expired", 401, 303),
        (0, "valid", "expired", 200, 200),
        (400 * DAY, "expired", "expired", 401, 303),
        (-HOUR, "valid", "valid", 200, 200),
        (0, "valid", "expired", 200, 200),
    ] {
        jumping.set(shift);
        assert_eq!(admin.validate("ada").await.verdict(), ada, "{shift}");
        assert_eq!(admin.validate("bob").await.verdict(), bob, "{shift}");
        assert_eq!(admin.with_key(&key).get(PRODUCTS).await.status, of_key, "{shift}");
        assert_eq!(visitor.status(KEYS).await, of_session, "{shift}");
    }
    jumping.end();
}

/// A jump ahead fills no bucket, and one back does not stop it from filling.
#[tokio::test(flavor = "multi_thread")]
async fn the_rate_limit_does_not_jump_with_the_clock() {
    let jumping = Jumping::start(&[("LICD_RATE_LIMIT", "20/m")]).await;
    let admin = &jumping.admin;
    let ask = async || admin.get("/api/v1/key").await.status;
    let spend = async || while ask().await == 200 {};
    spend().await;
    jumping.set(HOUR);
    let mut after = 0;
    while ask().await == 200 {
        after += 1;
    }
    assert!(after < 5, "the jump gave {after} requests");
    jumping.set(-HOUR);
    spend().await;
    until("the bucket fills", async || ask().await == 200).await;
    jumping.end();
}
