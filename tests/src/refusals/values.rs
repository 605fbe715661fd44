//! Invalid values: texts, numbers, enums, ids, and the queries of lists.

use serde_json::{Value, json};

use crate::harness::App;

/// Every place where a text goes: address, its member, and what else the body needs.
const TEXTS: [(&str, &str, &str); 10] = [
    ("/api/v1/validate", "userId", "{}"),
    ("/api/v1/admin/explain", "userId", "{}"),
    ("/api/v1/admin/users", "externalId", "{}"),
    ("/api/v1/admin/users", "email", r#"{"externalId":"ada"}"#),
    ("/api/v1/admin/users", "name", r#"{"externalId":"ada"}"#),
    ("/api/v1/admin/products", "name", "{}"),
    ("/api/v1/admin/products", "description", r#"{"name":"Studio"}"#),
    ("/api/v1/admin/plans", "name", r#"{"productId":"<product>"}"#),
    ("/api/v1/admin/plans", "description", r#"{"productId":"<product>","name":"Team"}"#),
    ("/api/v1/admin/keys", "name", r#"{"role":"read"}"#),
];

/// 1–255 characters, none of them a control character, in every place alike.
#[tokio::test]
async fn a_text_has_1_to_255_characters_and_no_control_character() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    for (path, member, rest) in TEXTS {
        let send = async |value: Value| {
            let mut body: Value =
                serde_json::from_str(&rest.replace("<product>", &product)).unwrap();
            body[member] = value;
            app.post(path, body).await
        };
        for taken in ["x", "\u{10ffff}", &"é".repeat(255), "a\u{a0}b", "\u{202e}\u{200b}x", "日本"]
        {
            let answer = send(taken.into()).await;
            assert!(answer.status < 300, "{path} {member} {taken:?}: {answer}");
        }
        let long = "é".repeat(256);
        let texts = ["", "a\0", "\u{1}b", "a\nb", "a\tb", "\u{7f}c", "a\u{85}d", "\u{9f}e", &long];
        for refused in texts.into_iter().map(Value::from).chain([json!(7), json!(["a"]), json!({})])
        {
            let told = send(refused.clone()).await.refusal();
            let wanted = format!("400 invalid_request {member}");
            assert_eq!(told, wanted, "{path} {refused}");
        }
    }
    assert_eq!(
        app.post("/api/v1/validate", json!({ "userId": "a\0" })).await.refusal(),
        "400 invalid_request userId"
    );
}

/// `maxSeats` 1…1,000,000 and `expiresInDays` 1…36,500, whole: zero and negatives could mean
/// "never" or "immediately", so they are refused.
#[tokio::test]
async fn a_number_is_whole_and_in_its_bounds() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({})).await;
    let license = app.license_of(&plan).await;
    for (member, max) in [("maxSeats", 1_000_000), ("expiresInDays", 36_500)] {
        let send = async |number: &str| {
            let body = format!(r#"{{"name":"Team","productId":"{product}","{member}":{number}}}"#);
            app.post_text("/api/v1/admin/plans", body).await
        };
        for number in ["1", &max.to_string()] {
            let taken = send(number).await;
            assert_eq!((taken.status, taken[member].to_string().as_str()), (201, number));
        }
        for number in ["58.0", "5.8e1", "58"] {
            assert_eq!(send(number).await[member], 58, "{number}");
        }
        let over = (max + 1).to_string();
        let strange = ["\"5\"", "true", "[5]", "1e9", "4294967297", "18446744073709551616"];
        for number in ["0", "-1", "1.5", "-9223372036854775808", &over].into_iter().chain(strange) {
            let told = send(number).await.refusal();
            assert_eq!(told, format!("400 invalid_request {member}"), "{number}");
        }
    }
    for (path, body, member) in [
        (format!("licenses/{license}"), json!({ "maxSeats": 0 }), "maxSeats"),
        (format!("plans/{plan}"), json!({ "expiresInDays": 36_501 }), "expiresInDays"),
    ] {
        let refused = app.patch(&format!("/api/v1/admin/{path}"), body).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {member}"));
    }
    let body = json!({ "planId": plan, "expiresInDays": 0 });
    assert_eq!(
        app.post("/api/v1/admin/licenses", body).await.refusal(),
        "400 invalid_request expiresInDays"
    );
}

/// At most 100 features of 1–100 characters, order kept; a repeat is 400.
#[tokio::test]
async fn features_are_few_short_and_each_once() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let send = async |features: Value| {
        let body = json!({ "name": "Team", "productId": product, "features": features });
        app.post("/api/v1/admin/plans", body).await
    };
    let many = |count: usize| (0..count).map(|n| format!("f{n:03}")).rev().collect::<Vec<_>>();
    for taken in [json!([]), json!(many(100)), json!(["x".repeat(100)]), json!(["b", "a", "B"])] {
        assert_eq!(send(taken.clone()).await["features"], taken);
    }
    for refused in [
        json!(many(101)),
        json!(["x".repeat(101)]),
        json!([""]),
        json!(["a\n"]),
        json!(["a", "b", "a"]),
        json!("a"),
        json!({ "a": true }),
        json!([1]),
        json!([null]),
    ] {
        let told = send(refused.clone()).await.refusal();
        assert_eq!(told, "400 invalid_request features", "{refused}");
    }
}

/// `metadata`: an object of at most 16 KiB.
#[tokio::test]
async fn metadata_is_an_object_of_at_most_16_kib() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let assign = format!("/api/v1/admin/licenses/{license}/assign");
    let sized = |size: usize| json!({ "k": "x".repeat(size - r#"{"k":""}"#.len()) });
    for (path, member) in [("/api/v1/admin/users", "externalId"), (&*assign, "userId")] {
        let send = async |metadata: Value| {
            let mut body = json!({ "metadata": metadata });
            body[member] = "ada".into();
            app.post(path, body).await
        };
        let taken = send(sized(16 * 1024)).await;
        assert_eq!(taken["metadata"], sized(16 * 1024));
        for refused in [
            sized(16 * 1024 + 1),
            json!([]),
            json!("{}"),
            json!(7),
            json!({ "a": ["\0"] }),
            json!({ "\0": 1 }),
        ] {
            let told = send(refused).await.refusal();
            assert_eq!(told, "400 invalid_request metadata", "{path}");
        }
    }
}

/// A query says a limit from 1 to 1000, and goes on after a cursor.
#[tokio::test]
async fn a_query_out_of_its_bounds_is_400() {
    let app = App::start().await;
    for list in ["products", "plans", "licenses", "users", "keys"] {
        for (query, field) in [
            ("limit=0", "limit"),
            ("limit=-1", "limit"),
            ("limit=1001", "limit"),
            ("limit=ten", "limit"),
            ("limit=", "limit"),
            ("limit=1.5", "limit"),
            ("limit=1&limit=2", "limit"),
            ("after=x", "after"),
            ("after=", "after"),
            ("after=act_01h455vb4pex5vsknk084sn02q", "after"),
        ] {
            let refused = app.get(&format!("/api/v1/admin/{list}?{query}")).await;
            let told = refused.refusal();
            assert_eq!(told, format!("400 invalid_request {field}"), "{list}?{query}");
        }
        let longest = app.get(&format!("/api/v1/admin/{list}?limit=1000")).await;
        assert_eq!(longest.status, 200, "{list}");
    }
}
