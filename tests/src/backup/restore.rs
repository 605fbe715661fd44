//! `licd restore` leaves the whole backup, or the database from before.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{files, large, url};
use crate::nodes::process::{Process, first_key, licd, program};

struct RestoreFolder {
    folder: TempDir,
    key: String,
}

impl RestoreFolder {
    /// A database with the user `early`, a backup of it, and then the user `late`. Its licd was
    /// killed, so the log holds all of it.
    async fn with_a_killed_licd() -> Self {
        let place = Self { folder: TempDir::new().unwrap(), key: first_key() };
        let node = Process::start(&url(&place.path("licd.db")), &place.key);
        node.caller(&place.key).validate("early").await.data();
        let saved = place.path("saved.db");
        assert!(place.licd(&["backup", saved.to_str().unwrap()]).status.success());
        node.caller(&place.key).validate("late").await.data();
        drop(node);
        assert_ne!(place.path("licd.db-wal").metadata().unwrap().len(), 0);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn licd(&self, args: &[&str]) -> Output {
        licd(&[args, &["--database-url", &url(&self.path("licd.db"))]].concat())
    }

    fn restore(&self, name: &str) -> Output {
        self.licd(&["restore", self.path(name).to_str().unwrap()])
    }

    /// Whether the database at `path` is intact and knows these users.
    async fn knows(&self, path: &Path) -> Vec<String> {
        let node = Process::start(&url(path), &self.key);
        let users = node.caller(&self.key).get("/api/v1/admin/users").await;
        let mut users: Vec<String> =
            users.each("externalId").into_iter().map(str::to_owned).collect();
        users.sort();
        assert!(node.stop().success());
        users
    }

    /// Path of the old database.
    fn kept(&self) -> PathBuf {
        let is_kept = |name: &&String| name.contains("-replaced-") && !name.ends_with("-wal");
        self.path(files(self.folder.path()).iter().find(is_kept).unwrap())
    }
}

fn said(output: &Output) -> String {
    String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_is_replaced_and_kept() {
    let place = RestoreFolder::with_a_killed_licd().await;
    let backup = fs::read(place.path("saved.db")).unwrap();
    let restored = place.restore("saved.db");
    assert!(restored.status.success(), "{}", said(&restored));
    let (live, kept) = (place.path("licd.db"), place.kept());
    let expected = format!(
        "{}: restored from {}, {} bytes, complete and intact.\n\
         {}: what was there before; delete it once it is not needed.\n\
         database: {} (--database-url)\n",
        live.display(),
        place.path("saved.db").display(),
        live.metadata().unwrap().len(),
        kept.display(),
        url(&live),
    );
    assert_eq!(said(&restored), expected);
    assert_eq!(live.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.knows(&live).await, ["early"]);
    assert_eq!(place.knows(&kept).await, ["early", "late"]);
    assert_eq!(fs::read(place.path("saved.db")).unwrap(), backup);
}

/// SQLite would replay the log of one database into the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_beside_the_old_log_is_refused_with_the_commands_that_help() {
    let place = RestoreFolder::with_a_killed_licd().await;
    fs::copy(place.path("saved.db"), place.path("licd.db")).unwrap();
    let before = [fs::read(place.path("licd.db")), fs::read(place.path("licd.db-wal"))];
    let before = before.map(Result::unwrap);
    let mut told = String::new();
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["tenants", "list"],
        &["backup", "x"],
    ] {
        let refused = place.licd(command);
        told = said(&refused);
        assert!(told.contains("so they do not belong together"), "{command:?}: {told}");
        assert!(!refused.status.success());
    }
    let files = [fs::read(place.path("licd.db")), fs::read(place.path("licd.db-wal"))];
    assert!(files.map(Result::unwrap) == before, "nothing was touched");

    let (_, commands) = told.trim().rsplit_once("run: ").unwrap();
    let ran = Command::new("sh")
        .args(["-ec", commands])
        .env("PATH", format!("{}:/usr/bin:/bin", program("licd").parent().unwrap().display()))
        .env("LICD_DATABASE_URL", url(&place.path("licd.db")))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    assert_eq!(place.knows(&place.path("licd.db")).await, ["early"]);
}

/// Even one that does nothing, since its next write would be lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_use_is_not_replaced() {
    let place = RestoreFolder::with_a_killed_licd().await;
    let node = Process::start(&url(&place.path("licd.db")), &place.key);
    let refused = place.restore("saved.db");
    let expected = "licd.db is in use: stop the licd, or the other program, that has it open\n";
    assert!(said(&refused).ends_with(expected), "{}", said(&refused));
    node.caller(&place.key).validate("later").await.data();
    assert!(node.stop().success());
    assert_eq!(place.knows(&place.path("licd.db")).await, ["early", "late", "later"]);
}

/// A mistyped path, or a shell without the service's settings, must not look like a restore.
#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_nothing_is_restored_by_mistake() {
    let place = RestoreFolder::with_a_killed_licd().await;
    let (saved, elsewhere) = (place.path("saved.db"), url(&place.path("elsewhere/licd.db")));
    let restore = |more: &[&str]| {
        licd(&[&["restore", saved.to_str().unwrap(), "--database-url", &elsewhere], more].concat())
    };
    let refused = restore(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("there is no database at"), "{}", said(&refused));
    assert!(!place.path("elsewhere").exists(), "nothing was created");
    assert_eq!(restore(&["--new"]).status.code(), Some(0));
    assert_eq!(place.knows(&place.path("elsewhere/licd.db")).await, ["early"]);
    let refused = restore(&["--new"]);
    assert!(said(&refused).contains("leave out --new"), "{}", said(&refused));
}

