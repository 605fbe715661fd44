//! Licenses show the status that a validation would find, next to the one that was set.

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, LICENSE, Reply, answer, license_with_seats};

/// Licenses that are valid, past their date, and suspended.
fn three() -> [Value; 3] {
    let mut licenses = [1, 2, 3].map(license_with_seats);
    licenses[1]["expiresAt"] = "2026-02-01T12:00:00.000Z".into();
    licenses[2]["status"] = "suspended".into();
    licenses
}

#[test]
fn every_form_of_a_license_has_its_state() {
    let server = FakeServer::answering(|request| match request.path.split('?').next().unwrap() {
        "/api/v1/admin/licenses" if request.path.contains("state=expired") => {
            Reply::list(&three()[1..2])
        }
        "/api/v1/admin/licenses" if request.method == "GET" => Reply::list(&three()),
        path if path.ends_with(LICENSE) => Reply::data(200, &three()[1]),
        _ => answer(request),
    });
    let home = Home::with(&server);
    let states = |args: &[&str]| home.run(&[args, &["--jq", ".[].state"]].concat()).stdout;
    let list = ["licenses", "list"];
    assert_eq!(states(&list), "active\nexpired\nsuspended\n");
    assert_eq!(states(&[&list[..], &["--status", "expired"]].concat()), "expired\n");
    let with = |form: &str| home.run(&[&list[..], &["-o", form]].concat()).stdout;
    let jsonl = with("jsonl");
    let second: Value = serde_json::from_str(jsonl.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["status"], &second["state"]), (&"active".into(), &json!("expired")));
    assert!(jsonl.contains(r#""status":"active","state":"expired","#), "{jsonl}");
    let csv = with("csv");
    assert!(csv.lines().next().unwrap().contains(",updatedAt,state,name,"), "{csv}");
    assert!(csv.lines().nth(2).unwrap().contains("Z,expired,"), "{csv}");
    for args in
        [&["licenses", "get", LICENSE][..], &["licenses", "update", LICENSE, "--max-seats", "3"]]
    {
        let state = home.run(&[args, &["--jq", ".state"]].concat()).stdout;
        assert_eq!(state, "expired\n", "{args:?}");
    }
    let create = ["licenses", "create", "--plan", "Pro annual"];
    assert_eq!(states(&create), "active\n");
    assert_eq!(states(&["licenses", "suspend", LICENSE]), "suspended\n");
}

/// A later service may say it itself.
#[test]
fn the_state_of_the_service_comes_first() {
    let server = FakeServer::answering(|_| {
        let mut license = license_with_seats(1);
        license["state"] = "trial".into();
        Reply::list(&[license])
    });
    let ran = Home::with(&server).run(&["licenses", "list", "--jq", ".[].state"]);
    assert_eq!(ran.stdout, "trial\n");
}
