//! Plays a scenario against a running licd: the calls of a round at the same time, over HTTP.

mod look;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use chrono::TimeDelta;
use common::{
    ActivationId, Assignment, AssignmentId, Explanation, License, LicenseAssignment, LicenseId,
    MaxSeats, Name, ProductId, Released, TenantId, Timestamp, Usage, Validation,
};
use licd::db::Db;
use licd::ops::tenants;
use serde_json::{Value, from_value, json};

use super::rules::{CallResult, HeldLicense};
use super::scenario::{Call, Expiry, LICENSES, PRODUCTS, Scenario, Terms, product_of};
use crate::harness::{Answer, Caller};
use crate::races::at_once;
pub use look::Snapshot;

/// Time for which users with idle seats were away.
const AWAY: TimeDelta = TimeDelta::days(1);
const FUTURE: &str = "2999-01-01T00:00:00.000Z";
static PAST: LazyLock<Timestamp> = LazyLock::new(|| Timestamp::now().plus(-TimeDelta::days(1)));

/// A running licd, at one node or more.
pub struct ModelCluster {
    pub callers: Vec<Caller>,
    pub db: Db,
}

/// A tenant of its own for each scenario, so that they share a database.
pub struct Run {
    callers: Vec<Caller>,
    db: Db,
    tenant: TenantId,
    known: Arc<Known>,
}

/// Ids that licd gave to the records of a scenario.
#[derive(Default)]
struct Known {
    products: Vec<String>,
    licenses: Vec<String>,
    /// A license key of each, without a limit of its own.
    keys: Vec<String>,
}

/// A call, its answer, and when the answer says that the seat was seen.
#[derive(Debug)]
pub struct CallRecord {
    pub call: Call,
    pub result: CallResult,
    pub checked: Option<Timestamp>,
}

impl ModelCluster {
    /// A new tenant with the licenses of the scenario.
    pub async fn set_up(&self, scenario: &Scenario) -> Run {
        let count: Vec<(i64,)> = self.rows("select count(*) / 2 from worlds").await;
        let name: Name = format!("game {}", count[0].0).parse().unwrap();
        let (tenant, key) = tenants::create(&self.db, name, |_, _| true).await.unwrap();
        let callers: Vec<Caller> =
            self.callers.iter().map(|caller| caller.with_key(key.expose())).collect();
        let mut known = Known::default();
        callers[0].post("/api/v1/admin/signing-keys", json!(null)).await.data();
        for n in 0..PRODUCTS {
            known.products.push(callers[0].product(&format!("product {n}")).await);
        }
        for (n, max_seats) in scenario.max_seats.iter().enumerate() {
            let idle = scenario.floating[n].then_some(60);
            let grace = scenario.has_grace[n].then_some(30);
            let mut terms =
                json!({ "maxSeats": max_seats, "seatIdleMinutes": idle, "graceDays": grace });
            if scenario.waits[n] {
                terms["expiresInDays"] = 365.into();
                terms["expiresFrom"] = "firstValidation".into();
            }
            let plan = callers[0].plan_of(&known.products[product_of(n)], terms).await;
            let license = callers[0].license_of(&plan).await;
            let path = format!("/api/v1/admin/licenses/{license}/keys");
            let key = callers[0].post(&path, json!({})).await;
            known.keys.push(key.data()["key"].as_str().unwrap().to_owned());
            known.licenses.push(license);
        }
        known.products.push(ProductId::default().to_string());
        Run { callers, db: self.db.clone(), tenant: tenant.id, known: Arc::new(known) }
    }

    async fn rows<T: licd::db::Row>(&self, sql: &'static str) -> Vec<T> {
        self.db.read().await.unwrap().query(sql).fetch_all().await.unwrap()
    }
}

impl Run {
    /// Sends all calls at the same time, each to the next node.
    pub async fn play(&self, round: &[Call]) -> Vec<CallRecord> {
        at_once(round.iter().zip(self.callers.iter().cycle()).map(|(call, caller)| {
            let (call, caller) = (*call, caller.clone());
            let (known, db) = (self.known.clone(), self.db.clone());
            async move {
                let answer = ask(&caller, call, &known).await;
                let record = read_answer(call, &answer, &known.licenses);
                match call {
                    Call::Claim { .. } => claimed(&db, &answer, record).await,
                    _ => record,
                }
            }
        }))
        .await
    }

