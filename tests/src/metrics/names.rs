//! The dashboard for Grafana, the alerts and the guide for operators name metrics and labels: those
//! that exist, and, in the guide, all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::scrape::Scrape;
use super::{Shown, everything_happens};
use crate::harness::{TestDatabase, until};
use crate::tidy::documentation;

/// Labels that Prometheus adds.
const ADDED: [&str; 2] = ["instance", "job"];
/// Labels whose values depend on what goes wrong, or on the database.
const VARIED: [&str; 3] = ["code", "status", "pool"];

/// A file of the repository.
fn repository_file(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A scrape in which every metric has a value.
async fn full_scrape() -> Scrape {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    everything_happens(&shown.admin).await;
    // PostgreSQL makes its own checkpoints.
    let tasks = if database.is_postgres() { 14 } else { 15 };
    until("all tasks have run", async || {
        let scrape = shown.scrape().await;
        scrape.by_label("licd_task_last_success_timestamp_seconds", "task").len() == tasks
    })
    .await;
    shown.scrape().await
}

/// The parts of a text that are made of the characters of a name.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(move |character| !is_part(character)).filter(|word| !word.is_empty())
}

fn is_metric(word: &str) -> bool {
    // Not the name of a package, such as licd_0.2.0-1_amd64.deb.
    let is_own = |rest: &str| rest.starts_with(|first: char| first.is_ascii_lowercase());
    word.strip_prefix("licd_").is_some_and(is_own) || word.starts_with("process_")
}

/// Returns the faults of the names in a PromQL expression.
fn faults(expression: &str, scrape: &Scrape) -> Vec<String> {
    let names = scrape.names();
    let mut faults = Vec::new();
    let (mut labels, mut rest) = (BTreeSet::from(ADDED), expression);
    for name in words(expression).filter(|word| is_metric(word)) {
        rest = &rest[rest.find(name).unwrap() + name.len()..];
        let Some(own) = names.get(name) else {
            faults.push(format!("there is no {name}"));
            continue;
        };
        labels.extend(own);
        let selector = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        for matcher in selector.map_or("", |(matchers, _)| matchers).split(", ") {
            let Some((label, value)) = matcher.split_once('=') else { continue };
            let label = label.trim_end_matches('!');
            if ADDED.contains(&label) {
                continue;
            }
            if !own.contains(label) {
                faults.push(format!("{name} has no label {label}"));
            }
            let exact = value.strip_prefix('"').map(|value| value.trim_end_matches('"'));
            if let Some(value) = exact.filter(|_| !VARIED.contains(&label))
                && !scrape.has(name, &[(label, value)])
            {
                faults.push(format!("no {name} has {label}={value}"));
            }
        }
    }
    for list in expression.split("by (").skip(1) {
        let (list, _) = list.split_once(')').unwrap();
        let unknown = words(list).filter(|label| !labels.contains(label));
        faults.extend(unknown.map(|label| format!("no metric here has the label {label}")));
    }
    faults.into_iter().map(|fault| format!("{fault}: {expression}")).collect()
}

/// All strings of this member, however deep.
fn members<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members_here) => {
            found.extend(members_here.get(name).and_then(Value::as_str));
            members_here.values().for_each(|value| members(value, name, found));
        }
        Value::Array(values) => values.iter().for_each(|value| members(value, name, found)),
        _ => {}
    }
}

fn dashboard() -> Value {
    serde_json::from_str(&repository_file("docs/grafana.json")).unwrap()
}

/// Grafana asks for the data source when it imports the file, and every panel uses that one.
#[test]
fn the_dashboard_can_be_imported() {
    let dashboard = dashboard();
    let variable = &dashboard["templating"]["list"][0];
    assert_eq!(
        (&variable["name"], &variable["type"]),
        (&"datasource".into(), &"datasource".into())
    );
    assert_eq!(variable["query"], "prometheus");
    assert_eq!(dashboard["id"], Value::Null);
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 12);
    let mut places = BTreeSet::new();
    for panel in panels {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        assert!(!panel["title"].as_str().unwrap().is_empty());
        assert!(places.insert(panel["gridPos"].to_string()), "two panels have one place");
    }
}

/// Every name and label in the dashboard and in the alerts is one of a running licd.
#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_and_the_alerts_name_what_exists() {
    let scrape = full_scrape().await;
    let dashboard = dashboard();
    let (mut shown, alerts) = (Vec::new(), repository_file("docs/alerts.yml"));
    members(&dashboard, "expr", &mut shown);
    let alerts: Vec<&str> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert!(shown.len() >= 12 && alerts.len() >= 8);
    let faults: Vec<String> =
        shown.iter().chain(&alerts).flat_map(|expression| faults(expression, &scrape)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_found() {
    let scrape = full_scrape().await;
    let of = |expression| faults(expression, &scrape).len();
    assert_eq!(of("sum by (outcome) (rate(licd_validations_total{outcome!=\"valid\"}[5m]))"), 0);
    assert_eq!(of("licd_validation_total"), 1);
    assert_eq!(of("licd_validations_total{result=\"valid\"}"), 2);
    assert_eq!(of("licd_validations_total{outcome=\"fine\"}"), 1);
    assert_eq!(of("sum by (le, route) (licd_validation_batch_size_bucket)"), 1);
}

/// The guide explains every metric, and none that does not exist.
#[tokio::test(flavor = "multi_thread")]
async fn the_guide_explains_every_metric() {
    let scrape = full_scrape().await;
    let guide = documentation("docs/operate/");
    let metrics = scrape.metrics();
    let samples = scrape.names();
    let explained: BTreeSet<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.split('{').next().unwrap())
        .filter(|name| is_metric(name))
        .collect();
    let missing: Vec<&String> =
        metrics.iter().filter(|name| !explained.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not explained: {missing:#?}");
    let exists = |name: &str| metrics.contains(name) || samples.contains_key(name);
    let invented: BTreeSet<&str> =
        words(&guide).filter(|word| is_metric(word) && !exists(word)).collect();
    assert!(invented.is_empty(), "these do not exist: {invented:#?}");
}
