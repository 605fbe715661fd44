//! GET /api/v1/admin/events: the change, its actor and its subject, in the order of commit.

use common::{Mode, Role};
use insta::assert_snapshot;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller};

pub const EVENTS: &str = "/api/v1/admin/events";

/// A reader that continues from the last event.
struct Follower {
    caller: Caller,
    seen: i64,
}

impl Follower {
    async fn new(caller: &Caller) -> Self {
        let mut follower = Self { caller: caller.clone(), seen: 0 };
        follower.next().await;
        follower
    }

    /// The events since the last call, which follow each other without a gap.
    async fn next(&mut self) -> Vec<Value> {
        let listed = self.caller.get(&format!("{EVENTS}?after={}", self.seen)).await;
        for event in listed.list() {
            self.seen += 1;
            assert_eq!(event["sequence"], self.seen, "{event}");
        }
        listed.list().to_vec()
    }

    /// The types of the events since the last call.
    async fn types(&mut self) -> Vec<String> {
        let text = |event: &Value| event["type"].as_str().unwrap().to_owned();
        self.next().await.iter().map(text).collect()
    }

    /// The one event since the last call, which has this type and object. Answers its former values
    /// apart from `updatedAt`, which only moves when the clock did.
    #[track_caller]
    fn one(events: &[Value], kind: &str, object: &Value) -> Value {
        let [event] = events else { panic!("not one event: {events:#?}") };
        assert_eq!(event["type"], kind);
        assert_eq!(event["data"]["object"], *object);
        let mut previous = event["data"]["previous"].clone();
        previous.as_object_mut().map(|members| members.remove("updatedAt"));
        previous
    }
}

/// The key itself, not another of the same name.
#[tokio::test]
async fn the_actor_is_the_key_that_asked() {
    let app = App::start().await;
    let other = app.caller(Role::Admin, Mode::Live).await;
    for caller in [&*app, &other] {
        let product = caller.post("/api/v1/admin/products", json!({ "name": "Studio" })).await.id();
        let events = app.get(&format!("{EVENTS}?subject={product}")).await;
        let own = caller.get("/api/v1/key").await.id();
        assert_eq!(events.list()[0]["actor"]["id"], *own);
    }
}

