//! The commands of `licd` on the server's host, and the first start with its key.

mod databases;
mod doctor;
mod exposed_files;
mod health;
mod links;
mod lost_files;
mod secret_files;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Stdio};

use crate::crashes::shutdown::{begin, until_nobody_listens};
use crate::harness::{Caller, TestDatabase};
use crate::nodes::process::{Process, command, end_of, first_key, licd, licd_with, send};

/// The stdout of a command that succeeds.
pub fn printed(args: &[&str]) -> String {
    let output = licd(args);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The stderr of a command that fails, without the line that names the database, and without its
/// address.
pub fn refused(settings: &[(&str, &str)], args: &[&str], database: &str) -> String {
    let output = licd_with(settings, args);
    assert!(!output.status.success(), "{args:?}");
    assert!(output.stdout.is_empty(), "standard output is for data");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines = told.split_inclusive('\n').filter(|line| !line.starts_with("database: "));
    lines.collect::<String>().replace(database, "<database>")
}

/// The one line that is a key.
pub fn key_of(printed: &str) -> String {
    let key = printed.strip_suffix('\n').unwrap();
    assert!(key.starts_with("sk_live_") || key.starts_with("sk_test_"), "{key}");
    assert_eq!(key.len(), 46);
    key.to_owned()
}

pub async fn whose(licd: &Process, key: &str) -> String {
    let shown = Caller::new(licd.base.clone(), key).get("/api/v1/key").await;
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let tenant = text(&shown["tenant"]["name"]);
    format!("{tenant} {} {} {}", text(&shown["name"]), text(&shown["role"]), text(&shown["mode"]))
}

/// `LICD_BOOTSTRAP_KEY` becomes the first tenant's live admin key, and is never printed.
#[tokio::test(flavor = "multi_thread")]
async fn the_bootstrap_key_opens_the_first_tenant() {
    let (database, key) = (TestDatabase::empty().await, key_of(&printed(&["keys", "generate"])));
    let licd = Process::start(&database.url, &key);
    assert_eq!(whose(&licd, &key).await, "default first key admin live");
    let other = first_key();
    let second = Process::start(&database.url, &other);
    let ignored = Caller::new(second.base.clone(), &other).get("/api/v1/key").await;
    assert_eq!(ignored.status, 401, "there is a tenant already");
    for node in [licd, second] {
        assert!(!node.log().contains("sk_"), "{}", node.log());
    }
}

/// Without it, the first start prints an admin key once, to standard error.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_prints_its_key_once() {
    let database = TestDatabase::empty().await;
    let licd = Process::launch_with(&database.url, &[]).wait();
    let log = licd.log();
    let keys: Vec<&str> =
        log.lines().map(str::trim).filter(|line| line.starts_with("sk_live_")).collect();
    assert_eq!(keys.len(), 1, "{log}");
    assert_eq!(whose(&licd, keys[0]).await, "default first key admin live");
    let key = keys[0].to_owned();
    drop(licd);
    let again = Process::launch_with(&database.url, &[]).wait();
    assert!(!again.log().contains("sk_"), "{}", again.log());
    assert_eq!(whose(&again, &key).await, "default first key admin live");
}

/// A bootstrap key that is no key, or a test key, is refused without being repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_bootstrap_key_stops_the_start() {
    let database = TestDatabase::empty().await;
    let whole = first_key();
    let last = if whole.ends_with('x') { 'y' } else { 'x' };
    let damaged = format!("{}{last}", &whole[..45]);
    let test = first_key().replace("live", "test");
    for key in [&*damaged, &test, "secret"] {
        let settings = [("LICD_BOOTSTRAP_KEY", key), ("LICD_LISTEN", "127.0.0.1:0")];
        let args = ["serve", "--database-url", &database.url];
        let told = refused(&settings, &args, &database.url);
        assert!(told.contains("LICD_BOOTSTRAP_KEY"), "{told}");
        assert!(!told.contains(key), "{told}");
    }
}

