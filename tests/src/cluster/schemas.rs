//! A search path that changes: licd must not start over in an empty schema.

use super::cluster_with_license;
use crate::nodes::process::{Process, licd};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn an_empty_schema_does_not_replace_the_tables() {
    let (cluster, node, _, _) = cluster_with_license().await;
    assert!(node.stop().success());
    let url = cluster.url("licd");
    // PostgreSQL looks first into the schema that is named like the role.
    cluster.execute("create schema postgres").await;
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["tenants", "list"],
        &["tenants", "create", "Acme"],
        &["doctor"],
    ] {
        let refused = licd(&[command, &["--database-url", &url]].concat());
        let told = String::from_utf8([refused.stdout, refused.stderr].concat()).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{command:?}: {told}");
        assert!(
            told.contains("alter role ROLE set search_path = \"public\""),
            "{command:?}: {told}"
        );
    }
    let tables = "select count(*) from pg_tables where schemaname = 'postgres'";
    assert_eq!(cluster.number(tables).await, 0);

    let migrated = licd(&["migrate", "--new-schema", "--database-url", &url]);
    assert!(migrated.status.success(), "{migrated:?}");
    assert_ne!(cluster.number(tables).await, 0);
    // Both schemas have tables now, and the first is used.
    assert!(Process::launch_with(&url, &[]).wait().stop().success());
    cluster.execute("alter role postgres set search_path = public").await;
    let listed = licd(&["tenants", "list", "--database-url", &url]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("default"));
}
