//! Borders of knowledge: which rooms of licd use each other, SQL and HTTP, and the tenant in every
//! statement.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{self, LICCTL, LICD, parent, room};
use super::{Source, hold, sources, uses};

/// The rooms of licd, and the modules of others that each may name. `*` stands for all of a room.
/// The library itself, which puts the rooms together, and the program's commands may name all.
pub const ROOMS: [(&str, &[&str]); 16] = [
    // Handlers translate.
    (
        "api",
        &["http::*", "ops::*", "store::outcomes", "validation::reading", "validation::request"],
    ),
    // Pages are handlers as well, and fill in templates.
    (
        "pages",
        &[
            "auth::gate",
            "events::*",
            "http::*",
            "ops::*",
            "store",
            "store::assignments",
            "store::outcomes",
            "store::page",
            "store::sessions",
        ],
    ),
    (
        "http",
        &[
            "auth::*",
            // The state that handlers share.
            "db",
            "delivery::sender",
            "ops",
            "ops::nodes",
            "ops::readiness",
            "validation::*",
            // Who acts, and how.
            "events::*",
            "ops::change",
            "ops::view",
            // What answers and idempotency keys are made of.
            "ops::etag",
            "ops::idempotency",
            "ops::outcome",
            // The part of a list, the world, and the key.
            "store",
            "store::keys",
            "store::page",
        ],
    ),
    (
        "ops",
        &[
            "auth::gate",
            "db::*",
            // Storage of secrets, the events of a webhook, and test deliveries.
            "delivery::sender",
            "delivery::settle",
            "delivery::send",
            "events::*",
            "store::*",
            "validation::seat_changes",
            "validation::idle",
            "validation::last_checks",
            "validation::verdict",
        ],
    ),
    ("validation", &["auth::*", "db::*", "events::*", "store::*"]),
    ("delivery", &["db", "events::*", "store::*"]),
    ("auth", &["db", "store::*"]),
    ("events", &["db::*", "store", "store::batch_rows", "store::events", "store::keys"]),
    ("store", &["db::*"]),
    ("db", &[]),
    ("background", &["auth::*", "db", "delivery::sender", "http::*", "ops::*", "validation::*"]),
    ("routes", &["api::*", "http::*", "pages::*"]),
    ("starting", &["config", "http::connections", "routes"]),
    ("config", &["auth::limit", "delivery::addresses", "http::*", "ops::events", "ops::notices"]),
    ("backup", &["db::*", "store::backup"]),
    ("copy", &["db", "store::copy", "store::worlds"]),
];

/// Anyone may know them, and they know none but each other.
pub const LEAVES: [&str; 9] = [
    "budget",
    "error",
    "fair",
    "metrics",
    "networks",
    "permissions",
    "secrets",
    "small_file",
    "supervise",
];

fn is_of(allowed: &str, module: &str) -> bool {
    match allowed.strip_suffix("::*") {
        Some(of) => room(module) == of,
        None => module == allowed,
    }
}