/// One event as it is shown, whole.
#[tokio::test]
async fn an_event_tells_who_changed_what() {
    let app = App::start().await;
    let path = format!("/api/v1/admin/licenses/{}/status", app.license(json!({})).await);
    let body = &json!({ "status": "suspended" });
    let named = |request: RequestBuilder| request.header("x-request-id", "ticket-7").json(body);
    app.send(Method::PATCH, &path, named).await.data();
    let mut events = app.get(&format!("{EVENTS}?type=license.status_changed")).await;
    assert_eq!(events.list()[0]["requestId"], "ticket-7");
    events.body["data"][0]["data"]["previous"].as_object_mut().unwrap().remove("updatedAt");
    assert_snapshot!(events, @r#"
    200 {
      "success": true,
      "data": [
        {
          "id": "evt_1",
          "sequence": 6,
          "type": "license.status_changed",
          "time": "<time>",
          "actor": {
            "type": "key",
            "id": "key_1",
            "name": "first key",
            "keyId": "key_1"
          },
          "subject": {
            "type": "license",
            "id": "lic_1"
          },
          "related": {
            "productId": "prd_1",
            "planId": "pln_1",
            "licenseId": "lic_1",
            "userId": null,
            "externalId": null
          },
          "data": {
            "object": {
              "id": "lic_1",
              "productId": "prd_1",
              "planId": "pln_1",
              "status": "suspended",
              "maxSeats": null,
              "expiresAt": null,
              "features": [],
              "createdAt": "<time>",
              "updatedAt": "<time>",
              "name": null,
              "metadata": null
            },
            "previous": {
              "status": "active"
            }
          },
          "requestId": "<request id>"
        }
      ],
      "nextCursor": null
    }
    "#);
}

#[tokio::test]
async fn changes_of_the_catalog_are_events() {
    let app = App::start().await;
    let mut follower = Follower::new(&app).await;
    let product = app.post("/api/v1/admin/products", json!({ "name": "Studio" })).await;
    let created = follower.next().await;
    assert_eq!(Follower::one(&created, "product.created", product.data()), json!(null));
    assert_eq!(created[0]["related"]["productId"], product.id());

    let path = format!("/api/v1/admin/products/{}", product.id());
    let renamed = app.patch(&path, json!({ "name": "Atelier", "description": "Draws" })).await;
    let previous = Follower::one(&follower.next().await, "product.updated", renamed.data());
    assert_eq!(previous, json!({ "name": "Studio", "description": null }));
    app.patch(&path, json!({ "name": "Atelier" })).await.data();
    assert_eq!(follower.next().await, [] as [Value; 0], "nothing changed");

    let terms = json!({ "productId": product.id(), "name": "Team", "maxSeats": 5 });
    let plan = app.post("/api/v1/admin/plans", terms).await;
    let created = follower.next().await;
    assert_eq!(Follower::one(&created, "plan.created", plan.data()), json!(null));
    assert_eq!(created[0]["related"]["productId"], product.id());
    assert_eq!(created[0]["related"]["planId"], plan.id());
    let path = format!("/api/v1/admin/plans/{}", plan.id());
    let larger = app.patch(&path, json!({ "clear": ["maxSeats"], "features": ["sso"] })).await;
    let previous = Follower::one(&follower.next().await, "plan.updated", larger.data());
    assert_eq!(previous, json!({ "maxSeats": 5, "features": [] }));
}

#[tokio::test]
async fn changes_of_a_license_are_events() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 3 })).await;
    let mut follower = Follower::new(&app).await;
    let body = json!({ "planId": plan, "name": "Acme", "metadata": { "order": 7 } });
    let license = app.post("/api/v1/admin/licenses", body).await;
    let shown = |license: &Answer, name: &str| {
        let mut object = license.with("name", name.into());
        object["metadata"] = json!({ "order": 7 });
        object
    };
    let created = follower.next().await;
    let object = shown(&license, "Acme");
    assert_eq!(Follower::one(&created, "license.created", &object), json!(null));
    let subject = json!({ "type": "license", "id": license.id() });
    assert_eq!(created[0]["subject"], subject);

    let id = license.id();
    let updated = app.update(&id, json!({ "maxSeats": 4 })).await;
    let object = shown(&updated, "Acme");
    let previous = Follower::one(&follower.next().await, "license.updated", &object);
    assert_eq!(previous, json!({ "maxSeats": 3 }));
    let renamed = app.update(&id, json!({ "name": "Acme Ltd" })).await;
    let object = shown(&renamed, "Acme Ltd");
    let previous = Follower::one(&follower.next().await, "license.updated", &object);
    assert_eq!(previous, json!({ "name": "Acme" }));
    let moved = app.set_status(&id, "revoked").await;
    let object = shown(&moved, "Acme Ltd");
    let previous = Follower::one(&follower.next().await, "license.status_changed", &object);
    assert_eq!(previous, json!({ "status": "active" }));
    app.set_status(&id, "revoked").await.data();
    app.update(&id, json!({ "maxSeats": 4 })).await.data();
    assert_eq!(follower.next().await, [] as [Value; 0], "nothing changed");
}

