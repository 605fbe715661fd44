//! `licctl validate --explain`: the steps, the holders and the suggested commands.

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, Reply, RunOutput, current_key, explained, explanation, usage, user,
};

/// Runs `--explain` against a service that gives this explanation.
fn explain(explanation: Value) -> (RunOutput, FakeServer) {
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        "/api/v1/admin/explain" => Reply::data(200, &explanation),
        path if path.ends_with("/usage") => Reply::data(200, &usage(5)),
        _ => Reply::data(200, &user("alice")),
    });
    let ran = Home::with(&server).run(&["validate", "carol", "--explain"]);
    (ran, server)
}

/// The commands that are offered, with the license's id made short.
fn advice(ran: &RunOutput) -> Vec<String> {
    let (_, todo) = ran.stdout.split_once("Suggested commands:\n").unwrap_or_default();
    todo.lines().map(|line| line.trim().replace(LICENSE, "LIC")).collect()
}

#[test]
fn explain_ends_with_the_holders_and_suggested_commands() {
    let licenses = [explained("active", None, "exceeded_seats")];
    let (ran, server) = explain(explanation(Some("exceeded_seats"), &licenses));
    insta::assert_snapshot!(ran.stdout, @"
    ok  key       sk_live_CANA… is active: admin, live, tenant acme
    ok  user      carol exists (carol@example.com), created 2026-01-31T12:00:00.000Z
    ok  licenses  the user has 1:
                 1  Acme Studio · Pro annual  lic_01h455vb4pex5vsknk084sn02q
                    active, expires never, seats 5/5, the user holds none
                    That is how it stands.
    no  answer    exceeded_seats: So it is.

    5 of 5 seats in use, least recently checked first:
    USER   EMAIL              ACTIVATED                 LAST CHECKED
    alice  alice@example.com  2026-01-31T12:00:00.000Z  2026-02-01T12:00:00.000Z

    Suggested commands:
      licctl licenses unassign lic_01h455vb4pex5vsknk084sn02q alice
      licctl licenses update lic_01h455vb4pex5vsknk084sn02q --max-seats 6
    ");
    assert_eq!((ran.code, ran.stderr.as_str()), (10, ""));
    assert!(!server.lines().iter().any(|line| line.contains("/api/v1/validate")));
}

/// The limit is below the seats in use, so freeing one seat is not enough.
#[test]
fn the_advice_frees_all_excess_seats() {
    let other = "usr_01h455vb4pex5vsknk084sn0zz";
    let mut license = explained("active", None, "exceeded_seats");
    (license["seatsUsed"], license["license"]["maxSeats"]) = (json!(2), json!(1));
    let mut held = usage(1);
    let mut second = held["activations"][0].clone();
    second["userId"] = json!(other);
    second["externalId"] = json!("bob");
    held["activations"].as_array_mut().unwrap().push(second);
    let explanation = explanation(Some("exceeded_seats"), &[license]);
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        "/api/v1/admin/explain" => Reply::data(200, &explanation),
        path if path.ends_with("/usage") => Reply::data(200, &held),
        path if path.ends_with(other) => {
            let mut bob = user("bob");
            bob["id"] = json!(other);
            Reply::data(200, &bob)
        }
        _ => Reply::data(200, &user("alice")),
    });
    let ran = Home::with(&server).run(&["validate", "carol", "--explain"]);
    assert_eq!(advice(&ran)[0], "licctl licenses unassign LIC alice bob", "{}", ran.stderr);
}

#[test]
fn every_reason_has_suggested_commands() {
    let past = Some("2026-02-01T12:00:00Z");
    for (reason, license, commands) in [
        (
            "suspended",
            explained("suspended", None, "suspended"),
            &["licctl licenses activate LIC"] as &[&str],
        ),
        ("revoked", explained("revoked", None, "revoked"), &["licctl licenses activate LIC"]),
        ("expired", explained("expired", None, "expired"), &["licctl licenses activate LIC"]),
        (
            "expired",
            explained("active", past, "expired"),
            &["licctl licenses update LIC --expires-at TIME   # a new date, or never"],
        ),
        (
            "expired",
            explained("expired", past, "expired"),
            &[
                "licctl licenses activate LIC",
                "licctl licenses update LIC --expires-at TIME   # a new date, or never",
            ],
        ),
    ] {
        let (ran, _) = explain(explanation(Some(reason), &[license]));
        assert_eq!(ran.code, 10);
        assert!(ran.stdout.matches("2026-02-01").count() < 2, "once is enough: {}", ran.stdout);
        assert!(!ran.stdout.contains("expires 2026"), "that is past: {}", ran.stdout);
        assert_eq!(advice(&ran), commands, "{reason}");
    }
    let (ran, _) = explain(explanation(Some("no_license"), &[]));
    assert_eq!(advice(&ran)[0], "licctl licenses assign LICENSE carol");
}

#[test]
fn a_valid_user_has_no_suggested_commands() {
    let (ran, _) = explain(explanation(None, &[explained("active", None, "valid")]));
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("ok  answer    VALID: So it is."), "{}", ran.stdout);
    assert!(!ran.stdout.contains("Suggested commands"));
}