/// A room that names another must do so for a reason that stands in the plan, or the plan is none.
#[test]
fn rooms_know_only_whom_they_may() {
    let free = ["", "bin"];
    let (mut findings, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for found in modules::uses(LICD) {
        let (from, to) = (room(&found.from), &*found.to);
        if free.contains(&from) || from == room(to) || LEAVES.contains(&room(to)) {
            continue;
        }
        let allowed = ROOMS.iter().find(|(name, _)| *name == from).map_or(&[][..], |room| room.1);
        match allowed.iter().find(|allowed| is_of(allowed, to)) {
            Some(allowed) => drop(needed.insert((from.to_owned(), *allowed))),
            None => drop(findings.insert(format!("{} names {to:?}", found.from))),
        }
    }
    assert!(findings.is_empty(), "rooms know others that they may not: {findings:#?}");
    for (name, allowed) in ROOMS {
        for allowed in allowed {
            let is_needed = needed.contains(&(name.to_owned(), allowed));
            assert!(is_needed, "{name} need not know {allowed} any more");
        }
    }
}

/// The rooms of licctl, from the top. Next to them are only the library itself, which puts them
/// together, and `error` and `escape`, which all know.
const ROOMS_OF_LICCTL: [&str; 9] =
    ["args", "commands", "bulk", "noun", "context", "client", "profile", "output", "terminal"];

#[test]
fn rooms_of_licctl_use_only_those_below() {
    let place = |name: &str| ROOMS_OF_LICCTL.iter().position(|room| *room == name);
    let (mut findings, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for found in modules::uses(LICCTL) {
        let (from, to) = (room(&found.from), room(&found.to));
        let is_free = ["", "bin"].contains(&from) || ["error", "escape"].contains(&to);
        seen.extend(place(from));
        if !is_free && from != to && place(from).is_none_or(|from| Some(from) >= place(to)) {
            findings.insert(format!("{} names {:?}", found.from, found.to));
        }
    }
    assert!(findings.is_empty(), "rooms of licctl know those above them: {findings:#?}");
    assert_eq!(seen.len(), ROOMS_OF_LICCTL.len(), "a room is empty");
}

/// Seen from any folder, its files and folders form no cycle. Uses between a file and the folder's
/// own file do not count, because they are one thing in two files.
#[test]
fn no_circle_of_modules() {
    let findings: Vec<String> = [LICD, LICCTL].into_iter().flat_map(circles_in).collect();
    assert!(findings.is_empty(), "circles of modules: {findings:#?}");
}

/// The root uses all rooms. A room that uses the root uses all of them, and is in a cycle that has
/// no name.
#[test]
fn no_module_names_the_root() {
    let uses = [LICD, LICCTL].into_iter().flat_map(modules::uses);
    let up = uses.filter(|found| found.to.is_empty() && room(&found.from) != "bin");
    let findings: Vec<String> = up.map(|found| found.from).collect();
    assert!(findings.is_empty(), "modules name the root: {findings:#?}");
}

fn circles_in(sources: &str) -> Vec<String> {
    let mut folders = BTreeMap::<String, BTreeMap<String, BTreeSet<String>>>::new();
    for found in modules::uses(sources) {
        if let Some((folder, from, to)) = siblings(&found.from, &found.to) {
            folders.entry(folder).or_default().entry(from).or_default().insert(to);
        }
    }
    let findings = folders.iter().flat_map(|(folder, uses)| {
        let circles = circles(uses).into_iter();
        circles.map(move |circle| format!("{sources} {folder}: {}", circle.join(", ")))
    });
    findings.collect()
}

/// The folder in which the ways to two modules part, and the names they then have there. None when
/// one of them is in the other.
fn siblings(from: &str, to: &str) -> Option<(String, String, String)> {
    let ways = [from, to].map(|module| {
        let mut way = vec![module];
        while let Some(outer) = parent(way[way.len() - 1]) {
            way.push(outer);
        }
        way.reverse();
        way
    });
    let parting = ways[0].iter().zip(&ways[1]).position(|(one, other)| one != other)?;
    let folder = parting.checked_sub(1).map_or("", |at| ways[0][at]);
    let name = |module: &str| module.rsplit("::").next().unwrap_or_default().to_owned();
    Some((folder.to_owned(), name(ways[0][parting]), name(ways[1][parting])))
}

/// The names to which one leads, however many lie between.
fn reached<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, start: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(name) = next.pop() {
        let further = uses.get(name).into_iter().flatten().map(String::as_str);
        next.extend(further.filter(|&name| reached.insert(name)));
    }
    reached
}

/// Names that each lead to the others, and back.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<&str>> {
    let names = uses.keys().map(String::as_str);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        names.map(|name| (name, reached(uses, name))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|found| found.contains(to));
    let tied = reached.keys().filter(|name| leads(name, name));
    tied.map(|name| {
        reached.keys().copied().filter(|other| leads(name, other) && leads(other, name)).collect()
    })
    .collect()
}

