//! Errors for programs: whatever fails, stderr as a whole is one JSON object.

use std::fs;

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, KEY, Reply, RunOutput, service};

fn error(ran: &RunOutput) -> Value {
    serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_usage_error_keeps_the_tip_and_the_names() {
    let home = Home::bare();
    for (args, part, tip) in [
        (&["plans", "lsit"][..], "'lsit'", "'list'"),
        (&["users", "list", "--serach", "x"], "'--serach'", "'--search'"),
        (&["users", "list", "--limit", "no"], "--limit", "--help"),
        (&["api"], "<PATH>", "--help"),
    ] {
        for more in [&["-o", "json"][..], &["-ojsonl"], &["--jq", "."], &["--output=json"]] {
            let error = error(&home.run(&[more, args].concat()));
            assert!(error["message"].as_str().unwrap().contains(part), "{error}");
            assert!(error["hint"].as_str().unwrap().contains(tip), "{error}");
        }
    }
    let ran = home.run(&["plans", "lsit", "-o", "csv"]);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
}

#[test]
fn a_mistake_in_jq_is_one_short_object() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&["products", "list", "--jq", ".[", "-o", "json"]);
    assert_eq!((ran.code, &error(&ran)["code"]), (2, &json!("usage")));
    assert!(server.received().is_empty());
    let ran = home.run(&["products", "list", "--jq", ".foo"]);
    let message = "The --jq expression failed. cannot index array with \"foo\"";
    assert_eq!((ran.code, &error(&ran)["message"]), (2, &json!(message)));
}

#[test]
fn a_rate_limit_has_its_seconds_as_a_number() {
    let server = FakeServer::answering(|_| {
        Reply::refusal(429, "rate_limited", "Slow down.").with("retry-after", "17")
    });
    let ran = Home::with(&server).run(&["products", "list", "-o", "json"]);
    assert_eq!((ran.code, &error(&ran)["retryAfter"]), (8, &json!(17)));
}

#[test]
fn notes_are_part_of_the_object() {
    let server = FakeServer::answering(|request| match request.body["userId"] == "bad" {
        true => Reply::refusal(400, "invalid", "userId: no"),
        false => crate::support::answer(request),
    });
    let home = Home::with(&server);
    let path = |name: &str| home.dir.path().join(name).display().to_string();
    fs::write(path("users.csv"), "userId\nalice\nbad\n").unwrap();
    let (file, report) = (path("users.csv"), path("r.jsonl"));
    for format in ["json", "jsonl"] {
        let _ = fs::remove_file(&report);
        let ran = home.run(&["validate", "--from", &file, "--report", &report, "-o", format]);
        let error = error(&ran);
        assert_eq!(
            (ran.code, &error["code"], &error["exitCode"]),
            (9, &json!("partial"), &json!(9))
        );
        let notes = error["notes"].as_array().unwrap();
        assert!(notes[0].as_str().unwrap().starts_with("1 succeeded, 1 failed."), "{error}");
        assert_eq!(ran.stdout.matches("\"state\"").count(), 2, "{}", ran.stdout);
    }
    // As does an error that ends the run: here a file that others can read, and no server.
    fs::write(path("key.txt"), KEY).unwrap();
    let args = ["--api-key-file", &path("key.txt"), "--server", "http://127.0.0.1:1", "whoami"];
    let ran = Home::bare().run(&[&args[..], &["-o", "json"]].concat());
    assert_eq!((ran.code, &error(&ran)["exitCode"]), (7, &json!(7)));
    #[cfg(unix)]
    assert!(error(&ran)["notes"][0].as_str().unwrap().contains("chmod 600"), "{}", ran.stderr);
}
