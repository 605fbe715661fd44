//! Who may know what: SQL, HTTP, the clock, and the tenant in every statement.

use super::{Source, hold, sources, uses};

/// SQL is in `store`, and what runs it in `db`: a statement has one place to be looked for, and
/// each runs on both databases through the same door.
#[test]
fn sql_is_in_the_store() {
    let words = ["\"select ", "\"insert into ", "\"update ", "\"delete from ", "sqlx::query"];
    let outside = |path: &str| {
        path.starts_with("server/src/")
            && !path.starts_with("server/src/store")
            && !path.starts_with("server/src/db")
    };
    hold("SQL outside store and db", &uses(&sources(), outside, &words), &[]);
}

/// Which refusal is which status is decided once, in `error`; handlers answer with types that know
/// their status. Elsewhere a status would be a second opinion.
#[test]
fn statuses_are_at_the_edge() {
    let edge = ["http/", "error.rs", "api.rs", "api/"];
    let inside = |path: &str| {
        let name = path.strip_prefix("server/src/");
        name.is_some_and(|name| !edge.iter().any(|edge| name.starts_with(edge)))
    };
    let words = ["StatusCode::"];
    hold("statuses beyond the edge", &uses(&sources(), inside, &words), &[]);
}

/// The decision is pure: what it needs is passed in, so that a table can test it.
#[test]
fn the_verdict_decides_and_does_nothing_else() {
    let verdict = |path: &str| path == "server/src/validation/verdict.rs";
    let words = ["axum", "http", "sqlx", "async ", ".await", "::now()", "Db", "tokio", "tracing"];
    hold("the verdict does more than decide", &uses(&sources(), verdict, &words), &[]);
}

/// Moments are cut to the millisecond when they are made, so that both databases store and compare
/// the same. Only `common::Timestamp` knows how.
#[test]
fn the_clock_is_read_in_one_place() {
    let words = [concat!("System", "Time"), concat!("Utc::", "now"), concat!("Local::", "now")];
    let elsewhere = |path: &str| path != "common/src/time.rs";
    let exceptions = ["cli/tests/it/doctor.rs"];
    hold("the clock is read elsewhere", &uses(&sources(), elsewhere, &words), &exceptions);
}

/// The CLI speaks HTTP to licd and compiles none of it; what crosses the wire does no I/O.
#[test]
fn the_crates_know_only_what_they_may() {
    let sources = sources();
    let cli = |path: &str| path.starts_with("cli/src/");
    hold("licctl knows the server", &uses(&sources, cli, &["licd::", "sqlx", "axum"]), &[]);
    let common = |path: &str| path.starts_with("common/src/");
    let words = ["axum", "tokio", "reqwest", "std::fs", "std::net", "async fn"];
    hold("common does more than describe", &uses(&sources, common, &words), &[]);
}

/// The heads of the public functions of the store, up to their bodies.
fn store_functions(sources: &[Source]) -> Vec<(String, String)> {
    let mut heads = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("server/src/store/")) {
        let file = source.path.trim_start_matches("server/src/store/").trim_end_matches(".rs");
        for part in source.text.split("pub async fn ").skip(1) {
            let head = part.split('{').next().unwrap_or_default();
            let name = head.split(['(', '<']).next().unwrap_or_default();
            heads.push((format!("{file}::{name}"), head.to_owned()));
        }
    }
    assert!(heads.len() > 30, "the rule must look at something");
    heads
}

/// A statement without the tenant and mode in it could reach another's records. So every function
/// of the store takes the scope, or a batch of items that each carry theirs.
#[test]
fn store_functions_take_their_scope() {
    let exceptions = [
        // Worlds are made on the host, and a scope is what they give.
        "worlds::lock",
        "worlds::create",
        "worlds::tenants",
        "worlds::find",
        "worlds::named",
        "worlds::any",
        "worlds::rewrite_first",
        // A key is what the scope is known from.
        "keys::find_by_hash",
        "validations/read::find",
        "keys::touch",
        // The ids of a process have one order in all scopes.
        "ids::go_on",
        // Each row carries its scope.
        "outcomes::add_counts",
        "outcomes::add_refusals",
        // Old answers and outcomes are forgotten in all scopes alike.
        "idempotency::forget_old",
        "outcomes::forget_old_counts",
        "outcomes::forget_old_refusals",
    ];
    let whole_databases = |place: &str| place.starts_with("copy") || place.starts_with("backup");
    let findings: Vec<String> = store_functions(&sources())
        .into_iter()
        .filter(|(place, head)| {
            let scoped = head.contains("scope: Scope") || head.contains("[BatchRow<");
            !scoped && !whole_databases(place)
        })
        .map(|(place, head)| format!("{place}: {head}"))
        .collect();
    hold("a function of the store knows no scope", &findings, &exceptions);
}
