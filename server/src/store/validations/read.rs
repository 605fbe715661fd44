//! Reads the data for the decisions of a batch in one statement: the keys of its requests, their
//! users, and the users' licenses and seats.

use std::collections::HashMap;

use common::{
    Activation, ActivationId, ExpiresInDays, ExternalId, Features, GraceDays, License, LicenseId,
    MaxLeaseSeconds, MaxSeats, Mode, PlanTerms, Role, SeatIdleMinutes, Status, Terms, Timestamp,
    UserId,
};
use serde::Deserialize;
use sqlx::types::Json;
use sqlx::{ColumnIndex, Decode, FromRow, Type};
use uuid::Uuid;

use crate::db::{Conn, Result, Sql};
use crate::store::keys::{Hash, KeyAuth, hex};
use crate::store::{Scope, World};

/// The keys of a batch with their users, each key once and each of its users once.
#[derive(Default)]
pub struct BatchQuery<'a> {
    /// The world of all keys, on a sharded database.
    world: Option<World>,
    keys: Vec<(String, Vec<&'a ExternalId>)>,
    key_at: HashMap<Hash, usize>,
    user_at: HashMap<(usize, &'a ExternalId), usize>,
}

/// A position in a [`BatchQuery`]: the index of the key, and of the user among the key's users.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub struct BatchSlot {
    key: usize,
    user: usize,
}

impl<'a> BatchQuery<'a> {
    pub fn of(world: Option<World>) -> Self {
        Self { world, ..Self::default() }
    }

    pub fn add(&mut self, key: Hash, user: &'a ExternalId) -> BatchSlot {
        let keys = &mut self.keys;
        let key = *self.key_at.entry(key).or_insert_with(|| {
            keys.push((hex(&key), Vec::new()));
            keys.len() - 1
        });
        let users = &mut keys[key].1;
        let user = *self.user_at.entry((key, user)).or_insert_with(|| {
            users.push(user);
            users.len() - 1
        });
        BatchSlot { key, user }
    }
}

/// A license assigned to a user, with everything that the decision needs.
#[derive(Clone, Debug)]
pub struct AssignedLicense {
    pub user_id: UserId,
    pub license: License,
    pub terms: Terms,
    /// No seat becomes idle before; none if that is not known.
    pub seats_idle_at: Option<Timestamp>,
    pub seats_used: i32,
    /// The seat that the user holds.
    pub seat: Option<Activation>,
    /// Whether the user claimed the license, or it was assigned with `first`: its place is below 0.
    pub is_put_first: bool,
    /// The list of features is long and was not read; `find_features` reads it.
    pub features_omitted: bool,
}

impl AssignedLicense {
    /// The idle time, if its seats are floating.
    pub fn idle_time(&self) -> Option<SeatIdleMinutes> {
        self.terms.floating(self.license.max_seats)
    }

    /// Whether its seats are floating, and one may be idle as far as is known.
    pub fn may_have_idle_seats(&self, now: Timestamp) -> bool {
        self.idle_time().is_some() && self.seats_idle_at.is_none_or(|idle_at| idle_at <= now)
    }
}

/// A user with the licenses that are assigned.
#[derive(Clone, Default)]
pub struct UserLicenses {
    /// None if the user does not exist yet.
    pub id: Option<UserId>,
    /// In the order of their places, and in that of assignment.
    pub licenses: Vec<AssignedLicense>,
}

/// A stored key, and the user of one of its requests.
pub struct BatchHit {
    pub auth: KeyAuth,
    pub user: UserLicenses,
}

