//! Storms made with wrk and slowhttptest: during a storm `/readyz` is 200 for a new client, another
//! tenant's validations are right, and memory stays below a limit. After a storm all is as before.
//! A storm lasts until enough was measured, and at most a minute, which is enough for any machine.
//! Each prints its measurements: `tests/run overload:: -- --nocapture`.
//!
//! These tests need the two programs, so a plain `cargo test` lists them as ignored; `tests/run`
//! installs and runs them.

mod queue;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::connections::wire::Wire;
use crate::harness::{Caller, TestDatabase, until_within};
use crate::nodes::process::{Process, command, command_after, first_key, licd, send};

/// The peak memory that licd may reach.
const MAX_MEMORY_KIB: u64 = 200 * 1024;
/// Minimum duration of a storm, and interval between the checks during it.
const STORM: Duration = Duration::from_secs(5);
const LOOKS: usize = 10;
/// Maximum duration of a storm, in seconds.
const MAX_STORM: &str = "60";
/// Time after a storm in which all must be as before.
const RECOVERY: Duration = Duration::from_secs(15);
/// Maximum number of files that may be open afterwards in addition: further connections to the
/// database, and those of the clients that check.
const MORE_FILES: usize = 24;

/// One storm at a time: licd's promises hold for one storm, not for several on a machine.
static TURN: Semaphore = Semaphore::const_new(1);

/// A licd with a tenant that asks calmly and one that storms.
struct Besieged {
    node: Process,
    calm: Caller,
    storming: String,
    _database: TestDatabase,
    _turn: SemaphorePermit<'static>,
}

impl Besieged {
    async fn start(serve: Command) -> Self {
        let turn = TURN.acquire().await.unwrap();
        let (database, key) = (TestDatabase::ready().await, first_key());
        let settings = [("LICD_BOOTSTRAP_KEY", &*key)];
        let node = Process::launch_command(serve, &database.url, &settings).wait();
        let calm = node.caller(&key);
        let made = licd(&["tenants", "create", "Storm", "--database-url", &database.url]);
        let storming = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        for caller in [&calm, &calm.with_key(&storming)] {
            let license = caller.license(json!({})).await;
            caller.assign(&license, "ada").await.data();
            assert_eq!(caller.validate("ada").await.verdict(), "valid");
        }
        Self { node, calm, storming, _database: database, _turn: turn }
    }

