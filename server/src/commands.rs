//! The commands of `licd`, one file each.

mod backup;
mod copy;
mod demo;
mod distribute;
mod doctor;
pub mod environment;
mod exposed_files;
mod health;
mod keys;
mod migrate;
mod restore;
mod secret_file;
mod secret_key;
mod serve;
mod signals;
mod spinner;
mod tenants;
#[cfg(feature = "otel")]
mod traces;
mod url_parser;

use std::fmt;
use std::io::Write;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use common::version;
use licd::config::default_database;
use licd::db::{DatabaseUrl, Db};

use crate::log::{self, LogFilter, LogFormat};
use exposed_files::ExposedFiles;
use secret_file::SecretFile;
use url_parser::UrlParser;

/// The licensing service, which tells whether a user is licensed.
#[derive(Parser)]
#[command(version = version::LINE.as_str(), propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Level of the log (error, warn, info, debug, trace, off), optionally per module, such as
    /// info,sqlx=warn.
    #[arg(long, env = "LICD_LOG", value_name = "LEVEL", global = true)]
    log: Option<LogFilter>,
    /// Format of the log, which goes to standard error.
    #[arg(long, env = "LICD_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run the service until SIGTERM, SIGHUP or Ctrl-C; a second one ends it immediately. With a
    /// TLS certificate, SIGHUP reloads it instead.
    Serve(serve::Serve),
    /// Run the service with sample data on a temporary database, and print sample validations.
    Demo(demo::Demo),
    /// Create and list tenants.
    #[command(subcommand)]
    Tenants(tenants::Tenants),
    /// Create API keys on the server's host, for example when all keys are lost.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Make the keys that seal secrets in the database.
    #[command(subcommand)]
    SecretKey(secret_key::SecretKey),
    /// Migrate the database's schema ahead of a rollout, and print each step.
    Migrate(migrate::Migrate),
    /// Distribute the worlds of a PostgreSQL over several servers, by the extension Citus. A preview.
    Distribute(distribute::Distribute),
    /// Copy a whole database into an empty one, for example from SQLite to PostgreSQL.
    Copy(copy::Copy),
    /// Write a copy of an SQLite database to a file, even while licd is running.
    Backup(backup::Backup),
    /// Put a backup in the place of an SQLite database, and keep what was there.
    Restore(restore::Restore),
    /// Check everything the service needs, and print a fix for each problem.
    Doctor(doctor::Doctor),
    /// Check whether the licd on this machine is alive, for a container's health check.
    Health(health::Health),
    /// Print the OpenAPI document of the service.
    Openapi,
}

impl Args {
    /// The demo and the commands that print their results log only problems.
    pub fn log_filter(&self) -> LogFilter {
        match (&self.log, &self.command) {
            (Some(filter), _) => filter.clone(),
            // During an outage the pool would warn of each connection.
            (None, Command::Serve(_)) => LogFilter::from_static("info,sqlx_core::pool=error"),
            // Doctor prints its findings.
            (None, Command::Doctor(_)) => LogFilter::from_static("error"),
            // Moving a database needs long statements, which sqlx would warn about.
            (None, _) => LogFilter::from_static("warn,sqlx=error"),
        }
    }
}

impl Command {
    /// Whether the command works on the database of a service that it is not part of.
    pub fn is_of_the_host(&self) -> bool {
        match self {
            Self::Tenants(_) | Self::Migrate(_) | Self::Distribute(_) => true,
            Self::Backup(_) | Self::Restore(_) => true,
            Self::Keys(keys) => matches!(keys, keys::Keys::Create { .. }),
            Self::Doctor(_) => true,
            Self::Serve(_) | Self::Demo(_) | Self::SecretKey(_) | Self::Copy(_) => false,
            Self::Health(_) | Self::Openapi => false,
        }
    }
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(serve) => serve.run().await,
        Command::Demo(demo) => demo.run().await,
        Command::Tenants(tenants) => tenants.run().await,
        Command::Keys(keys) => keys.run().await,
        Command::SecretKey(key) => key.run(),
        Command::Migrate(migrate) => migrate.run().await,
        Command::Distribute(distribute) => distribute.run().await,
        Command::Copy(copy) => copy.run().await,
        Command::Backup(backup) => backup.run().await,
        Command::Restore(restore) => restore.run().await,
        Command::Doctor(doctor) => doctor.run().await,
        Command::Health(health) => health.run().await,
        Command::Openapi => print(serde_json::to_string_pretty(&licd::routes::document())?),
    }
}