/// A row: a user, or the absence of one, with one of the user's licenses if there are any. Only the
/// first row of a key contains the key's data.
struct HitRow {
    slot: BatchSlot,
    auth: Option<KeyAuth>,
    user_id: Option<UserId>,
    license: Option<AssignedLicense>,
    is_of_standby: bool,
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for AssignedLicense
where
    License: FromRow<'r, R>,
    Terms: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    i32: Decode<'r, R::Database> + Type<R::Database>,
    UserId: Decode<'r, R::Database> + Type<R::Database>,
    Option<ActivationId>: Decode<'r, R::Database> + Type<R::Database>,
    Timestamp: Decode<'r, R::Database> + Type<R::Database>,
    Option<Timestamp>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self> {
        let license = License::from_row(row)?;
        let user_id = row.try_get("user_id")?;
        let seat = match row.try_get("activation_id")? {
            None => None,
            Some(id) => Some(Activation {
                id,
                user_id,
                license_id: license.id,
                activated_at: row.try_get("activated_at")?,
                last_checked_at: row.try_get("last_checked_at")?,
                leased_until: None,
            }),
        };
        let seats_used = row.try_get("seats_used")?;
        let features_omitted = row.try_get("features_omitted")?;
        let (terms, seats_idle_at) = (Terms::from_row(row)?, row.try_get("seats_idle_at")?);
        let is_put_first = row.try_get("is_put_first")?;
        Ok(Self {
            user_id,
            license,
            terms,
            seats_idle_at,
            seats_used,
            seat,
            is_put_first,
            features_omitted,
        })
    }
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for HitRow
where
    AssignedLicense: FromRow<'r, R>,
    KeyAuth: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<UserId>: Decode<'r, R::Database> + Type<R::Database>,
    Option<LicenseId>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self> {
        let (key, user): (i64, i64) = (row.try_get("key_at")?, row.try_get("user_at")?);
        let assigned: Option<LicenseId> = row.try_get("id")?;
        Ok(Self {
            slot: BatchSlot { key: key as usize, user: user as usize },
            auth: (user == 0).then(|| KeyAuth::from_row(row)).transpose()?,
            user_id: row.try_get("user_id")?,
            license: assigned.map(|_| AssignedLicense::from_row(row)).transpose()?,
            is_of_standby: row.try_get("is_of_standby")?,
        })
    }
}

/// A row as packed by SQLite: arrays of columns, ids in hexadecimal, times in milliseconds.
#[derive(Deserialize)]
struct Packed(
    BatchSlot,
    Option<PackedKey>,
    Option<Uuid>,
    Option<PackedLicense>,
    Option<PackedSeat>,
);
type PackedKey = (Uuid, i32, Uuid, Mode, Role, Option<i64>, Option<i64>);
type PackedLicense = (
    (Uuid, Uuid, Uuid, Status, Option<MaxSeats>, Option<i64>, Option<Features>, i64, i64),
    i32,
    Option<PackedTerms>,
    i32,
);
/// With when the next seat can become idle.
type PackedTerms = (
    Option<SeatIdleMinutes>,
    Option<GraceDays>,
    Option<ExpiresInDays>,
    Option<MaxLeaseSeconds>,
    Option<i64>,
);
type PackedSeat = (Uuid, i64, i64);

impl TryFrom<Packed> for HitRow {
    type Error = OutOfRange;

