//! Lists: their first records, a record on each line, and pages that are printed as they arrive.

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, PLAN, Reply, Request, license_with_seats, service, user,
};

/// Three pages of two users each; the last one may be refused.
fn users(refuse_the_last: bool) -> FakeServer {
    FakeServer::answering(move |request| page(request, refuse_the_last))
}

fn page(request: &Request, refuse_the_last: bool) -> Reply {
    let at = match request.path.split_once("after=") {
        None => 0,
        Some((_, cursor)) => cursor.parse::<usize>().unwrap(),
    };
    if at == 2 && refuse_the_last {
        return Reply::refusal(500, "internal", "Something broke.");
    }
    let data = [user(&format!("u{at}a")), user(&format!("u{at}b"))];
    let next = if at < 2 { json!((at + 1).to_string()) } else { Value::Null };
    Reply::new(200, json!({ "success": true, "data": data, "nextCursor": next }).to_string())
}

#[test]
fn a_limit_is_refused_with_its_bound() {
    for limit in ["0", "-1", "many", "99999999999999999999"] {
        let ran = Home::bare().run(&["users", "list", &format!("--limit={limit}")]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("must be a whole number of at least 1"), "{}", ran.stderr);
    }
}

#[test]
fn a_limit_fetches_no_more_than_it_shows() {
    let server = users(true);
    let home = Home::with(&server);
    for (limit, ids, requests) in [("1", "u0a\n", 1), ("3", "u0a\nu0b\nu1a\n", 2)] {
        let before = server.received().len();
        let ran = home.run(&["users", "list", "--limit", limit, "-q"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ids), "{}", ran.stderr);
        assert_eq!(server.received().len() - before, requests);
        assert!(server.lines()[before].contains(&format!("?limit={limit}")));
    }
    assert_eq!(
        home.run(&["users", "list", "--limit", "2", "-o", "json"]).json()[1]["id"],
        user("u")["id"]
    );
    home.run(&["users", "list", "--limit", "2", "--search", "B@", "-q"]);
    assert!(server.lines().last().unwrap().ends_with("search=B%40&limit=2"), "licd searches");
    assert_eq!(home.run(&["users", "list", "--limit", "0"]).code, 2);
}

