//! Metrics: the content of a scrape, data that it must not show, and that the dashboard, the alerts
//! and the guide name existing metrics.

mod listener;
mod log;
mod names;
mod scrape;

use std::collections::BTreeMap;

use futures_util::future::join_all;
use reqwest::RequestBuilder;
use serde_json::json;

use crate::harness::{Caller, TestDatabase, Visitor, until};
use crate::nodes::process::{Process, first_key};
use scrape::Scrape;

/// A licd with a listener for metrics.
struct Shown {
    licd: Process,
    admin: Caller,
    /// Path of the metrics.
    base: String,
}

impl Shown {
    fn start(database: &str) -> Self {
        let key = first_key();
        let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_METRICS_LISTEN", "127.0.0.1:0")];
        let licd = Process::launch_with(database, &settings).wait();
        let base = address_of_metrics(&licd).expect("licd says where it shows metrics");
        Self { admin: licd.caller(&key), licd, base }
    }

    async fn scrape(&self) -> Scrape {
        Scrape::of(&self.base).await
    }
}

/// As licd logs it before it says that it listens.
fn address_of_metrics(licd: &Process) -> Option<String> {
    let log = licd.log();
    let entries = log.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut shown =
        entries.filter(|entry: &serde_json::Value| entry["message"] == "serving metrics");
    Some(format!("http://{}", shown.next()?["address"].as_str()?))
}

/// Requests of every kind, so that every metric has something to show.
async fn everything_happens(admin: &Caller) {
    let license = admin.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        admin.assign(&license, user).await.data();
    }
    assert_eq!(admin.validate("ada").await.verdict(), "valid");
    assert_eq!(admin.validate("ada").await.verdict(), "valid");
    assert_eq!(admin.validate("bob").await.verdict(), "exceeded_seats");
    assert_eq!(admin.validate("nobody").await.verdict(), "no_license");
    let stranger = admin.with_key("sk_live_nobody");
    assert_eq!(stranger.validate("ada").await.refusal(), "401 unauthorized");
    assert_eq!(admin.get("/nowhere").await.refusal(), "404 not_found");
    assert_eq!(admin.get("/readyz").await.status, 200);
}

/// Actions are counted under the names that the guide promises.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_counted() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    let before = shown.scrape().await;
    assert_eq!(before.value("licd_validations_total", &[("outcome", "expired")]), Some(0.0));
    for (status, code) in [("500", "internal"), ("503", "overloaded"), ("503", "unavailable")] {
        let labels = [("route", "/api/v1/validate"), ("status", status), ("code", code)];
        assert_eq!(before.value("licd_http_requests_total", &labels), Some(0.0), "{code}");
    }
    everything_happens(&shown.admin).await;
    let scrape = shown.scrape().await;
    let outcome = |outcome| scrape.value("licd_validations_total", &[("outcome", outcome)]);
    assert_eq!(outcome("valid"), Some(2.0));
    assert_eq!(outcome("exceeded_seats"), Some(1.0));
    assert_eq!(outcome("no_license"), Some(1.0));
    assert_eq!(outcome("expired"), Some(0.0));
    let asked = |status, code| {
        let labels = [("route", "/api/v1/validate"), ("method", "POST"), ("status", status)];
        scrape.value("licd_http_requests_total", &[&labels[..], &[("code", code)]].concat())
    };
    assert_eq!(asked("200", ""), Some(4.0));
    assert_eq!(asked("401", "unauthorized"), Some(1.0));
    let lost = [("route", "-"), ("status", "404"), ("code", "not_found")];
    assert_eq!(scrape.value("licd_http_requests_total", &lost), Some(1.0));
    let route = [("route", "/api/v1/validate")];
    assert_eq!(scrape.value("licd_http_request_seconds_count", &route), Some(5.0));
    let single = |name| scrape.value(name, &[]);
    assert_eq!(single("licd_seats_taken_total"), Some(1.0));
    // Those with a key that can be one.
    let of_queue = |name, queue| scrape.value(name, &[("queue", queue)]);
    assert_eq!(of_queue("licd_validation_queue_wait_seconds_count", "reads"), Some(4.0));
    assert_eq!(of_queue("licd_validation_batch_size_sum", "reads"), Some(4.0));
    assert_eq!(of_queue("licd_validation_batch_size_sum", "writes"), Some(2.0));
    assert_eq!(of_queue("licd_validation_queue_length", "reads"), Some(0.0));
    assert_eq!(of_queue("licd_validation_queue_length", "writes"), Some(0.0));
    assert_eq!(single("licd_http_requests_in_flight"), Some(0.0));
    assert_eq!(single("licd_ready"), Some(1.0));
    assert_eq!(single("licd_writable"), Some(1.0));
    assert_eq!(single("licd_log_lines_lost_total"), Some(0.0));
    assert!(single("licd_http_connections") >= Some(1.0));
    assert!(single("licd_http_connections_max") > single("licd_http_connections"));
    assert!(single("process_resident_memory_bytes") > Some(1e6));
    assert!(single("process_open_fds") > Some(5.0));
    assert!(single("process_cpu_seconds_total") > Some(0.0));
    assert!(single("process_start_time_seconds") > Some(1.7e9));
}

