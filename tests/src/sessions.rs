//! Sessions over HTTP: the cookie, its hash next to the key, and forms that other sites send.

use common::{KeyId, Mode, Role, SessionId, Timestamp};
use futures_util::future::join_all;
use licd::config::Config;
use reqwest::header::{LOCATION, SET_COOKIE};
use serde_json::json;

use crate::harness::{App, Visitor, cookie_of};

const KEYS: &str = "/dashboard/live/keys";
const SIGN_IN: &str = "/dashboard/sign-in";

/// A visitor with a new key of this role.
async fn visitor(app: &App, role: Role) -> Visitor {
    Visitor::with_key(app, &app.new_key("default", role, Mode::Live).await).await
}

#[tokio::test]
async fn a_session_lasts_as_long_as_its_key_and_its_time() {
    let app = App::start().await;
    let id_of = async |key: &str| {
        let current = app.with_key(key).get("/api/v1/key").await;
        current.data()["id"].as_str().unwrap().to_owned()
    };
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let first = Visitor::with_key(&app, &key).await;
    assert_eq!(first.status(KEYS).await, 200);
    let revoke = format!("/api/v1/admin/keys/{}/revoke", id_of(&key).await);
    app.post(&revoke, json!({})).await.data();
    let refused = first.get(KEYS).await;
    assert_eq!(refused.status(), 303);
    assert_eq!(refused.headers()[LOCATION], "/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys");

    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let second = Visitor::with_key(&app, &key).await;
    assert_eq!(second.status(KEYS).await, 200);
    let roll = format!("/api/v1/admin/keys/{}/roll", id_of(&key).await);
    app.post(&roll, json!({})).await.data();
    assert_eq!(second.status(KEYS).await, 200);
    app.post(&roll, json!({ "overlapSeconds": 0 })).await.data();
    assert_eq!(second.status(KEYS).await, 303);

    let third = visitor(&app, Role::Read).await;
    assert_eq!(third.status(KEYS).await, 200);
    let end: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let mut conn = app.db().write().await.unwrap();
    let over = conn.query("update sessions set expires_at = $1").bind(end).execute().await;
    assert_eq!(over.unwrap(), 3);
    drop(conn);
    assert_eq!(third.status(KEYS).await, 303);
}

/// A browser has one session: with another key, the one before has ended.
#[tokio::test]
async fn signing_in_again_ends_the_session_before() {
    let app = App::start().await;
    let first = visitor(&app, Role::Read).await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let again = first.post(SIGN_IN, &[("key", &key)]).await;
    assert_eq!(again.status(), 303);
    assert_eq!(first.status(KEYS).await, 303);
    let second = first.with_cookie(&cookie_of(&again));
    assert_eq!(second.status(KEYS).await, 200);
    // Neither does one that has ended already hinder anything.
    assert_eq!(first.post(SIGN_IN, &[("key", &key)]).await.status(), 303);
    assert_eq!(second.status(KEYS).await, 200);
}

/// Only a hash is stored, so a reader of the database cannot sign in.
#[tokio::test]
async fn a_stored_session_opens_nothing() {
    let app = App::start().await;
    let visitor = visitor(&app, Role::Read).await;
    let (name, token) = visitor.cookie.as_ref().unwrap().split_once('=').unwrap();
    let hash: Vec<(Vec<u8>,)> = app.rows("select hash from sessions").await;
    let hex: String = hash[0].0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_ne!(hex, token);
    for (cookie, status) in [
        (format!("{name}={hex}"), 303),
        (format!("{name}={token}x"), 303),
        (format!("a=b; {name}={token}; c=d"), 200),
    ] {
        assert_eq!(visitor.with_cookie(&cookie).status(KEYS).await, status, "{cookie}");
    }
}

#[tokio::test]
async fn a_key_keeps_its_newest_sessions() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let mut visitors = Vec::new();
    for _ in 0..21 {
        visitors.push(Visitor::with_key(&app, &key).await);
    }
    assert_eq!(app.number("select count(*) from sessions").await, 20);
    for (at, status) in [(0, 303), (1, 200), (20, 200)] {
        assert_eq!(visitors[at].status(KEYS).await, status, "session {at}");
    }
}

/// The page of a key counts all its sessions, however many newer sessions other keys have.
#[tokio::test]
async fn a_key_shows_its_sessions_beside_many_others() {
    let app = App::start().await;
    let admin = visitor(&app, Role::Admin).await;
    let own = app.get("/api/v1/admin/keys").await;
    let id = own.list().last().unwrap()["id"].as_str().unwrap().to_owned();
    for _ in 0..6 {
        let key = app.new_key("default", Role::Read, Mode::Live).await;
        for _ in 0..18 {
            Visitor::with_key(&app, &key).await;
        }
    }
    let page = admin.get(&format!("{KEYS}/{id}")).await.text().await.unwrap();
    assert!(page.contains("<dd>1 in the dashboard</dd>"), "{page}");
}

