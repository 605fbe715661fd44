//! `licd restore`: what the backup holds, whole, or what was there before.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{files, large, url};
use crate::nodes::process::{Process, first_key, licd, program};

struct Place {
    folder: TempDir,
    key: String,
}

impl Place {
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

    /// Where the old database is kept.
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
    let place = Place::with_a_killed_licd().await;
    let backup = fs::read(place.path("saved.db")).unwrap();
    let restored = place.restore("saved.db");
    assert!(restored.status.success(), "{}", said(&restored));
    let (live, kept) = (place.path("licd.db"), place.kept());
    let expected = format!(
        "{}: restored from {}, {} bytes, complete and intact.\n\
         {}: what was there before; delete it once it is not needed.\n",
        live.display(),
        place.path("saved.db").display(),
        live.metadata().unwrap().len(),
        kept.display()
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
    let place = Place::with_a_killed_licd().await;
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
        assert!(told.contains("together they would be neither"), "{command:?}: {told}");
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
    let place = Place::with_a_killed_licd().await;
    let node = Process::start(&url(&place.path("licd.db")), &place.key);
    let refused = place.restore("saved.db");
    let expected = "licd.db is in use: stop the licd, or the other program, that has it open\n";
    assert!(said(&refused).ends_with(expected), "{}", said(&refused));
    node.caller(&place.key).validate("later").await.data();
    assert!(node.stop().success());
    assert_eq!(place.knows(&place.path("licd.db")).await, ["early", "late", "later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_sound_backup_replaces_nothing() {
    let place = Place::with_a_killed_licd().await;
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
    let before = files(place.folder.path());
    for (name, why) in [
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
    let place = Place::with_a_killed_licd().await;
    let new = place.path("new/folder/licd.db");
    let saved = place.path("saved.db");
    let args = ["restore", saved.to_str().unwrap(), "--database-url", &url(&new)];
    let restored = licd(&args);
    assert!(restored.status.success(), "{}", said(&restored));
    assert_eq!(said(&restored).lines().count(), 1, "nothing was there");
    assert_eq!(place.knows(&new).await, ["early"]);
    let postgres = licd(&["restore", "x", "--database-url", "postgres://u@h/d"]);
    assert!(said(&postgres).contains("licd restore is for SQLite"), "{}", said(&postgres));
}
