//! The input of a statement for a whole batch: one JSON array, so that a batch needs no more
//! statements than a single request.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use common::{Activation, ActivationId, ExternalId, LicenseId, Timestamp, UserId};
use serde::{Serialize, Serializer};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Scope, World};
use crate::db::{Conn, Query, Result, Sql};

/// One row of input. A statement reads the columns that it names; the others may be absent.
#[derive(Clone)]
pub struct BatchRow<'a> {
    world: i32,
    id: Option<Uuid>,
    user_id: Option<Uuid>,
    license_id: Option<Uuid>,
    external_id: Option<&'a ExternalId>,
    seats: Option<i32>,
    time: Option<Timestamp>,
}

/// Serialized as an array, which both databases parse faster than an object; see `over_rows!`.
impl Serialize for BatchRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [id, user, license] =
            [self.id, self.user_id, self.license_id].map(|id| id.map(Uuid::simple));
        let time = self.time.map(Timestamp::millis);
        (self.world, self.external_id, user, license, id, self.seats, time).serialize(serializer)
    }
}

impl<'a> BatchRow<'a> {
    pub fn world(&self) -> World {
        self.world.into()
    }

    fn of(scope: Scope) -> Self {
        Self::in_world(scope.world)
    }

    fn in_world(world: World) -> Self {
        Self {
            world: world.number(),
            id: None,
            user_id: None,
            license_id: None,
            external_id: None,
            seats: None,
            time: None,
        }
    }

    pub fn new_user(scope: Scope, id: UserId, external_id: &'a ExternalId) -> Self {
        Self { id: Some(id.uuid()), external_id: Some(external_id), ..Self::of(scope) }
    }

    pub fn record(scope: Scope, id: Uuid) -> Self {
        Self { id: Some(id), ..Self::of(scope) }
    }

    /// A license, and how many more of its seats will be used.
    pub fn license(scope: Scope, id: LicenseId, seats: i32) -> Self {
        Self { id: Some(id.uuid()), seats: Some(seats), ..Self::of(scope) }
    }

    /// A license, and a time of it.
    pub fn license_at(scope: Scope, id: LicenseId, time: Timestamp) -> Self {
        Self { time: Some(time), ..Self::license(scope, id, 0) }
    }

    /// A seat, and when it was checked.
    pub fn seat(scope: Scope, seat: &Activation) -> Self {
        let Activation { id, user_id, license_id, last_checked_at, .. } = *seat;
        Self::check(scope.world, user_id, license_id, id, last_checked_at)
    }

    /// A seat, and when it was checked.
    pub fn check(
        world: World,
        user: UserId,
        license: LicenseId,
        seat: ActivationId,
        time: Timestamp,
    ) -> Self {
        Self {
            id: Some(seat.uuid()),
            user_id: Some(user.uuid()),
            license_id: Some(license.uuid()),
            time: Some(time),
            ..Self::in_world(world)
        }
    }
}

/// A statement over the rows in `$1`, which it sees as a table `item`; `n` is the position of a
/// row. The databases differ only in how they read JSON and the ids in it. A sharded PostgreSQL gets
/// rows of one world, which [`query`] ensures, and must be told so.
macro_rules! over_rows {
    ($statement:expr) => {
        $crate::store::batch_rows::over_rows!($statement, $statement)
    };
    ($sqlite:expr, $postgres:expr) => {
        $crate::store::batch_rows::over_rows!($sqlite, $postgres, $postgres)
    };
    ($sqlite:expr, $postgres:expr, $sharded:expr) => {
        $crate::db::Sql::Three {
            sqlite: concat!(
                "with item as (
                     select key as n, value ->> 0 as world, value ->> 1 as external_id,
                         unhex(value ->> 2) as user_id, unhex(value ->> 3) as license_id,
                         unhex(value ->> 4) as id, value ->> 5 as seats, value ->> 6 as time
                     from json_each($1)
                 ) ",
                $sqlite
            ),
            postgres: $crate::store::batch_rows::over_rows!(@postgres "", $postgres),
            sharded: $crate::store::batch_rows::over_rows!(
                @postgres
                concat!(
                    "where cast(value ->> 0 as integer) = ",
                    $crate::store::batch_rows::first_world!()
                ),
                $sharded
            ),
        }
    };
    (@postgres $where:expr, $statement:expr) => {
        concat!(
            "with item as (
                 select n - 1 as n, cast(value ->> 0 as integer) as world,
                     value ->> 1 as external_id, cast(value ->> 2 as uuid) as user_id,
                     cast(value ->> 3 as uuid) as license_id, cast(value ->> 4 as uuid) as id,
                     cast(value ->> 5 as integer) as seats,
                     timestamptz 'epoch' + cast(value ->> 6 as bigint) * interval '1 ms' as time
                 from jsonb_array_elements($1) with ordinality as element (value, n) ",
            $where,
            ") ",
            $statement
        )
    };
}

/// The world of the first row.
macro_rules! first_world {
    () => {
        "cast($1 #>> '{0,0}' as integer)"
    };
}

pub(crate) use {first_world, over_rows};

/// A statement of [`over_rows!`] with its rows. Fails if a sharded database would get rows of several
/// worlds.
pub fn query<'c, 'r, R>(conn: &'c mut Conn, sql: Sql, rows: &[R]) -> Result<Query<'c>>
where
    R: Borrow<BatchRow<'r>> + Serialize,
{
    let differ = |pair: &[R]| pair[0].borrow().world != pair[1].borrow().world;
    if conn.is_sharded() && rows.windows(2).any(differ) {
        return Err(sqlx::Error::Encode("rows of several worlds".into()));
    }
    Ok(conn.query(sql).bind(Json(rows)))
}

/// Groups items by world for a sharded database. For others, all are one group.
pub fn by_world<T>(
    conn: &Conn,
    items: impl IntoIterator<Item = T>,
    world: impl Fn(&T) -> World,
) -> Vec<Vec<T>> {
    let mut groups = BTreeMap::<_, Vec<T>>::new();
    for item in items {
        groups.entry(conn.is_sharded().then(|| world(&item))).or_default().push(item);
    }
    groups.into_values().collect()
}