/// HTTP is at the edge: what is done beyond it is done for a command on the host as well.
#[test]
fn http_is_at_the_edge() {
    let edge = ["http", "api", "pages", "routes", "delivery"];
    let beyond = |path: &str| {
        let name = path.strip_prefix("server/src/");
        name.is_some_and(|name| !edge.contains(&room_of(name)) && !name.contains("/tests"))
    };
    let words = ["axum", "hyper", "tower", "aide::"];
    hold("HTTP beyond the edge", &uses(&sources(), beyond, &words), &[]);
}

/// The first part of a path below `src`.
fn room_of(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap_or(name)
}

#[test]
fn circles_are_found() {
    let uses = |edges: &[(&str, &str)]| {
        let mut uses = BTreeMap::<String, BTreeSet<String>>::new();
        for (from, to) in edges {
            uses.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        uses
    };
    assert!(circles(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let round = uses(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "f"), ("f", "e")]);
    assert_eq!(circles(&round), [vec!["b", "c"], vec!["e", "f"]].into());
    let parted =
        |from, to| siblings(from, to).map(|(folder, from, to)| [folder, from, to].join(" "));
    assert_eq!(
        parted("http::context::body_tracker", "http::extract"),
        Some("http context extract".into())
    );
    assert_eq!(parted("ops::keys", "store"), Some(" ops store".into()));
    assert_eq!(parted("bin::log", "db"), Some(" bin db".into()));
    assert_eq!(parted("http::context", "http"), None);
    assert_eq!(parted("", "http"), None);
}

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

/// The status of each refusal is decided once, in `error`. Handlers return types that know
/// their status. Elsewhere a status would be a second opinion.
#[test]
fn statuses_are_at_the_edge() {
    let edge = ["http", "error", "api", "pages", "delivery"];
    let inside = |path: &str| {
        let name = path.strip_prefix("server/src/");
        name.is_some_and(|name| !edge.contains(&room_of(name)))
    };
    let words = ["StatusCode::"];
    hold("statuses beyond the edge", &uses(&sources(), inside, &words), &[]);
}

/// The decision is pure: its inputs are passed in, so that a table can test it.
#[test]
fn the_verdict_decides_and_does_nothing_else() {
    let verdict = |path: &str| path == "server/src/validation/verdict.rs";
    let words = ["axum", "http", "sqlx", "async ", ".await", "::now()", "Db", "tokio", "tracing"];
    hold("the verdict does more than decide", &uses(&sources(), verdict, &words), &[]);
}

/// Types of the interface do no I/O.
#[test]
fn common_describes_and_does_nothing() {
    let common = |path: &str| path.starts_with("common/src/");
    let words = ["axum", "tokio", "reqwest", "std::fs", "std::net", "async fn"];
    hold("common does more than describe", &uses(&sources(), common, &words), &[]);
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
        "worlds::all",
        "worlds::find",
        "worlds::find_by_name",
        "worlds::exists",
        "worlds::read_first",
        "worlds::rewrite_first",
        // A key is what the scope is known from.
        "keys::find_by_hash",
        "keys::names",
        "keys::scopes",
        "sessions::find_by_hash",
        "validations/read::find",
        "keys::touch",
        "key_uses::add",
        // The ids of a process have one order in all scopes.
        "ids::advance_past_stored",
        // Each row carries its scope.
        "events::advance",
        "events::insert",
        "outcomes::add_counts",
        "outcomes::add_refusals",
        "phrases::add_to_users",
        // Its statements have theirs.
        "page::found",
        // All worlds get the response, or none.
        "uptime::find",
        "uptime::note",
        // A node serves all worlds.
        "nodes::note",
        "nodes::others_have",
        "nodes::remove",
        // Notices about ends in all worlds.
        "notices::lock",
        "notices::set",
        "notices::ending",
        // Webhooks of all worlds are polled together.
        "webhooks/sending::due",
        "webhooks/sending::claim",
        "webhooks/sending::free_claims",
        "webhooks/sending::states",
        // One key seals in all worlds.
        "sealed::any",
        // Old rows are deleted in all worlds alike.
        "retention::delete_old",
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
