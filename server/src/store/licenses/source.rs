//! The filter of a list of licenses, and how the licenses that match it are found.

use common::{
    ExternalId, LicenseId, LicenseState, PlanId, ProductId, SeatsTaken, Status, Timestamp,
};

use super::columns;
use crate::db::{Conn, Query, Result};
use crate::store::page::{paged, scanned, stop};
use crate::store::phrases::{self, Named, Search, has_phrase};
use crate::store::{MANY_FOUND, Page, Scope};

/// Filter of a list of licenses. All given conditions must match.
#[derive(Clone, Default, PartialEq)]
pub struct LicenseFilter {
    pub plan: Option<PlanId>,
    pub product: Option<ProductId>,
    pub status: Option<Status>,
    /// The state at this time: an active license that has ended counts as expired, or in grace.
    pub state: Option<(LicenseState, Timestamp)>,
    /// Assigned to this user.
    pub user: Option<ExternalId>,
    /// With an end at or after the first time and before the second.
    pub ends: Option<(Timestamp, Timestamp)>,
    /// In force at this time, with this share of the seats taken.
    pub seats: Option<(SeatsTaken, Timestamp)>,
    /// Of plans that are trials, or are none.
    pub trial: Option<bool>,
    /// Whose ids have one of these suffixes.
    pub suffixes: Option<Suffixes>,
    /// With words of the name or metadata.
    pub search: Option<Search>,
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

    /// Whether at most one of 32,768 licenses has one.
    fn are_few(self) -> bool {
        self.last - self.first < 1 << 15
    }

    /// All ids that share their last `characters` characters with `id`.
    pub fn ending_like(id: LicenseId, characters: u32) -> Self {
        let open = 5 * Self::CHARACTERS.saturating_sub(characters);
        let Self { first, .. } = Self::of(id);
        Self { first: first >> open << open, last: first | ((1 << open) - 1) }
    }
}

/// The conditions of a filter; a user is a source.
macro_rules! conditions {
    () => {
        concat!(
            "(cast($6 as uuid) is null or plan_id = $6)
         and (cast($7 as uuid) is null or product_id = $7)
         and (cast($8 as text) is null or status = $8)
         and (cast($9 as timestamptz) is null or expires_at >= $9 and expires_at < $20)
         and (cast($10 as integer) is null or suffix between $10 and $11)
         and (cast($12 as text) is null or $12 = case
             when status = 'active' and grace_ends_at > $13 and expires_at <= $13 then 'grace'
             when status = 'active' and expires_at <= $13 then 'expired'
             else status end)
         and ",
            has_word!("$14", "$15"),
            " and ",
            has_word!("$16", "$17"),
            " and ",
            has_word!("$18", "$19"),
            " and (cast($21 as text) is null or (
                 is_full and status = 'active' and ($21 = 'full' or seats_used > max_seats)
                 and (expires_at is null or coalesce(grace_ends_at, expires_at) > $22)))
             and (cast($23 as boolean) is null or $23 = (
                 select p.trial from plans p where p.id = licenses.plan_id and p.world = $1))"
        )
    };
}

/// The condition that a license has a phrase in a range.
macro_rules! has_word {
    ($from:literal, $until:literal) => {
        has_phrase!("license_phrases", "license_id", "licenses.id", $from, $until)
    };
}

