//! Requests as they are: `licctl api`, and the curl commands of `--print-curl`.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, KEY, LICENSE, PLAN, Reply, service};

#[test]
fn the_slash_and_the_prefix_of_a_path_are_optional() {
    let server = service();
    let home = Home::with(&server);
    for path in ["admin/plans", "/admin/plans", "/api/v1/admin/plans", "api/v1/admin/plans"] {
        assert_eq!(home.run(&["api", path, "-q"]).stdout.trim(), PLAN, "{path}");
    }
    assert_eq!(home.run(&["api", "/healthz"]).json(), json!({ "status": "ok" }));
    assert_eq!(server.lines()[..4], ["GET /api/v1/admin/plans"; 4]);
}

/// The address of the server may have a path itself, which is then the likely mistake.
#[test]
fn an_address_that_does_not_exist_is_said_as_a_whole() {
    let server = FakeServer::answering(|_| Reply::refusal(404, "not_found", "No such path."));
    let home = Home::with(&server);
    let address = format!("{}/foo", server.address);
    let ran = home.run(&["whoami", "--server", &address]);
    assert_eq!(ran.code, 3);
    let told = format!("error: {address}/api/v1/key does not exist.\n");
    assert!(ran.stderr.starts_with(&told), "{}", ran.stderr);
}

