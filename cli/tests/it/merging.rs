//! Metadata is merged by licd: licctl sends what a command names, and nothing that it has read.

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, LICENSE, service};

/// The body of the last write.
fn written(server: &FakeServer) -> Value {
    let is_write = |method: &str| matches!(method, "POST" | "PATCH");
    server.received().into_iter().rfind(|it| is_write(&it.method)).unwrap().body
}

/// Returns the members of the sent request that concern metadata.
fn sent(server: &FakeServer) -> Value {
    let body = written(server);
    let of = |name: &str| body.get(name).cloned().unwrap_or_default();
    json!([of("metadata"), of("mergeMetadata")])
}

#[test]
fn entries_are_merged_and_an_object_replaces_all() {
    let server = service();
    let home = Home::with(&server);
    for args in [
        &["users", "update", "alice"][..],
        &["users", "create", "--external-id", "alice"],
        &["licenses", "update", LICENSE],
        &["licenses", "assign", LICENSE, "alice"],
    ] {
        let change = ["--metadata", "tier=gold", "--metadata", "team=red", "--metadata", "old="];
        let ran = home.run(&[args, &change].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let merged = json!({ "tier": "gold", "team": "red", "old": null });
        assert_eq!(sent(&server), json!([null, merged]), "{args:?}");
        assert_eq!(home.run(&[args, &["--metadata-json", "{\"a\":1}"]].concat()).code, 0);
        assert_eq!(sent(&server), json!([{ "a": 1 }, null]), "{args:?}");
    }
    home.run(&["licenses", "assign", LICENSE, "alice", "--first"]);
    assert_eq!(written(&server)["first"], true);
    home.run(&["licenses", "create", "--plan", "Pro annual", "--metadata", "a=1"]);
    assert_eq!(sent(&server), json!([{ "a": "1" }, null]), "a new license has none to merge with");
    home.run(&["licenses", "update", LICENSE, "--name", "none", "--no-metadata"]);
    assert_eq!(written(&server), json!({ "clear": ["name", "metadata"] }));
    assert_eq!(home.run(&["licenses", "update", LICENSE]).code, 2);
    assert_eq!(home.run(&["users", "update", "alice"]).code, 2);
}

#[test]
fn the_columns_of_an_import_are_merged() {
    let server = service();
    let home = Home::with(&server);
    let report = home.dir.path().join("r.jsonl").display().to_string();
    let rows = "userId,metadata.team,metadata.tier\nalice,red,\n";
    let ran = home.run_with_input(&["users", "import", "-", "--report", &report], rows);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(sent(&server), json!([null, { "team": "red" }]));
}