#[test]
fn every_list_takes_a_limit() {
    let server = FakeServer::answering(|request| match request.path.contains("licenses") {
        true => Reply::list(&[license_with_seats(4), license_with_seats(4)]),
        false => crate::support::answer(request),
    });
    let home = Home::with(&server);
    for noun in ["products", "plans", "licenses", "users", "keys"] {
        let ran = home.run(&[noun, "list", "--limit", "1", "-q"]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{noun}: {}", ran.stderr);
        assert!(server.lines().last().unwrap().ends_with("limit=1"), "{:?}", server.lines());
    }
}

/// licd chooses what is listed, so that no more of it is read.
#[test]
fn licenses_are_chosen_by_the_service() {
    let server = service();
    let home = Home::with(&server);
    for (args, query) in [
        (&["--status", "revoked", "--limit", "1"][..], "state=revoked&limit=1"),
        (&["--search", "acme st"], "search=acme%20st&"),
        (&["--expiring-within", "30d"], "state=active&endsBefore="),
    ] {
        assert_eq!(home.run(&[&["licenses", "list", "-q"], args].concat()).code, 0);
        assert!(server.lines().last().unwrap().contains(query), "{:?}", server.lines());
    }
    let both = ["licenses", "list", "--expiring-within", "30d", "--status", "active"];
    assert_eq!(home.run(&both).code, 2);
}

#[test]
fn json_lines_have_a_record_on_each_line() {
    let ran = Home::with(&users(false)).run(&["users", "list", "-o", "jsonl"]);
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids: Vec<Value> = lines.map(|user| user["externalId"].clone()).collect();
    assert_eq!(ids, ["u0a", "u0b", "u1a", "u1b", "u2a", "u2b"]);
    let ran = Home::with(&service()).run(&["users", "get", "x", "-o", "jsonl"]);
    assert_eq!(ran.stdout.lines().count(), 1, "a single record is a line too");
}

/// Formats with a line for each record keep the received ones. In other formats half a list would be
/// malformed.
#[test]
fn a_list_that_ends_early_keeps_what_came() {
    let home = Home::with(&users(true));
    for (format, lines) in [("ids", 4), ("csv", 5), ("jsonl", 4), ("json", 0), ("table", 0)] {
        let ran = home.run(&["users", "list", "-o", format]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (1, lines), "{format}: {ran:?}");
        assert!(ran.stderr.contains("Something broke."), "{}", ran.stderr);
    }
    assert_eq!(home.run(&["users", "list", "--jq", ".[]"]).stdout, "");
}

/// The service filters, so that a limit counts the licenses that fit.
#[test]
fn licenses_are_filtered_by_the_service() {
    let server = service();
    let home = Home::with(&server);
    let args = ["licenses", "list", "--user", "alice", "--plan", "Pro annual", "--limit", "3"];
    assert_eq!(home.run(&[&args[..], &["-q"]].concat()).stdout.trim(), LICENSE);
    let wanted = format!("GET /api/v1/admin/licenses?planId={PLAN}&userId=alice&limit=3");
    assert_eq!(server.lines().last(), Some(&wanted));
    let ran = home.run(&["licenses", "list", "--user", "nobody", "-o", "csv"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
}

/// A spreadsheet cannot look ids up. The name of a column is that of the table, of CSV or of JSON.
#[test]
fn licenses_in_csv_name_their_product_and_plan() {
    let home = Home::with(&service());
    let csv = home.run(&["licenses", "list", "-o", "csv"]).stdout;
    assert!(csv.lines().next().unwrap().contains(",name,productName,planName,"), "{csv}");
    assert!(csv.lines().nth(1).unwrap().contains(",Order 4711,Acme Studio,Pro annual,"), "{csv}");
    for columns in ["plan,SEATS,expires", "planName,seats.used,expiresAt"] {
        let csv = home.run(&["licenses", "list", "-o", "csv", "-c", columns]).stdout;
        assert!(csv.starts_with("planName,seatsUsed,expiresAt\nPro annual,4,"), "{csv}");
        let table = home.run(&["licenses", "list", "-c", columns, "--no-headers"]).stdout;
        assert!(table.starts_with("Pro annual  4/5"), "{table}");
    }
}

/// As with `| head`, no reader would see the further pages.
#[test]
fn a_closed_pipe_ends_the_reading() {
    let (closed, wait) = std::sync::mpsc::channel::<()>();
    let server = FakeServer::answering(move |request| {
        let _ = wait.recv();
        page(request, false)
    });
    let home = Home::with(&server);
    let mut child = home.command(&["users", "list", "-o", "jsonl"]).spawn().unwrap();
    drop(child.stdout.take());
    drop(closed);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    assert_eq!(server.received().len(), 1);
}

/// The seats stand in the list, so that their number needs no further request.
#[test]
fn licenses_are_listed_with_one_request() {
    let server = service();
    let ran = Home::with(&server).run(&["licenses", "list", "-o", "json"]);
    assert_eq!((ran.code, server.received().len()), (0, 1));
    let many = FakeServer::answering(|request| match request.path.contains("licenses") {
        true => Reply::list(&vec![license_with_seats(4); 300]),
        false => crate::support::answer(request),
    });
    let ran = Home::with(&many).run(&["licenses", "list", "-c", "seats", "--no-headers"]);
    assert_eq!((ran.stdout, ran.stderr.as_str()), ("4/5\n".repeat(300), ""));
    assert_eq!(many.received().len(), 3, "the licenses, and the names of plans and products");
}

/// A list is sorted as a whole before its first records are shown, in every format.
#[test]
fn a_list_is_sorted_by_a_column() {
    let named = |name: &str, email: Value| {
        let mut user = user(name);
        user["email"] = email;
        user
    };
    let users = [named("b", json!("Z@x")), named("a", Value::Null), named("c", json!("y@x"))];
    let server = FakeServer::answering(move |_| Reply::list(&users));
    let home = Home::with(&server);
    let sorted = |column: &str, more: &[&str]| {
        let sort = format!("--sort={column}");
        let ran = home.run(&[&["users", "list", &sort, "-q"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.replace('\n', "")
    };
    assert_eq!(sorted("user", &[]), "abc");
    assert_eq!(sorted("-user", &["--limit=2"]), "cb");
    assert_eq!(sorted("email", &[]), "cba", "regardless of case, and records without a value last");
    assert_eq!(sorted("-email", &[]), "bca");
    assert!(!server.lines().iter().any(|line| line.contains("limit=2")), "all are read");
    let json = home.run(&["users", "list", "--sort=user", "-o", "json"]).json();
    assert_eq!(json[0]["externalId"], "a");
    for column in ["colour", "user,email"] {
        assert_eq!(home.run(&["users", "list", "--sort", column]).code, 2, "{column}");
    }
}

#[test]
fn one_text_finds_records_of_all_kinds() {
    let server = FakeServer::answering(|request| match request.path.as_str() {
        path if path.contains("licenses") => Reply::list(&[license_with_seats(4)]),
        path if path.contains("users") => Reply::list(&[user("ada")]),
        _ => Reply::list(&[]),
    });
    let home = Home::with(&server);
    let ran = home.run(&["find", "acme"]);
    assert!(ran.stdout.contains("license") && ran.stdout.contains("user  "), "{}", ran.stdout);
    assert_eq!(home.run(&["find", "acme", "-q"]).stdout, format!("{LICENSE}\nada\n"));
    let searched = |text: &str| {
        let before = server.received().len();
        home.run(&["find", text]);
        let paths = server.lines()[before..].join(" ");
        ["licenses?", "users?", "license-keys?"].map(|list| paths.contains(list))
    };
    assert_eq!(searched("8KX2"), [true, true, true]);
    assert_eq!(searched("ada@example.com"), [true, true, false], "no key ends like this");
}
