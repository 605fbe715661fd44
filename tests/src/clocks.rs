//! Clocks that disagree: records of another node, or of this one before its clock was set back, have
//! times in the future. New records come after them anyway.

use common::{ActivationId, AssignmentId, KeyId, ProductId, Timestamp, UserId};
use licd::db::{Db, Value};
use serde_json::json;
use sqlx::types::Uuid;

use crate::harness::{App, TestDatabase};
use crate::nodes::process::{Process, first_key};

fn in_an_hour() -> Timestamp {
    Timestamp::now().plus(chrono::Duration::hours(1))
}

/// An id that another process makes at that time. One of this process would carry its own along.
fn foreign<T: From<Uuid>>(time: Timestamp) -> T {
    Uuid::from_u128(u128::from(time.millis()) << 80 | 0x7abc << 64 | 0x8abc << 48).into()
}

/// Changes one record, as a licd with another clock would have written it.
async fn rewrite<'q>(db: &Db, sql: &'static str, value: impl Value<'q>) {
    let mut conn = db.write().await.unwrap();
    assert_eq!(conn.query(sql).bind(value).execute().await.unwrap(), 1, "{sql}");
}

/// A node that restarts with an earlier clock continues after the stored ids, so that a cursor misses
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn lists_go_on_after_a_restart_with_an_earlier_clock() {
    for (list, member, role) in
        [("products", "name", None), ("users", "externalId", None), ("keys", "name", Some("read"))]
    {
        let (database, key) = (TestDatabase::ready().await, first_key());
        let before = Process::start(&database.url, &key);
        let make = async |node: &Process, name: &str| {
            let (caller, path) = (node.caller(&key), format!("/api/v1/admin/{list}"));
            let mut body = json!({ "role": role });
            body[member] = name.into();
            body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            caller.post(&path, body).await.id()
        };
        make(&before, "before").await;
        assert!(before.stop().success());
        let db = database.open().await;
        let later = in_an_hour();
        match list {
            "products" => {
                rewrite(&db, "update products set id = $1", foreign::<ProductId>(later)).await
            }
            "users" => {
                // A phrase refers to the id.
                let mut conn = db.write().await.unwrap();
                conn.query("delete from user_phrases").execute().await.unwrap();
                drop(conn);
                rewrite(&db, "update users set id = $1", foreign::<UserId>(later)).await;
            }
            _ => {
                let newest = "update keys set id = $1 where name = 'before'";
                rewrite(&db, newest, foreign::<KeyId>(later)).await;
            }
        }
        db.close().await;
        let after = Process::start(&database.url, &key);
        let new = make(&after, "after").await;
        let listed = after.caller(&key).get(&format!("/api/v1/admin/{list}")).await;
        assert_eq!(listed.each("id").last(), Some(&new.as_str()), "{list}");
        assert!(after.stop().success());
    }
}

/// Lists of seats, which no database key orders.
#[tokio::test(flavor = "multi_thread")]
async fn seats_go_on_after_a_restart_with_an_earlier_clock() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let before = Process::start(&database.url, &key);
    let license = before.caller(&key).license(json!({})).await;
    let take = async |node: &Process, user: &str| {
        node.caller(&key).assign(&license, user).await.data();
        node.caller(&key).validate(user).await["activation"]["id"].as_str().unwrap().to_owned()
    };
    take(&before, "ada").await;
    assert!(before.stop().success());
    let (db, later) = (database.open().await, in_an_hour());
    let seat: ActivationId = foreign(later);
    rewrite(&db, "update assignments set activation_id = $1", seat).await;
    rewrite(
        &db,
        "update events set id = $1 where event_type = 'seat.taken'",
        foreign::<ActivationId>(later),
    )
    .await;
    db.close().await;
    let after = Process::start(&database.url, &key);
    let new = take(&after, "grace").await;
    let usage = after.caller(&key).usage(&license).await;
    let seats = usage["activations"].as_array().unwrap();
    assert_eq!([&seats[0]["id"], &seats[1]["id"]], [&json!(seat), &json!(new)]);
    assert!(after.stop().success());
}

/// The order of a user's licenses, which decides validations, is that of their assignment, also when
/// a node with another clock assigned the first one while this node runs.
#[tokio::test(flavor = "multi_thread")]
async fn licenses_stand_in_the_order_of_assignment_whatever_clocks_say() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let mut licenses = Vec::new();
    for _ in 0..3 {
        let license = app.license_of(&plan).await;
        app.assign(&license, "ada").await.data();
        // Assigned by a clock that is an hour ahead of all before it.
        let later = in_an_hour().plus(chrono::Duration::hours(licenses.len() as i64));
        let id: AssignmentId = foreign(later);
        let newest = "update assignments set id = $1 where id = (
            select id from assignments order by id desc limit 1)";
        rewrite(app.db(), newest, id).await;
        licenses.push(license);
    }
    let explained = app.explain("ada").await;
    let order = explained["licenses"].as_array().unwrap().iter();
    let order: Vec<_> = order.map(|it| it["license"]["id"].as_str().unwrap()).collect();
    assert_eq!(order, licenses);
    assert_eq!(app.validate("ada").await["license"]["id"], *licenses[0]);
}

/// A record that a node with another clock has made was not changed before that.
#[tokio::test]
async fn no_record_is_updated_before_it_was_created() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let license = app.license_of(&plan).await;
    let user = app.post("/api/v1/admin/users", json!({ "externalId": "ada" })).await.id();
    let later = in_an_hour();
    // Each change has a later time than the one before.
    let next = later.plus(chrono::Duration::milliseconds(1));
    for table in ["products", "plans", "licenses", "users"] {
        let sql = match table {
            "products" => "update products set created_at = $1, updated_at = $1",
            "plans" => "update plans set created_at = $1, updated_at = $1",
            "licenses" => "update licenses set created_at = $1, updated_at = $1",
            _ => "update users set created_at = $1, updated_at = $1",
        };
        rewrite(app.db(), sql, later).await;
    }
    let product = app.get("/api/v1/admin/products").await.list()[0]["id"].clone();
    let product = product.as_str().unwrap().to_owned();
    for (path, body) in [
        (format!("products/{product}"), json!({ "name": "new" })),
        (format!("plans/{plan}"), json!({ "name": "new" })),
        (format!("licenses/{license}"), json!({ "maxSeats": 7 })),
        (format!("users/{user}"), json!({ "name": "new" })),
    ] {
        let changed = app.patch(&format!("/api/v1/admin/{path}"), body).await;
        assert_eq!(changed["updatedAt"], json!(next), "{path}");
    }
}
