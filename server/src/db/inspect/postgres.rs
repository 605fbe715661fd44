//! A PostgreSQL server, accessed in the way licd does. Statements are not prepared, so that they
//! pass any pooler.

use std::net::IpAddr;

use common::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, PgConnection, Row};

use super::{SIGNING_KEYS, Sealed, WEBHOOKS, current};
use crate::db::connect::with_settings;
use crate::db::hosts::{Hosts, address};
use crate::db::open_error::OpenError;
use crate::db::{Result, STATEMENT_TIMEOUT, schema, within_statement_timeout};

/// One of the servers in a URL.
pub struct Postgres {
    options: PgConnectOptions,
    /// Whether the URL declares a pooler that assigns connections per transaction.
    pub pooler: bool,
}

/// The servers of a URL, in order.
pub fn postgres_servers(hosts: &Hosts) -> Vec<Postgres> {
    let pooler = hosts.pooler;
    with_settings(hosts).into_each().map(|options| Postgres { options, pooler }).collect()
}

/// The state of a server, as it reports it.
pub struct PostgresFacts {
    /// For example 150004 for 15.4.
    pub version: i32,
    pub version_name: String,
    pub synchronous_commit: String,
    pub fsync: bool,
    pub full_page_writes: bool,
    /// The number of connections that licd's user may open to its database.
    pub max_connections: i32,
    pub encoding: String,
    pub is_standby: bool,
    pub is_read_only: bool,
    /// Whether the connection to the server, or to the pooler, is encrypted.
    pub is_encrypted: bool,
    /// Whether the server applied licd's settings, which a pooler may drop.
    pub took_settings: bool,
    /// The server's time, read between the two times of this machine.
    pub time: Timestamp,
    pub before: Timestamp,
    pub after: Timestamp,
}

const FACTS: &str = "
    select current_setting('server_version_num') as version,
        current_setting('server_version') as version_name,
        current_setting('synchronous_commit') as synchronous_commit,
        current_setting('fsync') as fsync,
        current_setting('full_page_writes') as full_page_writes,
        cast(least(
            cast(current_setting('max_connections') as int)
                - cast(current_setting('superuser_reserved_connections') as int),
            (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
            (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
        ) as text) as max_connections,
        current_setting('server_encoding') as encoding,
        cast(pg_is_in_recovery() as text) as is_standby,
        current_setting('transaction_read_only') as is_read_only,
        cast(coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as text)
            as is_encrypted,
        current_setting('statement_timeout') as statement_timeout,
        cast(cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as text) as millis";

impl Postgres {
    pub fn address(&self) -> String {
        address(&self.options)
    }

    /// Whether the traffic stays off the network.
    pub fn is_local(&self) -> bool {
        let host = self.options.get_host();
        let ip: Option<IpAddr> = host.parse().ok();
        self.options.get_socket().is_some()
            || host == "localhost"
            || host.starts_with('/')
            || ip.is_some_and(|ip| ip.is_loopback())
    }

    pub async fn connect(&self) -> Result<PgConnection> {
        within_statement_timeout(self.options.connect()).await
    }

    pub async fn facts(&self, conn: &mut PgConnection) -> Result<PostgresFacts> {
        // Run once before, so that the measured time does not include planning.
        let before = Timestamp::now();
        let row = within_statement_timeout(conn.fetch_one(FACTS)).await?;
        let after = Timestamp::now();
        let is_on = |name| text(&row, name).map(|value| matches!(value, "on" | "true"));
        let timeout = format!("{}s", STATEMENT_TIMEOUT.as_secs());
        let millis = number(text(&row, "millis")?)?;
        Ok(PostgresFacts {
            version: number(text(&row, "version")?)?,
            version_name: text(&row, "version_name")?.to_owned(),
            synchronous_commit: text(&row, "synchronous_commit")?.to_owned(),
            fsync: is_on("fsync")?,
            full_page_writes: is_on("full_page_writes")?,
            max_connections: number(text(&row, "max_connections")?)?,
            encoding: text(&row, "encoding")?.to_owned(),
            is_standby: is_on("is_standby")?,
            is_read_only: is_on("is_read_only")?,
            is_encrypted: is_on("is_encrypted")?,
            took_settings: text(&row, "statement_timeout")? == timeout,
            time: Timestamp::from_millis(millis).ok_or(sqlx::Error::RowNotFound)?,
            before,
            after,
        })
    }

    /// The tables of licd that are missing, or that its role cannot read and write; empty if there
    /// are none.
    pub async fn unusable_tables(&self, conn: &mut PgConnection) -> Result<String> {
        let names: Vec<String> = schema::tables().map(|table| format!("('{table}')")).collect();
        let may = ["select", "insert", "update", "delete"]
            .map(|what| format!("has_table_privilege(to_regclass(name), '{what}')"));
        let statement = format!(
            "select coalesce(string_agg(name, ', '), '') as names from (values {}) as t(name)
             where not coalesce({}, false)",
            names.join(", "),
            may.join(" and ")
        );
        let row = conn.fetch_one(AssertSqlSafe(statement));
        Ok(text(&within_statement_timeout(row).await?, "names")?.to_owned())
    }

    pub async fn sealed(&self, conn: &mut PgConnection) -> Result<Sealed> {
        let webhooks = sqlx::query_scalar(WEBHOOKS).fetch_all(&mut *conn);
        let webhooks = current(&within_statement_timeout(webhooks).await?);
        let signing_keys = sqlx::query_scalar(SIGNING_KEYS).fetch_all(conn);
        Ok(Sealed { webhooks, signing_keys: within_statement_timeout(signing_keys).await? })
    }

    /// Fails unless the schema is the one that this licd knows.
    pub async fn check_schema(&self, conn: &mut PgConnection) -> Result<(), OpenError> {
        schema::check_on_postgres(conn).await
    }
}

fn text<'r>(row: &'r PgRow, name: &str) -> Result<&'r str> {
    row.try_get(name)
}

fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<T> {
    text.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
