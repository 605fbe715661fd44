//! The requests and output of commands that change data, without a terminal.

use common::Timestamp;
use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, OTHER_KEY, PLAN, PRODUCT, Reply, RunOutput, answer, assignment,
    license_with_seats, on_screen, service, user,
};

fn run(server: &FakeServer, args: &[&str]) -> RunOutput {
    Home::with(server).run(args)
}

/// The one write among the requests.
fn written(server: &FakeServer) -> (String, Value) {
    let writes = server.received().into_iter().filter(|request| request.method != "GET");
    let [write] = &writes.collect::<Vec<_>>()[..] else { panic!("{:?}", server.lines()) };
    (write.line(), write.body.clone())
}

#[test]
fn all_missing_flags_are_named_and_nothing_is_sent() {
    let server = service();
    for (args, missing) in [
        (&["products", "create"][..], "Missing option --name."),
        (&["plans", "create", "--max-seats", "5"], "Missing option --product and option --name."),
        (&["licenses", "create"], "Missing option --plan."),
        (&["licenses", "assign"], "Missing argument LICENSE and argument USER."),
        (&["licenses", "assign", LICENSE], "Missing argument USER."),
        (&["licenses", "get"], "Missing argument LICENSE."),
        (&["licenses", "suspend"], "Missing argument LICENSE."),
        (&["users", "create"], "Missing option --external-id."),
        (&["keys", "create", "--name", "x"], "Missing option --role."),
        (&["validate"], "Missing argument USER."),
    ] {
        let ran = run(&server, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(missing), "{args:?}: {}", ran.stderr);
    }
    let ran = run(&server, &["keys", "create", "--name", "x y", "--mode", "test"]);
    let fix = "fix: licctl keys create --name \"x y\" --mode test --role ROLE\n";
    assert!(ran.stderr.ends_with(fix), "{}", ran.stderr);
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn a_plan_is_created_from_flags() {
    let server = service();
    let ran = run(
        &server,
        &[
            "plan",
            "new",
            "--product",
            "Acme Studio",
            "--name",
            "Team",
            "--max-seats",
            "5",
            "--expires-in",
            "1y",
            "--feature",
            "export,sso,export",
            "--feature",
            "api",
        ],
    );
    insta::assert_snapshot!(ran.stdout, @"
    ID                              NAME        PRODUCT      SEATS  VALID FOR  FEATURES
    pln_01h455vb4pex5vsknk084sn02q  Pro annual  Acme Studio  5      365 days   export,sso
    ");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let (line, body) = written(&server);
    assert_eq!(line, "POST /api/v1/admin/plans");
    let wanted = json!({
        "productId": PRODUCT, "name": "Team", "maxSeats": 5, "expiresInDays": 365,
        "features": ["export", "sso", "api"],
    });
    assert_eq!(body, wanted);
}

#[test]
fn a_write_matches_only_exact_names() {
    let server = service();
    let ran = run(&server, &["plans", "create", "--product", "acme studio", "--name", "X"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains("Did you mean") && ran.stderr.contains(PRODUCT), "{}", ran.stderr);
    // A read may.
    assert_eq!(run(&server, &["products", "get", "acme studio", "-q"]).stdout.trim(), PRODUCT);
}

#[test]
fn an_existing_plan_with_the_same_settings_is_returned() {
    let server = service();
    let same = ["plans", "create", "--if-not-exists", "--product", "Acme Studio"];
    let with = |more: &[&'static str]| [&same[..], &["--name", "Pro annual"], more].concat();
    let ran = run(&server, &with(&["--max-seats", "5", "-q"]));
    assert_eq!((ran.code, ran.stdout.trim()), (0, PLAN));
    let ran = run(&server, &with(&["--max-seats", "7", "--feature", "sso"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
    assert!(ran.stderr.contains("maxSeats: 5 → 7; features: export,sso → sso"), "{}", ran.stderr);
    assert!(server.received().iter().all(|request| request.method == "GET"));
}

#[test]
fn fields_are_set_and_cleared() {
    let server = service();
    let args = ["licenses", "update", LICENSE, "--max-seats", "none", "--expires-at"];
    let ran = run(&server, &[&args[..], &["2028-01-31T00:00:00Z", "--feature", "none"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (line, body) = written(&server);
    assert_eq!(line, format!("PATCH /api/v1/admin/licenses/{LICENSE}"));
    let wanted = json!({
        "expiresAt": "2028-01-31T00:00:00.000Z", "features": [], "clear": ["maxSeats"],
    });
    assert_eq!(body, wanted);
    assert_eq!(run(&server, &["plans", "update", PLAN]).code, 2);
    assert_eq!(run(&server, &["licenses", "update", LICENSE]).code, 2);
    let body = |args: &[&str]| {
        let ran = run(&server, args);
        assert!(ran.code != 2, "{args:?}: {}", ran.stderr);
        server.received().into_iter().rfind(|it| it.method == "PATCH").unwrap().body
    };
    let last_valid_day = body(&["licenses", "update", LICENSE, "--expires-at", "2028-01-31"]);
    assert_eq!(last_valid_day["expiresAt"], "2028-02-01T00:00:00.000Z");
    // The name of the API's member works, too.
    for flag in ["--expires-in-days=90", "--expires-in=90d"] {
        assert_eq!(body(&["plans", "update", "Pro annual", flag]), json!({ "expiresInDays": 90 }));
    }
    let never = json!({ "clear": ["expiresInDays"] });
    assert_eq!(body(&["plans", "update", "Pro annual", "--expires-in", "never"]), never);
    let end = body(&["licenses", "update", LICENSE, "--expires-in", "1y", "-q"]);
    let end: Timestamp = end["expiresAt"].as_str().unwrap().parse().unwrap();
    let days = end.since(Timestamp::now()).num_seconds() as f64 / 86_400.0;
    assert!((364.0..=365.0).contains(&days), "{days}");
}

#[test]
fn a_user_gets_another_external_id() {
    let server = service();
    let ran = run(&server, &["users", "update", "alice", "--external-id", "alice@new.example"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(written(&server).1, json!({ "externalId": "alice@new.example" }));
}

/// A new license ends with its last valid day, and never with two ends.
#[test]
fn a_license_is_made_with_its_last_valid_day() {
    let server = service();
    let create = ["licenses", "create", "--plan", "Pro annual", "--expires-at", "2028-01-31"];
    let ran = run(&server, &create);
    assert_ne!(ran.code, 2, "{}", ran.stderr);
    let (line, body) = written(&server);
    assert_eq!(line, "POST /api/v1/admin/licenses");
    assert_eq!(body, json!({ "planId": PLAN, "expiresAt": "2028-02-01T00:00:00.000Z" }));
    assert_eq!(run(&server, &[&create[..], &["--expires-in", "90d"]].concat()).code, 2);
}

#[test]
fn paths_and_bodies_hold_the_external_id() {
    let server = service();
    let ran = run(&server, &["licenses", "unassign", LICENSE, "a/b c?é"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (line, body) = written(&server);
    let path = "a%2Fb%20c%3F%C3%A9";
    assert_eq!(line, format!("DELETE /api/v1/admin/licenses/{LICENSE}/assign?userId={path}"));
    assert_eq!(body, Value::Null);
    insta::assert_snapshot!(ran.stdout, @"
    USER     LICENSE
    a/b c?é  lic_01h455vb4pex5vsknk084sn02q
    ");
}

#[test]
fn one_item_gives_an_array_as_several_do() {
    let server = service();
    let assigned = |user: &str| {
        let mut assignment = assignment();
        assignment["externalId"] = user.into();
        assignment
    };
    let one = run(&server, &["licenses", "assign", LICENSE, "alice", "-o", "json"]).json();
    assert_eq!(one, json!([assigned("alice")]));
    let two = run(&server, &["licenses", "assign", LICENSE, "alice", "bob", "-o", "json"]).json();
    assert_eq!(two, json!([assigned("alice"), assigned("bob")]));
    let home = Home::with(&server);
    let ran = home.run_with_input(&["licenses", "assign", LICENSE, "-", "-o", "json"], "alice\n");
    assert_eq!(ran.json(), json!([assigned("alice")]));
    for args in [
        &["licenses", "unassign", LICENSE, "alice"][..],
        &["licenses", "suspend", LICENSE],
        &["licenses", "create", "--plan", "Pro annual"],
        &["licenses", "create", "--plan", "Pro annual", "--count", "1"],
        &["validate", "alice"],
    ] {
        let ran = run(&server, &[args, &["-o", "json"]].concat());
        assert_eq!(ran.json().as_array().map(Vec::len), Some(1), "{args:?}");
    }
}

#[test]
fn one_refusal_among_several_is_printed_and_exits_9() {
    let server = service();
    let ran = run(&server, &["licenses", "assign", LICENSE, "alice", "bad", "carol", "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (9, "alice\ncarol\n"));
    insta::assert_snapshot!(ran.stderr, @r#"
    error: bad: The server rejected the request. "userId: no"
    note: 2 succeeded, 1 failed
    "#);
    // When nothing was done, the error itself stands.
    let ran = run(&server, &["licenses", "assign", LICENSE, "bad"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
}

/// A validation would only say that there is no seat.
#[test]
fn after_an_assignment_to_a_full_license_its_seats_come_next() {
    let next = |used: u32| {
        let server = FakeServer::answering(move |request| {
            match request.method == "GET" && request.path.ends_with(LICENSE) {
                true => Reply::data(200, &license_with_seats(used)),
                false => answer(request),
            }
        });
        let ran = on_screen(&Home::with(&server), &["licenses", "assign", LICENSE, "alice"], 100);
        ran.stderr.lines().last().unwrap().to_owned()
    };
    assert_eq!(next(4), "Next: licctl validate alice");
    assert_eq!(next(5), format!("Next: licctl licenses usage {LICENSE}"));
}

#[test]
fn revoking_needs_a_confirmation() {
    let server = service();
    let ran = run(&server, &["licenses", "revoke", LICENSE]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("fix: add --yes"), "{}", ran.stderr);
    assert_eq!(server.lines(), [""; 0]);
    let ran = run(&server, &["licenses", "revoke", LICENSE, "--yes"]);
    insta::assert_snapshot!(ran.stdout, @"
    ID                              WAS     NOW
    lic_01h455vb4pex5vsknk084sn02q  active  revoked
    ");
    assert_eq!(written(&server).1, json!({ "status": "revoked" }));
}

/// The confirmation names what it deletes, and no write is sent without it.
#[test]
fn deleting_a_user_needs_a_confirmation() {
    let server = service();
    let ran = run(&server, &["users", "delete", "alice"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Delete user alice? (1 license, 0 seats)"), "{ran:?}");
    assert!(ran.stderr.contains("fix: add --yes"), "{ran:?}");
    assert!(server.received().iter().all(|request| request.method != "DELETE"));
    let ran = run(&server, &["users", "delete", "alice", "--yes", "-o", "json"]);
    assert_eq!((ran.code, ran.json()), (0, user("alice")));
    let deletions = server.received().into_iter().filter(|request| request.method == "DELETE");
    let [deletion] = &deletions.collect::<Vec<_>>()[..] else { panic!("{:?}", server.lines()) };
    assert_eq!(deletion.line(), "DELETE /api/v1/admin/users/usr_01h455vb4pex5vsknk084sn02q");
    assert!(deletion.idempotency_key.is_some());
    let ran = run(&server, &["users", "delete", "alice", "--dry-run"]);
    let planned = "DELETE /api/v1/admin/users/usr_01h455vb4pex5vsknk084sn02q\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, planned));
    assert_eq!(run(&server, &["users", "delete", "nobody", "--yes"]).code, 3);
}

/// The service's own id works where no user has it as external id.
#[test]
fn a_user_is_also_found_by_the_id_of_the_service() {
    let id = "usr_01h455vb4pex5vsknk084sn02q";
    for named in [false, true] {
        let server = FakeServer::answering(move |request| {
            match request.path.contains("externalId=usr_") && !named {
                true => Reply::list(&[]),
                false => answer(request),
            }
        });
        let ran = run(&server, &["users", "get", id, "-q"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "alice\n"), "{}", ran.stderr);
        assert_eq!(server.lines().len(), if named { 1 } else { 2 });
    }
}

#[test]
fn a_dry_run_shows_every_write_and_sends_none() {
    let server = service();
    let ran = run(&server, &["licenses", "assign", LICENSE, "alice", "bob", "--dry-run"]);
    insta::assert_snapshot!(ran.stdout, @r#"
    POST /api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/assign
    {
      "userId": "alice"
    }
    POST /api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/assign
    {
      "userId": "bob"
    }
    "#);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "Dry run: nothing was changed.\n"));
    assert!(server.received().iter().all(|request| request.method == "GET"));
}

#[test]
fn a_new_key_is_alone_on_stdout() {
    let server = FakeServer::answering(|request| {
        if request.method == "GET" {
            return Reply::list(&[]);
        }
        assert_eq!(request.body, json!({ "name": "ci", "role": "validate", "mode": "test" }));
        Reply::data(
            201,
            &json!({
                "id": "key_01h455vb4pex5vsknk084sn02q", "name": "ci",
                "prefix": "sk_test_OTHE", "role": "validate", "mode": "test",
                "createdAt": "2026-01-31T12:00:00.000Z", "expiresAt": null, "lastUsedAt": null,
                "revokedAt": null, "key": OTHER_KEY,
            }),
        )
    });
    let args = ["keys", "create", "--name", "ci", "--role", "validate", "--mode", "test"];
    for more in [&[][..], &["-q"]] {
        let ran = run(&server, &[&args[..], more].concat());
        assert_eq!(ran.stdout.trim(), OTHER_KEY);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    }
}

#[test]
fn many_users_need_a_confirmation() {
    let server = service();
    let home = Home::with(&server);
    let users: Vec<String> = (0..26).map(|n| format!("user-{n}")).collect();
    let args: Vec<&str> =
        ["validate"].into_iter().chain(users.iter().map(String::as_str)).collect();
    let ran = home.run(&args);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(server.received().is_empty());
    home.run(&[&args[..], &["--yes"]].concat());
    assert_eq!(server.lines().iter().filter(|line| line.starts_with("POST")).count(), 26);
}

/// A script's unset variable becomes an empty text, which must not remove a limit.
#[test]
fn an_empty_value_removes_no_limit() {
    let server = service();
    let home = Home::with(&server);
    for args in [
        ["licenses", "update", LICENSE, "--expires-at", ""],
        ["licenses", "update", LICENSE, "--max-seats", ""],
        ["plans", "update", PLAN, "--max-seats", ""],
        ["plans", "update", PLAN, "--expires-in-days", ""],
    ] {
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
    }
    assert!(server.received().is_empty());
}

/// Nothing was done, so nothing can have succeeded.
#[test]
fn a_dry_run_of_an_unknown_record_fails() {
    let server = FakeServer::answering(|request| match request.path.ends_with(LICENSE) {
        true => Reply::data(200, &license_with_seats(0)),
        false => Reply::refusal(404, "not_found", "There is no such license."),
    });
    let home = Home::with(&server);
    let missing = "lic_01h455vb4pex5vsknk084sn0zz";
    let ran = home.run(&["licenses", "revoke", LICENSE, missing, "--yes", "--dry-run"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
}

/// A program gets one object also when a part was done.
#[test]
fn failures_of_several_items_are_one_json_object() {
    let server = FakeServer::answering(|request| match request.path.contains(LICENSE) {
        true => Reply::data(200, &license_with_seats(0)),
        false => Reply::refusal(404, "not_found", "There is no such license."),
    });
    let home = Home::with(&server);
    let missing = "lic_01h455vb4pex5vsknk084sn0zz";
    let ran = home.run(&["licenses", "expire", LICENSE, missing, "--yes", "-o", "json"]);
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!((&error["code"], &error["exitCode"]), (&"partial".into(), &9.into()));
    let failed = &error["errors"][0];
    assert_eq!((&failed["item"], &failed["code"]), (&missing.into(), &"not_found".into()));
}
