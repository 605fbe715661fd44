//! `licd migrate`: upgrades the schema ahead of a start, prints each step, and never downgrades.

use crate::harness::TestDatabase;
use crate::nodes::process::licd;

const FUTURE: &str = "insert into _sqlx_migrations
    (version, description, success, checksum, execution_time, installed_on)
    values (9999, 'of the future', true, $2, 0, $1)";

/// Both streams of a command, without the database's address.
fn printed(database: &TestDatabase, args: &[&str]) -> String {
    let url = ["--database-url", &database.url];
    let output = licd(&[args, &url].concat());
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let shown: licd::db::DatabaseUrl = database.url.parse().unwrap();
    let named = format!("database: {shown} (--database-url)\n");
    text.replace(&named, "").replace(&shown.to_string(), "<database>").trim().to_owned()
}

#[tokio::test]
async fn migrating_prints_each_step() {
    let database = TestDatabase::empty().await;
    insta::assert_snapshot!(printed(&database, &["migrate"]), @r"
    1  first
    2  key makers
    3  keys by maker
    4  nodes
    5  license keys by ending
    6  no license keys by suffix
    7  assignments by lease
    8  trials
    9  last seen
    10  numbers
    <database> is now at schema version 10: 10 steps.
    ");
    insta::assert_snapshot!(
        printed(&database, &["migrate"]),
        @"<database> is at schema version 10; nothing to do."
    );
}

/// An older licd changes nothing, whatever command it gets, and names the version that made the
/// database.
#[tokio::test]
async fn a_database_of_a_newer_licd_is_refused() {
    let database = TestDatabase::ready().await;
    let db = database.open().await;
    let now = common::Timestamp::now();
    db.write().await.unwrap().query(FUTURE).bind(now).bind(vec![1u8]).execute().await.unwrap();
    db.close().await;
    for command in [&["migrate"][..], &["serve", "--listen", "127.0.0.1:0"], &["tenants", "list"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(printed(&database, command), @"licd: <database>: the database has schema version 9999, and this licd knows only up to 10: a newer licd has upgraded it. Start that version; an older one could damage the data");
        }
    }
}

/// Copying reads a database as it is: it neither makes one nor upgrades one.
#[tokio::test]
async fn a_source_without_a_schema_is_left_alone() {
    let (empty, target) = (TestDatabase::empty().await, TestDatabase::empty().await);
    let output = licd(&["copy", "--from", &empty.url, "--to", &target.url]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = match empty.is_postgres() {
        true => "this database contains no tables of licd",
        false => "no such file",
    };
    assert!(said.contains(expected), "{said}");
    insta::assert_snapshot!(
        printed(&empty, &["migrate"]),
        @r"
    1  first
    2  key makers
    3  keys by maker
    4  nodes
    5  license keys by ending
    6  no license keys by suffix
    7  assignments by lease
    8  trials
    9  last seen
    10  numbers
    <database> is now at schema version 10: 10 steps.
    "
    );
}
