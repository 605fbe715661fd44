//! Features that `validate` requires.

use serde_json::json;

use crate::support::{
    FakeServer, Home, LICENSE, Reply, current_key, explained, explanation, service,
};

/// A program that reads the data must not ship the feature that the exit code refuses.
#[test]
fn a_missing_feature_makes_every_form_of_the_answer_invalid() {
    let server = service();
    let home = Home::with(&server);
    let validate = ["validate", "alice", "--feature", "sso,gpu,foo"];
    let run = |more: &[&str]| home.run(&[&validate[..], more].concat());
    let ran = run(&["-o", "json"]);
    assert_eq!(ran.code, 10);
    assert_eq!(ran.stderr, "{\"notes\":[\"alice is missing the features gpu, foo\"]}\n");
    let answer = &ran.json()[0];
    assert_eq!(answer["valid"], false);
    assert_eq!(answer["reason"], "missing_feature");
    assert_eq!(answer["missingFeatures"], json!(["gpu", "foo"]));
    assert_eq!(answer["license"]["id"], LICENSE);
    let ran = run(&["-o", "csv"]);
    assert!(ran.stdout.contains("alice,false,missing_feature,lic_"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with(",\"gpu,foo\"\n"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "note: alice is missing the features gpu, foo\n");
    let ran = run(&[]);
    assert!(ran.stdout.contains("not valid  missing_feature: gpu, foo  lic_"), "{}", ran.stdout);
    let explained = explanation(None, &[explained("active", None, "valid")]);
    let explaining = FakeServer::answering(move |request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::data(200, &explained),
    });
    let args = [&validate[..], &["--explain", "-o", "json"]].concat();
    let ran = Home::with(&explaining).run(&args);
    assert_eq!((ran.code, &ran.json()[0]["valid"]), (10, &false.into()));
    assert_eq!(ran.json()[0]["missingFeatures"], json!(["gpu", "foo"]));
}

#[test]
fn a_missing_feature_can_be_expected() {
    let server = service();
    let home = Home::with(&server);
    let code = |user: &str, feature: &str| {
        home.run(&["validate", user, "--feature", feature, "--expect", "missing_feature"]).code
    };
    assert_eq!((code("alice", "gpu"), code("alice", "sso"), code("bob", "gpu")), (0, 10, 10));
    let report = home.dir.path().join("r.jsonl").display().to_string();
    let from = ["validate", "--from", "-", "--feature", "gpu", "--report", &report, "-o", "json"];
    let ran = home.run_with_input(&from, "userId\nalice\n");
    let answer = &ran.json()[0]["answer"];
    assert_eq!((ran.code, &answer["valid"]), (10, &false.into()), "{}", ran.stderr);
    assert_eq!(answer["missingFeatures"], json!(["gpu"]));
    // Its answers are those of another question.
    let other = ["validate", "--from", "-", "--feature", "sso", "--resume", &report];
    assert_eq!(home.run_with_input(&other, "userId\nalice\n").code, 2);
}
