//! A throwaway PostgreSQL cluster with its durability as delivered: `fsync` and
//! `synchronous_commit` stay on, since durable answers are what is measured.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::process::{Server, free_address};

/// Changes to the default settings: memory for a million users, and connections for all rows at the
/// same time.
const SETTINGS: [&str; 5] = [
    "shared_buffers=512MB",
    "max_connections=500",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "log_min_messages=panic",
];

/// A running cluster, which is stopped when dropped. Its folder belongs to the caller.
pub struct Cluster {
    server: Server,
}

/// The user that runs PostgreSQL, which refuses to run as root.
#[derive(Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Cluster {
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let binaries = binaries()?;
        let account = unprivileged()?;
        std::fs::create_dir(folder)?;
        if let Some(account) = account {
            chown(folder, Some(account.user), Some(account.group))?;
        }
        let data = folder.join("data");
        let mut init = command(&binaries.join("initdb"), account, folder);
        init.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]);
        let made = init.arg("--pgdata").arg(&data).output().context("cannot run initdb")?;
        ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));

        let address = free_address()?;
        let mut server = command(&binaries.join("postgres"), account, folder);
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-k", ""]);
        server.arg("-p").arg(address.port().to_string());
        for setting in SETTINGS {
            server.args(["-c", setting]);
        }
        Ok(Self { server: Server::start(server, address)? })
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.server.address)
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The fast shutdown: it takes its backends and its shared memory along.
        let pid = self.server.pid().to_string();
        if Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|sent| sent.success()) {
            self.server.wait();
        }
    }
}

fn command(program: &Path, account: Option<Account>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir(folder);
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    command
}

/// The folder of PostgreSQL's programs: where `PATH` finds `postgres`, or the newest version of
/// Debian's.
fn binaries() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> =
            versions.flatten().map(|version| version.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    let complete =
        |folder: &PathBuf| ["initdb", "postgres"].iter().all(|p| folder.join(p).exists());
    folders
        .into_iter()
        .find(complete)
        .context("PostgreSQL is missing (initdb, postgres): install Debian's package postgresql")
}

fn unprivileged() -> anyhow::Result<Option<Account>> {
    if std::fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd")?;
    for name in ["postgres", "nobody"] {
        for line in accounts.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [found, _, user, group, ..] = fields[..]
                && found == name
            {
                return Ok(Some(Account { user: user.parse()?, group: group.parse()? }));
            }
        }
    }
    bail!("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
