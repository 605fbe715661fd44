//! Lists of licenses: pages of those that match a filter, in the order of their ids or expiry.

use common::{ExternalId, LicenseId, LicenseWithSeats, PlanId, ProductId, Status, Timestamp};

use super::{CountedLicense, columns, select_with_seats};
use crate::db::{Conn, Result};
use crate::store::page::paged;
use crate::store::{MANY_FOUND, Page, Scope, TextRange};

/// Which licenses a list shows: those that match all given conditions.
#[derive(Clone, Default)]
pub struct LicenseFilter {
    pub plan: Option<PlanId>,
    pub product: Option<ProductId>,
    pub status: Option<Status>,
    /// The status at this time: an active license that has ended counts as expired.
    pub state: Option<(Status, Timestamp)>,
    /// Assigned to this user.
    pub user: Option<ExternalId>,
    /// With an expiry before this.
    pub expiring_before: Option<Timestamp>,
    /// Whose ids have one of these suffixes.
    pub suffixes: Option<Suffixes>,
    /// With a phrase of the name in this range.
    pub phrases: Option<TextRange>,
}

/// The ids with a common ending, as a range of numeric suffixes.
///
/// The numeric suffix of an id consists of its last six characters, five bits each, in reverse: all
/// ids with a given shorter ending then form one range.
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

    /// All ids that share their last `characters` characters with `id`.
    pub fn ending_like(id: LicenseId, characters: u32) -> Self {
        let open = 5 * Self::CHARACTERS.saturating_sub(characters);
        let Self { first, .. } = Self::of(id);
        Self { first: first >> open << open, last: first | ((1 << open) - 1) }
    }
}

/// A page of the licenses that match a filter. They are read from a table or a part of one, with a
/// condition for which there is an index; the other conditions filter the result.
macro_rules! page_of {
    ($page:expr, $table:expr, $found_by:literal) => {{
        macro_rules! select_found {
            ($rest:expr) => {
                concat!(
                    "select seats_used, name, metadata, ",
                    columns!(),
                    " from ",
                    $table,
                    " where world = $1 and world > 0 and ",
                    $found_by,
                    $rest
                )
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
                      else status end)
                  and (cast($13 as text) is null or exists (
                      select 1 from license_phrases p
                      where p.license_id = licenses.id and p.world = licenses.world
                          and p.phrase >= $13 and p.phrase < $14))"
            ),
            "id"
        )
    }};
    ($page:expr, where $found_by:literal) => {
        page_of!($page, "licenses", $found_by)
    };
    // A limit that is practically never reached makes PostgreSQL read the matches before sorting.
    // Otherwise it would scan all licenses in the order of the page.
    ($page:expr, few $few:literal) => {
        page_of!($page, concat!("(", $few, " limit 10000) licenses"), "true")
    };
}

pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &LicenseFilter,
    page: Page<LicenseId>,
) -> Result<Vec<LicenseWithSeats>> {
    let is_few = !finds_many(conn, scope, filter).await?;
    let rows: Vec<CountedLicense> = conn
        .query(page_sql(filter, page, is_few))
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
        .bind(filter.phrases.as_ref().map(|range| &range.from))
        .bind(filter.phrases.as_ref().map(|range| &range.until))
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(LicenseWithSeats::from).collect())
}

/// The statement that reads the page. `is_few`: the part of the filter whose index has another
/// order matches only a few.
fn page_sql(filter: &LicenseFilter, page: Page<LicenseId>, is_few: bool) -> &'static str {
    let is_rare = |status| status != Status::Active;
    match filter {
        LicenseFilter { user: Some(_), .. } => page_of!(
            page,
            where "id in (select s.license_id from users u
                 join assignments s on s.user_id = u.id and s.world = u.world
                 where u.external_id = $7 and u.world = $1)"
        ),
        LicenseFilter { suffixes: Some(_), .. } => {
            page_of!(page, where "suffix between $9 and $10")
        }
        LicenseFilter { phrases: Some(_), .. } if is_few => page_of!(
            page,
            few "select * from licenses where world = $1 and id in (
                 select license_id from license_phrases
                 where world = $1 and world > 0 and phrase >= $13 and phrase < $14)"
        ),
        LicenseFilter { plan: Some(_), .. } => page_of!(page, where "plan_id = $4"),
        // Few licenses are not active, whatever the product.
        LicenseFilter { status: Some(status), .. } if is_rare(*status) => {
            page_of!(page, where "status = $6")
        }
        LicenseFilter { state: Some((Status::Suspended | Status::Revoked, _)), .. } => {
            page_of!(page, where "status = $11")
        }
        // No index is used for a `case`, so the second part is not read by status.
        LicenseFilter { state: Some((Status::Expired, _)), .. } if is_few => page_of!(
            page,
            few "select * from licenses where world = $1 and world > 0 and status = 'expired'
                 union all select * from licenses
                 where world = $1 and world > 0 and expires_at <= $12
                     and case status when 'active' then true else false end"
        ),
        LicenseFilter { expiring_before: Some(_), .. } if is_few => page_of!(
            page,
            few "select * from licenses where world = $1 and world > 0 and expires_at < $8"
        ),
        LicenseFilter { product: Some(_), .. } => page_of!(page, where "product_id = $5"),
        LicenseFilter { status: Some(_), .. } => page_of!(page, where "status = $6"),
        LicenseFilter { state: Some((Status::Active, _)), .. } => {
            page_of!(page, where "status = 'active'")
        }
        _ => page_of!(page, where "true"),
    }
}

