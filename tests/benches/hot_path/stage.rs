//! Everything that a run needs, started once: databases with users in them, and servers on them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use common::{ApiKey, Mode};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::database::{self, Size};
use crate::options::{Options, Plan};
use crate::pgbench::Pgbench;
use crate::process::{Server, free_address};
use crate::report;
use crate::subject::Subject;

/// Its parts are stopped in this order: servers, then the cluster, then the folder is removed.
pub struct Stage {
    pub running: BTreeMap<Subject, Running>,
    pub cluster: Option<Cluster>,
    pub folder: TempDir,
    pub key: ApiKey,
    licd: PathBuf,
}

/// A subject, ready to be loaded.
pub enum Running {
    Servers(Vec<Server>),
    Pgbench(Pgbench),
}

impl Stage {
    pub async fn build(options: &Options, plan: &Plan) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("licd-bench-")
            // PostgreSQL may run as another user, who must reach its own folder in here.
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir_in(&options.dir)?;
        report::say("building licd");
        let licd = build_licd()?;
        let wanted = plan.subjects.iter().any(|subject| subject.needs_postgres());
        let cluster = if wanted {
            report::say("starting PostgreSQL");
            Some(Cluster::start(&folder.path().join("postgres"))?)
        } else {
            None
        };
        let key = ApiKey::generate(Mode::Live);
        let mut stage = Self { running: BTreeMap::new(), cluster, folder, key, licd };
        report::say("filling databases, starting servers");
        stage.start_subjects(plan).await?;
        Ok(stage)
    }

    async fn start_subjects(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let size = Size { users: plan.users, newcomers: 0 };
        let sqlite = self.sqlite("licd.db", size).await?;
        let copy = database::copy_sqlite(self.folder.path(), "licd.db", "per-request.db")?;
        let postgres = match self.cluster {
            Some(_) => self.postgres("licd", size).await?,
            None => String::new(),
        };
        for &subject in &plan.subjects {
            let servers = match subject {
                Subject::Ceiling => vec![again("ceiling", None)?],
                Subject::Sqlite => vec![self.licd(&sqlite)?],
                Subject::Postgres => vec![self.licd(&postgres)?],
                Subject::PostgresTwo => vec![self.licd(&postgres)?, self.licd(&postgres)?],
                Subject::PerRequestSqlite => vec![again("per-request", Some(&copy))?],
                Subject::PerRequestPostgres => vec![again("per-request", Some(&postgres))?],
                Subject::Pgbench => {
                    let pgbench =
                        Pgbench::prepare(&postgres, self.folder.path(), &self.key, plan.users);
                    self.running.insert(subject, Running::Pgbench(pgbench.await?));
                    continue;
                }
            };
            self.running.insert(subject, Running::Servers(servers));
        }
        Ok(())
    }

    pub async fn sqlite(&self, name: &str, size: Size) -> anyhow::Result<String> {
        database::sqlite(self.folder.path(), name, &self.key, size).await
    }

    pub async fn postgres(&self, name: &str, size: Size) -> anyhow::Result<String> {
        database::postgres(self.cluster()?, name, &self.key, size).await
    }

    pub fn cluster(&self) -> anyhow::Result<&Cluster> {
        self.cluster.as_ref().context("there is no PostgreSQL in this run")
    }

    /// Starts licd, as its users do, without a limit on how often a key may ask.
    pub fn licd(&self, database: &str) -> anyhow::Result<Server> {
        let address = free_address()?;
        let mut command = Command::new(&self.licd);
        command
            .arg("serve")
            .env("LICD_LISTEN", address.to_string())
            .env("LICD_DATABASE_URL", database)
            .env("LICD_RATE_LIMIT", "off")
            .env("LICD_LOG", "warn");
        Server::start(command, address)
    }
}

/// Starts this very program as one of the servers that licd is compared with.
fn again(command: &str, database: Option<&str>) -> anyhow::Result<Server> {
    let address = free_address()?;
    let mut again = Command::new(std::env::current_exe()?);
    again.arg(command).arg(address.to_string()).args(database);
    Server::start(again, address)
}

/// Builds the program that is released, if what lies there is not up to date, and answers where it
/// is.
fn build_licd() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--quiet", "--bin", "licd", "--manifest-path"]);
    // Cargo tells this program about its own package; build scripts would take it for theirs, and
    // build all over again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            build.env_remove(name);
        }
    }
    let built = build.arg(manifest).stdout(Stdio::null()).status()?;
    ensure!(built.success(), "licd cannot be built");
    // This program lies in target/release/deps.
    let own = std::env::current_exe()?;
    let release = own.ancestors().nth(2).context("this program lies in no target folder")?;
    let licd = release.join("licd");
    ensure!(licd.exists(), "{} is missing; run this by cargo bench", licd.display());
    Ok(licd)
}
