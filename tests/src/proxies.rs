//! The client as a trusted proxy names it, wherever its address is used: in the log, for keys, for
//! sessions, and for the limit of wrong keys.

use common::{Mode, Role};
use licd::config::Config;
use reqwest::Method;
use reqwest::header::SET_COOKIE;

use crate::harness::{App, TestDatabase, Visitor, client};
use crate::host::refused;
use crate::nodes::process::{Process, first_key};
use crate::refusals::log::log_with;

const SIGN_IN: &str = "/dashboard/sign-in";
/// Header that the proxy at 10.0.0.1 got, with its own addition, for the one that the tests play.
const FORWARDED_FOR: (&str, &str) = ("x-forwarded-for", "198.51.100.7, 203.0.113.9, 10.0.0.1");
const FORWARDED_PROTO: (&str, &str) = ("x-forwarded-proto", "https");

/// A licd behind these proxies.
async fn behind(proxies: &str) -> App {
    let trusted_proxies = proxies.parse().unwrap();
    App::with(Config { trusted_proxies, ..Config::default() }).await
}

/// Signs in and uses the key once more. Returns the addresses of the session and of the key, and
/// whether the cookie is for TLS.
async fn seen(app: App) -> (String, String, bool) {
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let stranger = Visitor::stranger(&app);
    let sign_in = stranger.form(SIGN_IN, &[("key", &key)]);
    let sign_in = sign_in.header(FORWARDED_FOR.0, FORWARDED_FOR.1);
    let answer = sign_in.header(FORWARDED_PROTO.0, FORWARDED_PROTO.1).send().await.unwrap();
    assert_eq!(answer.status(), 303);
    let is_secure = answer.headers()[SET_COOKIE].to_str().unwrap().contains("; Secure;");
    let session: Vec<(String,)> = app.rows("select address from sessions").await;
    let uses = stranger.request(Method::GET, "/api/v1/key").bearer_auth(&key);
    let uses = uses.header(FORWARDED_FOR.0, FORWARDED_FOR.1);
    assert_eq!(uses.send().await.unwrap().status(), 200);
    // The last uses are written at the end.
    let app = App::on(app.stop().await).await;
    let used = "select last_used_address from keys where last_used_address is not null";
    let key: Vec<(String,)> = app.rows(used).await;
    assert_eq!((session.len(), key.len()), (1, 1));
    (session[0].0.clone(), key[0].0.clone(), is_secure)
}

#[tokio::test]
async fn sessions_and_keys_have_the_address_of_the_client() {
    let client = "203.0.113.9".to_owned();
    let seen = seen(behind("127.0.0.1,10.0.0.0/8").await).await;
    assert_eq!(seen, (client.clone(), client, true));
}

#[tokio::test]
async fn who_is_no_trusted_proxy_speaks_for_itself() {
    let peer = "127.0.0.1".to_owned();
    // Where no proxy is named, TLS is believed: it only makes the cookie stricter.
    for (app, is_secure) in [(App::start().await, true), (behind("10.0.0.0/8").await, false)] {
        assert_eq!(seen(app).await, (peer.clone(), peer.clone(), is_secure));
    }
}

/// Wrong keys of one client delay no other client behind the same proxy.
#[tokio::test]
async fn wrong_keys_are_counted_for_each_client() {
    let app = behind("127.0.0.1").await;
    let stranger = Visitor::stranger(&app);
    let wrong = async |client: &str| {
        let form = stranger.form(SIGN_IN, &[("key", "sk_live_wrong")]);
        form.header(FORWARDED_FOR.0, client).send().await.unwrap().status().as_u16()
    };
    for _ in 0..10 {
        assert_eq!(wrong("203.0.113.9").await, 401);
    }
    assert_eq!(wrong("203.0.113.9").await, 429);
    assert_eq!(wrong("198.51.100.7, 203.0.113.9").await, 429);
    assert_eq!(wrong("203.0.113.10").await, 401);
}

#[tokio::test]
async fn the_log_names_the_client() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let settings = [
        ("LICD_BOOTSTRAP_KEY", &*key),
        ("LICD_LOG", "info"),
        ("LICD_TRUSTED_PROXIES", "127.0.0.0/8, 10.0.0.1"),
    ];
    let licd = Process::launch_with(&database.url, &settings).wait();
    let request = client().build().unwrap();
    let request = request.get(format!("{}/healthz", licd.base));
    let answer = request.header(FORWARDED_FOR.0, FORWARDED_FOR.1).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let log = log_with(&licd, |line| line["route"] == "/healthz").await;
    let line = log.iter().find(|line| line["route"] == "/healthz").unwrap();
    assert_eq!(line["client"], "203.0.113.9");
}

#[test]
fn a_malformed_list_of_proxies_stops_the_start() {
    let said = "`proxy.example` is neither an address nor a network; name them as 10.0.0.0/8,";
    let proxies = "::1,proxy.example";
    for (settings, args) in [
        (vec![("LICD_TRUSTED_PROXIES", proxies)], vec!["serve", "--listen", "nonsense"]),
        (vec![], vec!["serve", "--listen", "nonsense", "--trusted-proxies", proxies]),
    ] {
        let told = refused(&settings, &args, "nothing to hide");
        assert!(told.contains("--trusted-proxies") && told.contains(said), "{told}");
    }
}

/// licd accepts it, because the network in front of licd may be closed, but warns.
#[tokio::test(flavor = "multi_thread")]
async fn to_trust_everybody_is_warned_of() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_TRUSTED_PROXIES", "10.0.0.1,0.0.0.0/0")];
    let node = Process::launch_with(&database.url, &settings).wait();
    let log = log_with(&node, |line| line["network"] == "0.0.0.0/0").await;
    assert_eq!(log.iter().filter(|line| line["network"].is_string()).count(), 1);
}
