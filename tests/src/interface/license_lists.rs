//! GET /api/v1/admin/licenses: single and combined filters, the search by the end of an id, and
//! seats.

use std::collections::HashMap;

use common::{LicenseDetails, LicenseId, Timestamp};
use licd::store::licenses;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller};
use crate::lists::pages;
use crate::operations::scope_of;

pub(super) const LICENSES: &str = "/api/v1/admin/licenses";
const UNKNOWN_PLAN: &str = "pln_01h455vb4pex5vsknk084sn02q";
const UNKNOWN_PRODUCT: &str = "prd_01h455vb4pex5vsknk084sn02q";
/// Time at which half of the licenses expire.
pub(super) const END: &str = "2030-01-01T00:00:00.000Z";
const AFTER_END: &str = "2030-01-01T00:00:00.001Z";

async fn listed(caller: &Caller, query: &[(&str, &str)]) -> Answer {
    caller.send(Method::GET, LICENSES, |request| request.query(query)).await
}

/// The ids of the licenses that match the query, in their order.
pub(super) async fn ids(caller: &Caller, query: &[(&str, &str)]) -> Vec<String> {
    listed(caller, query).await.each("id").into_iter().map(str::to_owned).collect()
}

/// Licenses of every kind: of three plans of two products, active and suspended, with and without an
/// end, assigned to ada and to grace.
struct Stock {
    plan: String,
    product: String,
    /// In their order, each with the user to whom it is assigned.
    licenses: Vec<(Value, &'static str)>,
}

async fn stock(app: &App) -> Stock {
    let (product, other) = (app.product("Studio").await, app.product("Viewer").await);
    let mut plans = Vec::new();
    for product in [&product, &product, &other] {
        plans.push(app.plan_of(product, json!({})).await);
    }
    let mut holders = HashMap::new();
    for plan in &plans {
        for number in 0..8 {
            let license = app.license_of(plan).await;
            if number & 1 == 0 {
                app.set_status(&license, "suspended").await.data();
            }
            if number & 2 == 0 {
                app.update(&license, json!({ "expiresAt": END })).await.data();
            }
            let user = if number & 4 == 0 { "ada" } else { "grace" };
            app.assign(&license, user).await.data();
            holders.insert(license, user);
        }
    }
    let listed = app.get(LICENSES).await;
    let holder = |license: &Value| holders[license["id"].as_str().unwrap()];
    let licenses = listed.list().iter().map(|license| (license.clone(), holder(license))).collect();
    Stock { plan: plans.remove(0), product, licenses }
}

impl Stock {
    /// Every filter, with a value that matches some of the licenses. `end` is the end of an id.
    fn filters<'a>(&'a self, end: &'a str) -> [(&'static str, &'a str); 6] {
        [
            ("planId", &self.plan),
            ("productId", &self.product),
            ("status", "active"),
            ("userId", "ada"),
            ("endsBefore", AFTER_END),
            ("search", end),
        ]
    }