/// The statement that adds up the licenses that match a filter among the first `$4` of `$found`.
macro_rules! totals {
    ($found:expr) => {
        concat!(
            "select count(*) as licenses, coalesce(sum(max_seats), 0) as seats,
                 count(*) - count(max_seats) as unlimited, coalesce(sum(seats_used), 0) as held
             from (select max_seats, seats_used from (",
            $found,
            " limit $4) licenses where id > $2 and ",
            conditions!(),
            " limit $3) found"
        )
    };
}

/// The statement that reads a page of a few licenses. Its limit makes PostgreSQL read them before
/// sorting. Otherwise it would scan all licenses in the order of the page.
macro_rules! few {
    ($page:expr, $few:literal) => {{
        macro_rules! select_few {
            ($rest:expr) => {
                concat!("select ", columns!(), " from (", $few, " limit $4) licenses where ", $rest)
            };
        }
        Statements {
            page: paged!($page, select_few!(conditions!()), "id"),
            stop: None,
            totals: totals!($few),
        }
    }};
}

/// The statements of a source in the order of the list.
macro_rules! found_by {
    ($page:expr, $condition:literal) => {
        Statements {
            page: scanned!(
                $page,
                columns!(),
                "licenses" where concat!("world = $1 and world > 0 and ", $condition),
                conditions!(),
                "id"
            ),
            stop: Some(stop!(
                $page,
                "licenses" where concat!("world = $1 and world > 0 and ", $condition),
                "id"
            )),
            totals: totals!(concat!(
                "select * from licenses where world = $1 and world > 0 and ",
                $condition
            )),
        }
    };
}

/// The licenses after one in the order of their ends.
macro_rules! by_end {
    () => {
        "select * from licenses where world = $1 and world > 0
             and (expires_at, id) > ($5, $2) and expires_at < $20"
    };
}

/// The index in which the licenses of a filter are found, with what is looked up in it, `$5`; the
/// other conditions filter them.
pub enum Source<'a> {
    // These are in another order, but few, so all are read.
    User(&'a ExternalId),
    Suffix(i32),
    Name(&'a str),
    Expired(Timestamp),
    Ending,
    // These are in the order of the list.
    Plan(PlanId),
    Product(ProductId),
    Full,
    Status(Status),
    World,
    // These are in the order of their ends, and begin after this one.
    ByEnd(Timestamp),
}

/// The statements of a source: they read a page, find where it stops if the source is in the order of
/// the list, and add up what matches.
pub struct Statements {
    pub page: &'static str,
    pub stop: Option<&'static str>,
    pub totals: &'static str,
}

impl<'a> Source<'a> {
    /// The source of a filter, whose words of a search may be put in another order.
    pub async fn find(
        conn: &mut Conn,
        scope: Scope,
        filter: &'a mut LicenseFilter,
    ) -> Result<(Self, &'a LicenseFilter)> {
        let is_few = !finds_many(conn, scope, filter).await?;
        Ok((Self::of(filter, is_few), filter))
    }

    /// `is_few`: the part of the filter whose index has another order matches only a few.
    fn of(filter: &'a LicenseFilter, is_few: bool) -> Self {
        match filter {
            LicenseFilter { user: Some(user), .. } => Self::User(user),
            LicenseFilter { suffixes: Some(suffixes), .. } if suffixes.are_few() => {
                Self::Suffix(suffixes.first)
            }
            LicenseFilter { search: Some(search), .. } if is_few => Self::Name(&search.first.from),
            LicenseFilter { seats: Some(_), .. } => Self::Full,
            LicenseFilter { plan: Some(plan), .. } => Self::Plan(*plan),
            // Few licenses are not active, whatever the product.
            LicenseFilter { status: Some(status), .. } if *status != Status::Active => {
                Self::Status(*status)
            }
            LicenseFilter { state: Some((LicenseState::Suspended, _)), .. } => {
                Self::Status(Status::Suspended)
            }
            LicenseFilter { state: Some((LicenseState::Revoked, _)), .. } => {
                Self::Status(Status::Revoked)
            }
            LicenseFilter { state: Some((state, now)), .. }
                if is_few && *state != LicenseState::Active =>
            {
                Self::Expired(*now)
            }
            LicenseFilter { ends: Some(_), .. } if is_few => Self::Ending,
            LicenseFilter { product: Some(product), .. } => Self::Product(*product),
            LicenseFilter { status: Some(status), .. } => Self::Status(*status),
            LicenseFilter {
                state: Some((LicenseState::Active | LicenseState::Grace, _)), ..
            } => Self::Status(Status::Active),
            _ => Self::World,
        }
    }

    pub fn statements(&self, page: Page<LicenseId>) -> Statements {
        match self {
            Self::User(_) => few!(
                page,
                "select * from licenses where world = $1 and id in (
                     select s.license_id from users u
                     join assignments s on s.user_id = u.id and s.world = u.world
                     where u.external_id = $5 and u.world = $1)"
            ),
            Self::Suffix(_) => few!(
                page,
                "select * from licenses
                 where world = $1 and world > 0 and suffix >= $5 and suffix <= $11"
            ),
            Self::Name(_) => few!(
                page,
                "select * from licenses where world = $1 and id in (
                     select license_id from license_phrases
                     where world = $1 and world > 0 and phrase >= $5 and phrase < $15)"
            ),
            // No index is used for a `case`, so the second part is not read by status.
            Self::Expired(_) => few!(
                page,
                "select * from licenses where world = $1 and world > 0 and status = 'expired'
                 union all select * from licenses
                 where world = $1 and world > 0 and expires_at <= $5
                     and case status when 'active' then true else false end"
            ),
            Self::Ending => few!(
                page,
                "select * from licenses where world = $1 and world > 0 and expires_at >= $9
                     and expires_at < $20 and cast($5 as text) is null"
            ),
            Self::Plan(_) => found_by!(page, "plan_id = $5"),
            Self::Product(_) => found_by!(page, "product_id = $5"),
            // Repeated, because with few statuses PostgreSQL would otherwise read all licenses.
            Self::Status(_) => found_by!(page, "status = $5 and status >= $5"),
            Self::Full => {
                found_by!(page, "is_full and status = 'active' and cast($5 as text) is null")
            }
            Self::World => found_by!(page, "cast($5 as text) is null"),
            Self::ByEnd(_) => Statements {
                page: concat!(
                    "select ",
                    columns!(),
                    " from (",
                    by_end!(),
                    " order by expires_at, id limit $4) licenses where ",
                    conditions!(),
                    " order by expires_at, id limit $3"
                ),
                stop: None,
                totals: totals!(by_end!()),
            },
        }
    }

    pub fn bind<'q>(&self, query: Query<'q>) -> Query<'q> {
        match self {
            Self::User(user) => query.bind(*user),
            Self::Suffix(first) => query.bind(*first),
            Self::Name(from) => query.bind(*from),
            Self::Expired(time) | Self::ByEnd(time) => query.bind(*time),
            Self::Plan(id) => query.bind(*id),
            Self::Product(id) => query.bind(*id),
            Self::Status(status) => query.bind(*status),
            Self::Ending | Self::Full | Self::World => query.bind(None::<&str>),
        }
    }

    /// Limits the number of licenses that a statement looks at.
    pub fn scan(&self, filter: &LicenseFilter, page: Page<LicenseId>) -> Page<LicenseId> {
        let none = LicenseFilter::default();
        let found = match self {
            Self::Plan(_) => LicenseFilter { plan: filter.plan, ..none },
            Self::Product(_) => LicenseFilter { product: filter.product, ..none },
            Self::Status(_) => LicenseFilter { status: filter.status, ..none },
            Self::World => none,
            Self::Full | Self::ByEnd(_) => return page,
            _ => return page.scanning_most(),
        };
        if found == *filter { page.without_filter() } else { page }
    }
}

