//! `licctl validate --explain`: the steps, the holders and the suggested commands.

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, Reply, RunOutput, answer, current_key, event, explained,
    explanation, service, usage, user,
};

/// Runs `--explain` against a service that gives this explanation.
fn explain(explanation: Value) -> (RunOutput, FakeServer) {
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        "/api/v1/admin/explain" => Reply::data(200, &explanation),
        path if path.contains("/events") => Reply::list(&[suspension()]),
        _ => Reply::data(200, &user("alice")),
    });
    let ran = Home::with(&server).run(&["validate", "carol", "--explain"]);
    (ran, server)
}

/// The event that suspended the license.
fn suspension() -> Value {
    let (now, was) = (json!({ "status": "suspended" }), json!({ "status": "active" }));
    event(7, "license.status_changed", &now, &was)
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
    ok  licenses  1 assigned:
                 1  Acme Studio · Pro annual  lic_01h455vb4pex5vsknk084sn02q
                    active, expires never, seats 5/5, the user holds none
                    That is how it stands.
    no  answer    exceeded_seats: So it is.

    5 of 5 seats in use; least recently checked first:
    USER   EMAIL              ACTIVATED                 LAST CHECKED
    alice  alice@example.com  2026-01-31T12:00:00.000Z  2026-02-01T12:00:00.000Z
    4 more: licctl licenses usage lic_01h455vb4pex5vsknk084sn02q

    Recent refusals, newest first:
    REASON   TIMES  LAST                      LICENSE
    expired  3      2026-02-01T12:00:00.000Z  lic_01h455vb4pex5vsknk084sn02q

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
    let mut second = usage(1)["activations"][0].clone();
    second["userId"] = json!(other);
    second["externalId"] = json!("bob");
    license["remedies"][0]["count"] = json!(2);
    license["remedies"][0]["holders"].as_array_mut().unwrap().push(second);
    let explanation = explanation(Some("exceeded_seats"), &[license]);
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        "/api/v1/admin/explain" => Reply::data(200, &explanation),
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

/// A user who is offline keeps the seat until the lease ends, unless a flag drops the lease.
#[test]
fn the_advice_takes_no_seat_from_who_is_offline() {
    let mut license = explained("active", None, "exceeded_seats");
    license["remedies"][0]["holders"][0]["leasedUntil"] = json!("2099-01-01T00:00:00.000Z");
    let (ran, _) = explain(explanation(Some("exceeded_seats"), &[license]));
    assert_eq!(advice(&ran), ["licctl licenses update LIC --max-seats 6"], "{}", ran.stderr);
    assert!(ran.stdout.contains("first, then 1 offline:"), "{}", ran.stdout);
}

/// A later licd may have reasons and verdicts that this licctl does not know.
#[test]
fn unknown_reasons_and_verdicts_are_shown_as_they_are() {
    let mut explanation = explanation(Some("paused"), &[explained("active", None, "on_hold")]);
    explanation["refusals"][0]["reason"] = json!("paused");
    let (ran, _) = explain(explanation.clone());
    assert_eq!((ran.code, ran.stderr.as_str()), (10, ""));
    for line in ["no  answer    paused: So it is.", "That is how it stands.", "paused  3 "] {
        assert!(ran.stdout.contains(line), "{line} is not in\n{}", ran.stdout);
    }
    let answer = json!({ "valid": false, "reason": "paused" });
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/validate" => Reply::data(200, &answer),
        _ => Reply::list(&[user("carol")]),
    });
    let ran = Home::with(&server).run(&["validate", "carol"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (10, ""));
    assert!(ran.stdout.contains("paused"), "{}", ran.stdout);
}

