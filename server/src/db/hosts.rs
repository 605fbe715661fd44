//! One PostgreSQL database on several servers, only one of which accepts writes at a time: the
//! primary and its standbys.
//!
//! `postgres://licd@one,two:5433/licd` lists them all. The driver supports one host per pool, so
//! the pool is pointed at the server that accepts writes, and a watch notices when that changes.
//! Replication, promotion, and preventing two servers from accepting writes at the same time are up
//! to the operator.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Executor, PgConnection, Row};
use tokio::time::{MissedTickBehavior, interval};

use super::postgres::PgConnections;
use super::{Result, with_timeout};

/// Interval between checks that the primary still accepts writes.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Time in which a server must show that it accepts writes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The options after `?` that the driver or licd knows. The driver ignores others, so
/// `sslmod=require` would silently leave connections unencrypted.
pub(super) const OPTIONS: [&str; 19] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
    "pooler",
];
/// The URL option for a pooler that assigns connections per transaction.
pub(super) const POOLER: &str = "pooler=transaction";

/// The servers, in the order in which they are tried. They differ only in host and port.
#[derive(Clone)]
pub struct Hosts {
    each: Vec<PgConnectOptions>,
    /// Whether the hosts are such poolers.
    pub pooler: bool,
}

impl FromStr for Hosts {
    type Err = sqlx::Error;

    fn from_str(url: &str) -> Result<Self> {
        let start = url.find("://").map_or(0, |at| at + 3);
        let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
        let hosts = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let (path, query) = url[end..].split_once('?').unwrap_or((&url[end..], ""));
        // The driver knows no other option.
        let is_known =
            |option: &&str| OPTIONS.contains(&option.split(['=', '[']).next().unwrap_or(""));
        let known: Vec<&str> =
            query.split('&').filter(is_known).filter(|option| *option != POOLER).collect();
        let one = |host: &str| {
            // The option `host` replaces it.
            let host = if host.is_empty() { "localhost" } else { host };
            let url = format!("{}{host}{path}?{}", &url[..hosts], known.join("&"));
            url.parse().map(without_brackets)
        };
        Ok(Self {
            each: url[hosts..end].split(',').map(one).collect::<Result<_>>()?,
            pooler: query.split('&').any(|option| option == POOLER),
        })
    }
}

impl fmt::Display for Hosts {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (at, options) in self.each.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", address(options))?;
        }
        write!(f, "/{}", self.each.first().and_then(|options| options.get_database()).unwrap_or(""))
    }
}

impl Hosts {
    /// Returns the servers with additional options.
    pub fn with(&self, change: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        Self { each: self.each.iter().cloned().map(change).collect(), ..*self }
    }

    pub fn into_each(self) -> impl Iterator<Item = PgConnectOptions> {
        self.each.into_iter()
    }

    /// The first server that accepts writes, or the last one's error.
    pub async fn primary(&self) -> Result<PgConnectOptions> {
        Ok(self.connect_primary().await?.0)
    }

    /// Like [`primary`](Self::primary), with the connection that showed it.
    pub async fn connect_primary(&self) -> Result<(PgConnectOptions, PgConnection)> {
        let mut reason = read_only();
        for options in &self.each {
            match with_timeout(PROBE_TIMEOUT, connect_writable(options)).await {
                Ok(conn) => return Ok((options.clone(), conn)),
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }

    /// Keeps connections pointed at the server that accepts writes, until they are closed. Does
    /// nothing if there is only one server.
    pub fn spawn_failover_watch(self, connections: PgConnections) {
        if self.each.len() > 1 {
            tokio::spawn(async move {
                tokio::select! {
                    () = connections.closed() => {}
                    () = self.watch(&connections) => {}
                }
            });
        }
    }

    async fn watch(&self, connections: &PgConnections) {
        let mut primary: Option<PgConnection> = None;
        let mut ticks = interval(WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(conn) = &mut primary
                && matches!(with_timeout(PROBE_TIMEOUT, takes_writes(conn)).await, Ok(true))
            {
                continue;
            }
            primary = match self.connect_primary().await {
                Ok((options, conn)) => {
                    let (host, port) = (options.get_host(), options.get_port());
                    tracing::info!(host, port, "this server accepts writes");
                    connections.switch_to(options);
                    Some(conn)
                }
                Err(error) => {
                    tracing::warn!(%error, "no server accepts writes");
                    None
                }
            };
        }
    }
}

pub(super) fn address(options: &PgConnectOptions) -> String {
    match (options.get_host(), options.get_port()) {
        (host, port) if host.contains(':') => format!("[{host}]:{port}"),
        (host, port) => format!("{host}:{port}"),
    }
}

/// A URL has an IPv6 address in brackets, which resolvers do not understand.
fn without_brackets(options: PgConnectOptions) -> PgConnectOptions {
    let host = options.get_host();
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).map(str::to_owned) {
        Some(host) => options.host(&host),
        None => options,
    }
}

/// A connection to the server, if it accepts writes.
async fn connect_writable(options: &PgConnectOptions) -> Result<PgConnection> {
    let mut conn = options.connect().await?;
    if takes_writes(&mut conn).await? { Ok(conn) } else { Err(read_only()) }
}

/// False for a standby, and for a server that is set to read-only.
async fn takes_writes(conn: &mut PgConnection) -> Result<bool> {
    let row = conn.fetch_one("show transaction_read_only").await?;
    Ok(row.try_get::<&str, _>(0)? == "off")
}

fn read_only() -> sqlx::Error {
    sqlx::Error::Configuration("the server is read-only, such as a standby".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_is_named_without_its_brackets() {
        let hosts: Hosts = "postgres://u:p@[::1]:5433,db,[2001:db8::7]/d".parse().unwrap();
        let named: Vec<_> = hosts.into_each().map(|one| one.get_host().to_owned()).collect();
        assert_eq!(named, ["::1", "db", "2001:db8::7"]);
    }

    #[test]
    fn hosts_are_listed_without_user_and_password() {
        for (url, shown) in [
            ("postgres://u:p%40ss@one/d", "postgres://one:5432/d"),
            ("postgres://u@one:1,two/d?sslmode=require", "postgres://one:1,two:5432/d"),
            ("postgresql://u:p@one,two:2,[::1]:3/d", "postgres://one:5432,two:2,[::1]:3/d"),
        ] {
            assert_eq!(url.parse::<Hosts>().unwrap().to_string(), shown);
        }
        assert!("postgres://u@one:x/d".parse::<Hosts>().is_err());
        let pooler = |url: &str| url.parse::<Hosts>().unwrap().pooler;
        assert!(pooler("postgres://u@one/d?sslmode=require&pooler=transaction"));
        assert!(!pooler("postgres://u@one/d?sslmode=require"));
    }
}
