//! Tenants and modes are isolated worlds: a record of another world gives exactly the same response
//! as an unknown one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{App, Caller};

/// One of everything, as ids by kind.
struct World {
    product: String,
    plan: String,
    license: String,
    user: String,
    key: String,
    license_key: String,
    webhook: String,
    /// The text that users type.
    typed: String,
}

async fn settle(caller: &Caller) -> World {
    let product = caller.product("Studio").await;
    let plan = caller.plan_of(&product, json!({ "maxSeats": 3 })).await;
    let license = caller.license_of(&plan).await;
    caller.update(&license, json!({ "expiresAt": "2999-01-01T00:00:00Z" })).await.data();
    let named = json!({ "externalId": "ada", "email": "ada@example.com", "name": "Ada" });
    caller.post("/api/v1/admin/users", named).await.data();
    caller.assign(&license, "ada").await.data();
    assert_eq!(caller.validate("ada").await.verdict(), "valid");
    let user = caller.user("ada").await["id"].as_str().unwrap().to_owned();
    let made = json!({ "name": "k", "role": "read" });
    let key = caller.post("/api/v1/admin/keys", made).await.id();
    let given = caller.post(&format!("/api/v1/admin/licenses/{license}/keys"), json!({})).await;
    let (license_key, typed) = (given.id(), given["key"].as_str().unwrap().to_owned());
    let hook = json!({ "url": "http://127.0.0.1:9/" });
    let webhook = caller.post("/api/v1/admin/webhooks", hook).await.id();
    World { product, plan, license, user, key, license_key, webhook, typed }
}

/// Every request that reaches a record by its id, aimed at this world.
fn requests(world: &World) -> Vec<(Method, String, Value)> {
    let World { product, plan, license, user, key, license_key, webhook, typed } = world;
    let admin = |path: &str| format!("/api/v1/admin/{path}");
    vec![
        (Method::GET, admin(&format!("products/{product}")), json!(null)),
        (Method::PATCH, admin(&format!("products/{product}")), json!({ "name": "Mine" })),
        (Method::GET, admin(&format!("plans/{plan}")), json!(null)),
        (Method::PATCH, admin(&format!("plans/{plan}")), json!({ "name": "Mine" })),
        (Method::GET, admin(&format!("licenses/{license}")), json!(null)),
        (Method::PATCH, admin(&format!("licenses/{license}")), json!({ "maxSeats": 9 })),
        (
            Method::PATCH,
            admin(&format!("licenses/{license}/status")),
            json!({ "status": "revoked" }),
        ),
        (Method::POST, admin(&format!("licenses/{license}/renew")), json!({ "for": "1y" })),
        (Method::POST, admin(&format!("licenses/{license}/assign")), json!({ "userId": "ada" })),
        (Method::DELETE, admin(&format!("licenses/{license}/assign/ada")), json!(null)),
        (Method::DELETE, admin(&format!("licenses/{license}/assign?userId=ada")), json!(null)),
        (Method::POST, admin(&format!("licenses/{license}/release")), json!({ "userId": "ada" })),
        (
            Method::POST,
            admin(&format!("licenses/{license}/transfer")),
            json!({ "fromUserId": "ada", "toUserId": "bob" }),
        ),
        (Method::GET, admin(&format!("licenses/{license}/assignments")), json!(null)),
        (Method::GET, admin(&format!("licenses/{license}/usage")), json!(null)),
        (Method::GET, admin(&format!("licenses/{license}/keys")), json!(null)),
        (Method::POST, admin(&format!("licenses/{license}/keys")), json!({})),
        (Method::POST, admin(&format!("license-keys/{license_key}/reissue")), json!(null)),
        (Method::POST, admin(&format!("license-keys/{license_key}/revoke")), json!(null)),
        (Method::POST, admin("license-keys/find"), json!({ "key": typed })),
        (Method::POST, "/api/v1/claim".into(), json!({ "userId": "ada", "key": typed })),
        (Method::GET, admin(&format!("webhooks/{webhook}")), json!(null)),
        (Method::PATCH, admin(&format!("webhooks/{webhook}")), json!({ "enabled": false })),
        (Method::GET, admin(&format!("webhooks/{webhook}/failures")), json!(null)),
        (Method::POST, admin(&format!("webhooks/{webhook}/replay")), json!({ "after": 0 })),
        (Method::POST, admin(&format!("webhooks/{webhook}/retry")), json!(null)),
        (Method::POST, admin(&format!("webhooks/{webhook}/roll")), json!({})),
        (Method::POST, admin(&format!("webhooks/{webhook}/test")), json!(null)),
        (
            Method::POST,
            admin(&format!("webhooks/{webhook}/resend")),
            json!({ "event": "evt_01h455vb4pex5vsknk084sn02q" }),
        ),
        (Method::DELETE, admin(&format!("webhooks/{webhook}")), json!(null)),
        (Method::GET, admin(&format!("users/{user}")), json!(null)),
        (Method::PATCH, admin(&format!("users/{user}")), json!({ "name": "Mine" })),
        (Method::POST, admin(&format!("keys/{key}/roll")), json!({})),
        (Method::POST, admin(&format!("keys/{key}/revoke")), json!({})),
        (Method::POST, admin("plans"), json!({ "productId": product, "name": "Mine" })),
        (Method::POST, admin("licenses"), json!({ "planId": plan })),
        (Method::POST, admin("explain"), json!({ "userId": "ada", "productId": product })),
        (Method::POST, "/api/v1/validate".into(), json!({ "userId": "ada", "productId": product })),
        (Method::POST, "/api/v1/lease".into(), json!({ "userId": "ada", "productId": product })),
    ]
}

