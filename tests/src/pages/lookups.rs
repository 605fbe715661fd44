//! Content of pages that can be checked without a browser.

use chrono::Duration;
use common::Timestamp;
use reqwest::header::LOCATION;
use serde_json::json;

use super::{App, Records, admin};
use crate::harness::until;

/// Whatever a person has copied: with spaces around it, as a page shows it, or of another kind.
#[tokio::test]
async fn the_search_leads_to_what_was_copied() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let user = app.post("/api/v1/admin/users", json!({ "externalId": " spaced" })).await.id();
    let id = |kind: &str| records.fill_in(kind);
    let (license, key) = (id("LICENSE"), id("KEY"));
    let keys = app.get("/api/v1/admin/keys").await;
    let listed = keys.list().iter().find(|it| it["id"] == *key).unwrap();
    let prefix = listed["prefix"].as_str().unwrap();
    let page = |folder: &str, id: &str| Some(format!("/dashboard/live/{folder}/{id}"));
    let end = &license[24..];
    let grace = json!({ "externalId": "0b5c", "email": "grace@example.com" });
    let grace = app.post("/api/v1/admin/users", grace).await.id();
    let product = app.product("Render Farm").await;
    let plan = app.plan_of(&product, json!({})).await;
    let mut named = Vec::new();
    for name in ["Acme GmbH", "Acme Ltd"] {
        let new = json!({ "planId": plan, "name": name });
        named.push(app.post("/api/v1/admin/licenses", new).await.id());
    }
    let visitor = admin(&app).await;
    for (text, found) in [
        (" ada ", page("users", &id("USER"))),
        (" spaced", page("users", &user)),
        (&*id("USER"), page("users", &id("USER"))),
        (&*license, page("licenses", &license)),
        (&*format!("lic_{end}"), page("licenses", &license)),
        (&*format!("…{end}"), page("licenses", &license)),
        (&*format!(" {end} "), page("licenses", &license)),
        (&*key, page("keys", &key)),
        (prefix, page("keys", &key)),
        (&*format!("{prefix}…"), page("keys", &key)),
        (&*id("PLAN"), page("plans", &id("PLAN"))),
        ("grace@example.com", page("users", &grace)),
        ("acme gm", page("licenses", &named[0])),
        ("acme", Some("/dashboard/live/licenses?end=acme".to_owned())),
        ("render fa", page("products", &product)),
        ("sk_", Some("/dashboard/live/keys".to_owned())),
        ("farm", page("products", &product)),
        ("gmb", page("licenses", &named[0])),
        ("ltd", page("licenses", &named[1])),
        ("example.com", page("users", &grace)),
        ("nobody", None),
        (" nobody else ", None),
    ] {
        let query: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let answer = visitor.get(&format!("/dashboard/live/users?q={query}")).await;
        let location = answer.headers().get(LOCATION).map(|it| it.to_str().unwrap().to_owned());
        assert_eq!(location, found, "{text:?}");
        if found.is_none() {
            // To create the user, if that may be an id.
            let id = Some(text.trim()).filter(|text| !text.contains(' ')).unwrap_or_default();
            let shown = answer.text().await.unwrap();
            assert!(shown.contains(&format!("name=\"externalId\" value=\"{id}\"")));
        }
    }
}

/// A second license is not the remedy for who has one under another spelling.
#[tokio::test]
async fn the_page_of_a_user_without_a_license_names_the_licensed_one() {
    let app = App::start().await;
    app.assign(&app.license(json!({})).await, "kim@x.example").await.data();
    app.validate("Kim@x.example").await.data();
    let twin = app.user("Kim@x.example").await["id"].as_str().unwrap().to_owned();
    let page = admin(&app).await.get(&format!("/dashboard/live/users/{twin}")).await;
    let page = page.text().await.unwrap();
    assert!(page.contains(">kim@x.example</a>, who has a license?"), "{page}");
}

#[tokio::test]
async fn a_plan_is_shown_among_the_products() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let plan = admin(&app).await.get(&records.path("/plans/PLAN")).await.text().await.unwrap();
    let tab = "<a href=\"/dashboard/live/products\" aria-current=\"true\">";
    assert!(plan.contains(tab), "{plan}");
}

/// Eight new users with a typing mistake do not hide the customer with a problem.
#[tokio::test]
async fn who_was_refused_often_is_shown_before_who_was_refused_last() {
    let app = App::start().await;
    for _ in 0..3 {
        app.validate("busy").await.data();
    }
    for number in 0..8 {
        app.validate(&format!("new-{number}")).await.data();
    }
    until("refusals are written", async || {
        let found = app.get("/api/v1/admin/refusals").await;
        found.list().iter().map(|it| it["count"].as_i64().unwrap()).sum::<i64>() == 11
    })
    .await;
    let page = admin(&app).await.get("/dashboard/live").await.text().await.unwrap();
    let place = |user: &str| page.find(&format!("?q={user}\"")).unwrap_or(usize::MAX);
    assert!(place("busy") < place("new-7"), "{page}");
}

/// Numbers on the overview lead to the refusals that they count.
#[tokio::test]
async fn refusals_are_found_from_the_overview() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.set_status(&license, "revoked").await.data();
    app.assign(&license, "ada").await.data();
    app.validate("ada").await.data();
    app.validate("bob").await.data();
    until("refusals are written", async || {
        app.get("/api/v1/admin/refusals").await.list().len() == 2
    })
    .await;
    let admin = admin(&app).await;
    let overview = admin.get("/dashboard/live").await.text().await.unwrap();
    let (_, link) =
        overview.split_once("<a href=\"/dashboard/live/refusals?reason=revoked").unwrap();
    let (link, _) = link.split_once('"').unwrap();
    let link = format!("/dashboard/live/refusals?reason=revoked{}", link.replace("&#38;", "&"));
    let page = admin.get(&link).await.text().await.unwrap();
    assert!(page.contains(">ada</a>") && !page.contains(">bob</a>"), "{link}: {page}");
    let all = admin.get("/dashboard/live/refusals").await.text().await.unwrap();
    assert!(all.contains(">ada</a>") && all.contains(">bob</a>"), "{all}");
    assert_eq!(admin.status("/dashboard/live/refusals?from=yesterday").await, 400);
}

/// Full licenses can be listed, also with another filter.
#[tokio::test]
async fn full_licenses_are_listed() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1 })).await;
    let (full, free) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&full, "ada").await.data();
    app.validate("ada").await.data();
    let admin = admin(&app).await;
    for query in ["seats=full", "seats=full&status=active"] {
        let page = admin.get(&format!("/dashboard/live/licenses?{query}")).await;
        let page = page.text().await.unwrap();
        let lists = |license: &str| page.contains(&format!("/licenses/{license}\""));
        assert!(lists(&full) && !lists(&free), "{page}");
    }
}

/// The age of a key that was never used is not the time of a use.
#[tokio::test]
async fn a_key_that_was_never_used_is_shown_as_such() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let long_ago = Timestamp::now().plus(-Duration::days(118));
    let mut conn = app.db().write().await.unwrap();
    conn.query("update keys set created_at = $1 where name = 'ci'")
        .bind(long_ago)
        .execute()
        .await
        .unwrap();
    drop(conn);
    let page = admin(&app).await.get("/dashboard/live").await.text().await.unwrap();
    let (_, line) = page.split_once(&records.fill_in("/keys/KEY\">ci</a>")).unwrap();
    let (line, _) = line.split_once("</li>").unwrap();
    assert!(line.contains("never used, created <time"), "{line}");
}
