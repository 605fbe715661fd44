//! `licd` as a process of its own, the way operators run it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{ApiKey, Mode};
use reqwest::Method;
use serde_json::Value;

use crate::harness::{Caller, SECRET_KEY, find, until};

/// The time in which a process starts or ends.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(30);

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
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program("licd"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LICD_")) {
        command.env_remove(name);
    }
    command.args(args);
    command
}

/// Returns a command for licd, started by a shell that runs `prelude` first.
pub fn command_after(prelude: &str, args: &[&str]) -> Command {
    let licd = command(args);
    let mut shell = Command::new("sh");
    for (name, _) in licd.get_envs() {
        shell.env_remove(name);
    }
    shell
        .arg("-c")
        .arg(format!("{prelude}; exec \"$0\" \"$@\""))
        .arg(licd.get_program())
        .args(args);
    shell
}

/// Sends a signal to a process.
pub fn send(signal: &str, process: &Child) {
    kill(signal, process.id());
}

fn kill(signal: &str, process: u32) {
    let kill = format!("kill -{signal} {process}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits for the end of a process.
pub fn end_of(process: &mut Child) -> ExitStatus {
    let id = process.id();
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(process.wait().unwrap()).unwrap());
        ended.recv_timeout(PROCESS_TIMEOUT).unwrap_or_else(|_| {
            // The thread ends with the process.
            kill("KILL", id);
            panic!("it does not end")
        })
    })
}

/// Runs a command of `licd` to its end.
pub fn licd(args: &[&str]) -> Output {
    licd_with(&[], args)
}

/// Runs licd with settings in its environment.
pub fn licd_with(settings: &[(&str, &str)], args: &[&str]) -> Output {
    command(args).envs(settings.iter().copied()).output().unwrap()
}

/// A key that a database without tenants takes as its first.
pub fn first_key() -> String {
    ApiKey::generate(Mode::Live).expose().to_owned()
}

fn set_up(serve: &mut Command, database: &str, settings: &[(&str, &str)]) {
    serve.env("LICD_DATABASE_URL", database);
    serve.env("LICD_LISTEN", "127.0.0.1:0").env("LICD_RATE_LIMIT", "off");
    // Without a line for each request, so that the log of a failed test is short.
    serve.env("LICD_LOG", "info,licd::http::context=warn").env("LICD_LOG_FORMAT", "json");
    serve.env("LICD_SECRET_KEY_FILE", SECRET_KEY.path());
    serve.env("LICD_WEBHOOK_ALLOW_NETS", "127.0.0.1");
    serve.envs(settings.iter().copied());
}

/// The port on which a process listens, as the kernel knows it.
fn listening_port(process: u32) -> Option<u16> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let files = std::fs::read_dir(folder.join("fd")).ok()?;
    let sockets: Vec<String> = files
        .filter_map(|file| {
            std::fs::read_link(file.ok()?.path()).ok()?.into_os_string().into_string().ok()
        })
        .collect();
    let table = std::fs::read_to_string(folder.join("net/tcp")).ok()?;
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields[1], fields[3], fields[9]);
        let is_listening = state == "0A" && sockets.contains(&format!("socket:[{inode}]"));
        let (_, port) = local.split_once(':')?;
        is_listening.then(|| u16::from_str_radix(port, 16).ok())?
    })
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

    /// Launches licd with other settings in its environment.
    pub fn launch_with(database: &str, settings: &[(&str, &str)]) -> Starting {
        Self::launch_command(command(&["serve"]), database, settings)
    }

    /// Launches licd with a command that is `licd serve`.
    pub fn launch_command(
        mut serve: Command,
        database: &str,
        settings: &[(&str, &str)],
    ) -> Starting {
        set_up(&mut serve, database, settings);
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
                    // The receiver is gone once the address was received.
                    drop(sender.send(format!("http://{}", entry["address"].as_str().unwrap())));
                }
                kept.lock().unwrap().push(line);
            }
        });
        Starting { process: Self { base: String::new(), child, log }, address }
    }

    /// Starts `licd serve` with standard error redirected, and waits until it serves; the address is
    /// read from the kernel.
    pub async fn start_logging_to(
        stderr: impl Into<Stdio>,
        database: &str,
        settings: &[(&str, &str)],
    ) -> Self {
        let mut serve = command(&["serve"]);
        set_up(&mut serve, database, settings);
        let mut child = serve.stderr(stderr).spawn().unwrap();
        let port = find("licd listens", async || {
            assert_eq!(child.try_wait().unwrap(), None, "licd does not start");
            listening_port(child.id())
        });
        let base = format!("http://127.0.0.1:{}", port.await);
        // It listens before its database is open, and refuses requests until then. One that comes as
        // that changes may lose its connection.
        let stranger = Caller::new(base.clone(), "");
        until("licd is ready", async || {
            let answer = stranger.try_send(Method::GET, "/readyz", |request| request).await;
            answer.is_ok_and(|answer| answer.status == 200)
        })
        .await;
        Self { base, child, log: Arc::default() }
    }

    /// The caller with this key, at this node.
    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.base.clone(), key)
    }

    /// The root of the files as the process sees them, which may have mounts of its own.
    pub fn root(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.child.id()))
    }

    /// The peak memory of the process, in KiB. The kernel counts roughly: a later value may be lower
    /// by some hundred.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Returns the number of its open files and sockets.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn send(&self, signal: &str) {
        send(signal, &self.child);
    }

    /// Waits for the end.
    pub fn end(mut self) -> ExitStatus {
        end_of(&mut self.child)
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(self) -> ExitStatus {
        self.send("TERM");
        self.end()
    }

    /// Returns its output on standard error.
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
        match self.address.recv_timeout(PROCESS_TIMEOUT) {
            Ok(base) => self.process.base = base,
            Err(_) => panic!("licd does not start:\n{}", self.process.log()),
        }
        self.process
    }
}
