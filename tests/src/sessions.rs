//! Sessions as HTTP knows them: the cookie, its hash beside the key, and forms that other sites send.

use common::{KeyId, Mode, Role, SessionId, Timestamp};
use reqwest::header::{LOCATION, SET_COOKIE};
use reqwest::{Client, Response, redirect};
use serde_json::json;

use crate::harness::App;

const KEYS: &str = "/dashboard/live/keys";

/// The cookie of a new session with this key.
async fn session(app: &App, key: &str) -> String {
    cookie_of(&post(app, "/dashboard/sign-in", &[("key", key)], &[]).await)
}

/// The status of a page for the session with this cookie.
async fn status(app: &App, path: &str, cookie: &str) -> u16 {
    get(app, path, &[("cookie", cookie)]).await.status().as_u16()
}

/// A key has as many sessions as it likes, up to a bound; the oldest go.
#[tokio::test]
async fn a_session_lasts_as_long_as_its_key_and_its_time() {
    let app = App::start().await;
    let (key, other) = (
        app.new_key("default", Role::Read, Mode::Live).await,
        app.new_key("default", Role::Read, Mode::Live).await,
    );
    let (cookie, others) = (session(&app, &key).await, session(&app, &other).await);
    assert_eq!(status(&app, KEYS, &cookie).await, 200);

    let current = app.with_key(&key).get("/api/v1/key").await;
    let id = current.data()["id"].as_str().unwrap();
    app.post(&format!("/api/v1/admin/keys/{id}/revoke"), json!({})).await.data();
    let refused = get(&app, KEYS, &[("cookie", &cookie)]).await;
    assert_eq!(refused.status(), 303);
    assert_eq!(refused.headers()[LOCATION], "/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys");

    assert_eq!(status(&app, KEYS, &others).await, 200);
    let current = app.with_key(&other).get("/api/v1/key").await;
    app.expire_key(current.data()["id"].as_str().unwrap()).await;
    assert_eq!(status(&app, KEYS, &others).await, 303);

    let third = session(&app, &app.new_key("default", Role::Read, Mode::Live).await).await;
    assert_eq!(status(&app, KEYS, &third).await, 200);
    let end: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let mut conn = app.db().write().await.unwrap();
    let over = conn.query("update sessions set expires_at = $1").bind(end).execute().await;
    assert_eq!(over.unwrap(), 3);
    drop(conn);
    assert_eq!(status(&app, KEYS, &third).await, 303);
}

/// Only a hash is stored: who reads the database cannot enter.
#[tokio::test]
async fn a_stored_session_opens_nothing() {
    let app = App::start().await;
    let cookie = session(&app, &app.new_key("default", Role::Read, Mode::Live).await).await;
    let (name, token) = cookie.split_once('=').unwrap();
    let hash: Vec<(Vec<u8>,)> = app.rows("select hash from sessions").await;
    let hex: String = hash[0].0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_ne!(hex, token);
    assert_eq!(status(&app, KEYS, &format!("{name}={hex}")).await, 303);
    assert_eq!(status(&app, KEYS, &format!("{name}={token}x")).await, 303);
    assert_eq!(status(&app, KEYS, &format!("a=b; {name}={token}; c=d")).await, 200);
}

#[tokio::test]
async fn a_key_keeps_its_newest_sessions() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let mut cookies = Vec::new();
    for _ in 0..21 {
        cookies.push(session(&app, &key).await);
    }
    assert_eq!(app.number("select count(*) from sessions").await, 20);
    assert_eq!(status(&app, KEYS, &cookies[0]).await, 303);
    assert_eq!(status(&app, KEYS, &cookies[1]).await, 200);
    assert_eq!(status(&app, KEYS, &cookies[20]).await, 200);
}

/// A session ends for those who see its key, and for nobody else.
#[tokio::test]
async fn only_who_sees_a_key_ends_its_sessions() {
    let app = App::start().await;
    let reader = session(&app, &app.new_key("default", Role::Read, Mode::Live).await).await;
    let ids: Vec<(SessionId,)> = app.rows("select id from sessions").await;
    let id = ids[0].0;
    let stranger = app.other_tenant().await.key.unwrap();
    let test_admin = app.new_key("default", Role::Admin, Mode::Test).await;
    let read_only = app.new_key("default", Role::Read, Mode::Live).await;
    for (key, mode, expected) in
        [(stranger, "live", 404), (test_admin, "test", 404), (read_only, "live", 403)]
    {
        let cookie = session(&app, &key).await;
        let path = format!("/dashboard/{mode}/sessions/{id}/end");
        let answer = post(&app, &path, &[], &[("cookie", &cookie)]).await;
        assert_eq!(answer.status(), expected, "{mode}");
        assert_eq!(status(&app, KEYS, &reader).await, 200);
    }
    let admin = session(&app, &app.new_key("default", Role::Admin, Mode::Live).await).await;
    let path = format!("/dashboard/live/sessions/{id}/end");
    assert_eq!(post(&app, &path, &[], &[("cookie", &admin)]).await.status(), 303);
    assert_eq!(status(&app, KEYS, &reader).await, 303);
}

