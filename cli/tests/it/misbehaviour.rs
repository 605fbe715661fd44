//! Servers that are unreachable, wrong, slow or not licd: each has its exit code, leaves stdout empty
//! and prints a fix.

use std::io::Write;
use std::net::TcpListener;

use serde_json::json;

use crate::support::{
    FakeServer, Home, KEY, Reply, RunOutput, answer, current_key, license_with_seats, product,
};

const LIST: [&str; 2] = ["products", "list"];

/// Runs a list against a server and returns the output; stdout must be empty.
fn failing(server: &FakeServer, args: &[&str]) -> (RunOutput, String) {
    let home = Home::with(server).set("LICCTL_PATIENCE", "0");
    let ran = home.run(args);
    assert_eq!(ran.stdout, "", "a failure leaves stdout empty");
    assert!(ran.stderr.lines().count() <= 5, "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
    let seen = ran.seen(server, &home);
    (ran, seen)
}

#[test]
fn a_web_page_is_not_the_service() {
    for status in [200, 404] {
        let server = FakeServer::answering(move |_| Reply::new(status, "<html>Hello</html>"));
        let (ran, _) = failing(&server, &LIST);
        assert_eq!(ran.code, 7);
        let what = match status {
            502 => "returned 502 and an HTML page; is licd down behind a proxy?".to_owned(),
            _ => format!("is not licd: it returned {status} and an HTML page."),
        };
        assert!(ran.stderr.contains(&what), "{}", ran.stderr);
    }
}

/// Every refusal has a status and a sentence; all other fields are optional.
#[test]
fn a_refusal_without_code_is_one_all_the_same() {
    for (status, exit) in [(401, 4), (403, 5), (429, 8)] {
        let body = r#"{"success":false,"error":"So it is.","retryAfter":7}"#;
        let server = FakeServer::answering(move |_| Reply::new(status, body));
        let (ran, _) = failing(&server, &LIST);
        assert_eq!(ran.code, exit, "{}", ran.stderr);
        assert!(ran.stderr.contains("So it is."), "{}", ran.stderr);
    }
}

/// The key's role says more than that something was refused.
#[test]
fn a_refused_role_is_named_with_the_one_that_is_needed() {
    let refuse = |role: &'static str| {
        FakeServer::answering(move |request| match request.path.as_str() {
            "/api/v1/key" => {
                let mut key = current_key();
                (key["role"], key["name"]) = (role.into(), "ro".into());
                Reply::data(200, &key)
            }
            _ => Reply::refusal(403, "forbidden", "Access denied"),
        })
    };
    for (role, args, told) in [
        ("validate", &LIST[..], "This requires role read; key ro has role validate."),
        (
            "read",
            &["products", "create", "--name", "x", "--allow-duplicate"],
            "This requires role admin; key ro has role read.",
        ),
        ("admin", &LIST, "does not allow this request."),
    ] {
        let (ran, _) = failing(&refuse(role), args);
        assert_eq!(ran.code, 5);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

/// A proxy would see the key.
#[test]
fn a_server_on_this_machine_is_reached_without_a_proxy() {
    let (server, proxy) =
        (FakeServer::answering(|_| Reply::list(&[])), FakeServer::answering(|_| Reply::list(&[])));
    let home =
        Home::with(&server).set("http_proxy", &proxy.address).set("ALL_PROXY", &proxy.address);
    assert_eq!(home.run(&LIST).code, 0);
    assert_eq!((server.received().len(), proxy.received().len()), (1, 0));
}

/// The usual causes are a URL with http, or without its last slash.
#[test]
fn a_receiver_that_redirects_is_named_with_its_target() {
    let server = FakeServer::answering(|request| match request.method.as_str() {
        "GET" => answer(request),
        _ => Reply::data(
            200,
            &json!({
                "delivered": false,
                "event": "evt_01h455vb4pex5vsknk084sn02q",
                "error": "redirect",
                "status": 301,
                "response": "redirects to https://example.com/…",
                "durationMs": 12,
            }),
        ),
    });
    let ran = Home::with(&server).run(&["webhooks", "test", "whk_01h455vb4pex5vsknk084sn02q"]);
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    let told = "not delivered: redirect 301 (12 ms): it redirects to https://example.com/…";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

/// A proxy that cannot reach licd is named, unless NO_PROXY names the server as curl understands it.
#[test]
fn a_proxy_that_fails_is_named_and_can_be_avoided() {
    let proxy = FakeServer::answering(|_| Reply::new(502, "<html>"));
    let home = Home::bare().set("LICCTL_API_KEY", KEY).set("LICCTL_PATIENCE", "0");
    let home = home.set("LICCTL_SERVER", "http://192.0.2.1:8080").set("http_proxy", &proxy.address);
    let run = |home: &Home| home.run(&["whoami", "--allow-http", "--timeout", "1s"]);
    let ran = run(&home);
    assert!(ran.stderr.contains(", which http_proxy names"), "{}", ran.stderr);
    let asked = proxy.received().len();
    assert!(asked > 0);
    let mut home = home;
    for list in ["*", "example.com, 192.0.2.1:8080", "192.0.2.0/24"] {
        home = home.set("NO_PROXY", list);
        assert_eq!((run(&home).code, proxy.received().len()), (7, asked), "{list}");
    }
}

#[test]
fn an_empty_answer_is_not_the_service() {
    let server = FakeServer::answering(|_| Reply::new(200, ""));
    let (_, seen) = failing(&server, &LIST);
    insta::assert_snapshot!(seen, @"
    error: http://SERVER is not licd: it returned 200 and an empty body.
    fix: check --server, LICCTL_SERVER or the profile, and any proxies
    http://SERVER
    [exit 7]
    ");
}

#[test]
fn half_an_answer_is_none() {
    let server = FakeServer::answering(|_| Reply::new(200, r#"{"success": true, "data": [{"id"#));
    assert_eq!(failing(&server, &LIST).0.code, 7);
    let server = FakeServer::serving(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"success\"");
    });
    let (ran, _) = failing(&server, &LIST);
    assert_eq!(ran.code, 7);
    assert!(
        ran.stderr.contains("closed the connection before its response was complete"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_closed_connection_is_unreachable() {
    let server = FakeServer::serving(|_, stream| drop(stream));
    assert_eq!(failing(&server, &LIST).0.code, 7);
}

#[test]
fn a_closed_port_is_unreachable() {
    // Bound and dropped, so that the port is closed.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    let ran = home.run(&["whoami", "--patience=0", "--server", &format!("http://{address}")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, ""));
    assert!(ran.stderr.contains(".\n  Connection refused"), "{}", ran.stderr);
}

#[test]
fn a_silent_server_ends_with_the_timeout() {
    // The connections are kept open, unanswered, until the test ends.
    let kept = std::sync::Mutex::new(Vec::new());
    let server = FakeServer::serving(move |_, stream| kept.lock().unwrap().push(stream));
    let (ran, _) = failing(&server, &["products", "list", "--timeout", "1s"]);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.contains("did not respond within 1 s"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--timeout"), "{}", ran.stderr);
}

#[test]
fn the_key_does_not_follow_a_redirect_to_another_server() {
    let other = FakeServer::answering(|_| Reply::list(&[]));
    let elsewhere = format!("{}/api", other.address);
    let server = FakeServer::answering(move |_| Reply::new(307, "").with("location", &elsewhere));
    let (ran, _) = failing(&server, &LIST);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.contains("the API key is not sent there"), "{}", ran.stderr);
    assert!(other.received().is_empty());
}

#[test]
fn a_redirect_within_the_server_is_followed() {
    let server = FakeServer::answering(|request| {
        if request.path.starts_with("/moved") {
            return Reply::list(&[product("Acme Studio")]);
        }
        Reply::new(308, "").with("location", format!("/moved{}", request.path))
    });
    let ran = Home::with(&server).run(&["products", "list", "-q"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(server.received().iter().all(|request| request.key.as_deref() == Some(KEY)));
}

#[test]
fn a_redirect_that_would_turn_a_write_into_a_read_is_not_followed() {
    let server = FakeServer::answering(|_| Reply::new(302, "").with("location", "/elsewhere"));
    let (ran, _) = failing(&server, &["users", "create", "--external-id", "a"]);
    assert_eq!(ran.code, 7);
    assert_eq!(server.lines(), ["POST /api/v1/admin/users"]);
}

#[test]
fn redirects_in_a_circle_end() {
    let server =
        FakeServer::answering(|request| Reply::new(307, "").with("location", request.path.clone()));
    assert_eq!(failing(&server, &LIST).0.code, 7);
    assert!(server.received().len() < 10);
}

#[test]
fn a_rate_limit_shows_how_long_to_wait() {
    let server = FakeServer::answering(|_| {
        Reply::refusal(429, "rate_limited", "Rate limit exceeded. Please try again later.")
            .with("retry-after", "17")
    });
    let (_, seen) = failing(&server, &LIST);
    insta::assert_snapshot!(seen, @r#"
    error: The key has reached its rate limit.
      "Rate limit exceeded. Please try again later."
    fix: try again in 17 s
    request req-1 · http://SERVER
    [exit 8]
    "#);
}

#[test]
fn a_server_without_its_database_is_unreachable() {
    let server =
        FakeServer::answering(|_| Reply::refusal(503, "unavailable", "The database is away."));
    let (ran, _) = failing(&server, &LIST);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.contains("\"The database is away.\""), "{}", ran.stderr);
}

#[test]
fn a_failure_and_a_refusal_have_different_exit_codes() {
    for (status, code) in [(500, 1), (400, 6), (404, 3), (405, 6), (409, 6), (413, 6), (422, 6)] {
        let server = FakeServer::answering(move |_| Reply::refusal(status, "some", "Some words."));
        let (ran, _) = failing(&server, &LIST);
        assert_eq!(ran.code, code, "status {status}: {}", ran.stderr);
        assert!(ran.stderr.contains("Some words."), "{}", ran.stderr);
    }
}

#[test]
fn a_refused_key_is_named_masked_and_by_its_source() {
    let server = FakeServer::answering(|_| Reply::refusal(401, "unauthorized", "Unauthorized"));
    let (_, seen) = failing(&server, &LIST);
    insta::assert_snapshot!(seen, @r#"
    error: The server rejected the key sk_live_CANA… from LICCTL_API_KEY.
      "Unauthorized" The key is unknown, expired or revoked
    fix: replace the key from LICCTL_API_KEY with an active one
    request req-1 · http://SERVER
    [exit 4]
    "#);
}

#[test]
fn a_key_of_too_low_a_role_is_exit_5() {
    let server = FakeServer::answering(|_| Reply::refusal(403, "forbidden", "Access denied"));
    assert_eq!(failing(&server, &LIST).0.code, 5);
}

#[test]
fn with_json_an_error_is_one_object_on_stderr() {
    let server =
        FakeServer::answering(|_| Reply::refusal(400, "invalid", "name: must be a string"));
    let ran = Home::with(&server).run(&["users", "create", "--external-id", "a", "-o", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""));
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["code"], "invalid");
    assert_eq!(error["status"], 400);
    assert_eq!(error["requestId"], "req-1");
    assert_eq!(error["exitCode"], 6);
    assert!(error["message"].as_str().unwrap().contains("name: must be a string"));
}

#[test]
fn an_answer_of_another_version_is_named_as_such() {
    let server = FakeServer::answering(|_| {
        let mut license = license_with_seats(0);
        license["seats"]["used"] = "many".into();
        Reply::list(&[license])
    });
    let (ran, _) = failing(&server, &["licenses", "list", "-q"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("string \"many\""), "{}", ran.stderr);
}

#[test]
fn control_characters_of_the_server_are_escaped() {
    let server = FakeServer::answering(|_| Reply::list(&[product("A\u{9b}31m")]));
    let ran = Home::with(&server).run(&LIST);
    // Such a name is no name at all for the wire types; either way nothing raw comes through.
    assert!(!ran.stdout.contains('\u{9b}') && !ran.stderr.contains('\u{9b}'));
    let server = FakeServer::answering(|_| Reply::refusal(400, "x", "\u{1b}[2Jgone"));
    let ran = Home::with(&server).run(&LIST);
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("gone"), "{}", ran.stderr);
}

#[test]
fn a_list_of_several_pages_comes_whole() {
    let server = FakeServer::answering(|request| {
        let last = request.path.contains("after=page%202");
        let name = if last { "Second" } else { "First" };
        let cursor = if last { serde_json::Value::Null } else { "page 2".into() };
        let body = serde_json::json!(
            { "success": true, "data": [product(name)], "nextCursor": cursor }
        );
        Reply::new(200, body.to_string())
    });
    let ran = Home::with(&server).run(&["products", "list", "-o", "json"]);
    let names = ran.json();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&"First".into(), &"Second".into()));
    assert_eq!(server.received().len(), 2);
}

/// An answer that never ends takes 64 MiB of memory, and no more.
#[test]
fn an_endless_answer_is_given_up() {
    let server = FakeServer::serving(|_, mut stream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[";
        let mut sent = stream.write_all(head);
        while sent.is_ok() {
            sent = stream.write_all(&[b' '; 1 << 16]);
        }
    });
    let (ran, _) = failing(&server, &["api", "admin/products"]);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.contains("The response does not end."), "{}", ran.stderr);
}
