//! Forms with mistakes, forms that change nothing, forms that are opened as pages, and forms of a
//! session that is over.

use reqwest::header::{LOCATION, REFERER};

use super::{App, FORMS, Records, Visitor, admin, changes};

/// A browser that opens the address of a form again, from its bar or from a bookmark.
#[tokio::test]
async fn the_address_of_a_form_leads_to_its_record() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let admin = admin(&app).await;
    for (form, _) in FORMS {
        let path = records.path(form);
        let answer = admin.get(&path).await;
        if answer.status() == 200 {
            continue;
        }
        assert_eq!(answer.status(), 303, "{path}");
        let record = answer.headers()[LOCATION].to_str().unwrap();
        assert_eq!(admin.status(record).await, 200, "{path} leads to {record}");
        let place = admin.get(&format!("{path}?holders=act_1")).await;
        assert_eq!(place.headers()[LOCATION], format!("{record}?holders=act_1"));
    }
}

/// All at the same time, each next to its field, with a list of them above the form.
#[tokio::test]
async fn a_form_shows_every_mistake_in_it() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let admin = admin(&app).await;
    let long = "x".repeat(256);
    for (form, fields) in [
        (
            "/products/PRODUCT/plans",
            &[("name", " "), ("maxSeats", "0"), ("expiresInDays", "1 year")][..],
        ),
        ("/plans/PLAN", &[("name", "a"), ("maxSeats", "0"), ("features", "sso\nsso")]),
        ("/keys", &[("name", ""), ("role", "owner"), ("expires", "date"), ("expires_on", "soon")]),
        ("/products", &[("name", ""), ("description", &long)]),
        ("/users", &[("externalId", &long), ("name", &long), ("email", "nobody")]),
        ("/users/USER", &[("name", &long), ("email", "nobody")]),
        ("/licenses", &[("planId", ""), ("expiresInDays", "0"), ("users", &long)]),
    ] {
        let answer = admin.post(&records.path(form), fields).await;
        assert_eq!(answer.status(), 400, "{form}");
        let page = answer.text().await.unwrap();
        let (_, summary) = page.split_once("role=\"alert\"").unwrap();
        let (summary, _) = summary.split_once("</ul>").unwrap();
        let right = [("name", "a"), ("expires", "date")];
        for (field, _) in fields.iter().filter(|field| !right.contains(field)) {
            let field =
                if form == "/products" { format!("product_{field}") } else { (*field).into() };
            assert!(summary.contains(&format!("href=\"#{field}\"")), "{form}: {field}: {summary}");
            // A choice has no text of its own: none of those in the list is wrong.
            let is_beside = page.contains(&format!("id=\"{field}-error\""));
            assert!(is_beside || field == "role", "{form}: {field}: {page}");
        }
    }
}

/// Saved as it is, a record is not said to have changed.
#[tokio::test]
async fn a_form_that_changes_nothing_says_so() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let admin = admin(&app).await;
    for (form, fields) in [
        ("/products/PRODUCT", &[("name", "Studio")][..]),
        ("/plans/PLAN", &[("name", "Team"), ("maxSeats", "1")]),
        ("/users/USER", &[]),
        ("/licenses/LICENSE/status", &[("status", "active")]),
        ("/licenses/LICENSE/terms", &[("maxSeats", "1")]),
        ("/licenses/LICENSE/terms", &[("expiresAt", "")]),
        ("/licenses/LICENSE/terms", &[("features", "")]),
    ] {
        let before = changes(&app).await;
        let answer = admin.post(&records.path(form), fields).await;
        let after = answer.headers()[LOCATION].to_str().unwrap();
        assert!(after.ends_with("?notice=unchanged"), "{form} leads to {after}");
        assert_eq!(changes(&app).await, before, "{form}");
        let shown = admin.get(after).await.text().await.unwrap();
        assert!(shown.contains("Nothing was changed."), "{shown}");
    }
}

/// In another tab, or by a colleague.
#[tokio::test]
async fn a_session_that_has_ended_cannot_be_ended_again() {
    let app = App::start().await;
    let admin = admin(&app).await;
    let form = "/dashboard/live/sessions/ses_01h455vb4pex5vsknk084sn02q/end";
    let answer = admin.post(form, &[]).await;
    assert_eq!(answer.status(), 404);
    let shown = answer.text().await.unwrap();
    assert!(shown.contains("Session not found") && shown.contains("It may have ended."), "{shown}");
}

/// Nothing that was entered is stored anywhere, and the page to sign in says so.
#[tokio::test]
async fn who_signs_in_again_comes_back_to_the_form() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let stranger = Visitor::stranger(&app);
    let (form, page) = (records.path("/products/PRODUCT/plans"), records.path("/products/PRODUCT"));
    for (referer, next) in [
        (Some(format!("{}{page}?notice=product-created", app.base)), page),
        (
            Some(format!("{}/dashboard/live/users?q=a%26b", app.base)),
            "/dashboard/live/users?q=a%26b".into(),
        ),
        (Some("nonsense".into()), form.clone()),
        (None, form.clone()),
    ] {
        let mut request = stranger.form(&form, &[("name", "Farm")]);
        if let Some(referer) = &referer {
            request = request.header(REFERER, referer);
        }
        let answer = request.send().await.unwrap();
        let sign_in = answer.headers()[LOCATION].to_str().unwrap().to_owned();
        let encoded: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        assert_eq!(sign_in, format!("/dashboard/sign-in?next={encoded}&lost=yes"), "{referer:?}");
        let shown = stranger.get(&sign_in).await.text().await.unwrap();
        assert!(shown.contains("What you entered was not saved."), "{shown}");
    }
    let looking = stranger.get("/dashboard/live/keys").await;
    assert_eq!(looking.headers()[LOCATION], "/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys");
}