    fn try_from(Packed(slot, key, user, license, seat): Packed) -> Result<Self, OutOfRange> {
        let user_id = user.map(UserId::from);
        let license =
            license.zip(user_id).map(|(license, user)| unpack_license(license, user, seat));
        Ok(Self {
            slot,
            auth: key.map(unpack_key).transpose()?,
            user_id,
            license: license.transpose()?,
            is_of_standby: false,
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0} ms is not a valid time")]
pub struct OutOfRange(i64);

fn time(millis: i64) -> Result<Timestamp, OutOfRange> {
    Timestamp::from_millis(millis).ok_or(OutOfRange(millis))
}

fn unpack_key(key: PackedKey) -> Result<KeyAuth, OutOfRange> {
    let (id, world, tenant, mode, role, expires_at, revoked_at) = key;
    Ok(KeyAuth {
        key_id: id.into(),
        scope: Scope { world: world.into(), tenant: tenant.into(), mode },
        role,
        expires_at: expires_at.map(time).transpose()?,
        revoked_at: revoked_at.map(time).transpose()?,
    })
}

fn unpack_license(
    (license, seats_used, terms, place): PackedLicense,
    user_id: UserId,
    seat: Option<PackedSeat>,
) -> Result<AssignedLicense, OutOfRange> {
    let (id, product, plan, status, max_seats, expires_at, features, created_at, updated_at) =
        license;
    let unpack_seat = |(seat, activated_at, last_checked_at): PackedSeat| {
        Ok(Activation {
            id: seat.into(),
            user_id,
            license_id: id.into(),
            activated_at: time(activated_at)?,
            last_checked_at: time(last_checked_at)?,
            leased_until: None,
        })
    };
    let (seat_idle_minutes, grace_days, starts_with_days, max_lease_seconds, idle_at) =
        terms.unwrap_or_default();
    let of_plan = PlanTerms { seat_idle_minutes, grace_days, max_lease_seconds };
    Ok(AssignedLicense {
        user_id,
        terms: Terms { of_plan, starts_with_days },
        seats_idle_at: idle_at.map(time).transpose()?,
        seats_used,
        features_omitted: features.is_none(),
        seat: seat.map(unpack_seat).transpose()?,
        is_put_first: place < 0,
        license: License {
            id: id.into(),
            product_id: product.into(),
            plan_id: plan.into(),
            status,
            max_seats,
            expires_at: expires_at.map(time).transpose()?,
            features: features.unwrap_or_default(),
            created_at: time(created_at)?,
            updated_at: time(updated_at)?,
        },
    })
}

/// The joins from a key `k` and the external id of a user.
macro_rules! joins {
    ($external_id:literal) => {
        concat!(
            "join worlds w on w.id = k.world
         left join users u on u.external_id = ",
            $external_id,
            " and u.world = k.world
         left join assignments s on s.user_id = u.id and s.world = k.world
         left join licenses l on l.id = s.license_id and l.world = k.world "
        )
    };
}

const FIND: Sql = Sql::Each {
    sqlite: concat!(
        "select '[' || coalesce(group_concat(
             json_array(
                 json_array(asked_key.key, asked_user.key),
                 iif(asked_user.key > 0, null, json_array(hex(k.id), k.world,
                     hex(w.tenant_id), w.mode, k.role, k.expires_at, k.revoked_at)),
                 iif(u.id is null, null, hex(u.id)),
                 iif(l.id is null, null, json_array(json_array(hex(l.id), hex(l.product_id),
                     hex(l.plan_id), l.status, l.max_seats, l.expires_at,
                     iif(octet_length(l.features) <= 256, json(l.features), null),
                     l.created_at, l.updated_at), l.seats_used,
                     iif(coalesce(l.seat_idle_minutes, l.grace_days, l.pending_days,
                         l.max_lease_seconds) is null, null,
                         json_array(l.seat_idle_minutes, l.grace_days, l.pending_days,
                             l.max_lease_seconds, l.seats_idle_at)), s.place)),
                 iif(s.activation_id is null, null, json_array(hex(s.activation_id),
                     s.activated_at, s.last_checked_at))
             ) order by asked_key.key, asked_user.key, s.place, s.id), '') || ']'
         from json_each($1) asked_key
         join keys k on k.hash = unhex(asked_key.value ->> 0)
         join json_each(asked_key.value, '$[1]') asked_user ",
        joins!("asked_user.value"),
        "where k.world = $2 or $2 is null"
    ),
    postgres: concat!(
        "select asked_key.n - 1 as key_at, asked_user.n - 1 as user_at,
             k.id as key_id, k.world, w.tenant_id, w.mode, k.role,
             k.expires_at as key_expires_at, k.revoked_at, u.id as user_id, l.id, l.product_id,
             l.plan_id, l.status, l.max_seats, l.seats_used, l.expires_at, l.created_at,
             l.updated_at, l.seat_idle_minutes, l.grace_days, l.pending_days,
             l.max_lease_seconds, l.seats_idle_at,
             case when pg_column_size(l.features) <= 256 then l.features else '[]' end
                 as features,
             pg_column_size(l.features) > 256 as features_omitted,
             s.activation_id, s.activated_at, s.last_checked_at, s.place < 0 as is_put_first,
             pg_is_in_recovery() as is_of_standby
         from jsonb_array_elements($1) with ordinality as asked_key (value, n)
         join keys k on k.hash = decode(asked_key.value ->> 0, 'hex')
         cross join lateral jsonb_array_elements_text(asked_key.value -> 1)
             with ordinality as asked_user (value, n) ",
        joins!("asked_user.value collate \"C\""),
        "where k.world = $2 or $2 is null
         order by key_at, user_at, s.place, s.id"
    ),
};

/// Finds the keys, users and licenses of a batch, without long lists of features (over 256 bytes):
/// a user may have many licenses, and only the features of the selected one are returned. Unknown
/// keys have no entry in the result. Fails on a standby, which may not have received a revocation.
pub async fn find(conn: &mut Conn, batch: &BatchQuery<'_>) -> Result<HashMap<BatchSlot, BatchHit>> {
    let query = conn.query(FIND).bind(Json(&batch.keys)).bind(batch.world);
    let rows = query.fetch_packed::<HitRow, Packed>().await?;
    let mut found: HashMap<BatchSlot, BatchHit> = HashMap::with_capacity(rows.len());
    let mut auth = None;
    for row in rows {
        if row.is_of_standby {
            return Err(std::io::Error::other("the server has become a standby").into());
        }
        auth = row.auth.or(auth);
        let Some(auth) = auth else { return Err(sqlx::Error::RowNotFound) };
        let user = UserLicenses { id: row.user_id, licenses: Vec::new() };
        let hit = found.entry(row.slot).or_insert(BatchHit { auth, user });
        hit.user.licenses.extend(row.license);
    }
    Ok(found)
}
