//! Documents name only what exists: files, modules, paths of the API, and flags of both programs.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::{hold, lines_of_prose, pages, root};
use crate::nodes::process::{licd, program};

/// The texts between single backticks, outside of blocks of code, with the page of each.
fn code_spans() -> Vec<(String, String)> {
    let mut spans = Vec::new();
    for (page, text) in pages() {
        let code = lines_of_prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
        spans.extend(code.map(|span| (page.clone(), span.to_owned())));
    }
    assert!(spans.len() > 1000, "the rule must look at something");
    spans
}

fn exists(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    root().join(path).exists() || root().join(format!("{path}.rs")).exists()
}

/// Whether a text could be a path: no placeholder, no pattern, no blank.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || "/._-".contains(it))
}

const FOLDERS: [&str; 11] = [
    "cli",
    "clients",
    "common",
    "docs",
    "fuzz",
    "migrations",
    "packaging",
    "release",
    "server",
    "tests",
    ".ci",
];

#[test]
fn files_exist() {
    let is_path = |span: &str| {
        is_plain(span) && span.split_once('/').is_some_and(|(top, _)| FOLDERS.contains(&top))
    };
    let spans = code_spans().into_iter().filter(|(_, span)| is_path(span) && !exists(span));
    let findings: Vec<String> = spans.map(|(page, span)| format!("{page}: {span}")).collect();
    // The fuzzer creates this folder.
    let findings: Vec<_> =
        findings.into_iter().filter(|it| !it.ends_with("fuzz/artifacts/")).collect();
    hold("documents name files that do not exist", &findings, &[]);
}

/// A module of the server such as `ops::leases`, or an item in the file of the first module.
#[test]
fn modules_exist() {
    let mut findings = Vec::new();
    for (page, span) in code_spans() {
        let Some((room, rest)) = span.split_once("::") else { continue };
        let is_name = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_lowercase() || c == '_');
        let name = rest.split("::").next().unwrap_or_default();
        let file = root().join(format!("server/src/{room}.rs"));
        if !is_name(room) || !is_name(name) || !file.exists() {
            continue;
        }
        let text = fs::read_to_string(file).unwrap();
        if !exists(&format!("server/src/{room}/{name}")) && !text.contains(&format!(" {name}")) {
            findings.push(format!("{page}: {span}"));
        }
    }
    hold("documents name modules that do not exist", &findings, &[]);
}

/// A path of the OpenAPI document, whose parameters match anything.
fn is_route(route: &str, path: &str) -> bool {
    let (route, path): (Vec<&str>, Vec<&str>) =
        (route.split('/').collect(), path.split('/').collect());
    let is_same = |(route, path): (&&str, &&str)| route == path || route.starts_with('{');
    route.len() == path.len() && route.iter().zip(&path).all(is_same)
}

#[test]
fn routes_exist() {
    let document = fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let routes: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    let mut findings = Vec::new();
    for (page, span) in code_spans() {
        let path = span.split([' ', '?']).find(|it| it.starts_with("/api/v1/")).unwrap_or_default();
        let is_whole = path.len() > "/api/v1/".len() && !path.contains('…');
        let is_served = path == "/api/v1/openapi.json";
        if is_whole && !is_served && !routes.iter().any(|route| is_route(route, path)) {
            findings.push(format!("{page}: {span}"));
        }
    }
    hold("documents name paths that the API does not have", &findings, &[]);
}

/// The flags in a text: words that begin with two hyphens.
fn flags_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    let flags = words.filter(|it| it.len() > 3 && it.starts_with("--") && !it.starts_with("---"));
    flags.map(str::to_owned).collect()
}

/// All flags of both programs: licctl's from its manual pages, licd's from its help.
fn flags() -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut licctl = Command::new(program("licctl"));
    let written = licctl.args(["man", "--all-to"]).arg(folder.path()).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    let mut flags = BTreeSet::new();
    for page in fs::read_dir(folder.path()).unwrap() {
        let page = fs::read_to_string(page.unwrap().path()).unwrap();
        let words = page.replace("\\fB", " ").replace("\\fR", " ").replace('\\', "");
        flags.extend(flags_in(&words));
    }
    for command in [
        "serve",
        "backup",
        "restore",
        "copy",
        "migrate",
        "keys create",
        "tenants create",
        "doctor",
        "demo",
        "health",
        "secret-key generate",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        flags.extend(flags_in(&String::from_utf8(licd(&args).stdout).unwrap()));
    }
    assert!(flags.len() > 100, "the rule must look at something: {flags:?}");
    flags
}

#[test]
fn flags_exist() {
    let known = flags();
    let mut findings = Vec::new();
    for (page, span) in code_spans() {
        if ["licctl ", "licd ", "--"].iter().any(|start| span.starts_with(start)) {
            let unknown = flags_in(&span).into_iter().filter(|flag| !known.contains(flag));
            findings.extend(unknown.map(|flag| format!("{page}: {flag} in {span}")));
        }
    }
    // Flags of a generator and of a compiler.
    let others = ["docs/integrate/generated-clients.md", "docs/integrate/typescript.md"];
    hold("documents name flags that neither program has", &findings, &others);
}