/// A port that is taken, or an address that is none, costs no first key.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_before_licd_can_listen() {
    let database = TestDatabase::empty().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for address in [&*taken, "nonsense"] {
        let settings = [("LICD_LISTEN", address)];
        let told = refused(&settings, &["serve", "--database-url", &database.url], &database.url);
        assert!(told.contains(&format!("cannot listen on {address}")), "{told}");
        assert!(!told.contains("sk_"), "{told}");
    }
    let licd = Process::launch_with(&database.url, &[]).wait();
    let log = licd.log();
    let key = log.lines().map(str::trim).find(|line| line.starts_with("sk_live_")).unwrap();
    assert_eq!(whose(&licd, key).await, "default first key admin live");
    assert!(log.contains("licd keys create --tenant default"), "{log}");
}

/// No first key is created when standard error cannot show it.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_key_that_cannot_be_shown_is_not_made() {
    let database = TestDatabase::empty().await;
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let licd = Process::start_logging_to(full, &database.url, &[]).await;
    let at = ["--database-url", &*database.url];
    assert_eq!(printed(&[&["tenants", "list"], &at[..]].concat()), "");
    let key = key_of(&printed(&[&["tenants", "create", "default"], &at[..]].concat()));
    assert_eq!(whose(&licd, &key).await, "default first key admin live");
    assert!(licd.stop().success());
}

