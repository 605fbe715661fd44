//! Filters that match little of a long list: a match at the far end is found, by statements of
//! which each looks at a limited number of rows.

use common::{
    EventId, LicenseId, Mode, Name, PlanId, ProductId, Reason, SeatsTaken, Status, Timestamp,
    UserId,
};
use licd::db::Sql;
use licd::store::events::{self, EventFilter};
use licd::store::licenses::{self, LicenseFilter, Suffixes};
use licd::store::outcomes::{self, RefusalFilter};
use licd::store::phrases::Search;
use licd::store::{Collected, Page, Scope, users, worlds};
use serde_json::json;

use crate::harness::App;

/// Of all licenses.
const END: &str = "2031-01-01T00:00:00Z";

/// Inserts rows for the numbers `n` up to 25,000, each with an `id` of that number, into the world
/// `$1`, as of now, `$2`.
macro_rules! fill {
    ($into:literal, $select:literal) => {
        Sql::Each {
            sqlite: fill!($into, $select, "unhex(printf('%032x', n))"),
            postgres: fill!($into, $select, "cast(lpad(to_hex(n), 32, '0') as uuid)"),
        }
    };
    ($into:literal, $select:literal, $id:literal) => {
        concat!(
            "insert into ",
            $into,
            " with recursive numbers (n) as (
                 select 1 union all select n + 1 from numbers where n < 25000),
             ids (n, id) as (select n, ",
            $id,
            " from numbers) select ",
            $select,
            " from ids"
        )
    };
}

const LICENSES: Sql = fill!(
    "licenses (world, created_at, updated_at, expires_at, product_id, plan_id, id, status,
         max_seats, seats_used, features, suffix)",
    "$1, $2, $2, $2, $3, case when n = 25000 then $5 else $4 end, id,
     case when n = 24999 then 'suspended' else 'active' end, 1, 1, '[]', n"
);
const USERS: Sql =
    fill!("users (world, created_at, updated_at, id, external_id)", "$1, $2, $2, id, 'user-' || n");
const PHRASES: Sql = fill!(
    "user_phrases (world, user_id, phrase)",
    "$1, id, case when n > 22000 then 'needle ' else 'hay ' end || n"
);
const REFUSALS: Sql = fill!(
    "refusals (world, hour, first_at, last_at, external_id, reason, id, count)",
    "$1, $2, $2, $2, 'user-' || n, case when n = 1 then 'revoked' else 'expired' end, id, 1"
);
/// With one id, which says that they are not old.
const EVENTS: Sql = fill!(
    "events (world, time, sequence, id, event_type, actor_type, subject_type, subject_id,
         external_id, related, object)",
    "$1, $2, 1000000 + n, $3, case when n = 25000 then 'user.deleted' else 'user.updated' end,
     'key', 'user', 'usr_1', 'ada', '{}', '{}'"
);

/// Counts the parts of a page, and the records that they have together.
macro_rules! parts {
    ($page:expr, |$part:ident| $find:expr) => {{
        let (mut found, mut parts) = (Collected::new($page), 0);
        while let Some($part) = found.next {
            found.add($find.await.unwrap());
            parts += 1;
        }
        (parts, found.records.len())
    }};
}

/// Two plans of one product, the second with only the last license.
struct Filled {
    app: App,
    scope: Scope,
    plans: [PlanId; 2],
}

async fn filled() -> Filled {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let mut plans = [PlanId::default(); 2];
    for plan in &mut plans {
        *plan = app.plan_of(&product, json!({})).await.parse().unwrap();
    }
    let mut conn = app.db().write().await.unwrap();
    let name = Name::from_static("default");
    let scope = worlds::find_by_name(&mut conn, &name, Mode::Live).await.unwrap().unwrap();
    let (end, product) = (END.parse::<Timestamp>().unwrap(), product.parse::<ProductId>().unwrap());
    let licenses = conn.query(LICENSES).bind_scope(scope).bind(end).bind(product);
    licenses.bind(plans[0]).bind(plans[1]).execute().await.unwrap();
    let now = Timestamp::now();
    for rows in [USERS, REFUSALS] {
        conn.query(rows).bind_scope(scope).bind(now).execute().await.unwrap();
    }
    let events = conn.query(EVENTS).bind_scope(scope).bind(now);
    events.bind(EventId::new(now)).execute().await.unwrap();
    conn.query(PHRASES).bind_scope(scope).execute().await.unwrap();
    drop(conn);
    Filled { app, scope, plans }
}

