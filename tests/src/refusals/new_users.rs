//! 429 for a key whose validations make too many users: unknown users wait, known ones don't.

use serde_json::json;

use crate::harness::App;

#[tokio::test]
async fn past_its_rate_a_key_makes_no_new_users() {
    let app = App::with_few_new_users().await;
    app.validate("ada").await.data();
    for n in 1..10 {
        assert_eq!(app.validate(&format!("new-{n}")).await.verdict(), "no_license");
    }
    // Another is earned in ten seconds: of a few more, some may be let in, but not all.
    let mut more = Vec::new();
    for n in 0..5 {
        more.push(app.validate(&format!("more-{n}")).await);
    }
    let refused = more.iter().rposition(|answer| answer.status == 429).unwrap();
    let (name, refused) = (format!("more-{refused}"), &more[refused]);
    assert_eq!(refused.refusal(), "429 rate_limited userId");
    let sentence = refused.body["error"].as_str().unwrap();
    assert!(sentence.starts_with("Rate limit exceeded. Please try again later."), "{sentence}");
    let wait = refused.body["retryAfter"].as_u64().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(refused.number("retry-after"), wait);
    let made = app.get(&format!("/api/v1/admin/users?externalId={name}")).await;
    assert_eq!(made.list().len(), 0, "nothing was done");

    assert_eq!(app.validate("ada").await.verdict(), "no_license", "she is known");
    let posted = app.post("/api/v1/admin/users", json!({ "externalId": "eve" })).await;
    assert_eq!(posted.status, 201, "only validations are limited");
    let other = app.asker().await;
    assert_eq!(other.validate("bob").await.verdict(), "no_license", "each key has its own");
}

/// A user whose identifier is long takes the room of several.
#[tokio::test]
async fn long_identifiers_count_for_more_users() {
    let app = App::with_few_new_users().await;
    let letters = |name: &str, more: usize| format!("{name}{}", "x".repeat(more));
    for n in 0..3 {
        assert_eq!(app.validate(&letters(&n.to_string(), 254)).await.verdict(), "no_license");
    }
    let longest = "\u{1f600}".repeat(255);
    assert_eq!(app.validate(&longest).await.verdict(), "no_license", "counts for seven");
    assert_eq!(app.validate("ada").await.status, 429);
    assert_eq!(app.validate(&longest).await.verdict(), "no_license", "is known");
}
