//! A fake server with canned answers, and licctl run in an empty environment of its own.

mod fake_server;
pub mod leases;
mod license_keys;
pub mod lines;
mod numbers;
mod records;
mod screen;
mod signing_keys;
#[cfg(unix)]
pub mod terminal;
mod tls;
mod webhooks;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub use fake_server::{FakeServer, Reply, Request};
pub use numbers::statistics;
pub use records::{
    LICENSE, PLAN, PRODUCT, answer, assigned, assignment, current_key, event, explained,
    explanation, key, license, license_with_seats, plan, product, refusal, service, usage, user,
};
pub use screen::on_screen;
pub use tls::Secured;

/// Well-formed keys that open nothing.
pub const KEY: &str = "sk_live_CANARYCANARYCANARYCANARYCANARY002L3MQ1";
pub const OTHER_KEY: &str = "sk_test_OTHERkeyOTHERkeyOTHERkeyOTHERkey3RW8Tu";

/// The key of this number, well-formed like the others.
pub fn numbered_key(number: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let text = format!("sk_live_{number:032}");
    let checksum = crc32fast::hash(text.as_bytes());
    let digit = |power| char::from(DIGITS[(checksum / 62_u32.pow(power) % 62) as usize]);
    text + &(0..6).rev().map(digit).collect::<String>()
}

/// One person's machine: a configuration folder, and nothing in the environment.
pub struct Home {
    pub dir: TempDir,
    /// Whether `LICCTL_CONFIG_DIR` names the folder.
    named: bool,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    /// A machine that knows no server and no key.
    pub fn bare() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), named: true, variables: Vec::new() }
    }

    /// A machine without a running keyring, which only Linux allows.
    #[cfg(target_os = "linux")]
    pub fn without_keyring(server: &FakeServer) -> Self {
        let home = Self { named: false, ..Self::bare() };
        let folder = home.dir.path().display().to_string();
        // The keyring would be on this bus.
        let nowhere = format!("unix:path={folder}/bus");
        let home = home.set("HOME", &folder).set("DBUS_SESSION_BUS_ADDRESS", &nowhere);
        home.set("LICCTL_SERVER", &server.address)
    }

    /// A machine set up for a server through the environment, as CI is.
    pub fn with(server: &FakeServer) -> Self {
        Self::bare().set("LICCTL_SERVER", &server.address).set("LICCTL_API_KEY", KEY)
    }

    pub fn set(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    pub fn run(&self, args: &[&str]) -> RunOutput {
        self.run_with_input(args, "")
    }

    pub fn run_with_input(&self, args: &[&str], input: &str) -> RunOutput {
        let mut child = self.command(args).spawn().unwrap();
        // A program that reads no input closes the pipe, which is no error.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        RunOutput::from(child.wait_with_output().unwrap())
    }

    /// The whole environment of a run.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let folder = self.dir.path().display().to_string();
        let named = self.named.then_some(("LICCTL_CONFIG_DIR", folder));
        self.variables.iter().cloned().chain(named).collect()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_licctl"));
        command.args(args).env_clear().envs(self.variables());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct RunOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl RunOutput {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Both streams and the exit code, with the server's address and the folder replaced.
    pub fn seen(&self, server: &FakeServer, home: &Home) -> String {
        let text = format!("{}{}[exit {}]", self.stdout, self.stderr, self.code);
        let folder = home.dir.path().display().to_string();
        text.replace(&server.address, "http://SERVER").replace(&folder, "FOLDER")
    }
}

impl From<Output> for RunOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
