//! The lists that people look at: a page reads about as many rows as it has, however many there are.

use std::collections::HashMap;

use chrono::Duration;
use common::{ApiKey, LicenseId, LicenseState, Mode, Name, SeatsTaken, Status, Timestamp};
use licd::db::Conn;
use licd::ops::tenants;
use licd::store::events::EventFilter;
use licd::store::licenses::LicenseFilter;
use licd::store::notices::End;
use licd::store::phrases::Search;
use licd::store::{
    Cursor, Found, MANY_FOUND, Page, Scope, assignments, events, key_uses, keys, license_keys,
    licenses, notices, plans, products, users, worlds,
};
use sqlx::PgConnection;
use sqlx::types::Uuid;

use super::{connect, most_read, rows_read, run, stop_autovacuum};
use crate::harness::TestDatabase;

/// Length of a page. The lists have 20,000 records in each of two worlds.
const PAGE: i64 = 10;
/// Maximum number of rows and of entries of indexes that a page reads: each record with its user,
/// its world or its name. The search for users reads three lists, and then the users whom it found.
const MOST_ROWS: i64 = 14 * PAGE;

/// A page of a search looks first whether it finds many, in an index and its table.
const MOST_OF_SEARCH: i64 = 2 * (MANY_FOUND + 1) + MOST_ROWS;

/// Two worlds with the same records: a page of one does not read the other.
const LOAD: [&str; 11] = [
    "create function pg_temp.id(n integer) returns uuid language sql as
     $$ select cast(lpad(to_hex(n), 32, '0') as uuid) $$",
    "insert into users (id, world, external_id, email, name, created_at, updated_at)
     select pg_temp.id(n * 2 + w), w, 'user-' || n, 'user-' || n || '@example.com',
         'User ' || n, now(), now()
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    "insert into user_phrases (user_id, world, phrase)
     select pg_temp.id(n * 2 + w), w, phrase
     from generate_series(1, 20000) n, generate_series(1, 2) w,
         lateral (values ('user ' || n), ('user ' || n || ' example com'), (cast(n as text)),
             ('example com')) as phrases (phrase)",
    "insert into products (id, world, name, created_at, updated_at)
     select pg_temp.id(n * 2 + w), w, 'Studio', now(), now()
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    "insert into plans (id, world, product_id, name, features, created_at, updated_at)
     select pg_temp.id(n * 2 + w), w, pg_temp.id(2 + w), 'Team', '[]', now(), now()
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    // All of one product and plan; of a hundred, one is suspended, and another one has no free seat.
    "insert into licenses (id, world, product_id, plan_id, status, max_seats, seats_used,
         expires_at, features, created_at, updated_at, suffix)
     select pg_temp.id(n * 2 + w), w, pg_temp.id(2 + w), pg_temp.id(2 + w),
         case when n % 100 = 0 then 'suspended' else 'active' end, 5,
         case when n % 100 = 1 then 5 else 4 end,
         timestamptz '2030-01-01' + n * interval '1 min', '[]', now(), now(), n
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    // Half of the names begin alike.
    "insert into license_phrases (license_id, world, phrase)
     select pg_temp.id(n * 2 + w), w,
         case n % 2 when 0 then 'acme ' else 'customer ' || n % 1000 || ' ' end || n
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    // All of one license, with twenty for each suffix.
    "insert into license_keys (id, world, license_id, suffix, hash, created_at)
     select pg_temp.id(n * 2 + w), w, pg_temp.id(2 + w), cast(n % 1000 as text),
         decode(lpad(to_hex(n * 2 + w), 64, '0'), 'hex'), now()
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    // All of one license, every other with a seat and claimed with one key.
    "insert into assignments (user_id, license_id, world, id, assigned_at, activation_id,
         activated_at, last_checked_at, claimed_with)
     select pg_temp.id(n * 2 + w), pg_temp.id(2 + w), w, pg_temp.id(n * 2 + w), now(),
         case n % 2 when 0 then gen_random_uuid() end, case n % 2 when 0 then now() end,
         case n % 2 when 0 then now() end, case n % 2 when 0 then pg_temp.id(2 + w) end
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    "insert into keys (id, world, name, prefix, role, created_at, hash)
     select pg_temp.id(n * 2 + w), w, 'app', 'sk_live_1234', 'read', now(),
         decode(lpad(to_hex(n * 2 + w), 64, '0'), 'hex')
     from generate_series(1, 20000) n, generate_series(1, 2) w",
    "insert into events (world, sequence, id, event_type, time, actor_type, subject_type,
         subject_id, external_id, related, object)
     select w, 1000 + n, gen_random_uuid(), 'user.updated', now(), 'key', 'user', 'usr_1', 'ada',
         '{}', '{}'
     from generate_series(1, 20000) n, generate_series(1, 2) w",
];

