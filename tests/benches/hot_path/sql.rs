//! All SQL of the benchmark, against the schema of licd: statements that seed a database, those
//! that the transaction-per-request server executes, and those that count seats afterwards.
//!
//! A seed consists of a few large statements, because a million users must not take minutes.
//! Foreign keys are not enforced during the seed, and the rows are consistent by construction.

use std::ops::Range;

/// Number of users who share a license.
pub const USERS_PER_LICENSE: u64 = 100;
/// Odd, so that no two users below 2^32 have the same name.
pub const SCATTER: u64 = 2_654_435_761;

/// Database for which a statement is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// Returns the engine of a database URL.
    pub fn of(url: &str) -> Self {
        if url.starts_with("sqlite") { Self::Sqlite } else { Self::Postgres }
    }
}

/// The live world of the one tenant.
const WORLD: u8 = 1;

/// The kinds of ids: a digit in the UUID of each seeded row.
const PRODUCT: u8 = 1;
const PLAN: u8 = 2;
pub const LICENSE: u8 = 3;
const USER: u8 = 4;
const ASSIGNMENT: u8 = 5;
const ACTIVATION: u8 = 6;

/// Returns the statements that each seeding connection executes first.
pub fn prologue(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "pragma foreign_keys = off",
        Engine::Postgres => "set session_replication_role = replica",
    }
}

/// Brings a seeded database to rest, with the planner's statistics up to date.
pub fn settle(engine: Engine) -> &'static [&'static str] {
    match engine {
        Engine::Sqlite => &["pragma wal_checkpoint(truncate)"],
        Engine::Postgres => &["vacuum (analyze)", "checkpoint"],
    }
}

/// Keeps PostgreSQL from ever analyzing the tables of the database.
pub const AUTOVACUUM_OFF: &str = "do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = current_schema() loop
        execute format('alter table %I set (autovacuum_enabled = false)', name);
    end loop;
end $$";

/// The product and the plan of all licenses.
pub fn catalog(engine: Engine) -> [String; 2] {
    let (product, plan) = (id(engine, PRODUCT, "0"), id(engine, PLAN, "0"));
    let (now, features) = (time(engine), features(engine));
    [
        format!(
            "insert into products (world, id, name, created_at, updated_at)
             select {WORLD}, {product}, 'Product', {now}, {now}"
        ),
        format!(
            "insert into plans (world, id, product_id, name, features, created_at, updated_at)
             select {WORLD}, {plan}, {product}, 'Plan', {features}, {now}, {now}"
        ),
    ]
}

/// The suffix of the license with the number `i`: its six lowest digits of five bits, backwards.
const SUFFIX: &str = "((i & 31) << 25) + (((i >> 5) & 31) << 20) + (((i >> 10) & 31) << 15)
    + (((i >> 15) & 31) << 10) + (((i >> 20) & 31) << 5) + ((i >> 25) & 31)";

/// Users who each hold a seat, on licenses that have as many seats left.
pub fn holders(engine: Engine, range: &Range<u64>) -> Vec<String> {
    let mut all = vec![licenses(engine, range, 2 * USERS_PER_LICENSE, USERS_PER_LICENSE)];
    all.extend(users(engine, range));
    all.push(assignments(engine, range, true));
    all
}

/// Users without a seat, on licenses that have exactly as many seats as users.
pub fn newcomers(engine: Engine, range: &Range<u64>) -> Vec<String> {
    let licenses = licenses(engine, range, USERS_PER_LICENSE, 0);
    let [users, phrases] = users(engine, range);
    vec![licenses, users, phrases, assignments(engine, range, false)]
}

/// Fills the licenses of the newcomers: one seat each, whose holder was checked just now.
pub fn fill(engine: Engine) -> Vec<String> {
    let now = match engine {
        Engine::Sqlite => "unixepoch() * 1000",
        Engine::Postgres => "now()",
    };
    let seats = format!(
        "insert into assignments (user_id, license_id, world, id, assigned_at, activation_id,
             activated_at, last_checked_at)
         select (select user_id from assignments where activation_id is not null limit 1),
             id, world, id, {now}, id, {now}, {now}
         from licenses where seats_used = 0"
    );
    let count = "update licenses set max_seats = 1, seats_used = 1 where seats_used = 0";
    vec![seats, count.to_owned()]
}

/// Makes all seats floating.
pub const FLOAT: &str = "update licenses set seat_idle_minutes = 60";

fn licenses(engine: Engine, range: &Range<u64>, seats: u64, used: u64) -> String {
    let licenses = range.start / USERS_PER_LICENSE..range.end / USERS_PER_LICENSE;
    let series = series(engine, &licenses);
    let (product, plan) = (id(engine, PRODUCT, "0"), id(engine, PLAN, "0"));
    let (license, now, features) = (id(engine, LICENSE, "i"), time(engine), features(engine));
    format!(
        "insert into licenses (world, id, product_id, plan_id, status, max_seats, seats_used,
             features, created_at, updated_at, suffix)
         select {WORLD}, {license}, {product}, {plan}, 'active', {seats}, {used}, {features},
             {now}, {now}, {SUFFIX} from {series}"
    )
}

