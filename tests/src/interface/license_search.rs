//! GET /api/v1/admin/licenses by state and by name, and what matches thousands.

use common::{LicenseDetails, LicenseId, Timestamp};
use licd::store::{MANY_FOUND, licenses, phrases};
use serde_json::json;

use super::license_lists::{END, LICENSES, ids};
use crate::harness::App;
use crate::lists::pages;
use crate::operations::scope_of;

/// The state is that of now, whatever an administrator set.
#[tokio::test]
async fn licenses_are_listed_by_their_state() {
    let app = App::start().await;
    let (plan, other) = (app.plan(json!({})).await, app.plan(json!({})).await);
    let mut made = Vec::new();
    for (status, end) in [
        ("active", None),
        ("active", Some("2020-01-01T00:00:00Z")),
        ("active", Some(END)),
        ("suspended", None),
        ("suspended", Some("2020-01-01T00:00:00Z")),
        ("revoked", None),
        ("expired", Some(END)),
    ] {
        let license = app.license_of(&plan).await;
        app.set_status(&license, status).await.data();
        if let Some(end) = end {
            app.update(&license, json!({ "expiresAt": end })).await.data();
        }
        made.push(license);
    }
    for (state, numbers) in
        [("active", &[0, 2][..]), ("expired", &[1, 6]), ("suspended", &[3, 4]), ("revoked", &[5])]
    {
        let wanted: Vec<_> = numbers.iter().map(|number| made[*number].clone()).collect();
        assert_eq!(ids(&app, &[("state", state)]).await, wanted, "{state}");
        assert_eq!(ids(&app, &[("state", state), ("planId", &plan)]).await, wanted, "{state}");
        assert!(ids(&app, &[("state", state), ("planId", &other)]).await.is_empty(), "{state}");
        let pages = pages(&app, &format!("{LICENSES}?state={state}"), 1).await.concat();
        assert_eq!(pages.len(), wanted.len(), "{state} in pages");
        let both = ids(&app, &[("state", state), ("status", "active")]).await;
        let active: Vec<_> = wanted.iter().filter(|id| made[..3].contains(id)).cloned().collect();
        assert_eq!(both, active, "{state} and active");
    }
}

/// A license is found by what its name reads from one of its words on, as it is now.
#[tokio::test]
async fn licenses_are_found_by_their_names() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let named = async |name: &str| {
        let license = app.post(LICENSES, json!({ "planId": plan, "name": name })).await;
        license["id"].as_str().unwrap().to_owned()
    };
    let berlin = named("Acme Studio, Berlin").await;
    let oslo = named("Søren's STUDIO (Oslo)").await;
    let order = named("Order #4711-B / Acme").await;
    app.license_of(&plan).await;
    for (search, wanted) in [
        ("acme", &[&*berlin, &order][..]),
        ("ACM", &[&berlin, &order]),
        ("studio", &[&berlin, &oslo]),
        ("studio b", &[&berlin]),
        ("studio, ber", &[&berlin]),
        ("Studio  (oslo)", &[&oslo]),
        ("SØREN", &[&oslo]),
        ("SO\u{308}ren", &[&oslo]),
        ("søren's st", &[&oslo]),
        ("4711", &[&order]),
        ("#4711-b", &[&order]),
        ("cme", &[]),
        ("studio acme", &[&berlin]),
        ("oslo acme", &[]),
        ("studio berlin x", &[]),
        ("stud%", &[]),
        ("studio%", &[&berlin, &oslo]),
        ("s_u", &[]),
        ("søren\0", &[&oslo]),
    ] {
        assert_eq!(ids(&app, &[("search", search)]).await, wanted, "{search}");
        let path = format!("{LICENSES}?search={}", search.replace('#', "%23"));
        if !search.contains(['%', '\0', '#']) {
            let pages = pages(&app, &path, 1).await;
            assert_eq!(pages.concat().len(), wanted.len(), "{search} in pages");
        }
    }
    app.update(&berlin, json!({ "name": "Ada Ltd" })).await.data();
    app.update(&oslo, json!({ "clear": ["name"] })).await.data();
    app.set_status(&order, "suspended").await.data();
    for (search, wanted) in [("ada", &[&*berlin][..]), ("studio", &[]), ("acme", &[&order])] {
        assert_eq!(ids(&app, &[("search", search)]).await, wanted, "{search}, later");
    }
    let foreign = app.other_tenant().await;
    assert!(ids(&foreign, &[("search", "acme")]).await.is_empty());
}

/// The end of an id is searched for as well as a name, and who fits both is listed once.
#[tokio::test]
async fn a_search_finds_ids_and_names_together() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let (first, second) = (app.license_of(&plan).await, app.license_of(&plan).await);
    let end = &first[first.len() - 8..];
    app.update(&second, json!({ "name": format!("Like {end}") })).await.data();
    assert_eq!(ids(&app, &[("search", end)]).await, [&*first, &second]);
    assert_eq!(ids(&app, &[("search", end), ("limit", "1")]).await, [&*first]);
    assert_eq!(ids(&app, &[("search", end), ("after", &first)]).await, [&*second]);
    app.update(&first, json!({ "name": end })).await.data();
    assert_eq!(ids(&app, &[("search", end)]).await, [&*first, &second]);
}

/// A search with thousands of matches is read differently, and found in the same order.
#[tokio::test]
async fn a_filter_that_finds_many_is_as_one_that_finds_few() {
    let app = App::start().await;
    let made = app.post(LICENSES, json!({ "planId": app.plan(json!({})).await })).await;
    let scope = scope_of(&app, &app).await;
    let mut details: LicenseDetails = serde_json::from_value(made.data().clone()).unwrap();
    details.name = Some("Acme".parse().unwrap());
    let mut tx = app.db().begin().await.unwrap();
    let mut all = Vec::new();
    for n in 0..=MANY_FOUND {
        details.license.id = LicenseId::new(Timestamp::now());
        // Their ends are in another order than their ids.
        details.license.expires_at = Timestamp::from_millis(1_600_000_000_000 - n);
        licenses::insert(&mut tx, scope, &details).await.unwrap();
        let found_by = phrases::of_license(details.name.as_ref(), None);
        phrases::add_to_license(&mut tx, scope, details.id, found_by).await.unwrap();
        all.push(details.id.to_string());
    }
    tx.commit().await.unwrap();
    for query in [("state", "expired"), ("search", "acme"), ("endsBefore", END)] {
        assert_eq!(ids(&app, &[query]).await, all, "{query:?}");
        let page = ids(&app, &[query, ("limit", "7"), ("after", &all[3])]).await;
        assert_eq!(page, all[4..11], "{query:?}");
    }
}