async fn send(caller: &Caller, (method, path, body): (Method, String, Value)) -> (u16, Value) {
    let answer = caller
        .send(method, &path, |request| match body {
            Value::Null => request,
            body => request.json(&body),
        })
        .await;
    answer.told()
}

/// Everything the caller can list.
async fn everything(caller: &Caller) -> Vec<Value> {
    let mut lists = Vec::new();
    for list in ["products", "plans", "licenses", "users"] {
        lists.push(caller.get(&format!("/api/v1/admin/{list}")).await.data().clone());
    }
    lists
}

/// The unknown id of the right kind, for every id of a world.
fn unknown(world: &World) -> World {
    let other = |id: &str| format!("{}_01h455vb4pex5vsknk084sn02q", id.split('_').next().unwrap());
    World {
        product: other(&world.product),
        plan: other(&world.plan),
        license: other(&world.license),
        user: other(&world.user),
        key: other(&world.key),
        license_key: other(&world.license_key),
        webhook: other(&world.webhook),
        typed: "7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX".to_owned(),
    }
}

/// "An id of another tenant or mode: the very same answer" as an unknown one.
#[tokio::test]
async fn records_of_another_world_do_not_exist() {
    let app = App::with_webhooks().await;
    let (test, foreign) = (app.test_mode().await, app.other_tenant().await);
    let world = settle(&app).await;
    let before = everything(&app).await;
    for stranger in [&test, &foreign] {
        let (reached, missed) = (requests(&world), requests(&unknown(&world)));
        for (theirs, unknown) in reached.into_iter().zip(missed) {
            let what = format!("{} {}", theirs.0, theirs.1);
            let answer = send(stranger, theirs).await;
            assert!(matches!(answer.0, 400 | 404), "{what}: {answer:?}");
            assert_eq!(answer, send(stranger, unknown).await, "{what}");
        }
        for list in everything(stranger).await {
            assert_eq!(list, json!([]));
        }
        for filter in [
            format!("plans?productId={}", world.product),
            format!("licenses?planId={}", world.plan),
            format!("licenses?productId={}", world.product),
            format!("licenses?search={}", world.license),
            format!("licenses?search={}", &world.license[26..]),
            "licenses?status=active".into(),
            "licenses?userId=ada".into(),
            "licenses?endsBefore=9999-12-31T23:59:59Z".into(),
            "licenses?search=".into(),
            "webhooks".into(),
            "users?externalId=ada".into(),
            "users?search=ada".into(),
            "users?search=ADA@".into(),
            "users?search=".into(),
            format!("users?after={}", world.user),
        ] {
            let found = stranger.get(&format!("/api/v1/admin/{filter}")).await;
            assert!(found.list().is_empty(), "{filter}");
        }
        assert_eq!(stranger.explain("ada").await["reason"], "user_not_found");
        assert_eq!(stranger.validate("ada").await.verdict(), "no_license");
    }
    assert_eq!(everything(&app).await, before, "and nothing was changed");
    assert_ne!(app.get("/api/v1/admin/webhooks").await.each("state"), ["disabled"]);
    let seats = app.usage(&world.license).await["activeSeats"].clone();
    assert_eq!(seats, 1);
}

