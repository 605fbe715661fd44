//! The maps are complete: ARCHITECTURE.md names every module and has the rules of [`borders`], and
//! tests/README.md names every module of the tests.

use std::fs;

use super::borders::{LEAVES, ROOMS};
use super::{root, sources};

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The modules at the top of a crate, such as `api` of `server/src/`.
fn modules_of(folder: &str) -> Vec<String> {
    let files = sources().into_iter().filter_map(|source| {
        let name = source.path.strip_prefix(folder)?.strip_suffix(".rs")?.to_owned();
        (!name.contains('/') && !["lib", "main"].contains(&&*name)).then_some(name)
    });
    files.collect()
}

/// Whether the text has this word, and not only as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|it: char| !it.is_alphanumeric() && it != '_').any(|it| it == word)
}

#[test]
fn the_architecture_names_every_module() {
    let page = page("ARCHITECTURE.md");
    let map = page.split("```").find(|block| block.contains("server/src/\n")).unwrap();
    for folder in ["server/src/", "cli/src/"] {
        let mut modules = modules_of(folder);
        assert!(modules.len() > 8, "the rule must look at something: {modules:?}");
        modules.retain(|module| !has_word(&page, module));
        assert!(modules.is_empty(), "ARCHITECTURE.md lacks modules of {folder}: {modules:?}");
    }
    for (room, _) in ROOMS {
        assert!(has_word(map, room), "the map of ARCHITECTURE.md lacks {room}");
    }
}

/// A row of the table of rooms: whole rooms, and then single modules of others.
fn row((room, allowed): (&str, &[&str])) -> String {
    let code = |name: &str| format!("`{name}`");
    let (whole, parts): (Vec<&str>, Vec<&str>) = allowed.iter().partition(|it| it.ends_with("::*"));
    let whole = whole.iter().map(|it| code(it.trim_end_matches("::*")));
    let names: Vec<String> = whole.chain(parts.iter().map(|it| code(it))).collect();
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("| `{room}` | {names} |")
}

#[test]
fn the_architecture_has_the_rules_of_the_borders() {
    let page = page("ARCHITECTURE.md");
    let is_row = |line: &&str| line.starts_with("| `");
    let found: Vec<&str> = page.lines().filter(is_row).collect();
    let expected: Vec<String> = ROOMS.into_iter().map(row).collect();
    assert_eq!(found, expected, "the table of ARCHITECTURE.md is:\n{}", expected.join("\n"));
    for leaf in LEAVES {
        assert!(page.contains(&format!("`{leaf}`")), "ARCHITECTURE.md does not name {leaf}");
    }
}

#[test]
fn the_index_of_the_tests_names_every_module() {
    let index = page("tests/README.md");
    let mut modules = modules_of("tests/src/");
    modules.retain(|module| !has_word(&index, module));
    assert!(modules.is_empty(), "tests/README.md lacks {modules:?}");
}

/// Every name in the index is a test file, a unit test, or a folder.
#[test]
fn the_index_of_the_tests_names_only_what_exists() {
    let index = page("tests/README.md");
    let folders = ["", "tests/src/", "cli/tests/it/", "server/src/", "tests/"];
    let mut missing: Vec<&str> = index.split('`').skip(1).step_by(2).collect();
    assert!(missing.len() > 80, "the rule must look at something");
    missing.retain(|name| {
        let paths = folders.map(|folder| root().join(format!("{folder}{name}")));
        !paths.iter().any(|path| path.exists() || path.with_extension("rs").exists())
    });
    missing.retain(|name| *name != "licctl");
    assert!(missing.is_empty(), "tests/README.md names files that do not exist: {missing:?}");
}
