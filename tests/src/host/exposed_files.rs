//! SQLite files that others on the machine can read or change.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use licd::db::Db;
use tempfile::TempDir;

use super::refused;
use crate::nodes::process::{licd, licd_with};

const ALLOWED: &str = "LICD_ALLOW_EXPOSED_FILES";

fn set_mode(path: &str, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// The refusal of `tenants list`, or nothing.
fn refusal(url: &str) -> String {
    let output = licd(&["tenants", "list", "--database-url", url]);
    let told = String::from_utf8(output.stderr).unwrap();
    let named = format!("database: {url} (--database-url)\n");
    let told = told.replace(&named, "");
    assert_eq!(output.status.success(), told.is_empty(), "{told}");
    told
}

/// The message has the command that corrects the permissions. The group may read, and in a sticky
/// folder no user can replace a file of another.
#[tokio::test]
async fn files_that_others_can_read_or_change_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("licd.db");
    let (path, parent, url) = (path.to_str().unwrap(), folder.path().to_str().unwrap(), url(&path));
    licd(&["tenants", "create", "Acme", "--database-url", &url]);
    let refused = |path: &str, mode, usual, fix: &str| {
        set_mode(path, mode);
        let told = refusal(&url);
        set_mode(path, usual);
        assert!(told.contains(&format!("fix it with: {fix} {path}\n")), "{mode:o}: {told}");
        assert!(told.contains("LICD_ALLOW_EXPOSED_FILES=true"), "{told}");
    };
    for mode in [0o604, 0o602, 0o601, 0o620] {
        refused(path, mode, 0o600, "chmod 600");
    }
    // SQLite's files next to the database exist while it is open.
    let db = Db::open(&url.parse().unwrap()).await.unwrap();
    licd(&["tenants", "create", "Other", "--database-url", &url]);
    for beside in ["-wal", "-shm"] {
        refused(&format!("{path}{beside}"), 0o606, 0o600, "chmod 600");
    }
    db.close().await;
    refused(parent, 0o777, 0o700, "chmod go-w");
    refused(parent, 0o770, 0o700, "chmod go-w");
    for (path, mode) in [(path, 0o640), (parent, 0o1777)] {
        set_mode(path, mode);
        assert_eq!(refusal(&url), "", "{path} {mode:o}");
    }
}

/// Every command refuses them before it makes or changes anything.
#[test]
fn every_command_refuses_exposed_files() {
    let (open, own) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    set_mode(open.path().to_str().unwrap(), 0o777);
    let (exposed, other) = (url(&open.path().join("licd.db")), url(&own.path().join("other.db")));
    let backup = own.path().join("backup.db");
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["tenants", "create", "Acme"],
        &["tenants", "list"],
        &["keys", "create", "--tenant", "Acme"],
        &["backup", backup.to_str().unwrap()],
        &["copy", "--from", &exposed, "--to", &other],
        &["copy", "--from", &other, "--to", &exposed],
    ] {
        let told = refused(&[("LICD_DATABASE_URL", &exposed)], args, &exposed);
        assert!(told.starts_with("licd: <database>: others can replace the database;"), "{told}");
    }
    for folder in [open.path(), own.path()] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}

/// If they are allowed, the same words are a warning.
#[test]
fn exposed_files_can_be_allowed() {
    let folder = TempDir::new().unwrap();
    let (path, url) = (folder.path().join("licd.db"), url(&folder.path().join("licd.db")));
    licd(&["tenants", "create", "Acme", "--database-url", &url]);
    set_mode(path.to_str().unwrap(), 0o644);
    let list = ["tenants", "list", "--database-url", &url];
    let flag = licd(&[&list[..], &["--allow-exposed-files"]].concat());
    for output in
        [flag, licd_with(&[(ALLOWED, "true")], &list), licd_with(&[(ALLOWED, "1")], &list)]
    {
        assert!(output.status.success());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(&format!("fix it with: chmod 600 {}", path.display())), "{told}");
    }
    assert!(!licd_with(&[(ALLOWED, "false")], &list).status.success());
}
