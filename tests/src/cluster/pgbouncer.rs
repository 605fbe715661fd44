//! licd behind PgBouncer in transaction mode, where consecutive transactions of a node run on
//! whichever of few connections is free: the settings of docs/operate/postgresql.md, and nothing
//! more.

use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use serde_json::json;

use super::{Cluster, free_port};
use crate::harness::{until, until_within};
use crate::nodes::process::{Process, Starting, first_key, licd};
use crate::nodes::race_for_seats;

/// A running PgBouncer; it ends with the value.
pub struct Bouncer {
    process: Child,
    port: u16,
}

impl Bouncer {
    pub async fn before(cluster: &Cluster) -> Self {
        let port = free_port();
        let settings = format!(
            "[databases]
             licd = host=127.0.0.1 port={} user=postgres
             [pgbouncer]
             listen_addr = 127.0.0.1
             listen_port = {port}
             unix_socket_dir =
             auth_type = any
             pool_mode = transaction
             default_pool_size = 4
             ignore_startup_parameters = extra_float_digits,options
             max_client_conn = 960
             server_login_retry = 1",
            cluster.port
        );
        let settings: Vec<&str> = settings.lines().map(str::trim).collect();
        let path = cluster.path("pgbouncer.ini");
        std::fs::write(&path, settings.join("\n")).unwrap();
        let mut command = cluster.command("/usr/sbin/pgbouncer");
        let process = command.args(["--quiet", &path]).spawn();
        let process = process.unwrap_or_else(|error| panic!("pgbouncer is missing: {error}"));
        let bouncer = Self { process, port };
        until("PgBouncer listens", async || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        bouncer
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/licd?pooler=transaction", self.port)
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Two nodes share four connections: seats stay exact, and no request meets another's statement.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs and PgBouncer; tests/run runs it"]
async fn nodes_share_a_few_connections() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let bouncer = Bouncer::before(&cluster).await;
    let starting = [(); 2].map(|()| Process::launch(&bouncer.url(), &key));
    let nodes = starting.map(Starting::wait);
    let callers = [nodes[0].caller(&key), nodes[1].caller(&key)];
    for round in 0..3 {
        race_for_seats(&callers, round).await;
    }
    // A refusal inside a transaction leaves nothing behind on the connection.
    for caller in &callers {
        for _ in 0..20 {
            let refused = caller.post("/api/v1/admin/licenses", json!({ "planId": "no" })).await;
            assert_eq!(refused.status, 400, "{refused}");
            assert_eq!(caller.get("/readyz").await.status, 200);
        }
    }
    let counted = "select cast(sum(seats_used) as bigint) from licenses";
    assert_eq!(cluster.number(counted).await, 30);
    for node in nodes {
        assert!(node.stop().success());
    }
}

/// The commands go through it as well.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs and PgBouncer; tests/run runs it"]
async fn commands_work_behind_it() {
    let cluster = Cluster::start().await;
    let bouncer = Bouncer::before(&cluster).await;
    let folder = tempfile::TempDir::new().unwrap();
    let (there, back) = (folder.path().join("there.db"), folder.path().join("back.db"));
    let [there, back] = [there, back].map(|path| format!("sqlite://{}", path.display()));
    let run = |args: &[&str]| {
        let output = licd(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["tenants", "create", "Acme", "--database-url", &there]);
    for _ in 0..3 {
        run(&["migrate", "--database-url", &bouncer.url()]);
    }
    let sent = run(&["copy", "--from", &there, "--to", &bouncer.url()]);
    let returned = run(&["copy", "--from", &bouncer.url(), "--to", &back]);
    assert_eq!(sent, returned);
    assert!(run(&["tenants", "list", "--database-url", &bouncer.url()]).contains("Acme"));
}

/// PgBouncer notices that the database is back as soon as licd does.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs and PgBouncer; tests/run runs it"]
async fn an_outage_is_over_when_the_database_is_back() {
    let (cluster, key) = (Cluster::start().await, first_key());
    let bouncer = Bouncer::before(&cluster).await;
    let node = Process::start(&bouncer.url(), &key);
    let caller = node.caller(&key);
    assert_eq!(caller.validate("ada").await.verdict(), "no_license");
    cluster.crash();
    until("the outage is noticed", async || caller.validate("ada").await.status == 503).await;
    cluster.begin();
    let is_back = async || caller.validate("ada").await.status == 200;
    until_within(Duration::from_secs(8), "requests are served again", is_back).await;
}
