//! The times of the last checks, which are written after the responses: shown immediately by the
//! node that made them, some seconds later by others, and never for another seat.

use chrono::TimeDelta;
use common::{Activation, Timestamp};
use futures_util::future::join_all;
use licd::db::Db;
use licd::validation::LastChecks;
use serde_json::{Value, json};

use crate::harness::{App, Caller, TestDatabase, Visitor, find, until};
use crate::nodes::Pair;
use crate::nodes::process::{Process, first_key};

/// The time of the user's last check, as the list of the license's seats has it.
async fn last_check(caller: &Caller, license: &str) -> Value {
    caller.usage(license).await["activations"][0]["lastCheckedAt"].clone()
}

/// Wherever this node shows the seat, and however soon.
#[tokio::test(flavor = "multi_thread")]
async fn the_node_that_answered_shows_the_check_at_once() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    app.validate("ada").await.data();
    for _ in 0..20 {
        let answered = app.validate("ada").await["activation"].clone();
        let time = &answered["lastCheckedAt"];
        assert_eq!(last_check(&app, &license).await, *time);
        let page = format!("/api/v1/admin/licenses/{license}/usage?limit=1");
        assert_eq!(app.get(&page).await["activations"][0]["lastCheckedAt"], *time);
        let assigned = app.get(&format!("/api/v1/admin/licenses/{license}/assignments")).await;
        assert_eq!(assigned.list()[0]["activation"], answered);
        assert_eq!(app.explain("ada").await["licenses"][0]["activation"], answered);
    }
    let answered = app.validate("ada").await["activation"].clone();
    app.unassign(&license, "ada").await.data();
    let events = app.get("/api/v1/admin/events?type=seat.freed").await;
    assert_eq!(events.list()[0]["data"]["object"], answered, "as it was when it was freed");
}

/// The remedy names the seat whose holder was not seen for the longest time, by the knowledge of
/// this node.
#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_checked_comes_first_in_the_dashboard() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    for user in ["elder", "younger", "third"] {
        app.assign(&license, user).await.data();
    }
    app.validate("elder").await.data();
    app.validate("younger").await.data();
    app.validate("elder").await.data();
    assert_eq!(app.validate("third").await.verdict(), "exceeded_seats");
    let third = app.user("third").await;
    let visitor = Visitor::at(&app.base, app.key.as_deref().unwrap()).await;
    let path = format!("/dashboard/live/users/{}", third["id"].as_str().unwrap());
    let page = visitor.get(&path).await.text().await.unwrap();
    let holders = page.find("younger").zip(page.find("elder"));
    assert!(holders.is_some_and(|(younger, elder)| younger < elder), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_shows_the_check_soon() {
    let pair = Pair::start().await;
    let [here, there] = &pair.callers;
    let license = here.license(json!({})).await;
    here.assign(&license, "ada").await.data();
    here.validate("ada").await.data();
    let answered = here.validate("ada").await["activation"]["lastCheckedAt"].clone();
    until("the other node shows it", async || last_check(there, &license).await == answered).await;
    // What one node notes later than the other has stored is not set back by it.
    let later = there.validate("ada").await["activation"]["lastCheckedAt"].clone();
    assert!(later.as_str() > answered.as_str());
    until("both show the later one", async || {
        last_check(here, &license).await == later && last_check(there, &license).await == later
    })
    .await;
    pair.end().await;
}

/// A seat that is taken again is another one. It keeps its own times while notes of the former are
/// written.
#[tokio::test(flavor = "multi_thread")]
async fn a_seat_that_is_taken_again_has_its_own_times() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for _ in 0..10 {
        app.assign(&license, "ada").await.data();
        app.validate("ada").await.data();
        app.validate("ada").await.data();
        app.unassign(&license, "ada").await.data();
    }
    app.assign(&license, "ada").await.data();
    let taken = app.validate("ada").await["activation"].clone();
    let stored = "select cast(count(*) as bigint) from assignments
        where last_checked_at = activated_at";
    assert_eq!(app.number(stored).await, 1);
    assert_eq!(app.usage(&license).await["activations"][0]["id"], taken["id"]);
    assert_eq!(last_check(&app, &license).await, taken["lastCheckedAt"]);
    let checked = app.validate("ada").await["activation"]["lastCheckedAt"].clone();
    until("the check is written", async || app.number(stored).await == 0).await;
    assert_eq!(last_check(&app, &license).await, checked);
    assert_eq!(app.usage(&license).await["activations"][0]["activatedAt"], taken["activatedAt"]);
}

