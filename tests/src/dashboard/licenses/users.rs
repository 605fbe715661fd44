//! The users of a license: those with a seat, and those without.

use serde_json::json;

use super::{MARKUP, admin, page_of, signed_in};
use crate::harness::App;

#[tokio::test]
async fn users_are_assigned_and_unassigned() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&page_of(&license)).await;
    browser.sees("No user holds a seat.").await;
    for user in [MARKUP, "ada"] {
        browser.fill("Assign a user (name, email or id)", &format!(" {user} ")).await;
        browser.click("Assign").await;
        browser.sees("Create a new user?").await;
        browser.sees(user).await;
        browser.click("Create user and assign").await;
        browser.sees("License assigned.").await;
        browser.sees(user).await;
    }
    assert_eq!(app.validate(MARKUP).await.verdict(), "valid");
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    browser.open(&page_of(&license)).await;
    browser.sees("all seats are taken").await;

    browser.click(&format!("Change… the seat of {MARKUP}")).await;
    browser.sees("loses the license and its seat immediately.").await;
    browser.click(&format!("Unassign {MARKUP}")).await;
    browser.sees("0 of 1").await;
    assert_eq!(app.validate(MARKUP).await.verdict(), "no_license");
    browser.click("Unassign ada").await;
    browser.sees("This frees no seat.").await;
    browser.click_in("loses the license", "Unassign ada").await;
    browser.sees("No user holds a seat.").await;
    assert_eq!(app.validate("ada").await.verdict(), "no_license");
}

/// Two ids that differ in a space are two users.
#[tokio::test]
async fn an_external_id_is_taken_as_it_is_written() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    app.assign(&license, " ada ").await.data();
    let visitor = admin(&app).await;
    let form = format!("{}/unassign", page_of(&license));
    assert_eq!(visitor.post(&form, &[("userId", " ada ")]).await.status(), 303);
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    assert_eq!(app.validate(" ada ").await.verdict(), "no_license");
}

/// Each of the two lists is turned by itself, also on a page with a mistake.
#[tokio::test]
async fn long_lists_of_users_are_turned_page_by_page() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 21 })).await;
    for n in 0..42 {
        app.assign(&license, &format!("user-{n:02}.")).await.data();
    }
    for n in 0..21 {
        assert_eq!(app.validate(&format!("user-{n:02}.")).await.verdict(), "valid");
    }
    let browser = signed_in(&app).await;
    browser.open(&page_of(&license)).await;
    browser.fill("Seats allowed", "0").await;
    browser.click("Save terms").await;
    browser.sees("The terms were not saved").await;
    let heads = "return [...document.querySelectorAll('tbody th')].map(it => it.innerText)";
    let users = async || {
        let heads = browser.script(heads).await;
        let heads = heads.as_array().unwrap().iter();
        heads.map(|head| head.as_str().unwrap()[5..7].parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let (holders, waiting) = ((1..21).rev(), (22..42).rev());
    assert_eq!(users().await, holders.clone().chain(waiting.clone()).collect::<Vec<_>>());
    browser.is_accessible().await;
    browser.click("Older holders").await;
    browser.sees("user-00.").await;
    assert_eq!(users().await, [0].into_iter().chain(waiting.clone()).collect::<Vec<_>>());
    browser.click("Older without a seat").await;
    browser.sees("user-21.").await;
    assert_eq!(users().await, [0, 21]);
    let place = browser.script("return location.hash").await;
    assert_eq!(place, "#waiting");
    browser.click("Newest without a seat").await;
    browser.sees("user-41.").await;
    assert_eq!(users().await, [0].into_iter().chain(waiting.clone()).collect::<Vec<_>>());
    browser.click("Newest holders").await;
    browser.sees("user-20.").await;
    assert_eq!(users().await, holders.chain(waiting).collect::<Vec<_>>());
}

/// On a phone the rows are cards: nothing to move sideways for, and no word cut in two.
#[tokio::test]
async fn a_seat_is_freed_on_a_phone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    let browser = signed_in(&app).await;
    browser.narrow().await;
    browser.open(&page_of(&license)).await;
    let shape = "const button = document.querySelector('.act summary').getBoundingClientRect();
        const tab = document.querySelector('.tabs [aria-current]').getBoundingClientRect();
        return [button.right <= innerWidth, button.height < 40, tab.height < 40]";
    assert_eq!(browser.script(shape).await, json!([true, true, true]));
    browser.sees("Last seen").await;
    browser.click("Change… the seat of ada").await;
    browser.click("Unassign ada").await;
    browser.sees("0 of 1").await;
}
