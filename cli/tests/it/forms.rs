//! The output formats, and the log of `-v`.

use std::fs;

use serde_json::json;

use crate::support::{
    FakeServer, Home, KEY, LICENSE, OTHER_KEY, Reply, RunOutput, product, service, user,
};

#[test]
fn the_form_comes_from_the_flag_or_the_variable() {
    let server = service();
    let home = Home::with(&server).set("LICCTL_OUTPUT", "ids");
    assert_eq!(home.run(&["products", "list"]).stdout, "prd_01h455vb4pex5vsknk084sn02q\n");
    insta::assert_snapshot!(home.run(&["products", "list", "-o", "csv"]).stdout, @"
    id,name,description,createdAt,updatedAt
    prd_01h455vb4pex5vsknk084sn02q,Acme Studio,,2026-01-31T12:00:00.000Z,2026-01-31T12:00:00.000Z
    ");
    let home = Home::with(&server).set("LICCTL_OUTPUT", "xml");
    let ran = home.run(&["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("table, json, jsonl, csv, ids"), "{}", ran.stderr);
}

fn run(args: &[&str]) -> RunOutput {
    Home::with(&service()).run(args)
}

/// A spreadsheet or script finds the same columns whatever the answer is.
#[test]
fn csv_has_the_same_columns_for_every_answer() {
    let validate = ["validate", "alice", "bob", "-o", "csv"];
    insta::assert_snapshot!(run(&validate).stdout, @r#"
    userId,valid,reason,licenseId,planId,expiresAt,features,missingFeatures
    alice,true,,lic_01h455vb4pex5vsknk084sn02q,pln_01h455vb4pex5vsknk084sn02q,2999-01-31T12:00:00.000Z,"export,sso",
    bob,false,no_license,,,,,
    "#);
    let refused = run(&["validate", "bob", "-o", "csv"]).stdout;
    assert_eq!(refused.lines().next(), run(&validate).stdout.lines().next());
    insta::assert_snapshot!(run(&["licenses", "usage", LICENSE, "-o", "csv"]).stdout, @"
    licenseId,externalId,userId,activatedAt,lastCheckedAt,email,leasedUntil
    lic_01h455vb4pex5vsknk084sn02q,alice,usr_01h455vb4pex5vsknk084sn02q,2026-01-31T12:00:00.000Z,2026-02-01T12:00:00.000Z,alice@example.com,
    ");
    let empty = FakeServer::answering(|_| Reply::list(&[]));
    let titles = |noun| Home::with(&empty).run(&[noun, "list", "-o", "csv"]).stdout;
    assert_eq!(titles("products"), "id,name,description,createdAt,updatedAt\n");
    for noun in ["plans", "licenses", "users", "keys"] {
        let list = run(&[noun, "list", "-o", "csv"]).stdout;
        assert_eq!(Some(titles(noun).trim_end()), list.lines().next(), "{noun}");
    }
}

#[test]
fn csv_of_a_file_has_a_line_for_each_row() {
    let server = FakeServer::answering(|request| match request.body["userId"] == "bad" {
        true => Reply::refusal(400, "invalid", "userId: no"),
        false => crate::support::answer(request),
    });
    let home = Home::with(&server);
    let file = home.dir.path().join("users.csv").display().to_string();
    fs::write(&file, "userId\nalice\nbob\nbad\n").unwrap();
    let report = home.dir.path().join("r.jsonl").display().to_string();
    let ran = home.run(&["validate", "--from", &file, "--report", &report, "-o", "csv"]);
    insta::assert_snapshot!(ran.stdout, @r#"
    line,userId,state,valid,reason,licenseId,planId,expiresAt,features,missingFeatures,error
    2,alice,done,true,,lic_01h455vb4pex5vsknk084sn02q,pln_01h455vb4pex5vsknk084sn02q,2999-01-31T12:00:00.000Z,"export,sso",,
    3,bob,done,false,no_license,,,,,,
    4,bad,failed,,,,,,,,"The server rejected the request. ""userId: no"""
    "#);
}

#[test]
fn import_reads_what_list_writes() {
    let server = FakeServer::answering(|request| {
        let mut user = user("=alice, \"a\"");
        user["metadata"] = json!({ "team": "blue", "seat": 4 });
        if request.method == "GET" { Reply::list(&[user]) } else { Reply::data(200, &user) }
    });
    let home = Home::with(&server);
    for format in ["csv", "jsonl"] {
        let file = home.dir.path().join(format).display().to_string();
        fs::write(&file, home.run(&["users", "list", "-o", format]).stdout).unwrap();
        let report = home.dir.path().join(format!("{format}.report")).display().to_string();
        let ran = home.run(&["users", "import", &file, "--report", &report]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let wanted = json!({
            "externalId": "=alice, \"a\"", "email": "=alice, \"a\"@example.com",
            "metadata": { "team": "blue", "seat": 4 },
        });
        assert_eq!(server.received().last().unwrap().body, wanted, "{format}");
    }
}

#[test]
fn columns_are_chosen_for_tables_and_csv() {
    let ran = run(&["licenses", "list", "-c", "status,SEATS", "--no-headers"]);
    assert_eq!(ran.stdout, "active  4/5\n");
    let ran = run(&["licenses", "list", "-c", "seatsUsed,id", "-o", "csv"]);
    assert_eq!(ran.stdout, format!("seatsUsed,id\n4,{LICENSE}\n"));
    let ran = run(&["licenses", "list", "-c", "created", "--no-headers"]);
    assert_eq!(ran.stdout, "2026-01-31T12:00:00.000Z\n");
    // Only the table remains of a card with a table.
    let ran = run(&["licenses", "get", LICENSE, "-c", "user"]);
    assert_eq!(ran.stdout, "USER\nalice\n");
    let ran = run(&["licenses", "list", "-c", "colour"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: Unknown column colour.
      Columns: ID, PRODUCT, PLAN, NAME, STATUS, SEATS, EXPIRES, FEATURES, CREATED, UPDATED
    ");
    for args in [&["users", "get", "alice", "-c", "id"][..], &["users", "list", "-c", "id", "-q"]] {
        assert_eq!((run(args).code, run(args).stdout.as_str()), (2, ""), "{args:?}");
    }
}

/// The id of what was made must not be lost over a typo.
#[test]
fn a_write_is_shown_also_when_the_choice_of_output_fails() {
    for choice in [["-c", "colour"], ["--jq", ".name.x"]] {
        let ran = run(&[&["products", "create", "--name", "A"][..], &choice].concat());
        assert_eq!((ran.code, &ran.json()["name"]), (2, &json!("Acme Studio")), "{}", ran.stderr);
    }
}

#[test]
fn an_empty_cell_is_a_dash_on_a_screen_and_nothing_elsewhere() {
    let home = Home::with(&service());
    let list = ["users", "list", "-c", "external-id,name"];
    let seen = crate::support::on_screen(&home, &list, 100).stdout;
    assert_eq!(seen, "EXTERNAL ID  NAME\nalice        -\n");
    assert_eq!(home.run(&list).stdout, "EXTERNAL ID  NAME\nalice\n");
}

#[test]
fn a_terminal_of_40_columns_shows_the_status() {
    let home = Home::with(&service());
    let seen = crate::support::on_screen(&home, &["licenses", "list"], 40).stdout;
    let licenses: String = seen.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(licenses, format!("ID{}STATUS\n{LICENSE}  active\n", " ".repeat(30)));
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
    let home = home.set("NO_COLOR", "1");
    assert!(!home.run(&["licenses", "list"]).stdout.contains('\u{1b}'));
    let forced = home.run(&["licenses", "list", "--color", "always"]).stdout;
    assert!(forced.contains("\u{1b}[38;5;2mactive"), "the flag wins: {forced:?}");
    let json = home.run(&["licenses", "list", "--color", "always", "-o", "json"]).stdout;
    assert!(!json.contains('\u{1b}'), "data for programs is never coloured");
}
