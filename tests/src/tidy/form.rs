//! The form of the sources: short files, each with its purpose on top.

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

/// rustfmt keeps code within 100 columns and does not change comments. Comments keep to the same
/// width, plus two characters.
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

/// Open tasks belong into issues.
#[test]
fn nothing_is_left_over() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let mut findings = Vec::new();
    for source in sources() {
        for line in source.text.lines().filter(|line| words.iter().any(|word| line.contains(word)))
        {
            findings.push(format!("{}: {line}", source.path));
        }
    }
    hold("left over", &findings, &[]);
}

/// A test that waits for time to pass is slow where it is right, and wrong where it is slow. A loop
/// that waits takes a core from what it waits for. Tests wait in `harness::until`, in a channel, or
/// for a process in a thread.
#[test]
fn no_test_sleeps_or_spins() {
    let tests = |path: &str| {
        path.starts_with("tests/src/") || path.starts_with("cli/tests/") || path.contains("/tests")
    };
    let words = [
        concat!("sle", "ep("),
        concat!("yield_", "now"),
        concat!("spin_", "loop"),
        concat!("try_", "recv"),
        concat!("is_ok() ", "{}"),
        concat!("== 0 ", "{}"),
    ];
    // Its write waits until the other side reads, or ends the connection.
    let exceptions = ["tests/src/connections/wire.rs"];
    hold("a test sleeps or spins", &uses(&sources(), tests, &words), &exceptions);
}
