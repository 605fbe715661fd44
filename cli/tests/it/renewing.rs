//! `licctl licenses renew`: when the new term begins, how long it is, and what it takes.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::{Value, json};

use crate::support::{FakeServer, Home, LICENSE, Reply, license_with_seats, plan};

/// The bodies of the renewals that were sent.
fn renewals(server: &FakeServer) -> Vec<Value> {
    let received = server.received().into_iter();
    received.filter(|it| it.path.ends_with("/renew")).map(|it| it.body).collect()
}

/// The service with a license of this status and end, and with plans of 365 days or none.
fn with_license(status: &'static str, ends_in: Option<i64>, term: Value) -> FakeServer {
    let end = ends_in.map(|days| Timestamp::now().plus(TimeDelta::days(days)));
    FakeServer::answering(move |request| {
        let mut license = license_with_seats(0);
        (license["status"], license["expiresAt"]) = (status.into(), json!(end));
        match (&*request.method, &*request.path) {
            ("GET", path) if path.contains("/plans") => {
                let mut plan = plan("Pro annual");
                plan["expiresInDays"] = term.clone();
                Reply::list(&[plan])
            }
            ("POST", path) if path.ends_with("/renew") => {
                license["status"] = "active".into();
                Reply::data(200, &license)
            }
            _ => Reply::data(200, &license),
        }
    })
}

/// The server computes the end.
#[test]
fn a_renewal_says_its_term_and_its_start() {
    for (args, body) in [
        (&[][..], json!({})),
        (&["--days", "30"], json!({ "for": "30d" })),
        (&["--days", "1y"], json!({ "for": "365d" })),
        (&["--for", "12mo"], json!({ "for": "1y" })),
        (&["--for", "2w", "--from", "end"], json!({ "for": "14d", "from": "end" })),
        (&["--from", "today"], json!({ "from": "today" })),
    ] {
        let server = with_license("active", Some(10), json!(365));
        let ran = Home::with(&server).run(&[&["licenses", "renew", LICENSE, "-q"], args].concat());
        assert_eq!((ran.code, ran.stdout.trim()), (0, LICENSE), "{}", ran.stderr);
        assert_eq!(renewals(&server), [body], "{args:?}");
    }
    let server = with_license("active", Some(1), json!(365));
    for args in [&["--for", "30"][..], &["--for", "1y", "--days", "30"], &["--from", "now"]] {
        let ran = Home::with(&server).run(&[&["licenses", "renew", LICENSE], args].concat());
        assert_eq!(ran.code, 2, "{args:?}");
    }
}

#[test]
fn a_renewal_activates_an_expired_license() {
    let server = with_license("expired", Some(-1), json!(30));
    let ran = Home::with(&server).run(&["licenses", "renew", LICENSE, "-o", "json"]);
    assert_eq!((ran.code, &ran.json()[0]["status"]), (0, &json!("active")), "{}", ran.stderr);
    // The request names the state that was renewed, because the license may be revoked in between.
    let last = server.received().into_iter().rfind(|it| it.method == "POST").unwrap();
    assert_eq!(last.if_match.as_deref(), Some("\"1769860800000\""));
}

#[test]
fn a_renewal_without_a_term_says_what_to_give() {
    for (ends_in, code, fix) in [
        (Some(10), 2, "licctl licenses renew LIC --days 365"),
        (None, 6, "licctl licenses update LIC --expires-in 1y"),
    ] {
        let server = with_license("active", ends_in, Value::Null);
        let ran = Home::with(&server).run(&["licenses", "renew", LICENSE]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""));
        assert!(ran.stderr.contains(&fix.replace("LIC", LICENSE)), "{}", ran.stderr);
        assert!(server.received().iter().all(|request| request.method == "GET"));
    }
}

/// Both would begin at the same end, so that the customer would get one term for two.
#[test]
fn of_two_renewals_at_the_same_time_the_second_is_refused() {
    let server = FakeServer::answering(|request| match request.method.as_str() {
        "GET" if request.path.contains("/plans") => Reply::list(&[plan("Pro annual")]),
        "GET" => Reply::data(200, &license_with_seats(0)),
        _ => Reply::refusal(409, "changed", "The license has changed. Read it again."),
    });
    let ran = Home::with(&server).run(&["licenses", "renew", LICENSE]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
    let changed = format!("error: {LICENSE} was changed in the meantime.\n");
    assert!(ran.stderr.starts_with(&changed), "{}", ran.stderr);
    let sent = server.received().pop().unwrap();
    assert_eq!(
        (sent.method.as_str(), sent.if_match.as_deref()),
        ("POST", Some("\"1769860800000\""))
    );
}

/// A list that is sent again gives no license a second term. A command that names one license does.
#[test]
fn a_list_is_renewed_once_a_term() {
    for (ends_in, args, codes) in
        [(364, &[][..], [0, 0]), (367, &[], [6, 0]), (700, &["--days", "30"], [0, 0])]
    {
        let server = with_license("active", Some(ends_in), json!(365));
        let renew = ["licenses", "renew", "--yes", LICENSE];
        for (more, code) in [([LICENSE], codes[0]), (["-q"], codes[1])] {
            let ran = Home::with(&server).run(&[&renew[..], &more, args].concat());
            assert_eq!(ran.code, code, "{ends_in} {args:?}: {}", ran.stderr);
            let said = ran.stderr.contains("is valid for more than a term, until ");
            assert_eq!(said, code != 0, "{}", ran.stderr);
        }
    }
}

/// The length of a list is no safeguard: a list on stdin may happen to have one license.
#[test]
fn a_list_of_one_license_is_a_list() {
    let server = with_license("active", Some(700), json!(365));
    let home = Home::with(&server);
    let ran = home.run_with_input(&["licenses", "renew", "-", "--yes"], &format!("{LICENSE}\n"));
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("is valid for more than a term"), "{ran:?}");
    assert!(renewals(&server).is_empty());
    // `xargs` passes one license as an argument, as a person does.
    let ran = home.run(&["licenses", "renew", LICENSE, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("it may have been renewed for this term already"), "{ran:?}");
}

/// A later end does not make a license valid whose status is expired.
#[test]
fn an_expired_license_with_a_later_end_is_said_to_be_expired() {
    let server = with_license("expired", Some(-1), json!(365));
    let ran = Home::with(&server).run(&["licenses", "update", LICENSE, "--expires-in", "1y"]);
    assert!(ran.stderr.contains("is still expired"), "{}", ran.stderr);
}

#[test]
fn a_license_that_waits_is_renewed_by_days_that_it_has_not_yet() {
    let server = FakeServer::answering(|request| {
        let mut license = license_with_seats(0);
        license["expiresAt"] = json!(null);
        license["terms"] = json!({ "startsWithDays": 20 });
        match request.path.contains("/plans") {
            true => Reply::list(&[plan("Pro annual")]),
            false => Reply::data(200, &license),
        }
    });
    let ran = Home::with(&server).run(&["licenses", "renew", LICENSE]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("--starts-with-days 385"), "{}", ran.stderr);
}
