//! The rule for migrations, which `docs/operate/upgrades.md` explains: a step delays no serving
//! node, whatever the size of its tables.

use std::collections::BTreeSet;
use std::fs;

use super::{hold, root};

/// The statements of a migration, in words with single blanks.
fn statements(sql: &str) -> Vec<String> {
    let code: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap()).collect();
    let code = code.join(" ");
    let statements = code.split(';').map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    statements.filter(|statement| !statement.is_empty()).collect()
}

/// The words behind each place of `before` in a statement, as far as they are a name.
fn named<'s>(statement: &'s str, before: &str) -> Vec<&'s str> {
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    statement.split(before).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

/// Returns the faults of a migration, in words.
fn faults(sql: &str) -> Vec<&'static str> {
    let statements = statements(sql);
    let is = |word: &str| statements.iter().any(|statement| statement.starts_with(word));
    let of =
        |before: &str| statements.iter().flat_map(|it| named(it, before)).collect::<BTreeSet<_>>();
    let created = of("create table ");
    let changed = of("alter table ");
    let indexed: BTreeSet<&str> = statements
        .iter()
        .filter(|statement| statement.contains("index") && statement.starts_with("create"))
        .flat_map(|statement| named(statement, " on "))
        .filter(|table| !created.contains(table))
        .collect();
    let referred: BTreeSet<&str> = of("references ").difference(&created).copied().collect();
    let mut faults = Vec::new();
    let only_creates = changed.is_empty() && indexed.is_empty();
    let locked: BTreeSet<&str> = changed.union(&indexed).chain(&referred).copied().collect();
    if locked.len() > 1 && !only_creates {
        faults.push("it locks several existing tables: give each a file of its own");
    }
    if !indexed.is_empty() && statements.len() > 1 {
        faults.push("an index on an existing table is a file of its own");
    }
    if !indexed.is_empty() && !is("create index if not exists") {
        faults.push("an index on an existing table says `if not exists`");
    }
    let slow = ["update ", "delete ", "insert "].iter().any(|word| is(word));
    let fills = statements.iter().any(|it| it.contains("generated always") || it.contains("()"));
    if !changed.is_empty() && (slow || fills) {
        faults.push("nothing slow is in the step of an `alter table`");
    }
    let is_nameless = |it: &String| {
        it.contains("add column") && it.contains(" check (") && !it.contains("constraint ")
    };
    if statements.iter().any(is_nameless) {
        faults.push("a check of an added column has a name, or a sharded database refuses it");
    }
    faults
}

#[test]
fn migrations_hold_up_no_node() {
    let files = fs::read_dir(root().join("migrations")).unwrap().flatten();
    let found = files.flat_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        let sql = fs::read_to_string(file.path()).unwrap();
        faults(&sql).into_iter().map(move |fault| format!("{name}: {fault}"))
    });
    hold("migrations that hold up nodes", &found.collect::<Vec<_>>(), &[]);
}

#[test]
fn the_rule_finds_what_holds_up_nodes() {
    for (sql, count) in [
        ("create table a (id uuid); create index a_by on a (id);", 0),
        (
            "create table a (u uuid, l uuid references users (id), foreign key (l) references licenses (id));",
            0,
        ),
        ("alter table licenses add column x integer; -- update licenses", 0),
        ("create index if not exists x on licenses (x);", 0),
        ("alter table licenses add column x integer; alter table keys add column y integer;", 1),
        (
            "alter table licenses add column x integer; create table a (u uuid references users (id));",
            1,
        ),
        ("create index x on licenses (x);", 1),
        (
            "alter table licenses add column x integer; create index if not exists x on licenses (x);",
            1,
        ),
        ("alter table keys add column x integer; update keys set x = 1;", 1),
        ("alter table keys add column x timestamptz default now();", 1),
        ("alter table keys add column x integer check (x > 0);", 1),
        ("alter table keys add column x integer constraint x_positive check (x > 0);", 0),
    ] {
        assert_eq!(faults(sql).len(), count, "{sql}: {:?}", faults(sql));
    }
}
