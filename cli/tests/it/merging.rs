//! Metadata is merged: no entry is lost that a command does not name, or that somebody else adds
//! meanwhile.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, Reply, Request, answer, assignment, explanation, license_with_seats,
    user,
};

/// A service with alice, whose metadata is kept, and changed by somebody else before the writes of
/// these numbers.
fn keeping(metadata: Value, disturbed: &'static [usize]) -> FakeServer {
    let kept = Mutex::new((metadata, 0, 0));
    FakeServer::answering(move |request| {
        let mut kept = kept.lock().unwrap();
        let (metadata, version, writes) = &mut *kept;
        let alice = |metadata: &Value| {
            let mut alice = user("alice");
            alice["metadata"] = metadata.clone();
            alice
        };
        let path = request.path.split('?').next().unwrap();
        match (request.method.as_str(), path.strip_prefix("/api/v1/admin/users")) {
            ("GET", Some("")) if request.path.contains("externalId=alice") => {
                Reply::list(&[alice(metadata)])
            }
            ("GET", Some("")) => Reply::list(&[]),
            ("GET", Some(_)) => {
                Reply::data(200, &alice(metadata)).with("etag", format!("\"{version}\""))
            }
            ("PATCH", Some(_)) => {
                if disturbed.contains(writes) {
                    metadata["other"] = json!(*writes);
                    *version += 1;
                }
                *writes += 1;
                if request.if_match.as_deref() != Some(&*format!("\"{version}\"")) {
                    return Reply::refusal(409, "conflict", "The record has changed");
                }
                *version += 1;
                if !request.body["metadata"].is_null() {
                    *metadata = request.body["metadata"].clone();
                }
                Reply::data(200, &alice(metadata))
            }
            ("POST", Some("")) => {
                let mut new = alice(&request.body["metadata"]);
                new["externalId"] = request.body["externalId"].clone();
                new["id"] = "usr_01h455vb4pex5vsknk084sn0zz".into();
                Reply::data(201, &new)
            }
            _ => answer(request),
        }
    })
}

/// The last body of a write.
fn last(server: &FakeServer) -> Request {
    let is_write = |request: &Request| matches!(request.method.as_str(), "POST" | "PATCH");
    server.received().into_iter().rfind(is_write).unwrap()
}

#[test]
fn entries_are_added_replaced_and_removed() {
    let have = || json!({ "team": "blue", "seat": 4, "old": true });
    for args in [&["users", "update", "alice"][..], &["users", "create", "--external-id", "alice"]]
    {
        let server = keeping(have(), &[]);
        let change = ["--metadata", "tier=gold", "--metadata", "team=red", "--metadata", "old="];
        let ran = Home::with(&server).run(&[args, &change].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let merged = json!({ "team": "red", "seat": 4, "tier": "gold" });
        assert_eq!(last(&server).body["metadata"], merged, "{args:?}");
        let server = keeping(have(), &[]);
        Home::with(&server).run(&[args, &["--metadata-json", "{\"a\":1}"]].concat());
        assert_eq!(last(&server).body["metadata"], json!({ "a": 1 }), "{args:?}");
    }
    let server = keeping(have(), &[]);
    let new = ["users", "create", "--external-id", "zoe", "--metadata", "a=1", "--metadata", "b="];
    assert_eq!(Home::with(&server).run(&new).code, 0);
    assert_eq!(last(&server).line(), "POST /api/v1/admin/users");
    assert_eq!(last(&server).body["metadata"], json!({ "a": "1" }));
}

#[test]
fn an_entry_that_somebody_else_adds_meanwhile_stays() {
    let server = keeping(json!({ "team": "blue" }), &[0, 1]);
    let update = ["users", "update", "alice", "--metadata", "tier=gold", "--name", "Alice"];
    let ran = Home::with(&server).run(&update);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let merged = json!({ "team": "blue", "other": 1, "tier": "gold" });
    assert_eq!(last(&server).body, json!({ "name": "Alice", "metadata": merged }));
    // What changes all the time is given up at some point.
    let server = keeping(json!({}), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let ran = Home::with(&server).run(&update);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""), "{}", ran.stderr);
}

#[test]
fn the_columns_of_an_import_are_merged() {
    let server = keeping(json!({ "team": "blue", "tier": "gold" }), &[0]);
    let home = Home::with(&server);
    let report = home.dir.path().join("r.jsonl").display().to_string();
    let rows = "userId,metadata.team,metadata.tier\nalice,red,\n";
    let ran = home.run_with_input(&["users", "import", "-", "--report", &report], rows);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let merged = json!({ "team": "red", "tier": "gold", "other": 0 });
    assert_eq!(last(&server).body["metadata"], merged);
}

/// The metadata of a new assignment goes along with it.
#[test]
fn the_metadata_of_an_assignment_is_merged() {
    let bodies = |is_assigned: bool, flags: &[&str]| {
        let server = FakeServer::answering(move |request| match request.path.as_str() {
            "/api/v1/admin/explain" if !is_assigned => {
                Reply::data(200, &explanation(Some("no_license"), &[]))
            }
            path if path.ends_with("/assign") => {
                let mut assignment = assignment();
                assignment["metadata"] = json!({ "order": "47", "by": "x" });
                Reply::data(200, &assignment)
            }
            _ => answer(request),
        });
        let assign = ["licenses", "assign", LICENSE, "alice"];
        let ran = Home::with(&server).run(&[&assign[..], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let sent = server.received().into_iter().filter(|it| it.path.ends_with("/assign"));
        sent.map(|request| request.body["metadata"].clone()).collect::<Vec<_>>()
    };
    let pairs = ["--metadata", "order=48", "--metadata", "team=blue"];
    let sent = json!({ "order": "48", "team": "blue" });
    assert_eq!(bodies(false, &pairs), [sent]);
    let merged = json!({ "order": "48", "by": "x", "team": "blue" });
    assert_eq!(bodies(true, &pairs), [Value::Null, merged]);
    assert_eq!(bodies(true, &["--metadata-json", "{}"]), [json!({})]);
    assert_eq!(bodies(true, &[]), [Value::Null]);
}

/// A license has a name and metadata too.
#[test]
fn the_metadata_of_a_license_is_merged() {
    let server = FakeServer::answering(|request| match request.line() {
        line if line == format!("GET /api/v1/admin/licenses/{LICENSE}") => {
            let mut license = license_with_seats(1);
            license["metadata"] = json!({ "order": "47", "by": "x" });
            Reply::data(200, &license).with("etag", "\"1\"")
        }
        _ => answer(request),
    });
    let home = Home::with(&server);
    let pairs = ["--metadata", "order=48", "--metadata", "by=", "--name", "North"];
    let ran = home.run(&[&["licenses", "update", LICENSE][..], &pairs].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(last(&server).body, json!({ "name": "North", "metadata": { "order": "48" } }));
    assert_eq!(last(&server).if_match.as_deref(), Some("\"1\""));
    home.run(&["licenses", "update", LICENSE, "--name", "none", "--no-metadata"]);
    assert_eq!(last(&server).body, json!({ "clear": ["name", "metadata"] }));
    let new =
        ["licenses", "create", "--plan", "Pro annual", "--name", "North", "--metadata", "a=1"];
    assert_eq!(home.run(&new).code, 0);
    assert_eq!(last(&server).body["name"], "North");
    assert_eq!(last(&server).body["metadata"], json!({ "a": "1" }));
    assert_eq!(home.run(&["licenses", "update", LICENSE]).code, 2);
}