    /// The seats of these users are idle: they were not validated for a day. A seat gets another id,
    /// as a node may not have written that the one before was checked. All other checks are in the
    /// database by then.
    pub async fn leave(&self, Snapshot { state, checked }: &Snapshot, users: &[usize]) {
        let mut conn = self.db.write().await.unwrap();
        let now = Timestamp::now();
        for (seat, time) in checked {
            let check = "update assignments set last_checked_at = $2
                where activation_id = $1 and last_checked_at < $2";
            conn.query(check).bind(*seat).bind(*time).execute().await.unwrap();
        }
        for user in users {
            for HeldLicense { license, seat, .. } in
                state.users.get(user).into_iter().flat_map(|it| it.values())
            {
                let order = TimeDelta::seconds((user * LICENSES + license) as i64);
                conn.query(
                    "update assignments
                     set activation_id = $1, last_checked_at = $2, activated_at = $2
                     where activation_id = $3",
                )
                .bind(ActivationId::new(now))
                .bind(now.plus(order - AWAY))
                .bind(*seat)
                .execute()
                .await
                .unwrap();
            }
        }
        conn.query(
            "update licenses set seats_idle_at = null
             where world in (select id from worlds where tenant_id = $1)",
        )
        .bind(self.tenant)
        .execute()
        .await
        .unwrap();
    }
}

fn name(user: usize) -> String {
    format!("user-{user}")
}

fn place(licenses: &[String], id: LicenseId) -> usize {
    licenses.iter().position(|known| *known == id.to_string()).unwrap()
}

fn expiry(end: Option<Timestamp>) -> Expiry {
    match end {
        None => Expiry::Never,
        Some(end) if end == *PAST => Expiry::Past,
        // Of a license that has started, a year from then.
        Some(end) if end > Timestamp::now() => Expiry::Future,
        Some(other) => panic!("{other} was not requested"),
    }
}

/// A claim with the assignment that it made, which its answer does not show.
async fn claimed(db: &Db, answer: &Answer, record: CallRecord) -> CallRecord {
    if record.result == CallResult::UsedUp {
        return record;
    }
    let mut conn = db.read().await.unwrap();
    let made = "select event_type, object from events where request_id = $1";
    let request = answer.header("x-request-id").unwrap().to_owned();
    let events: Vec<(String, sqlx::types::Json<Value>)> =
        conn.query(made).bind(request).fetch_all().await.unwrap();
    let assigned = events.iter().find(|(kind, _)| kind == "license.assigned");
    let id = assigned.map(|(_, object)| object.0["id"].as_str().unwrap().parse().unwrap());
    CallRecord { result: CallResult::Claimed { id, answer: Box::new(record.result) }, ..record }
}

async fn ask(caller: &Caller, call: Call, known: &Known) -> Answer {
    let Known { products, licenses, keys } = known;
    let question = |user, product: Option<usize>| {
        let product = product.map(|product| &products[product]);
        json!({ "userId": name(user), "productId": product })
    };
    match call {
        Call::Validate { user, product } => {
            caller.post("/api/v1/validate", question(user, product)).await
        }
        Call::Explain { user, product } => {
            caller.post("/api/v1/admin/explain", question(user, product)).await
        }
        Call::Claim { user, license, .. } => {
            let claim = json!({ "userId": name(user), "key": keys[license] });
            caller.post("/api/v1/claim", claim).await
        }
        Call::Assign { user, license } => caller.assign(&licenses[license], &name(user)).await,
        Call::Unassign { drop, .. }
        | Call::DeleteUser { drop, .. }
        | Call::Transfer { drop, .. } => {
            take_away(caller, call, if drop { "?leases=drop" } else { "" }, licenses).await
        }
        Call::SetStatus { license, status } => {
            caller.set_status(&licenses[license], status.as_str()).await
        }
        Call::SetSeats { license, max_seats: Some(seats) } => {
            caller.update(&licenses[license], json!({ "maxSeats": seats })).await
        }
        Call::SetSeats { license, max_seats: None } => {
            caller.update(&licenses[license], json!({ "clear": ["maxSeats"] })).await
        }
        Call::SetExpiry { license, expiry } => {
            let change = match expiry {
                Expiry::Never => json!({ "clear": ["expiresAt"] }),
                Expiry::Past => json!({ "expiresAt": *PAST }),
                Expiry::Future => json!({ "expiresAt": FUTURE }),
            };
            caller.update(&licenses[license], change).await
        }
        Call::MakeUser { user } => {
            caller.post("/api/v1/admin/users", json!({ "externalId": name(user) })).await
        }
        Call::Usage { license } => caller.usage(&licenses[license]).await,
        Call::Release { user } => {
            caller.post("/api/v1/release", json!({ "userId": name(user) })).await
        }
        Call::Lease { user, product } => {
            let mut wish = question(user, Some(product));
            wish["ttlSeconds"] = 600.into();
            caller.post("/api/v1/lease", wish).await
        }
    }
}

