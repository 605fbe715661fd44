//! 429: each key has a rate limit of its own, and its answers carry the remaining rate.

use std::time::Instant;

use futures_util::future::join_all;

use crate::harness::App;

const RATE_HEADERS: [&str; 5] =
    ["ratelimit-policy", "ratelimit", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];

/// Row 429 of the table of errors: its message, `retryAfter`, and the same number as a header.
#[tokio::test]
async fn a_limited_key_gets_the_seconds_to_wait() {
    let app = App::with_limit("3/m").await;
    for left in [2, 1, 0] {
        let answer = app.get("/api/v1/key").await;
        assert_eq!((answer.status, answer.number("ratelimit-remaining")), (200, left));
        assert_eq!(answer.number("ratelimit-limit"), 3);
        assert_eq!(answer.header("ratelimit-policy"), Some(r#""key";q=3;w=60"#));
        // Each request takes 20 seconds to be earned again.
        let reset = answer.number("ratelimit-reset");
        assert!((1..=20 * (3 - left)).contains(&reset), "{reset}");
        assert_eq!(answer.header("ratelimit"), Some(&*format!(r#""key";r={left};t={reset}"#)));
    }
    let refused = app.validate("ada").await;
    let wait = refused.body["retryAfter"].as_u64().unwrap();
    assert!((1..=20).contains(&wait), "one request is earned in 20 seconds, rounded up: {wait}");
    assert_eq!(refused.number("retry-after"), wait);
    assert_eq!(refused.number("ratelimit-reset"), wait);
    assert_eq!(refused.number("ratelimit-remaining"), 0);
    assert_eq!(refused.header("ratelimit"), Some(&*format!(r#""key";r=0;t={wait}"#)));
    assert_eq!(app.number("select count(*) from users").await, 0, "nothing was done");
    let mut shown = refused;
    shown.body["retryAfter"] = "<seconds>".into();
    assert_eq!(shown.refusal(), "429 rate_limited");
}

/// Another key has a rate of its own, also one of the same tenant.
#[tokio::test]
async fn each_key_has_a_rate_of_its_own() {
    let app = App::with_limit("1/m").await;
    let other = app.reader().await;
    assert_eq!(app.get("/api/v1/key").await.status, 200);
    assert_eq!(app.get("/api/v1/key").await.status, 429);
    assert_eq!(other.get("/api/v1/key").await.status, 200);
    assert_eq!(other.get("/api/v1/key").await.status, 429);
}

/// Refused requests count as well.
#[tokio::test]
async fn refused_requests_count() {
    let app = App::with_limit("2/m").await;
    assert_eq!(app.post_text("/api/v1/validate", "x").await.status, 400);
    assert_eq!(app.get("/api/v1/admin/users/x").await.status, 404);
    assert_eq!(app.get("/api/v1/key").await.status, 429);
}

/// The headers stand on every authenticated answer, and on no other.
#[tokio::test]
async fn authenticated_answers_carry_the_headers() {
    let app = App::start().await;
    let asker = app.asker().await;
    for (answer, told) in [
        (app.get("/api/v1/admin/users").await, true),
        (app.post_text("/api/v1/validate", "x").await, true),
        (app.get("/api/v1/admin/users/x").await, true),
        (asker.get("/api/v1/admin/users").await, true),
        (app.without_key().get("/api/v1/key").await, false),
        (app.get("/healthz").await, false),
    ] {
        for header in RATE_HEADERS {
            assert_eq!(answer.header(header).is_some(), told, "{header} of {answer}");
        }
        assert_eq!(answer.header("retry-after"), None);
    }
}

/// `off`: there is no limit, and there are no headers.
#[tokio::test]
async fn without_a_limit_there_are_no_headers() {
    let app = App::with_limit("off").await;
    let answer = app.get("/api/v1/key").await;
    assert_eq!((answer.status, answer.header("ratelimit-limit")), (200, None));
}

/// The promise of a rate of n: n immediately, and then one in each interval, for all users of the
/// key, for validations and for everything else.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_come_together_are_counted_exactly() {
    const QUOTA: usize = 30;
    let app = App::with_limit("30/m").await;
    let started = Instant::now();
    let app = &app;
    let asked = (0..4 * QUOTA).map(|n| async move {
        if n % 2 == 0 { app.validate("ada").await } else { app.get("/api/v1/key").await }
    });
    let answers = join_all(asked).await;
    // One is earned in two seconds.
    let earned = started.elapsed().as_secs() as usize / 2 + 1;
    let granted = answers.iter().filter(|answer| answer.status == 200).count();
    assert!((QUOTA..=QUOTA + earned).contains(&granted), "{granted} were granted");
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 429)));
}