/// From the assignment to the end: the user, the seat, and who is related to whom.
#[tokio::test]
async fn the_way_of_a_seat_is_events() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let mut follower = Follower::new(&app).await;

    let assigned = app.assign(&license, "ada").await;
    let events = follower.next().await;
    let ada = app.user("ada").await;
    let [user, assignment] = &*events else { panic!("{events:#?}") };
    assert_eq!((&user["type"], &user["data"]["object"]), (&json!("user.created"), &ada));
    assert_eq!(assignment["type"], "license.assigned");
    assert_eq!(assignment["data"]["object"], *assigned.data());
    assert_eq!(assignment["subject"]["id"], license);
    let related = &assignment["related"];
    assert_eq!([&related["licenseId"], &related["externalId"]], [&*license, "ada"]);
    assert_eq!(related["userId"], ada["id"]);
    assert!(related["productId"].is_string() && related["planId"].is_string());
    app.assign(&license, "ada").await.data();
    assert_eq!(follower.next().await, [] as [Value; 0], "nothing changed");

    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let noted = app.post(&path, json!({ "userId": "ada", "metadata": { "seat": "b" } })).await;
    let previous = Follower::one(&follower.next().await, "license.assigned", noted.data());
    assert_eq!(previous, json!({ "metadata": null }));

    let valid = app.validate("ada").await;
    let taken = follower.next().await;
    let previous = Follower::one(&taken, "seat.taken", &valid["activation"]);
    assert_eq!(previous, json!(null));
    assert_eq!(taken[0]["related"], *related);
    assert_eq!(taken[0]["actor"], assignment["actor"]);
    assert_eq!(taken[0]["requestId"], valid.header("x-request-id").unwrap());
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    assert_eq!(follower.next().await, [] as [Value; 0], "a validation by itself is none");

    let mut seat = app.usage(&license).await["activations"][0].clone();
    seat.as_object_mut().unwrap().retain(|member, _| !["externalId", "email"].contains(&&**member));
    let unassigned = app.unassign(&license, "ada").await;
    let events = follower.next().await;
    assert_eq!(events[0]["type"], "seat.freed");
    assert_eq!(events[0]["data"]["object"], seat);
    let previous = Follower::one(&events[1..], "license.unassigned", unassigned.data());
    assert_eq!(previous, json!(null));
    assert_eq!(events[1]["related"], *related);
}

#[tokio::test]
async fn changes_of_a_user_are_events() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let mut follower = Follower::new(&app).await;
    let body = json!({ "externalId": "ada", "metadata": { "b": 1.50, "a": null } });
    let ada = app.post("/api/v1/admin/users", body).await;
    assert_eq!(Follower::one(&follower.next().await, "user.created", ada.data()), json!(null));
    let named = app.post("/api/v1/admin/users", json!({ "externalId": "ada", "name": "A" })).await;
    let previous = Follower::one(&follower.next().await, "user.updated", named.data());
    assert_eq!(previous, json!({ "name": null }));
    let path = format!("/api/v1/admin/users/{}", ada.id());
    let cleared = app.patch(&path, json!({ "clear": ["metadata"] })).await;
    let previous = Follower::one(&follower.next().await, "user.updated", cleared.data());
    assert_eq!(previous.to_string(), r#"{"metadata":{"b":1.5,"a":null}}"#);
    app.patch(&path, json!({ "name": "A" })).await.data();
    assert_eq!(follower.next().await, [] as [Value; 0], "nothing changed");

    app.assign(&license, "ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    follower.next().await;
    let deleted = app.delete(&path).await;
    let events = follower.next().await;
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["seat.freed", "license.unassigned", "user.deleted"]);
    assert_eq!(events[2]["data"], json!({ "object": deleted.data(), "previous": null }));

    let valid = app.validate("grace").await;
    assert_eq!(valid.verdict(), "no_license");
    let events = follower.next().await;
    assert_eq!(Follower::one(&events, "user.created", &app.user("grace").await), json!(null));
    assert_eq!(events[0]["requestId"], valid.header("x-request-id").unwrap());
    assert_eq!(events[0]["actor"]["name"], "first key");
}

