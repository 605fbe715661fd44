//! Webhooks: created, tried, mended, sent again, and deleted.

use serde_json::{Value, json};

use super::{MARKUP, is_fit_for_everyone, signed_in};
use crate::harness::{App, Browser, until};
use crate::webhooks::receiver::Receiver;

const WEBHOOKS: &str = "/api/v1/admin/webhooks";

/// The life of a webhook, using only forms.
#[tokio::test]
async fn a_webhook_is_created_tried_and_mended() {
    let (app, receiver) = (App::with_webhooks().await, Receiver::start().await);
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/webhooks").await;
    browser.fill("Address", "http://10.0.0.1/").await;
    browser.fill("Events", "product.*, wish.granted").await;
    browser.click("Create webhook").await;
    browser.sees("Each type must be the type of an event").await;
    browser.fill("Events", "product.*").await;
    browser.click("Create webhook").await;
    browser.sees("webhooks may not reach this one").await;
    browser.fill("Address", &receiver.url).await;
    browser.fill("Description", MARKUP).await;
    browser.click("Create webhook").await;
    browser.sees("It is not shown again").await;
    let first = secret(&browser).await;
    browser.click("I have copied the secret").await;
    browser.sees("No failures in the last 30 days.").await;
    let record = async || app.get(WEBHOOKS).await.list()[0].clone();

    browser.click("Send a test event").await;
    browser.sees("The event was sent, and taken with the status 200.").await;
    assert!(receiver.received()[0].is_signed_with(&first));
    receiver.answer(|_| 410);
    browser.click("Send a test event").await;
    browser.sees("The event was sent, and not taken: status 410.").await;
    app.product("one").await;
    until("it is gone", async || record().await["state"] == "disabled").await;
    // The overview shows its welcome until a validation was counted, which happens after the
    // response.
    app.validate("ada").await.data();
    until("the validation is counted", async || {
        let hours = app.get("/api/v1/admin/statistics").await.data()["hours"].clone();
        hours.as_array().unwrap().iter().any(|hour| hour["total"] == 1)
    })
    .await;
    browser.open("/dashboard/live").await;
    browser.sees("Webhooks that need attention").await;
    browser.click(&receiver.url).await;
    browser.sees("gone").await;
    let failures = format!("{WEBHOOKS}/{}/failures", record().await["id"].as_str().unwrap());
    let refused = app.get(&failures).await.list()[0]["sequence"].clone();
    browser.click(&format!("Send again event {refused}")).await;
    browser.sees("not taken: status 410").await;
    receiver.answer(|_| 200);
    browser.click("Enable").await;
    browser.sees("Webhook enabled.").await;
    until("the product came", async || names(&receiver).contains(&json!("one"))).await;
}

#[tokio::test]
async fn a_webhook_goes_on_elsewhere_with_another_secret_and_is_deleted() {
    let (app, receiver) = (App::with_webhooks().await, Receiver::start().await);
    let new = json!({ "url": receiver.url, "types": ["product.*"], "description": MARKUP });
    let made = app.post(WEBHOOKS, new).await;
    app.product("one").await;
    until("the product came", async || !receiver.received().is_empty()).await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&format!("/dashboard/live/webhooks/{}", made.id())).await;
    browser.choose("The former secret signs too for", "not at all").await;
    browser.click("Replace the secret").await;
    browser.sees("Former secrets do not sign any more.").await;
    let second = secret(&browser).await;
    browser.click("I have copied the secret").await;
    let before = receiver.received().len();
    browser.choose("Send events again", "of the last hour").await;
    browser.click("Send again").await;
    browser.sees("These events are sent again.").await;
    until("it came again", async || receiver.received().len() > before).await;
    let last = receiver.received().pop().unwrap();
    assert!(last.is_signed_with(&second) && !last.is_signed_with(made["secret"].as_str().unwrap()));

    browser.click("Disable").await;
    browser.sees("Nothing is sent until it is enabled again.").await;
    app.product("two").await;
    let page = format!("/dashboard/live/webhooks/{}", made.id());
    browser.open(&page).await;
    browser.click("Skip events…").await;
    let pending = app.get(WEBHOOKS).await.list()[0]["pending"].clone();
    browser.sees(&format!("The events that were not sent yet ({pending}) are then not sent")).await;
    browser.click(&format!("Skip {pending} events")).await;
    browser.sees("What was not sent yet is skipped.").await;
    browser.fill("Events", "").await;
    browser.click("Save").await;
    browser.sees("Webhook saved.").await;
    let now = app.get(WEBHOOKS).await.list()[0].clone();
    assert_eq!((&now["types"], &now["disabledReason"]), (&Value::Null, &json!("by_hand")));
    assert_eq!(now["description"], MARKUP);
    browser.click("Delete this webhook…").await;
    browser.click("Delete this webhook now").await;
    browser.sees("Webhook deleted.").await;
    browser.sees("No webhooks.").await;
    assert!(app.get(WEBHOOKS).await.list().is_empty());
}

/// The secret that the page shows.
async fn secret(browser: &Browser) -> String {
    let shown = browser.script("return document.getElementById('secret').textContent").await;
    shown.as_str().unwrap().to_owned()
}

/// The names of the products that came.
fn names(receiver: &Receiver) -> Vec<Value> {
    let taken = receiver.received().into_iter().filter(|it| it.status == 200);
    taken.map(|it| it.event["data"]["object"]["name"].clone()).collect()
}

#[tokio::test]
async fn the_pages_are_fit_for_everyone() {
    let app = App::with_webhooks().await;
    let url = "https://example.com/a/rather/long/address/of/a/receiver?token=0123456789abcdef";
    let made = app.post(WEBHOOKS, json!({ "url": url })).await;
    let browser = signed_in(&app).await;
    for path in ["/webhooks", &format!("/webhooks/{}", made.id())] {
        is_fit_for_everyone(&browser, &format!("/dashboard/live{path}")).await;
    }
}
