//! What a batch of validations is decided on, read in one statement: the keys that ask, the users
//! they ask about, and the users' licenses and seats.

use std::collections::HashMap;

use common::{
    Activation, ActivationId, ExternalId, Features, License, LicenseId, MaxSeats, Mode, Name, Role,
    Status, Timestamp, UserId,
};
use serde::Deserialize;
use sqlx::types::Json;
use sqlx::{ColumnIndex, Decode, FromRow, Type};
use uuid::Uuid;

use crate::db::{Conn, Result, Sql};
use crate::store::Scope;
use crate::store::keys::{Hash, KeyAuth, hex};

/// Which keys ask about which users: each key once, and under it each user once.
#[derive(Default)]
pub struct BatchQuery<'a> {
    keys: Vec<(String, Vec<&'a ExternalId>)>,
    key_at: HashMap<Hash, usize>,
    user_at: HashMap<(usize, &'a ExternalId), usize>,
}

/// Where a user stands in [`BatchQuery`]: the place of the key, and the user's among the key's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub struct BatchSlot {
    key: usize,
    user: usize,
}

impl<'a> BatchQuery<'a> {
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

/// A license assigned to a user, with what decides about it.
#[derive(Clone, Debug)]
pub struct AssignedLicense {
    pub user_id: UserId,
    pub license: License,
    pub seats_used: i32,
    /// The seat that the user holds.
    pub seat: Option<Activation>,
    /// The license's features are many, and were not read: `find_features` does.
    pub features_omitted: bool,
}

/// What is known of a user.
#[derive(Clone, Default)]
pub struct UserLicenses {
    /// None if nobody made the user yet.
    pub id: Option<UserId>,
    /// In the order of their assignment.
    pub links: Vec<AssignedLicense>,
}

/// What is found at a place.
pub struct BatchHit {
    pub pass: KeyAuth,
    pub known: UserLicenses,
}

/// A row: a user, or the lack of one, with one of the user's licenses if there is any.
struct Row {
    place: BatchSlot,
    pass: KeyAuth,
    user_id: Option<UserId>,
    link: Option<AssignedLicense>,
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for AssignedLicense
where
    License: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    i32: Decode<'r, R::Database> + Type<R::Database>,
    UserId: Decode<'r, R::Database> + Type<R::Database>,
    Option<ActivationId>: Decode<'r, R::Database> + Type<R::Database>,
    Timestamp: Decode<'r, R::Database> + Type<R::Database>,
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
            }),
        };
        let seats_used = row.try_get("seats_used")?;
        let features_omitted = row.try_get("features_omitted")?;
        Ok(Self { user_id, license, seats_used, seat, features_omitted })
    }
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for Row
where
    AssignedLicense: FromRow<'r, R>,
    KeyAuth: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<UserId>: Decode<'r, R::Database> + Type<R::Database>,
    Option<LicenseId>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self> {
        let (key, user): (i64, i64) = (row.try_get("key_at")?, row.try_get("user_at")?);
        let linked: Option<LicenseId> = row.try_get("id")?;
        Ok(Self {
            place: BatchSlot { key: key as usize, user: user as usize },
            pass: KeyAuth::from_row(row)?,
            user_id: row.try_get("user_id")?,
            link: linked.map(|_| AssignedLicense::from_row(row)).transpose()?,
        })
    }
}

/// What a row is on SQLite: packed into a JSON array, ids in hexadecimal.
#[derive(Deserialize)]
struct Packed {
    place: BatchSlot,
    pass: PackedPass,
    user_id: Option<Uuid>,
    license: Option<PackedLicense>,
    seat: Option<PackedSeat>,
}