/// Users, and the phrases by which they are found.
fn users(engine: Engine, range: &Range<u64>) -> [String; 2] {
    let (series, user, now) = (series(engine, range), id(engine, USER, "i"), time(engine));
    let name = match engine {
        Engine::Sqlite => format!("printf('%08x', (i * {SCATTER}) & 4294967295)"),
        Engine::Postgres => format!("lpad(to_hex((i * {SCATTER}) & 4294967295), 8, '0')"),
    };
    [
        format!(
            "insert into users (world, id, external_id, created_at, updated_at)
             select {WORLD}, {user}, 'user-' || {name}, {now}, {now} from {series}"
        ),
        format!(
            "insert into user_phrases (world, user_id, phrase)
             select {WORLD}, {user}, 'user ' || {name} from {series}
             union all select {WORLD}, {user}, {name} from {series}"
        ),
    ]
}

fn assignments(engine: Engine, range: &Range<u64>, seated: bool) -> String {
    let (series, now) = (series(engine, range), time(engine));
    let (user, license) = (id(engine, USER, "i"), license_of_user(engine));
    let (assignment, activation) = (id(engine, ASSIGNMENT, "i"), id(engine, ACTIVATION, "i"));
    let (columns, values) = match seated {
        true => (
            ", activation_id, activated_at, last_checked_at",
            format!(", {activation}, {now}, {now}"),
        ),
        false => ("", String::new()),
    };
    format!(
        "insert into assignments (world, user_id, license_id, id, assigned_at{columns})
         select {WORLD}, {user}, {license}, {assignment}, {now}{values} from {series}"
    )
}

fn license_of_user(engine: Engine) -> String {
    id(engine, LICENSE, &format!("i / {USERS_PER_LICENSE}"))
}

/// A UUIDv7 that grows with the number, as ids grow with time.
fn id(engine: Engine, kind: u8, number: &str) -> String {
    let head = format!("01900000000070008{kind}");
    match engine {
        Engine::Sqlite => format!("unhex('{head}' || printf('%014x', {number}))"),
        Engine::Postgres => {
            format!("cast('{head}' || lpad(to_hex(cast({number} as bigint)), 14, '0') as uuid)")
        }
    }
}

/// The numbers of the range, as a table with the column `i`.
fn series(engine: Engine, Range { start, end }: &Range<u64>) -> String {
    match engine {
        Engine::Sqlite => format!(
            "(with recursive number (i) as (select {start} where {start} < {end}
                 union all select i + 1 from number where i + 1 < {end}) select i from number)"
        ),
        Engine::Postgres => format!(
            "generate_series(cast({start} as bigint), cast({end} as bigint) - 1) as number (i)"
        ),
    }
}

fn time(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "1767225600000",
        Engine::Postgres => "cast('2026-01-01T00:00:00Z' as timestamptz)",
    }
}

fn features(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => r#"'["reports","export","single-sign-on"]'"#,
        Engine::Postgres => r#"cast('["reports","export","single-sign-on"]' as jsonb)"#,
    }
}

/// Counts the seats that are held.
pub const SEATS_HELD: &str = "select count(activation_id) from assignments";

/// Licenses whose counter is wrong, or that gave more seats than they have.
pub const MISCOUNTED: &str = "select count(*) from licenses l
    left join (
        select license_id, count(activation_id) as held from assignments group by license_id
    ) a on a.license_id = l.id
    where l.seats_used <> coalesce(a.held, 0) or coalesce(a.held, 0) > l.max_seats";

/// A transaction per request: the key that a caller presents.
pub const FIND_KEY: &str = "select k.world, w.tenant_id, w.mode
    from keys k join worlds w on w.id = k.world
    where hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)";

/// A transaction per request: a user's licenses, in the order of assignment.
pub const FIND_LICENSES: &str = "select u.id as user_id, l.id, l.product_id, l.plan_id, l.status,
        l.max_seats, l.seats_used, l.expires_at, l.features, false as features_omitted,
        l.created_at, l.updated_at,
        s.activation_id, s.activated_at, s.last_checked_at
    from users u
    join assignments s on s.user_id = u.id and s.world = u.world
    join licenses l on l.id = s.license_id and l.world = s.world
    where u.external_id = $2 and u.world = $1
    order by s.id";

/// A transaction per request: notes when the seat was last checked.
pub const TOUCH: &str = "update assignments set last_checked_at = $4
    where user_id = $2 and license_id = $3 and world = $1";