    /// The last character that most ids share.
    fn common_end(&self) -> String {
        let last = |license: &Value| license["id"].as_str().unwrap().chars().last().unwrap();
        let mut counts = HashMap::<char, usize>::new();
        for (license, _) in &self.licenses {
            *counts.entry(last(license)).or_default() += 1;
        }
        let (end, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
        assert!(count > 1, "24 ids end with 24 characters");
        end.to_string()
    }

    /// Returns the licenses that a list must show.
    fn matching(&self, query: &[(&str, &str)]) -> Vec<Value> {
        let matches = |license: &Value, user: &str, (filter, wanted): (&str, &str)| match filter {
            "userId" => user == wanted,
            "endsBefore" => license["expiresAt"].as_str().is_some_and(|end| end < wanted),
            "search" => license["id"].as_str().unwrap().ends_with(wanted),
            member => license[member] == wanted,
        };
        let all = self.licenses.iter();
        all.filter(|(license, user)| query.iter().all(|&filter| matches(license, user, filter)))
            .map(|(license, _)| license.clone())
            .collect()
    }
}

/// Each of the 64 combinations shows the licenses that match all of its filters, as a whole and in
/// pages.
#[tokio::test]
async fn filters_combine_freely_and_come_in_pages() {
    let app = App::start().await;
    let stock = stock(&app).await;
    let end = stock.common_end();
    let filters = stock.filters(&end);
    for chosen in 0..1 << filters.len() {
        let query: Vec<(&str, &str)> =
            (0..filters.len()).filter(|at| chosen >> at & 1 == 1).map(|at| filters[at]).collect();
        let wanted = stock.matching(&query);
        let is_searched = query.contains(&("search", &end));
        assert!(is_searched || !wanted.is_empty(), "{query:?} tests nothing");
        assert_eq!(listed(&app, &query).await.list(), wanted, "{query:?}");
        let words: Vec<String> =
            query.iter().map(|(name, text)| format!("{name}={text}")).collect();
        let pages = pages(&app, &format!("{LICENSES}?{}", words.join("&")), 2).await;
        assert!(pages.iter().rev().skip(1).all(|page| page.len() == 2), "{query:?}");
        assert_eq!(pages.concat(), wanted, "{query:?} in pages");
        if let [first, .., last] = &wanted[..] {
            let after = [&query[..], &[("after", first["id"].as_str().unwrap())]].concat();
            assert_eq!(listed(&app, &after).await.list(), &wanted[1..], "{after:?}");
            let after = [&query[..], &[("after", last["id"].as_str().unwrap())]].concat();
            assert!(listed(&app, &after).await.list().is_empty(), "{after:?}");
        }
    }
}

/// A value that no license has shows none, whatever else is asked for.
#[tokio::test]
async fn an_unknown_value_matches_nothing() {
    let app = App::start().await;
    let stock = stock(&app).await;
    let end = stock.common_end();
    let long = "x".repeat(256);
    for nothing in [
        ("planId", UNKNOWN_PLAN),
        ("planId", "x"),
        ("planId", ""),
        ("planId", &stock.product),
        ("productId", UNKNOWN_PRODUCT),
        ("productId", "x"),
        ("productId", ""),
        ("status", "revoked"),
        ("userId", "nobody"),
        ("userId", "ADA"),
        ("userId", "ad%"),
        ("userId", ""),
        ("userId", "\0"),
        ("userId", &long),
        ("endsBefore", "1970-01-01T00:00:00Z"),
        ("endsBefore", END),
        ("search", "00000000000000000000000000"),
        ("search", "x0000000000000000000000000"),
        ("search", "lic_01h455vb4pex5vsknk084sn02q"),
        ("search", "lic_lic_"),
        ("search", "pln_"),
        ("search", "u"),
        ("search", "%"),
        ("search", "_"),
        ("search", "\\"),
        ("search", "'"),
        ("search", "😀"),
        ("search", " "),
        ("search", "\0"),
        ("search", &long),
    ] {
        assert!(listed(&app, &[nothing]).await.list().is_empty(), "{nothing:?}");
        for other in stock.filters(&end).into_iter().chain([("limit", "5")]) {
            if other.0 != nothing.0 {
                let both = [nothing, other];
                assert!(listed(&app, &both).await.list().is_empty(), "{both:?}");
            }
        }
    }
}

/// A status or a time that is none is a mistake, and not a filter that nothing matches.
#[tokio::test]
async fn a_malformed_filter_is_400() {
    let app = App::start().await;
    app.license(json!({})).await;
    for (query, field) in [
        ("status=deleted", "status"),
        ("status=Active", "status"),
        ("status=", "status"),
        ("status=active,expired", "status"),
        ("status=active&status=expired", "status"),
        ("state=", "state"),
        ("state=ended", "state"),
        ("endsBefore=soon", "endsBefore"),
        ("endsBefore=", "endsBefore"),
        ("endsBefore=2030-01-01", "endsBefore"),
        ("endsBefore=2030-13-01T00:00:00Z", "endsBefore"),
        ("endsBefore=2030-01-01T00:00:00", "endsBefore"),
        ("endsBefore=1893456000", "endsBefore"),
        ("planId=x&planId=y", "planId"),
        ("productId=x&productId=y", "productId"),
        ("userId=x&userId=y", "userId"),
        ("search=x&search=y", "search"),
        ("status=active&limit=0", "limit"),
        ("search=x&after=y", "after"),
    ] {
        let refusal = app.get(&format!("{LICENSES}?{query}")).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"), "{query}");
    }
}

/// `endsBefore` is a time in any zone. Expired licenses match too.
#[tokio::test]
async fn licenses_are_listed_by_the_moment_of_their_end() {
    let app = App::start().await;
    let (past, soon) = (app.license(json!({})).await, app.license(json!({})).await);
    app.license(json!({})).await;
    app.update(&past, json!({ "expiresAt": "2020-01-01T00:00:00Z" })).await.data();
    app.update(&soon, json!({ "expiresAt": END })).await.data();
    let both = [&*past, &soon];
    for (moment, found) in [
        ("2020-01-01T00:00:00Z", &both[..0]),
        ("2020-01-01T00:00:00.001Z", &both[..1]),
        (END, &both[..1]),
        (AFTER_END, &both[..]),
        ("2030-01-01T02:00:00+02:00", &both[..1]),
        ("2030-01-01T02:00:00.001+02:00", &both[..]),
        ("9999-12-31T23:59:59Z", &both[..]),
    ] {
        assert_eq!(ids(&app, &[("endsBefore", moment)]).await, found, "{moment}");
    }
    app.update(&soon, json!({ "clear": ["expiresAt"] })).await.data();
    assert_eq!(ids(&app, &[("endsBefore", AFTER_END)]).await, [&*past]);
}

fn ending<'a>(ids: &'a [String], end: &str) -> Vec<&'a str> {
    ids.iter().map(String::as_str).filter(|id| id.ends_with(end)).collect()
}

