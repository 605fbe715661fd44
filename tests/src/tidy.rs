//! Rules of the sources and of the documentation, each with its reason.
//!
//! An exception stands next to its rule and names one place. One that is no longer needed fails.

mod borders;
mod ceilings;
mod form;
mod links;
mod log_lines;
mod map;
mod migrations;
mod modules;
mod names;
mod numbers;
mod promises;
mod settings;
mod sharding;
mod wording;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of Rust, with its path from the top of the repository.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Lines that are code, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(at, line)| (at + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All text of one folder of the documentation, such as `docs/operate/`.
pub fn documentation(of: &str) -> String {
    let pages = pages().into_iter().filter(|(page, _)| page.starts_with(of));
    pages.map(|(_, text)| text).collect()
}

/// The pages at the top of the repository and those of the book, with their paths from there.
pub fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    let mut folders = vec![String::new(), "docs/".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}{}", path.file_name().unwrap().to_string_lossy());
            if path.is_dir() && !folder.is_empty() {
                folders.push(format!("{name}/"));
            } else if name.ends_with(".md") {
                pages.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    pages.sort();
    pages
}

/// The lines of a page that are outside of blocks of code.
fn lines_of_prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    })
}

/// All of the workspace's own Rust.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for member in ["common", "server", "cli", "tests"] {
        walk(&root().join(member), member, &mut sources);
    }
    assert!(sources.len() > 100, "the rules must look at something");
    sources
}

fn walk(folder: &Path, name: &str, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{name}/{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            walk(&path, &name, sources);
        } else if name.ends_with(".rs") {
            sources.push(Source { text: fs::read_to_string(&path).unwrap(), path: name });
        }
    }
}

/// Fails when there is a finding that no exception names, or an exception that nothing needs.
/// A finding is `place: what`; an exception names its place.
#[track_caller]
fn hold(rule: &str, findings: &[String], exceptions: &[&str]) {
    let place = |finding: &str| finding.split(": ").next().unwrap_or_default().to_owned();
    let broken: Vec<&String> =
        findings.iter().filter(|found| !exceptions.contains(&&*place(found))).collect();
    assert!(broken.is_empty(), "{rule}:\n{broken:#?}");
    for exception in exceptions {
        let needed = findings.iter().any(|found| place(found) == *exception);
        assert!(needed, "{rule}: {exception} needs no exception any more");
    }
}

/// Every line of code in `sources` that holds one of the words.
fn uses(sources: &[Source], within: impl Fn(&str) -> bool, words: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| within(&source.path)) {
        for (number, line) in source.code() {
            for word in words.iter().filter(|word| line.contains(*word)) {
                findings.push(format!("{}: {word} in line {number}", source.path));
            }
        }
    }
    findings
}
