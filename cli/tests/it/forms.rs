//! The output formats, and the log of `-v`.

use crate::support::{FakeServer, Home, KEY, OTHER_KEY, Reply, product, service};

#[test]
fn the_form_comes_from_the_flag_or_the_variable() {
    let server = service();
    let home = Home::with(&server).set("LICCTL_OUTPUT", "ids");
    assert_eq!(home.run(&["products", "list"]).stdout, "prd_01h455vb4pex5vsknk084sn02q\n");
    let yaml = home.run(&["products", "list", "-o", "yaml"]).stdout;
    assert!(yaml.starts_with("- id: prd_01h455vb4pex5vsknk084sn02q\n  name: Acme"), "{yaml}");
    insta::assert_snapshot!(home.run(&["products", "list", "-o", "csv"]).stdout, @"
    id,name,description,createdAt,updatedAt
    prd_01h455vb4pex5vsknk084sn02q,Acme Studio,,2026-01-31T12:00:00.000Z,2026-01-31T12:00:00.000Z
    ");
    let home = Home::with(&server).set("LICCTL_OUTPUT", "xml");
    let ran = home.run(&["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("table, json, yaml, csv, ids"), "{}", ran.stderr);
}

#[test]
fn jq_picks_from_the_json() {
    let server = service();
    let home = Home::with(&server);
    assert_eq!(home.run(&["products", "list", "--jq", ".[].name"]).stdout, "Acme Studio\n");
    let before = server.received().len();
    let ran = home.run(&["products", "create", "--name", "A", "--jq", ".["]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(server.received().len(), before, "a typo is found before anything is sent");
    assert_eq!(home.run(&["products", "list", "--jq", ".", "-o", "csv"]).code, 2);
    assert_eq!(home.run(&["products", "list", "--jq", ".[].name", "-o", "json"]).code, 0);
}

#[test]
fn verbose_logs_each_request_and_no_key() {
    let server = FakeServer::answering(|_| {
        let mut product = product("Acme Studio");
        product["description"] = format!("was {OTHER_KEY}").into();
        Reply::data(201, &product).with("x-request-id", "req-7")
    });
    let home = Home::with(&server);
    let args = ["products", "create", "--name", "A", "--description", OTHER_KEY, "-q"];
    let args = [&args[..], &["--allow-duplicate"]].concat();
    let told = home.run(&[&args[..], &["-v"]].concat()).stderr;
    assert!(told.starts_with("POST /api/v1/admin/products 201 "), "{told}");
    assert!(told.ends_with(" ms request req-7\n"), "{told}");
    let told = home.run(&[&args[..], &["-vv"]].concat()).stderr;
    assert!(told.contains("> authorization: Bearer sk_live_CANA…\n"), "{told}");
    assert!(told.contains("> {\"name\":\"A\",\"description\":\"sk_test_OTHE…\"}"), "{told}");
    assert!(told.contains("was sk_test_OTHE…"), "{told}");
    assert!(!told.contains(KEY) && !told.contains(OTHER_KEY));
}

#[test]
fn colour_is_for_terminals_or_color_always() {
    let server = service();
    let home = Home::with(&server);
    assert!(!home.run(&["licenses", "list"]).stdout.contains('\u{1b}'));
    assert!(home.run(&["licenses", "list", "--color", "always"]).stdout.contains('\u{1b}'));
    let json = home.run(&["licenses", "list", "--color", "always", "-o", "json"]).stdout;
    assert!(!json.contains('\u{1b}'), "data for programs is never coloured");
}
