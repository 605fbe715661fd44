//! Products and plans as code, and requests to any endpoint.

use serde_json::json;

use crate::support::{FakeServer, Home, PLAN, PRODUCT, Reply, answer, plan, product, service};

const SAME: &str = "
version: 1
products:
  - name: Acme Studio
    plans:
      - { name: Pro annual, maxSeats: 5, expiresInDays: 365, features: [export, sso] }
";

const CHANGED: &str = "
version: 1
products:
  - name: Acme Studio
    plans:
      - { name: Pro annual, maxSeats: 10, expiresInDays: null, features: [export] }
      - { name: Free, maxSeats: 1 }
  - name: Render Farm
    plans: [{ name: Hourly }]
";

/// The writes that reached the server.
fn writes(server: &FakeServer) -> Vec<(String, serde_json::Value)> {
    let requests = server.received().into_iter().filter(|request| request.method != "GET");
    requests.map(|request| (request.line(), request.body)).collect()
}

#[test]
fn records_that_match_the_file_are_left_alone() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run_with_input(&["diff", "-f", "-"], SAME);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "0 to create, 0 to update, 2 the same\n");
    let ran = home.run_with_input(&["apply", "-f", "-"], SAME);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "Nothing to change.\n");
    let ran = home.run_with_input(&["apply", "-f", "-", "-o", "json"], SAME);
    assert_eq!((ran.json().as_array().unwrap().len(), ran.stderr.as_str()), (2, ""));
    assert!(writes(&server).is_empty());
}

#[test]
fn drift_is_shown_field_by_field_and_exits_10() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run_with_input(&["diff", "-f", "-"], CHANGED);
    assert_eq!(ran.code, 10);
    let shown = ran.stdout.replace(" (", "\n    (").replace("; features: e", ";\n     features: e");
    insta::assert_snapshot!(shown, @"
    ~ plan Acme Studio · Pro annual
        (maxSeats: 5 → 10; expiresInDays: 365 → no expiry;
         features: export,sso → export)
    + plan Acme Studio · Free
        (maxSeats: 1; expiresInDays: no expiry; features: none)
    + product Render Farm
    + plan Render Farm · Hourly
        (maxSeats: no limit; expiresInDays: no expiry; features: none)
    3 to create, 1 to update, 1 the same
    ");
    let dry = home.run_with_input(&["apply", "-n", "-f", "-"], CHANGED);
    assert_eq!((dry.code, dry.stdout), (0, ran.stdout));
    assert!(writes(&server).is_empty());
    let json = home.run_with_input(&["diff", "-f", "-", "-o", "json"], CHANGED).json();
    assert_eq!(json[1]["changes"]["maxSeats"], json!({ "have": 5, "want": 10 }));
    let features = json!({ "have": ["export", "sso"], "want": ["export"] });
    assert_eq!(json[1]["changes"]["features"], features);
}

#[test]
fn a_product_is_made_before_its_plans() {
    const NEW: &str = "prd_01h455vb4pex5vsknk084sn99q";
    let server = FakeServer::answering(|request| match request.line().as_str() {
        "GET /api/v1/admin/products?limit=1000" => Reply::list(&[product("Acme Studio")]),
        "GET /api/v1/admin/plans?limit=1000" => Reply::list(&[plan("Pro annual")]),
        "POST /api/v1/admin/products" => {
            let mut made = product("Render Farm");
            made["id"] = NEW.into();
            Reply::data(201, &made)
        }
        _ => Reply::data(200, &plan("any")),
    });
    let ran = Home::with(&server).run_with_input(&["apply", "-f", "-"], CHANGED);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let update = json!({
        "maxSeats": 10, "features": ["export"], "clear": ["expiresInDays"],
    });
    let free = json!({ "productId": PRODUCT, "name": "Free", "maxSeats": 1 });
    let hourly = json!({ "productId": NEW, "name": "Hourly" });
    assert_eq!(
        writes(&server),
        [
            (format!("PATCH /api/v1/admin/plans/{PLAN}"), update),
            ("POST /api/v1/admin/plans".to_owned(), free),
            ("POST /api/v1/admin/products".to_owned(), json!({ "name": "Render Farm" })),
            ("POST /api/v1/admin/plans".to_owned(), hourly),
        ]
    );
}

