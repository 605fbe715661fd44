//! Lines that the log loses and leaves out are counted where monitors see it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use futures_util::future::join_all;
use serde_json::Value;

use super::{Shown, scrape::Scrape};
use crate::harness::{Caller, TestDatabase, until};
use crate::nodes::process::{command, end_of, first_key, send};

/// A process that goes with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The reader of the log has gone after licd listens.
#[tokio::test(flavor = "multi_thread")]
async fn lost_log_lines_are_counted() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let mut serve = command(&["serve"]);
    serve.env("LICD_DATABASE_URL", &database.url).env("LICD_BOOTSTRAP_KEY", &key);
    serve.env("LICD_LISTEN", "127.0.0.1:0").env("LICD_METRICS_LISTEN", "127.0.0.1:0");
    serve.env("LICD_LOG_FORMAT", "json").stderr(Stdio::piped());
    let mut licd = Running(serve.spawn().unwrap());
    let mut lines = BufReader::new(licd.0.stderr.take().unwrap()).lines();
    let mut address_of = |message| {
        let entries = lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let mut said = entries.filter(|entry: &Value| entry["message"] == message);
        format!("http://{}", said.next().unwrap()["address"].as_str().unwrap())
    };
    let (metrics, base) = (address_of("serving metrics"), address_of("listening"));
    let lost = async || Scrape::of(&metrics).await.value("licd_log_lines_lost_total", &[]).unwrap();
    assert_eq!(lost().await, 0.0);
    drop(lines);
    let admin = Caller::new(base, &key);
    for _ in 0..3 {
        admin.get("/api/v1/key").await.data();
    }
    until("the lost lines are counted", async || lost().await >= 3.0).await;
    send("TERM", &licd.0);
    assert!(tokio::task::block_in_place(|| end_of(&mut licd.0)).success());
}

/// A flood of requests without a key leaves most of its lines out.
#[tokio::test(flavor = "multi_thread")]
async fn log_lines_that_are_left_out_are_counted() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    let stranger = shown.admin.without_key();
    let asked = join_all((0..300).map(|_| stranger.get("/api/v1/key"))).await;
    assert!(asked.iter().all(|answer| answer.status == 401));
    let scrape = shown.scrape().await;
    let omitted = scrape.value("licd_log_lines_omitted_total", &[]).unwrap();
    assert!((1.0..=200.0).contains(&omitted), "{omitted}");
}