/// What a session does counts as use of its key, and a key of the test mode stays in it.
#[tokio::test]
async fn a_session_acts_with_its_key() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let id = app.with_key(&key).get("/api/v1/key").await.data()["id"].clone();
    let cookie = session(&app, &key).await;
    let fields = [("name", "made+in+test"), ("role", "read"), ("expires", "never")];
    let created = post(&app, "/dashboard/test/keys", &fields, &[("cookie", &cookie)]).await;
    assert_eq!(created.status(), 201);
    let events = app.test_mode().await.get("/api/v1/admin/events?type=key.created").await;
    let event = events.list().iter().find(|it| it["data"]["object"]["name"] == "made in test");
    let actor = &event.unwrap()["actor"];
    assert_eq!((&actor["type"], &actor["keyId"]), (&json!("session"), &id));
    assert!(actor["id"].as_str().unwrap().starts_with("ses_"));
    assert!(id.as_str().unwrap().parse::<KeyId>().is_ok());
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let cookie = cookie_of(&post(&app, "/dashboard/sign-in", &[("key", &key)], &[]).await);
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
        let headers = [("cookie", cookie.as_str()), (name, value)];
        let answer = post(&app, "/dashboard/live/keys", &fields, &headers).await;
        assert_eq!(answer.status(), status, "{name}: {value}");
    }
    let keys = app.get("/api/v1/admin/keys").await;
    assert_eq!(keys.list().iter().filter(|key| key["name"] == "stolen").count(), 2);
}

/// Wrong keys of an address must wait after ten, and the right one need not.
#[tokio::test]
async fn wrong_keys_of_an_address_are_limited() {
    let app = App::start().await;
    let (wrong, right) = ("sk_live_wrong", app.new_key("default", Role::Read, Mode::Live).await);
    for _ in 0..10 {
        let answer = post(&app, "/dashboard/sign-in", &[("key", wrong)], &[]).await;
        assert_eq!(answer.status(), 401);
    }
    let answer = post(&app, "/dashboard/sign-in", &[("key", wrong)], &[]).await;
    assert_eq!(answer.status(), 429);
    assert!(answer.text().await.unwrap().contains("Too many wrong keys came from your address."));
    assert_eq!(post(&app, "/dashboard/sign-in", &[("key", &right)], &[]).await.status(), 303);
}

/// Behind TLS the cookie can be neither sent in the clear nor set by a neighbour.
#[tokio::test]
async fn behind_tls_the_cookie_is_bound_to_the_host() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let tls = [("x-forwarded-proto", "https")];
    let answer = post(&app, "/dashboard/sign-in", &[("key", &key)], &tls).await;
    let set = answer.headers()[SET_COOKIE].to_str().unwrap();
    assert!(set.starts_with("__Host-licd-session="), "{set}");
    assert!(set.ends_with("; Path=/; Secure; Max-Age=43200; HttpOnly; SameSite=Strict"), "{set}");
    let cookie = cookie_of(&answer);
    let behind_tls = [("cookie", cookie.as_str()), tls[0]];
    assert_eq!(get(&app, "/dashboard/live/keys", &behind_tls).await.status(), 200);
    let plain = [("cookie", cookie.as_str())];
    assert_eq!(get(&app, "/dashboard/live/keys", &plain).await.status(), 303);
}

fn client() -> Client {
    Client::builder().no_proxy().redirect(redirect::Policy::none()).build().unwrap()
}

async fn get(app: &App, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = client().get(format!("{}{path}", app.base));
    let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
    request.send().await.unwrap()
}

async fn post(
    app: &App,
    path: &str,
    fields: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Response {
    let request = client().post(format!("{}{path}", app.base));
    let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
    let body = fields.iter().map(|(name, value)| format!("{name}={value}"));
    let form = "application/x-www-form-urlencoded";
    let request = request.header("content-type", form).body(body.collect::<Vec<_>>().join("&"));
    request.send().await.unwrap()
}

/// What a browser would send back.
fn cookie_of(response: &Response) -> String {
    let set = response.headers()[SET_COOKIE].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}
