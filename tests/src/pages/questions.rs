//! Questions of the dashboard before a form gives something back, or takes away more than it shows.

use serde_json::json;

use super::acts::{license_page, seen, send, stored};
use super::admin;
use crate::harness::App;

/// A revoked license was refunded or abused, so giving it back is asked.
#[tokio::test]
async fn activating_a_revoked_license_asks() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    let visitor = admin(&app).await;
    let path = license_page(&license);
    for (status, asks) in [("revoked", true), ("suspended", false)] {
        app.set_status(&license, status).await.data();
        let seen = seen(&visitor.get(&path).await.text().await.unwrap());
        let fields = [("seen", &*seen), ("status", "active")];
        let page = send(&visitor, &format!("{path}/status"), &fields).await;
        assert_eq!(page.contains("Activate this revoked license?"), asks, "{page}");
        if asks {
            assert!(page.contains("All 2 users get it back."), "{page}");
            assert!(page.contains("It was revoked on ") && page.contains(" by "), "{page}");
            assert_eq!(stored(&app, &license).await["status"], "revoked");
            let confirmed = [&fields[..], &[("confirmed", "yes")]].concat();
            send(&visitor, &format!("{path}/status"), &confirmed).await;
        }
        assert_eq!(stored(&app, &license).await["status"], "active");
    }
}

/// Deleting a license whose key is sold takes the buyer's license away, so that is asked.
#[tokio::test]
async fn deleting_a_license_with_a_key_asks() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.post(&format!("/api/v1/admin/licenses/{license}/keys"), json!({})).await.data();
    let visitor = admin(&app).await;
    let path = license_page(&license);
    let seen = seen(&visitor.get(&path).await.text().await.unwrap());
    let delete = format!("{path}/delete");
    let question = send(&visitor, &delete, &[("seen", &seen)]).await;
    assert!(question.contains("Delete the license with its keys?"), "{question}");
    assert!(question.contains("name=\"keys\" value=\"revoke\""), "{question}");
    assert_eq!(stored(&app, &license).await["id"], license.as_str());
    send(&visitor, &delete, &[("seen", &seen), ("keys", "revoke")]).await;
    let gone = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
    assert_eq!(gone.status, 404);
}

/// A leaked key may have made others, which the page names.
#[tokio::test]
async fn revoking_a_key_offers_what_it_made() {
    let app = App::start().await;
    let keys = "/api/v1/admin/keys";
    let leaked = app.post(keys, json!({ "name": "leaked", "role": "admin" })).await;
    let thief = app.with_key(leaked["key"].as_str().unwrap());
    let stolen = thief.post(keys, json!({ "name": "sync2", "role": "admin" })).await.id();
    let visitor = admin(&app).await;
    let path = format!("/dashboard/live/keys/{}", leaked.id());
    let page = visitor.get(&path).await.text().await.unwrap();
    assert!(page.contains("name=\"made\" value=\"yes\" checked"), "{page}");
    assert!(page.contains("sync2 (admin, live, never used)"), "{page}");
    send(&visitor, &format!("{path}/revoke"), &[("made", "yes")]).await;
    let listed = app.get(keys).await;
    for id in [&leaked.id(), &stolen] {
        let key = listed.list().iter().find(|key| key["id"] == **id).unwrap();
        assert!(key["revokedAt"].is_string(), "{key}");
    }
}
