//! The pictures of the documentation.

use chrono::TimeDelta;
use common::{Mode, Name, Reason, TenantId, Timestamp, hour_of};
use licd::ops::tenants;
use licd::store::outcomes::{self, OutcomeCount};
use licd::store::worlds;
use serde_json::{Value, json};

use super::sign_in;
use crate::harness::{App, Browser, Caller, until};

/// Creates the records of the pictures: a vendor's day.
async fn a_day(app: &Caller) -> (String, String) {
    let studio = app.product("Studio").await;
    let render = app.product("Render").await;
    let terms = |name: &str, seats: Value, days: Value| {
        json!({ "name": name, "maxSeats": seats, "expiresInDays": days,
            "features": ["export", "sso"] })
    };
    let team = app.plan_of(&studio, terms("Team", json!(5), json!(365))).await;
    let solo = app.plan_of(&studio, terms("Solo", json!(1), json!(20))).await;
    let farm = app.plan_of(&render, terms("Farm", Value::Null, Value::Null)).await;
    let shared = json!({ "planId": team, "name": "Analytical Engines Ltd" });
    let shared = app.post("/api/v1/admin/licenses", shared).await.id();
    for user in ["ada", "margaret", "linus", "katherine", "dorothy", "grace"] {
        app.assign(&shared, user).await.data();
        app.validate(user).await.data();
    }
    let own = app.license_of(&solo).await;
    app.assign(&own, "hedy").await.data();
    let gpu = app.license_of(&farm).await;
    for user in ["ada", "hedy", "radia"] {
        app.assign(&gpu, user).await.data();
        app.validate(user).await.data();
    }
    for (status, user) in [("suspended", "ken"), ("revoked", "barbara"), ("expired", "alan")] {
        let license = app.license_of(&team).await;
        app.assign(&license, user).await.data();
        app.set_status(&license, status).await.data();
    }
    for user in ["ken", "ken", "barbara", "alan", "alan", "alan", "dennis", "grace", "grace"] {
        app.validate(user).await.data();
    }
    let grace = app.user("grace").await["id"].as_str().unwrap().to_owned();
    (shared, grace)
}

/// A week of validations: fewer at night and at the weekend.
async fn a_week(app: &App, tenant: TenantId) {
    let mut conn = app.db().write().await.unwrap();
    let scope = worlds::find(&mut conn, tenant, Mode::Live).await.unwrap().unwrap();
    let this_hour = hour_of(Timestamp::now());
    let mut counts = Vec::new();
    for ago in 1..168 {
        let hour = this_hour.plus(-TimeDelta::hours(ago));
        let (day, of_day) = (hour.millis() / 86_400_000 % 7, hour.millis() / 3_600_000 % 24);
        let busy = if (6..20).contains(&of_day) { 400 - 25 * of_day.abs_diff(13) } else { 40 };
        // The first day of 1970 was a Thursday.
        let valid = (if [2, 3].contains(&day) { busy / 3 } else { busy }).cast_signed();
        let count = |reason, count| (scope, OutcomeCount { hour, reason, count });
        counts.push(count(None, valid + ago * 7 % 23));
        let reasons = Reason::ALL.iter().filter(|reason| **reason != Reason::UserNotFound);
        for (at, reason) in (1..).zip(reasons) {
            let refused = (ago * at * 13 % 7).min(valid / 40);
            counts.push(count(Some(*reason), refused));
        }
    }
    outcomes::add_counts(&mut conn, &counts).await.unwrap();
}

/// The pages that the documentation shows are there, and are shown as they are.
#[tokio::test]
async fn the_documentation_has_its_pictures() {
    let app = App::start().await;
    let (tenant, key) =
        tenants::create(app.db(), Name::from_static("Acme"), |_, _| true).await.unwrap();
    let acme = app.with_key(key.expose());
    let (license, user) = a_day(&acme).await;
    a_week(&app, tenant.id).await;
    until("refusals are known", async || {
        acme.get("/api/v1/admin/refusals").await.list().len() >= 5
    })
    .await;
    let browser = Browser::start(&app).await;
    sign_in(&browser, key.expose()).await;
    // Each as high as shows whole cards.
    for (name, path, text, height) in [
        ("overview", String::new(), "Recent refusals", 960),
        ("license", format!("/licenses/{license}"), "5 of 5", 893),
        ("user", format!("/users/{user}"), "no free seat", 800),
        ("refusals", "/refusals".to_owned(), "no free seat", 760),
    ] {
        browser.framed(height).await;
        browser.open(&format!("/dashboard/live{path}")).await;
        browser.sees(text).await;
        browser.picture(name).await;
    }
}
