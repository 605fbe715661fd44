//! The statements of the hot path. Each serves a whole batch of validations: what it is about comes
//! as one JSON array of [`Item`]s, so that a batch costs as many statements as a single request.

use common::{
    Activation, ActivationId, ExternalId, Features, License, LicenseId, MaxSeats, Mode, Name,
    ProductId, Status, Timestamp, UserId,
};
use serde::{Deserialize, Serialize, Serializer};
use sqlx::types::Json;
use sqlx::{ColumnIndex, Decode, FromRow, Type};
use uuid::Uuid;

use super::Scope;
use crate::db::{Conn, Result, Sql};

/// One row of a statement's input. A statement reads the columns that it names; the others may be
/// absent.
#[derive(Clone)]
pub struct Item<'a> {
    tenant_id: Uuid,
    mode: Mode,
    id: Option<Uuid>,
    user_id: Option<Uuid>,
    license_id: Option<Uuid>,
    external_id: Option<&'a ExternalId>,
    seats: Option<i32>,
}

/// As an array, which both databases take apart sooner than an object; see `items!`.
impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (tenant, id) = (self.tenant_id.simple(), self.id.map(Uuid::simple));
        let (user, license) = (self.user_id.map(Uuid::simple), self.license_id.map(Uuid::simple));
        (tenant, self.mode, self.external_id, user, license, id, self.seats).serialize(serializer)
    }
}

impl<'a> Item<'a> {
    fn of(scope: Scope) -> Self {
        Self {
            tenant_id: scope.tenant.uuid(),
            mode: scope.mode,
            id: None,
            user_id: None,
            license_id: None,
            external_id: None,
            seats: None,
        }
    }

    pub fn user(scope: Scope, external_id: &'a ExternalId) -> Self {
        Self { external_id: Some(external_id), ..Self::of(scope) }
    }

    pub fn new_user(scope: Scope, id: UserId, external_id: &'a ExternalId) -> Self {
        Self { id: Some(id.uuid()), ..Self::user(scope, external_id) }
    }

    pub fn product(scope: Scope, id: ProductId) -> Self {
        Self { id: Some(id.uuid()), ..Self::of(scope) }
    }

    pub fn license(scope: Scope, id: LicenseId, seats: i32) -> Self {
        Self { id: Some(id.uuid()), seats: Some(seats), ..Self::of(scope) }
    }

    pub fn seat(scope: Scope, seat: &Activation) -> Self {
        Self {
            id: Some(seat.id.uuid()),
            user_id: Some(seat.user_id.uuid()),
            license_id: Some(seat.license_id.uuid()),
            ..Self::of(scope)
        }
    }
}

/// The items in `$1` as a table `item`, in which `n` is a row's place.
macro_rules! items {
    (sqlite) => {
        "with item as (
             select key as n, unhex(value ->> 0) as tenant_id, value ->> 1 as mode,
                 value ->> 2 as external_id, unhex(value ->> 3) as user_id,
                 unhex(value ->> 4) as license_id, unhex(value ->> 5) as id, value ->> 6 as seats
             from json_each($1)
         ) "
    };
    (postgres) => {
        "with item as (
             select n - 1 as n, cast(value ->> 0 as uuid) as tenant_id, value ->> 1 as mode,
                 value ->> 2 as external_id, cast(value ->> 3 as uuid) as user_id,
                 cast(value ->> 4 as uuid) as license_id, cast(value ->> 5 as uuid) as id,
                 value ->> 6 as seats
             from jsonb_array_elements($1) with ordinality as element (value, n)
         ) "
    };
}

/// A statement over the items in `$1`. The databases differ only in how they take JSON and ids in
/// it apart.
macro_rules! over_items {
    ($statement:literal) => {
        over_items!($statement, $statement)
    };
    ($sqlite:literal, $postgres:literal) => {
        Sql::Each {
            sqlite: concat!(items!(sqlite), $sqlite),
            postgres: concat!(items!(postgres), $postgres),
        }
    };
}

