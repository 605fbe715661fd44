//! A key that is unknown, revoked or expired costs the same work as each of the others, and the
//! caller cannot tell them apart: one statement, which finds a key by its whole hash, or none.

use common::{ApiKey, Mode, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{TestDatabase, client, until};
use crate::nodes::process::{Process, first_key};

/// The ways in.
const WAYS: [(Method, &str); 3] = [
    (Method::POST, "/api/v1/validate"),
    (Method::GET, "/api/v1/admin/products"),
    (Method::POST, "/dashboard/sign-in"),
];

/// One request with this key: the answer without what differs from one to the next, and its id.
async fn refused(licd: &Process, (method, path): &(Method, &str), key: &str) -> (String, String) {
    let client = client().build().unwrap();
    let request = client.request(method.clone(), format!("{}{path}", licd.base));
    let request = if path.starts_with("/dashboard") {
        let form = request.header("content-type", "application/x-www-form-urlencoded");
        form.body(format!("key={key}"))
    } else {
        request.bearer_auth(key).json(&json!({ "userId": "ada" }))
    };
    let mut answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 401, "{path}");
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    for each in ["x-request-id", "date"] {
        answer.headers_mut().remove(each);
    }
    let headers = format!("{:?}", answer.headers());
    let body = answer.text().await.unwrap().replace(&id, "");
    (format!("{headers} {body}"), id)
}

/// The statements in the log that read, but for those before `from`.
fn reads(licd: &Process, from: usize) -> Vec<String> {
    let log = licd.log();
    let entries = log.lines().skip(from).map(serde_json::from_str::<Value>);
    let statements =
        entries.filter_map(Result::ok).filter(|entry| entry["target"] == "sqlx::query");
    let text = |entry: &Value| {
        let of = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let text = format!("{} {}", of("summary"), of("db.statement"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    statements.map(|entry| text(&entry)).filter(|text| text.contains("hash")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_revoked_and_expired_keys_are_alike() {
    let (database, first) = (TestDatabase::ready().await, first_key());
    let settings = [("LICD_BOOTSTRAP_KEY", &*first), ("LICD_LOG", "info,sqlx=debug")];
    let licd = Process::launch_with(&database.url, &settings).wait();
    let admin = licd.caller(&first);
    let make = async |name: &str| {
        let made = admin.post("/api/v1/admin/keys", json!({ "name": name, "role": "admin" })).await;
        (made.id(), made["key"].as_str().unwrap().to_owned())
    };
    let (revoked_id, revoked) = make("revoked").await;
    admin.post(&format!("/api/v1/admin/keys/{revoked_id}/revoke"), json!({})).await.data();
    let (_, expired) = make("expired").await;
    let db = database.open().await;
    let expire = "update keys set expires_at = $1 where name = 'expired'";
    let end: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    db.write().await.unwrap().query(expire).bind(end).execute().await.unwrap();
    db.close().await;
    let unknown = ApiKey::generate(Mode::Live).expose().to_owned();
    for way in &WAYS {
        let mut seen = Vec::new();
        for key in [&unknown, &revoked, &expired] {
            let from = licd.log().lines().count();
            let (answer, id) = refused(&licd, way, key).await;
            // Its line comes after those of its statements.
            until("the request is logged", async || licd.log().contains(&id)).await;
            seen.push((answer, reads(&licd, from)));
        }
        assert_eq!(seen[0].1.len(), 1, "{way:?}: {:?}", seen[0].1);
        assert!(seen.iter().all(|one| *one == seen[0]), "{way:?}: {seen:#?}");
        // A damaged key costs none: its fault shows without the database.
        let from = licd.log().lines().count();
        let damaged =
            format!("{}{}", &unknown[..45], if unknown.ends_with('x') { 'y' } else { 'x' });
        let (answer, id) = refused(&licd, way, &damaged).await;
        until("the request is logged", async || licd.log().contains(&id)).await;
        assert_eq!((answer, reads(&licd, from)), (seen[0].0.clone(), vec![]), "{way:?}");
    }
    assert!(licd.stop().success());
}
