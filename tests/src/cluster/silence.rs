//! PostgreSQL accepts connections and does not respond: callers wait for a limited time, and
//! `/readyz` is 503. Or it is read-only: seat holders are validated.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::{Cluster, cluster_with_license};
use crate::harness::until;
use crate::nodes::process::{Process, first_key};

/// Number of validations that wait at the same time: several batches.
const WAITING_REQUESTS: usize = 1500;
/// The limit is 5 s; the rest is a margin for a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(12);

/// The longer the queue, the longer the wait: not here.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_long_queue_before_a_silent_database_is_refused_in_time() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let node = Process::start(&cluster.url("licd"), &key);
    let caller = node.caller(&key);
    caller.validate("ada").await.data();

    cluster.freeze();
    let begun = Instant::now();
    let asked = join_all((0..WAITING_REQUESTS).map(|n| {
        let caller = &caller;
        async move { caller.validate(&format!("user-{}", n % 100)).await }
    }));
    let admins = join_all((0..20).map(|_| caller.get("/api/v1/admin/users?limit=1")));
    let (asked, admins, health) = tokio::join!(asked, admins, caller.get("/healthz"));
    assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
    for refused in asked.iter().chain(&admins) {
        assert_eq!(refused.status, 503, "{refused}");
    }
    assert_eq!(health.status, 200);
    assert_eq!(caller.get("/readyz").await.status, 503);
    cluster.thaw();
    until("validations succeed again", async || caller.validate("ada").await.status == 200).await;
    assert!(node.stop().success());
}

/// A read-only database validates seat holders and no other users.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_database_that_cannot_be_written_validates_holders_of_seats() {
    let (cluster, node, caller, license) = cluster_with_license().await;
    caller.assign(&license, "bob").await.data();
    assert_eq!(caller.validate("bob").await.verdict(), "valid");
    let writes = async || caller.get("/readyz?for=writes").await.status;
    assert_eq!(writes().await, 200);

    let set = async |setting: &str| {
        cluster
            .execute(&format!("alter system set default_transaction_read_only = {setting}"))
            .await;
        cluster.execute("select pg_reload_conf()").await;
    };
    set("on").await;
    until("nothing can be written", async || writes().await == 503).await;
    for _ in 0..3 {
        assert_eq!(caller.validate("ada").await.refusal(), "503 unavailable");
        assert_eq!(caller.validate("new").await.refusal(), "503 unavailable");
        assert_eq!(caller.validate("bob").await.verdict(), "valid");
        assert_eq!(caller.get("/readyz").await.data()["writes"], false);
    }
    set("off").await;
    until("it can write again", async || writes().await == 200).await;
    assert_eq!(caller.validate("ada").await.verdict(), "valid");
    assert!(node.stop().success());
}