/// Whether more than [`MANY_FOUND`] licenses match the part of the filter whose index is not in the
/// order of ids. It reads no more of that index.
async fn finds_many(conn: &mut Conn, scope: Scope, filter: &mut LicenseFilter) -> Result<bool> {
    let query = match filter {
        LicenseFilter { user: Some(_), .. } => return Ok(false),
        LicenseFilter { suffixes: Some(suffixes), .. } if suffixes.are_few() => return Ok(false),
        LicenseFilter { search: Some(search), .. } => {
            return Ok(!phrases::put_rare_first(conn, scope, Named::Licenses, search).await?);
        }
        // These indexes are used, however many licenses expire.
        LicenseFilter { seats: Some(_), .. } | LicenseFilter { plan: Some(_), .. } => {
            return Ok(false);
        }
        LicenseFilter {
            state: Some((LicenseState::Expired | LicenseState::Grace, now)), ..
        } => conn
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
        LicenseFilter { ends: Some((from, before)), .. } => conn
            .query(
                "select count(*) from (
                     select 1 from licenses
                     where world = $1 and world > 0 and expires_at >= $3 and expires_at < $4
                     limit $2) found",
            )
            .bind_scope(scope)
            .bind(MANY_FOUND + 1)
            .bind(*from)
            .bind(*before),
        _ => return Ok(false),
    };
    let (found,): (i64,) = query.fetch_one().await?;
    Ok(found > MANY_FOUND)
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
