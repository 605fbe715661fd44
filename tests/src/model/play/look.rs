//! Reads the database between two rounds, without licd's code.

use std::collections::{BTreeMap, BTreeSet};

use common::{Activation, ActivationId, AssignmentId, LicenseId, MaxSeats, Timestamp};
use serde_json::from_value;

use super::super::rules::{HeldLicense, ModelState};
use super::super::scenario::{LICENSES, Terms};
use super::{AWAY, Run, expiry, place};

#[derive(sqlx::FromRow)]
struct StoredLicense {
    id: LicenseId,
    seats_used: i32,
    status: String,
    max_seats: Option<MaxSeats>,
    expires_at: Option<Timestamp>,
    seat_idle_minutes: Option<i32>,
    seats_idle_at: Option<Timestamp>,
    grace_days: Option<i32>,
    pending_days: Option<i32>,
}

/// The user's name, the assignment, the license, the seat, the place, whether it was claimed, and
/// until when a lease holds it.
type StoredLink =
    (String, AssignmentId, LicenseId, Option<ActivationId>, i64, bool, Option<Timestamp>);

#[derive(Debug)]
pub struct Snapshot {
    pub state: ModelState,
    /// Time of the last check of each seat.
    pub checked: BTreeMap<ActivationId, Timestamp>,
}

impl Run {
    /// Reads everything without licd's code, and fails if the state is impossible. Only the times
    /// of the last checks are those that the nodes show, the latest of them.
    pub async fn look(&self) -> Snapshot {
        let licenses: Vec<StoredLicense> = self
            .rows(
                "select id, seats_used, status, max_seats, expires_at, seat_idle_minutes,
                     seats_idle_at, grace_days, pending_days from licenses
                 where world in (select id from worlds where tenant_id = $1) order by id",
            )
            .await;
        let users: Vec<(String,)> = self
            .rows(
                "select external_id from users
                 where world in (select id from worlds where tenant_id = $1)",
            )
            .await;
        let names: BTreeSet<_> = users.iter().collect();
        assert_eq!(names.len(), users.len(), "a user was made twice: {users:?}");
        let links: Vec<StoredLink> = self
            .rows(
                "select u.external_id, s.id, s.license_id, s.activation_id,
                     cast(s.place as bigint), s.claimed_with is not null, s.leased_until
                 from assignments s join users u on u.id = s.user_id
                 where s.world in (select id from worlds where tenant_id = $1)",
            )
            .await;

        let mut state = state_of(&licenses);
        assert_eq!(state.licenses.len(), LICENSES);
        for (name,) in &users {
            state.users.insert(number(name), BTreeMap::new());
        }
        let now = Timestamp::now();
        for (name, id, license, seat, place_of_it, is_claimed, leased_until) in links {
            let license = place(&self.known.licenses, license);
            let links = state.users.get_mut(&number(&name)).unwrap();
            let is_leased = leased_until.is_some_and(|until| now < until);
            assert!(seat.is_some() || leased_until.is_none(), "a lease holds no seat: {name}");
            let held = HeldLicense { license, seat, place: place_of_it, is_claimed, is_leased };
            links.insert(id, held);
        }
        let (checked, now) = (self.last_checks().await, Timestamp::now());
        for stored in licenses {
            let license = place(&self.known.licenses, stored.id);
            let held = state.seats(license);
            assert_eq!(
                stored.seats_used as usize,
                held.len(),
                "a counter is not the number of seats: {state:?}"
            );
            let later = stored.seats_idle_at.filter(|idle_at| *idle_at > now);
            if stored.seat_idle_minutes.is_none() || later.is_some() {
                continue;
            }
            let idle = idle_of(&held - &state.leased(), &checked, now);
            if !idle.is_empty() {
                state.idle.insert(license, idle);
            }
        }
        Snapshot { state, checked }
    }

    async fn last_checks(&self) -> BTreeMap<ActivationId, Timestamp> {
        let mut checked = BTreeMap::new();
        for caller in &self.callers {
            for license in &self.known.licenses {
                for seat in caller.usage(license).await["activations"].as_array().unwrap() {
                    let seat: Activation = from_value(seat.clone()).unwrap();
                    let latest = checked.entry(seat.id).or_insert(seat.last_checked_at);
                    *latest = seat.last_checked_at.max(*latest);
                }
            }
        }
        checked
    }

    async fn rows<T: licd::db::Row>(&self, sql: &'static str) -> Vec<T> {
        let mut conn = self.db.read().await.unwrap();
        conn.query(sql).bind(self.tenant).fetch_all().await.unwrap()
    }
}

/// Returns only the licenses.
fn state_of(licenses: &[StoredLicense]) -> ModelState {
    let terms = licenses.iter().map(|license| Terms {
        status: license.status.parse().unwrap(),
        max_seats: license.max_seats.map(MaxSeats::get),
        expiry: expiry(license.expires_at),
    });
    ModelState {
        licenses: terms.collect(),
        floating: licenses.iter().map(|it| it.seat_idle_minutes.is_some()).collect(),
        has_grace: licenses.iter().map(|it| it.grace_days.is_some()).collect(),
        waits: licenses.iter().map(|it| it.pending_days.is_some()).collect(),
        idle: BTreeMap::new(),
        users: BTreeMap::new(),
    }
}

/// The seats that were not checked for long, the oldest check first.
fn idle_of(
    held: BTreeSet<ActivationId>,
    checked: &BTreeMap<ActivationId, Timestamp>,
    now: Timestamp,
) -> Vec<ActivationId> {
    let is_idle = |id: &ActivationId| checked[id] < now.plus(-AWAY / 2);
    let mut idle: Vec<_> = held.into_iter().filter(is_idle).collect();
    idle.sort_by_key(|id| checked[id]);
    idle
}

fn number(name: &str) -> usize {
    name.strip_prefix("user-").unwrap().parse().unwrap()
}
