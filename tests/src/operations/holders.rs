//! Users of a license: those who hold a seat on it, and those who hold none.

use common::{Assignment, AssignmentId, LicenseId, Timestamp, User};
use licd::ops::licenses::{self, MAX_COUNTED};
use licd::ops::view::View;
use licd::store::{Page, assignments, users};
use serde_json::json;

use super::{scope_of, view_of};
use crate::harness::App;

/// Those who hold a seat, newest first, in pages of two.
async fn holders(view: &View, license: LicenseId) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = Page::newest_first(before, 2);
        let page = licenses::holders(view.clone(), license, page).await.unwrap();
        let Some(last) = page.last() else { return found };
        before = Some(last.activation_id);
        found.extend(page.iter().map(|holder| holder.user.external_id.to_string()));
    }
}

/// Those who hold none, as above, and in the other order.
async fn waiting(view: &View, license: LicenseId) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = Page::newest_first(before, 2);
        let page = licenses::waiting(view.clone(), license, page).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.assignment_id);
        found.extend(page.iter().map(|user| user.external_id.to_string()));
    }
    let oldest_first = Page::oldest_first(AssignmentId::default(), 100);
    let mut all = licenses::waiting(view.clone(), license, oldest_first).await.unwrap();
    all.reverse();
    assert_eq!(found, all.iter().map(|user| user.external_id.to_string()).collect::<Vec<_>>());
    found
}

#[tokio::test]
async fn those_with_a_seat_and_those_without_come_in_lists_of_their_own() {
    let app = App::start().await;
    let (license, other) = (app.license(json!({})).await, app.license(json!({})).await);
    for user in ["a", "b", "c", "d", "e", "f", "g"] {
        app.assign(&license, user).await.data();
        app.assign(&other, user).await.data();
    }
    for user in ["d", "b", "g"] {
        app.validate(user).await.data();
    }
    let view = view_of(&app, &app).await;
    let license = license.parse().unwrap();
    assert_eq!(holders(&view, license).await, ["g", "b", "d"]);
    assert_eq!(waiting(&view, license).await, ["f", "e", "c", "a"]);
    assert_eq!(licenses::count_waiting(view.clone(), license).await.unwrap(), 4);
    let other = other.parse().unwrap();
    assert_eq!(holders(&view, other).await, [""; 0]);
    assert_eq!(waiting(&view, other).await.len(), 7);
    for stranger in [app.test_mode().await, app.other_tenant().await] {
        let view = view_of(&app, &stranger).await;
        assert_eq!(holders(&view, license).await, [""; 0]);
        assert_eq!(waiting(&view, license).await, [""; 0]);
        assert_eq!(licenses::count_waiting(view, license).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_holder_has_a_name_and_the_times_of_the_seat() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let ada = json!({ "externalId": "ada", "email": "ada@example.com", "name": "Ada" });
    let ada = app.post("/api/v1/admin/users", ada).await;
    let assigned = app.assign(&license, "ada").await;
    let seat = app.validate("ada").await["activation"].clone();
    let page = Page::newest_first(None, 10);
    let view = view_of(&app, &app).await;
    let found = licenses::holders(view, license.parse().unwrap(), page).await.unwrap();
    let [holder] = &found[..] else { panic!("{found:?}") };
    let user = &holder.user;
    assert_eq!(
        json!([user.user_id, user.external_id, user.email, user.name]),
        json!([ada["id"], ada["externalId"], ada["email"], ada["name"]])
    );
    assert_eq!(
        json!([user.assignment_id, user.assigned_at]),
        json!([assigned["id"], assigned["assignedAt"]])
    );
    assert_eq!(
        json!([holder.activation_id, holder.activated_at, holder.last_checked_at]),
        json!([seat["id"], seat["activatedAt"], seat["lastCheckedAt"]])
    );
}

/// However many there are, no more are counted.
#[tokio::test]
async fn those_without_a_seat_are_counted_up_to_a_bound() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let (scope, id) = (scope_of(&app, &app).await, license.parse().unwrap());
    let (mut tx, now) = (app.db().begin().await.unwrap(), Timestamp::now());
    for n in 0..=MAX_COUNTED {
        let user = User::new(scope.tenant, format!("user-{n}").parse().unwrap(), now);
        let user = users::insert_or_lock(&mut tx, scope, &user).await.unwrap();
        let assignment = Assignment {
            id: AssignmentId::new(now),
            user_id: user.id,
            license_id: id,
            assigned_at: now,
            metadata: None,
        };
        assignments::insert(&mut tx, scope, &assignment, None).await.unwrap();
    }
    tx.commit().await.unwrap();
    let view = view_of(&app, &app).await;
    assert_eq!(licenses::count_waiting(view, id).await.unwrap(), MAX_COUNTED);
}
