//! `licd` as a process of its own, the way operators run it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{ApiKey, Mode};
use serde_json::Value;

use crate::harness::Caller;

/// How long a process may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `licd serve`. It is killed when the value goes.
pub struct Process {
    pub base: String,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

/// A program of this repository, built along with these tests.
pub fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join(name);
    assert!(program.exists(), "there is no {}; run `cargo build --bins` first", program.display());
    program
}

/// `licd` with these arguments and none of the settings around the tests.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program("licd"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LICD_")) {
        command.env_remove(name);
    }
    command.args(args);
    command
}

/// Runs a command of `licd` to its end.
pub fn licd(args: &[&str]) -> Output {
    licd_with(&[], args)
}

/// The same with settings in its environment.
pub fn licd_with(settings: &[(&str, &str)], args: &[&str]) -> Output {
    command(args).envs(settings.iter().copied()).output().unwrap()
}

/// A key that a database without tenants takes as its first.
pub fn first_key() -> String {
    ApiKey::generate(Mode::Live).expose().to_owned()
}

impl Process {
    /// Starts `licd serve` and waits until it listens.
    pub fn start(database: &str, key: &str) -> Self {
        Self::launch(database, key).wait()
    }

    /// Starts `licd serve` without waiting for it.
    pub fn launch(database: &str, key: &str) -> Starting {
        Self::launch_with(database, &[("LICD_BOOTSTRAP_KEY", key)])
    }

    /// The same with other settings in its environment.
    pub fn launch_with(database: &str, settings: &[(&str, &str)]) -> Starting {
        let mut serve = command(&["serve"]);
        serve.env("LICD_DATABASE_URL", database);
        serve.env("LICD_LISTEN", "127.0.0.1:0").env("LICD_RATE_LIMIT", "off");
        // Not a line for each request: what is told when a test fails should be to the point.
        serve.env("LICD_LOG", "info,licd::exchange=warn").env("LICD_LOG_FORMAT", "json");
        serve.envs(settings.iter().copied());
        serve.stderr(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, address) = mpsc::channel();
        let kept = log.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let entry: Value = serde_json::from_str(&line).unwrap_or_default();
                if entry["message"] == "listening" {
                    // Nobody waits for the address any more once it was received.
                    drop(sender.send(format!("http://{}", entry["address"].as_str().unwrap())));
                }
                kept.lock().unwrap().push(line);
            }
        });
        Starting { process: Self { base: String::new(), child, log }, address }
    }

    /// The caller with this key, at this node.
    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.base.clone(), key)
    }

    /// The most memory that the process ever had in use, in KiB. The kernel counts roughly: a later
    /// answer may be the lower one by some hundred.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(mut self) -> ExitStatus {
        let terminate = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &terminate]).status().unwrap().success());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "licd does not end:\n{}", self.log());
            thread::yield_now();
        }
    }

    /// What it wrote to standard error.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if thread::panicking() {
            let ended = self.child.try_wait();
            eprintln!("{}, {ended:?}, said:\n{}", self.base, self.log());
        }
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A `licd serve` that does not listen yet.
pub struct Starting {
    process: Process,
    address: mpsc::Receiver<String>,
}

impl Starting {
    pub fn wait(mut self) -> Process {
        match self.address.recv_timeout(PATIENCE) {
            Ok(base) => self.process.base = base,
            Err(_) => panic!("licd does not start:\n{}", self.process.log()),
        }
        self.process
    }
}
