//! Licenses. Their counters of seats are in `seats`.

use common::{
    ExternalId, License, LicenseDetails, LicenseId, LicenseWithSeats, PlanId, ProductId, Seats,
    Status, Timestamp, UserId,
};
use sqlx::types::Json;

use super::page::paged;
use super::{Page, Scope};
use crate::db::{AsWritten, Conn, Result, locking};

/// The columns of a [`License`].
macro_rules! columns {
    () => {
        "id, product_id, plan_id, status, max_seats, expires_at, features, created_at, updated_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select ", columns!(), " from licenses where ", $rest)
    };
}

macro_rules! select_details {
    ($rest:literal) => {
        concat!("select name, metadata, ", columns!(), " from licenses where ", $rest)
    };
}

macro_rules! select_with_seats {
    ($rest:expr) => {
        concat!("select seats_used, name, metadata, ", columns!(), " from licenses where ", $rest)
    };
}

#[derive(sqlx::FromRow)]
struct CountedLicense {
    #[sqlx(flatten)]
    details: LicenseDetails,
    seats_used: i32,
}

impl From<CountedLicense> for LicenseWithSeats {
    fn from(CountedLicense { details, seats_used }: CountedLicense) -> Self {
        Self { seats: Seats { used: seats_used, allowed: details.max_seats }, details }
    }
}

pub async fn insert(conn: &mut Conn, scope: Scope, license: &LicenseDetails) -> Result<()> {
    conn.query(
        "insert into licenses (world, id, product_id, plan_id, status, max_seats, expires_at,
             features, created_at, updated_at, suffix, name, metadata)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.product_id)
    .bind(license.plan_id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.created_at)
    .bind(license.updated_at)
    .bind(Suffixes::of(license.id).first)
    .bind(&license.name)
    .bind(license.metadata.as_ref().map(AsWritten))
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn find_with_seats(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseWithSeats>> {
    let query = conn.query(select_with_seats!("id = $2 and world = $1")).bind_scope(scope).bind(id);
    let found = query.fetch_optional::<CountedLicense>().await?;
    Ok(found.map(LicenseWithSeats::from))
}

/// A change of a license, or of its seats, locks it first.
pub async fn lock(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

/// As [`lock`], with what may change besides.
pub async fn lock_details(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
) -> Result<Option<LicenseDetails>> {
    conn.query(locking!(select_details!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

/// Locks all licenses of a user, who is locked, in the order of their ids.
pub async fn lock_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<License>> {
    conn.query(locking!(select!(
        "world = $1 and id in (
             select license_id from assignments where user_id = $2 and world = $1)
         order by id"
    )))
    .bind_scope(scope)
    .bind(user)
    .fetch_all()
    .await
}

pub async fn update(conn: &mut Conn, scope: Scope, license: &LicenseDetails) -> Result<()> {
    conn.query(
        "update licenses set status = $3, max_seats = $4, expires_at = $5, features = $6,
             updated_at = $7, name = $8, metadata = $9
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.updated_at)
    .bind(&license.name)
    .bind(license.metadata.as_ref().map(AsWritten))
    .execute()
    .await?;
    Ok(())
}

/// Which licenses a list shows: those that match everything that is given.
#[derive(Clone, Default)]
pub struct LicenseFilter {
    pub plan: Option<PlanId>,
    pub product: Option<ProductId>,
    pub status: Option<Status>,
    /// What a validation at this moment takes the status for.
    pub state: Option<(Status, Timestamp)>,
    /// Assigned to this user.
    pub user: Option<ExternalId>,
    /// Those that have an end before this.
    pub expiring_before: Option<Timestamp>,
    /// Their ids end so.
    pub suffixes: Option<Suffixes>,
}

/// The ids that end with some text, by the numbers of their suffixes.
///
/// The suffix of an id is its last six characters, five bits each, read backwards: all ids that end
/// with a shorter text then lie in one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suffixes {
    pub first: i32,
    pub last: i32,
}

impl Suffixes {
    pub const CHARACTERS: u32 = 6;

    pub fn of(id: LicenseId) -> Self {
        let bits = id.uuid().as_u128();
        let digits = (0..Self::CHARACTERS).map(|place| (bits >> (5 * place)) as i32 & 31);
        let number = digits.fold(0, |number, digit| number << 5 | digit);
        Self { first: number, last: number }
    }

    /// Of all ids whose last `characters` are those of `id`.
    pub fn ending_like(id: LicenseId, characters: u32) -> Self {
        let open = 5 * Self::CHARACTERS.saturating_sub(characters);
        let Self { first, .. } = Self::of(id);
        Self { first: first >> open << open, last: first | ((1 << open) - 1) }
    }
}

/// A page of the licenses that match a filter. Each text begins with the condition for which there
/// is an index; the others narrow down what it finds.
macro_rules! page_found_by {
    ($page:expr, $found_by:literal) => {{
        macro_rules! select_found {
            ($rest:expr) => {
                select_with_seats!(concat!("world = $1 and world > 0 and ", $found_by, $rest))
            };
        }
        paged!(
            $page,
            select_found!(
                " and (cast($4 as uuid) is null or plan_id = $4)
                  and (cast($5 as uuid) is null or product_id = $5)
                  and (cast($6 as text) is null or status = $6)
                  and (cast($7 as text) is null or id in (
                      select s.license_id from users u
                      join assignments s on s.user_id = u.id and s.world = u.world
                      where u.external_id = $7 and u.world = $1))
                  and (cast($8 as timestamptz) is null or expires_at < $8)
                  and (cast($9 as integer) is null or suffix between $9 and $10)
                  and (cast($11 as text) is null or $11 = case
                      when status = 'active' and expires_at <= $12 then 'expired'
                      else status end)"
            ),
            "id"
        )
    }};
}

pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &LicenseFilter,
    page: Page<LicenseId>,
) -> Result<Vec<LicenseWithSeats>> {
    let is_rare = |status| status != Status::Active;
    let sql = match filter {
        LicenseFilter { user: Some(_), .. } => page_found_by!(
            page,
            "id in (select s.license_id from users u
                 join assignments s on s.user_id = u.id and s.world = u.world
                 where u.external_id = $7 and u.world = $1)"
        ),
        LicenseFilter { suffixes: Some(_), .. } => {
            page_found_by!(page, "suffix between $9 and $10")
        }
        LicenseFilter { plan: Some(_), .. } => page_found_by!(page, "plan_id = $4"),
        // A vendor has few licenses that are not active, whatever the product.
        LicenseFilter { status: Some(status), .. } if is_rare(*status) => {
            page_found_by!(page, "status = $6")
        }
        LicenseFilter { state: Some((Status::Expired, _)), .. } => page_found_by!(
            page,
            "id in (select id from licenses
                 where world = $1 and world > 0 and status = 'expired'
             union all select id from licenses
                 where world = $1 and world > 0 and status = 'active' and expires_at <= $12)"
        ),
        LicenseFilter { state: Some((status, _)), .. } if is_rare(*status) => {
            page_found_by!(page, "status = $11")
        }
        LicenseFilter { product: Some(_), .. } => page_found_by!(page, "product_id = $5"),
        LicenseFilter { expiring_before: Some(_), .. } => page_found_by!(page, "expires_at < $8"),
        LicenseFilter { status: Some(_), .. } => page_found_by!(page, "status = $6"),
        LicenseFilter { state: Some(_), .. } => page_found_by!(page, "status = 'active'"),
        _ => page_found_by!(page, "true"),
    };
    let rows: Vec<CountedLicense> = conn
        .query(sql)
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .bind(filter.plan)
        .bind(filter.product)
        .bind(filter.status)
        .bind(filter.user.as_ref())
        .bind(filter.expiring_before)
        .bind(filter.suffixes.map(|suffixes| suffixes.first))
        .bind(filter.suffixes.map(|suffixes| suffixes.last))
        .bind(filter.state.map(|(status, _)| status))
        .bind(filter.state.map(|(_, now)| now))
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(LicenseWithSeats::from).collect())
}