/// Whether more than [`MANY_FOUND`] licenses match the part of the filter whose index is not in the
/// order of ids. It reads no more of that index.
async fn finds_many(conn: &mut Conn, scope: Scope, filter: &LicenseFilter) -> Result<bool> {
    let query = match filter {
        LicenseFilter { user: Some(_), .. } | LicenseFilter { suffixes: Some(_), .. } => {
            return Ok(false);
        }
        LicenseFilter { phrases: Some(phrases), .. } => conn
            .query(
                "select count(*) from (
                     select 1 from license_phrases
                     where world = $1 and world > 0 and phrase >= $3 and phrase < $4
                     limit $2) found",
            )
            .bind_scope(scope)
            .bind(MANY_FOUND + 1)
            .bind_range(phrases),
        // The index of the plan is used, however many licenses expire.
        LicenseFilter { plan: Some(_), .. } => return Ok(false),
        LicenseFilter { state: Some((Status::Expired, now)), .. } => conn
            .query(
                "select count(*) from (
                     select 1 from licenses
                     where world = $1 and world > 0 and status = 'expired'
                     union all
                     select 1 from licenses
                     where world = $1 and world > 0 and expires_at <= $3
                     limit $2) found",
            )
            .bind_scope(scope)
            .bind(MANY_FOUND + 1)
            .bind(*now),
        LicenseFilter { expiring_before: Some(end), .. } => conn
            .query(
                "select count(*) from (
                     select 1 from licenses
                     where world = $1 and world > 0 and expires_at < $3
                     limit $2) found",
            )
            .bind_scope(scope)
            .bind(MANY_FOUND + 1)
            .bind(*end),
        _ => return Ok(false),
    };
    let (found,): (i64,) = query.fetch_one().await?;
    Ok(found > MANY_FOUND)
}

/// Which expiring licenses a list shows: those that match all given conditions.
#[derive(Clone, Copy)]
pub struct ExpiryFilter {
    pub product: Option<ProductId>,
    pub plan: Option<PlanId>,
    pub status: Option<Status>,
    /// Expiring at or after this.
    pub from: Timestamp,
    /// Expiring before this.
    pub to: Timestamp,
}

/// The licenses that expire after the given one, soonest first.
pub async fn by_expiry(
    conn: &mut Conn,
    scope: Scope,
    filter: &ExpiryFilter,
    after: Option<(Timestamp, LicenseId)>,
    limit: i64,
) -> Result<Vec<LicenseWithSeats>> {
    // The nil id sorts before all licenses that expire at the same time.
    let start = (filter.from, LicenseId::default());
    let (expires_at, id) = after.map_or(start, |after| after.max(start));
    let rows: Vec<CountedLicense> = conn
        .query(select_with_seats!(
            "world = $1 and world > 0 and (expires_at, id) > ($2, $3) and expires_at < $4
                 and (cast($5 as uuid) is null or product_id = $5)
                 and (cast($6 as text) is null or status = $6)
                 and (cast($7 as uuid) is null or plan_id = $7)
             order by expires_at, id limit $8"
        ))
        .bind_scope(scope)
        .bind(expires_at)
        .bind(id)
        .bind(filter.to)
        .bind(filter.product)
        .bind(filter.status)
        .bind(filter.plan)
        .bind(limit)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(LicenseWithSeats::from).collect())
}

/// A page of the licenses in force without free seats, all or those of a product or plan.
pub async fn full(
    conn: &mut Conn,
    scope: Scope,
    (product, plan): (Option<ProductId>, Option<PlanId>),
    now: Timestamp,
    page: Page<LicenseId>,
) -> Result<Vec<LicenseWithSeats>> {
    let rows: Vec<CountedLicense> = conn
        .query(paged!(
            page,
            select_with_seats!(
                "world = $1 and world > 0 and is_full and status = 'active'
                     and (expires_at is null or expires_at > $4)
                     and (cast($5 as uuid) is null or product_id = $5)
                     and (cast($6 as uuid) is null or plan_id = $6)"
            ),
            "id"
        ))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .bind(now)
        .bind(product)
        .bind(plan)
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
