//! `licd backup`: a complete and private file, or none.
//!
//! Only SQLite has this command; on PostgreSQL it names the tools to use. The databases here are
//! therefore always files.

mod restore;

use std::fs::{File, Permissions};
use std::future::pending;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use futures_util::{StreamExt, stream};
use licd::backup;
use licd::db::DatabaseUrl;
use serde_json::json;
use sqlx::{ConnectOptions, Connection, Executor};
use tempfile::TempDir;

use crate::harness::until;
use crate::nodes::process::{Process, command_after, first_key, licd};

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// Creates a pipe. A program that opens it waits for the other end.
pub fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn files(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Taken in the middle of a storm; a licd on it knows everyone whose answer came before.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_busy_service_is_whole_and_restores() {
    let (folder, key) = (TempDir::new().unwrap(), first_key());
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    let node = Process::start(&url(&live), &key);
    let caller = node.caller(&key);
    let license = caller.license(json!({ "features": ["sso"] })).await;
    let enter = async |name: String| {
        caller.assign(&license, &name).await.data();
        caller.validate(&name).await.data();
    };
    // A slow disk must still serve all of these in time, so the number of simultaneous requests is
    // limited.
    stream::iter(0..50).for_each_concurrent(20, |n| enter(format!("early-{n}"))).await;
    let storm = stream::iter(0..200).for_each_concurrent(20, |n| enter(format!("late-{n}")));
    let (_, taken) = tokio::join!(storm, backup::write(&live, &saved, pending()));
    assert_eq!(taken.unwrap(), saved.metadata().unwrap().len());
    assert_eq!(saved.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(node.stop().success());

    let node = Process::start(&url(&saved), &key);
    let caller = node.caller(&key);
    for n in 0..50 {
        assert_eq!(caller.validate(&format!("early-{n}")).await.verdict(), "valid");
    }
    let usage = caller.usage(&license).await;
    assert_eq!(usage["activeSeats"], usage["totalActivations"]);
    assert!(node.stop().success());
}

#[tokio::test]
async fn a_backup_replaces_nothing_and_leaves_nothing_half() {
    let folder = TempDir::new().unwrap();
    let (live, taken) = (folder.path().join("live.db"), folder.path().join("taken"));
    let db = licd::db::Db::open(&DatabaseUrl::Sqlite(live.clone())).await.unwrap();
    db.close().await;
    // Even an empty file, which SQLite itself would fill.
    std::fs::write(&taken, "").unwrap();
    let refusal = backup::write(&live, &taken, pending()).await.unwrap_err().to_string();
    assert!(refusal.contains("already exists, and a backup never replaces"), "{refusal}");
    assert_eq!(std::fs::read(&taken).unwrap(), b"");

    let nowhere = folder.path().join("nowhere.db");
    let saved = folder.path().join("saved.db");
    let refusal = backup::write(&nowhere, &saved, pending()).await.unwrap_err();
    assert!(refusal.to_string().contains("no such file"), "{refusal}");
    // SQLite cannot make its log, as on a file system that is read-only.
    let log = folder.path().join("live.db-wal");
    std::fs::create_dir(&log).unwrap();
    let refusal = backup::write(&live, &saved, pending()).await.unwrap_err().to_string();
    assert!(refusal.starts_with("cannot read the database"), "{refusal}");
    std::fs::remove_dir(&log).unwrap();
    let missing = folder.path().join("missing/saved.db");
    let refusal = backup::write(&live, &missing, pending()).await.unwrap_err().to_string();
    assert!(refusal.starts_with("cannot write"), "{refusal}");
    assert_eq!(files(folder.path()), ["live.db", "taken"]);
}

/// A backup that would not open is worse than none, because it is found out too late.
#[tokio::test]
async fn a_damaged_database_makes_no_backup() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    let db = licd::db::Db::open(&DatabaseUrl::Sqlite(live.clone())).await.unwrap();
    let orphan = "insert into assignments (user_id, license_id, world, id, assigned_at)
        values (x'00', x'00', 1, x'00', 0)";
    let mut conn = db.write().await.unwrap();
    conn.query("pragma foreign_keys = off").execute().await.unwrap();
    conn.query(orphan).execute().await.unwrap();
    drop(conn);
    db.close().await;
    let refusal = backup::write(&live, &saved, pending()).await.unwrap_err().to_string();
    assert!(refusal.contains("a row of assignments has no parent"), "{refusal}");
    assert_eq!(files(folder.path()), ["live.db"]);
}

/// Runs a statement in a database, whatever its schema.
async fn run_on(path: &Path, statement: &'static str) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut conn = options.create_if_missing(true).connect().await.unwrap();
    conn.execute(statement).await.unwrap();
    conn.close().await.unwrap();
}

/// A database of some megabytes.
async fn large(path: &Path) {
    let db = licd::db::Db::open(&DatabaseUrl::Sqlite(path.to_owned())).await.unwrap();
    let rows = "with recursive n(n) as (select 1 union all select n + 1 from n where n < 300)
         insert into worlds (id, tenant_id, tenant_name, mode, created_at)
         select n, randomblob(16), hex(randomblob(10000)), 'live', 0 from n";
    db.write().await.unwrap().query(rows).execute().await.unwrap();
    db.close().await;
}

/// A backup deletes the leftovers of killed ones, and no file that is being written.
#[tokio::test]
async fn leftovers_of_killed_backups_are_swept() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    large(&live).await;
    for name in ["dead", "dead-journal", "gone-journal", "busy", "busy-journal"] {
        std::fs::write(folder.path().join(format!(".licd-backup-{name}")), "half").unwrap();
    }
    let busy = File::open(folder.path().join(".licd-backup-busy")).unwrap();
    busy.lock().unwrap();
    backup::write(&live, &saved, pending()).await.unwrap();
    let busy = [".licd-backup-busy", ".licd-backup-busy-journal"];
    assert_eq!(files(folder.path()), [&busy[..], &["live.db", "saved.db"]].concat());
}

