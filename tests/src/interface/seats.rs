//! Seats: taking, keeping and freeing them. Concurrent callers are in `races`.

use serde_json::json;

use crate::harness::App;

/// The counter on the license, past all of licd's code.
async fn counters(app: &App) -> Vec<(i32,)> {
    app.rows("select seats_used from licenses order by id").await
}

/// A seat is taken at the first successful validation, not at assignment.
#[tokio::test]
async fn assigning_takes_no_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace", "edsger"] {
        app.assign(&license, user).await;
    }
    assert_eq!(app.usage(&license).await["activeSeats"], 0);
    assert_eq!(app.validate("edsger").await.verdict(), "valid");
    assert_eq!(app.usage(&license).await["activeSeats"], 1);
    assert_eq!(counters(&app).await, [(1,)]);
}

/// The holder of a seat is never refused for seats, and takes no second one.
#[tokio::test]
async fn a_holder_is_never_refused() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    for user in ["ada", "grace", "edsger"] {
        app.assign(&license, user).await;
    }
    app.validate("ada").await;
    app.validate("grace").await;
    app.update(&license, json!({ "maxSeats": 1 })).await.data();
    for holder in ["ada", "grace", "ada"] {
        assert_eq!(app.validate(holder).await.verdict(), "valid", "{holder}");
    }
    assert_eq!(app.validate("edsger").await.verdict(), "exceeded_seats");
    assert_eq!(counters(&app).await, [(2,)]);
}

/// A refused validation writes no activation.
#[tokio::test]
async fn a_refusal_takes_nothing() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await;
    }
    app.validate("ada").await;
    for _ in 0..3 {
        assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    }
    app.set_status(&license, "suspended").await;
    app.validate("grace").await;
    assert_eq!(app.number("select count(activation_id) from assignments").await, 1);
    assert_eq!(counters(&app).await, [(1,)]);
}

/// Only the selected license decides: one with free seats after it is not reached.
#[tokio::test]
async fn a_full_license_is_not_skipped() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1 })).await;
    let (full, free) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&full, "ada").await;
    app.validate("ada").await;
    app.assign(&full, "grace").await;
    app.assign(&free, "grace").await;
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    app.set_status(&full, "revoked").await;
    assert_eq!(app.validate("grace").await["license"]["id"], *free);
}

/// Taking the user off the license frees the seat for the next.
#[tokio::test]
async fn unassigning_frees_the_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await;
    app.assign(&license, "grace").await;
    let first = app.validate("ada").await["activation"]["id"].clone();
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    app.unassign(&license, "ada").await.data();
    assert_eq!(counters(&app).await, [(0,)]);
    assert_eq!(app.validate("grace").await.verdict(), "valid");
    app.assign(&license, "ada").await;
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    app.unassign(&license, "grace").await.data();
    let second = app.validate("ada").await["activation"]["id"].clone();
    assert_ne!(first, second, "a seat that was given up and taken again is a new one");
}

/// Taking off a user who holds no seat frees none.
#[tokio::test]
async fn unassigning_without_a_seat_frees_none() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await;
    app.assign(&license, "grace").await;
    app.validate("ada").await;
    app.unassign(&license, "grace").await.data();
    assert_eq!(counters(&app).await, [(1,)]);
}

/// A status never frees seats: the holder keeps the seat when the license is active again.
#[tokio::test]
async fn a_status_frees_no_seats() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await;
    app.assign(&license, "grace").await;
    let seat = app.validate("ada").await["activation"]["id"].clone();
    for status in ["suspended", "revoked", "expired", "active"] {
        app.set_status(&license, status).await;
        assert_eq!(app.usage(&license).await["activeSeats"], 1, "{status}");
    }
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    assert_eq!(app.validate("ada").await["activation"]["id"], seat);
}

/// "If the license has maxSeats set": without it everyone has a seat; raised, there is room again.
#[tokio::test]
async fn without_a_limit_everyone_has_a_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace", "edsger"] {
        app.assign(&license, user).await;
    }
    app.validate("ada").await;
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    app.update(&license, json!({ "maxSeats": 2 })).await;
    assert_eq!(app.validate("grace").await.verdict(), "valid");
    assert_eq!(app.validate("edsger").await.verdict(), "exceeded_seats");
    app.update(&license, json!({ "clear": ["maxSeats"] })).await;
    assert_eq!(app.validate("edsger").await.verdict(), "valid");
    assert_eq!(counters(&app).await, [(3,)]);
}
