//! The output of commands that change nothing, without a terminal.

use serde_json::json;

use crate::support::{FakeServer, Home, LICENSE, PLAN, Reply, RunOutput, plan, product, service};

fn run(server: &FakeServer, args: &[&str]) -> RunOutput {
    Home::with(server).run(args)
}

/// A wide table with its columns apart by a bar, to stand in a narrow source.
fn cells(table: &str) -> String {
    let line = |line: &str| {
        let cells = line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim);
        cells.collect::<Vec<_>>().join(" | ") + "\n"
    };
    table.replace(LICENSE, "LICENSE").lines().map(line).collect()
}

#[test]
fn two_of_one_name_are_both_named() {
    let server = FakeServer::answering(|request| match request.path.contains("plans") {
        true => Reply::list(&[plan("Pro"), plan("Pro")]),
        false => Reply::list(&[product("Acme Studio")]),
    });
    let ran = run(&server, &["plans", "get", "Pro"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert_eq!(ran.stderr.matches(PLAN).count(), 2, "{}", ran.stderr);
}

#[test]
fn a_license_card_shows_its_holders() {
    let server = service();
    insta::assert_snapshot!(run(&server, &["license", "show", LICENSE]).stdout, @"
    license   lic_01h455vb4pex5vsknk084sn02q
    product   Acme Studio (prd_01h455vb4pex5vsknk084sn02q)
    plan      Pro annual (pln_01h455vb4pex5vsknk084sn02q)
    status    active
    seats     4 of 5 seats in use
    expires   2999-01-31T12:00:00.000Z
    features  export,sso
    created   2026-01-31T12:00:00.000Z
    updated   2026-01-31T12:00:00.000Z

    USER   EMAIL              ACTIVATED                 LAST CHECKED
    alice  alice@example.com  2026-01-31T12:00:00.000Z  2026-02-01T12:00:00.000Z
    ");
}

#[test]
fn a_list_of_licenses_counts_the_seats() {
    let server = service();
    insta::assert_snapshot!(cells(&run(&server, &["licenses", "ls"]).stdout), @"
    ID | PRODUCT | PLAN | STATUS | SEATS | EXPIRES | FEATURES
    LICENSE | Acme Studio | Pro annual | active | 4/5 | 2999-01-31T12:00:00.000Z | export,sso
    ");
    assert_eq!(run(&server, &["licenses", "ls", "--status", "expired", "-q"]).stdout, "");
    assert_eq!(run(&server, &["licenses", "ls", "--expiring-within", "30d", "-q"]).stdout, "");
    let ids = run(&server, &["licenses", "ls", "--product", "Acme Studio", "-q"]);
    assert_eq!(ids.stdout.trim(), LICENSE);
}

#[test]
fn usage_can_fail_a_check_before_the_seats_are_gone() {
    let server = service();
    let usage = |limit: &'static str| run(&server, &["licenses", "usage", LICENSE, limit]);
    assert_eq!(usage("--fail-at=81%").code, 0);
    let full = usage("--fail-at=80%");
    assert_eq!(full.code, 10);
    assert!(full.stdout.starts_with("4 of 5 seats in use\nUSER"), "{}", full.stdout);
}

#[test]
fn validation_sets_the_exit_code() {
    let server = service();
    let ran = run(&server, &["validate", "alice"]);
    insta::assert_snapshot!(ran.stdout, @"
    USER   ANSWER  REASON  LICENSE                         FEATURES
    alice  VALID           lic_01h455vb4pex5vsknk084sn02q  export,sso
    ");
    assert_eq!(ran.code, 0);
    for (args, code) in [
        (&["validate", "bob"][..], 10),
        (&["validate", "alice", "bob"], 10),
        (&["validate", "bob", "--expect", "no_license"], 0),
        (&["validate", "alice", "--expect", "no_license"], 10),
        (&["validate", "alice", "--feature", "sso"], 0),
        (&["validate", "alice", "--feature", "sso,api"], 10),
    ] {
        assert_eq!(run(&server, args).code, code, "{args:?}");
    }
    let ran = run(&server, &["validate", "bob", "-o", "json"]);
    assert_eq!(ran.json(), json!({ "valid": false, "reason": "no_license" }));
}

#[test]
fn fields_that_this_build_does_not_know_are_shown_all_the_same() {
    let server = FakeServer::answering(|_| {
        let mut product = product("Acme Studio");
        product["colour"] = "green".into();
        Reply::list(&[product])
    });
    let ran = run(&server, &["products", "list", "-o", "json"]);
    assert_eq!(ran.json()[0]["colour"], "green");
    // And in the service's order, not the alphabet's.
    assert!(ran.stdout.find("\"name\"").unwrap() < ran.stdout.find("\"createdAt\"").unwrap());
}

#[test]
fn an_empty_list_suggests_a_command() {
    let server = FakeServer::answering(|_| Reply::list(&[]));
    let ran = run(&server, &["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("licctl products create"), "{}", ran.stderr);
    assert_eq!(run(&server, &["products", "list", "-o", "json"]).stdout, "[]\n");
}
