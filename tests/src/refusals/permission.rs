//! 403: the permissions of roles and modes.

use common::{Mode, Role};
use serde_json::json;

use super::{OPERATIONS, ask, with_unknown_ids};
use crate::harness::App;

/// `validate`: only POST /validate, /claim and /release. `read`: every admin GET, explain, and what
/// finds a license key. `admin`: everything. And every key may ask whose it is,
/// and what applications embed.
fn may(role: Role, method: &str, path: &str) -> bool {
    match (role, method, path) {
        (_, _, "/api/v1/key" | "/api/v1/signing-keys") | (Role::Admin, _, _) => true,
        (Role::Validate, _, path) => {
            matches!(
                path,
                "/api/v1/validate" | "/api/v1/claim" | "/api/v1/lease" | "/api/v1/release"
            )
        }
        (Role::Read, "GET", _) => true,
        (Role::Read, _, "/api/v1/admin/explain" | "/api/v1/admin/license-keys/find") => true,
        (Role::Read, _, _) => false,
    }
}

/// Row 403 of the table of errors, for every operation and role.
#[tokio::test]
async fn each_role_may_do_its_part_and_no_more() {
    let app = App::start().await;
    assert_eq!(app.asker().await.get("/api/v1/admin/users").await.refusal(), "403 forbidden");
    for mode in [Mode::Live, Mode::Test] {
        for role in [Role::Validate, Role::Read, Role::Admin] {
            let caller = app.caller(role, mode).await;
            for operation in OPERATIONS {
                let (method, path, body) = operation;
                let told = ask(&caller, operation, &with_unknown_ids(body)).await;
                let allowed = may(role, method, path);
                assert_eq!(told != "403 forbidden", allowed, "{role} {operation:?}: {told}");
            }
        }
    }
}

/// A key without permission has changed nothing.
#[tokio::test]
async fn a_refused_key_changes_nothing() {
    let app = App::start().await;
    for caller in [app.asker().await, app.reader().await] {
        for operation in OPERATIONS
            .into_iter()
            .filter(|(method, path, _)| *method != "GET" && *path != "/api/v1/validate")
        {
            ask(&caller, operation, &with_unknown_ids(operation.2)).await;
        }
    }
    for table in ["select count(*) from users", "select count(*) from products"] {
        assert_eq!(app.number(table).await, 0, "{table}");
    }
    assert_eq!(app.number("select count(*) from keys").await, 3);
}

/// A live admin key may make and see test keys; a test key sees and makes only test keys.
#[tokio::test]
async fn a_test_key_reaches_no_live_key() {
    let app = App::start().await;
    let test = app.test_mode().await;
    let keys = "/api/v1/admin/keys";
    for role in ["validate", "read", "admin"] {
        let body = json!({ "name": "k", "role": role, "mode": "live" });
        assert_eq!(test.post(keys, body).await.refusal(), "403 forbidden", "{role}");
    }
    let made = test.post(keys, json!({ "name": "t", "role": "read", "mode": "test" })).await;
    assert_eq!(made.status, 201);
    assert_eq!(test.get(keys).await.each("mode"), ["test", "test"]);
    assert_eq!(app.get(keys).await.each("mode"), ["live", "test", "test"]);
    let live = app.get("/api/v1/key").await.id();
    let revoke = |id: &str| format!("{keys}/{id}/revoke");
    let unknown = test.post(&revoke("key_01h455vb4pex5vsknk084sn02q"), json!({})).await.told();
    assert_eq!(test.post(&revoke(&live), json!({})).await.told(), unknown);
    let roll = |id: &str| format!("{keys}/{id}/roll");
    assert_eq!(test.post(&roll(&live), json!({})).await.told(), unknown);
    assert_eq!(app.post(&roll(&made.id()), json!({})).await["mode"], "test");
    let revoked = app.post(&revoke(&made.id()), json!({})).await;
    assert_eq!(revoked.status, 200, "a live key takes test keys away");
}
