//! The primary is lost under load, and its synchronous standby takes over: answered requests are
//! there, and licd finds the new primary by itself.

use serde_json::json;

use super::Cluster;
use super::outage::{Load, all_seated};
use crate::harness::until;
use crate::nodes::process::{Process, first_key};

/// One address for both servers. The standby comes first, so that the order is not what helps.
pub fn url(primary: &Cluster, standby: &Cluster) -> String {
    format!("postgres://postgres@{},{}/licd", standby.address(), primary.address())
}

async fn fail_over(lose: impl FnOnce(&Cluster)) {
    let (primary, key) = (Cluster::start().await, first_key());
    let standby = primary.standby().await;
    let url = url(&primary, &standby);
    let nodes = [(); 2].map(|()| Process::start(&url, &key));
    let callers = [nodes[0].caller(&key), nodes[1].caller(&key)];
    let license = callers[0].license(json!({})).await;
    let load = Load::new();
    let losing = async {
        load.seats_more(200).await;
        lose(&primary);
        for caller in &callers {
            until("the loss is noticed", async || caller.get("/readyz").await.status == 503).await;
        }
        standby.promote();
        for caller in &callers {
            until("the new primary is found", async || caller.get("/readyz").await.status == 200)
                .await;
        }
        load.seats_more(200).await;
        load.stop();
    };
    tokio::join!(load.run(&callers, 16, &license), losing);
    all_seated(&standby, &callers, &license, &load.seated()).await;
    for node in nodes {
        assert!(node.stop().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_primary_that_crashes_is_replaced() {
    fail_over(Cluster::crash).await;
}

/// A machine or its network is gone: connections are neither refused nor answered.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_primary_that_falls_silent_is_replaced() {
    fail_over(Cluster::freeze).await;
}

/// licd does not start on a read-only server, and the message says why.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_standby_alone_is_refused() {
    let primary = Cluster::start().await;
    let standby = primary.standby().await;
    let refused = crate::nodes::process::licd(&[
        "migrate",
        "--database-url",
        &format!("postgres://postgres@{}/licd", standby.address()),
    ]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("the server is read-only, such as a standby"), "{said}");
}