/// However many of the last characters are given, with or without what stands before all ids, and in
/// either case.
#[tokio::test]
async fn licenses_are_found_by_the_end_of_their_id() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let mut all = Vec::new();
    for _ in 0..12 {
        all.push(app.license_of(&plan).await);
    }
    for license in [&all[0], &all[5], &all[11]] {
        for characters in [1, 2, 4, 5, 6, 7, 8, 25, 26] {
            let end = &license[license.len() - characters..];
            let wanted = ending(&all, end);
            for text in [end.to_owned(), format!("lic_{end}")] {
                assert_eq!(ids(&app, &[("search", &text)]).await, wanted, "{text}");
                let upper = text.to_uppercase();
                assert_eq!(ids(&app, &[("search", &upper)]).await, wanted, "{upper}");
            }
            let (first, rest) = end.split_at(1);
            let other = if first == "z" { "y" } else { "z" }.to_owned() + rest;
            let others = ending(&all, &other);
            assert_eq!(ids(&app, &[("search", &other)]).await, others, "{other}");
        }
        // All but the last character, and an id with something before or after it.
        for text in [&license[4..29], &format!("0{}", &license[4..]), &format!("{license} ")] {
            assert!(!ids(&app, &[("search", text)]).await.contains(license), "{text}");
        }
    }
    // Every id ends with the empty text.
    for everything in ["", "lic_", "LIC_"] {
        assert_eq!(ids(&app, &[("search", everything)]).await, all, "{everything:?}");
        let page = ids(&app, &[("search", everything), ("limit", "5")]).await;
        assert_eq!(page, all[..5], "{everything:?}");
    }
}

