//! `licd doctor`: checks what the service needs, and prints a fix for each problem. It changes
//! nothing, and can be run while licd is serving.

mod clock;
mod finding;
mod host;
mod postgres;
mod secrets;
mod settings;
mod sharding;
mod sqlite;

use anyhow::bail;
use licd::db::DatabaseUrl;
use tokio::task::spawn_blocking;

use super::spinner::with_spinner;
use super::{Database, print};
use finding::{Finding, FindingState, in_time};

#[derive(clap::Args)]
#[command(after_help = "\
Run it as the user and with the environment of `licd serve`. It changes
nothing, and each check takes at most 5 seconds. The exit code is 0 if there is
no problem, else 1.")]
pub struct Doctor {
    #[command(flatten)]
    database: Database,
    /// Print a JSON array whose objects have the members check, state, detail and fix.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub async fn run(self) -> anyhow::Result<()> {
        let findings = with_spinner("Checking the database", findings(self.database)).await;
        if self.json {
            print(serde_json::to_string_pretty(&findings)?)?;
        } else {
            findings.iter().try_for_each(print)?;
        }
        match findings.iter().filter(|finding| finding.state == FindingState::Problem).count() {
            0 => Ok(()),
            1 => bail!("there is a problem"),
            problems => bail!("there are {problems} problems"),
        }
    }
}

async fn findings(database: Database) -> Vec<Finding> {
    let is_allowed = database.exposed_files.allowed;
    // A file with a secret may be a pipe without a writer.
    let reading = spawn_blocking(move || (settings::check(), database.announced()));
    let reading =
        async { reading.await.map_err(|error| Finding::problem("settings", error.to_string())) };
    let (mut findings, url) = match in_time("settings", reading).await {
        Ok(read) => read,
        Err(finding) => return vec![finding],
    };
    findings.push(host::open_files());
    findings.extend(url.iter().filter_map(secrets::file));
    match url {
        Err(error) => findings.push(Finding::problem("database", format!("{error:#}"))),
        Ok(ref url @ DatabaseUrl::Postgres(ref hosts)) => {
            findings.extend(postgres::check(url, hosts).await);
        }
        Ok(url @ DatabaseUrl::Sqlite(_)) => {
            findings.extend(host::files(url.clone(), is_allowed).await);
            if let DatabaseUrl::Sqlite(path) = url {
                findings.extend(sqlite::check(&path).await);
            }
        }
    }
    findings
}