/// In a folder where other users may write, their files with the name of a draft are not touched, and
/// delay no backup.
#[tokio::test]
async fn what_others_left_in_the_folder_holds_no_backup_up() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    large(&live).await;
    let draft = |name: &str| folder.path().join(format!(".licd-backup-{name}"));
    pipe(&draft("pipe"));
    std::os::unix::fs::symlink(&live, draft("link")).unwrap();
    std::fs::create_dir(draft("folder-journal")).unwrap();
    backup::write(&live, &saved, pending()).await.unwrap();
    let left = [".licd-backup-folder-journal", ".licd-backup-link", ".licd-backup-pipe"];
    assert_eq!(files(folder.path()), [&left[..], &["live.db", "saved.db"]].concat());
}

/// A backup of the wrong file would be found out when it is needed.
#[tokio::test]
async fn nothing_of_licd_makes_no_backup() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (empty, other) = (path("empty.db"), path("other.db"));
    std::fs::write(&empty, "").unwrap();
    run_on(&other, "create table _sqlx_migrations (version bigint)").await;
    std::fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
    let before = std::fs::read(&other).unwrap();
    let refused = licd(&["migrate", "--database-url", &url(&other)]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("this is another program's database"), "{said}");
    assert_eq!(std::fs::read(&other).unwrap(), before, "its journal, too, is as it was");
    for database in [&empty, &other] {
        let refused = backup::write(database, &path("saved.db"), pending()).await.unwrap_err();
        let said = format!("{}: this database contains no tables of licd", url(database));
        assert_eq!(refused.to_string(), said);
    }
    pipe(&path("pipe"));
    let refused = backup::write(&path("pipe"), &path("saved.db"), pending()).await.unwrap_err();
    assert!(refused.to_string().ends_with("pipe is not a regular file"), "{refused}");
    assert_eq!(files(folder.path()), ["empty.db", "other.db", "pipe"]);
}

/// An interrupted backup is deleted, with all files that SQLite created next to it.
#[tokio::test]
async fn an_interrupted_backup_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    large(&live).await;
    let is_draft = |name: &String| {
        let size = folder.path().join(name).metadata().map_or(0, |file| file.len());
        name.starts_with(".licd-backup-") && size > 0
    };
    let begun = until("the backup has begun", async || files(folder.path()).iter().any(is_draft));
    let refusal = backup::write(&live, &saved, begun).await.unwrap_err().to_string();
    assert_eq!(refusal, "interrupted; nothing was changed");
    assert_eq!(files(folder.path()), ["live.db"]);
}

/// A full disk is an error that names the file, and nothing stays on it.
#[tokio::test]
async fn a_full_disk_is_not_the_databases_fault() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    large(&live).await;
    let args = ["backup", saved.to_str().unwrap(), "--database-url", &url(&live)];
    // No file may grow beyond some hundred kilobytes.
    let output = command_after("ulimit -f 200", &args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("\nlicd: cannot write {}: ", saved.display())), "{said}");
    assert_eq!(files(folder.path()), ["live.db"]);
}

/// The command, in words.
#[test]
fn the_command_prints_its_result() {
    let folder = TempDir::new().unwrap();
    let (live, saved) = (folder.path().join("live.db"), folder.path().join("saved.db"));
    assert!(licd(&["migrate", "--database-url", &url(&live)]).status.success());
    let path = saved.to_str().unwrap();
    let done = licd(&["backup", path, "--database-url", &url(&live)]);
    let said = String::from_utf8(done.stdout).unwrap();
    let size = saved.metadata().unwrap().len();
    assert_eq!(said, format!("{path}: {size} bytes, complete and intact.\n"));
    assert!(done.status.success());

    let again = licd(&["backup", path, "--database-url", &url(&live)]);
    assert_eq!(again.status.code(), Some(1));
    let postgres = licd(&["backup", path, "--database-url", "postgres://u:secret@h/d"]);
    assert_eq!(postgres.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(postgres.stderr).unwrap(), @r"
    database: postgres://h:5432/d (--database-url)
    licd: licd backup is for SQLite. For PostgreSQL use pg_dump --format=custom and pg_restore, or pg_basebackup and archived WAL to go back to any moment; see docs/operate/backups.md
    ");
}
