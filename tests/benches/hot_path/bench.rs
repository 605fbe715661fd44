//! The fixtures of all stages: a folder, a PostgreSQL cluster, keys, the measured program, and the
//! servers and databases that are made from them.

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use common::{ApiKey, Mode};
use tempfile::TempDir;

use crate::check::Checker;
use crate::cluster::Cluster;
use crate::options::{Options, Plan};
use crate::process::{Server, free_address};
use crate::report::say;
use crate::seed::{self, Size};
use crate::subject::Subject;

/// The fixtures of a run. They are dropped in this order: the cluster first, then the folder.
pub struct Bench {
    pub cluster: Option<Cluster>,
    pub plan: Plan,
    pub checker: Checker,
    pub key: ApiKey,
    /// The file with the one key, as `load.lua` reads it.
    pub key_file: PathBuf,
    pub load_script: PathBuf,
    licd: PathBuf,
    /// The answer that the static rows give to everyone.
    answer_file: PathBuf,
    pub folder: TempDir,
}

impl Bench {
    pub async fn build(options: &Options, plan: Plan) -> anyhow::Result<Self> {
        require("wrk", "wrk")?;
        if plan.subjects.contains(&Subject::Node) {
            require("node", "nodejs")?;
        }
        let folder = tempfile::Builder::new()
            .prefix("licd-bench-")
            // PostgreSQL may run as another user, who must reach its own folder inside this one.
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&options.dir)?;
        let path = folder.path();
        let cluster = if plan.subjects.iter().any(|subject| subject.needs_postgres()) {
            say("starting PostgreSQL");
            Some(Cluster::start(&path.join("postgres"))?)
        } else {
            None
        };
        say("building licd");
        let licd = build_licd()?;
        let key = ApiKey::generate(Mode::Live);
        let [key_file, load_script, answer_file] =
            ["key", "load.lua", "answer.json"].map(|name| path.join(name));
        fs::write(&key_file, key.expose())?;
        fs::write(&load_script, include_str!("load.lua"))?;
        let checker = Checker::new(key.clone())?;
        let mut bench =
            Self { cluster, plan, checker, key, key_file, load_script, licd, answer_file, folder };
        bench.take_sample().await?;
        Ok(bench)
    }

    /// Keeps an answer of licd for those rows that answer the same bytes.
    async fn take_sample(&mut self) -> anyhow::Result<()> {
        let url = self.sqlite("sample", Size { users: 100, newcomers: 0 }).await?;
        let licd = self.licd(&url)?;
        self.checker.take_sample(licd.address).await?;
        fs::write(&self.answer_file, &self.checker.sample)?;
        Ok(())
    }

    pub fn cluster(&self) -> anyhow::Result<&Cluster> {
        self.cluster.as_ref().context("there is no PostgreSQL in this run")
    }

    /// Makes a database of the kind that `subject` is measured on, and returns its address.
    pub async fn database(
        &self,
        subject: Subject,
        name: &str,
        size: Size,
    ) -> anyhow::Result<String> {
        if subject.needs_postgres() {
            seed::postgres(self.cluster()?, name, &self.key, size).await
        } else {
            self.sqlite(name, size).await
        }
    }

    async fn sqlite(&self, name: &str, size: Size) -> anyhow::Result<String> {
        seed::sqlite(self.folder.path(), &format!("{name}.db"), &self.key, size).await
    }

    /// Starts licd without a rate limit, and with a log of warnings only.
    pub fn licd(&self, database: &str) -> anyhow::Result<Server> {
        self.start_licd(database, |command| command.env("LICD_LOG", "warn"))
    }

    /// Starts licd with its default log, written to a file.
    pub fn logging_licd(&self, database: &str, log: &Path) -> anyhow::Result<Server> {
        let log = File::create(log)?;
        self.start_licd(database, |command| command.env_remove("LICD_LOG").stderr(log))
    }

    /// Starts licd with a file of secret keys, and with webhooks to this machine.
    pub fn sending_licd(&self, database: &str) -> anyhow::Result<Server> {
        let file = self.folder.path().join("licd.secret");
        let made = Command::new(&self.licd).args(["secret-key", "generate"]).output()?;
        ensure!(made.status.success(), "licd makes no secret key");
        fs::write(&file, made.stdout)?;
        fs::set_permissions(&file, Permissions::from_mode(0o600))?;
        self.start_licd(database, |command| {
            command.env("LICD_LOG", "error").env("LICD_SECRET_KEY_FILE", file);
            command.env("LICD_WEBHOOK_ALLOW_NETS", "127.0.0.1")
        })
    }

    fn start_licd(
        &self,
        database: &str,
        set_log: impl FnOnce(&mut Command) -> &mut Command,
    ) -> anyhow::Result<Server> {
        let address = free_address()?;
        let mut command = Command::new(&self.licd);
        command
            .arg("serve")
            .env("LICD_LISTEN", address.to_string())
            .env("LICD_DATABASE_URL", database)
            .envs([("LICD_RATE_LIMIT", "off"), ("LICD_NEW_USERS", "off")]);
        set_log(&mut command);
        Server::start(command, address)
    }

    /// Creates a second tenant, and returns its admin key.
    pub fn tenant(&self, database: &str, name: &str) -> anyhow::Result<ApiKey> {
        let mut command = Command::new(&self.licd);
        command.args(["tenants", "create", name]).env("LICD_DATABASE_URL", database);
        let made = command.output()?;
        let error = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "no tenant {name} could be made: {error}");
        Ok(String::from_utf8(made.stdout)?.trim().parse()?)
    }

    pub fn handler(&self) -> anyhow::Result<Server> {
        let address = free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("handler").arg(address.to_string()).arg(&self.answer_file);
        Server::start(command, address)
    }

    pub fn per_request(&self, database: &str) -> anyhow::Result<Server> {
        let address = free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("per-request").arg(address.to_string()).arg(database);
        Server::start(command, address)
    }

    pub fn node(&self) -> anyhow::Result<Server> {
        let address = free_address()?;
        let program = self.folder.path().join("node.mjs");
        fs::write(&program, include_str!("node.mjs"))?;
        let mut command = Command::new("node");
        command.arg(program).arg(address.ip().to_string()).arg(address.port().to_string());
        command.arg(&self.answer_file);
        Server::start(command, address)
    }
}

/// Fails unless there is such a program.
fn require(program: &str, package: &str) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{program} is missing: install Debian's package {package}")
        }
        started => started.map(drop).with_context(|| format!("cannot run {program}")),
    }
}

/// Builds the program that is released, if what lies there is not up to date, and returns its
/// path.
fn build_licd() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--quiet", "--bin", "licd", "--manifest-path"]);
    // Cargo describes this package to this program; build scripts would take it for theirs, and
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