/// Statuses and roles of a later licd are shown as well.
#[test]
fn unknown_statuses_and_roles_are_shown_as_they_are() {
    let server = FakeServer::answering(|request| {
        let reply = answer(request).saying(r#""status":"active""#, r#""status":"on_trial""#);
        let reply = reply.saying(r#""role":"admin""#, r#""role":"auditor""#);
        reply.saying(r#""role":"validate""#, r#""role":"auditor""#)
    });
    for (line, word) in [
        ("licenses list", "on_trial"),
        ("licenses get lic_01h455vb4pex5vsknk084sn02q", "on_trial"),
        ("licenses usage lic_01h455vb4pex5vsknk084sn02q", "4 of 5 seats"),
        ("validate alice --create-user", "VALID"),
        ("validate alice --explain", "on_trial"),
        ("users get alice", "on_trial"),
        ("keys list", "auditor"),
        ("whoami", "auditor"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let ran = Home::with(&server).run(&args);
        assert!(matches!(ran.code, 0 | 10), "{line}: {}", ran.stderr);
        assert!(ran.stdout.contains(word), "{line}: {}", ran.stdout);
    }
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
        (
            "revoked",
            explained("revoked", None, "revoked"),
            &["licctl events list --subject LIC", "licctl licenses activate LIC"],
        ),
        ("expired", explained("expired", None, "expired"), &["licctl licenses activate LIC"]),
        ("expired", explained("active", past, "expired"), &["licctl licenses renew LIC"]),
        ("expired", explained("expired", past, "expired"), &["licctl licenses renew LIC"]),
    ] {
        let mut explanation = explanation(Some(reason), &[license]);
        explanation["refusals"] = json!([]);
        let (ran, _) = explain(explanation);
        assert_eq!(ran.code, 10);
        let status = ran.stdout.lines().filter(|line| !line.contains("set to "));
        let times = status.filter(|line| line.contains("2026-02-01")).count();
        assert!(times < 2, "once is enough: {}", ran.stdout);
        // Revoking is meant to last.
        assert_eq!(ran.stdout.contains("Find out why before"), reason == "revoked");
        assert!(!ran.stdout.contains("expires 2026"), "that is past: {}", ran.stdout);
        assert_eq!(advice(&ran), commands, "{reason}");
    }
    let mut without_term = explained("active", past, "expired");
    without_term["remedies"][0]["term"] = Value::Null;
    let (ran, _) = explain(explanation(Some("expired"), &[without_term]));
    assert_eq!(advice(&ran), ["licctl licenses renew LIC --days 365"]);
    let (ran, _) = explain(explanation(Some("no_license"), &[]));
    let create = "licctl licenses create --plan PLAN --assign carol";
    assert_eq!(advice(&ran), [create, "licctl licenses list --status active"]);
    // Perhaps the licensed user is another one of almost that name.
    let mut twin = explanation(Some("no_license"), &[]);
    twin["similarUsers"] = json!([user("Carol")]);
    let (ran, _) = explain(twin);
    assert!(ran.stdout.contains("licenses  none; Carol"), "{}", ran.stdout);
    assert_eq!(advice(&ran)[0], "licctl validate Carol --explain");
}

/// The customer says no, and licd says yes: the application asks another question.
#[test]
fn a_valid_user_is_shown_with_the_last_check_and_the_last_refusal() {
    let mut license = explained("active", None, "valid");
    license["activation"] = usage(1)["activations"][0].clone();
    let (ran, _) = explain(explanation(None, &[license]));
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("ok  answer    VALID: So it is."), "{}", ran.stdout);
    let checks = "ok  checks    last checked 2026-02-01T12:00:00.000Z; \
                  last refused 2026-02-01T12:00:00.000Z (expired)\n";
    assert!(ran.stdout.contains(checks), "{}", ran.stdout);
    let remark = "may use another user id, mode, product or server:\nSuggested commands:\n";
    assert!(ran.stdout.contains(remark), "{}", ran.stdout);
    assert_eq!(advice(&ran), ["licctl refusals list --since 1h"]);
    let mut never = explanation(None, &[explained("active", None, "valid")]);
    never["refusals"] = json!([]);
    let (ran, _) = explain(never);
    let checks = "ok  checks    not checked yet; not refused in the last 30 days\n";
    assert!(ran.stdout.contains(checks), "{}", ran.stdout);
}

#[test]
fn a_suspended_license_says_since_when_and_by_whom() {
    let license = explained("suspended", None, "suspended");
    let (ran, server) = explain(explanation(Some("suspended"), &[license]));
    let line = "  set to suspended 2026-02-01T12:00:00.000Z by ops\n";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let asked = format!("/api/v1/admin/events?type=license.status_changed&subject={LICENSE}");
    assert!(server.lines().iter().any(|it| it.contains(&asked)), "{:?}", server.lines());
}

/// A ticket system shows what a terminal does.
#[test]
fn a_program_gets_the_suggested_commands_and_the_holders() {
    let explanation =
        explanation(Some("exceeded_seats"), &[explained("active", None, "exceeded_seats")]);
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::data(200, &explanation),
    });
    let json = Home::with(&server).run(&["validate", "carol", "--explain", "-o", "json"]).json();
    assert_eq!(json[0]["holders"][0]["externalId"], "alice");
    let first = format!("licctl licenses unassign {LICENSE} alice");
    assert_eq!(json[0]["suggestedCommands"][0], first);
}

/// Runs `--explain` for an unknown user among these users.
fn explain_unknown(given: &'static str, known: &[(&str, &str)]) -> RunOutput {
    let known: Vec<Value> = known
        .iter()
        .enumerate()
        .map(|(at, (id, email))| {
            let mut user = user(id);
            user["id"] = json!(format!("usr_01h455vb4pex5vsknk084sn0{at:02}"));
            user["email"] = json!(email);
            user
        })
        .collect();
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        "/api/v1/admin/explain" => {
            let mut explanation = explanation(Some("user_not_found"), &[]);
            explanation["user"] = Value::Null;
            Reply::data(200, &explanation)
        }
        // licd knows who is similar.
        path => Reply::list(if path.contains("=zoe") { &[] } else { &known[..1] }),
    });
    Home::with(&server).run(&["validate", given, "--explain"])
}

