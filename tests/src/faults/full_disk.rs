//! SQLite on a disk that is really full: a file system of 6 MiB in memory, in a mount namespace
//! that ends with licd. Where the kernel permits no mount, the test says so, and
//! `a_full_disk_heals_with_the_first_request` stands for it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use crate::harness::{Caller, until};
use crate::nodes::process::{Process, command_after, first_key};

/// Runs the rest of a shell's command line behind a small file system at `folder`.
fn in_small_disk(folder: &Path) -> String {
    let mount = format!("mount -t tmpfs -o size=6m,mode=700 tmpfs {}", folder.display());
    format!(r#"exec unshare --map-root-user --mount sh -c '{mount} && exec "$0" "$@"' "$0" "$@""#)
}

/// Returns the reason why no file system can be mounted here, if there is one.
fn refusal_to_mount(folder: &Path) -> Option<String> {
    let tried = Command::new("sh").args(["-c", &in_small_disk(folder), "true"]).output().unwrap();
    (!tried.status.success()).then(|| String::from_utf8_lossy(&tried.stderr).trim().to_owned())
}

/// Creates a file next to the database that takes two thirds of the disk.
fn take_most(disk: &Path) -> PathBuf {
    let path = disk.join("filler");
    File::create(&path).unwrap().write_all(&vec![1; 4 << 20]).unwrap();
    path
}

/// Makes users until the disk is full, and answers those that were made.
async fn make_users(admin: &Caller) -> Vec<String> {
    let mut made = Vec::new();
    loop {
        let name = format!("user-{}", made.len());
        let email = format!("{name}@{}.example", "long-".repeat(30));
        let body = json!({ "externalId": name, "email": email });
        let answer = admin.post("/api/v1/admin/users", body).await;
        if answer.status == 503 {
            assert_eq!(answer.refusal(), "503 unavailable");
            return made;
        }
        answer.data();
        made.push(name);
        assert!(made.len() < 10_000, "the disk is not small");
    }
}

/// While the disk is full, requests without a write succeed, including validations of seat holders.
async fn is_refused_well(admin: &Caller) {
    until("nothing can be written", async || {
        assert_eq!(admin.validate("bob").await.verdict(), "valid");
        admin.get("/readyz?for=writes").await.status == 503
    })
    .await;
    for n in 0..5 {
        let body = json!({ "name": format!("{n}{}", "x".repeat(90)) });
        let refused = admin.post("/api/v1/admin/products", body).await;
        assert_eq!(refused.refusal(), "503 unavailable");
        assert_eq!(admin.validate("bob").await.verdict(), "valid");
        assert_eq!(admin.get("/readyz").await.data()["writes"], false);
        assert_eq!(admin.get("/api/v1/admin/users?limit=1").await.list().len(), 1);
        assert_eq!(admin.get("/healthz").await.status, 200);
    }
}

/// SQLite finds nothing wrong with a copy of the files. licd stands still while they are copied; and
/// SQLite itself cannot open them from outside of the namespace.
async fn is_whole(licd: &Process, disk: &Path, copy: &Path) {
    licd.send("STOP");
    for name in ["licd.db", "licd.db-wal"] {
        fs::copy(disk.join(name), copy.join(name)).unwrap();
    }
    licd.send("CONT");
    let file = SqliteConnectOptions::new().filename(copy.join("licd.db"));
    let mut conn = file.connect().await.unwrap();
    let check = sqlx::query_scalar("pragma integrity_check");
    let told: Vec<String> = check.fetch_all(&mut conn).await.unwrap();
    assert_eq!(told, ["ok"]);
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_filled_up_heals_once_space_is_freed() {
    let folder = TempDir::new().unwrap();
    if let Some(reason) = refusal_to_mount(folder.path()) {
        // Not `eprintln`, which the test program keeps to itself when a test succeeds.
        let told = "a_disk_that_filled_up_heals_once_space_is_freed SKIPPED: no mount is allowed";
        writeln!(std::io::stderr(), "{told}: {reason}").unwrap();
        return;
    }
    let (key, file) = (first_key(), folder.path().join("licd.db"));
    let licd = Process::launch_command(
        command_after(&in_small_disk(folder.path()), &["serve"]),
        &format!("sqlite://{}", file.display()),
        &[("LICD_BOOTSTRAP_KEY", &key)],
    );
    let licd = licd.wait();
    // What licd sees there, seen from outside of its namespace.
    let disk = licd.root().join(folder.path().strip_prefix("/").unwrap());
    assert!(!file.exists(), "the database is on the disk that was mounted");
    let admin = licd.caller(&key);
    let license = admin.license(json!({ "maxSeats": 5 })).await;
    admin.assign(&license, "bob").await.data();
    assert_eq!(admin.validate("bob").await.verdict(), "valid");

    let filler = take_most(&disk);
    let made = make_users(&admin).await;
    is_refused_well(&admin).await;
    fs::remove_file(filler).unwrap();
    assert_eq!(admin.set_status(&license, "suspended").await.status, 200, "the first request");
    assert_eq!(admin.set_status(&license, "active").await.status, 200);
    assert_eq!(admin.validate("bob").await.verdict(), "valid");
    let writes = "/readyz?for=writes";
    until("it can write again", async || admin.get(writes).await.status == 200).await;

    assert!(!made.is_empty());
    for name in &made {
        assert!(admin.user(name).await.is_object(), "{name} was acknowledged, and is gone");
    }
    is_whole(&licd, &disk, folder.path()).await;
    assert!(licd.stop().success());
}
