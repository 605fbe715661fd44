//! Certificates that change while licd runs: at a signal, when the files are replaced, and when what
//! replaces them is no good.

use std::fs;
use std::os::unix::fs::symlink;

use rustls::version::TLS13;
use serde_json::Value;

use super::client::{HTTP1, connect, connect_with};
use super::pair::Pair;
use crate::harness::{TestDatabase, until};
use crate::nodes::process::{Process, first_key};
use crate::refusals::log::log_with;

const IN_USE: &str = "a TLS certificate was read, and is in use";
const NOT_USED: &str = "a TLS certificate cannot be used; the one before stays in use";

pub fn start(database: &TestDatabase, pair: &Pair) -> Process {
    let (tls, key) = (pair.settings(), first_key());
    let mut settings = vec![("LICD_BOOTSTRAP_KEY", &*key)];
    settings.extend(tls.iter().map(|(name, value)| (*name, &**value)));
    Process::launch_with(&database.url, &settings).wait()
}

async fn shows(licd: &Process, pair: &Pair) -> bool {
    connect_with(&licd.base, pair, &TLS13, &[HTTP1]).await.is_ok()
}

fn count(log: &[Value], message: &str) -> usize {
    log.iter().filter(|line| line["message"] == message).count()
}

/// The log, which holds no line of a key.
async fn log_until(licd: &Process, messages: usize, message: &str, keys: &[&Pair]) -> Vec<Value> {
    until("the log says it", async || licd.log().matches(message).count() >= messages).await;
    for line in keys.iter().flat_map(|pair| pair.secret_lines()) {
        assert!(!licd.log().contains(&line), "the key is in the log");
    }
    log_with(licd, |line| line["message"] == message).await
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_files_are_read() {
    let (old, new) = (Pair::new(), Pair::new());
    let database = TestDatabase::ready().await;
    let licd = start(&database, &old);
    let mut before = connect(&licd.base, &old).await;
    before.get("/healthz").await;
    assert_eq!(before.answer().await.status, 200);
    assert!(!shows(&licd, &new).await);
    new.replace(&old);
    until("the new certificate is shown", async || shows(&licd, &new).await).await;
    assert!(!shows(&licd, &old).await);
    before.get("/healthz").await;
    assert_eq!(before.answer().await.status, 200, "old connections live on");
    let log = log_until(&licd, 1, IN_USE, &[&old, &new]).await;
    assert_eq!((count(&log, IN_USE), count(&log, NOT_USED)), (1, 0), "{log:#?}");
}

/// As Kubernetes does it, and certbot: the files are links, and a link on their way is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn replaced_links_are_noticed() {
    let (shown, old, new) = (Pair::new(), Pair::new(), Pair::new());
    let data = shown.folder().join("..data");
    symlink(old.folder(), &data).unwrap();
    for path in [shown.certificate_path(), shown.key_path()] {
        fs::remove_file(&path).unwrap();
        symlink(data.join(path.file_name().unwrap()), path).unwrap();
    }
    let database = TestDatabase::ready().await;
    let licd = start(&database, &shown);
    assert!(shows(&licd, &old).await);
    let swapped = shown.folder().join("..new");
    symlink(new.folder(), &swapped).unwrap();
    fs::rename(swapped, data).unwrap();
    until("the new certificate is shown", async || shows(&licd, &new).await).await;
}

/// SIGHUP has the files read, even if they seem to be what they were, and stops nothing.
#[tokio::test(flavor = "multi_thread")]
async fn sighup_reads_and_does_not_stop() {
    let (old, new) = (Pair::new(), Pair::new());
    let database = TestDatabase::ready().await;
    let licd = start(&database, &old);
    licd.send("HUP");
    log_until(&licd, 1, IN_USE, &[&old]).await;
    new.replace(&old);
    licd.send("HUP");
    until("the new certificate is shown", async || shows(&licd, &new).await).await;
    assert!(!licd.log().contains("stopping"), "{}", licd.log());
    assert!(tokio::task::spawn_blocking(|| licd.stop()).await.unwrap().success());
}

/// A certificate without its key, and a file that is away, are warned of once each.
#[tokio::test(flavor = "multi_thread")]
async fn a_pair_that_is_no_good_leaves_the_old_one() {
    let (old, new, kept) = (Pair::new(), Pair::new(), Pair::new());
    let database = TestDatabase::ready().await;
    old.replace(&kept);
    let licd = start(&database, &kept);
    fs::copy(new.certificate_path(), kept.certificate_path()).unwrap();
    log_until(&licd, 1, NOT_USED, &[&old, &new]).await;
    assert!(shows(&licd, &old).await);
    fs::remove_file(kept.key_path()).unwrap();
    log_until(&licd, 2, NOT_USED, &[&old, &new]).await;
    assert!(shows(&licd, &old).await);
    new.replace(&kept);
    until("the new certificate is shown", async || shows(&licd, &new).await).await;
    let log = log_until(&licd, 1, IN_USE, &[&old, &new]).await;
    assert_eq!((count(&log, IN_USE), count(&log, NOT_USED)), (1, 2), "{log:#?}");
    let said = log.iter().find(|line| line["message"] == NOT_USED).unwrap()["error"].clone();
    assert!(said.as_str().unwrap().contains("do not fit each other"), "{said}");
}
