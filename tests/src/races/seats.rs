//! Seats under concurrent first validations.

use futures_util::{StreamExt, stream};
use serde_json::json;

use super::{at_once, check_books};
use crate::harness::App;

/// Hundreds of users claim ten seats at the same time, and ten get one.
#[tokio::test(flavor = "multi_thread")]
async fn of_hundreds_of_first_validations_as_many_succeed_as_there_are_seats() {
    let app = App::start().await;
    for seats in [1, 10] {
        let license = app.license(json!({ "maxSeats": seats })).await;
        let names: Vec<String> = (0..320).map(|n| format!("{seats}-{n}")).collect();
        // A slow disk must still serve all of these in time, so the number of simultaneous requests
        // is limited.
        let assigning = stream::iter(&names).for_each_concurrent(20, async |name| {
            assert_eq!(app.assign(&license, name).await.status, 201);
        });
        assigning.await;
        let claims = names.iter().cloned().map(|name| {
            let app = app.clone();
            async move { app.validate(&name).await.verdict().to_owned() }
        });
        let verdicts = at_once(claims).await;
        let count = |wanted: &str| verdicts.iter().filter(|&verdict| verdict == wanted).count();
        assert_eq!((count("valid"), count("exceeded_seats")), (seats, 320 - seats));
        assert_eq!(app.usage(&license).await["activeSeats"], seats);
        check_books(&app).await;
    }
}

/// One user who asks a hundred times at the same time takes one seat, and is valid every time.
#[tokio::test(flavor = "multi_thread")]
async fn one_user_at_once_takes_one_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada").await;
    let asks = (0..100).map(|_| {
        let app = app.clone();
        async move { app.validate("ada").await["activation"]["id"].clone() }
    });
    let mut seats = at_once(asks).await;
    seats.dedup();
    assert_eq!(seats.len(), 1, "all callers got one activation");
    assert_eq!(app.usage(&license).await["totalActivations"], 1);
    check_books(&app).await;
}

/// A seat that is freed again and again while many want it is never held by two.
#[tokio::test(flavor = "multi_thread")]
async fn a_seat_that_goes_from_hand_to_hand_has_one_holder() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let rounds = (0..24).map(|n| {
        let (app, license) = (app.clone(), license.clone());
        async move {
            let (user, mut held) = (format!("user-{n}"), 0);
            for _ in 0..8 {
                app.assign(&license, &user).await.data();
                if app.validate(&user).await.verdict() == "valid" {
                    held += 1;
                    let usage = app.usage(&license).await;
                    assert_eq!(usage["activeSeats"], 1, "{usage}");
                }
                app.unassign(&license, &user).await.data();
            }
            held
        }
    });
    let held: u32 = at_once(rounds).await.into_iter().sum();
    assert!(held > 0, "no user held it");
    assert_eq!(app.usage(&license).await["activeSeats"], 0);
    check_books(&app).await;
}

/// A limit that is lowered while seats are taken keeps the holders, and admits no other user.
#[tokio::test(flavor = "multi_thread")]
async fn a_lowered_limit_holds_for_later_users() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 100 })).await;
    for n in 0..60 {
        app.assign(&license, &format!("user-{n}")).await;
    }
    let (lowering, lowered) = (app.clone(), license.clone());
    let admin =
        tokio::spawn(async move { lowering.update(&lowered, json!({ "maxSeats": 5 })).await });
    let claims = (0..60).map(|n| {
        let app = app.clone();
        async move { app.validate(&format!("user-{n}")).await.verdict().to_owned() }
    });
    let verdicts = at_once(claims).await;
    admin.await.unwrap().data();
    let valid = verdicts.iter().filter(|&verdict| verdict == "valid").count();
    assert!(valid >= 5, "{verdicts:?}");
    let seated = app.usage(&license).await["activeSeats"].clone();
    assert_eq!(seated, valid, "exactly the valid users hold seats");
    app.assign(&license, "late").await;
    assert_eq!(app.validate("late").await.verdict(), "exceeded_seats");
    check_books(&app).await;
}