/// Four worlds with the same names in them: each sees its own, and a change in one is none in
/// another.
#[tokio::test]
async fn the_same_names_live_side_by_side() {
    let app = App::with_webhooks().await;
    let foreign = app.other_tenant().await;
    let foreign_test =
        app.with_key(&app.new_key("other", common::Role::Admin, common::Mode::Test).await);
    let worlds = [(*app).clone(), app.test_mode().await, foreign, foreign_test];
    let mut settled = Vec::new();
    for world in &worlds {
        settled.push(settle(world).await);
    }
    for (world, own) in worlds.iter().zip(&settled) {
        for filter in [
            "userId=ada".into(),
            "endsBefore=9999-12-31T23:59:59Z".into(),
            format!("productId={}", own.product),
            format!("search={}", own.license),
        ] {
            let found = world.get(&format!("/api/v1/admin/licenses?{filter}")).await;
            assert_eq!(found.each("id"), [&*own.license], "{filter}");
        }
        let found = world.get("/api/v1/admin/users?search=ADA@").await;
        assert_eq!(found.each("id"), [&*own.user]);
    }
    worlds[0].set_status(&settled[0].license, "suspended").await.data();
    worlds[1].unassign(&settled[1].license, "ada").await.data();
    let mut verdicts = Vec::new();
    for (world, own) in worlds.iter().zip(&settled) {
        assert_eq!(world.get("/api/v1/admin/users").await.each("id"), [&*own.user]);
        assert_eq!(world.get("/api/v1/admin/products").await.each("id"), [&*own.product]);
        assert_eq!(world.get("/api/v1/admin/plans").await.each("id"), [&*own.plan]);
        assert_eq!(world.get("/api/v1/admin/licenses").await.each("id"), [&*own.license]);
        verdicts.push(world.validate("ada").await.verdict().to_owned());
    }
    assert_eq!(verdicts, ["suspended", "no_license", "valid", "valid"]);
    assert_eq!(app.number("select count(*) from users").await, 4);
}

/// The two modes share the tenant, not its things: a live key lists the keys of both, as it must
/// be able to take them away, and no key lists another tenant's.
#[tokio::test]
async fn keys_are_the_tenants_own() {
    let app = App::start().await;
    let foreign = app.other_tenant().await;
    app.test_mode().await;
    let own = app.get("/api/v1/admin/keys").await;
    assert_eq!(own.each("mode"), ["live", "test"]);
    assert_eq!(foreign.get("/api/v1/admin/keys").await.list().len(), 1);
    for id in own.each("id") {
        let path = format!("/api/v1/admin/keys/{id}/revoke");
        assert_eq!(foreign.post(&path, json!({})).await.refusal(), "404 not_found");
    }
    assert_eq!(app.get("/api/v1/key").await["tenant"]["name"], "default");
    assert_eq!(foreign.get("/api/v1/key").await["tenant"]["name"], "other");
}