#[test]
fn fields_nest_in_a_body_and_not_in_a_query() {
    let server = service();
    let home = Home::with(&server);
    let fields = ["-F", "externalId=alice", "-F", "metadata[a]=1", "-F", "metadata[l][]=x"];
    let ran = home.run(&[&["api", "admin/users"][..], &fields].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let wanted = json!({ "externalId": "alice", "metadata": { "a": 1, "l": ["x"] } });
    assert_eq!(server.received()[0].body, wanted);
    let ran = home.run(&[&["api", "-X", "GET", "admin/users"][..], &fields].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("--field metadata[a] requires a body"), "{}", ran.stderr);
    assert_eq!(home.run(&["api", "admin/users", "-F", "a=1", "-F", "a[b]=2"]).code, 2);
    assert_eq!(server.received().len(), 1);
}

#[test]
fn status_and_headers_come_first_on_request() {
    let server = FakeServer::answering(|request| match request.path.ends_with("plans") {
        true => Reply::list(&[]).with("x-request-id", "req-7"),
        false => Reply::refusal(429, "rate_limited", "Slow down.").with("retry-after", "17"),
    });
    let home = Home::with(&server);
    let ran = home.run(&["api", "-i", "admin/plans"]);
    assert!(ran.stdout.starts_with("HTTP/1.1 200 OK\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("x-request-id: req-7\n\n[]\n"), "{}", ran.stdout);
    let ran = home.run(&["api", "--include", "admin/users"]);
    assert!(ran.stdout.starts_with("HTTP/1.1 429 Too Many Requests\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("retry-after: 17\n\n"), "{}", ran.stdout);
    assert_eq!(ran.code, 8);
}

#[test]
fn all_pages_come_as_one_list() {
    let server = FakeServer::answering(|request| {
        let last = request.path.contains("after=2");
        let next = if last { Value::Null } else { "2".into() };
        let data = [json!({ "id": if last { "b" } else { "a" } })];
        Reply::new(200, json!({ "success": true, "data": data, "nextCursor": next }).to_string())
    });
    let home = Home::with(&server);
    let args = ["api", "--paginate", "admin/licenses", "-F", &format!("planId={PLAN}")];
    assert_eq!(home.run(&args).json(), json!([{ "id": "a" }, { "id": "b" }]));
    assert!(server.lines().iter().all(|line| line.contains(&format!("?planId={PLAN}&limit="))));
    assert_eq!(home.run(&["api", "--paginate", "-X", "DELETE", "admin/licenses"]).code, 2);
    let one = FakeServer::answering(|_| Reply::data(200, &json!({ "id": "a" })));
    let ran = Home::with(&one).run(&["api", "--paginate", "key"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--paginate requires a list"), "{}", ran.stderr);
}

#[test]
fn a_write_is_printed_as_curl_and_not_sent() {
    let server = service();
    let home = Home::with(&server);
    let args = ["licenses", "create", "--plan", "Pro annual", "--assign", "it's $me"];
    let ran = home.run(&[&args[..], &["--print-curl"]].concat());
    assert!(server.received().iter().all(|request| request.method == "GET"));
    insta::assert_snapshot!(ran.seen(&server, &home), @r#"
    curl -sS -X POST http://SERVER/api/v1/admin/licenses \
      -H "Authorization: Bearer $LICCTL_API_KEY" \
      -H "Content-Type: application/json" \
      --data '{"planId":"pln_01h455vb4pex5vsknk084sn02q","assignTo":{"userId":"it'\''s $me"}}'
    [exit 0]
    "#);
}

#[test]
fn a_read_is_printed_as_curl_when_there_is_no_write() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["licenses", "usage", LICENSE, "--print-curl", "-o", "json"]);
    assert!(
        ran.stdout.contains(&format!("/api/v1/admin/licenses/{LICENSE}/usage \\\n")),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains(KEY) && !ran.stdout.contains("-X"), "{}", ran.stdout);
    assert_eq!(home.run(&["products", "list", "--print-curl", "--dry-run"]).code, 2);
    assert_eq!(home.run(&["profiles", "use", "x", "--print-curl"]).code, 2);
}

/// The words arrive as they are when a shell runs the command.
#[cfg(unix)]
#[test]
fn a_shell_takes_the_curl_command_apart_as_meant() {
    let server = service();
    let args = ["users", "create", "--external-id", "a'b \"c\" $HOME `id` \\ !", "--print-curl"];
    let printed = Home::with(&server).run(&args).stdout;
    let script =
        format!("curl() {{ for word; do last=$word; done; printf %s \"$last\"; }}\n{printed}");
    let ran = Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    let body: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(body, json!({ "externalId": "a'b \"c\" $HOME `id` \\ !" }));
}

#[test]
fn a_document_without_an_envelope_is_printed_whole() {
    let server = FakeServer::answering(|_| Reply::new(200, r#"{"openapi":"3.1.0","info":{}}"#));
    let ran = Home::with(&server).run(&["api", "openapi.json", "--jq", ".openapi"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "3.1.0"), "{}", ran.stderr);
    assert_eq!(server.lines(), ["GET /api/v1/openapi.json"]);
}

/// An id of digits is text, and so is a file.
#[test]
fn fields_are_text_or_typed() {
    let server = service();
    let home = Home::with(&server);
    let file = home.dir.path().join("note.txt");
    std::fs::write(&file, "123").unwrap();
    let from_file = format!("name=@{}", file.display());
    let fields =
        ["-f", "externalId=123", "-F", "metadata[n]=7", "-F", &from_file, "-f", "email=@x"];
    let ran = home.run(&[&["api", "admin/users"][..], &fields].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let wanted =
        json!({ "externalId": "123", "email": "@x", "metadata": { "n": 7 }, "name": "123" });
    assert_eq!(server.received()[0].body, wanted);
    assert_eq!(home.run(&["api", "admin/users", "-F", "name=@nowhere"]).code, 2);
}

#[test]
fn a_given_header_replaces_the_one_of_licctl() {
    let server = service();
    let home = Home::with(&server);
    let create = ["api", "admin/licenses", "-f", "planId=x", "-H", "Idempotency-Key: order-7"];
    assert_eq!(home.run(&create).code, 0);
    assert_eq!(server.received()[0].idempotency_key.as_deref(), Some("order-7"));
    let printed = home.run(&[&create[..], &["--print-curl"]].concat()).stdout;
    assert!(printed.contains("-H \"idempotency-key: order-7\""), "{printed}");
    for wrong in ["x", ": y", "Authorization: Bearer z", "a b: c"] {
        assert_eq!(home.run(&["api", "key", "-H", wrong]).code, 2, "{wrong}");
    }
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_query_goes_with_every_page() {
    let server = FakeServer::answering(|request| {
        let next = if request.path.contains("after=b") { Value::Null } else { "b".into() };
        let body = json!({ "success": true, "data": [{ "id": "x" }], "nextCursor": next });
        Reply::new(200, body.to_string())
    });
    let home = Home::with(&server);
    let args = ["api", "--paginate", "admin/licenses?limit=2&after=a", "-F", "planId=p"];
    assert_eq!(home.run(&args).json(), json!([{ "id": "x" }, { "id": "x" }]));
    let pages =
        ["a", "b"].map(|at| format!("GET /api/v1/admin/licenses?limit=2&planId=p&after={at}"));
    assert_eq!(server.lines(), pages);
}

#[test]
fn apply_prints_its_requests_where_they_are_known() {
    let server = service();
    let home = Home::with(&server);
    crate::support::lines::lay_out(home.dir.path());
    let file = home.dir.path().join("catalog.yaml").display().to_string();
    let ran = home.run(&["apply", "-f", &file, "--print-curl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(&format!("-X PATCH {}/api/v1/admin/plans/{PLAN}", server.address)));
    assert!(ran.stdout.contains(r#"{"productId":"prd_01h455vb4pex5vsknk084sn02q","name":"Free""#));
    std::fs::write(&file, "version: 1\nproducts: [{ name: New, plans: [{ name: P }] }]\n").unwrap();
    let ran = home.run(&["apply", "-f", &file, "--print-curl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let told = "The request for plan New · P needs the id of a product that does not exist yet.\nfix: use --dry-run";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(server.received().iter().all(|request| request.method == "GET"));
}