/// The clock of another node may be ahead, so that it notes the former seat later than the new one.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_a_former_seat_changes_no_other() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    let former = app.validate("ada").await["activation"].clone();
    app.unassign(&license, "ada").await.data();
    app.assign(&license, "ada").await.data();
    let taken = app.validate("ada").await["activation"].clone();

    let former: Activation = serde_json::from_value(former).unwrap();
    let ahead = Timestamp::now().plus(TimeDelta::hours(1));
    let world = app.number("select cast(world as bigint) from assignments").await as i32;
    let noted = LastChecks::default();
    noted.record([(world.into(), &Activation { last_checked_at: ahead, ..former })].into_iter());
    let db = app.database.open().await;
    noted.write(&db).await.unwrap();
    db.close().await;
    assert_eq!(last_check(&app, &license).await, taken["lastCheckedAt"]);
}

/// A portion that cannot be written holds up no other: here the database refuses one row of the
/// first.
#[tokio::test(flavor = "multi_thread")]
async fn a_portion_that_fails_stops_none_behind_it() {
    const USERS: usize = 600;
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let mut seats = Vec::new();
    for users in (0..USERS).collect::<Vec<_>>().chunks(50) {
        let seated = users.iter().map(async |user| {
            app.assign(&license, &format!("user-{user}")).await.data();
            app.validate(&format!("user-{user}")).await["activation"].clone()
        });
        seats.extend(join_all(seated).await);
    }
    let seats = seats.into_iter().map(|seat| serde_json::from_value(seat).unwrap());
    let mut seats: Vec<Activation> = seats.collect();
    seats.sort_by_key(|seat| seat.user_id);
    let last = seats.iter().map(|seat| seat.last_checked_at).max().unwrap();
    let later = last.plus(TimeDelta::hours(1));
    let mut conn = app.db().write().await.unwrap();
    let rule = "alter table assignments add column is_kept integer
        check (is_kept is null or last_checked_at = activated_at)";
    conn.query(rule).execute().await.unwrap();
    let kept = "update assignments set is_kept = 1, last_checked_at = activated_at
        where user_id = $1";
    assert_eq!(conn.query(kept).bind(seats[0].user_id).execute().await.unwrap(), 1);
    drop(conn);
    let world = app.number("select cast(min(world) as bigint) from assignments").await as i32;
    let noted = LastChecks::default();
    for seat in &mut seats {
        seat.last_checked_at = later;
    }
    noted.record(seats.iter().map(|seat| (world.into(), seat)));
    assert!(noted.write(app.db()).await.is_err());
    assert_eq!(noted.unwritten_and_dropped().0, 500);
}

/// The one seat's times of activation and of the last check, as they are stored.
async fn stored_times(db: &Db) -> (Timestamp, Timestamp) {
    let times = "select activated_at, last_checked_at from assignments";
    db.read().await.unwrap().query(times).fetch_one().await.unwrap()
}

/// A kill forgets the checks since the last were written, which happens every two seconds, and
/// nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_forgets_no_check_that_was_written() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let license = licd.caller(&key).license(json!({})).await;
    licd.caller(&key).assign(&license, "ada").await.data();
    let seat = licd.caller(&key).validate("ada").await["activation"].clone();
    drop(licd);
    let db = database.open().await;
    let (activated, mut last_check) = stored_times(&db).await;
    for _ in 0..3 {
        let licd = Process::start(&database.url, &key);
        let caller = licd.caller(&key);
        last_check = find("a later check is written", async || {
            assert_eq!(caller.validate("ada").await["activation"]["id"], seat["id"]);
            Some(stored_times(&db).await.1).filter(|time| *time > last_check)
        })
        .await;
        // Dropping the process sends SIGKILL.
        drop(licd);
        let (still_activated, later) = stored_times(&db).await;
        assert!(still_activated == activated && later >= last_check);
    }
    db.close().await;
}
