//! Floating seats, grace and days that start later, as flags.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::json;

use crate::support::{FakeServer, Home, LICENSE, PLAN, Reply, license_with_seats, plan, service};

/// The terms of plans and licenses, as spans; a span without a unit could be minutes or days.
#[test]
fn terms_are_given_as_spans() {
    let server = service();
    let home = Home::with(&server);
    let body = |args: &[&str]| {
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        server.received().into_iter().rfind(|it| it.method == "PATCH").unwrap().body
    };
    let plan = ["plans", "update", PLAN, "--seat-idle", "30d", "--grace", "2w"];
    let sent = body(&[&plan[..], &["--expires-from", "firstValidation"]].concat());
    assert_eq!(
        sent,
        json!({ "seatIdleMinutes": 43200, "graceDays": 14, "expiresFrom": "firstValidation" })
    );
    let license = ["licenses", "update", LICENSE, "--seat-idle", "none", "--grace", "none"];
    assert_eq!(body(&license), json!({ "clear": ["seatIdleMinutes", "graceDays"] }));
    let waits = body(&["licenses", "update", LICENSE, "--starts-with-days", "14"]);
    assert_eq!(waits, json!({ "startsWithDays": 14 }));
    let ran = home.run(&["licenses", "update", LICENSE, "--seat-idle", "1h"]);
    assert!(ran.stderr.contains("must validate each user every 20 minutes"), "{}", ran.stderr);
    for wrong in ["30", "4m", "400d", "90s"] {
        let ran = home.run(&["licenses", "update", LICENSE, "--seat-idle", wrong]);
        assert_eq!(ran.code, 2, "{wrong}");
        assert!(ran.stderr.contains("whole minutes from 5m to 1y"), "{wrong}: {}", ran.stderr);
    }
}

/// Changes show it as `get` and `list` do, unless they end the grace.
#[test]
fn changes_of_a_license_in_grace_say_so() {
    let yesterday = Timestamp::now().plus(-TimeDelta::days(1));
    let server = FakeServer::answering(move |request| {
        if request.path.contains("/plans") {
            return Reply::list(&[plan("Team")]);
        }
        let mut license = license_with_seats(0);
        license["expiresAt"] = json!(yesterday);
        if request.method == "GET" {
            license["terms"] =
                json!({ "seatIdleMinutes": null, "graceDays": 14, "startsWithDays": null });
        }
        Reply::data(200, &license)
    });
    let home = Home::with(&server);
    for (change, is_in_grace) in [
        (&["activate"][..], true),
        (&["update", "--max-seats", "9"], true),
        (&["update", "--grace", "7d"], true),
        (&["update", "--grace", "none"], false),
    ] {
        let (verb, flags) = change.split_first().unwrap();
        let ran = home.run(&[&["licenses", verb, LICENSE, "--yes"], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (grace, expired) = ("in grace until", "active (expired");
        assert_eq!(ran.stdout.contains(grace), is_in_grace, "{change:?}: {}", ran.stdout);
        assert_eq!(ran.stdout.contains(expired), !is_in_grace, "{change:?}: {}", ran.stdout);
    }
}
