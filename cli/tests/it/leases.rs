//! Leases: the output in a file, and verification without the server.

use std::fs;

use serde_json::json;

use crate::support::leases::LEASE;
use crate::support::terminal::{exit, on_a_terminal, press};
use crate::support::{FakeServer, Home, LICENSE, PRODUCT, Reply, answer, service, usage};

#[test]
fn a_file_gets_a_lease_or_nothing() {
    let server = service();
    let home = Home::with(&server);
    let issue = |user, more: &[&str]| {
        home.run(
            &[&["leases", "issue", user, "--product", PRODUCT, "--create-user"], more].concat(),
        )
    };
    let ran = issue("alice", &["--ttl", "30d", "--device", "desk"]);
    assert_eq!((ran.code, ran.stdout), (0, format!("{LEASE}\n")));
    assert!(ran.stderr.contains("until 2027-03-03T12:00:00.000Z"), "{}", ran.stderr);
    let sent = server.received().into_iter().rfind(|it| it.path == "/api/v1/lease").unwrap();
    assert_eq!(
        sent.body,
        json!({
            "userId": "alice", "productId": PRODUCT, "ttlSeconds": 2_592_000, "device": "desk",
        })
    );
    let ran = issue("bob", &[]);
    assert_eq!((ran.code, &*ran.stdout), (6, ""));
    assert!(ran.stderr.contains("licensed, but got no lease"), "{}", ran.stderr);
    let ran = issue("carol", &[]);
    assert_eq!((ran.code, &*ran.stdout), (10, ""));
    assert!(ran.stderr.contains("carol is not licensed: suspended"), "{}", ran.stderr);
    assert_eq!(issue("alice", &["--ttl", "59s"]).code, 2);
}

/// With the keys in a file nothing is asked of the server.
#[test]
fn a_lease_is_judged_as_an_application_does() {
    let server = service();
    let home = Home::with(&server);
    let keys = home.run(&["signing-keys", "export"]).stdout;
    let [keys_file, lease] = ["keys.json", "alice.lease"].map(|name| home.dir.path().join(name));
    fs::write(&keys_file, keys).unwrap();
    let before = server.received().len();
    let verify = |text: &str, at: &str, more: &[&str]| {
        fs::write(&lease, text).unwrap();
        let [keys, lease] = [&keys_file, &lease].map(|path| path.to_str().unwrap());
        let line = ["leases", "verify", lease, "--keys", keys, "--at", at];
        let product = if more.contains(&"--product") { &[][..] } else { &["--product", PRODUCT] };
        home.run(&[&line[..], product, more].concat())
    };
    let then = "2027-02-02T12:00:00Z";
    let ran = verify(&format!("{LEASE}\n"), then, &["--user", "alice", "--device", "desk"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("VALID") && ran.stdout.contains("30 days"), "{}", ran.stdout);
    let folded = format!("\u{feff}{}\r\n {}\r\n", &LEASE[..76], &LEASE[76..]);
    assert_eq!(verify(&folded, then, &[]).code, 0, "as mail folds it");
    assert_eq!(verify(LEASE, "2027-03-03T12:04:59Z", &[]).code, 0, "five minutes for clocks");
    let early = verify(LEASE, "2027-01-01T00:00:00Z", &[]);
    assert_eq!(early.code, 0);
    assert!(early.stderr.contains("this clock has not reached"), "{}", early.stderr);
    let other = "prd_01h455vb4pex5vsknk084sn02r";
    for (text, at, more, why) in [
        (LEASE, "2027-03-03T12:05:00Z", &[][..], "it has ended"),
        (LEASE, then, &["--user", "bob"], "for another user, alice"),
        (LEASE, then, &["--device", "laptop"], "for another device, desk"),
        (LEASE, then, &["--product", other], "for another product"),
        (&LEASE[1..], then, &[], "it is not a lease"),
        (&LEASE.replace(".pzuA", ".pzuY"), then, &[], "signature is wrong"),
    ] {
        let ran = verify(text, at, more);
        assert_eq!(ran.code, 10, "{why}: {}", ran.stdout);
        assert!(ran.stdout.contains(why), "{why}: {}", ran.stdout);
    }
    let named = verify(LEASE, then, &["--product", "Acme Studio"]);
    assert_eq!(named.code, 2, "{}", named.stderr);
    assert_eq!(server.received().len(), before);
}

/// A command that takes away the seat of a lease needs a flag that says so.
#[test]
fn a_seat_with_a_lease_is_taken_away_on_demand() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["licenses", "unassign", LICENSE, "alice", "--leases", "drop"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let paths: Vec<_> = server.received().into_iter().map(|it| it.path).collect();
    assert!(paths.iter().any(|path| path.ends_with("?userId=alice&leases=drop")), "{paths:?}");
    let refusing = FakeServer::answering(|request| match request.method.as_str() {
        "DELETE" => Reply::refusal(409, "lease_running", "A lease holds the seat"),
        _ => answer(request),
    });
    let ran = Home::with(&refusing).run(&["licenses", "unassign", LICENSE, "alice"]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("--leases drop"), "{}", ran.stderr);
}

/// Leases cannot be called back, so the administrator learns how long they last.
#[test]
fn a_revocation_tells_who_stays_licensed_offline() {
    let server = FakeServer::answering(|request| match &*request.path {
        path if path.contains("/usage") => {
            let mut usage = usage(2);
            usage["activations"][0]["leasedUntil"] = json!("2999-01-01T00:00:00.000Z");
            Reply::data(200, &usage)
        }
        _ => answer(request),
    });
    let home = Home::with(&server);
    for (verb, is_told) in [("suspend", true), ("revoke", true), ("activate", false)] {
        let ran = home.run(&["licenses", verb, LICENSE, "--yes"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told = "1 user stays licensed offline, the last until 2999-01-01T00:00:00.000Z";
        assert_eq!(ran.stderr.contains(told), is_told, "{verb}: {}", ran.stderr);
    }
}

#[test]
fn issuing_and_claiming_prompt_for_what_is_missing() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["leases", "issue"]);
    terminal.exp_string("external id").unwrap();
    press(&mut terminal, "alice\r");
    terminal.exp_string("Acme Studio").unwrap();
    press(&mut terminal, "\t\r");
    terminal.exp_string(LEASE).unwrap();
    terminal.exp_string("Without prompts: licctl leases issue").unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
    let mut terminal = on_a_terminal(&home, &["claim"]);
    terminal.exp_string("external id").unwrap();
    press(&mut terminal, "alice\r");
    terminal.exp_string("License key").unwrap();
    for (args, flag) in [(&["claim"][..], "USER"), (&["leases", "issue", "alice"], "--product")] {
        let refused = home.run(args);
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.stderr.contains(flag), "{args:?}: {}", refused.stderr);
    }
}
