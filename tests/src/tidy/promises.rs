//! The page of promises names tests that exist, and no promise is without one.

use std::fs;

use super::root;

/// Each promise of docs/operate/security.md is a row of a table, and ends with the names of its
/// tests.
fn promises() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("docs/operate/security.md")).unwrap();
    let tables = page.split("| promise | test |\n").skip(1);
    let rows = tables.flat_map(|table| table.lines().skip(1).take_while(|line| !line.is_empty()));
    let promise = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [promise, tests] = cells[..] else { panic!("not a promise and its tests: {row}") };
        let tests = tests.split(", ").map(|test| test.trim_matches('`').to_owned()).collect();
        (promise.to_owned(), tests)
    };
    let promises: Vec<_> = rows.map(promise).collect();
    let lines = page.lines().filter(|line| line.starts_with('|') && line.contains("::")).count();
    assert_eq!(promises.len(), lines, "each row stands in a table");
    promises
}

/// Whether the source of the test's module has a function of its name.
fn exists(test: &str) -> bool {
    let Some((crate_name, path)) = test.split_once("::") else { return false };
    let folder = match crate_name {
        "tests" => "tests/src",
        "licd" => "server/src",
        "common" => "common/src",
        "licctl" => "cli/src",
        "it" => "cli/tests/it",
        _ => return false,
    };
    let Some((module, name)) = path.rsplit_once("::") else { return false };
    // A module `tests` may stand in the file of its parent.
    let parent = module.strip_suffix("::tests").unwrap_or(module);
    let files = [module, parent].map(|it| format!("{folder}/{}.rs", it.replace("::", "/")));
    files.iter().any(|file| {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    })
}

#[test]
fn every_promise_names_a_test() {
    let promises = promises();
    assert!(promises.len() > 30, "the page must be read");
    for (promise, tests) in promises {
        for test in tests {
            assert!(exists(&test), "no test is named {test}, which is to keep: {promise}");
        }
    }
}
