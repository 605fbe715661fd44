//! The guide for operators names every setting, as the README shows only a few.

use std::collections::BTreeSet;
use std::fs;

use super::{root, sources};

#[test]
fn the_guide_has_every_setting() {
    let guide = fs::read_to_string(root().join("docs/deployment.md")).unwrap();
    let sources = sources();
    let commands = sources.iter().filter(|source| source.path.starts_with("server/src/commands"));
    let settings: BTreeSet<&str> = commands
        .flat_map(|source| source.text.split("env = \"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(settings.len() > 10, "the rule must look at something");
    let missing: Vec<_> =
        settings.iter().filter(|name| !guide.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "settings that the guide does not explain: {missing:?}");
}
