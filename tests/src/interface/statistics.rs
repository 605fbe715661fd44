//! GET /api/v1/admin/statistics: the period that is asked for, and its hours. Their counts are in
//! `refused`.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::{Value, json};

use crate::harness::App;

const STATISTICS: &str = "/api/v1/admin/statistics";

/// Every hour of the period is there, oldest first; the period is widened to whole hours.
#[tokio::test(flavor = "multi_thread")]
async fn statistics_have_every_hour_of_the_period() {
    let app = App::start().await;
    let day = app.get(STATISTICS).await;
    let hours = day["hours"].as_array().unwrap();
    assert_eq!(hours.len(), 24);
    assert_eq!([&hours[0]["hour"], &hours[0]["total"]], [&day["from"], &json!(0)]);
    let times: Vec<&str> = hours.iter().map(|hour| hour["hour"].as_str().unwrap()).collect();
    assert!(times.is_sorted());
    let end: Timestamp = day["to"].as_str().unwrap().parse().unwrap();
    assert!(end > Timestamp::now(), "the current hour is the last one");
    assert_eq!(end.since(times[23].parse().unwrap()), TimeDelta::hours(1));
    let period = "from=2027-01-31T10:59:59.999Z&to=2027-01-31T12:00:00.001Z";
    let three = app.get(&format!("{STATISTICS}?{period}")).await;
    let times: Vec<&Value> =
        three["hours"].as_array().unwrap().iter().map(|hour| &hour["hour"]).collect();
    let expected =
        ["2027-01-31T10:00:00.000Z", "2027-01-31T11:00:00.000Z", "2027-01-31T12:00:00.000Z"];
    assert_eq!(times, expected.map(|time| json!(time)).iter().collect::<Vec<_>>());
    let month = "from=2027-01-01T00:00:00Z&to=2027-02-01T00:00:00Z";
    let month = app.get(&format!("{STATISTICS}?{month}")).await;
    assert_eq!(month["hours"].as_array().unwrap().len(), 31 * 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_that_is_none_or_too_long_is_refused() {
    let app = App::start().await;
    for (query, field) in [
        ("from=2027-01-01T00:00:00Z&to=2027-02-01T00:00:01Z", "from"),
        ("from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z", "from"),
        ("from=2020-01-01T00:00:00Z", "from"),
        ("from=2999-01-01T00:00:00Z", "from"),
        ("from=yesterday", "from"),
        ("to=", "to"),
    ] {
        let refused = app.get(&format!("{STATISTICS}?{query}")).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {field}"), "{query}");
    }
}
