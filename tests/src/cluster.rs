//! A PostgreSQL cluster of its own for each test, which the test stops, breaks and fails over.
//!
//! These tests need PostgreSQL's programs, so a plain `cargo test` lists them as ignored;
//! `tests/run` runs them. A cluster lives in a temporary folder, belongs to an unprivileged user
//! (PostgreSQL refuses root), and goes when its value does, also when the test fails.

mod doctor;
mod failover;
mod outage;
mod pgbouncer;
mod resources;
mod schemas;
mod silence;
mod upgrade;
mod webhooks;

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

use crate::harness::{Caller, until};
use crate::nodes::process::{Process, first_key};

/// Without fsync: the machine stays up, and writes handed to the system survive PostgreSQL's end.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
fsync = off
";

/// The user that PostgreSQL runs as when the tests run as root.
#[derive(Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
}

pub struct Cluster {
    folder: TempDir,
    port: u16,
    owner: Option<Owner>,
}

/// A cluster, a node on it, its admin, and the license by which "ada" is valid.
async fn cluster_with_license() -> (Cluster, Process, Caller, String) {
    let (cluster, key) = (Cluster::start().await, first_key());
    let node = Process::start(&cluster.url("licd"), &key);
    let caller = node.caller(&key);
    let license = caller.license(json!({})).await;
    caller.assign(&license, "ada").await.data();
    (cluster, node, caller, license)
}

impl Cluster {
    /// Makes a cluster with an empty database `licd`, and starts it.
    pub async fn start() -> Self {
        let cluster = Self::folder();
        let data = cluster.data();
        let form = ["-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync"];
        cluster.run("initdb", &[&["-D", &data, "-U", "postgres"], &form[..]].concat());
        fs::write(Path::new(&data).join("postgresql.auto.conf"), SETTINGS).unwrap();
        cluster.begin();
        let mut conn = PgConnection::connect(&cluster.url("postgres")).await.unwrap();
        sqlx::query("create database licd").execute(&mut conn).await.unwrap();
        cluster
    }

    /// A standby of this cluster, which from now on waits for it with every commit.
    pub async fn standby(&self) -> Self {
        let standby = Self::folder();
        let (data, port) = (standby.data(), self.port.to_string());
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
        let to = ["-D", &data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"];
        standby.run("pg_basebackup", &[&from[..], &to].concat());
        standby.begin();
        self.execute("alter system set synchronous_standby_names = '*'").await;
        self.execute("select pg_reload_conf()").await;
        let synchronous = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        until("the standby is synchronous", async || self.number(synchronous).await == 1).await;
        standby
    }

    /// Makes a primary of a standby.
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "-D", &self.data(), "-w", "-s"]);
    }

    /// Pauses all its processes: it accepts connections and never answers.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Resumes its processes.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let Ok(file) = fs::read_to_string(self.path("data/postmaster.pid")) else { return };
        let server = file.lines().next().unwrap();
        let all = [vec![server.to_owned()], children(server)].concat().join(" ");
        // One that has just ended is as still as the others.
        drop(Command::new("sh").args(["-c", &format!("kill {signal} {all}")]).output().unwrap());
    }

    fn folder() -> Self {
        let folder = tempfile::Builder::new().prefix("licd-cluster-").tempdir().unwrap();
        let owner = owner();
        if let Some(Owner { uid, gid }) = owner {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        Self { folder, port: free_port(), owner }
    }

    /// Starts it, or starts it again, at the same address.
    pub fn begin(&self) {
        let (data, log) = (self.data(), self.path("log"));
        let port = format!("-p {}", self.port);
        self.run("pg_ctl", &["start", "-D", &data, "-l", &log, "-o", &port, "-w", "-s"]);
    }

    /// Ends all its processes immediately, like a crash.
    pub fn crash(&self) {
        self.run("pg_ctl", &["stop", "-D", &self.data(), "-m", "immediate", "-s"]);
    }

    /// Rolls back what runs, and shuts down, as a restart by an administrator does.
    pub fn shut_down(&self) {
        self.run("pg_ctl", &["stop", "-D", &self.data(), "-m", "fast", "-s"]);
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.address())
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs one statement in the database `licd`.
    pub async fn execute(&self, statement: &str) {
        let mut conn = PgConnection::connect(&self.url("licd")).await.unwrap();
        sqlx::query(AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();
    }

    /// The one number that the statement answers in the database `licd`.
    pub async fn number(&self, statement: &'static str) -> i64 {
        let mut conn = PgConnection::connect(&self.url("licd")).await.unwrap();
        sqlx::query_scalar(statement).fetch_one(&mut conn).await.unwrap()
    }

    fn data(&self) -> String {
        self.path("data")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs one of PostgreSQL's programs to its end, as the cluster's owner.
    fn run(&self, program: &str, args: &[&str]) {
        let output = self.command(program).args(args).output().unwrap();
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        assert!(
            output.status.success(),
            "{program} {args:?}: {}{}\n{log}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        if let Some(Owner { uid, gid }) = self.owner {
            command.uid(uid).gid(gid);
        }
        command.current_dir(self.folder.path()).env_clear();
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be frozen or stopped; and the folder goes whatever happens here.
        self.signal("-CONT");
        let stop = ["stop", "-D", &self.data(), "-m", "immediate", "-s"];
        drop(self.command("pg_ctl").args(stop).output());
    }
}

/// The folder of PostgreSQL's server programs, newest version first.
fn programs() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .map(|(version, path)| (version, path.join("bin")))
        .collect();
    found.sort();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let all = found.into_iter().rev().map(|(_, path)| path).chain(std::env::split_paths(&on_path));
    all.into_iter()
        .find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
        .unwrap_or_else(|| {
            panic!("PostgreSQL's initdb and pg_ctl are missing; tests/run finds them")
        })
}

/// Returns the user that owns the cluster. Tests that run as root give it to another user.
fn owner() -> Option<Owner> {
    let id = |args: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|user| Some(Owner { uid: id(&["-u", user])?, gid: id(&["-g", user])? }))
}

/// The processes that this one has started.
fn children(parent: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|process| process.file_name().into_string().ok());
    names
        .filter(|process| {
            // Behind the name, in brackets: the state, then the parent.
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
            rest.split(' ').nth(1) == Some(parent)
        })
        .collect()
}

/// A port that is free now; a conflict shows when the server starts.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