/// Of one key, in hours; it stands for keys that were used for as long.
const LOAD_USES: &str = "insert into key_uses (key_id, hour, count)
     select pg_temp.id(n * 2 + 1), date_trunc('hour', now()) - h * interval '1 hour', 1
     from generate_series(1, 100) n, generate_series(0, 199) h";

fn id<T: From<Uuid>>(n: u128) -> T {
    Uuid::from_u128(n * 2 + 1).into()
}

/// Ten records, before one in the middle of the list.
fn middle<C: Cursor + From<Uuid>>() -> Page<C> {
    Page::newest_first(Some(id(10_000)), PAGE)
}

/// Filtered lists come in parts, of which these have one.
trait Length {
    fn length(&self) -> i64;
}

impl<T> Length for Vec<T> {
    fn length(&self) -> i64 {
        self.len() as i64
    }
}

impl<K, V> Length for HashMap<K, V> {
    fn length(&self) -> i64 {
        self.len() as i64
    }
}

impl<T, C> Length for Found<T, C> {
    fn length(&self) -> i64 {
        self.records.length()
    }
}

/// Reads lists, and notes how many records each found.
macro_rules! read {
    ($conn:ident, $stats:ident; $($list:literal: $read:expr;)*) => {$(
        let found = $read.await.unwrap().length();
        $stats.note($conn, $list, found).await;
    )*};
}

async fn read_catalog(conn: &mut Conn, scope: Scope, stats: &mut Stats) {
    read! {
        conn, stats;
        "products": products::page(conn, scope, middle());
        "plans": plans::page(conn, scope, middle());
        "plans of a product": plans::page_of_product(conn, scope, id(1), middle());
        "names of products": products::names(conn, scope, (1..=10).map(id));
        "names of plans": plans::names(conn, scope, (1..=10).map(id));
    }
}

async fn read_licenses(conn: &mut Conn, scope: Scope, stats: &mut Stats) {
    let all = LicenseFilter::default;
    let of_plan = LicenseFilter { plan: Some(id(1)), ..all() };
    let of_product = LicenseFilter { product: Some(id(1)), ..all() };
    let active = LicenseFilter { status: Some(Status::Active), ..of_product.clone() };
    let suspended = LicenseFilter { status: Some(Status::Suspended), ..of_product.clone() };
    let named =
        |start: &str| LicenseFilter { search: Search::parse(start), ..LicenseFilter::default() };
    let in_state = |state, now: &str| LicenseFilter {
        state: Some((state, now.parse().unwrap())),
        ..LicenseFilter::default()
    };
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let before = |end| LicenseFilter {
        ends: Some((Timestamp::FIRST, time(end))),
        ..LicenseFilter::default()
    };
    let (from, to) = (time("2030-01-08T00:00:00Z"), time("2031-01-01T00:00:00Z"));
    let expiring = LicenseFilter { ends: Some((from, to)), ..all() };
    let some = LicenseFilter { ends: Some((from, to)), ..active.clone() };
    let full = LicenseFilter { seats: Some((SeatsTaken::Full, Timestamp::now())), ..all() };
    let soonest = Page::oldest_first((from, LicenseId::default()), PAGE);
    let later = Page::oldest_first((time("2030-01-12T00:00:00Z"), id(1)), PAGE);
    let license: LicenseId = id(1);
    read! {
        conn, stats;
        "licenses": licenses::page(conn, scope, &all(), middle());
        "of a plan": licenses::page(conn, scope, &of_plan, middle());
        "of a product": licenses::page(conn, scope, &of_product, middle());
        "active": licenses::page(conn, scope, &active, middle());
        "suspended": licenses::page(conn, scope, &suspended, middle());
        "in the state active": licenses::page(
            conn, scope, &in_state(LicenseState::Active, "2029-01-01T00:00:00Z"), middle());
        "in the state suspended": licenses::page(
            conn, scope, &in_state(LicenseState::Suspended, "2029-01-01T00:00:00Z"), middle());
        "few in the state expired": licenses::page(
            conn, scope, &in_state(LicenseState::Expired, "2030-01-01T00:20:00Z"), middle());
        "many in the state expired": licenses::page(
            conn, scope, &in_state(LicenseState::Expired, "2031-01-01T00:00:00Z"), middle());
        "few that end before": licenses::page(conn, scope, &before("2030-01-01T00:20:00Z"), middle());
        "many that end before": licenses::page(conn, scope, &before("2031-01-01T00:00:00Z"), middle());
        "few of a name": licenses::page(conn, scope, &named("customer/77 "), middle());
        "many of a name": licenses::page(conn, scope, &named("acme"), middle());
        "expiring": licenses::by_end(conn, scope, &expiring, soonest);
        "expiring later": licenses::by_end(conn, scope, &expiring, later);
        "active and expiring": licenses::by_end(conn, scope, &some, soonest);
        "ends to tell of": notices::ending(
            conn, End::Expiry, (from, LicenseId::default()), to, PAGE);
        "full": licenses::page(conn, scope, &full, middle());
        "holders": assignments::holders(conn, scope, license, Page::newest_first(None, PAGE));
        "waiting": assignments::waiting(conn, scope, license, middle());
        "assignments": assignments::page_of_license(conn, scope, license, None, middle());
        "claimed with a key": assignments::page_of_license(
            conn, scope, license, Some(id(1)), middle());
        "keys of a license": license_keys::page_of_license(conn, scope, license, middle());
        "keys with a suffix": license_keys::page_by_ending(conn, scope, "1234", middle());
    }
    let waiting = assignments::count_waiting(conn, scope, license, PAGE).await.unwrap();
    stats.note(conn, "count of waiting", waiting).await;
}

