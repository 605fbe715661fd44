//! Findings of `licd doctor` about the environment, and about an SQLite file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{EventId, Timestamp};
use licd::db::Db;
use sqlx::types::Uuid;
use tempfile::TempDir;

use crate::doctor::Examination;
use crate::nodes::process::{command, command_after, first_key, licd};

/// A database that is well.
struct Sound {
    folder: TempDir,
    path: PathBuf,
    url: String,
}

impl Sound {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("licd.db");
        let url = format!("sqlite://{}", path.display());
        assert!(licd(&["tenants", "create", "Acme", "--database-url", &url]).status.success());
        Self { folder, path, url }
    }

    fn examine(&self, settings: &[(&str, &str)]) -> Examination {
        Examination::of(&self.url, settings)
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn settings_that_licd_does_not_know_or_take_are_found() {
    let sound = Sound::new();
    let key = first_key();
    let test_key = key.replace("live", "test");
    let (file, damaged) = (sound.folder.path().join("key"), &key[..45]);
    fs::write(&file, &key).unwrap();
    let file = file.to_str().unwrap();
    for (mode, name, value, state, said) in [
        (
            0o600,
            "LICD_RATE_LIMITS",
            "1/s",
            "warning",
            "LICD_RATE_LIMITS [did you mean LICD_RATE_LIMIT?]",
        ),
        (0o600, "LICD_NO_SUCH_THING_AT_ALL", "", "warning", "THING_AT_ALL [unset it]"),
        (0o600, "LICD_RATE_LIMIT", "often", "problem", "'often' for '--rate-limit <RATE>'"),
        (0o600, "LICD_BOOTSTRAP_KEY", damaged, "problem", "LICD_BOOTSTRAP_KEY: must be an API key"),
        (0o600, "LICD_BOOTSTRAP_KEY", &test_key, "problem", "LICD_BOOTSTRAP_KEY"),
        (0o644, "LICD_BOOTSTRAP_KEY_FILE", file, "warning", "chmod o= "),
        (0o600, "LICD_LISTEN", "nonsense", "problem", "cannot listen on nonsense"),
        (0o600, "LICD_LISTEN", "0.0.0.0:8080", "problem", "licd does not listen on 0.0.0.0:8080"),
        (0o600, "LICD_METRICS_LISTEN", "x", "problem", "cannot listen on x"),
        (0o600, "LICD_TLS_CERT", file, "problem", "is set without --tls-key"),
    ] {
        set_mode(Path::new(file), mode);
        let found = sound.examine(&[(name, value)]);
        let line = found.only(state);
        assert!(line.starts_with("settings: ") && line.contains(said), "{line}");
        assert!(!line.contains(&key[12..40]), "{line}");
        assert_eq!(found.code, Some(i32::from(state == "problem")));
    }
    set_mode(Path::new(file), 0o600);
    let good = sound.examine(&[("LICD_BOOTSTRAP_KEY_FILE", file), ("LICD_RATE_LIMIT", "1/s")]);
    assert!(good.with("ok")[0].contains("3 variables are set, and are valid"));
    let both = sound.examine(&[("LICD_BOOTSTRAP_KEY_FILE", file), ("LICD_BOOTSTRAP_KEY", &key)]);
    assert!(both.only("problem").contains("are both set"));
}

/// A pipe without a writer would never be read to its end.
#[test]
fn a_secret_that_cannot_be_read_is_found() {
    let sound = Sound::new();
    let pipe = sound.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let found = sound.examine(&[("LICD_BOOTSTRAP_KEY_FILE", pipe.to_str().unwrap())]);
    let said = format!("settings: LICD_BOOTSTRAP_KEY_FILE: {}: it is not a", pipe.display());
    assert!(found.only("problem").starts_with(&said), "{}", found.only("problem"));
}

#[test]
fn files_that_others_can_read_are_found() {
    let sound = Sound::new();
    set_mode(&sound.path, 0o644);
    let found = sound.examine(&[]);
    assert_eq!(found.code, Some(1));
    // SQLite gives the same permissions to the files that it creates next to the database.
    let fix = format!("[chmod 600 {}", sound.path.display());
    assert!(found.only("problem").contains(&fix), "{}", found.only("problem"));
    let allowed = sound.examine(&[("LICD_ALLOW_EXPOSED_FILES", "true")]);
    assert_eq!(allowed.code, Some(0));
    assert!(allowed.only("warning").contains(&fix));
}

/// Neither made, nor changed: not its bytes, not its mode of journal.
#[tokio::test]
async fn the_doctor_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("no/licd.db");
    let missing = Examination::of(&format!("sqlite://{}", path.display()), &[]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.only("problem").starts_with("database: no such file"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let sound = Sound::new();
    let db = Db::open(&sound.url.parse().unwrap()).await.unwrap();
    db.close().await;
    let mut conn = sqlx::ConnectOptions::connect(
        &sqlx::sqlite::SqliteConnectOptions::new().filename(&sound.path),
    )
    .await
    .unwrap();
    sqlx::query("pragma journal_mode = delete").execute(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
    let before = fs::read(&sound.path).unwrap();
    assert!(sound.examine(&[]).only("warning").starts_with("journal: its mode is delete"));
    assert_eq!(fs::read(&sound.path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_file_is_found() {
    let sound = Sound::new();
    // The last process that closes the database leaves nothing in its log.
    Db::open(&sound.url.parse().unwrap()).await.unwrap().close().await;
    let file = fs::File::options().write(true).open(&sound.path).unwrap();
    // The pages after the first, which has the schema.
    file.write_all_at(&[0xa5; 40_000], 8192).unwrap();
    let found = sound.examine(&[]);
    assert_eq!(found.code, Some(1));
    let problems = found.with("problem");
    assert!(problems.iter().any(|line| line.starts_with("integrity: ")), "{problems:?}");
    file.write_all_at(&[0xa5; 8192], 0).unwrap();
    let problem = sound.examine(&[]).only("problem");
    assert!(problem.contains("file is not a database"), "{problem}");
}

/// A process keeps the lock of writers.
#[tokio::test]
async fn a_file_that_licd_cannot_write_is_found() {
    let sound = Sound::new();
    let db = Db::open(&sound.url.parse().unwrap()).await.unwrap();
    let kept = db.begin().await.unwrap();
    let found = sound.examine(&[]);
    assert_eq!(found.code, Some(1));
    let said = "database: it does not accept writes: error returned from database: (code: 5)";
    assert!(found.only("problem").starts_with(said), "{}", found.only("problem"));
    drop(kept);
    db.close().await;
    assert_eq!(sound.examine(&[]).code, Some(0));
}

/// A file system is read-only. Where the kernel permits no mount, the test says so.
#[tokio::test]
async fn a_read_only_file_system_is_found() {
    let sound = Sound::new();
    // With a log that can be read, SQLite opens the file.
    let db = Db::open(&sound.url.parse().unwrap()).await.unwrap();
    let folder = sound.folder.path().display();
    let mount = format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}");
    let mounted = format!(
        r#"exec unshare --map-root-user --mount sh -c '{mount} && exec "$0" "$@"' "$0" "$@""#
    );
    let tried = Command::new("sh").args(["-c", &mounted, "true"]).output().unwrap();
    if !tried.status.success() {
        let reason = String::from_utf8_lossy(&tried.stderr);
        // Not `eprintln`, which the test program keeps to itself when a test succeeds.
        let told = "a_read_only_file_system_is_found SKIPPED: no mount is allowed";
        writeln!(std::io::stderr(), "{told}: {reason}").unwrap();
        return;
    }
    let args = ["doctor", "--json", "--database-url", &sound.url];
    let found = Examination::by(&mut command_after(&mounted, &args));
    let said = "database: it does not accept writes: ";
    let problem = found.only("problem");
    assert!(problem.starts_with(said) && problem.contains("Read-only file system"), "{problem}");
    db.close().await;
}

/// A table that is gone, and tables of another origin.
#[tokio::test]
async fn tables_that_are_not_licds_are_found() {
    for (change, said) in [
        ("drop table key_uses", "schema: these tables are missing: key_uses ["),
        (
            "update _sqlx_migrations set checksum = x'00'",
            "This database was created before the first release",
        ),
    ] {
        let sound = Sound::new();
        let db = Db::open(&sound.url.parse().unwrap()).await.unwrap();
        db.write().await.unwrap().query(change).execute().await.unwrap();
        db.close().await;
        let found = sound.examine(&[]);
        assert_eq!(found.code, Some(1));
        assert!(found.only("problem").contains(said), "{}", found.only("problem"));
    }
}

#[tokio::test]
async fn an_event_from_the_future_is_found() {
    let sound = Sound::new();
    let db = Db::open(&sound.url.parse().unwrap()).await.unwrap();
    let later = Timestamp::now().plus(chrono::Duration::hours(1));
    let id = Uuid::from_u128(u128::from(later.millis()) << 80 | 0x7abc << 64 | 0x8abc << 48);
    let newest = "update events set id = $1 where id = (select max(id) from events)";
    db.write().await.unwrap().query(newest).bind(EventId::from(id)).execute().await.unwrap();
    db.close().await;
    let found = sound.examine(&[]);
    assert_eq!(found.code, Some(0));
    let said = format!("clock: the newest event is from the future: {later}");
    assert!(found.only("warning").starts_with(&said), "{}", found.only("warning"));
}

#[test]
fn few_open_files_are_found() {
    let sound = Sound::new();
    let args = ["doctor", "--json", "--database-url", &sound.url];
    let found = Examination::by(&mut command_after("ulimit -n 1000", &args));
    assert_eq!(found.code, Some(0));
    let warnings = found.with("warning");
    let said = "open files: at most 1000 may be open; 9280 are enough for all connections";
    assert!(warnings.iter().any(|line| line.starts_with(said)), "{warnings:?}");
}

/// The list for people: a line for each check, and its fix below.
#[test]
fn the_list_has_a_line_for_each_check() {
    let sound = Sound::new();
    set_mode(&sound.path, 0o644);
    let output = command(&["doctor", "--database-url", &sound.url]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = sound.path.display();
    let lines = format!(
        "\nproblem  files        others can read or change the database, so that licd does not start
                      fix: chmod 600 {path}\n"
    );
    assert!(printed.contains(&lines), "{printed}");
    assert!(printed.starts_with("ok       settings     all have their defaults\n"), "{printed}");
    let told = String::from_utf8(output.stderr).unwrap();
    let named = format!("database: {} (--database-url)\n", sound.url);
    assert_eq!(told, format!("{named}licd: there is a problem\n"));
    assert_eq!(output.status.code(), Some(1));
}
