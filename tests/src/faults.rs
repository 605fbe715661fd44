//! SQLite on a disk that is full, fails, or loses the file: failed writes are refused with 503, no
//! answered request is lost, and the first request after the fault succeeds.
//!
//! A preloaded library injects the faults. The tests compile it from `faults/shim.c` with the C
//! compiler that building licd needs. `full_disk` needs none.

mod full_disk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Caller, Visitor, until};
use crate::nodes::process::{Process, command_after, first_key};

/// A licd on an SQLite file whose disk fails on demand.
struct Disk {
    node: Process,
    admin: Caller,
    folder: TempDir,
}

impl Disk {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let shim = build_shim("faults/shim.c", folder.path());
        let (key, fault) = (first_key(), folder.path().join("fault"));
        let url = format!("sqlite://{}", folder.path().join("licd.db").display());
        let settings = [
            ("LICD_BOOTSTRAP_KEY", key.as_str()),
            ("LD_PRELOAD", shim.to_str().unwrap()),
            ("LICD_TEST_FAULT", fault.to_str().unwrap()),
        ];
        let node = Process::launch_with(&url, &settings).wait();
        let admin = node.caller(&key);
        Self { node, admin, folder }
    }

    /// `F`, `W` or `S`, as the shim knows them, or none.
    fn set_fault(&self, letter: &str) {
        fs::write(self.folder.path().join("fault"), letter).unwrap();
    }

    async fn is_ready(&self) -> bool {
        self.admin.get("/readyz").await.status == 200
    }

    /// Whether both ways of asking say so.
    async fn can_write(&self) -> bool {
        let ready = self.admin.get("/readyz?for=writes").await.status;
        let told = self.admin.get("/readyz").await;
        assert_eq!(told.data()["writes"], ready == 200, "{told}");
        ready == 200
    }
}