#[test]
fn an_export_applies_without_a_change() {
    let server = service();
    let home = Home::with(&server);
    let exported = home.run(&["export"]);
    insta::assert_snapshot!(exported.stdout, @"
    version: 1
    products:
    - name: Acme Studio
      description: null
      plans:
      - name: Pro annual
        description: null
        maxSeats: 5
        expiresInDays: 365
        features:
        - export
        - sso
        seatIdleMinutes: null
        graceDays: null
        expiresFrom: null
        maxLeaseSeconds: null
    ");
    assert_eq!(home.run_with_input(&["diff", "-f", "-"], &exported.stdout).code, 0);
    let json = home.run(&["export", "-o", "json"]).stdout;
    assert_eq!(home.run_with_input(&["diff", "-f", "-"], &json).code, 0, "JSON is read too");
}

/// A file that leaves out a limit must not remove it.
#[test]
fn only_null_clears_a_field() {
    let server = service();
    let home = Home::with(&server);
    let file =
        |plan: &str| format!("version: 1\nproducts: [{{ name: Acme Studio, plans: [{plan}] }}]");
    let ran = home.run_with_input(&["apply", "-f", "-"], &file("{ name: Pro annual }"));
    assert_eq!((ran.code, writes(&server).len()), (0, 0), "{}", ran.stderr);
    let cleared = "{ name: Pro annual, maxSeats: null, features: null }";
    let ran = home.run_with_input(&["apply", "-f", "-"], &file(cleared));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout, @"~ plan Acme Studio · Pro annual (maxSeats: 5 → no limit; features: export,sso → none)");
    assert_eq!(writes(&server)[0].1, json!({ "features": [], "clear": ["maxSeats"] }));
}

#[test]
fn what_is_only_on_the_server_is_shown_and_counts_with_strict() {
    let server = FakeServer::answering(|request| match request.path.contains("plans") {
        true => Reply::list(&[plan("Pro annual"), plan("By hand")]),
        false => {
            let mut other = product("Other");
            other["id"] = "prd_01h455vb4pex5vsknk084sn99q".into();
            Reply::list(&[product("Acme Studio"), other])
        }
    });
    let home = Home::with(&server);
    let ran = home.run_with_input(&["diff", "-f", "-"], SAME);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let summary = "0 to create, 0 to update, 2 the same, 2 only on the server";
    assert_eq!(ran.stdout, format!("{summary} (diff --strict lists them)\n"));
    let ran = home.run_with_input(&["diff", "-f", "-", "--strict"], SAME);
    assert_eq!(ran.code, 10);
    insta::assert_snapshot!(ran.stdout, @"
    ? plan Acme Studio · By hand (only on the server)
    ? product Other (only on the server)
    0 to create, 0 to update, 2 the same, 2 only on the server
    ");
    let json = home.run_with_input(&["diff", "-f", "-", "-o", "json"], SAME).json();
    assert_eq!(json[2]["action"], "unlisted");
}

#[test]
fn changes_before_an_error_are_shown() {
    let server = FakeServer::answering(|request| {
        if request.line() == "POST /api/v1/admin/products" {
            return Reply::refusal(400, "invalid_request", "name: must be another");
        }
        answer(request)
    });
    let home = Home::with(&server);
    let ran = home.run_with_input(&["apply", "-f", "-"], CHANGED);
    assert_eq!(ran.code, 9);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    insta::assert_snapshot!(ran.stderr, @r#"
    error: product Render Farm: The server rejected the request. "name: must be another"
    note: 2 succeeded, 1 failed, 1 not tried
    note: apply the file again to continue
    "#);
    let ran = home.run_with_input(&["apply", "-f", "-", "-o", "json"], CHANGED);
    assert_eq!(ran.json().as_array().unwrap().len(), 3);
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["errors"][0]["item"], "product Render Farm");
    assert_eq!(error["notTried"], json!(["plan Render Farm · Hourly"]));
}

#[test]
fn an_export_that_no_file_can_hold_is_refused() {
    let server = FakeServer::answering(|request| match request.path.contains("plans") {
        true => Reply::list(&[plan("Pro"), plan("Pro")]),
        false => Reply::list(&[product("Acme Studio")]),
    });
    let ran = Home::with(&server).run(&["export"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains("Several plans are named Pro,"), "{}", ran.stderr);
}

#[test]
fn an_invalid_file_sends_nothing() {
    let server = service();
    let ran = Home::with(&server).run_with_input(&["apply", "-f", "-"], "version: 3\nproducts: []");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(server.received().len(), 0);
}

#[test]
fn any_endpoint_can_be_called() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["api", "admin/users", "-X", "GET", "-F", "externalId=a b"]);
    assert_eq!(ran.json()[0]["externalId"], "alice");
    let fields = ["-F", "name=Pro", "-F", "maxSeats=5", "-F", "features=[]", "-F", "x=true"];
    let ran = home.run(&[&["api", "/api/v1/admin/plans"], &fields[..]].concat());
    assert_eq!(ran.json()["id"], PLAN);
    let input = ["api", "-X", "PATCH", "admin/plans/x", "--input", "-"];
    assert_eq!(home.run_with_input(&input, "{\"name\":null}").code, 0);
    let sent: Vec<_> = server.received().iter().map(|it| (it.line(), it.body.clone())).collect();
    let body = json!({ "name": "Pro", "maxSeats": 5, "features": "[]", "x": true });
    assert_eq!(sent[0].0, "GET /api/v1/admin/users?externalId=a%20b");
    assert_eq!(sent[1], ("POST /api/v1/admin/plans".to_owned(), body));
    assert_eq!(sent[2].0, "PATCH /api/v1/admin/plans/x");
    assert_eq!(home.run(&["api", "nowhere"]).code, 3);
}
