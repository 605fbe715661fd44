//! The worlds that are measured in: users who hold a seat, and newcomers who have yet to take one.
//!
//! Made with a few large statements, as a million users must not take minutes. Foreign keys are not
//! looked at meanwhile; what is made here fits together.

/// How many users share a license.
const USERS_PER_LICENSE: u64 = 100;

/// Which database the statements are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// The caller's own name of a user. Neighbours in number are far apart in order, as names are.
pub fn external_id(user: u64) -> String {
    format!("user-{:08x}", user.wrapping_mul(SCATTER) & 0xffff_ffff)
}

/// Odd, so that no two users below 2^32 have the same name.
const SCATTER: u64 = 2_654_435_761;

/// The statements that make `users` who hold a seat, and `newcomers` after them, whose licenses
/// have exactly as many seats as there are newcomers.
pub fn statements(engine: Engine, users: u64, newcomers: u64) -> Vec<String> {
    let before = match engine {
        Engine::Sqlite => "pragma foreign_keys = off",
        Engine::Postgres => "set session_replication_role = replica",
    };
    let mut all = vec![before.to_owned(), "begin".to_owned()];
    all.extend(catalog(engine));
    let end = users + newcomers;
    all.push(licenses(engine, 0, users, 2 * USERS_PER_LICENSE, USERS_PER_LICENSE));
    all.push(licenses(engine, users, end, USERS_PER_LICENSE, 0));
    all.push(people(engine, end));
    all.push(assignments(engine, end));
    all.push(activations(engine, users));
    all.push("commit".to_owned());
    let after: &[&str] = match engine {
        Engine::Sqlite => &["pragma wal_checkpoint(truncate)"],
        Engine::Postgres => &["vacuum (analyze)", "checkpoint"],
    };
    all.extend(after.iter().map(|statement| (*statement).to_owned()));
    all
}

const TENANT: &str = "(select id from tenants)";

fn catalog(engine: Engine) -> [String; 2] {
    let (product, plan) = (id(engine, PRODUCT, "0"), id(engine, PLAN, "0"));
    let (now, features) = (time(engine), features(engine));
    [
        format!(
            "insert into products (tenant_id, mode, id, name, created_at, updated_at)
             select {TENANT}, 'live', {product}, 'Product', {now}, {now}"
        ),
        format!(
            "insert into plans (tenant_id, mode, id, product_id, name, features, created_at,
                 updated_at)
             select {TENANT}, 'live', {plan}, {product}, 'Plan', {features}, {now}, {now}"
        ),
    ]
}

/// The licenses of the users from `begin` to `end`.
fn licenses(engine: Engine, begin: u64, end: u64, seats: u64, used: u64) -> String {
    let series = series(engine, begin / USERS_PER_LICENSE, end / USERS_PER_LICENSE);
    let (product, plan) = (id(engine, PRODUCT, "0"), id(engine, PLAN, "0"));
    let (license, now, features) = (id(engine, LICENSE, "i"), time(engine), features(engine));
    format!(
        "insert into licenses (tenant_id, mode, id, product_id, plan_id, status, max_seats,
             seats_used, features, created_at, updated_at)
         select {TENANT}, 'live', {license}, {product}, {plan}, 'active', {seats}, {used},
             {features}, {now}, {now} from {series}"
    )
}

fn people(engine: Engine, end: u64) -> String {
    let (series, user, now) = (series(engine, 0, end), id(engine, USER, "i"), time(engine));
    let name = match engine {
        Engine::Sqlite => format!("printf('user-%08x', (i * {SCATTER}) & 4294967295)"),
        Engine::Postgres => {
            format!("'user-' || lpad(to_hex((i * {SCATTER}) & 4294967295), 8, '0')")
        }
    };
    format!(
        "insert into users (tenant_id, mode, id, external_id, created_at, updated_at)
         select {TENANT}, 'live', {user}, {name}, {now}, {now} from {series}"
    )
}

fn assignments(engine: Engine, end: u64) -> String {
    let (series, now) = (series(engine, 0, end), time(engine));
    let (user, license) = (id(engine, USER, "i"), license_of_user(engine));
    let assignment = id(engine, ASSIGNMENT, "i");
    format!(
        "insert into assignments (tenant_id, mode, user_id, license_id, id, assigned_at)
         select {TENANT}, 'live', {user}, {license}, {assignment}, {now} from {series}"
    )
}

fn activations(engine: Engine, end: u64) -> String {
    let (series, now) = (series(engine, 0, end), time(engine));
    let (user, license) = (id(engine, USER, "i"), license_of_user(engine));
    let activation = id(engine, ACTIVATION, "i");
    format!(
        "insert into activations (tenant_id, mode, user_id, license_id, id, activated_at,
             last_checked_at)
         select {TENANT}, 'live', {user}, {license}, {activation}, {now}, {now} from {series}"
    )
}

fn license_of_user(engine: Engine) -> String {
    id(engine, LICENSE, &format!("i / {USERS_PER_LICENSE}"))
}

const PRODUCT: u8 = 1;
const PLAN: u8 = 2;
const LICENSE: u8 = 3;
const USER: u8 = 4;
const ASSIGNMENT: u8 = 5;
const ACTIVATION: u8 = 6;

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

/// The numbers from `begin` up to, and without, `end`, as a table with the column `i`.
fn series(engine: Engine, begin: u64, end: u64) -> String {
    match engine {
        Engine::Sqlite => format!(
            "(with recursive number (i) as (select {begin} where {begin} < {end}
                 union all select i + 1 from number where i + 1 < {end}) select i from number)"
        ),
        Engine::Postgres => format!(
            "generate_series(cast({begin} as bigint), cast({end} as bigint) - 1) as number (i)"
        ),
    }
}

fn time(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "'2026-01-01T00:00:00+00:00'",
        Engine::Postgres => "cast('2026-01-01T00:00:00Z' as timestamptz)",
    }
}

fn features(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => r#"'["reports","export","single-sign-on"]'"#,
        Engine::Postgres => r#"cast('["reports","export","single-sign-on"]' as jsonb)"#,
    }
}
