//! How much code a room may hold. Rooms grow a line at a time, and nobody sees it in one commit: a
//! commit that needs more than `tests/ceilings.txt` allows raises the number there, and says in its
//! body why, or what it took away elsewhere.

use std::collections::BTreeMap;
use std::fs;

use super::{root, sources};

/// The rooms, by the beginning of their paths, with their ceilings.
fn ceilings() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join("tests/ceilings.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let ceiling = |line: &str| {
        let (room, lines) = line.split_once(' ').unwrap();
        (room.to_owned(), lines.trim().parse().unwrap())
    };
    lines.map(ceiling).collect()
}

/// How many lines are code: neither blank, nor a comment, nor of a unit test.
fn weight(path: &str, text: &str) -> usize {
    if path.ends_with("tests.rs") || path.contains("/tests/") && path.contains("/src/") {
        return 0;
    }
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let code = line.trim();
        if code == "#[cfg(test)]" {
            let indent = &line[..line.len() - line.trim_start().len()];
            let is_block = lines.peek().is_some_and(|next| next.ends_with('{'));
            let ends = [format!("{indent}}}"), format!("{indent}}},")];
            lines.by_ref().find(|line| !is_block || ends.iter().any(|end| end == line));
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn no_room_is_above_its_ceiling() {
    let ceilings = ceilings();
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources() {
        let holds = |room: &&String| source.path.starts_with(room.as_str());
        let room = ceilings.keys().filter(holds).max_by_key(|room| room.len());
        let room = room.unwrap_or_else(|| panic!("{} is in no room", source.path));
        *rooms.entry(room).or_default() += weight(&source.path, &source.text);
    }
    let findings: Vec<String> = ceilings
        .iter()
        .map(|(room, ceiling)| (room, *ceiling, rooms.get(room.as_str()).copied().unwrap_or(0)))
        .filter(|&(_, ceiling, lines)| lines > ceiling || lines == 0)
        .map(|(room, ceiling, lines)| format!("{room}: {lines} lines, ceiling {ceiling}"))
        .collect();
    assert!(findings.is_empty(), "rooms above their ceilings: {findings:#?}");
}

#[test]
fn code_is_weighed_without_comments_and_unit_tests() {
    let text = "//! A file.\n\nfn a() {\n    // Why.\n    b();\n}\n\n\
                #[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\n\n#[cfg(test)]\nmod more;\n\
                impl A {\n    #[cfg(test)]\n    fn t() {\n    }\n    fn c() {}\n}\n";
    assert_eq!(weight("cli/src/a.rs", text), 6);
    assert_eq!(weight("cli/src/a/tests.rs", text), 0);
}
