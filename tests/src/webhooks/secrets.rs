//! The secrets that sign the events of a webhook.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::join;

use super::receiver::Receiver;
use super::{WEBHOOKS, record, webhook};
use crate::harness::{App, until};

/// A new secret signs in addition to the old ones until these end.
#[tokio::test]
async fn rolled_secrets_overlap() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, first) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    let roll = async |body: Value| app.post(&format!("{WEBHOOKS}/{id}/roll"), body).await;
    let secret =
        |answer: crate::harness::Answer| answer.data()["secret"].as_str().unwrap().to_owned();
    let second = secret(roll(json!({ "overlapSeconds": 3600 })).await);
    let received = receiver.event_of(&app.product("one").await).await;
    assert_eq!(received.signatures.len(), 2);
    assert!(received.is_signed_with(&first) && received.is_signed_with(&second));
    assert_ne!(record(&app, &id).await["oldSecretUntil"], Value::Null);
    secret(roll(json!({})).await);
    secret(roll(json!({})).await);
    assert_eq!(roll(json!({})).await.status, 409, "three old ones sign already");
    let last = secret(roll(json!({ "overlapSeconds": 0 })).await);
    assert_eq!(record(&app, &id).await["oldSecretUntil"], Value::Null);
    // A roll may end the delivery of the first event before it is noted, which then comes twice.
    let received = receiver.event_of(&app.product("two").await).await;
    assert_eq!(received.signatures.len(), 1);
    assert!(received.is_signed_with(&last) && !received.is_signed_with(&second));
}

/// No event is signed with a secret that had ended before the event happened. Several webhooks read
/// one after another, so that a secret is often rolled between a claim and what is read then.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_secret_signs_no_later_event() {
    const WEBHOOKS_HERE: usize = 8;
    const PRODUCTS: usize = 300;
    let app = App::with_webhooks().await;
    let (mut hooks, secrets) = (vec![], Mutex::new(vec![]));
    for _ in 0..WEBHOOKS_HERE {
        let receiver = Receiver::start().await;
        let (id, secret) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
        hooks.push((receiver, id));
        secrets.lock().unwrap().push(vec![secret]);
    }
    let products = Mutex::new(HashMap::new());
    let roll = async || {
        for number in (0..WEBHOOKS_HERE).cycle() {
            if products.lock().unwrap().len() == PRODUCTS {
                break;
            }
            let url = format!("{WEBHOOKS}/{}/roll", hooks[number].1);
            let rolled = app.post(&url, json!({ "overlapSeconds": 0 })).await;
            let secret = rolled.data()["secret"].as_str().unwrap().to_owned();
            secrets.lock().unwrap()[number].push(secret);
        }
    };
    let create = async || {
        for number in 0..PRODUCTS {
            let last: Vec<_> = secrets.lock().unwrap().iter().map(|it| it.len() - 1).collect();
            let product = app.product(&number.to_string()).await;
            products.lock().unwrap().insert(product, last);
        }
    };
    join!(roll(), create());
    let (secrets, products) = (secrets.into_inner().unwrap(), products.into_inner().unwrap());
    for (number, (receiver, _)) in hooks.iter().enumerate() {
        until("all came", async || BTreeSet::from_iter(receiver.taken()).len() == PRODUCTS).await;
        for received in receiver.received() {
            let last = products[received.event["subject"]["id"].as_str().unwrap()][number];
            let signer = secrets[number].iter().position(|secret| received.is_signed_with(secret));
            assert!(signer >= Some(last), "secret {signer:?} signed after secret {last}");
        }
    }
}