async fn take_away(caller: &Caller, call: Call, query: &str, licenses: &[String]) -> Answer {
    let path = |license: usize| format!("/api/v1/admin/licenses/{}", licenses[license]);
    match call {
        Call::Unassign { user, license, .. } => {
            caller.delete(&format!("{}/assign/{}{query}", path(license), name(user))).await
        }
        Call::DeleteUser { user, .. } => caller.delete_user_with(&name(user), query).await,
        Call::Transfer { user, to, license, .. } => {
            let users = json!({ "fromUserId": name(user), "toUserId": name(to) });
            caller.post(&format!("{}/transfer{query}", path(license)), users).await
        }
        call => panic!("{call:?} takes nothing away"),
    }
}

/// Any answer that the call cannot have at all fails the test here.
fn read_answer(call: Call, answer: &Answer, licenses: &[String]) -> CallRecord {
    let data = || answer.data().clone();
    let mut checked = None;
    let result = match (call, answer.status) {
        (Call::Validate { .. } | Call::Explain { .. } | Call::Lease { .. }, 400) => {
            assert_eq!(answer.refusal(), "400 invalid_request productId");
            CallResult::UnknownProduct
        }
        (_, 409) if answer.body["code"] == "lease_running" => CallResult::LeaseRunning,
        (Call::Claim { .. }, 409) => {
            assert_eq!(answer.refusal(), "409 license_key_used_up key");
            CallResult::UsedUp
        }
        (Call::Lease { .. }, 200) if answer["lease"].is_null() && answer["valid"] == true => {
            panic!("{call:?} got no lease: {answer}")
        }
        (Call::Validate { .. } | Call::Claim { .. } | Call::Lease { .. }, 200) => {
            let (result, seen) = validated(answer, licenses);
            checked = seen;
            result
        }
        (Call::Explain { .. }, 200) => {
            let explained: Explanation = from_value(data()).unwrap();
            assert_eq!(explained.valid, explained.reason.is_none(), "{answer}");
            CallResult::Explained(explained.reason.map(|reason| reason.known().unwrap()))
        }
        (Call::Assign { .. }, 200 | 201) => {
            CallResult::Assigned { id: assignment(data()), new: answer.status == 201 }
        }
        (Call::Unassign { .. }, 200) => CallResult::Unassigned(assignment(data())),
        (Call::Unassign { .. }, 404) => CallResult::NotAssigned,
        (Call::SetStatus { .. } | Call::SetSeats { .. } | Call::SetExpiry { .. }, 200) => {
            CallResult::License(terms(&from_value(data()).unwrap()))
        }
        (Call::MakeUser { .. }, 200 | 201) => CallResult::User { new: answer.status == 201 },
        (Call::DeleteUser { .. }, 200) => CallResult::Deleted,
        (Call::DeleteUser { .. }, 404) => CallResult::NoUser,
        (Call::Usage { .. }, 200) => usage(&from_value(data()).unwrap()),
        (Call::Release { .. }, 200) => {
            let released: Released = from_value(data()).unwrap();
            let released = released.released.into_iter();
            CallResult::Released(released.map(|it| place(licenses, it.license_id)).collect())
        }
        (Call::Transfer { .. }, 200) => {
            let handed: LicenseAssignment = from_value(data()).unwrap();
            checked = handed.activation.as_ref().map(|seat| seat.last_checked_at);
            let seat = handed.activation.map(|seat| seat.id);
            CallResult::Transferred { id: handed.assignment.id, seat }
        }
        (Call::Transfer { .. }, 404) => CallResult::NotAssigned,
        (Call::Transfer { .. }, 409) => CallResult::HasIt,
        _ => panic!("{call:?} got {answer}"),
    };
    CallRecord { call, result, checked }
}

/// The answer of a validation, and when it says that the seat was seen.
fn validated(answer: &Answer, licenses: &[String]) -> (CallResult, Option<Timestamp>) {
    match from_value(answer.data().clone()).unwrap() {
        Validation::Invalid(refusal) => {
            (CallResult::Invalid(refusal.reason.known().unwrap()), None)
        }
        Validation::Valid(grant) => {
            assert_eq!(grant.license.id, grant.activation.license_id, "{answer}");
            let (license, terms) = (place(licenses, grant.license.id), terms(&grant.license));
            let seat = grant.activation.id;
            let seen = Some(grant.activation.last_checked_at);
            (CallResult::Valid { license, terms, seat }, seen)
        }
    }
}

fn terms(license: &License) -> Terms {
    Terms {
        status: license.status,
        max_seats: license.max_seats.map(MaxSeats::get),
        expiry: expiry(license.expires_at),
    }
}

fn usage(usage: &Usage) -> CallResult {
    let seats: BTreeSet<_> = usage.activations.iter().map(|seat| seat.activation.id).collect();
    assert_eq!([usage.total_activations, usage.active_seats], [seats.len() as i64; 2]);
    CallResult::Usage { terms: terms(&usage.license), seats }
}

fn assignment(data: Value) -> AssignmentId {
    from_value::<Assignment>(data).unwrap().id
}