/// Kinds of turns and pools are those of the database.
#[tokio::test(flavor = "multi_thread")]
async fn pools_and_turns_are_those_of_the_database() {
    let database = TestDatabase::ready().await;
    let most_reading = f64::from(database.open().await.most_reading());
    let shown = Shown::start(&database.url);
    everything_happens(&shown.admin).await;
    let scrape = shown.scrape().await;
    let expected: BTreeMap<&str, f64> = if database.is_postgres() {
        [("postgres", 16.0 + most_reading)].into()
    } else {
        [("readers", 5.0), ("validations", most_reading), ("writer", 1.0)].into()
    };
    let pools = scrape.by_label("licd_database_connections_max", "pool");
    assert_eq!(pools, expected);
    for (pool, max) in expected {
        let state = |state| {
            let labels = [("pool", pool), ("state", state)];
            scrape.value("licd_database_connections", &labels).unwrap()
        };
        let open = state("in_use") + state("idle");
        assert!((1.0..=max).contains(&open), "{pool}: {open}");
    }
    let kinds = scrape.by_label("licd_admin_permits_in_use", "kind");
    let kinds: Vec<&str> = kinds.into_keys().collect();
    let expected: &[&str] = if database.is_postgres() { &["any"] } else { &["read", "write"] };
    assert_eq!(kinds, expected);
}

/// Sessions are written in their tenant's turn, as everything else is: no key's sign-ins hold up the
/// validations of others.
#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_and_sign_outs_wait_for_their_turn() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    let key = shown.admin.key.as_deref().unwrap();
    let visitor = Visitor::at(&shown.admin.base, key).await;
    let writer = &mut database.open().await.begin().await.unwrap();
    writer.query("update sessions set browser = ''").execute().await.unwrap();
    let lock = match database.is_postgres() {
        true => "lock table sessions in exclusive mode",
        false => "select 1",
    };
    writer.query(lock).execute().await.unwrap();
    let fields = [("key", key)];
    let requests = [
        visitor.form("/dashboard/sign-in", &fields),
        visitor.form("/dashboard/sign-in", &fields),
        visitor.form("/dashboard/sign-out", &[]),
    ];
    let requests = join_all(requests.map(RequestBuilder::send));
    let counted = until("all three have their turn or wait for it", async || {
        let scrape = shown.scrape().await;
        let of = |name| scrape.by_label(name, "kind").into_values().sum::<f64>();
        of("licd_admin_permits_in_use") + of("licd_admin_permits_waiting") == 3.0
    });
    tokio::join!(requests, counted);
}

