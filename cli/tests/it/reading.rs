//! The output of commands that change nothing, without a terminal.

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, PLAN, Reply, RunOutput, answer, assigned, plan, product, service,
    usage, user,
};

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
    license       lic_01h455vb4pex5vsknk084sn02q
    name          Order 4711
    product       Acme Studio (prd_01h455vb4pex5vsknk084sn02q)
    plan          Pro annual (pln_01h455vb4pex5vsknk084sn02q)
    status        active
    seats         4 of 5 seats in use
    expires       2999-01-31T12:00:00.000Z
    features      export,sso
    created       2026-01-31T12:00:00.000Z
    updated       2026-01-31T12:00:00.000Z
    license keys  …67J8KX valid
    status set    2026-02-01T12:00:00.000Z by ops
    metadata

    USER   EMAIL              ACTIVATED                 LAST CHECKED
    alice  alice@example.com  2026-01-31T12:00:00.000Z  2026-02-01T12:00:00.000Z

    Assigned without a seat: 1
    USER  EMAIL             NAME  SEAT CHECKED  ASSIGNED
    dave  dave@example.com        no seat       2026-01-31T12:00:00.000Z
    ");
}

/// A license for thousands of users, none of whom has a seat yet.
#[test]
fn a_license_card_counts_the_users_without_a_seat() {
    let server = FakeServer::answering(|request| match &*request.path {
        path if path.contains("/assignments") => {
            let users = (0..1000).map(|at| assigned(&format!("user-{at}"), false));
            let users: Vec<Value> = users.collect();
            let body = json!({ "success": true, "data": users, "nextCursor": "x" });
            Reply::new(200, body.to_string())
        }
        path if path.contains("/usage") => {
            let mut usage = usage(0);
            usage["activations"] = json!([]);
            usage["totalActivations"] = json!(0);
            Reply::data(200, &usage)
        }
        _ => answer(request),
    });
    let text = run(&server, &["licenses", "get", LICENSE]).stdout;
    assert!(text.contains("\nAssigned without a seat: 1000 or more\n"), "{text}");
    assert_eq!(text.matches("no seat").count(), 10, "{text}");
    let all = format!("See all: licctl licenses assignments {LICENSE}\n");
    assert!(text.ends_with(&all), "{text}");
}

/// A spreadsheet of holders without their addresses is of no use.
#[test]
fn usage_shows_the_emails_of_many_holders_with_few_requests() {
    let server = FakeServer::answering(|request| match &*request.path {
        path if path.contains("/usage") => {
            let mut usage = usage(40);
            let seat = usage["activations"][0].clone();
            usage["activations"] = vec![seat; 40].into();
            Reply::data(200, &usage)
        }
        _ => answer(request),
    });
    let ran = run(&server, &["licenses", "usage", LICENSE, "-c", "user,email"]);
    assert_eq!(ran.stdout.matches("alice@example.com").count(), 40, "{ran:?}");
    assert_eq!(server.received().len(), 2, "the license and its seats");
}

#[test]
fn a_license_is_found_by_its_name() {
    let server = service();
    let id = format!("{LICENSE}\n");
    assert_eq!(run(&server, &["licenses", "get", "Order 4711", "-q"]).stdout, id);
    let args = ["licenses", "update", "Order 4711", "--name", "none"];
    assert_eq!(run(&server, &args).code, 0);
    let patch = server.received().into_iter().find(|it| it.method == "PATCH").unwrap();
    assert_eq!(patch.body, json!({ "clear": ["name"] }));
}

