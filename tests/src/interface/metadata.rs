//! `mergeMetadata` of users, licenses and assignments: RFC 7396, under the lock of the record.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::App;

const USERS: &str = "/api/v1/admin/users";

/// A record's metadata after a request to each path that merges.
#[tokio::test]
async fn metadata_is_merged_wherever_it_is_kept() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let licenses = format!("/api/v1/admin/licenses/{license}");
    let user = app.post(USERS, json!({ "externalId": "ada" })).await.id();
    let of_user = async |change: Value| app.patch(&format!("{USERS}/{user}"), change).await;
    let of_same_user = async |mut change: Value| {
        change["externalId"] = "ada".into();
        app.post(USERS, change).await
    };
    let of_license = async |change: Value| {
        app.patch(&licenses, change).await.data();
        app.get(&licenses).await
    };
    let of_assignment = async |mut change: Value| {
        change["userId"] = "ada".into();
        app.post(&format!("{licenses}/assign"), change).await
    };
    for (sent, kept) in [
        (json!({ "mergeMetadata": {} }), json!(null)),
        (json!({ "mergeMetadata": { "a": 1, "b": null } }), json!({ "a": 1 })),
        (
            json!({ "mergeMetadata": { "c": { "d": 1, "e": 2 } } }),
            json!({ "a": 1, "c": { "d": 1, "e": 2 } }),
        ),
        (json!({ "mergeMetadata": { "a": null, "c": { "d": null } } }), json!({ "c": { "e": 2 } })),
        (json!({ "mergeMetadata": null }), json!({ "c": { "e": 2 } })),
        (json!({ "metadata": { "z": 1 } }), json!({ "z": 1 })),
        (json!({ "mergeMetadata": { "z": null } }), json!({})),
        (json!({ "metadata": { "c": "x".repeat(9_000) } }), json!({ "c": "x".repeat(9_000) })),
    ] {
        assert_eq!(of_user(sent.clone()).await["metadata"], kept, "{sent}");
        assert_eq!(of_license(sent.clone()).await["metadata"], kept, "{sent}");
        assert_eq!(of_assignment(sent.clone()).await["metadata"], kept, "{sent}");
    }
    assert_eq!(
        of_same_user(json!({ "mergeMetadata": { "c": 1 } })).await["metadata"],
        json!({ "c": 1 })
    );
    of_same_user(json!({ "metadata": { "c": "x".repeat(9_000) } })).await.data();
    let new = json!({ "externalId": "grace", "mergeMetadata": { "a": 1, "b": null } });
    assert_eq!(app.post(USERS, new).await["metadata"], json!({ "a": 1 }));
    let before = (app.user("ada").await, app.get(&licenses).await.data().clone());
    for (refused, field) in [
        (json!({ "mergeMetadata": { "d": "x".repeat(9_000) } }), "mergeMetadata"),
        (json!({ "mergeMetadata": { "d": 1 }, "metadata": {} }), "mergeMetadata"),
        (json!({ "mergeMetadata": [] }), "mergeMetadata"),
        (json!({ "mergeMetadata": { "a\u{0}": 1 } }), "mergeMetadata"),
    ] {
        let told = format!("400 invalid_request {field}");
        assert_eq!(of_user(refused.clone()).await.refusal(), told);
        assert_eq!(of_same_user(refused.clone()).await.refusal(), told);
        assert_eq!(app.patch(&licenses, refused.clone()).await.refusal(), told);
        assert_eq!(of_assignment(refused).await.refusal(), told);
    }
    let both = json!({ "mergeMetadata": { "d": 1 }, "clear": ["metadata"] });
    assert_eq!(of_user(both.clone()).await.refusal(), "400 invalid_request mergeMetadata");
    assert_eq!(app.patch(&licenses, both).await.refusal(), "400 invalid_request mergeMetadata");
    assert_eq!((app.user("ada").await, app.get(&licenses).await.data().clone()), before);
}

/// A merge needs no read before, and loses no entry of another caller.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_merges_lose_no_entry() {
    let app = App::start().await;
    let path = format!("{USERS}/{}", app.post(USERS, json!({ "externalId": "ada" })).await.id());
    let merges = (0..16).map(|n| {
        let entry = json!({ format!("k{n:02}"): n });
        app.patch(&path, json!({ "mergeMetadata": entry }))
    });
    for merged in join_all(merges).await {
        merged.data();
    }
    let kept = app.get(&path).await["metadata"].as_object().unwrap().len();
    assert_eq!(kept, 16);
}

/// A stored number of this size would come back with other digits.
#[tokio::test]
async fn a_whole_number_beyond_64_bits_is_refused() {
    let app = App::start().await;
    let body = r#"{"externalId":"ada","metadata":{"order":[18446744073709551616]}}"#;
    let refused = app.post_text(USERS, body).await;
    assert_eq!(refused.refusal(), "400 invalid_request metadata");
    assert!(app.user("ada").await.is_null());
}