/// The event of a key is in the key's own world, and shows only its record.
#[tokio::test]
async fn changes_of_keys_are_events_without_a_secret() {
    let app = App::start().await;
    let test = app.test_mode().await;
    let (mut live, mut tested) = (Follower::new(&app).await, Follower::new(&test).await);
    let body = json!({ "name": "CI", "role": "validate", "mode": "test" });
    let made = app.post("/api/v1/admin/keys", body).await;
    let mut record = made.data().clone();
    record.as_object_mut().unwrap().remove("key");
    assert_eq!(Follower::one(&tested.next().await, "key.created", &record), json!(null));
    let rolled = app.post(&format!("/api/v1/admin/keys/{}/roll", made.id()), json!({})).await;
    let events = tested.next().await;
    let [old, _] = &events[..] else { panic!("not two events: {events:#?}") };
    record["expiresAt"] = old["data"]["object"]["expiresAt"].clone();
    assert!(record["expiresAt"].is_string());
    assert_eq!(Follower::one(&events[..1], "key.rolled", &record), json!({ "expiresAt": null }));
    assert_eq!(old["subject"], json!({ "type": "key", "id": made.id() }));
    let mut successor = rolled.data().clone();
    successor.as_object_mut().unwrap().remove("key");
    assert_eq!(Follower::one(&events[1..], "key.created", &successor), json!(null));
    let path = format!("/api/v1/admin/keys/{}/revoke", made.id());
    let revoked = app.post(&path, json!({})).await;
    let previous = Follower::one(&tested.next().await, "key.revoked", revoked.data());
    assert_eq!(previous, json!({ "revokedAt": null }));
    app.post(&path, json!({})).await.data();
    assert_eq!(tested.next().await, [] as [Value; 0], "it was revoked before");
    assert_eq!(live.next().await, [] as [Value; 0], "it is the other world's");

    let stored: Vec<(String, String)> =
        app.rows("select cast(object as text), cast(related as text) from events").await;
    let new = [&made["key"], &rolled["key"]].map(|key| key.as_str().unwrap().to_owned());
    for key in [app.key.clone().unwrap()].into_iter().chain(new) {
        let secret = &key[12..];
        let shown = stored.iter().any(|(object, related)| {
            object.contains(secret) || related.contains(secret) || object.contains("hash")
        });
        assert!(!shown, "an event holds a secret");
    }
}

/// "What licd's own commands do on the host makes events too."
#[tokio::test]
async fn commands_on_the_host_make_events() {
    let app = App::start().await;
    app.new_key("default", Role::Read, Mode::Live).await;
    let other = app.other_tenant().await;
    let brief = |event: &Value| {
        let actor = &event["actor"];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let parts = [&event["type"], &actor["type"], &actor["id"], &actor["name"]].map(text);
        assert_eq!(event["requestId"], json!(null));
        parts.join(" ")
    };
    let told = async |caller: &Caller| -> Vec<String> {
        caller.get(EVENTS).await.list().iter().map(brief).collect()
    };
    assert_eq!(
        told(&app).await,
        [
            "tenant.created host - licd serve",
            "key.created host - licd serve",
            "key.created host - licd keys create",
        ]
    );
    let created =
        ["tenant.created host - licd tenants create", "key.created host - licd tenants create"];
    assert_eq!(told(&other).await, created, "each tenant has its own");
}

/// A request that is refused or repeated makes no event.
#[tokio::test]
async fn what_did_not_happen_is_no_event() {
    let app = App::start().await;
    let mut follower = Follower::new(&app).await;
    let unknown = "lic_01h455vb4pex5vsknk084sn02q";
    assert_eq!(app.assign(unknown, "ada").await.status, 404);
    let past = json!({ "name": "k", "role": "read", "expiresAt": "2020-01-01T00:00:00Z" });
    assert_eq!(app.post("/api/v1/admin/keys", past).await.status, 400);
    assert_eq!(follower.next().await, [] as [Value; 0]);
    for _ in 0..2 {
        let once = |request: RequestBuilder| {
            request.header("idempotency-key", "k").json(&json!({ "name": "Studio" }))
        };
        app.send(Method::POST, "/api/v1/admin/products", once).await.data();
    }
    assert_eq!(follower.types().await, ["product.created"]);
}
