//! The database fails under load and returns: callers wait a bounded time, no answer is wrong, and
//! nothing needs a restart.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::{Cluster, cluster_with_license};
use crate::harness::{Answer, Caller, until};
use crate::nodes::process::{Process, first_key};

/// The longest wait while the database is away: a time-out of 5 s for the key and one of 5 s for the
/// rest, with a margin for a busy machine.
pub const MAX_WAIT: Duration = Duration::from_secs(15);

/// Clients that create and seat one new user after another until they are stopped.
pub struct Load {
    stop: AtomicBool,
    /// The users whose seat was confirmed.
    seated: Mutex<Vec<String>>,
    slowest: Mutex<Duration>,
    refusals: Mutex<usize>,
}

impl Load {
    pub fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            seated: Mutex::default(),
            slowest: Mutex::default(),
            refusals: Mutex::default(),
        }
    }

    /// Runs `clients` at each of `callers`. Every failure must be a proper 503.
    pub async fn run(&self, callers: &[Caller], clients: usize, license: &str) {
        let all = callers.iter().enumerate().flat_map(|(at, caller)| {
            (0..clients).map(move |client| self.client(caller, format!("{at}-{client}"), license))
        });
        join_all(all).await;
    }

    async fn client(&self, caller: &Caller, name: String, license: &str) {
        let assign = format!("/api/v1/admin/licenses/{license}/assign");
        for n in 0.. {
            let user = format!("user-{name}-{n}");
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let begun = Instant::now();
            let assigned = self.note(&caller.post(&assign, json!({ "userId": user })).await, begun);
            let begun = Instant::now();
            if assigned && self.note(&caller.validate(&user).await, begun) {
                self.seated.lock().unwrap().push(user);
            }
        }
    }

    /// Whether it was done.
    fn note(&self, answer: &Answer, begun: Instant) -> bool {
        let mut slowest = self.slowest.lock().unwrap();
        *slowest = begun.elapsed().max(*slowest);
        if answer.status == 503 {
            refused_well(answer);
            *self.refusals.lock().unwrap() += 1;
            return false;
        }
        assert!(matches!(answer.status, 200 | 201), "{answer}");
        assert_ne!(answer.data()["valid"], false, "{answer}");
        true
    }

    pub fn seated(&self) -> Vec<String> {
        self.seated.lock().unwrap().clone()
    }

    pub fn refusals(&self) -> usize {
        *self.refusals.lock().unwrap()
    }

    pub fn slowest(&self) -> Duration {
        *self.slowest.lock().unwrap()
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until as many more users are seated as now.
    pub async fn seats_more(&self, count: usize) {
        let goal = self.seated.lock().unwrap().len() + count;
        until("more users are seated", async || self.seated.lock().unwrap().len() >= goal).await;
    }
}

/// The envelope is checked with every answer; this is what is particular to being away.
fn refused_well(answer: &Answer) {
    assert_eq!(answer.body["code"], "unavailable", "{answer}");
    assert!(answer.number("retry-after") >= 1, "{answer}");
}

/// Everyone whose seat was confirmed has it, at every node, and the counters agree.
pub async fn all_seated(cluster: &Cluster, callers: &[Caller], license: &str, users: &[String]) {
    for caller in callers {
        for many in users.chunks(64) {
            let asked = join_all(many.iter().map(|user| caller.explain(user))).await;
            for (user, told) in many.iter().zip(asked) {
                assert_eq!(told["valid"], true, "{user} was seated: {told}");
                assert!(told["licenses"][0]["activation"].is_object(), "{user} holds it: {told}");
            }
        }
        let usage = caller.usage(license).await;
        assert_eq!(usage["activeSeats"], usage["totalActivations"]);
    }
    let counted = cluster.number("select cast(seats_used as bigint) from licenses").await;
    assert_eq!(counted, cluster.number("select count(activation_id) from assignments").await);
    assert!(counted >= users.len() as i64);
}

pub async fn away(caller: &Caller) {
    let begun = Instant::now();
    let ready = caller.get("/readyz").await;
    assert!(begun.elapsed() < MAX_WAIT, "/readyz took {:?}", begun.elapsed());
    assert_eq!(ready.status, 503, "{ready}");
    refused_well(&ready);
    assert_eq!(caller.get("/healthz").await.status, 200);
}

/// A fault of the server.
type Step = fn(&Cluster);

/// A crash, a restart, and a pause: how the server goes away, and how it comes back.
const OUTAGES: [(Step, Step); 3] = [
    (Cluster::crash, Cluster::begin),
    (Cluster::shut_down, Cluster::begin),
    (Cluster::freeze, Cluster::thaw),
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_database_that_goes_away_in_a_storm_loses_nothing_that_was_answered() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let nodes = [(); 2].map(|()| Process::start(&cluster.url("licd"), &key));
    let callers = [nodes[0].caller(&key), nodes[1].caller(&key)];
    let license = callers[0].license(json!({})).await;
    let load = Load::new();
    let outages = async {
        for (go, come_back) in OUTAGES {
            load.seats_more(200).await;
            let before = load.refusals();
            go(&cluster);
            for caller in &callers {
                away(caller).await;
            }
            until("the storm is refused", async || load.refusals() > before).await;
            come_back(&cluster);
            for caller in &callers {
                until("/readyz is 200 again", async || caller.get("/readyz").await.status == 200)
                    .await;
            }
        }
        load.seats_more(200).await;
        load.stop();
    };
    tokio::join!(load.run(&callers, 32, &license), outages);
    assert!(load.slowest() < MAX_WAIT, "a caller waited {:?}", load.slowest());
    all_seated(&cluster, &callers, &license, &load.seated()).await;
    for node in nodes {
        assert!(node.stop().success());
    }
}