/// Each task is there with a time of success once it has run, and what it writes is no longer only
/// in memory.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_show_when_they_last_succeeded() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    everything_happens(&shown.admin).await;
    let mut tasks = vec![
        "events_retention",
        "idempotency_retention",
        "key_uses",
        "key_uses_retention",
        "last_checks",
        "notices",
        "numbers",
        "numbers_retention",
        "outcomes",
        "outcomes_retention",
        "sessions_retention",
        "webhook_failures_retention",
        "webhook_states",
        "webhooks",
    ];
    let mut supervised = vec![
        "last_checks",
        "maintenance",
        "notices",
        "numbers",
        "outcomes",
        "reads",
        "retention",
        "webhook_results",
        "webhook_states",
        "webhooks",
        "writes",
    ];
    if !database.is_postgres() {
        // PostgreSQL makes its own.
        tasks.insert(0, "checkpoints");
        supervised.insert(0, "checkpoints");
    }
    until("all tasks have run, and have written all", async || {
        let scrape = shown.scrape().await;
        let succeeded = scrape.by_label("licd_task_last_success_timestamp_seconds", "task");
        let unwritten =
            ["licd_key_uses_unwritten", "licd_outcomes_unwritten", "licd_last_checks_unwritten"];
        succeeded.into_keys().eq(tasks.iter().copied())
            && unwritten.iter().all(|name| scrape.value(name, &[]) == Some(0.0))
    })
    .await;
    let scrape = shown.scrape().await;
    let failures = scrape.by_label("licd_task_failures_total", "task");
    assert!(failures.into_iter().eq(tasks.iter().map(|task| (*task, 0.0))));
    let restarts = scrape.by_label("licd_task_restarts_total", "task");
    assert!(restarts.into_iter().eq(supervised.iter().map(|task| (*task, 0.0))));
}

/// No label contains a key, user, tenant, license or address, or a path or method of the caller's
/// own, so callers cannot make the metrics grow.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_hold_nothing_of_callers() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    let admin = &shown.admin;
    let license = admin.license(json!({})).await;
    admin.assign(&license, "ada-lovelace").await.data();
    assert_eq!(admin.validate("ada-lovelace").await.verdict(), "valid");
    admin.get(&format!("/api/v1/admin/licenses/{license}")).await.data();
    let before = shown.scrape().await;
    for number in 0..50 {
        admin.get(&format!("/nowhere/{number}")).await.refusal();
        let method = format!("M{number}").parse().unwrap();
        let answer = admin.request(method, "/api/v1/validate").send().await.unwrap();
        assert_eq!(answer.status(), 405);
        assert_eq!(admin.validate(&format!("user-{number}")).await.verdict(), "no_license");
    }
    let after = shown.scrape().await;
    let grown = after.series() - before.series();
    assert!(grown < 40, "{grown} more series");
    let key = admin.key.clone().unwrap();
    let own = [&*key, &key[8..20], "ada-lovelace", &license, "default", "nowhere", "user-1", "M1"];
    for own in own {
        assert!(!after.text.contains(own), "{own}");
    }
    assert!(after.text.contains("route=\"/api/v1/admin/licenses/{id}\""), "{}", after.text);
}

/// One dead receiver of many is seen.
#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_counted_by_state() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let admin = licd.caller(&key);
    for n in 0..3 {
        let body = json!({ "url": format!("https://127.0.0.1:1/{n}"), "types": ["seat.*"] });
        let made = admin.post("/api/v1/admin/webhooks", body).await;
        if n == 0 {
            let off = json!({ "enabled": false });
            admin.patch(&format!("/api/v1/admin/webhooks/{}", made.id()), off).await.data();
        }
    }
    assert!(licd.stop().success());
    let failing =
        "update webhooks set failing_since = $1 where disabled_at is null and url like '%2'";
    let since = common::Timestamp::now().plus(-chrono::TimeDelta::hours(2));
    let db = database.open().await;
    db.write().await.unwrap().query(failing).bind(since).execute().await.unwrap();
    db.close().await;
    let shown = Shown::start(&database.url);
    until("the webhooks are counted", async || {
        let scrape = shown.scrape().await;
        let states = scrape.by_label("licd_webhooks", "state");
        states == BTreeMap::from([("disabled", 1.0), ("failing", 1.0), ("healthy", 1.0)])
            && scrape.value("licd_webhook_failing_seconds", &[]) > Some(7000.0)
    })
    .await;
}
