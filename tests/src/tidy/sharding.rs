//! Statements that a sharded PostgreSQL can run: each names the world of every distributed table, so
//! that it is sent to the one server that has the world.

use std::collections::BTreeSet;

use licd::db::sharding::tables_of_worlds;

use super::{hold, sources};

/// The texts between quotation marks in code.
fn statements(code: &str) -> String {
    let texts = code.split('"').skip(1).step_by(2);
    texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The names under which statements use distributed tables, and whether they join them.
fn uses<'s>(sql: &'s str, tables: &BTreeSet<&str>) -> BTreeSet<(&'s str, bool)> {
    let no_aliases = [
        "group", "join", "left", "limit", "on", "order", "select", "set", "t", "union", "using",
        "where",
    ];
    let words: Vec<&str> = sql.split([' ', ',', '(', ')']).filter(|it| !it.is_empty()).collect();
    let named = words.windows(4).filter(|words| {
        ["from", "join", "update"].contains(&words[0]) && tables.contains(words[1])
    });
    let name = |words: &[&'s str]| {
        let alias = if words[2] == "as" { words[3] } else { words[2] };
        let name = if no_aliases.contains(&alias) { words[1] } else { alias };
        (name, words[0] == "join")
    };
    named.map(name).collect()
}

#[test]
fn statements_name_the_world_of_each_table() {
    let exceptions = [
        // The beginning of a statement, which functions complete.
        "webhooks::CountedWebhook",
        // Each visits all servers, at the start of a node or in the background.
        "ids::",
        "notices::set",
        "sealed::any",
        "webhooks/sending::free_claims",
        // It names the world on a sharded database.
        "webhooks/sending::claim",
    ];
    let (tables, mut findings) = (tables_of_worlds().collect(), Vec::new());
    for source in sources() {
        let Some(file) = source.path.strip_prefix("server/src/store/") else { continue };
        let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
        for function in code.join("\n").split("\npub ") {
            let head = function.split(['(', '<', ' ', '{']).filter(|it| !it.is_empty());
            let name = head.clone().find(|it| !["async", "fn", "struct", "enum"].contains(it));
            let name = name.filter(|it| it.chars().all(|it| it.is_alphanumeric() || it == '_'));
            let sql = statements(function);
            let names_its_own = ["(world = $1", " world = $1"].iter().any(|it| sql.contains(it));
            for (table, is_joined) in uses(&sql, &tables) {
                let names_it = sql.contains(&format!("{table}.world = "))
                    || sql.contains(&format!("= {table}.world"));
                if !names_it && (is_joined || !names_its_own) {
                    let file = file.trim_end_matches(".rs");
                    findings.push(format!("{file}::{}: {table}", name.unwrap_or_default()));
                }
            }
        }
    }
    hold("a statement does not name the world of a table", &findings, &exceptions);
}

/// A function whose value differs between servers may stand by itself, but not where a server decides
/// whether to compute it. The place of a row is no value that another server knows.
#[test]
fn statements_compute_times_once() {
    let store = |path: &str| path.starts_with("server/src/store/");
    let words = ["ctid", "coalesce(now", "coalesce(clock_", "coalesce(statement_", "then now()"];
    let findings = super::uses(&sources(), store, &words);
    hold("a sharded database refuses it", &findings, &["server/src/store/retention.rs"]);
}

#[test]
fn names_of_tables_are_found() {
    let tables = ["users", "licenses"].into();
    let sql = "select 1 from users u join licenses on licenses.id = u.id where u.world = $1 and x";
    assert_eq!(uses(sql, &tables), [("u", false), ("licenses", true)].into());
    let sql = "update licenses set a = 1 from keys k where world = $1";
    assert_eq!(uses(sql, &tables), [("licenses", false)].into());
}
