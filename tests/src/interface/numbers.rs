//! GET /api/v1/admin/statistics/plans and /months: numbers as licd counts them for each day.

use chrono::TimeDelta;
use common::Timestamp;
use licd::ops::numbers;
use serde_json::{Value, json};

use crate::harness::{App, Caller};

const PLANS: &str = "/api/v1/admin/statistics/plans";
const MONTHS: &str = "/api/v1/admin/statistics/months";

/// The numbers that are not 0.
fn counted(numbers: &Value) -> Value {
    let members = numbers.as_object().unwrap().iter();
    members
        .filter(|(_, number)| number.as_i64().is_some_and(|it| it != 0))
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect()
}

async fn plan_of(caller: &Caller, plan: &str, query: &str) -> Value {
    let statistics = caller.get(&format!("{PLANS}?{query}")).await;
    let plans = statistics["plans"].as_array().unwrap();
    plans.iter().find(|it| it["planId"] == plan).map_or(json!(null), counted)
}

#[tokio::test]
async fn each_number_counts_what_it_says() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let team = json!({ "maxSeats": 2, "expiresInDays": 30, "graceDays": 10 });
    let team = app.plan_of(&product, team).await;
    let trial = json!({
        "maxSeats": 3, "expiresInDays": 14, "expiresFrom": "firstValidation", "trial": true,
    });
    let trial = app.plan_of(&product, trial).await;
    let site = app.plan_of(&product, json!({})).await;
    let mut made = Vec::new();
    for plan in [&team, &team, &team, &team, &team, &trial, &trial, &site] {
        made.push(app.license_of(plan).await);
    }
    for (license, user) in
        [(0, "ada"), (0, "grace"), (1, "lin"), (1, "kim"), (5, "ada"), (5, "eve"), (7, "zoe")]
    {
        app.assign(&made[license], user).await.data();
    }
    for user in ["ada", "grace", "lin", "kim", "eve", "zoe"] {
        app.validate(user).await.data();
    }
    app.validate_for("ada", &json!(product)).await.data();
    let now = Timestamp::now();
    let end = |hours: i64| json!({ "expiresAt": now.plus(TimeDelta::hours(hours)) });
    app.update(&made[1], json!({ "maxSeats": 1 })).await.data();
    // In grace, and over with its grace.
    app.update(&made[2], end(-24)).await.data();
    app.update(&made[3], end(-24 * 40)).await.data();
    app.set_status(&made[4], "revoked").await.data();
    // A user whose seat was freed was active, too.
    let release = format!("/api/v1/admin/licenses/{}/release", made[7]);
    app.post(&release, json!({ "userId": "zoe" })).await.data();
    numbers::count(app.db(), Timestamp::now()).await.unwrap();
    let of_team = json!({
        "licenses": 3, "seats": 5, "heldLimited": 4, "active": 4, "full": 1, "over": 1,
        "started": 5, "ended": 1,
    });
    assert_eq!(plan_of(&app, &team, "").await, of_team);
    let of_trial = json!({
        "licenses": 1, "seats": 3, "heldLimited": 1, "active": 1, "waiting": 1, "waitingSeats": 3,
        "started": 2,
    });
    assert_eq!(plan_of(&app, &trial, "").await, of_trial);
    let of_site = json!({ "licenses": 1, "unlimited": 1, "active": 1, "started": 1 });
    assert_eq!(plan_of(&app, &site, "").await, of_site);
    assert_eq!(plan_of(&app, &trial, "trial=false").await, json!(null));
    for (query, licenses, active) in [("", 5, 6), ("trial=false", 4, 5)] {
        let total = &app.get(&format!("{PLANS}?{query}")).await["total"];
        assert_eq!((&total["licenses"], &total["active"]), (&json!(licenses), &json!(active)));
    }
    for other in [app.test_mode().await, app.other_tenant().await] {
        assert_eq!(other.get(PLANS).await["day"], json!(null));
        assert_eq!(other.get(MONTHS).await["months"], json!([]));
    }
}

/// A day keeps its numbers, and what happened after its last count is added to it.
#[tokio::test]
async fn days_and_months_keep_their_numbers() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 2 })).await;
    app.license_of(&plan).await;
    let now = Timestamp::now();
    let midnight = now.end_of_day();
    let late = midnight.plus(-TimeDelta::minutes(5));
    numbers::count(app.db(), late).await.unwrap();
    app.license_of(&plan).await;
    let mut conn = app.db().write().await.unwrap();
    let hour = "insert into outcomes (world, hour, outcome, count)
        select world, $1, 'valid', 9 from licenses group by world
        union all select world, $1, 'expired', 1 from licenses group by world";
    conn.query(hour).bind(late.plus(-TimeDelta::minutes(55))).execute().await.unwrap();
    drop(conn);
    numbers::count(app.db(), midnight.plus(TimeDelta::minutes(5))).await.unwrap();
    let day = plan_of(&app, &plan, &format!("at={}", now.date())).await;
    assert_eq!(day, json!({ "licenses": 1, "seats": 2, "started": 2 }));
    let next = plan_of(&app, &plan, &format!("at={}", midnight.date())).await;
    assert_eq!(next, json!({ "licenses": 2, "seats": 4 }));
    let later = format!("at={}", midnight.plus(TimeDelta::days(90)).date());
    assert_eq!(plan_of(&app, &plan, &later).await, next);
    assert_eq!(plan_of(&app, &plan, "at=2020-01-01").await, json!(null));
    assert_eq!(plan_of(&app, &plan, "at=%2B262142-12-31").await, next);
    let month = now.date().format("%Y-%m").to_string();
    let months = app.get(&format!("{MONTHS}?from=2020-01&to={month}")).await;
    let [only] = &months["months"].as_array().unwrap()[..] else { panic!("{}", months.data()) };
    assert_eq!((&only["month"], &only["started"]), (&json!(month), &json!(2)));
    let validations = &only["validations"];
    assert_eq!((&validations["total"], &validations["expired"]), (&json!(10), &json!(1)));
    for (query, field) in [
        ("from=2027-13", "from"),
        ("to=%2B262142-12", "to"),
        ("to=2027", "to"),
        ("from=2027-02&to=2027-01", "from"),
        ("from=1990-01&to=2027-01", "from"),
        ("trial=maybe", "trial"),
        ("at=2027-01-31", "at"),
    ] {
        let refused = app.get(&format!("{MONTHS}?{query}")).await.refusal();
        assert!(refused.contains(field), "{query}: {refused}");
    }
}
