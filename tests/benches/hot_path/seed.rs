//! Seeded databases: the schema of licd, a tenant with an admin key, and users with licenses.

use std::ops::Range;
use std::path::Path;

use common::{ApiKey, LicenseId};
use licd::db::{DatabaseUrl, Db};
use licd::ops::tenants;
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection, raw_sql};

use crate::cluster::Cluster;
use crate::sql::{self, Engine, LICENSE, SCATTER, USERS_PER_LICENSE};

/// Number of users in a database.
#[derive(Clone, Copy)]
pub struct Size {
    /// Users who hold a seat. They come first.
    pub users: u64,
    /// Users who have a license and no seat yet.
    pub newcomers: u64,
}

/// Number of users while a database that is never analyzed is first validated against.
/// PostgreSQL plans for tables as small as this as it plans for empty ones.
pub const FIRST_USERS: u64 = USERS_PER_LICENSE;

/// The caller's own name of a user. Neighbours in number are far apart in order, as names are.
pub fn external_id(user: u64) -> String {
    format!("user-{:08x}", user.wrapping_mul(SCATTER) & 0xffff_ffff)
}

/// The license that is assigned to a user.
pub fn license_of(user: u64) -> LicenseId {
    let head = 0x0190_0000_0000_7000_8000_0000_0000_0000 | u128::from(LICENSE) << 56;
    LicenseId::from(Uuid::from_u128(head | u128::from(user / USERS_PER_LICENSE)))
}

/// Makes an SQLite database in `folder` and returns its address.
pub async fn sqlite(folder: &Path, name: &str, key: &ApiKey, size: Size) -> anyhow::Result<String> {
    let url = format!("sqlite://{}", folder.join(name).display());
    create_schema(&url, key).await?;
    execute(&url, statements(Engine::Sqlite, size)).await?;
    Ok(url)
}

/// Makes a database in `cluster` and returns its address.
pub async fn postgres(
    cluster: &Cluster,
    name: &str,
    key: &ApiKey,
    size: Size,
) -> anyhow::Result<String> {
    let url = create_database(cluster, name, key).await?;
    execute(&url, statements(Engine::Postgres, size)).await?;
    Ok(url)
}

/// Creates a database in `cluster` that PostgreSQL never analyzes, with only its first users.
pub async fn postgres_unanalyzed(
    cluster: &Cluster,
    name: &str,
    key: &ApiKey,
) -> anyhow::Result<String> {
    let url = create_database(cluster, name, key).await?;
    let mut all = vec![sql::AUTOVACUUM_OFF.to_owned()];
    all.extend(sql::catalog(Engine::Postgres));
    execute(&url, all).await?;
    add_holders(&url, 0..FIRST_USERS).await?;
    Ok(url)
}

/// Adds users who hold a seat to a database on PostgreSQL, and nothing that would analyze it.
pub async fn add_holders(url: &str, range: Range<u64>) -> anyhow::Result<()> {
    let mut all = vec![sql::prologue(Engine::Postgres).to_owned()];
    all.extend(sql::holders(Engine::Postgres, &range));
    execute(url, all).await
}

/// Leaves no seat to the newcomers of a database, and makes all seats floating if asked to.
pub async fn fill(url: &str, floating: bool) -> anyhow::Result<()> {
    let mut all = sql::fill(Engine::of(url));
    all.extend(floating.then(|| sql::FLOAT.to_owned()));
    execute(url, all).await
}

async fn create_database(cluster: &Cluster, name: &str, key: &ApiKey) -> anyhow::Result<String> {
    execute(&cluster.url("postgres"), vec![format!("create database {name}")]).await?;
    let url = cluster.url(name);
    create_schema(&url, key).await?;
    Ok(url)
}

async fn create_schema(url: &str, key: &ApiKey) -> anyhow::Result<()> {
    let db = Db::open(&url.parse::<DatabaseUrl>()?).await?;
    tenants::bootstrap(&db, key, || true).await?;
    db.close().await;
    Ok(())
}

fn statements(engine: Engine, size: Size) -> Vec<String> {
    let end = size.users + size.newcomers;
    let mut all = vec![sql::prologue(engine).to_owned(), "begin".to_owned()];
    all.extend(sql::catalog(engine));
    all.extend(sql::holders(engine, &(0..size.users)));
    all.extend(sql::newcomers(engine, &(size.users..end)));
    all.push("commit".to_owned());
    all.extend(sql::settle(engine).iter().map(|&statement| statement.to_owned()));
    all
}

async fn execute(url: &str, statements: Vec<String>) -> anyhow::Result<()> {
    if Engine::of(url) == Engine::Sqlite {
        let mut connection = SqliteConnection::connect(url).await?;
        for statement in statements {
            raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
        }
        connection.close().await?;
    } else {
        let mut connection = PgConnection::connect(url).await?;
        for statement in statements {
            raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
        }
        connection.close().await?;
    }
    Ok(())
}

/// Counts the seats that are held, and the licenses whose counter is wrong.
pub async fn count_seats(url: &str) -> anyhow::Result<(u64, u64)> {
    Ok((count(url, sql::SEATS_HELD).await?, count(url, sql::MISCOUNTED).await?))
}

pub async fn count_users(url: &str) -> anyhow::Result<u64> {
    count(url, "select count(*) from users").await
}

async fn count(url: &str, statement: &'static str) -> anyhow::Result<u64> {
    let count: i64 = if Engine::of(url) == Engine::Sqlite {
        let mut connection = SqliteConnection::connect(url).await?;
        sqlx::query_scalar(statement).fetch_one(&mut connection).await?
    } else {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::query_scalar(statement).fetch_one(&mut connection).await?
    };
    Ok(count.unsigned_abs())
}