/// The database that a command works on.
#[derive(clap::Args)]
pub struct Database {
    /// sqlite://PATH or postgres://USER@HOST/DATABASE; by default an SQLite file in the user's data
    /// folder. LICD_DATABASE_URL_FILE may name a file that contains it.
    #[arg(long, env = "LICD_DATABASE_URL", value_name = "URL", value_parser = UrlParser,
        hide_env_values = true)]
    database_url: Option<DatabaseUrl>,
    #[command(flatten)]
    exposed_files: ExposedFiles,
}

impl Database {
    /// The database of a command on the host, unless other users of this machine can read or change
    /// its files.
    fn url(&self) -> anyhow::Result<DatabaseUrl> {
        let url = self.announced()?;
        self.exposed_files.check(&url)?;
        Ok(url)
    }

    /// The database of a command on the host. A line on standard error names it and the setting
    /// that it comes from. Fails if no setting names a database and none is at the default path,
    /// because the service's database is then elsewhere.
    fn announced(&self) -> anyhow::Result<DatabaseUrl> {
        let (url, source) = self.find()?;
        if let (DatabaseUrl::Sqlite(path), Source::Default) = (&url, &source) {
            ensure!(
                path.exists(),
                "LICD_DATABASE_URL is not set, and there is no database at the default path {}. Set it \
                 to the database of the service, such as sqlite:///var/lib/licd/licd.db",
                path.display()
            );
        }
        say(format_args!("database: {url} ({source})"));
        Ok(url)
    }

    /// As everywhere, a flag takes precedence over the environment.
    fn find(&self) -> anyhow::Result<(DatabaseUrl, Source)> {
        Ok(match (&self.database_url, SecretFile::of("LICD_DATABASE_URL")?) {
            (Some(url), _) => (url.clone(), Source::Named),
            (None, Some(file)) => (file.read()?, Source::File),
            (None, None) => (DatabaseUrl::file(default_database()), Source::Default),
        })
    }

    /// Opens the database of `licd serve`, and creates it if there is none.
    async fn open(&self) -> anyhow::Result<Db> {
        let (url, _) = self.find()?;
        self.exposed_files.check(&url)?;
        Db::open(&url).await.with_context(|| url.to_string())
    }

    /// Opens it without migrating, so that a mistyped path does not create a file.
    async fn open_as_it_is(&self) -> anyhow::Result<Db> {
        let url = self.url()?;
        Db::open_as_it_is(&url).await.with_context(|| url.to_string())
    }
}

/// The origin of the address of a database.
enum Source {
    /// The flag or the variable.
    Named,
    /// The file that LICD_DATABASE_URL_FILE names.
    File,
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_flag = |arg: std::ffi::OsString| {
            arg.to_str().is_some_and(|arg| arg.starts_with("--database-url"))
        };
        match (self, std::env::var(environment::READ_FROM)) {
            (Self::Default, _) => f.write_str("default"),
            (Self::Named, _) if std::env::args_os().any(is_flag) => f.write_str("--database-url"),
            (_, Ok(file)) => f.write_str(&file),
            (Self::Named, Err(_)) => f.write_str("LICD_DATABASE_URL"),
            (Self::File, Err(_)) => f.write_str("LICD_DATABASE_URL_FILE"),
        }
    }
}

/// Writes a line to standard error, which gets everything but data.
pub fn say(line: impl fmt::Display) {
    log::line(line);
}

/// Writes a line of data to standard output.
fn print(line: impl fmt::Display) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot write to standard output")
}
