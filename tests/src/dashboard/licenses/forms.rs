//! The status and the terms of a license.

use serde_json::json;

use super::{MARKUP, admin, location, page_of, signed_in};
use crate::harness::App;

/// Behind it are the fields that change seldom.
const MORE: &str = "Floating, grace, offline, features";

#[tokio::test]
async fn a_validation_follows_the_status() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&page_of(&license)).await;
    for (question, button, notice, verdict) in [
        ("Suspend…", "Suspend this license", "License suspended.", "suspended"),
        ("", "Activate", "License activated.", "valid"),
        ("Revoke…", "Revoke this license", "License revoked.", "revoked"),
    ] {
        if !question.is_empty() {
            browser.click("More…").await;
            browser.click(question).await;
        }
        browser.click(button).await;
        browser.sees(notice).await;
        assert_eq!(app.validate("ada").await.verdict(), verdict);
    }
    browser.sees("status: active → revoked").await;
    browser.sees("by key of a test").await;
    browser.click("More…").await;
    browser.sees("Suspend…").await;
    assert!(!browser.text().await.contains("Revoke…"));
}

#[tokio::test]
async fn the_terms_are_changed_one_by_one() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&page_of(&license)).await;
    browser.fill("Seats allowed", "no").await;
    browser.click("Save terms").await;
    browser.sees("The limit must be a whole number from 1 to 1000000.").await;
    assert_eq!(browser.value("Seats allowed").await, "no");
    browser.fill("Seats allowed", "7").await;
    browser.click("Save terms").await;
    browser.sees("Seat limit changed from 2 to 7.").await;
    browser.sees("Seats: 2 → 7").await;
    assert_eq!(app.get(&path).await["maxSeats"], 7);
    browser.fill("Seats allowed", "").await;
    browser.click("Save terms").await;
    browser.sees("Any number of users can then use this license.").await;
    browser.click("Remove limit").await;
    browser.sees("Seat limit changed from 7 to unlimited.").await;
    browser.sees("no limit").await;
    assert!(app.get(&path).await["maxSeats"].is_null());

    browser.fill("Last valid day", "2090-01-31").await;
    browser.click("Save terms").await;
    browser.sees("That is more than ten years away.").await;
    browser.click("Renew through 31 Jan 2090").await;
    browser.sees("Expiry changed from never to 31 Jan 2090.").await;
    browser.sees("Last valid day\n31 Jan 2090").await;
    assert_eq!(app.get(&path).await["expiresAt"], "2090-02-01T00:00:00.000Z");
    assert_eq!(browser.value("Last valid day").await, "2090-01-31");
    browser.fill("Last valid day", "").await;
    browser.click("Save terms").await;
    browser.click("Remove expiry").await;
    browser.sees("Expiry changed from 31 Jan 2090 to never.").await;
    browser.sees("Last valid day: 31 Jan 2090 → never").await;
    browser.sees("no expiry").await;
    assert!(app.get(&path).await["expiresAt"].is_null());

    browser.click(MORE).await;
    browser.fill("Features", &format!("{MARKUP}\n\nsso")).await;
    browser.click("Save terms").await;
    browser.sees("Added 2 features.").await;
    assert_eq!(app.get(&path).await["features"], json!([MARKUP, "sso"]));
    browser.click(MORE).await;
    assert_eq!(browser.value("Features").await, format!("{MARKUP}\nsso"));
    browser.fill("Features", "sso\nsso").await;
    browser.click("Save terms").await;
    browser.sees("Enter at most 100 features, each of them once.").await;
    browser.fill("Features", "").await;
    browser.click("Save terms").await;
    browser.sees(&format!("The users of this license lose: {MARKUP}, sso.")).await;
    browser.click("Remove 2 features").await;
    browser.sees("Removed 2 features.").await;
    assert_eq!(app.get(&path).await["features"], json!([]));
}

/// The field has no place for the time of an end, which stays until another day is saved.
#[tokio::test]
async fn an_end_within_a_day_stays() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.update(&license, json!({ "expiresAt": "2030-01-31T12:34:56Z" })).await.data();
    let browser = signed_in(&app).await;
    browser.open(&page_of(&license)).await;
    assert_eq!(browser.value("Last valid day").await, "2030-01-31");
    browser.sees("Last valid day\n31 Jan 2030 12:34 UTC").await;
    browser.fill("Seats allowed", "9").await;
    browser.click("Save terms").await;
    browser.sees("Seat limit changed from unlimited to 9.").await;
    let stored = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
    assert_eq!(stored["expiresAt"], "2030-01-31T12:34:56.000Z");
    browser.click("+5 seats").await;
    browser.sees("Seat limit changed from 9 to 14.").await;
    browser.fill("Last valid day", "2030-02-01").await;
    browser.fill("Seats allowed", "10").await;
    browser.click("Save terms").await;
    browser.sees("Saved 2 changes.").await;
    browser.sees("Ends: 31 Jan 2030 12:34 UTC → 1 Feb 2030").await;
    browser.click("Save terms").await;
    browser.sees("Nothing was changed.").await;
}

#[tokio::test]
async fn a_form_that_says_nothing_changes_nothing() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2, "expiresInDays": 9 })).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let before = app.get(&path).await.told();
    let visitor = admin(&app).await;
    for (form, field, wrong) in
        [("status", "status", "lost"), ("assign", "userId", ""), ("unassign", "userId", "")]
    {
        let form = format!("{}/{form}", page_of(&license));
        for fields in [&[][..], &[(field, wrong)]] {
            let answer = visitor.post(&form, fields).await;
            assert_eq!(answer.status(), 400, "{form}: {fields:?}");
            assert!(answer.text().await.unwrap().contains(&format!("href=\"#{field}\"")));
        }
    }
    let form = format!("{}/terms", page_of(&license));
    for (field, wrong) in [
        ("maxSeats", "0"),
        ("maxSeats", "+999999"),
        ("expiresAt", "31.1.2090"),
        ("features", "a\u{1}"),
    ] {
        let answer = visitor.post(&form, &[(field, wrong)]).await;
        assert_eq!(answer.status(), 400, "{field}: {wrong}");
        assert!(answer.text().await.unwrap().contains(&format!("href=\"#{field}\"")));
    }
    // What is left out of the terms stays.
    assert!(location(&visitor.post(&form, &[]).await).ends_with("?notice=unchanged"));
    assert_eq!(app.get(&path).await.told(), before);
}

/// Forms of other pages name the page they lead back to, which is one of this mode.
#[tokio::test]
async fn a_form_leads_back_to_where_it_was_sent_from() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let visitor = admin(&app).await;
    let own = format!("/licenses/{license}");
    for (back, path) in [
        ("/users/usr_01h455vb4pex5vsknk084sn02q", "/users/usr_01h455vb4pex5vsknk084sn02q"),
        ("", &own),
        ("@evil.example", &own),
        ("/users?x=1", &own),
        ("/..\\evil", &own),
        ("/users\r\nset-cookie: a=b", &own),
    ] {
        for (form, field, value) in [
            ("assign", "userId", "ada"),
            ("unassign", "userId", "ada"),
            ("terms", "maxSeats", "4"),
            ("terms", "expiresAt", "2030-01-31"),
            ("status", "status", "active"),
            ("terms", "features", "sso"),
        ] {
            let form = format!("{}/{form}", page_of(&license));
            let fields = [(field, value), ("back", back), ("confirmed", "ada")];
            let answer = visitor.post(&form, &fields).await;
            let (led_to, _) = location(&answer).split_once('?').unwrap();
            assert_eq!(led_to, format!("/dashboard/live{path}"), "{form}");
        }
    }
}