/// Compiles a library for `LD_PRELOAD` from a file of these tests.
fn build_shim(source: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(source);
    let shim = folder.join("shim.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&shim)
        .arg(&source)
        .arg("-ldl")
        .output()
        .expect("a C compiler, which building licd needs too");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    shim
}

/// Writes fail with 503, reads succeed, seat holders are validated, and the first request after the
/// fault succeeds.
async fn heals_after(fault: &str) {
    let disk = Disk::start();
    let admin = &disk.admin;
    let license = admin.license(json!({ "maxSeats": 5 })).await;
    for user in ["ada", "bob"] {
        admin.assign(&license, user).await.data();
    }
    let seat = admin.validate("ada").await["activation"]["id"].clone();
    let made = admin.post("/api/v1/admin/keys", json!({ "name": "CI", "role": "validate" })).await;
    assert!(disk.can_write().await);

    disk.set_fault(fault);
    let mut last_check = Value::Null;
    for n in 0..5 {
        let holder = admin.validate("ada").await;
        assert_eq!(holder["activation"]["id"], seat, "{fault}: {holder}");
        last_check = holder["activation"]["lastCheckedAt"].clone();
        for refused in [
            admin.validate(&format!("new-{n}")).await,
            admin.validate("bob").await,
            admin.set_status(&license, "suspended").await,
        ] {
            assert_eq!(refused.refusal(), "503 unavailable", "{fault}");
        }
        assert_eq!(admin.get("/api/v1/key").await.status, 200);
    }
    let fields = [("key", admin.key.as_deref().unwrap())];
    let refused = Visitor::stranger_at(&admin.base).post("/dashboard/sign-in", &fields).await;
    assert_eq!(refused.status(), 503);
    assert!(refused.text().await.unwrap().contains("licd cannot write to its database"));
    assert!(!disk.can_write().await, "{fault}: nothing can be written");
    assert_eq!(admin.usage(&license).await["activations"][0]["lastCheckedAt"], last_check);

    disk.set_fault("");
    let revoke = format!("/api/v1/admin/keys/{}/revoke", made.id());
    assert_eq!(admin.post(&revoke, json!({})).await.status, 200, "{fault}: the first request");
    assert_eq!(admin.set_status(&license, "suspended").await.status, 200);
    assert_eq!(admin.set_status(&license, "active").await.status, 200);
    assert_eq!(admin.validate("new").await.verdict(), "no_license");
    assert_eq!(admin.validate("bob").await.verdict(), "valid");
    until("it can write again", async || disk.can_write().await).await;
    let usage = admin.usage(&license).await;
    assert_eq!((&usage["activeSeats"], &usage["totalActivations"]), (&2.into(), &2.into()));
    // The check from the time of the fault is written at the stop, at the latest.
    assert!(disk.node.stop().success());
    let url = format!("sqlite://{}", disk.folder.path().join("licd.db").display());
    let node = Process::start(&url, &first_key());
    let usage = node.caller(admin.key.as_deref().unwrap()).usage(&license).await;
    assert_eq!(usage["activations"][0]["lastCheckedAt"], last_check, "{fault}");
    assert!(node.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_heals_with_the_first_request() {
    heals_after("F").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_heals_with_the_first_request() {
    heals_after("W").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_heals_with_the_first_request() {
    heals_after("S").await;
}

/// A write to an unlinked file would be lost, so no write is acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_moved_or_replaced_is_not_written() {
    let disk = Disk::start();
    let admin = &disk.admin;
    let (file, aside) = (disk.folder.path().join("licd.db"), disk.folder.path().join("aside.db"));
    let license = admin.license(json!({})).await;

    fs::rename(&file, &aside).unwrap();
    assert_eq!(admin.validate("ada").await.refusal(), "503 unavailable");
    assert_eq!(admin.set_status(&license, "suspended").await.refusal(), "503 unavailable");
    assert!(!disk.is_ready().await);

    fs::copy(&aside, &file).unwrap();
    assert_eq!(admin.validate("ada").await.refusal(), "503 unavailable", "it is another file");
    assert!(!disk.is_ready().await);

    fs::rename(&aside, &file).unwrap();
    assert_eq!(admin.validate("ada").await.verdict(), "no_license");
    assert!(disk.is_ready().await);
    assert!(disk.node.stop().success());
}

/// A write to a deleted log is lost in a crash, so no write is acknowledged. An operator who stops
/// licd as its log line says loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_log_nothing_is_written_and_nothing_lost() {
    let folder = TempDir::new().unwrap();
    let (file, log) = (folder.path().join("licd.db"), folder.path().join("licd.db-wal"));
    let (key, url) = (first_key(), format!("sqlite://{}", file.display()));
    let node = Process::start(&url, &key);
    let admin = node.caller(&key);
    let license = admin.license(json!({})).await;
    for user in ["ada", "bob"] {
        admin.assign(&license, user).await.data();
    }
    assert_eq!(admin.validate("ada").await.verdict(), "valid");
    for lose in [|log: &Path| fs::remove_file(log), |log: &Path| fs::write(log, "another")] {
        lose(&log).unwrap();
        assert_eq!(admin.validate("bob").await.refusal(), "503 unavailable");
        let suspend = admin.set_status(&license, "suspended").await;
        assert_eq!(suspend.refusal(), "503 unavailable");
        assert_eq!(admin.get("/readyz").await.status, 503);
    }
    let said = "the database's write-ahead log was deleted, moved or replaced";
    assert_eq!(node.log().matches(said).count(), 1, "{}", node.log());
    assert!(node.stop().success());

    let node = Process::start(&url, &key);
    let admin = node.caller(&key);
    assert_eq!(admin.usage(&license).await["activeSeats"], 1);
    assert_eq!(admin.validate("bob").await.verdict(), "valid");
    assert_eq!(admin.get("/readyz").await.status, 200);
    assert!(node.stop().success());
}

/// `LimitFSIZE=` in systemd, `ulimit -f` in a shell: the signal that would end licd is an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_the_size_of_files_is_like_a_full_disk() {
    let (folder, key) = (TempDir::new().unwrap(), first_key());
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    // Two MiB, in blocks of 512 bytes.
    let serve = command_after("ulimit -f 4096", &["serve"]);
    let settings = [("LICD_BOOTSTRAP_KEY", &*key)];
    let node = Process::launch_command(serve, &url, &settings).wait();
    let admin = node.caller(&key);
    let notes = "x".repeat(15_000);
    let mut stored = 0;
    let refused = loop {
        let user =
            json!({ "externalId": format!("user-{stored}"), "metadata": { "notes": notes } });
        let answer = admin.post("/api/v1/admin/users", user).await;
        if answer.status != 201 {
            break answer;
        }
        stored += 1;
        assert!(stored < 1000, "the limit holds");
    };
    assert_eq!(refused.refusal(), "503 unavailable");
    assert_eq!(admin.get("/api/v1/admin/users").await.list().len(), stored);
    assert!(node.stop().success());
}