/// A database that takes the call and never answers is as good as away, and no worse.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_database_that_hangs_is_away_within_seconds() {
    let (cluster, node, caller, _) = cluster_with_license().await;

    let mut holder = PgConnection::connect(&cluster.url("licd")).await.unwrap();
    let mut tx = holder.begin().await.unwrap();
    let hold = "lock table keys, worlds, users, licenses in access exclusive mode";
    sqlx::query(hold).execute(&mut *tx).await.unwrap();
    away(&caller).await;
    let begun = Instant::now();
    let asked = join_all((0..32).map(|_| caller.validate("ada"))).await;
    assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
    asked.iter().for_each(refused_well);
    tx.rollback().await.unwrap();

    until("/readyz is 200 again", async || caller.get("/readyz").await.status == 200).await;
    assert_eq!(caller.validate("ada").await.verdict(), "valid");
    assert!(node.stop().success());
}

/// A server that restarts closes all connections, and those that were idle are not found out one
/// request after the other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn after_a_restart_every_request_is_answered() {
    let (cluster, node, caller, license) = cluster_with_license().await;
    for (go, come_back) in &OUTAGES[..2] {
        let users = "/api/v1/admin/users?limit=1";
        let own = "select count(*) from pg_stat_activity where application_name = 'licd'";
        until("there are connections to lose", async || {
            let many = (0..64).map(|_| caller.get(users));
            assert!(join_all(many).await.iter().all(|answer| answer.status == 200));
            cluster.number(own).await > 4
        })
        .await;
        go(&cluster);
        come_back(&cluster);
        for n in 0..30 {
            let suspended = caller.set_status(&license, "active").await;
            for answer in [caller.get(users).await, caller.validate("ada").await, suspended] {
                assert_eq!(answer.status, 200, "request {n}: {answer}");
            }
        }
    }
    assert!(node.stop().success());
}

/// Whatever an operator takes away, callers get a 503 with a time to retry.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_database_that_refuses_licd_is_unavailable() {
    let (cluster, key) = (Cluster::start().await, first_key());
    cluster.execute("create role licd login").await;
    cluster.execute("alter database licd owner to licd").await;
    let url = cluster.url("licd").replacen("postgres@", "licd@", 1);
    let node = Process::start(&url, &key);
    let caller = node.caller(&key);
    let license = caller.license(json!({})).await;
    caller.assign(&license, "ada").await.data();
    let end_all = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'licd'";
    for (take, give) in [
        ("alter role licd nologin", "alter role licd login"),
        ("alter table users rename to other", "alter table other rename to users"),
        ("alter table users owner to postgres", "alter table users owner to licd"),
        ("alter role licd set search_path = nowhere", "alter role licd reset search_path"),
    ] {
        cluster.execute(take).await;
        cluster.execute(end_all).await;
        refused_well(&caller.validate("ada").await);
        refused_well(&caller.get("/api/v1/admin/users").await);
        assert_eq!(caller.get("/healthz").await.status, 200);
        cluster.execute(give).await;
        cluster.execute(end_all).await;
        let again = async || caller.validate("ada").await.status == 200;
        until("validations succeed again", again).await;
    }
    assert!(node.log().contains("the database cannot be used"), "{}", node.log());
    assert!(node.stop().success());
}

/// A session stays read-only, or without its tables, after the setting that caused this is gone.
/// licd does not use sessions that began in between for the next minutes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_database_that_is_writable_again_is_written_immediately() {
    let (cluster, key) = (Cluster::start().await, first_key());
    cluster.execute("create role licd superuser login").await;
    let url = cluster.url("licd").replacen("postgres@", "licd@", 1);
    let node = Process::start(&url, &key);
    let caller = node.caller(&key);
    let write = async |_| {
        let made = caller.post("/api/v1/admin/products", json!({ "name": "Studio" })).await;
        if made.status != 201 {
            refused_well(&made);
        }
        made.status
    };
    for setting in ["default_transaction_read_only", "search_path"] {
        let value = if setting == "search_path" { "nowhere" } else { "on" };
        cluster.execute(&format!("alter role licd set {setting} = {value}")).await;
        let end_all =
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'licd'";
        cluster.execute(end_all).await;
        until("all connections are refused", async || {
            join_all((0..32).map(write)).await.iter().all(|status| *status == 503)
        })
        .await;
        cluster.execute(&format!("alter role licd reset {setting}")).await;
        let mut refused = 0;
        for _ in 0..20 {
            let statuses = join_all((0..8).map(write)).await;
            refused += statuses.iter().filter(|status| **status == 503).count();
        }
        // A task may have opened a connection since the last request was refused.
        assert!(refused <= 8, "{refused} of 160 were refused after {setting} was reset");
    }
    assert!(node.stop().success());
}