#[derive(Deserialize)]
struct PackedPass {
    key_id: Uuid,
    tenant_id: Uuid,
    mode: Mode,
    role: Role,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct PackedLicense {
    id: Uuid,
    product_id: Uuid,
    plan_id: Uuid,
    status: Status,
    max_seats: Option<MaxSeats>,
    seats_used: i32,
    expires_at: Option<Timestamp>,
    /// None if they were not read.
    features: Option<Features>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct PackedSeat {
    id: Uuid,
    activated_at: Timestamp,
    last_checked_at: Timestamp,
}

impl From<Packed> for Row {
    fn from(Packed { place, pass, user_id, license, seat }: Packed) -> Self {
        let user_id = user_id.map(UserId::from);
        let link = license.zip(user_id).map(|(license, user_id)| license.link(user_id, seat));
        Self { place, pass: pass.into(), user_id, link }
    }
}

impl From<PackedPass> for KeyAuth {
    fn from(pass: PackedPass) -> Self {
        Self {
            key_id: pass.key_id.into(),
            tenant_id: pass.tenant_id.into(),
            mode: pass.mode,
            role: pass.role,
            expires_at: pass.expires_at,
            revoked_at: pass.revoked_at,
        }
    }
}

impl PackedLicense {
    fn link(self, user_id: UserId, seat: Option<PackedSeat>) -> AssignedLicense {
        AssignedLicense {
            user_id,
            seats_used: self.seats_used,
            features_omitted: self.features.is_none(),
            seat: seat.map(|seat| Activation {
                id: seat.id.into(),
                user_id,
                license_id: self.id.into(),
                activated_at: seat.activated_at,
                last_checked_at: seat.last_checked_at,
            }),
            license: License {
                id: self.id.into(),
                product_id: self.product_id.into(),
                plan_id: self.plan_id.into(),
                status: self.status,
                max_seats: self.max_seats,
                expires_at: self.expires_at,
                features: self.features.unwrap_or_default(),
                created_at: self.created_at,
                updated_at: self.updated_at,
            },
        }
    }
}

/// All that hangs on a `key` and the name of a `user`, in order.
macro_rules! links {
    () => {
        "left join users u on u.tenant_id = k.tenant_id and u.mode = k.mode
             and u.external_id = asked_user.value
         left join assignments s on s.tenant_id = u.tenant_id and s.mode = u.mode
             and s.user_id = u.id
         left join licenses l on l.tenant_id = s.tenant_id and l.mode = s.mode
             and l.id = s.license_id
         left join activations a on a.tenant_id = s.tenant_id and a.mode = s.mode
             and a.user_id = s.user_id and a.license_id = s.license_id
         order by key_at, user_at, s.id"
    };
}

/// Finds what is asked about, but for long lists of features (over 256 bytes): a user may have many
/// licenses, and only the features of the one that is selected are answered. At the places of a key
/// that nobody holds there is nothing.
pub async fn find(conn: &mut Conn, asked: &BatchQuery<'_>) -> Result<HashMap<BatchSlot, BatchHit>> {
    const FIND: Sql = Sql::Each {
        sqlite: concat!(
            "select coalesce('[' || group_concat(packed) || ']', '[]') from (
                 select asked_key.key as key_at, asked_user.key as user_at,
                     json_array(
                         json_array(asked_key.key, asked_user.key),
                         json_array(hex(k.id), hex(k.tenant_id), k.mode, k.role, k.expires_at,
                             k.revoked_at),
                         iif(u.id is null, null, hex(u.id)),
                         iif(l.id is null, null, json_array(hex(l.id), hex(l.product_id),
                             hex(l.plan_id), l.status, l.max_seats, l.seats_used, l.expires_at,
                             iif(octet_length(l.features) <= 256, json(l.features), null),
                             l.created_at, l.updated_at)),
                         iif(a.id is null, null, json_array(hex(a.id), a.activated_at,
                             a.last_checked_at))
                     ) as packed
                 from json_each($1) asked_key
                 join keys k on k.hash = unhex(asked_key.value ->> 0)
                 join json_each(asked_key.value, '$[1]') asked_user ",
            links!(),
            ")"
        ),
        postgres: concat!(
            "select asked_key.n - 1 as key_at, asked_user.n - 1 as user_at,
                 k.id as key_id, k.tenant_id, k.mode, k.role, k.expires_at as key_expires_at,
                 k.revoked_at, u.id as user_id, l.id, l.product_id, l.plan_id, l.status,
                 l.max_seats, l.seats_used, l.expires_at, l.created_at, l.updated_at,
                 case when pg_column_size(l.features) <= 256 then l.features else '[]' end
                     as features,
                 pg_column_size(l.features) > 256 as features_omitted,
                 a.id as activation_id, a.activated_at, a.last_checked_at
             from jsonb_array_elements($1) with ordinality as asked_key (value, n)
             join keys k on k.hash = decode(asked_key.value ->> 0, 'hex')
             cross join lateral jsonb_array_elements_text(asked_key.value -> 1)
                 with ordinality as asked_user (value, n) ",
            links!()
        ),
    };
    let rows = conn.query(FIND).bind(Json(&asked.keys)).fetch_packed::<Row, Packed>().await?;
    let mut found: HashMap<BatchSlot, BatchHit> = HashMap::with_capacity(rows.len());
    for row in rows {
        let known = UserLicenses { id: row.user_id, links: Vec::new() };
        let found = found.entry(row.place).or_insert(BatchHit { pass: row.pass, known });
        found.known.links.extend(row.link);
    }
    Ok(found)
}

/// A license of a user, with its names.
#[derive(sqlx::FromRow)]
pub struct NamedLicense {
    #[sqlx(flatten)]
    pub link: AssignedLicense,
    pub product_name: Name,
    pub plan_name: Name,
    pub assigned_at: Timestamp,
}

/// All licenses of one user in the order of their assignment.
pub async fn explain(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<NamedLicense>> {
    conn.query(
        "select s.user_id, s.assigned_at, p.name as product_name, n.name as plan_name,
             l.id, l.product_id, l.plan_id, l.status, l.max_seats,
             l.seats_used, l.expires_at, l.features, false as features_omitted, l.created_at,
             l.updated_at,
             a.id as activation_id, a.activated_at, a.last_checked_at
         from assignments s
         join licenses l on l.tenant_id = s.tenant_id and l.mode = s.mode and l.id = s.license_id
         join products p on p.tenant_id = l.tenant_id and p.mode = l.mode and p.id = l.product_id
         join plans n on n.tenant_id = l.tenant_id and n.mode = l.mode and n.id = l.plan_id
         left join activations a on a.tenant_id = s.tenant_id and a.mode = s.mode
             and a.user_id = s.user_id and a.license_id = s.license_id
         where s.tenant_id = $1 and s.mode = $2 and s.user_id = $3
         order by s.id",
    )
    .bind_scope(scope)
    .bind(user)
    .fetch_all()
    .await
}
