//! The search for a user: by the exact external id, and by the words of the external id, the email
//! and the name.

use licd::ops::users;
use serde_json::json;

use super::view_of;
use crate::harness::{App, Caller};

/// The external ids that the text finds, and whether more exist.
async fn found(app: &App, caller: &Caller, text: &str, limit: i64) -> (Vec<String>, bool) {
    let found = users::find(view_of(app, caller).await, text, limit).await.unwrap();
    let external_ids = found.users.iter().map(|user| user.external_id.as_str().to_owned());
    (external_ids.collect(), found.more_exist)
}

async fn create(app: &Caller, external_id: &str, email: &str, name: &str) {
    let user = json!({ "externalId": external_id, "email": email, "name": name });
    app.post("/api/v1/admin/users", user).await.data();
}

#[tokio::test]
async fn the_exact_user_comes_first_then_those_who_begin_alike() {
    let app = App::start().await;
    create(&app, "ada", "lovelace@example.com", "Ada Lovelace").await;
    create(&app, "Ada", "x@example.com", "X").await;
    create(&app, "1", "ADA@example.com", "Someone").await;
    create(&app, "2", "b@example.com", "adam").await;
    create(&app, "ada-2", "c@example.com", "C").await;
    create(&app, "3", "d@ada.example", "Not Ada").await;
    create(&app.other_tenant().await, "ada", "ada@example.com", "Ada").await;
    let find = async |text, limit| found(&app, &app, text, limit).await;
    let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();

    assert_eq!(find("ada", 10).await, (all(&["ada", "1", "2", "3", "Ada", "ada-2"]), false));
    assert_eq!(find("ADA", 10).await, (all(&["1", "2", "3", "Ada", "ada", "ada-2"]), false));
    assert_eq!(find("Ada", 10).await, (all(&["Ada", "1", "2", "3", "ada", "ada-2"]), false));
    assert_eq!(find("lovelace", 10).await, (all(&["ada"]), false));
    let long = "x".repeat(1000);
    for nothing in ["", "nobody", "a\0", "\u{10ffff}", &long] {
        assert_eq!(find(nothing, 10).await, (vec![], false), "{nothing:?}");
    }
    // The exact one is beyond the limit, and no one else of the rest.
    assert_eq!(find("ada", 5).await, (all(&["ada", "1", "2", "3", "Ada", "ada-2"]), false));
    assert_eq!(find("ada", 2).await, (all(&["ada", "1", "2"]), true));
    assert_eq!(find("ada", 0).await, (all(&["ada"]), true));
}

/// Whether more exist is known also if the exact user takes a place, and each user is found by
/// several words.
#[tokio::test]
async fn more_exist_exactly_when_the_limit_is_exceeded() {
    let app = App::start().await;
    for count in 1..6 {
        let external_id = format!("a{}", "-".repeat(count - 1));
        create(&app, &external_id, "a@example.com", "A").await;
        for limit in 1..7 {
            let (users, more_exist) = found(&app, &app, "a", limit).await;
            let others = count - 1;
            assert_eq!(users[0], "a");
            assert_eq!(users.len(), 1 + others.min(limit as usize), "{count} users, {limit}");
            assert_eq!(more_exist, others > limit as usize, "{count} users, {limit}");
        }
    }
}
