//! `licctl licenses renew`: when the new term begins, how long it is, and what it takes.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::{Value, json};

use crate::support::{FakeServer, Home, LICENSE, Reply, license_with_seats, plan};

fn patches(server: &FakeServer) -> Vec<Value> {
    let received = server.received().into_iter();
    received.filter(|it| it.method == "PATCH").map(|it| it.body).collect()
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
            ("PATCH", path) if path.ends_with("/status") => {
                license["status"] = request.body["status"].clone();
                Reply::data(200, &license)
            }
            ("PATCH", _) => {
                license["expiresAt"] = request.body["expiresAt"].clone();
                license["updatedAt"] = "2026-02-01T12:00:00.000Z".into();
                Reply::data(200, &license)
            }
            _ => Reply::data(200, &license),
        }
    })
}

#[test]
fn a_renewal_begins_when_the_license_ends() {
    let year = || json!(365);
    for (status, ends_in, term, args, days) in [
        ("active", 10, year(), &[][..], 375),
        ("active", -10, year(), &[], 365),
        ("active", 10, Value::Null, &["--days", "30"], 40),
        ("active", 10, year(), &["--days", "1y"], 375),
        ("suspended", 10, year(), &[], 375),
    ] {
        let server = with_license(status, Some(ends_in), term);
        let ran = Home::with(&server).run(&[&["licenses", "renew", LICENSE, "-q"], args].concat());
        assert_eq!((ran.code, ran.stdout.trim()), (0, LICENSE), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("is still suspended"), status == "suspended");
        let body = &patches(&server)[0];
        let end: Timestamp = body["expiresAt"].as_str().unwrap().parse().unwrap();
        // Some time has passed since the server began.
        let ahead = Timestamp::now().plus(TimeDelta::days(days)).since(end);
        assert!(
            ahead >= TimeDelta::zero() && ahead < TimeDelta::hours(1),
            "{status} {days}: {end}"
        );
    }
}

/// A year of the calendar ends on the same day, also if one of its days is the 29th of February.
#[test]
fn a_renewal_for_a_year_keeps_the_day() {
    let end = |text: &str| -> Timestamp { text.parse().unwrap() };
    for (was, term, now) in [
        ("2099-12-13T00:00:00Z", "1y", "2100-12-13T00:00:00Z"),
        ("2096-02-01T12:00:00Z", "1mo", "2096-03-01T12:00:00Z"),
        ("2095-02-01T00:00:00Z", "1y", "2096-02-01T00:00:00Z"),
        ("2095-12-01T00:00:00Z", "30d", "2095-12-31T00:00:00Z"),
    ] {
        let server = FakeServer::answering(move |request| {
            let mut license = license_with_seats(0);
            license["expiresAt"] = json!(end(was));
            if request.method == "PATCH" {
                license["expiresAt"] = request.body["expiresAt"].clone();
            }
            Reply::data(200, &license)
        });
        let ran = Home::with(&server).run(&["licenses", "renew", LICENSE, "--for", term, "-q"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(patches(&server)[0]["expiresAt"], json!(end(now)), "{was} {term}");
    }
    let server = with_license("active", Some(1), json!(365));
    for args in [&["--for", "30"][..], &["--for", "1y", "--days", "30"]] {
        let ran = Home::with(&server).run(&[&["licenses", "renew", LICENSE], args].concat());
        assert_eq!(ran.code, 2, "{args:?}");
    }
}

#[test]
fn a_renewal_activates_an_expired_license() {
    let server = with_license("expired", Some(-1), json!(30));
    let ran = Home::with(&server).run(&["licenses", "renew", LICENSE, "-o", "json"]);
    assert_eq!((ran.code, &ran.json()[0]["status"]), (0, &json!("active")), "{}", ran.stderr);
    let [date, status] = &patches(&server)[..] else { panic!("{:?}", server.lines()) };
    assert!(date["expiresAt"].is_string());
    assert_eq!(status, &json!({ "status": "active" }));
    // The request names the state that was renewed, because the license may be revoked in between.
    let last = server.received().into_iter().rfind(|it| it.method == "PATCH").unwrap();
    assert_eq!(last.if_match.as_deref(), Some("\"1769947200000\""));
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
        ("PATCH", Some("\"1769860800000\""))
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
    assert!(patches(&server).is_empty());
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