/// Ids that share their last six characters are distinguished by those before, on every page.
#[tokio::test]
async fn ids_that_end_alike_are_told_apart() {
    let app = App::start().await;
    let made = app.post(LICENSES, json!({ "planId": app.plan(json!({})).await })).await;
    let scope = scope_of(&app, &app).await;
    let mut conn = app.db().write().await.unwrap();
    let mut details: LicenseDetails = serde_json::from_value(made.data().clone()).unwrap();
    let mut all = Vec::new();
    for start in 1..=3 {
        for end in ["a4sn02q", "b4sn02q", "c4sn02q"] {
            all.push(format!("lic_0{start}h455vb4pex5vsknk0{end}"));
        }
    }
    for id in &all {
        details.license.id = id.parse::<LicenseId>().unwrap();
        licenses::insert(&mut conn, scope, &details).await.unwrap();
    }
    drop(conn);
    for end in ["4sn02q", "a4sn02q", "b4sn02q", "c4sn02q", "C4SN02Q", "d4sn02q"] {
        let wanted = ending(&all, &end.to_lowercase());
        for limit in [1, 2, 3, 9] {
            let pages = pages(&app, &format!("{LICENSES}?search={end}"), limit).await.concat();
            let found: Vec<&str> = pages.iter().map(|it| it["id"].as_str().unwrap()).collect();
            assert_eq!(found, wanted, "{end} by {limit}");
        }
        assert_eq!(ids(&app, &[("search", end)]).await, wanted, "{end}");
    }
}

/// `seats` counts who holds one now, wherever it is shown and however the license was found.
#[tokio::test]
async fn seats_follow_taking_and_freeing() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 2 })).await;
    let license = app.license_of(&plan).await;
    let endless = app.license(json!({})).await;
    for user in ["ada", "grace", "edsger"] {
        app.assign(&license, user).await.data();
    }
    let check = async |used: i32, allowed: Value| {
        let seats = json!({ "used": used, "allowed": allowed });
        let shown = app.get(&format!("{LICENSES}/{license}")).await;
        assert_eq!(shown["seats"], seats);
        for query in [vec![], vec![("planId", &*plan)], vec![("search", &*license)]] {
            assert_eq!(listed(&app, &query).await.list()[0], *shown.data(), "{query:?}");
        }
        assert_eq!(app.usage(&license).await["activeSeats"], used);
    };
    check(0, json!(2)).await;
    for (user, used) in [("ada", 1), ("ada", 1), ("grace", 2), ("edsger", 2)] {
        app.validate(user).await.data();
        check(used, json!(2)).await;
    }
    app.unassign(&license, "ada").await.data();
    check(1, json!(2)).await;
    assert_eq!(app.validate("edsger").await.verdict(), "valid");
    check(2, json!(2)).await;
    app.update(&license, json!({ "maxSeats": 1 })).await.data();
    check(2, json!(1)).await;
    app.delete_user("grace").await.data();
    check(1, json!(1)).await;
    app.set_status(&license, "revoked").await.data();
    check(1, json!(1)).await;
    app.update(&license, json!({ "clear": ["maxSeats"] })).await.data();
    check(1, json!(null)).await;
    let other = app.get(&format!("{LICENSES}/{endless}")).await;
    assert_eq!(other["seats"], json!({ "used": 0, "allowed": null }));
}

/// The list of a user's licenses is that of now.
#[tokio::test]
async fn licenses_of_a_user_follow_assigning() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let (first, second) = (app.license_of(&plan).await, app.license_of(&plan).await);
    let of = async |user: &str| ids(&app, &[("userId", user)]).await;
    for user in ["a/b", "😀", "50%"] {
        app.assign(&second, user).await.data();
        app.assign(&first, user).await.data();
        assert_eq!(of(user).await, [&*first, &second], "{user}: in the order of their making");
        app.set_status(&first, "expired").await.data();
        assert_eq!(of(user).await.len(), 2, "{user}: in every state");
    }
    let path = format!("{LICENSES}/{first}/assign?userId=a/b");
    app.delete(&path).await.data();
    assert_eq!(of("a/b").await, [&*second]);
    assert_eq!(of("😀").await.len(), 2);
    app.delete_user("😀").await.data();
    assert!(of("😀").await.is_empty());
    let now = Timestamp::now().to_string();
    assert!(listed(&app, &[("userId", "50%"), ("endsBefore", &now)]).await.list().is_empty());
}
