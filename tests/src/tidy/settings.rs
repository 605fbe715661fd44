//! The reference of settings says what `licd serve --help` says: each setting with its flag and its
//! default, and none that does not exist.

use std::collections::BTreeSet;
use std::fs;

use super::{root, sources};
use crate::nodes::process::licd;

const PAGE: &str = "docs/reference/settings.md";

fn page() -> String {
    fs::read_to_string(root().join(PAGE)).unwrap()
}

/// Returns the text between two marks.
fn between<'a>(text: &'a str, begin: &str, end: char) -> Option<&'a str> {
    text.split_once(begin)?.1.split(end).next()
}

#[test]
fn the_reference_has_every_setting() {
    let page = page();
    let sources = sources();
    let commands = sources.iter().filter(|source| source.path.starts_with("server/src/commands"));
    let settings: BTreeSet<&str> = commands
        .flat_map(|source| source.text.split("env = \"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(settings.len() > 10, "the rule must look at something");
    let missing: Vec<_> =
        settings.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "settings that {PAGE} does not explain: {missing:?}");
}

#[test]
fn flags_and_defaults_are_those_of_the_program() {
    let page = page();
    let help = String::from_utf8(licd(&["serve", "--help"]).stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let flags: Vec<&str> =
        help.split(" --").skip(1).filter(|flag| flag.contains("[env: ")).collect();
    assert!(flags.len() > 10, "{help}");
    for flag in flags {
        let name = flag.split(' ').next().unwrap();
        let variable = between(flag, "[env: ", ']').unwrap().split('=').next().unwrap();
        let row = page
            .lines()
            .find(|line| line.starts_with('|') && line.contains(&format!("`{variable}`")));
        let row = row.unwrap_or_else(|| panic!("{PAGE} has no row for {variable}"));
        assert!(row.contains(&format!("`--{name}`")), "{row}");
        if let Some(default) = between(flag, "[default: ", ']') {
            assert!(row.contains(&format!("`{default}`")), "the default is {default}: {row}");
        }
    }
}