/// A session can be ended by visitors who see its key, and by no others.
#[tokio::test]
async fn only_who_sees_a_key_ends_its_sessions() {
    let app = App::start().await;
    let reader = visitor(&app, Role::Read).await;
    let ids: Vec<(SessionId,)> = app.rows("select id from sessions").await;
    let id = ids[0].0;
    let stranger = app.other_tenant().await.key.unwrap();
    let test_admin = app.new_key("default", Role::Admin, Mode::Test).await;
    let read_only = app.new_key("default", Role::Read, Mode::Live).await;
    for (key, mode, expected) in
        [(stranger, "live", 404), (test_admin, "test", 404), (read_only, "live", 403)]
    {
        let visitor = Visitor::with_key(&app, &key).await;
        let answer = visitor.post(&format!("/dashboard/{mode}/sessions/{id}/end"), &[]).await;
        assert_eq!(answer.status(), expected, "{mode}");
        assert_eq!(reader.status(KEYS).await, 200);
    }
    let admin = visitor(&app, Role::Admin).await;
    let answer = admin.post(&format!("/dashboard/live/sessions/{id}/end"), &[]).await;
    assert_eq!(answer.status(), 303);
    assert_eq!(reader.status(KEYS).await, 303);
}

/// An action of a session is an event of the session and of its key, in the world in which it acts.
#[tokio::test]
async fn a_session_acts_with_its_key() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let id = app.with_key(&key).get("/api/v1/key").await.data()["id"].clone();
    let visitor = Visitor::with_key(&app, &key).await;
    let fields = [("name", "made in test"), ("role", "read"), ("expires", "never")];
    assert_eq!(visitor.post("/dashboard/test/keys", &fields).await.status(), 201);
    let events = app.test_mode().await.get("/api/v1/admin/events?type=key.created").await;
    let event = events.list().iter().find(|it| it["data"]["object"]["name"] == "made in test");
    assert_eq!(event.unwrap()["data"]["object"]["createdBy"], id);
    let actor = &event.unwrap()["actor"];
    assert_eq!((&actor["type"], &actor["keyId"]), (&json!("session"), &id));
    assert!(actor["id"].as_str().unwrap().starts_with("ses_"));
    assert!(id.as_str().unwrap().parse::<KeyId>().is_ok());
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let app = App::start().await;
    let visitor = visitor(&app, Role::Admin).await;
    let fields = [("name", "stolen"), ("role", "admin"), ("expires", "30")];
    let own = app.base.clone();
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 201),
        ("origin", own.as_str(), 201),
    ] {
        let answer = visitor.form(KEYS, &fields).header(name, value).send().await.unwrap();
        assert_eq!(answer.status(), status, "{name}: {value}");
    }
    let keys = app.get("/api/v1/admin/keys").await;
    assert_eq!(keys.list().iter().filter(|key| key["name"] == "stolen").count(), 2);
}

/// Wrong keys of an address must wait after ten, and the right one need not.
#[tokio::test]
async fn wrong_keys_of_an_address_are_limited() {
    let app = App::start().await;
    let stranger = Visitor::stranger(&app);
    for _ in 0..10 {
        let answer = stranger.post(SIGN_IN, &[("key", "sk_live_wrong")]).await;
        assert_eq!(answer.status(), 401);
    }
    let answer = stranger.post(SIGN_IN, &[("key", "sk_live_wrong")]).await;
    assert_eq!(answer.status(), 429);
    assert!(answer.text().await.unwrap().contains("Too many wrong keys from your address."));
    visitor(&app, Role::Read).await;
}

/// A session is a write: a key that opens many must wait between them.
#[tokio::test]
async fn a_key_opens_only_so_many_sessions_in_a_moment() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let stranger = Visitor::stranger(&app);
    let fields = [("key", key.as_str())];
    let many = join_all((0..100).map(|_| stranger.post(SIGN_IN, &fields))).await;
    let refused = many.iter().find(|answer| answer.status() == 429).expect("one too many");
    let wait = refused.headers()["retry-after"].to_str().unwrap();
    assert!(wait.parse::<u64>().unwrap() >= 1, "{wait}");
    assert!(many.iter().filter(|answer| answer.status() == 303).count() >= 30);
    visitor(&app, Role::Read).await;
}

/// Behind TLS the cookie can be neither sent in the clear nor set by a neighbour.
#[tokio::test]
async fn behind_tls_the_cookie_is_bound_to_the_host() {
    const TLS: (&str, &str) = ("x-forwarded-proto", "https");
    let trusted_proxies = "127.0.0.1".parse().unwrap();
    let app = App::with(Config { trusted_proxies, ..Config::default() }).await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let stranger = Visitor::stranger(&app);
    let signs_in = stranger.form(SIGN_IN, &[("key", &key)]).header(TLS.0, TLS.1);
    let answer = signs_in.send().await.unwrap();
    let set = answer.headers()[SET_COOKIE].to_str().unwrap();
    assert!(set.starts_with("__Host-licd-session="), "{set}");
    assert!(set.ends_with("; Path=/; Secure; Max-Age=43200; HttpOnly; SameSite=Strict"), "{set}");
    let visitor = stranger.with_cookie(&cookie_of(&answer));
    let behind_tls = visitor.request(reqwest::Method::GET, KEYS).header(TLS.0, TLS.1);
    assert_eq!(behind_tls.send().await.unwrap().status(), 200);
    assert_eq!(visitor.status(KEYS).await, 303);
}
