//! The order of checks: 401, 429, 403, 400, 404, 409. The first failed check decides the answer.

use common::{ApiKey, Mode, Role};
use serde_json::json;

use super::{OPERATIONS, ask, with_unknown_ids};
use crate::harness::{App, Caller};

const VALIDATE: &str = "/api/v1/validate";

/// A body that every operation refuses.
const BROKEN: &str = r#"{"userId":5,"name":5,"planId":5,"status":5,"externalId":5,"maxSeats":"x",
    "overlapSeconds":"x"}"#;

/// 401 before 400 and 404, and 403 before them: the body is not even looked at.
#[tokio::test]
async fn key_and_permission_come_before_body_and_address() {
    let app = App::start().await;
    let nobody = app.without_key();
    let asker = app.asker().await;
    for operation in OPERATIONS.into_iter().filter(|(_, path, _)| path.contains("/admin/")) {
        for body in [BROKEN, "{", "[]", "x"] {
            let body = if operation.2.is_empty() { "" } else { body };
            assert_eq!(ask(&nobody, operation, body).await, "401 unauthorized", "{operation:?}");
            assert_eq!(ask(&asker, operation, body).await, "403 forbidden", "{operation:?}");
        }
    }
}

/// 400 before 404: an invalid body is refused before an unknown path id.
#[tokio::test]
async fn the_body_comes_before_the_address() {
    let app = App::start().await;
    let in_address = |path: &str| path.contains('{');
    for operation in OPERATIONS.into_iter().filter(|(_, path, _)| in_address(path)) {
        let good = ask(&app, operation, &with_unknown_ids(operation.2)).await;
        assert_eq!(good, "404 not_found", "{operation:?}");
        if !operation.2.is_empty() {
            let told = ask(&app, operation, BROKEN).await;
            assert!(told.starts_with("400 invalid_request"), "{operation:?}: {told}");
        }
    }
    let usage = "/api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/usage?limit=0";
    assert_eq!(app.get(usage).await.refusal(), "400 invalid_request limit");
}

/// A malformed id in an address is an unknown one: 404, and 400 first if the body is no good.
#[tokio::test]
async fn a_malformed_id_is_an_unknown_one() {
    let app = App::start().await;
    let malformed = |path: &str| {
        let named = ["{prd}", "{pln}", "{lic}", "{usr}", "{key}"];
        named.iter().fold(path.to_owned(), |path, name| path.replace(name, "no-id"))
    };
    for (method, path, body) in OPERATIONS.into_iter().filter(|(_, path, _)| path.contains('{')) {
        let unknown = ask(&app, (method, path, body), &with_unknown_ids(body)).await;
        let operation = (method, &*malformed(path), body);
        assert_eq!(ask(&app, operation, &with_unknown_ids(body)).await, unknown, "{operation:?}");
        if !body.is_empty() {
            let told = ask(&app, operation, BROKEN).await;
            assert!(told.starts_with("400 invalid_request"), "{operation:?}: {told}");
        }
    }
}

/// 404 before 409 cannot meet; 400 before 409 and 401 before all: the last admin key stays.
#[tokio::test]
async fn the_conflict_comes_last() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    let revoke = format!("/api/v1/admin/keys/{own}/revoke");
    let reader = app.reader().await;
    assert_eq!(app.without_key().post(&revoke, json!({})).await.refusal(), "401 unauthorized");
    assert_eq!(reader.post(&revoke, json!({})).await.refusal(), "403 forbidden");
    assert_eq!(app.post(&revoke, json!({})).await.refusal(), "409 conflict");
}

/// 401 before 429 before 403: a wrong key consumes no rate, and a limited key gets 429 first.
#[tokio::test]
async fn the_rate_comes_between_key_and_permission() {
    let app = App::with_limit("2/m").await;
    let asker = app.caller(Role::Validate, Mode::Live).await;
    for _ in 0..5 {
        let unknown = asker.without_key().get("/api/v1/admin/users").await;
        assert_eq!(unknown.refusal(), "401 unauthorized");
    }
    for _ in 0..2 {
        assert_eq!(asker.get("/api/v1/admin/users").await.refusal(), "403 forbidden");
    }
    assert_eq!(asker.get("/api/v1/admin/users").await.refusal(), "429 rate_limited");
    assert_eq!(asker.post_text("/api/v1/validate", "{").await.refusal(), "429 rate_limited");
}

/// 401, 429, 403 and 400 of a validation, whose key is looked up after its body was read if that is
/// short. Either way it counts once.
#[tokio::test]
async fn a_validation_keeps_the_order_however_long_its_body_is() {
    let app = App::with_limit("4/m").await;
    let unknown = app.with_key(ApiKey::generate(Mode::Live).expose());
    let (reader, asker) = (app.reader().await, app.asker().await);
    let space = " ".repeat(10_000);
    let good = r#"{"userId":"ada"}"#;
    let asked = [
        ("{".to_owned(), "400 invalid_request"),
        (format!("{space}{{"), "400 invalid_request"),
        (good.to_owned(), "200"),
        (format!("{space}{good}"), "200"),
    ];
    for ((body, told), left) in asked.into_iter().zip([3, 2, 1, 0]) {
        let validate = async |caller: &Caller| caller.post_text(VALIDATE, body.clone()).await;
        assert_eq!(validate(&unknown).await.refusal(), "401 unauthorized");
        let forbidden = validate(&reader).await;
        assert_eq!(forbidden.refusal(), "403 forbidden");
        assert_eq!(forbidden.number("ratelimit-remaining"), left);
        let answer = validate(&asker).await;
        assert_eq!(answer.number("ratelimit-remaining"), left);
        match told {
            "200" => assert_eq!(answer.status, 200),
            refused => assert_eq!(answer.refusal(), refused),
        }
    }
    for body in [good.to_owned(), format!("{space}{good}"), "{".to_owned()] {
        let spent = asker.post_text(VALIDATE, body).await;
        assert_eq!(spent.refusal(), "429 rate_limited");
    }
}
