//! `licd tenants` and `licd keys create`: a running licd knows what commands on the host store.

use insta::assert_snapshot;

use crate::harness::TestDatabase;
use crate::host::{key_of, printed, refused, whose};
use crate::nodes::process::{Process, first_key};

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
    assert_snapshot!(refused(&[], &again, &database.url), @"licd: a tenant named Acme already exists");
}

/// A new key for a tenant that lost all of its own, by the tenant's name or id.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_made_on_the_host_is_the_way_back_in() {
    let (database, lost) = (TestDatabase::empty().await, first_key());
    let licd = Process::start(&database.url, &lost);
    let tenant = licd.caller(&lost).get("/api/v1/key").await["tenant"]["id"].clone();
    let create = ["keys", "create", "--database-url", &database.url, "--tenant"];
    let made = |rest: &[&str]| key_of(&printed(&[&create[..], rest].concat()));
    let plain = made(&["default"]);
    assert_eq!(whose(&licd, &plain).await, "default created on the host admin live");
    let by_id =
        made(&[tenant.as_str().unwrap(), "--name", "CI", "--role", "validate", "--mode", "test"]);
    assert_eq!(whose(&licd, &by_id).await, "default CI validate test");
    let unknown = [&create[..], &["nobody"]].concat();
    assert_snapshot!(refused(&[], &unknown, &database.url), @"licd: there is no tenant nobody; `licd tenants list` shows the tenants");
}
