//! Databases that licd finds ready: with its schema, the tenant whose key is asked with, and users.

use std::path::Path;

use anyhow::Context;
use common::ApiKey;
use licd::db::{DatabaseUrl, Db};
use licd::ops::tenants;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection, raw_sql};

use crate::cluster::Cluster;
use crate::seed::{self, Engine};

/// How many users are in a database.
#[derive(Clone, Copy)]
pub struct Size {
    pub users: u64,
    pub newcomers: u64,
}

/// Makes an SQLite database in `folder` and answers its address.
pub async fn sqlite(folder: &Path, name: &str, key: &ApiKey, size: Size) -> anyhow::Result<String> {
    let url = sqlite_url(&folder.join(name));
    prepare(&url, key).await?;
    let mut connection = SqliteConnection::connect(&url).await?;
    for statement in seed::statements(Engine::Sqlite, size.users, size.newcomers) {
        raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(url)
}

/// Copies an SQLite database that nobody has open, and answers the copy's address.
pub fn copy_sqlite(folder: &Path, from: &str, to: &str) -> anyhow::Result<String> {
    let copy = folder.join(to);
    std::fs::copy(folder.join(from), &copy).context("cannot copy the database")?;
    Ok(sqlite_url(&copy))
}

fn sqlite_url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// Makes a database in `cluster` and answers its address.
pub async fn postgres(
    cluster: &Cluster,
    name: &str,
    key: &ApiKey,
    size: Size,
) -> anyhow::Result<String> {
    let mut connection = PgConnection::connect(&cluster.url("postgres")).await?;
    let create = AssertSqlSafe(format!("create database {name}"));
    raw_sql(create).execute(&mut connection).await?;
    connection.close().await?;

    let url = cluster.url(name);
    prepare(&url, key).await?;
    let mut connection = PgConnection::connect(&url).await?;
    for statement in seed::statements(Engine::Postgres, size.users, size.newcomers) {
        raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(url)
}

async fn prepare(url: &str, key: &ApiKey) -> anyhow::Result<()> {
    let db = Db::open(&url.parse::<DatabaseUrl>()?).await?;
    tenants::bootstrap(&db, key, || true).await?;
    db.close().await;
    Ok(())
}
