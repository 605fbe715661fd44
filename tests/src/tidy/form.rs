//! The form of the sources: short files and functions, each file with its purpose on top.

use super::{hold, sources, uses};

/// The first line of a file names its purpose.
#[test]
fn every_file_begins_with_its_purpose() {
    let silent = sources().into_iter().filter(|source| !source.text.starts_with("//! "));
    let findings: Vec<String> = silent.map(|source| source.path + ": no //! at the top").collect();
    hold("files that do not say what they are for", &findings, &[]);
}

/// Beyond this a file is two files.
#[test]
fn files_are_short() {
    let long = sources().into_iter().filter(|source| source.text.lines().count() > 400);
    let findings: Vec<String> = long.map(|source| source.path + ": over 400 lines").collect();
    hold("files longer than 400 lines", &findings, &[]);
}

/// rustfmt keeps code within 100 columns and leaves comments alone. They keep to the same, give or
/// take a character or two.
#[test]
fn comments_are_narrow() {
    let mut findings = Vec::new();
    for source in sources() {
        let comments = source.text.lines().filter(|line| line.trim_start().starts_with("//"));
        for line in comments.filter(|line| line.chars().count() > 102) {
            findings.push(format!("{}: {line}", source.path));
        }
    }
    hold("comments wider than the page", &findings, &[]);
}

/// A function fits on a screen.
#[test]
fn functions_are_short() {
    let mut findings = Vec::new();
    for source in sources() {
        let lines: Vec<&str> = source.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let words = ["fn ", "pub fn ", "async fn ", "pub async fn ", "pub(super) fn "];
            let begins = words.iter().any(|word| trimmed.starts_with(word));
            if !begins || line.ends_with(';') {
                continue;
            }
            // rustfmt closes a function at the column where it began.
            let end = format!("{}}}", &line[..line.len() - trimmed.len()]);
            let length = lines[at..].iter().position(|line| *line == end).unwrap_or(0) + 1;
            if length > 60 {
                findings.push(format!("{}: {length} lines from line {}", source.path, at + 1));
            }
        }
    }
    hold("functions longer than 60 lines", &findings, &[]);
}

/// Open tasks belong into issues, and debugging output is removed.
#[test]
fn nothing_is_left_over() {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("db", "g!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    let mut findings = uses(&sources(), |_| true, &words);
    for source in sources() {
        let comments = source.text.lines().filter(|line| line.trim_start().starts_with("//"));
        for line in comments.filter(|line| words.iter().any(|word| line.contains(word))) {
            findings.push(format!("{}: {line}", source.path));
        }
    }
    hold("left over", &findings, &[]);
}

/// A test that waits for time to pass is slow where it is right, and wrong where it is slow.
#[test]
fn no_test_waits_for_time_to_pass() {
    let tests = |path: &str| path.starts_with("tests/src/");
    let words = [concat!("sle", "ep(")];
    hold("a test sleeps", &uses(&sources(), tests, &words), &[]);
}

/// A loop that waits takes a core from what it waits for, most of all where cores are few. Tests wait
/// in `harness::until`, in a channel, or for a process in a thread.
#[test]
fn no_test_waits_in_a_busy_loop() {
    let tests = |path: &str| {
        path.starts_with("tests/") || path.starts_with("cli/tests/") || path.contains("/tests")
    };
    let words = [
        concat!("yield_", "now"),
        concat!("spin_", "loop"),
        concat!("try_", "recv"),
        concat!("is_ok() ", "{}"),
        concat!("== 0 ", "{}"),
    ];
    // Its write waits until the other side reads, or ends the connection.
    let exceptions = ["tests/src/connections/wire.rs"];
    hold("a test waits in a busy loop", &uses(&sources(), tests, &words), &exceptions);
}