#[test]
fn a_list_of_licenses_counts_the_seats() {
    let server = service();
    insta::assert_snapshot!(cells(&run(&server, &["licenses", "ls"]).stdout), @"
    ID | PRODUCT | PLAN | NAME | STATUS | SEATS | EXPIRES | FEATURES
    LICENSE | Acme Studio | Pro annual | Order 4711 | active | 4/5 | 2999-01-31T12:00:00.000Z | export,sso
    ");
    let ids = run(&server, &["licenses", "ls", "--product", "Acme Studio", "-q"]);
    assert_eq!(ids.stdout.trim(), LICENSE);
}

#[test]
fn usage_can_fail_a_check_before_the_seats_are_gone() {
    let server = service();
    let usage = |limit: &'static str| run(&server, &["licenses", "usage", LICENSE, limit]);
    assert_eq!(usage("--fail-at=81%").code, 0);
    assert_eq!((usage("--fail-at=0.81").code, usage("--fail-at=0.8").code), (0, 10));
    for neither in
        ["--fail-at=80", "--fail-at=2", "--fail-at=0%", "--fail-at=101%", "--fail-at=1.1"]
    {
        let ran = usage(neither);
        assert_eq!(ran.code, 2, "{neither}");
        assert!(ran.stderr.contains("such as 90% or 0.9"), "{}", ran.stderr);
    }
    let full = usage("--fail-at=80%");
    assert_eq!(full.code, 10);
    assert!(full.stdout.starts_with("4 of 5 seats in use\nUSER"), "{}", full.stdout);
}

#[test]
fn one_seat_without_a_limit_is_singular() {
    for (seats, told) in [(1, "1 seat in use, no limit\n"), (2, "2 seats in use, no limit")] {
        let server = FakeServer::answering(move |request| {
            if !request.path.contains("/usage") {
                return answer(request);
            }
            let mut usage = usage(seats);
            usage["license"]["maxSeats"] = Value::Null;
            Reply::data(200, &usage)
        });
        let ran = run(&server, &["licenses", "usage", LICENSE]);
        assert!(ran.stdout.starts_with(told), "{}", ran.stdout);
    }
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
    let answer = json!({ "userId": "bob", "valid": false, "reason": "no_license" });
    assert_eq!(ran.json(), json!([answer]), "several users are possible, so it is an array");
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

/// Seats come with the emails of their users.
#[test]
fn holders_take_no_further_requests() {
    let server = FakeServer::answering(|request| {
        if !request.path.contains("/usage") {
            return answer(request);
        }
        let mut usage = usage(4);
        let seat = usage["activations"][0].clone();
        let many = if request.path.contains("limit=25") { 25 } else { 26 };
        usage["activations"] = vec![seat; many].into();
        usage["totalActivations"] = json!(26);
        Reply::data(200, &usage)
    });
    let home = Home::with(&server);
    let requests = |args: &[&str]| {
        let before = server.lines().len();
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        (server.lines().len() - before, ran.stdout)
    };
    let (count, table) = requests(&["licenses", "usage", LICENSE]);
    assert_eq!((count, table.contains("EMAIL"), table.lines().count()), (2, true, 28));
    assert_eq!(requests(&["licenses", "usage", LICENSE, "-o", "json"]).0, 2);
    let (count, card) = requests(&["licenses", "get", LICENSE]);
    assert_eq!(count, 7);
    let more = format!("1 more: licctl licenses usage {LICENSE}\n");
    assert!(card.contains(&more), "{card}");
}

#[test]
fn the_page_of_a_user_shows_all_of_it() {
    let server = service();
    let ran = run(&server, &["users", "get", "alice"]);
    insta::assert_snapshot!(cells(&ran.stdout), @"
    user | alice
    id | usr_01h455vb4pex5vsknk084sn02q
    email | alice@example.com
    name
    metadata
    created | 2026-01-31T12:00:00.000Z
    updated | 2026-01-31T12:00:00.000Z
    answer | exceeded_seats: So it is.

    Licenses, in the order in which they are checked:
    LICENSE | PRODUCT | PLAN | STATUS | SEATS | OWN SEAT CHECKED | VERDICT
    LICENSE | Acme Studio | Pro annual | active | 5/5 | no seat | exceeded_seats

    Recent refusals, newest first:
    REASON | TIMES | LAST | LICENSE
    expired | 3 | 2026-02-01T12:00:00.000Z | LICENSE

    Recent events, newest last:
    TIME | TYPE | SUBJECT | BY | WHAT CHANGED
    2026-02-01T12:00:00.000Z | license.created | LICENSE | ops | maxSeats: 3
    2026-02-01T12:00:00.000Z | license.updated | LICENSE | ops | maxSeats: 3 → 5
    2026-02-01T12:00:00.000Z | license.status_changed | LICENSE | ops | status: active → revoked
    ");
    let json = run(&server, &["users", "get", "alice", "-o", "json"]).json();
    assert_eq!(
        (&json["externalId"], &json["email"]),
        (&json!("alice"), &json!("alice@example.com"))
    );
    assert_eq!(json["licenses"][0]["verdict"], "exceeded_seats");
    assert_eq!(json["validation"]["reason"], "exceeded_seats");
    assert_eq!(json["refusals"][0]["count"], 3);
    assert_eq!(json["events"][2]["sequence"], 3);
}

#[test]
fn a_misspelt_user_is_asked_about() {
    let server = FakeServer::answering(|request| match request.path.split_once("similarTo=") {
        Some((_, text)) if text.starts_with("bob") => Reply::list(&[]),
        Some(_) => Reply::list(&[user("alice")]),
        None if request.path.contains("externalId=") => Reply::list(&[]),
        None => answer(request),
    });
    for (given, fix) in
        [("alice@example.com", "licctl users get alice"), ("bob", "licctl users list")]
    {
        let ran = run(&server, &["users", "get", given]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
        assert!(ran.stderr.contains(&format!("fix: {fix}\n")), "{}", ran.stderr);
        let suggests = ran.stderr.contains("Did you mean alice (alice@example.com)?");
        assert_eq!(suggests, given != "bob", "{}", ran.stderr);
    }
}

/// Anyone with a validate key can name a user so that a spreadsheet calculates.
#[test]
fn csv_with_a_formula_is_noted() {
    for (name, is_noted) in [("=1+1", true), ("@SUM(A1)", true), ("a=1", false)] {
        let server = FakeServer::answering(move |_| Reply::list(&[product(name)]));
        let ran = run(&server, &["products", "list", "-o", "csv"]);
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
        assert_eq!(ran.stderr.contains("are formulas to a spreadsheet"), is_noted, "{name}");
    }
    // Said once, by whichever page has the first.
    let server = FakeServer::answering(|request| {
        let (name, next) = match request.path.split_once("after=") {
            None => ("a", json!("1")),
            Some((_, "1")) => ("=1", json!("2")),
            Some(_) => ("=2", json!(null)),
        };
        let body = json!({ "success": true, "data": [product(name)], "nextCursor": next });
        Reply::new(200, body.to_string())
    });
    let ran = run(&server, &["products", "list", "-o", "csv"]);
    assert_eq!(ran.stderr.matches("are formulas to a spreadsheet").count(), 1, "{}", ran.stderr);
}

#[test]
fn the_page_of_a_record_is_opened() {
    let server = service();
    let dashboard = format!("{}/dashboard/live", server.address);
    let page = run(&server, &["licenses", "get", LICENSE, "--web"]);
    assert_eq!(page.stdout, format!("{dashboard}/licenses/{LICENSE}\n"));
    let page = run(&server, &["users", "get", "alice", "--web"]);
    assert!(page.stdout.starts_with(&format!("{dashboard}/users/usr_")), "{}", page.stdout);
}
