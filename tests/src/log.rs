//! A log that cannot be written loses its lines and nothing else: every request gets its response,
//! and SIGTERM ends licd with 0.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeWriter};
use std::process::Stdio;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::harness::TestDatabase;
use crate::nodes::process::{Process, command, first_key};

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Rounds of 250 requests that exceed the queue of the log.
const REQUEST_ROUNDS: usize = 12;
/// The message of the line that counts lost ones.
const LOST_LINES_MESSAGE: &str = " log lines were lost";

/// A licd that logs to this stream at this level.
async fn start(stderr: impl Into<Stdio>, log: &str) -> (Process, String, TestDatabase) {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_LOG", log)];
    let licd = Process::start_logging_to(stderr, &database.url, &settings).await;
    (licd, key, database)
}

/// Requests that succeed, are refused, and fill the log.
async fn everything_is_answered(licd: &Process, key: &str) {
    let admin = licd.caller(key);
    let license = admin.license(json!({})).await;
    admin.assign(&license, "ada").await.data();
    assert_eq!(admin.validate("ada").await.verdict(), "valid");
    assert_eq!(admin.get("/readyz").await.status, 200);
    let stranger = admin.with_key("sk_live_nobody");
    assert_eq!(stranger.get("/api/v1/key").await.refusal(), "401 unauthorized");
    // More than a pipe holds.
    let asked = join_all((0..300).map(|_| admin.get("/api/v1/key"))).await;
    assert!(asked.iter().all(|answer| answer.status == 200));
}

async fn ends_well(licd: Process) {
    let ended = tokio::task::spawn_blocking(|| licd.stop()).await.unwrap();
    assert!(ended.success(), "{ended}");
}

fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_takes_nothing_stops_nothing() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let stderrs: [Stdio; 2] = [full.into(), closed_pipe().into()];
    for stderr in stderrs {
        let (licd, key, _database) = start(stderr, "trace").await;
        everything_is_answered(&licd, &key).await;
        ends_well(licd).await;
    }
}

/// A collector that hangs does not delay requests or the stop.
#[tokio::test(flavor = "multi_thread")]
async fn an_unread_pipe_stops_nothing() {
    let (_reader, writer) = std::io::pipe().unwrap();
    let (licd, key, _database) = start(writer, "trace").await;
    everything_is_answered(&licd, &key).await;
    ends_well(licd).await;
}

/// A collector that reads again finds whole lines, and how many are missing.
#[tokio::test(flavor = "multi_thread")]
async fn lost_lines_are_counted() {
    let (reader, writer) = std::io::pipe().unwrap();
    let (licd, key, _database) = start(writer, "trace").await;
    let admin = licd.caller(&key);
    for _ in 0..REQUEST_ROUNDS {
        let asked = join_all((0..250).map(|_| admin.get("/api/v1/key"))).await;
        assert!(asked.iter().all(|answer| answer.status == 200));
    }
    let (sender, reported) = oneshot::channel();
    let reading = tokio::task::spawn_blocking(|| {
        let (mut lines, mut sender) = (Vec::new(), Some(sender));
        for line in BufReader::new(reader).lines().map(Result::unwrap) {
            if line.contains(LOST_LINES_MESSAGE) {
                sender.take().map(|sender| sender.send(()));
            }
            lines.push(line);
        }
        lines
    });
    reported.await.unwrap();
    ends_well(licd).await;
    let mut lost = 0;
    let lines = reading.await.unwrap();
    for line in &lines {
        assert!(line.len() < MAX_LINE_BYTES, "{line}");
        let entry: Value = serde_json::from_str(line).unwrap();
        let report =
            entry["message"].as_str().and_then(|message| message.strip_suffix(LOST_LINES_MESSAGE));
        lost += report.map_or(0, |lost| lost.parse::<u64>().unwrap());
    }
    assert!(lost > 0);
    assert!(lines.iter().any(|line| line.contains("stopped")), "the end is written");
}

/// The journal learns how grave a line is, and other readers are spared the marks.
#[test]
fn lines_for_the_journal_have_their_level() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::TempDir::new().unwrap();
    for (is_journal, format) in [(true, "text"), (true, "json"), (false, "text")] {
        let path = folder.path().join("journal");
        let stderr = File::create(&path).unwrap();
        let it = stderr.metadata().unwrap();
        let inode = if is_journal { it.ino() } else { it.ino() + 1 };
        let settings = [
            ("JOURNAL_STREAM", format!("{}:{inode}", it.dev())),
            ("LICD_DATABASE_URL", "postgres://licd@127.0.0.1:9/licd".to_owned()),
            ("LICD_TRUSTED_PROXIES", "0.0.0.0/0".to_owned()),
            ("LICD_LISTEN", "127.0.0.1:0".to_owned()),
            ("LICD_LOG_FORMAT", format.to_owned()),
        ];
        let ended = command(&["serve"]).envs(settings).stderr(stderr).status().unwrap();
        assert!(!ended.success());
        let lines = std::fs::read_to_string(&path).unwrap();
        let with = |part: &str| lines.lines().find(|line| line.contains(part)).unwrap().to_owned();
        let (warning, error) = (with("trusts every address"), with("licd: postgres://"));
        assert_eq!(warning.starts_with("<4>"), is_journal, "{lines}");
        assert_eq!(error.starts_with("<3>"), is_journal, "{lines}");
    }
}