/// licd creates no other key either, because no one would know that it must be revoked.
#[tokio::test]
async fn a_key_that_cannot_be_printed_is_not_made() {
    let database = TestDatabase::empty().await;
    let at = ["--database-url", &*database.url];
    key_of(&printed(&[&["tenants", "create", "Acme"], &at[..]].concat()));
    for args in [&["tenants", "create", "Other"][..], &["keys", "create", "--tenant", "Acme"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(&[args, &at[..]].concat()).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{args:?}: {told}");
        let said = "licd: the key could not be shown, so nothing was created\n";
        assert!(told.ends_with(said), "{args:?}: {told}");
    }
    let db = database.open().await;
    let count = "select count(*) from keys";
    let mut conn = db.read().await.unwrap();
    let keys: Vec<(i64,)> = conn.query(count).fetch_all().await.unwrap();
    assert_eq!(keys, [(1,)]);
}

/// Every command explains a wrong address, without its password.
#[test]
fn a_malformed_address_is_not_repeated() {
    for (url, said) in [
        ("postgres://licd:TOP/SECRET@db/licd", "must be percent-encoded, such as %2F"),
        ("postgres://licd:TOP?SECRET@db/licd", "must be percent-encoded, such as %2F"),
        ("postgres://licd:TOP#SECRET@db/licd", "must be percent-encoded, such as %2F"),
        ("postgres://licd:12/SECRET@db/licd", "must be percent-encoded, such as %2F"),
        ("postgres://licd:SECRET@db:54321x/licd", "the port must be a number"),
        ("postgres://licd:SECRET@db:0/licd", "the port must be a number"),
        ("postgres://licd:SECRET@db/licd?sslmode=maybe", "sslmode must be one of disable, allow"),
        ("postgres://licd:SECRET@db/licd?sslmod=require", "the option sslmod after `?` is unknown"),
        ("mysql://licd:SECRET@db/licd", "must be sqlite://PATH or postgres://USER@HOST/DATABASE"),
        ("licd:SECRET@db/licd", "must be sqlite://PATH or postgres://USER@HOST/DATABASE"),
        ("sqlite://", "must be sqlite://PATH or postgres://USER@HOST/DATABASE"),
        ("sqlite://:memory:", "a database in memory is not persistent"),
        ("sqlite:///var/lib/licd/", "must name a file"),
    ] {
        for (settings, args) in [
            (vec![("LICD_DATABASE_URL", url)], vec!["serve"]),
            (vec![], vec!["serve", "--database-url", url]),
            (vec![], vec!["tenants", "list", "--database-url", url]),
            (vec![], vec!["copy", "--from", "sqlite://a.db", "--to", url]),
            (vec![("LICD_COPY_FROM", url), ("LICD_COPY_TO", "sqlite://b.db")], vec!["copy"]),
        ] {
            let told = refused(&settings, &args, "nothing to hide");
            assert!(told.contains(said), "{url}: {told}");
            for secret in ["SECRET", "TOP", "12/"] {
                assert!(!told.contains(secret), "{url}: {told}");
            }
        }
    }
}

/// A mistyped path is no reason to make a database there.
#[test]
fn a_database_that_is_not_there_is_not_made_by_the_way() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("no/licd.db");
    let url = format!("sqlite://{}", path.display());
    for args in [&["keys", "create", "--tenant", "default"][..], &["tenants", "list"]] {
        let told = refused(&[("LICD_DATABASE_URL", &url)], args, &url);
        assert!(told.starts_with("licd: <database>: no such file; "), "{told}");
    }
    let is_folder = format!("sqlite://{}", folder.path().display());
    for args in [&["serve"][..], &["tenants", "list"], &["tenants", "create", "Acme"]] {
        let settings = [("LICD_DATABASE_URL", &*is_folder), ("LICD_LISTEN", "127.0.0.1:0")];
        let told = refused(&settings, args, &is_folder);
        assert!(told.starts_with("licd: <database>: this is a folder; name a file"), "{told}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // A tenant may well be what a new database begins with. That it is new is worth a line.
    let output = licd_with(&[("LICD_DATABASE_URL", &url)], &["tenants", "create", "Acme"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("\nCreated a new database at {url}.\n")));
    let again = licd_with(&[("LICD_DATABASE_URL", &url)], &["tenants", "create", "Other"]);
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(told.contains("\nCreated tenant Other") && !told.contains("new database"), "{told}");
}

#[test]
fn an_unknown_log_level_is_refused() {
    for level in ["verbose", "", "info,verbose", "licd=verbose"] {
        let told = refused(&[("LICD_LOG", level)], &["keys", "generate"], "nothing to hide");
        assert!(told.contains("levels are error, warn, info, debug, trace and off"), "{told}");
    }
    let trace = [("LICD_LOG", "off,sqlx=trace")];
    assert!(licd_with(&trace, &["keys", "generate"]).status.success());
}

/// A demo whose folder, server and key are known.
struct Demo {
    process: Child,
    folder: tempfile::TempDir,
    address: String,
    key: String,
    _stdout: BufReader<ChildStdout>,
}

impl Demo {
    fn start() -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let mut demo = command(&["demo", "--listen", "127.0.0.1:0"]);
        demo.env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = demo.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let (mut address, mut key, mut line) = (String::new(), String::new(), String::new());
        while !line.starts_with("Ctrl-C stops the demo.") {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "the demo ended");
            if let Some(server) = line.trim().strip_prefix("export LICCTL_SERVER=http://") {
                address = server.to_owned();
            }
            if let Some(shown) = line.trim().strip_prefix("export LICCTL_API_KEY=") {
                key = shown.to_owned();
            }
        }
        Self { process, folder, address, key, _stdout: stdout }
    }

    /// Waits for the end, with nothing left behind.
    fn end(mut self) -> Option<i32> {
        let status = end_of(&mut self.process);
        assert_eq!(std::fs::read_dir(self.folder.path()).unwrap().count(), 0);
        status.code()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_of_a_demo_leaves_nothing_behind() {
    for signal in ["HUP", "TERM", "INT"] {
        let demo = Demo::start();
        let folders = std::fs::read_dir(demo.folder.path()).unwrap();
        let modes = folders.map(|folder| folder.unwrap().metadata().unwrap().permissions().mode());
        assert_eq!(modes.collect::<Vec<_>>(), [0o40700], "only its owner can read it");
        send(signal, &demo.process);
        assert_eq!(tokio::task::spawn_blocking(|| demo.end()).await.unwrap(), Some(0));
    }
    let demo = Demo::start();
    let in_flight = begin(&demo.address, &demo.key).await;
    send("INT", &demo.process);
    until_nobody_listens(&demo.address).await;
    send("INT", &demo.process);
    assert_eq!(tokio::task::spawn_blocking(|| demo.end()).await.unwrap(), Some(1));
    drop(in_flight);
}
