//! `licctl doctor`: the state of every check, and the exit code of the first failed one.

use serde_json::json;

use crate::support::{FakeServer, Home, Reply, Request, RunOutput, current_key};

/// A healthy service with the clock of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "the date of an HTTP header, which has no milliseconds"
)]
fn well(request: &Request) -> Reply {
    let date = chrono::Utc::now().format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let reply = match request.path.as_str() {
        "/healthz" | "/readyz" => Reply::data(200, &json!({ "status": "ok" })),
        "/api/v1/openapi.json" => {
            let document = json!({ "info": { "version": env!("CARGO_PKG_VERSION") } });
            Reply::new(200, document.to_string())
        }
        _ => Reply::data(200, &current_key()),
    };
    reply.with("date", date)
}

fn state(ran: &RunOutput, check: &str) -> String {
    let all = ran.json();
    let found = all.as_array().unwrap().iter().find(|it| it["check"] == check);
    found.unwrap_or_else(|| panic!("{check}: {all}"))["state"].as_str().unwrap().to_owned()
}

#[test]
fn all_checks_pass() {
    let server = FakeServer::answering(well);
    let home = Home::with(&server);
    let ran = home.run(&["doctor"]);
    let seen = ran.seen(&server, &home).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(seen, @"
    ok       configuration  FOLDER/ has 0 profiles
    ok       permissions    no key is stored in a file
    ok       server         http://SERVER
    ok       name           127.0.0.1 is 127.0.0.1
    ok       connection     licd responds, unencrypted
    ok       database       licd can reach it
    ok       clock          within 30 s of the server
    ok       version        licd and licctl VERSION
    ok       key            sk_live_CANA… from LICCTL_API_KEY: admin, live, tenant acme
    [exit 0]
    ");
    let keyless = ["/healthz", "/readyz", "/api/v1/openapi.json"];
    let received = server.received();
    let with_key = received.iter().filter(|request| request.key.is_some());
    assert!(with_key.clone().all(|request| !keyless.contains(&request.path.as_str())));
    assert_eq!(with_key.count(), 1);
}

#[test]
fn the_first_thing_that_is_not_well_gives_the_exit_code() {
    let gone = Home::bare().set("LICCTL_SERVER", "http://licenses.invalid:1");
    let ran = gone.run(&["doctor", "--allow-http", "-o", "json"]);
    assert_eq!((ran.code, state(&ran, "name").as_str()), (7, "no"));
    assert_eq!(state(&ran, "connection"), "no");

    let page = FakeServer::answering(|_| Reply::new(200, "<html>"));
    let ran = Home::with(&page).run(&["doctor", "-o", "json"]);
    assert_eq!((ran.code, state(&ran, "connection").as_str()), (7, "no"));

    let away = FakeServer::answering(|request| match request.path.as_str() {
        "/readyz" => Reply::refusal(503, "unavailable", "Away."),
        _ => well(request),
    });
    let ran = Home::with(&away).run(&["doctor", "-o", "json"]);
    assert_eq!((ran.code, state(&ran, "database").as_str()), (7, "no"));

    let strict = FakeServer::answering(|request| match request.path.as_str() {
        "/api/v1/key" => Reply::refusal(401, "unauthorized", "Unauthorized"),
        _ => well(request),
    });
    let ran = Home::with(&strict).run(&["doctor", "-o", "json"]);
    assert_eq!((ran.code, state(&ran, "key").as_str()), (4, "no"));
}

#[test]
fn a_wrong_clock_is_a_warning() {
    let server = FakeServer::answering(|request| match request.path.as_str() {
        "/healthz" => Reply::data(200, &json!({})).with("date", "Mon, 01 Jan 2024 00:00:00 GMT"),
        _ => well(request),
    });
    let ran = Home::with(&server).run(&["doctor"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("warning  clock          the server is"), "{}", ran.stdout);
    assert!(ran.stdout.contains("s behind this machine"), "{}", ran.stdout);
}
