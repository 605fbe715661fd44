//! The table of conditions and results, and the order in which a user's licenses are looked at.

use serde_json::json;

use crate::harness::App;

const PAST: &str = "2020-01-01T00:00:00.000Z";
const FUTURE: &str = "2999-01-01T00:00:00.000Z";

/// The conditions of a license, apart from its seats.
const CONDITIONS: [(&str, &str); 6] = [
    ("active", "valid"),
    ("suspended", "suspended"),
    ("revoked", "revoked"),
    ("expired", "expired"),
    ("past", "expired"),
    ("future", "valid"),
];

async fn bring(app: &App, license: &str, condition: &str) {
    match condition {
        "past" => app.update(license, json!({ "expiresAt": PAST })).await,
        "future" => app.update(license, json!({ "expiresAt": FUTURE })).await,
        status => app.set_status(license, status).await,
    }
    .data();
}

/// Rows "active", "past expiry", "revoked", "suspended".
#[tokio::test]
async fn each_condition_of_one_license_has_its_result() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for (condition, result) in CONDITIONS {
        let license = app.license_of(&plan).await;
        app.assign(&license, condition).await;
        bring(&app, &license, condition).await;
        assert_eq!(app.validate(condition).await.verdict(), result, "{condition}");
    }
}

/// Row "user has no assigned license", which is the only way to `no_license`.
#[tokio::test]
async fn a_user_without_a_license_has_no_license() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    assert_eq!(app.validate("ada").await.verdict(), "no_license");
    app.assign(&license, "grace").await;
    assert_eq!(app.validate("ada").await.verdict(), "no_license");
    app.assign(&license, "ada").await;
    app.unassign(&license, "ada").await;
    assert_eq!(app.validate("ada").await.verdict(), "no_license");
}

/// Row "seat limit reached".
#[tokio::test]
async fn a_license_without_a_free_seat_is_exceeded_seats() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await;
    app.assign(&license, "grace").await;
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
}

/// With nothing valid, the one reason is the most fixable: expired over suspended over revoked,
/// whichever was assigned first.
#[tokio::test]
async fn of_several_faults_the_most_fixable_is_the_reason() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let faults = ["revoked", "suspended", "expired", "past"];
    let rank = |fault: &str| match fault {
        "revoked" => 0,
        "suspended" => 1,
        _ => 2,
    };
    for one in faults {
        for other in faults {
            let user = format!("{one}-{other}");
            for fault in [one, other] {
                let license = app.license_of(&plan).await;
                app.assign(&license, &user).await;
                bring(&app, &license, fault).await;
            }
            let reason = ["revoked", "suspended", "expired"][rank(one).max(rank(other))];
            assert_eq!(app.validate(&user).await.verdict(), reason, "{user}");
        }
    }
}

/// A status that a person has set stays the reason past the expiry, because a renewal would not
/// help.
#[tokio::test]
async fn past_its_expiry_a_suspended_or_revoked_license_stays_so() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await;
    app.update(&license, json!({ "expiresAt": PAST })).await;
    for (status, reason) in [
        ("active", "expired"),
        ("suspended", "suspended"),
        ("revoked", "revoked"),
        ("expired", "expired"),
    ] {
        app.set_status(&license, status).await;
        assert_eq!(app.validate("ada").await.verdict(), reason, "{status}");
        let stored = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
        assert_eq!(stored["status"], status, "validation never rewrites the status");
    }
}

/// Rule 3: the first that is active and not expired, in the order of assignment, not of creation.
#[tokio::test]
async fn the_first_good_license_in_the_order_of_assignment_is_selected() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let mut licenses = Vec::new();
    for _ in 0..4 {
        licenses.push(app.license_of(&plan).await);
    }
    licenses.reverse();
    for license in &licenses {
        app.assign(license, "ada").await;
    }
    let faults = ["revoked", "past", "suspended"];
    for (at, fault) in faults.into_iter().enumerate() {
        assert_eq!(app.validate("ada").await["license"]["id"], *licenses[at]);
        bring(&app, &licenses[at], fault).await;
    }
    assert_eq!(app.validate("ada").await["license"]["id"], *licenses[3]);
    bring(&app, &licenses[0], "active").await;
    assert_eq!(app.validate("ada").await["license"]["id"], *licenses[0]);
}

/// A second assignment does not move a license to the end. Unassigning and assigning again does.
#[tokio::test]
async fn assigning_anew_puts_a_license_last() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let (first, second) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&first, "ada").await;
    app.assign(&second, "ada").await;
    app.assign(&first, "ada").await;
    assert_eq!(app.validate("ada").await["license"]["id"], *first);
    app.unassign(&first, "ada").await;
    app.assign(&first, "ada").await;
    assert_eq!(app.validate("ada").await["license"]["id"], *second);
}

/// Any status may be assigned; a license comes into force when it is made active.
#[tokio::test]
async fn a_license_of_any_status_can_be_assigned() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for status in ["active", "suspended", "revoked", "expired"] {
        let license = app.license_of(&plan).await;
        app.set_status(&license, status).await;
        assert_eq!(app.assign(&license, status).await.status, 201, "{status}");
        app.set_status(&license, "active").await;
        assert_eq!(app.validate(status).await.verdict(), "valid", "{status}");
    }
}
