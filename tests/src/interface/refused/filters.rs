//! The filters of GET /api/v1/admin/refusals.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::json;

use super::{REFUSALS, one_of_each, restart, start};

/// Each filter finds its own refusals, and all together are one condition.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_filtered_by_reason_time_and_what_was_refused() {
    let app = start().await;
    let users = one_of_each(&app).await;
    for (user, _) in &users {
        app.validate(user).await.data();
    }
    let other = app.license(json!({})).await;
    app.set_status(&other, "revoked").await.data();
    app.assign(&other, "ada").await.data();
    app.validate("ada").await.data();
    let app = restart(app).await;
    let found = async |filter: &str| -> Vec<String> {
        let refusals = app.get(&format!("{REFUSALS}?{filter}")).await;
        let users = refusals.list().iter().map(|it| it["userId"].as_str().unwrap().to_owned());
        let mut users: Vec<String> = users.collect();
        users.sort();
        users
    };
    let license = users[2].1.clone().unwrap();
    let shown = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
    let of_plan = ["exceeded_seats", "expired", "revoked", "suspended"];
    let (product, plan) = (shown["productId"].as_str().unwrap(), shown["planId"].as_str().unwrap());
    let now = Timestamp::now();
    let (past, soon) = (now.plus(-TimeDelta::hours(1)), now.plus(TimeDelta::hours(1)));
    assert_eq!(found("reason=revoked").await, ["ada", "revoked"]);
    assert_eq!(found(&format!("licenseId={license}")).await, ["revoked"]);
    assert_eq!(found(&format!("productId={product}")).await, of_plan);
    assert_eq!(found(&format!("planId={plan}")).await, of_plan);
    assert_eq!(found(&format!("from={past}&to={soon}")).await.len(), 6);
    assert_eq!(found(&format!("from={soon}")).await, [""; 0]);
    assert_eq!(found(&format!("to={past}")).await, [""; 0]);
    assert_eq!(found("userId=ada&reason=revoked").await, ["ada"]);
    assert_eq!(found("userId=ada&reason=expired").await, [""; 0]);
    for none in ["productId=lic_1", "planId=x", "licenseId=", "userId="] {
        assert_eq!(found(none).await, [""; 0], "{none}");
    }
    for (filter, field) in [
        ("reason=broken", "reason"),
        ("from=yesterday", "from"),
        (&format!("from={soon}&to={past}"), "from"),
    ] {
        let refused = app.get(&format!("{REFUSALS}?{filter}")).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {field}"), "{filter}");
    }
}
