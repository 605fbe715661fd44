//! `licd distribute`: distributes the worlds of a PostgreSQL over several servers.

use anyhow::{Context, bail};
use licd::db::DatabaseUrl;
use licd::db::sharding::{DEFAULT_SHARDS, Placed, distribute};

use super::spinner::with_spinner;
use super::{Database, print, say};

#[derive(clap::Args)]
#[command(after_help = "\
A preview: sharding is for more data and more writes than one PostgreSQL has
room for, and to isolate tenants. Each validation costs 4 to 16 times the
processor time. Stop all nodes first. All tables move in one transaction, so a
failure or Ctrl-C leaves the database as it was. A second run distributes only
what is not yet.")]
pub struct Distribute {
    #[command(flatten)]
    database: Database,
    /// Number of parts into which the worlds are divided: at least as many as there will ever be
    /// servers.
    #[arg(long, default_value_t = DEFAULT_SHARDS, value_name = "NUMBER",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
}

impl Distribute {
    pub async fn run(self) -> anyhow::Result<()> {
        let url = self.database.url()?;
        let DatabaseUrl::Postgres(hosts) = &url else {
            bail!(
                "only PostgreSQL can be distributed; \"licd copy\" copies an SQLite database to one"
            );
        };
        let mut tables = 0;
        let note = |it: &Placed| {
            if tables == 0 {
                say("All tables move in one transaction, and all other writes wait.");
            }
            tables += 1;
            let place = if it.is_everywhere { "a copy on each server" } else { "by world" };
            let megabytes = it.bytes as f64 / 1e6;
            say(format_args!("distributing {}: {place}, {megabytes:.1} MB", it.table));
        };
        let distributed = with_spinner("Distributing", distribute(hosts, self.shards, note)).await;
        distributed.with_context(|| format!("cannot distribute {url}"))?;
        match tables {
            0 => print(format_args!("{url} is distributed already; nothing to do.")),
            tables => print(format_args!("{url} is now distributed: {tables} tables.")),
        }
    }
}
