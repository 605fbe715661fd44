//! The commands of `licd` on the server's host, and what a first start does: the ways in.

use insta::assert_snapshot;

use crate::harness::{Caller, TestDatabase};
use crate::nodes::process::{Process, first_key, licd, licd_with};

/// What a command that succeeds prints.
fn printed(args: &[&str]) -> String {
    let output = licd(args);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command that fails says, without the database's address.
fn refused(settings: &[(&str, &str)], args: &[&str], database: &str) -> String {
    let output = licd_with(settings, args);
    assert!(!output.status.success(), "{args:?}");
    assert!(output.stdout.is_empty(), "standard output is for data");
    String::from_utf8(output.stderr).unwrap().replace(database, "<database>")
}

/// The one line that is a key.
fn key_of(printed: &str) -> String {
    let key = printed.strip_suffix('\n').unwrap();
    assert!(key.starts_with("sk_live_") || key.starts_with("sk_test_"), "{key}");
    assert_eq!(key.len(), 46);
    key.to_owned()
}

async fn whose(licd: &Process, key: &str) -> String {
    let shown = Caller::new(licd.base.clone(), key).get("/api/v1/key").await;
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let tenant = text(&shown["tenant"]["name"]);
    format!("{tenant} {} {} {}", text(&shown["name"]), text(&shown["role"]), text(&shown["mode"]))
}

/// `LICD_BOOTSTRAP_KEY` becomes the first tenant's live admin key, and is never printed.
#[tokio::test(flavor = "multi_thread")]
async fn the_bootstrap_key_opens_the_first_tenant() {
    let (database, key) = (TestDatabase::empty().await, key_of(&printed(&["keys", "generate"])));
    let licd = Process::start(&database.url, &key);
    assert_eq!(whose(&licd, &key).await, "default first key admin live");
    let other = first_key();
    let second = Process::start(&database.url, &other);
    let ignored = Caller::new(second.base.clone(), &other).get("/api/v1/key").await;
    assert_eq!(ignored.status, 401, "there is a tenant already");
    for node in [licd, second] {
        assert!(!node.log().contains("sk_"), "{}", node.log());
    }
}

/// Without it, the first start prints an admin key once, to standard error.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_prints_its_key_once() {
    let database = TestDatabase::empty().await;
    let licd = Process::launch_with(&database.url, &[]).wait();
    let log = licd.log();
    let keys: Vec<&str> =
        log.lines().map(str::trim).filter(|line| line.starts_with("sk_live_")).collect();
    assert_eq!(keys.len(), 1, "{log}");
    assert_eq!(whose(&licd, keys[0]).await, "default first key admin live");
    let key = keys[0].to_owned();
    drop(licd);
    let again = Process::launch_with(&database.url, &[]).wait();
    assert!(!again.log().contains("sk_"), "{}", again.log());
    assert_eq!(whose(&again, &key).await, "default first key admin live");
}

/// A bootstrap key that is no key, or a test key, is refused without being repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_bootstrap_key_stops_the_start() {
    let database = TestDatabase::empty().await;
    let whole = first_key();
    let last = if whole.ends_with('x') { 'y' } else { 'x' };
    let damaged = format!("{}{last}", &whole[..45]);
    let test = first_key().replace("live", "test");
    for key in [&*damaged, &test, "secret"] {
        let settings = [("LICD_BOOTSTRAP_KEY", key), ("LICD_LISTEN", "127.0.0.1:0")];
        let args = ["serve", "--database-url", &database.url];
        let told = refused(&settings, &args, &database.url);
        assert!(told.contains("LICD_BOOTSTRAP_KEY"), "{told}");
        assert!(!told.contains(key), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_made_and_listed_on_the_host() {
    let database = TestDatabase::empty().await;
    let at = ["--database-url", &*database.url];
    let run = |words: &[&str]| printed(&[words, &at[..]].concat());
    let one = key_of(&run(&["tenants", "create", "Acme"]));
    let other = key_of(&run(&["tenants", "create", " Übel & Co "]));
    let listed = run(&["tenants", "list"]);
    let names: Vec<&str> = listed.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    assert_eq!(names, ["Acme", "Übel & Co"]);
    let licd = Process::start(&database.url, &first_key());
    assert_eq!(whose(&licd, &one).await, "Acme first key admin live");
    assert_eq!(whose(&licd, &other).await, "Übel & Co first key admin live");
    let again = ["tenants", "create", "Acme", "--database-url", &database.url];
    assert_snapshot!(refused(&[], &again, &database.url), @"licd: there is a tenant named Acme already");
}

/// The way back in, for who has lost every key: by the tenant's name or id.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_made_on_the_host_is_the_way_back_in() {
    let (database, lost) = (TestDatabase::empty().await, first_key());
    let licd = Process::start(&database.url, &lost);
    let tenant = licd.caller(&lost).get("/api/v1/key").await["tenant"]["id"].clone();
    let create = ["keys", "create", "--database-url", &database.url, "--tenant"];
    let made = |rest: &[&str]| key_of(&printed(&[&create[..], rest].concat()));
    let plain = made(&["default"]);
    assert_eq!(whose(&licd, &plain).await, "default made on the host admin live");
    let by_id =
        made(&[tenant.as_str().unwrap(), "--name", "CI", "--role", "validate", "--mode", "test"]);
    assert_eq!(whose(&licd, &by_id).await, "default CI validate test");
    let unknown = [&create[..], &["nobody"]].concat();
    assert_snapshot!(refused(&[], &unknown, &database.url), @"licd: there is no tenant nobody; `licd tenants list` shows those there are");
}

/// An address that is none is refused before anything is made.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_database_is_refused() {
    for url in ["mysql://localhost/licd", "licd.db", "sqlite://", "postgres://:x:/"] {
        let told = refused(&[], &["tenants", "list", "--database-url", url], "nothing to hide");
        assert!(told.contains("must be sqlite://PATH or postgres://USER@HOST/DATABASE"), "{told}");
    }
}