/// Which licenses with an end a list shows: those that match everything that is given.
#[derive(Clone, Copy)]
pub struct ExpiryFilter {
    pub product: Option<ProductId>,
    pub status: Option<Status>,
    /// Their end is not before this.
    pub from: Timestamp,
    /// Their end is before this.
    pub to: Timestamp,
}

/// The licenses after one that expires then, soonest first.
pub async fn by_expiry(
    conn: &mut Conn,
    scope: Scope,
    filter: &ExpiryFilter,
    after: Option<(Timestamp, LicenseId)>,
    limit: i64,
) -> Result<Vec<LicenseWithSeats>> {
    // The nil id stands before all that expire at the same time.
    let start = (filter.from, LicenseId::default());
    let (expires_at, id) = after.map_or(start, |after| after.max(start));
    let rows: Vec<CountedLicense> = conn
        .query(select_with_seats!(
            "world = $1 and world > 0 and (expires_at, id) > ($2, $3) and expires_at < $4
                 and (cast($5 as uuid) is null or product_id = $5)
                 and (cast($6 as text) is null or status = $6)
             order by expires_at, id limit $7"
        ))
        .bind_scope(scope)
        .bind(expires_at)
        .bind(id)
        .bind(filter.to)
        .bind(filter.product)
        .bind(filter.status)
        .bind(limit)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(LicenseWithSeats::from).collect())
}

/// A page of the active licenses whose seats are all used.
pub async fn full(
    conn: &mut Conn,
    scope: Scope,
    page: Page<LicenseId>,
) -> Result<Vec<LicenseWithSeats>> {
    let rows: Vec<CountedLicense> = conn
        .query(paged!(
            page,
            select_with_seats!("world = $1 and world > 0 and is_full and status = 'active'"),
            "id"
        ))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(LicenseWithSeats::from).collect())
}

#[cfg(test)]
mod tests {
    use common::LicenseId;

    use super::Suffixes;

    #[test]
    fn ids_with_one_end_have_suffixes_in_one_range() {
        let id =
            |text: &str| format!("lic_01h455vb4pex5vsknk08{text}").parse::<LicenseId>().unwrap();
        let end = id("4sn02q");
        for (other, alike) in
            [("4sn02q", 6), ("5sn02q", 5), ("4tn02q", 4), ("zzz02q", 3), ("4sn02r", 0)]
        {
            let number = Suffixes::of(id(other)).first;
            for characters in 0..=6 {
                let Suffixes { first, last } = Suffixes::ending_like(end, characters);
                let found = (first..=last).contains(&number);
                assert_eq!(found, characters <= alike, "{other}, {characters}");
            }
        }
    }
}
