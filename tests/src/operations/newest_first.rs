//! Lists that are newest first: they are the lists of the API, read backwards.

use std::fmt::Debug;

use common::{LicenseWithSeats, Mode, Role, Status, Timestamp};
use licd::error::Error;
use licd::ops::events::EventQuery;
use licd::ops::licenses::LicenseQuery;
use licd::ops::renames::Period;
use licd::ops::users::UserQuery;
use licd::ops::{events, keys, licenses, plans, products, users};
use licd::store::{Cursor, Page};
use serde_json::json;

use super::view_of;
use crate::harness::App;

/// Reads a list in both orders, the newest first in pages of two, and shows that they agree; answers
/// how long it is.
async fn agree<T: Debug + PartialEq, C: Cursor + Default>(
    list: &str,
    read: impl AsyncFn(Page<C>) -> Result<Vec<T>, Error>,
    cursor: impl Fn(&T) -> C,
) -> usize {
    let mut oldest_first = read(Page::oldest_first(C::default(), 1000)).await.unwrap();
    let (mut newest_first, mut before) = (Vec::new(), None);
    loop {
        let page = read(Page::newest_first(before, 2)).await.unwrap();
        assert!(page.len() <= 2, "{list}");
        let Some(last) = page.last() else { break };
        before = Some(cursor(last));
        newest_first.extend(page);
    }
    oldest_first.reverse();
    assert_eq!(newest_first, oldest_first, "{list}");
    newest_first.len()
}

#[tokio::test]
async fn the_newest_come_first_in_every_list() {
    let app = App::start().await;
    let view = view_of(&app, &app).await;
    let product = app.product("Studio").await;
    for n in 0..5 {
        app.plan_of(&product, json!({})).await;
        app.license(json!({})).await;
        app.validate(&format!("user-{n}")).await;
        app.caller(Role::Read, if n < 3 { Mode::Live } else { Mode::Test }).await;
    }
    let product = product.parse().unwrap();
    let read = async |page| products::page(view.clone(), page).await;
    assert_eq!(agree("products", read, |product| product.id).await, 6);
    let read = async |page| plans::page(view.clone(), None, page).await;
    assert_eq!(agree("plans", read, |plan| plan.id).await, 10);
    let read = async |page| plans::page(view.clone(), Some(product), page).await;
    assert_eq!(agree("plans of a product", read, |plan| plan.id).await, 5);
    let read = async |page| keys::page(view.clone(), page).await;
    assert_eq!(agree("keys", read, |key| key.id).await, 6);
    let read = async |page| users::page(view.clone(), UserQuery::default(), page).await;
    assert_eq!(agree("users", read, |user| user.id).await, 5);
    for (search, found) in [("user", 5), ("user-3", 1), ("x", 0)] {
        let query = UserQuery { search: Some(search.into()), ..UserQuery::default() };
        let read = async |page| users::page(view.clone(), query.clone(), page).await;
        assert_eq!(agree(search, read, |user| user.id).await, found);
    }
    let query = UserQuery { external_id: Some("user-3".into()), ..UserQuery::default() };
    let read = async |page| users::page(view.clone(), query.clone(), page).await;
    assert_eq!(agree("one user", read, |user| user.id).await, 1);
}

#[tokio::test]
async fn licenses_that_match_a_filter_come_newest_first() {
    let app = App::start().await;
    let view = view_of(&app, &app).await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({ "expiresInDays": 3 })).await;
    for n in 0..5 {
        let license = app.license_of(&plan).await;
        app.license(json!({})).await;
        app.assign(&license, "ada").await.data();
        if n > 1 {
            app.set_status(&license, "suspended").await.data();
        }
    }
    let end = app.get("/api/v1/admin/licenses").await.each("id")[4][27..].to_owned();
    let all = LicenseQuery::default;
    let (plan, product) = (plan.parse().ok(), product.parse().ok());
    for (filter, query, found) in [
        ("none", all(), 10),
        ("plan", LicenseQuery { plan, ..all() }, 5),
        ("product", LicenseQuery { product, ..all() }, 5),
        ("status", LicenseQuery { status: Some(Status::Active), ..all() }, 7),
        ("rare status", LicenseQuery { product, status: Some(Status::Suspended), ..all() }, 3),
        ("unused status", LicenseQuery { product, status: Some(Status::Revoked), ..all() }, 0),
        ("user", LicenseQuery { user: Some("ada".into()), ..all() }, 5),
        ("end", LicenseQuery { ends: Some((Timestamp::FIRST, Timestamp::LAST)), ..all() }, 5),
        ("search", LicenseQuery { search: Some(end), ..all() }, 1),
    ] {
        let read = async |page| licenses::page(view.clone(), query.clone(), page).await;
        let cursor = |found: &LicenseWithSeats| found.license.id;
        assert_eq!(agree(filter, read, cursor).await, found, "{filter}");
    }
}

#[tokio::test]
async fn events_that_match_a_filter_come_newest_first() {
    let app = App::start().await;
    let view = view_of(&app, &app).await;
    let license = app.license(json!({})).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
        app.unassign(&license, user).await.data();
    }
    let filter = |kind: &str, subject: &str, user: &str| {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        EventQuery {
            kinds: given(kind).into_iter().collect(),
            subject: given(subject),
            user: given(user).map(|user| {
                vec![Period { external_id: user.parse().unwrap(), sequences: 0..i64::MAX }]
            }),
            ..EventQuery::default()
        }
    };
    for (query, found) in [
        (filter("", "", ""), 15),
        (filter("license.assigned", "", ""), 2),
        (filter("", &license, ""), 9),
        (filter("", "", "ada"), 5),
        (filter("license.assigned", &license, "ada"), 1),
        (filter("license.assigned", "", "ada"), 1),
        (filter("", "", "nobody"), 0),
    ] {
        let read = async |page| events::page(view.clone(), query.clone(), page).await;
        let words = format!("{:?} {:?} {:?}", query.kinds, query.subject, query.user);
        assert_eq!(agree(&words, read, |event| event.sequence).await, found, "{words}");
    }
}