/// A license assigned to a user, with what decides about it.
#[derive(Clone, Debug)]
pub struct Link {
    pub user_id: UserId,
    pub license: License,
    pub seats_used: i32,
    /// The seat that the user holds.
    pub seat: Option<Activation>,
}

/// A known user of an item, with one of the user's licenses if there is any.
pub struct Found {
    /// The place of the item.
    pub n: i64,
    pub user_id: UserId,
    pub link: Option<Link>,
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for Link
where
    License: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
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
        Ok(Self { user_id, seats_used: row.try_get("seats_used")?, license, seat })
    }
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for Found
where
    Link: FromRow<'r, R>,
    &'static str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    UserId: Decode<'r, R::Database> + Type<R::Database>,
    Option<LicenseId>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self> {
        let linked: Option<LicenseId> = row.try_get("id")?;
        Ok(Self {
            n: row.try_get("n")?,
            user_id: row.try_get("user_id")?,
            link: linked.map(|_| Link::from_row(row)).transpose()?,
        })
    }
}

/// What `find` is on SQLite: a row packed into JSON, ids in hexadecimal.
#[derive(Deserialize)]
struct Packed {
    n: i64,
    user_id: Uuid,
    license: Option<PackedLicense>,
    seat: Option<PackedSeat>,
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
    features: Features,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct PackedSeat {
    id: Uuid,
    activated_at: Timestamp,
    last_checked_at: Timestamp,
}

impl From<Packed> for Found {
    fn from(Packed { n, user_id, license, seat }: Packed) -> Self {
        let user_id = user_id.into();
        let link = license.map(|license| Link {
            user_id,
            seats_used: license.seats_used,
            seat: seat.map(|seat| Activation {
                id: seat.id.into(),
                user_id,
                license_id: license.id.into(),
                activated_at: seat.activated_at,
                last_checked_at: seat.last_checked_at,
            }),
            license: License {
                id: license.id.into(),
                product_id: license.product_id.into(),
                plan_id: license.plan_id.into(),
                status: license.status,
                max_seats: license.max_seats,
                expires_at: license.expires_at,
                features: license.features,
                created_at: license.created_at,
                updated_at: license.updated_at,
            },
        });
        Self { n, user_id, link }
    }
}

/// Users of `item`, and all that hangs on them, in order.
macro_rules! links {
    () => {
        "from item
         join users u on u.tenant_id = item.tenant_id and u.mode = item.mode
             and u.external_id = item.external_id
         left join assignments s on s.tenant_id = u.tenant_id and s.mode = u.mode
             and s.user_id = u.id
         left join licenses l on l.tenant_id = s.tenant_id and l.mode = s.mode
             and l.id = s.license_id
         left join activations a on a.tenant_id = s.tenant_id and a.mode = s.mode
             and a.user_id = s.user_id and a.license_id = s.license_id
         order by item.n, s.id"
    };
}

/// The known ones of `users`, each with all its licenses in the order of their assignment.
pub async fn find(conn: &mut Conn, users: &[Item<'_>]) -> Result<Vec<Found>> {
    const FIND: Sql = Sql::Each {
        sqlite: concat!(
            items!(sqlite),
            "select coalesce('[' || group_concat(packed) || ']', '[]')
             from (select json_array(item.n, hex(u.id),
                 iif(l.id is null, null, json_array(hex(l.id), hex(l.product_id), hex(l.plan_id),
                     l.status, l.max_seats, l.seats_used, l.expires_at, json(l.features),
                     l.created_at, l.updated_at)),
                 iif(a.id is null, null, json_array(hex(a.id), a.activated_at,
                     a.last_checked_at))) as packed ",
            links!(),
            ")"
        ),
        postgres: concat!(
            items!(postgres),
            "select item.n, u.id as user_id, l.id, l.product_id, l.plan_id, l.status, l.max_seats,
                 l.seats_used, l.expires_at, l.features, l.created_at, l.updated_at,
                 a.id as activation_id, a.activated_at, a.last_checked_at ",
            links!()
        ),
    };
    conn.query(FIND).bind(Json(users)).fetch_packed::<Found, Packed>().await
}

/// A license of a user, with its names.
#[derive(sqlx::FromRow)]
pub struct Named {
    #[sqlx(flatten)]
    pub link: Link,
    pub product_name: Name,
    pub plan_name: Name,
    pub assigned_at: Timestamp,
}

/// All licenses of one user in the order of their assignment.
pub async fn explain(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<Named>> {
    conn.query(
        "select s.user_id, s.assigned_at, p.name as product_name, n.name as plan_name,
             l.id, l.product_id, l.plan_id, l.status, l.max_seats,
             l.seats_used, l.expires_at, l.features, l.created_at, l.updated_at,
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
    .within(scope)
    .bind(user)
    .fetch_all()
    .await
}

/// The places of those `products` that exist.
pub async fn find_products(conn: &mut Conn, products: &[Item<'_>]) -> Result<Vec<i64>> {
    const FIND: Sql = over_items!(
        "select item.n from item
         join products p on p.tenant_id = item.tenant_id and p.mode = item.mode
             and p.id = item.id
         order by item.n"
    );
    let places: Vec<(i64,)> = conn.query(FIND).bind(Json(products)).fetch_all().await?;
    Ok(places.into_iter().map(|(n,)| n).collect())
}

/// Makes those `users` that nobody made yet, sorted as they come.
pub async fn insert_users(conn: &mut Conn, users: &[Item<'_>], now: Timestamp) -> Result<()> {
    const INSERT: Sql = over_items!(
        "insert into users (tenant_id, mode, id, external_id, created_at, updated_at)
         select tenant_id, mode, id, external_id, $2, $2 from item where true order by n
         on conflict (tenant_id, mode, external_id) do nothing"
    );
    conn.query(INSERT).bind(Json(users)).bind(now).execute().await?;
    Ok(())
}

/// Locks `licenses` in the order of their ids, as everyone must who locks more than one.
pub async fn lock_licenses(conn: &mut Conn, licenses: &[Item<'_>]) -> Result<()> {
    const LOCK: Sql = over_items!(
        "select 1",
        "select l.id from item
         join licenses l on l.tenant_id = item.tenant_id and l.mode = item.mode
             and l.id = item.id
         order by l.id for update of l"
    );
    conn.query(LOCK).bind(Json(licenses)).execute().await?;
    Ok(())
}

/// Gives `seats` away. Their licenses are locked and have the room.
pub async fn insert_seats(conn: &mut Conn, seats: &[Item<'_>], now: Timestamp) -> Result<()> {
    const INSERT: Sql = over_items!(
        "insert into activations (tenant_id, mode, user_id, license_id, id, activated_at,
             last_checked_at)
         select tenant_id, mode, user_id, license_id, id, $2, $2 from item order by n"
    );
    conn.query(INSERT).bind(Json(seats)).bind(now).execute().await?;
    Ok(())
}

/// Adds each license's `seats` to its counter.
pub async fn count_seats(conn: &mut Conn, licenses: &[Item<'_>]) -> Result<()> {
    const COUNT: Sql = over_items!(
        "update licenses set seats_used = seats_used + cast(item.seats as integer)
         from item
         where licenses.tenant_id = item.tenant_id and licenses.mode = item.mode
             and licenses.id = item.id"
    );
    conn.query(COUNT).bind(Json(licenses)).execute().await?;
    Ok(())
}

/// Notes that the holders of `seats` were seen.
///
/// Two nodes may see overlapping sets of users at once. The seats come in the order of their ids
/// and are locked as they come, so that neither node waits for the other in a circle.
pub async fn touch_seats(conn: &mut Conn, seats: &[Item<'_>], now: Timestamp) -> Result<()> {
    const TOUCH: Sql = over_items!(
        "update activations set last_checked_at = $2
         from item
         where activations.tenant_id = item.tenant_id and activations.mode = item.mode
             and activations.user_id = item.user_id and activations.license_id = item.license_id"
    );
    conn.query(TOUCH).bind(Json(seats)).bind(now).execute().await?;
    Ok(())
}
