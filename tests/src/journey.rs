//! licctl and licd together, each a process of its own: from an empty server to users with seats, the
//! explanation of a refusal and its fix, checks for CI, and a killed import. Other tests cover the
//! output of each command.

mod importing;
mod lossy_proxy;
mod watching;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{App, Caller};
use crate::nodes::process::program;
use lossy_proxy::LossyProxy;

/// A shell with a server and a key in its environment, and without a terminal.
pub struct Shell {
    folder: TempDir,
    server: String,
    key: String,
}

/// The result of a command.
pub struct RunOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Shell {
    pub fn at(caller: &Caller) -> Self {
        let (server, key) = (caller.base.clone(), caller.key.clone().unwrap());
        Self { folder: TempDir::new().unwrap(), server, key }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("licctl"));
        self.prepare(command.args(words).env_clear());
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.folder.path());
        command.env("LICCTL_SERVER", &self.server).env("LICCTL_API_KEY", &self.key);
        command.env("LICCTL_CONFIG_DIR", self.folder.path().join("config"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// Runs a line as a shell does, in the folder of `write`.
    pub fn run(&self, line: &str) -> RunOutput {
        let licctl = program("licctl");
        let path = [licctl.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")];
        let mut shell = Command::new("/bin/sh");
        self.prepare(
            shell.args(["-c", line]).env_clear().env("PATH", env::join_paths(path).unwrap()),
        );
        RunOutput::from(shell.output().unwrap())
    }

    /// Runs a line that succeeds, and returns its output.
    #[track_caller]
    fn get(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.get(&format!("{line} -o json"))).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
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

#[tokio::test(flavor = "multi_thread")]
async fn a_suggested_command_ends_a_refusal() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    shell.get("licctl products create --name Studio");
    shell.get("licctl plans create --product Studio --name Pro --max-seats 2 --feature export");
    let license = shell.get("licctl licenses create --plan Pro -q");
    shell.write("team.csv", "login,email\nada,ada@example.com\ngrace,\nlinus,\n");
    let assign = format!("licctl licenses assign {license} --from team.csv --map userId=login");
    shell.get(&format!("{assign} --report assigned.jsonl"));

    let asked = shell.run("licctl validate ada grace linus");
    assert_eq!(asked.code, 10, "{}", asked.stderr);
    let answers: Vec<Vec<&str>> = asked
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    assert_eq!(answers[0], ["ada", "VALID", &*license]);
    assert_eq!(answers[2][..2], ["linus", "not"]);
    assert!(asked.stdout.contains("exceeded_seats"), "{}", asked.stdout);

    let why = shell.run("licctl validate linus --explain");
    assert_eq!(why.code, 10, "{}", why.stderr);
    assert!(
        why.stdout.contains("2 of 2 seats in use; least recently checked first"),
        "{}",
        why.stdout
    );
    // The first suggested command works as printed.
    let (_, todo) = why.stdout.split_once("Suggested commands:\n").unwrap();
    let advice = todo.lines().next().unwrap().trim();
    assert_eq!(advice, format!("licctl licenses unassign {license} ada"));
    shell.get(advice);
    shell.get("licctl validate linus");
    assert_eq!(shell.run("licctl validate ada --expect no_license").code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_for_ci_set_the_exit_code() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    let catalog = "version: 1\nproducts:\n  - name: Studio\n    plans:\n      \
                   - { name: Pro, maxSeats: 1, features: [export] }\n";
    shell.write("catalog.yaml", catalog);
    assert_eq!(shell.run("licctl diff -f catalog.yaml").code, 10, "nothing is there yet");
    shell.get("licctl apply -f catalog.yaml");
    shell.get("licctl diff -f catalog.yaml");
    let before = (shell.json("licctl products list"), shell.json("licctl plans list"));
    let again = shell.json("licctl apply -f catalog.yaml");
    assert!(again.as_array().unwrap().iter().all(|step| step["action"] == "same"), "{again}");
    let after = (shell.json("licctl products list"), shell.json("licctl plans list"));
    assert_eq!(after, before, "not even the time of the last change");

    shell.get("licctl plans update Pro --max-seats 5");
    let drift = shell.run("licctl diff -f catalog.yaml");
    assert_eq!((drift.code, drift.stdout.contains("maxSeats: 5 → 1")), (10, true), "drift");
    let exported = shell.get("licctl export");
    shell.write("catalog.yaml", &exported);
    shell.get("licctl diff -f catalog.yaml");

    let license = shell.get("licctl licenses create --plan Pro --assign probe -q");
    assert_eq!(shell.run(&format!("licctl licenses usage {license} --fail-at 20%")).code, 0);
    shell.get("licctl validate probe --feature export");
    assert_eq!(shell.run(&format!("licctl licenses usage {license} --fail-at 20%")).code, 10);
    assert_eq!(shell.run("licctl validate probe --feature sso").code, 10);
    shell.get(&format!("licctl licenses suspend {license}"));
    shell.get("licctl validate probe --expect suspended");
    assert_eq!(shell.run("licctl validate probe").code, 10);
}

/// The run is killed with four rows in flight: the service handled them, and their answers are lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_goes_on_and_repeats_nothing() {
    const ROWS: usize = 40;
    let app = App::start().await;
    let mut shell = Shell::at(&app);
    shell.get("licctl products create --name Studio");
    shell.get("licctl plans create --product Studio --name Pro");
    let rows: String = (0..ROWS).map(|n| format!("user-{n}\n")).collect();
    shell.write("users.csv", &format!("userId\n{rows}"));

    // A row is two requests: its license, and the assignment. An odd number stops some between.
    let mut proxy = LossyProxy::before(&app.base, 31).await;
    shell.server = proxy.base.clone();
    let line = "licenses assign --plan Pro --from users.csv --yes";
    let words: Vec<&str> = line.split(' ').chain(["--report", "out.jsonl"]).collect();
    let mut licctl = shell.command(&words).spawn().unwrap();
    for _ in 0..4 {
        proxy.held().await;
    }
    licctl.kill().unwrap();
    licctl.wait().unwrap();
    let done = |shell: &Shell| {
        let report = std::fs::read_to_string(shell.path("out.jsonl")).unwrap();
        let lines = report.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["state"] == "done").count()
    };
    let before = done(&shell);
    assert!((1..ROWS - 3).contains(&before), "half way: {before}");

    shell.server.clone_from(&app.base);
    let resumed = shell.run(&format!("licctl {line} --resume out.jsonl"));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let note = format!("skipping {before} rows");
    assert!(resumed.stderr.contains(&note), "{}", resumed.stderr);
    assert_eq!(done(&shell), ROWS);
    assert_eq!(app.number("select count(*) from licenses").await, ROWS as i64);
    assert_eq!(app.number("select count(*) from assignments").await, ROWS as i64);
    let users = "select count(distinct user_id) from assignments";
    assert_eq!(app.number(users).await, ROWS as i64);
    // Once more: there is nothing to do.
    let again = shell.run(&format!("licctl {line} --resume out.jsonl"));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(app.number("select count(*) from licenses").await, ROWS as i64);
}
