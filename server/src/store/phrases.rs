//! Phrases, by which people find users and licenses: a name, or a value of the metadata, in lower
//! case and without accents, from the start of each of its words on. So "Acme Studio Berlin" is found
//! by "acme", by "stud" and by "studio ber", and "Zoë" by "zoe". Both databases compare phrases by
//! bytes, so they find the same.

mod text;

use std::collections::BTreeSet;

use common::{LicenseId, User, UserId};
use serde::Serialize;
use sqlx::types::{Json, Uuid};

use super::batch_rows::{by_world, first_world};
use super::{MANY_FOUND, Scope, TextRange, World};
use crate::db::{Conn, Result, Sql};

pub use text::{Search, names, of_license, of_user, phrase};

/// A row of the table of phrases.
#[derive(Serialize)]
pub struct PhraseRow(i32, uuid::fmt::Simple, String);

macro_rules! insert {
    ($table:literal, $record:literal) => {
        Sql::Three {
            sqlite: concat!(
                "insert into ", $table, " (world, ", $record, ", phrase)
                 select value ->> 0, unhex(value ->> 1), value ->> 2 from json_each($1) where true
                 on conflict do nothing"
            ),
            postgres: concat!(
                "insert into ", $table, " (world, ", $record, ", phrase)
                 select cast(value ->> 0 as integer), cast(value ->> 1 as uuid), value ->> 2
                 from jsonb_array_elements($1) as element (value)
                 on conflict do nothing"
            ),
            sharded: concat!(
                "insert into ", $table, " (world, ", $record, ", phrase)
                 select c.world, cast(value ->> 1 as uuid), value ->> 2
                 from jsonb_array_elements($1) as element (value)
                 join event_counters c on c.world = cast(value ->> 0 as integer)
                     and c.world = ", first_world!(),
                " on conflict do nothing"
            ),
        }
    };
}

/// Adds phrases to users.
pub async fn add_to_users(
    conn: &mut Conn,
    users: impl Iterator<Item = (World, UserId, BTreeSet<String>)>,
) -> Result<()> {
    let users = users.map(|(world, id, phrases)| (world, id.uuid(), phrases));
    add(conn, insert!("user_phrases", "user_id"), users).await
}

/// Adds phrases to a license.
pub async fn add_to_license(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
    phrases: BTreeSet<String>,
) -> Result<()> {
    let license = std::iter::once((scope.world, id.uuid(), phrases));
    add(conn, insert!("license_phrases", "license_id"), license).await
}

async fn add(
    conn: &mut Conn,
    insert: Sql,
    records: impl Iterator<Item = (World, Uuid, BTreeSet<String>)>,
) -> Result<()> {
    let row = |(world, id, phrases): (World, Uuid, BTreeSet<String>)| {
        phrases.into_iter().map(move |phrase| PhraseRow(world.number(), id.simple(), phrase))
    };
    for rows in by_world(conn, records.flat_map(row), |row| row.0.into()) {
        conn.query(insert).bind(Json(rows)).execute().await?;
    }
    Ok(())
}

/// Replaces the phrases of a user, who is locked.
pub async fn set_of_user(conn: &mut Conn, scope: Scope, user: &User) -> Result<()> {
    conn.query("delete from user_phrases where user_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(user.id)
        .execute()
        .await?;
    let phrases = (scope.world, user.id, of_user(user));
    add_to_users(conn, std::iter::once(phrases)).await
}

/// Replaces the phrases of a license, which is locked.
pub async fn set_of_license(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
    phrases: BTreeSet<String>,
) -> Result<()> {
    conn.query("delete from license_phrases where license_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    add_to_license(conn, scope, id, phrases).await
}

/// The records that a search is about.
#[derive(Clone, Copy)]
pub enum Named {
    Users,
    Licenses,
}

/// Puts a word first that is in few records, and returns whether there is one.
pub async fn put_rare_first(
    conn: &mut Conn,
    scope: Scope,
    named: Named,
    search: &mut Search,
) -> Result<bool> {
    for order in search.orders() {
        if !finds_many(conn, scope, named, &order.first).await? {
            *search = order;
            return Ok(true);
        }
    }
    Ok(false)
}

/// The condition that a record has a phrase in a range, if a range is given. It looks in the primary
/// key for each record. With statistics that are out of date, PostgreSQL would turn it into a join,
/// which `offset 0` prevents, or read all phrases of the range, which `|| ''` prevents.
macro_rules! has_phrase {
    ($table:literal, $column:literal, $id:literal, $from:literal, $until:literal) => {
        concat!(
            "(coalesce(cast(",
            $from,
            " as text), '') = '' or exists (select 1 from ",
            $table,
            " p where p.",
            $column,
            " = ",
            $id,
            " and p.world = $1 and p.phrase || '' >= ",
            $from,
            " and p.phrase || '' < ",
            $until,
            " limit 1 offset 0))"
        )
    };
}

pub(crate) use has_phrase;

/// Whether a range has more than [`MANY_FOUND`] phrases. It reads no more than that.
async fn finds_many(
    conn: &mut Conn,
    scope: Scope,
    named: Named,
    range: &TextRange,
) -> Result<bool> {
    macro_rules! count {
        ($table:literal) => {
            concat!(
                "select count(*) from (
                     select 1 from ",
                $table,
                " where world = $1 and world > 0 and phrase >= $3 and phrase < $4
                     limit $2) found"
            )
        };
    }
    let sql = match named {
        Named::Users => count!("user_phrases"),
        Named::Licenses => count!("license_phrases"),
    };
    let query = conn.query(sql).bind_scope(scope).bind(MANY_FOUND + 1).bind_range(range);
    let (found,): (i64,) = query.fetch_one().await?;
    Ok(found > MANY_FOUND)
}
