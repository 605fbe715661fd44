//! The statements of the hot path. Each serves a whole batch of validations: what it is about comes
//! as one JSON array, so that a batch costs as many statements as a single request. `read` reads;
//! what is written here is an array of [`BatchRow`]s.

mod read;

use common::{Activation, ExternalId, Features, LicenseId, Mode, ProductId, Timestamp, UserId};
use serde::{Serialize, Serializer};
use sqlx::types::Json;
use uuid::Uuid;

use super::Scope;
use crate::db::{Conn, Result, Sql};

pub use read::{
    AssignedLicense, BatchHit, BatchQuery, BatchSlot, NamedLicense, UserLicenses, explain, find,
};

/// One row of a statement's input. A statement reads the columns that it names; the others may be
/// absent.
#[derive(Clone)]
pub struct BatchRow<'a> {
    tenant_id: Uuid,
    mode: Mode,
    id: Option<Uuid>,
    user_id: Option<Uuid>,
    license_id: Option<Uuid>,
    external_id: Option<&'a ExternalId>,
    seats: Option<i32>,
}

/// As an array, which both databases take apart sooner than an object; see `over_items!`.
impl Serialize for BatchRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (tenant, id) = (self.tenant_id.simple(), self.id.map(Uuid::simple));
        let (user, license) = (self.user_id.map(Uuid::simple), self.license_id.map(Uuid::simple));
        (tenant, self.mode, self.external_id, user, license, id, self.seats).serialize(serializer)
    }
}

impl<'a> BatchRow<'a> {
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

    pub fn new_user(scope: Scope, id: UserId, external_id: &'a ExternalId) -> Self {
        Self { id: Some(id.uuid()), external_id: Some(external_id), ..Self::of(scope) }
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

/// A statement over the items in `$1`, which it sees as a table `item`; `n` is a row's place. The
/// databases differ only in how they take JSON and ids in it apart.
macro_rules! over_items {
    ($statement:literal) => {
        over_items!($statement, $statement)
    };
    ($sqlite:literal, $postgres:literal) => {
        Sql::Each {
            sqlite: concat!(
                "with item as (
                     select key as n, unhex(value ->> 0) as tenant_id, value ->> 1 as mode,
                         value ->> 2 as external_id, unhex(value ->> 3) as user_id,
                         unhex(value ->> 4) as license_id, unhex(value ->> 5) as id,
                         value ->> 6 as seats
                     from json_each($1)
                 ) ",
                $sqlite
            ),
            postgres: concat!(
                "with item as (
                     select n - 1 as n, cast(value ->> 0 as uuid) as tenant_id, value ->> 1 as mode,
                         value ->> 2 as external_id, cast(value ->> 3 as uuid) as user_id,
                         cast(value ->> 4 as uuid) as license_id, cast(value ->> 5 as uuid) as id,
                         value ->> 6 as seats
                     from jsonb_array_elements($1) with ordinality as element (value, n)
                 ) ",
                $postgres
            ),
        }
    };
}

/// The places of those `products` that exist.
pub async fn find_products(conn: &mut Conn, products: &[BatchRow<'_>]) -> Result<Vec<i64>> {
    const FIND: Sql = over_items!(
        "select item.n from item
         join products p on p.tenant_id = item.tenant_id and p.mode = item.mode
             and p.id = item.id
         order by item.n"
    );
    let places: Vec<(i64,)> = conn.query(FIND).bind(Json(products)).fetch_all().await?;
    Ok(places.into_iter().map(|(n,)| n).collect())
}

/// The features of `licenses`, each with the place of its license.
pub async fn find_features(
    conn: &mut Conn,
    licenses: &[BatchRow<'_>],
) -> Result<Vec<(i64, Json<Features>)>> {
    const FIND: Sql = over_items!(
        "select item.n, l.features from item
         join licenses l on l.tenant_id = item.tenant_id and l.mode = item.mode
             and l.id = item.id"
    );
    conn.query(FIND).bind(Json(licenses)).fetch_all().await
}

/// Makes those `users` that nobody made yet, sorted as they come.
pub async fn insert_users(conn: &mut Conn, users: &[BatchRow<'_>], now: Timestamp) -> Result<()> {
    const INSERT: Sql = over_items!(
        "insert into users (tenant_id, mode, id, external_id, created_at, updated_at)
         select tenant_id, mode, id, external_id, $2, $2 from item where true order by n
         on conflict (tenant_id, mode, external_id) do nothing"
    );
    conn.query(INSERT).bind(Json(users)).bind(now).execute().await?;
    Ok(())
}

/// Locks `licenses` in the order of their ids, as everyone must who locks more than one.
pub async fn lock_licenses(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<()> {
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
pub async fn insert_seats(conn: &mut Conn, seats: &[BatchRow<'_>], now: Timestamp) -> Result<()> {
    const INSERT: Sql = over_items!(
        "insert into activations (tenant_id, mode, user_id, license_id, id, activated_at,
             last_checked_at)
         select tenant_id, mode, user_id, license_id, id, $2, $2 from item order by n"
    );
    conn.query(INSERT).bind(Json(seats)).bind(now).execute().await?;
    Ok(())
}

/// Adds each license's `seats` to its counter.
pub async fn count_seats(conn: &mut Conn, licenses: &[BatchRow<'_>]) -> Result<()> {
    const COUNT: Sql = over_items!(
        "update licenses set seats_used = seats_used + cast(item.seats as integer)
         from item
         where licenses.tenant_id = item.tenant_id and licenses.mode = item.mode
             and licenses.id = item.id"
    );
    conn.query(COUNT).bind(Json(licenses)).execute().await?;
    Ok(())
}

/// Notes that the holders of `seats` were seen; a later time stays.
///
/// Two nodes may see overlapping sets of users at once. The seats come in the order of their ids
/// and are locked as they come, so that neither node waits for the other in a circle.
pub async fn touch_seats(conn: &mut Conn, seats: &[BatchRow<'_>], now: Timestamp) -> Result<()> {
    const TOUCH: Sql = over_items!(
        "update activations set last_checked_at = $2
         from item
         where activations.tenant_id = item.tenant_id and activations.mode = item.mode
             and activations.user_id = item.user_id and activations.license_id = item.license_id
             and activations.last_checked_at < $2"
    );
    conn.query(TOUCH).bind(Json(seats)).bind(now).execute().await?;
    Ok(())
}