#[test]
fn an_unknown_user_may_mean_another() {
    let known = [("carol", "carol@x.example"), ("dave", "dave@x.example")];
    for given in ["carol@x.example", "Carol", "carlo", "car"] {
        let ran = explain_unknown(given, &known);
        let told =
            format!("{given} does not exist in live mode. Did you mean carol (carol@x.example)?");
        assert!(ran.stdout.contains(&told), "{}", ran.stdout);
        assert_eq!(advice(&ran), ["licctl validate carol --explain"]);
    }
    let ran = explain_unknown("carol ", &known);
    let told =
        "\"carol \" does not exist in live mode. The id ends with a space. Did you mean carol ";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    let ran = explain_unknown("zoe", &known);
    assert_eq!((ran.code, advice(&ran).len()), (10, 0), "{}", ran.stdout);
    assert!(!ran.stdout.contains("assign"), "that would create zoe: {}", ran.stdout);
}

/// A full license of 5,000 seats shows the ten holders that licd names, and reads their emails.
#[test]
fn a_large_license_shows_ten_holders() {
    let mut license = explained("active", None, "exceeded_seats");
    license["seatsUsed"] = json!(5000);
    let seat = usage(1)["activations"][0].clone();
    let holders = (0..10).map(|at| {
        let mut seat = seat.clone();
        seat["externalId"] = json!(format!("user-{at}"));
        seat
    });
    license["remedies"][0]["holders"] = holders.collect();
    let (ran, server) = explain(explanation(Some("exceeded_seats"), &[license]));
    let heading = "5000 of 5 seats in use; least recently checked first:\nUSER";
    let (_, holders) = ran.stdout.split_once(heading).unwrap();
    let lines: Vec<&str> = holders.lines().skip(1).take(11).collect();
    assert!(lines[0].starts_with("user-0 ") && lines[9].starts_with("user-9 "), "{lines:?}");
    assert_eq!(lines[10], format!("4990 more: licctl licenses usage {LICENSE}"));
    assert_eq!(server.lines().len(), 2, "key and explanation");
}

#[test]
fn several_users_are_explained_one_after_the_other() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["validate", "carol", "dave", "--explain"]);
    assert_eq!(ran.code, 10);
    assert_eq!(ran.stdout.matches("no  answer    exceeded_seats").count(), 2, "{}", ran.stdout);
    let users = |args: &[&str]| {
        let json = home.run(args).json();
        let users = json.as_array().unwrap().iter().map(|it| it["userId"].clone());
        users.collect::<Vec<_>>()
    };
    assert_eq!(users(&["validate", "carol", "dave", "--explain", "-o", "json"]), ["carol", "dave"]);
    assert_eq!(users(&["validate", "carol", "--explain", "-o", "json"]), ["carol"]);
}

#[test]
fn a_required_feature_is_part_of_the_explanation() {
    let explanation = explanation(None, &[explained("active", None, "valid")]);
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::data(200, &explanation),
    });
    let explain = |features| {
        Home::with(&server).run(&["validate", "carol", "--explain", "--feature", features])
    };
    let ran = explain("sso");
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("ok  features  the license has export, sso\n"), "{}", ran.stdout);
    let ran = explain("sso,api");
    assert_eq!(ran.code, 10);
    let line = "no  features  the license is missing api; it has export, sso\n";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    assert_eq!(advice(&ran), ["licctl licenses update LIC --feature export,sso,api"]);
}

/// The trial came first and lacks what the bought license has.
#[test]
fn a_license_with_the_feature_is_put_first() {
    let mut bought = explained("active", None, "not_reached");
    (bought["license"]["features"], bought["seatsUsed"]) = (json!(["api", "sso"]), json!(1));
    bought["name"] = json!("Order 50");
    let explanation = explanation(None, &[explained("active", None, "valid"), bought]);
    let server = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::data(200, &explanation),
    });
    let ran = Home::with(&server).run(&["validate", "carol", "--explain", "--feature", "api"]);
    assert_eq!(advice(&ran), ["licctl licenses assign LIC carol --first"]);
    assert!(ran.stdout.contains("Pro annual · Order 50"), "{}", ran.stdout);
}

/// The user of a floating seat takes it again when it is needed.
#[test]
fn a_floating_seat_is_released() {
    let mut license = explained("active", None, "exceeded_seats");
    license["terms"] = json!({ "seatIdleMinutes": 60 });
    let (ran, _) = explain(explanation(Some("exceeded_seats"), &[license]));
    assert_eq!(advice(&ran)[0], "licctl licenses release LIC alice");
}