/// A copy of a live file is whole only with its log, or if licd did not run.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_live_file_is_not_called_complete() {
    let place = RestoreFolder::with_a_killed_licd().await;
    fs::copy(place.path("licd.db"), place.path("copy.db")).unwrap();
    let restored = said(&place.restore("copy.db"));
    // The rows written so far are in the log, so there may be no table yet.
    assert!(!restored.contains("complete"), "{restored}");
    let place = RestoreFolder::with_a_killed_licd().await;
    fs::copy(place.path("licd.db"), place.path("copy.db")).unwrap();
    fs::copy(place.path("licd.db-wal"), place.path("copy.db-wal")).unwrap();
    let restored = said(&place.restore("copy.db"));
    assert!(restored.contains("bytes, intact."), "{restored}");
    assert!(restored.contains("was not written by `licd backup`"), "{restored}");
    assert_eq!(place.knows(&place.path("licd.db")).await, ["early", "late"]);
    fs::copy(place.path("licd.db"), place.path("stopped.db")).unwrap();
    let restored = said(&place.restore("stopped.db"));
    assert!(restored.contains("the newest changes are missing"), "{restored}");
    assert!(!restored.contains("complete"), "{restored}");
}

/// Without the secret key, leases and webhooks stop, so a restore names the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_key_that_is_missing_is_named() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (key, database) = (first_key(), url(&folder.path().join("licd.db")));
    let node = Process::start(&database, &key);
    node.caller(&key).post("/api/v1/admin/signing-keys", serde_json::json!({})).await.data();
    assert!(node.stop().success());
    let (saved, other) = (path("saved.db"), path("other"));
    assert!(licd(&["backup", &saved, "--database-url", &database]).status.success());
    assert!(licd(&["secret-key", "generate", &other]).status.success());
    for (more, has) in
        [(&[][..], "there is none"), (&["--secret-key-file", &other], "the file has ")]
    {
        let args = [&["restore", &saved, "--database-url", &database], more].concat();
        let told = said(&licd(&args));
        let warning = "Warning: 2 signing keys sign no lease: they need the secret key ";
        assert!(told.contains(warning) && told.contains(has), "{told}");
    }
    let target = url(&folder.path().join("copied.db"));
    let told = said(&licd(&["copy", "--from", &database, "--to", &target]));
    assert!(told.contains("Secrets in it need the secret key "), "{told}");
    assert!(told.contains("licd.db.secret, which has none"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_sound_backup_replaces_nothing() {
    let place = RestoreFolder::with_a_killed_licd().await;
    large(&place.path("damaged.db")).await;
    let mut damaged = fs::read(place.path("damaged.db")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 20_000].fill(0xa5);
    fs::write(place.path("damaged.db"), damaged).unwrap();
    fs::write(place.path("empty.db"), "").unwrap();
    fs::write(place.path("text.db"), "no database".repeat(100)).unwrap();
    fs::copy(place.path("saved.db"), place.path("newer.db")).unwrap();
    let newer = "insert into _sqlx_migrations
        select 9999, description, installed_on, success, checksum, 0 from _sqlx_migrations limit 1";
    super::run_on(&place.path("newer.db"), newer).await;
    fs::copy(place.path("saved.db"), place.path("lacking.db")).unwrap();
    super::run_on(&place.path("lacking.db"), "drop table webhook_holds").await;
    let before = files(place.folder.path());
    for (name, why) in [
        ("lacking.db", "lacking.db lacks tables of licd: webhook_holds"),
        ("damaged.db", "damaged.db: "),
        ("empty.db", "this database contains no tables of licd"),
        ("text.db", "file is not a database"),
        ("newer.db", "a newer licd has upgraded it"),
        ("missing.db", "no such file"),
        ("licd.db", "licd.db is the database itself; name a backup of it"),
    ] {
        let refused = place.restore(name);
        assert!(!refused.status.success(), "{name}");
        assert!(said(&refused).contains(why), "{name}: {}", said(&refused));
    }
    assert_eq!(files(place.folder.path()), before);
    assert_eq!(place.knows(&place.path("licd.db")).await, ["early", "late"]);
}

/// On a new machine there is neither a database nor a folder for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_moves_to_a_new_machine() {
    let place = RestoreFolder::with_a_killed_licd().await;
    let new = place.path("new/folder/licd.db");
    let saved = place.path("saved.db");
    let args = ["restore", "--new", saved.to_str().unwrap(), "--database-url", &url(&new)];
    let restored = licd(&args);
    assert!(restored.status.success(), "{}", said(&restored));
    assert_eq!(said(&restored).lines().count(), 2, "nothing was there");
    assert_eq!(place.knows(&new).await, ["early"]);
    let postgres = licd(&["restore", "x", "--database-url", "postgres://u@h/d"]);
    assert!(said(&postgres).contains("licd restore is for SQLite"), "{}", said(&postgres));
}