async fn read_events(conn: &mut Conn, scope: Scope, stats: &mut Stats) {
    let before = Page::newest_first(Some(11_000), PAGE);
    let all = EventFilter::default();
    let of_type = EventFilter { kind: Some("user.updated"), ..all };
    let of_subject = EventFilter { subject: Some("usr_1"), ..all };
    let of_user = EventFilter { user: Some("ada"), ..all };
    read! {
        conn, stats;
        "events": events::page(conn, scope, all, before);
        "events of a type": events::page(conn, scope, of_type, before);
        "events of a subject": events::page(conn, scope, of_subject, before);
        "events of a user": events::page(conn, scope, of_user, before);
    }
}

async fn read_users_and_keys(conn: &mut Conn, scope: Scope, stats: &mut Stats) {
    let user = Search::parse("user").unwrap();
    read! {
        conn, stats;
        "users": users::page(conn, scope, middle());
        "page of a search": users::search(conn, scope, &user, middle());
        "keys": keys::page(conn, scope, middle());
    }
    let found = users::search_some(conn, scope, &user, 2 * PAGE).await.unwrap().len() as i64;
    stats.note(conn, "search", found.min(PAGE)).await;
    let since = Timestamp::now().plus(-Duration::hours(PAGE));
    let uses = key_uses::count(conn, scope, id(1), since).await.unwrap();
    stats.note(conn, "uses of a key", uses).await;
}

async fn read_lists(conn: &mut Conn, scope: Scope, stats: &mut Stats) {
    read_catalog(conn, scope, stats).await;
    read_licenses(conn, scope, stats).await;
    read_events(conn, scope, stats).await;
    read_users_and_keys(conn, scope, stats).await;
}

/// Results and reads of each list.
struct Stats {
    observer: PgConnection,
    before: i64,
    lists: HashMap<&'static str, (i64, i64)>,
}

impl Stats {
    async fn note(&mut self, conn: &mut Conn, list: &'static str, found: i64) {
        let report = "select pg_stat_force_next_flush()";
        conn.query(report).execute().await.unwrap();
        conn.query("select 1").execute().await.unwrap();
        let read = rows_read(&mut self.observer).await;
        self.lists.insert(list, (found, read - self.before));
        self.before = read;
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL, which counts the rows it reads"]
async fn a_page_reads_as_many_rows_as_it_has() {
    // No licd serves, because the reads of its tasks would count.
    let database = TestDatabase::ready().await;
    let db = database.open().await;
    assert!(tenants::bootstrap(&db, &ApiKey::generate(Mode::Live), || true).await.unwrap());
    let mut observer = connect(&database).await;
    stop_autovacuum(&mut observer).await;
    let mut conn = db.read().await.unwrap();
    let name = Name::from_static("default");
    let scope = worlds::find_by_name(&mut conn, &name, Mode::Live).await.unwrap().unwrap();
    assert_eq!(scope.world.number(), 1);
    let mut stats = Stats { before: 0, observer, lists: HashMap::new() };
    // Planned on empty tables, which nothing analyzes.
    read_lists(&mut conn, scope, &mut stats).await;
    for statement in LOAD.iter().chain([&LOAD_USES]) {
        run(&mut stats.observer, statement).await;
    }
    run(&mut stats.observer, "select pg_stat_force_next_flush()").await;
    for tables in ["never analyzed", "analyzed"] {
        stats.before = rows_read(&mut stats.observer).await;
        read_lists(&mut conn, scope, &mut stats).await;
        for (list, (found, read)) in &stats.lists {
            assert_eq!(*found, PAGE, "{list}, {tables}");
            let most_read = most_read(&mut stats.observer).await;
            let is_counted = *list == "page of a search" || list.starts_with("many ");
            let most = if is_counted { MOST_OF_SEARCH } else { MOST_ROWS };
            assert!(*read <= most, "{list}, {tables}: {read} rows, {most_read:?}");
        }
        run(&mut stats.observer, "analyze").await;
        run(&mut stats.observer, "select pg_stat_force_next_flush()").await;
    }
}