    /// Returns a wrk command with this many connections, which send bodies of this size.
    fn wrk(&self, connections: &str, path: &str, bytes: &str) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/overload/requests.lua");
        let mut wrk = Command::new("wrk");
        wrk.args(["-t", "2", "-c", connections, "-d", MAX_STORM, "--timeout", "10s", "-s"]);
        wrk.arg(script).arg(format!("{}{path}", self.node.base));
        wrk.env("STORM_KEY", &self.storming).env("STORM_BYTES", bytes);
        wrk
    }

    /// slowhttptest with 1000 connections.
    fn slow(&self, path: &str, mode: &[&str]) -> Command {
        let mut slow = Command::new("slowhttptest");
        slow.args([
            "-c", "1000", "-r", "500", "-i", "1", "-l", MAX_STORM, "-p", "5", "-v", "1", "-u",
        ]);
        slow.arg(format!("{}{path}", self.node.base)).args(mode);
        slow
    }

    /// Runs the storm, checks licd from outside during it, and waits until all is as before.
    async fn endures(self, mut storm: Command) {
        let files = self.node.open_files();
        let name = format!("{:?} {:?}", storm.get_program(), storm.get_args().collect::<Vec<_>>());
        let mut storm = storm.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| {
            panic!("{name}: {error}");
        });
        let (begun, mut looks, mut slowest, mut most_files) =
            (Instant::now(), 0, [Duration::ZERO; 2], 0);
        while looks < LOOKS || begun.elapsed() < STORM {
            for (slowest, took) in slowest.iter_mut().zip(self.look().await) {
                *slowest = took.max(*slowest);
            }
            most_files = self.node.open_files().max(most_files);
            looks += 1;
            assert_eq!(storm.try_wait().unwrap(), None, "{name}: over after {looks} looks");
        }
        send("INT", &storm);
        let told = spawn_blocking(move || storm.wait_with_output()).await.unwrap().unwrap();
        let over = Instant::now();
        until_within(RECOVERY, "connections are gone", async || {
            self.node.open_files() <= files + MORE_FILES
        })
        .await;
        self.look().await;
        let (recovered, peak) = (over.elapsed(), self.node.peak_memory());
        println!(
            "{name}\n  {looks} looks; /readyz took {:?} at most, a validation {:?}; \
             {peak} KiB, {most_files} files; as before in {recovered:?}",
            slowest[0], slowest[1],
        );
        let told = String::from_utf8_lossy(&told.stdout);
        let is_result = |line: &&str| line.contains("requests in") || line.contains("Non-2xx");
        told.lines().filter(is_result).for_each(|line| println!("{line}"));
        assert!(most_files > files + 100, "there was a storm");
        assert!(peak < MAX_MEMORY_KIB, "licd had {peak} KiB in use");
        let log = self.node.log();
        assert!(!log.contains("panicked") && !log.contains(r#""level":"ERROR""#), "{log}");
        assert!(spawn_blocking(|| self.node.stop()).await.unwrap().success());
    }

    /// Asks `/readyz` on a connection of its own, and validates. Answers how long each took.
    async fn look(&self) -> [Duration; 2] {
        let begun = Instant::now();
        let mut stranger = Wire::connect(&self.node.base).await;
        stranger.get("/readyz").await;
        assert_eq!(stranger.answer().await.status, 200);
        let ready = begun.elapsed();
        let begun = Instant::now();
        assert_eq!(self.calm.validate("ada").await.verdict(), "valid");
        [ready, begun.elapsed()]
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs wrk; tests/run installs it"]
async fn four_thousand_connections() {
    let licd = Besieged::start(command(&["serve"])).await;
    let storm = licd.wrk("4000", "/api/v1/validate", "0");
    licd.endures(storm).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs wrk; tests/run installs it"]
async fn a_connection_for_each_request() {
    let licd = Besieged::start(command(&["serve"])).await;
    let mut storm = licd.wrk("400", "/api/v1/validate", "0");
    storm.env("STORM_CLOSE", "1");
    licd.endures(storm).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs wrk; tests/run installs it"]
async fn bodies_of_a_mebibyte_by_the_hundred() {
    let licd = Besieged::start(command(&["serve"])).await;
    let storm = licd.wrk("300", "/api/v1/admin/users", "1040000");
    licd.endures(storm).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs slowhttptest; tests/run installs it"]
async fn slow_heads() {
    let licd = Besieged::start(command(&["serve"])).await;
    let storm = licd.slow("/api/v1/validate", &["-H"]);
    licd.endures(storm).await;
}

/// The form of the sign-in is read before the visitor is known.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs slowhttptest; tests/run installs it"]
async fn slow_bodies() {
    let licd = Besieged::start(command(&["serve"])).await;
    let storm = licd.slow("/dashboard/sign-in", &["-B", "-s", "4096", "-x", "8"]);
    licd.endures(storm).await;
}

/// Far more half-sent bodies than licd may open files, each with a key that is refused. Whatever
/// ends such a request frees its connection, so a newcomer does not wait until all of them are
/// drained.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "has the machine to itself; tests/run runs it"]
async fn half_sent_bodies_that_are_refused() {
    let licd = Besieged::start(command_after("ulimit -n 256", &["serve"])).await;
    let head = "POST /api/v1/validate HTTP/1.1\r\nhost: licd\r\nauthorization: Bearer sk_live_no\r\n\
                content-type: application/json\r\ncontent-length: 40\r\n\r\n{";
    let mut half_sent = Vec::new();
    for _ in 0..3000 {
        let mut wire = Wire::connect(&licd.node.base).await;
        wire.send(head).await;
        half_sent.push(wire);
    }
    let looked = timeout(Duration::from_secs(8), licd.look()).await;
    println!("{} half-sent bodies: {looked:?}", half_sent.len());
    assert!(looked.is_ok(), "a newcomer waits until refused requests are drained");
    assert!(spawn_blocking(|| licd.node.stop()).await.unwrap().success());
}

/// Clients ask for the OpenAPI document ten times each, and read a byte a second.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs slowhttptest; tests/run installs it"]
async fn readers_that_never_read() {
    let licd = Besieged::start(command(&["serve"])).await;
    let window = ["-X", "-w", "1", "-y", "1", "-z", "1", "-n", "1", "-k", "10"];
    let storm = licd.slow("/api/v1/openapi.json", &window);
    licd.endures(storm).await;
}

/// More busy connections than licd may open files: each answer is its connection's last, so that
/// who waits for one has its turn.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs wrk; tests/run installs it"]
async fn more_busy_connections_than_files() {
    let licd = Besieged::start(command_after("ulimit -n 256", &["serve"])).await;
    let storm = licd.wrk("1000", "/api/v1/validate", "0");
    licd.endures(storm).await;
}

/// More connections than licd may open files: those without a whole request make room.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs slowhttptest; tests/run installs it"]
async fn an_exhausted_file_limit() {
    let licd = Besieged::start(command_after("ulimit -n 256", &["serve"])).await;
    let storm = licd.slow("/api/v1/validate", &["-H"]);
    licd.endures(storm).await;
}
