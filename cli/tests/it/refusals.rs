//! `licctl refusals list`: its filters, and the pages that it reads.

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, Reply, refusal, service, user};

/// A service with three pages of refusals: of this hour, of three hours ago, and of a day ago.
fn pages() -> FakeServer {
    FakeServer::answering(|request| {
        let (next, hours, reason) = match request.path.split("after=").nth(1) {
            None => (Some("a"), 0, "expired"),
            Some("a") => (Some("b"), 3, "revoked"),
            Some(_) => (None, 24, "expired"),
        };
        let time = common::Timestamp::now().plus(-chrono::TimeDelta::hours(hours));
        let of_user = |user: &str| {
            let mut refusal = refusal(user, reason);
            refusal["hour"] = json!(common::hour_of(time));
            refusal["firstAt"] = json!(time);
            refusal["lastAt"] = json!(time);
            refusal
        };
        let data = [of_user(&format!("x{hours}")), of_user(&format!("y{hours}"))];
        let body = json!({ "success": true, "data": data, "nextCursor": next });
        Reply::new(200, body.to_string())
    })
}

/// The users whose refusals a line shows, and how many pages it reads.
fn shown(args: &[&str]) -> (String, usize) {
    let server = pages();
    let ran = Home::with(&server).run(&[&["refusals", "list", "-o", "json"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let users = ran.json().as_array().unwrap().iter().map(|it| it["userId"].clone()).collect();
    let Value::Array(users) = users else { panic!() };
    let users: Vec<&str> = users.iter().filter_map(Value::as_str).collect();
    (users.join(" "), server.lines().len())
}

#[test]
fn no_more_pages_are_read_than_are_needed() {
    assert_eq!(shown(&[]), ("x0 y0 x3 y3 x24 y24".into(), 3));
    assert_eq!(shown(&["--limit", "1"]), ("x0".into(), 1));
    assert_eq!(shown(&["--limit", "3"]), ("x0 y0 x3".into(), 2));
}

#[test]
fn reasons_and_times_are_filters_of_the_service() {
    let server = pages();
    let args = ["refusals", "list", "--reason", "revoked", "--since", "1h", "--limit", "2"];
    assert_eq!(Home::with(&server).run(&args).code, 0);
    let asked = &server.lines()[0];
    let (_, from) = asked.split_once("?reason=revoked&from=").unwrap();
    let (from, limit) = from.split_once('&').unwrap();
    assert_eq!(limit, "limit=3", "one more shows whether there are others");
    let from: common::Timestamp = from.replace("%3A", ":").parse().unwrap();
    let ago = common::Timestamp::now().since(from);
    assert!((60..62).contains(&ago.num_minutes()), "{asked}");
}

#[test]
fn a_user_is_a_filter_of_the_service() {
    let server = FakeServer::answering(|request| match request.path.contains("/users?") {
        true => Reply::list(&[user("a b")]),
        false => Reply::list(&[]),
    });
    let ran = Home::with(&server).run(&["refusals", "list", "a b"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("licctl validate \"a b\" --explain"), "{}", ran.stderr);
    assert_eq!(server.lines()[0], "GET /api/v1/admin/refusals?userId=a%20b&limit=51");
    assert_eq!(Home::with(&server).run(&["refusals", "list", "--reason", "nope"]).code, 2);
}

#[test]
fn csv_has_the_same_columns_for_every_answer() {
    let home = Home::with(&service());
    let first = |args: &[&str]| {
        let csv = home.run(&[args, &["-o", "csv"]].concat()).stdout;
        (csv.lines().next().unwrap_or_default().to_owned(), csv.lines().count())
    };
    let refusals = "id,userId,reason,licenseId,hour,count,firstAt,lastAt";
    assert_eq!(first(&["refusals", "list"]), (refusals.into(), 2));
    let (events, count) = first(&["events", "list"]);
    assert!(events.starts_with("id,sequence,type,time,actorType") && count == 4, "{events}");
    let (days, count) = first(&["stats", "--by", "day"]);
    assert!(days.starts_with("day,total,valid,noLicense") && count == 3, "{days}");
    let (explained, count) = first(&["validate", "carol", "dave", "--explain"]);
    assert_eq!(
        (explained.as_str(), count),
        ("userId,valid,reason,summary,checkedAt,missingFeatures", 3)
    );
}