#[tokio::test]
async fn what_a_filter_leaves_of_a_long_list_is_read_in_parts() {
    let Filled { app, scope, plans: [plan, last_plan] } = filled().await;
    let conn = &mut app.db().read().await.unwrap();
    let of_plan = LicenseFilter { plan: Some(plan), ..LicenseFilter::default() };
    let suspended = &LicenseFilter { status: Some(Status::Suspended), ..of_plan.clone() };
    let all = Page::oldest_first(LicenseId::default(), 30_000);
    let [from, to] = ["2030-01-01T00:00:00Z", "2032-01-01T00:00:00Z"];
    let [from, to] = [from, to].map(|time| time.parse::<Timestamp>().unwrap());
    let of_last = LicenseFilter { plan: Some(last_plan), ..LicenseFilter::default() };
    let ending = &LicenseFilter { ends: Some((from, to)), ..of_last.clone() };
    let by_end = Page::oldest_first((from, LicenseId::default()), 5);
    let needle = &Search::parse("needle").unwrap();
    let revoked = &RefusalFilter { reason: Some(Reason::Revoked), ..RefusalFilter::default() };
    let deleted = EventFilter {
        subject: Some("usr_1"),
        kind: Some("user.deleted"),
        ..EventFilter::default()
    };
    let full = &LicenseFilter { seats: Some((SeatsTaken::Full, from)), ..of_last };
    let found = [
        parts!(all, |part| licenses::page(conn, scope, suspended, part)),
        parts!(by_end, |part| licenses::by_end(conn, scope, ending, part)),
        parts!(all, |part| licenses::page(conn, scope, full, part)),
        parts!(Page::oldest_first(UserId::default(), 5), |part| users::search(
            conn, scope, needle, part
        )),
        parts!(Page::newest_first(None, 5), |part| outcomes::refusals(conn, scope, revoked, part)),
        parts!(Page::oldest_first(0, 5), |part| events::page(conn, scope, deleted, part)),
    ];
    assert_eq!(found, [(3, 1), (4, 1), (3, 1), (4, 5), (4, 1), (4, 1)]);
    // Without another condition, all that is looked at is found.
    let whole = parts!(all, |part| licenses::page(conn, scope, &of_plan, part));
    assert_eq!(whole, (1, 24_999));
    // Nor is anything left out where a filter has an index, but matches many.
    let ends = |last| LicenseFilter {
        suffixes: Some(Suffixes { first: 0, last }),
        ends: Some((Timestamp::FIRST, to)),
        ..LicenseFilter::default()
    };
    for (last, count) in [(100, (1, 100)), ((1 << 25) - 1, (3, 25_000))] {
        assert_eq!(parts!(all, |part| licenses::page(conn, scope, &ends(last), part)), count);
    }
}

#[tokio::test]
async fn a_caller_sees_no_parts() {
    let Filled { app, plans: [plan, _], .. } = filled().await;
    for (path, id) in [
        (format!("licenses?planId={plan}&status=suspended"), "maxSeats"),
        ("refusals?reason=revoked".to_owned(), "reason"),
        ("events?subject=usr_1&type=user.deleted".to_owned(), "sequence"),
    ] {
        let found = app.get(&format!("/api/v1/admin/{path}")).await;
        assert_eq!(found.list().len(), 1, "{path}");
        assert!(!found.list()[0][id].is_null(), "{path}");
        assert_eq!(found.body["nextCursor"], json!(null), "{path}");
    }
    let users = app.get("/api/v1/admin/users?search=needle&limit=2").await;
    assert_eq!(users.each("externalId"), ["user-22001", "user-22002"]);
    let next = users.body["nextCursor"].as_str().unwrap();
    let more = app.get(&format!("/api/v1/admin/users?search=needle&limit=1&after={next}")).await;
    assert_eq!(more.each("externalId"), ["user-22003"]);
}
