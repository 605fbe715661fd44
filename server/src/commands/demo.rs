//! `licd demo`: the service with sample data.
//!
//! Each run starts with the same new database in a temporary folder and leaves nothing behind. All
//! data is written and read over HTTP, as by any client.

mod sample;

use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;

use anyhow::Context;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, Table};
use common::{ApiKey, KeyText, Name, Validation};
use futures_util::TryFutureExt;
use licd::config::Config;
use licd::db::{DatabaseUrl, Db};
use licd::ops::tenants;
use licd::secrets::SecretKeys;
use sample::DemoRow;
use tokio::net::TcpListener;

use super::{print, say, signals};

#[derive(clap::Args)]
pub struct Demo {
    /// The address to listen on; by default port 8080, or a free port if 8080 is taken.
    #[arg(long, env = "LICD_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,
}

impl Demo {
    pub async fn run(self) -> anyhow::Result<()> {
        signals::until_stopped(None, async move |stop| self.show(stop).await).await?;
        say("Stopped. The demo's data was deleted; `licd serve` keeps its data.");
        Ok(())
    }

    /// The folder is deleted at the end, and also on drop.
    async fn show(self, stop: signals::Stop) -> anyhow::Result<()> {
        let own = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("licd-demo-").permissions(own).tempdir()?;
        let db = Db::open(&DatabaseUrl::Sqlite(folder.path().join("demo.db"))).await?;
        let (tenant, key) = tenants::create(&db, Name::from_static("Acme"), |_, _| true).await?;
        let listener = self.listen().await?;
        let server = format!("http://{}", listener.local_addr()?);
        print(format_args!(
            "licd serves {} at {server}, with a temporary database.\n",
            tenant.name
        ))?;

        let secret_keys = SecretKeys::for_database(&folder.path().join("demo.db"))?;
        let config = Config { secret_keys, ..Config::default() };
        let service = licd::serve(db, &config, listener, None, stop.requested());
        let tour = async {
            let (answers, license_key) = sample::fill_and_ask(&server, &key).await?;
            print(table(&answers).trim_fmt())?;
            print(next_steps(&server, &key, &license_key))
        };
        tokio::try_join!(service.map_err(anyhow::Error::from), tour)?;
        Ok(())
    }

    async fn listen(&self) -> anyhow::Result<TcpListener> {
        let Some(address) = &self.listen else {
            let either = [8080, 0].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            return TcpListener::bind(&either[..]).await.context("cannot listen on any port");
        };
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
    }
}

fn table(answers: &[DemoRow]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["USER", "VALID", "REASON", "FEATURES", "WHAT IT SHOWS"]);
    for DemoRow { user, shows, validation } in answers {
        let (valid, reason, features) = match validation {
            Validation::Valid(grant) => {
                let features: Vec<_> = grant.features.iter().map(|flag| flag.as_str()).collect();
                (Cell::new("yes").fg(Color::Green), String::new(), features.join(", "))
            }
            Validation::Invalid(refusal) => {
                (Cell::new("no").fg(Color::Red), refusal.reason.to_string(), String::new())
            }
        };
        let [user, reason, features, shows] = [*user, &reason, &features, *shows].map(Cell::new);
        table.add_row([user, valid, reason, features, shows]);
    }
    table
}

fn next_steps(server: &str, key: &ApiKey, license_key: &KeyText) -> String {
    let (key, license_key) = (key.expose(), license_key.expose());
    format!(
        "
Open the dashboard in a browser, and sign in with the key:

    {server}/dashboard
    {key}

Validate a user yourself:

    curl {server}/api/v1/validate \\
        -H 'Authorization: Bearer {key}' \\
        -H 'Content-Type: application/json' -d '{{\"userId\": \"ada\"}}'

Point licctl at it, in another terminal (`cargo install --path cli` installs it):

    export LICCTL_SERVER={server}
    export LICCTL_API_KEY={key}

Then try:

    licctl validate grace --explain                     why not, and how to fix it
    licctl claim dennis {license_key}   a license key, as a shop sells it
    licctl validate frances --explain                   a floating seat: when it comes free
    licctl licenses list --status grace                 what has ended, and still works
    licctl leases issue ada --product Studio            a lease, for a machine without a network
    licctl events list                                  who changed what
    licctl webhooks listen --forward-to http://localhost:3000/ --since 1h
    licctl plans create                                 asks for what is missing

Ctrl-C stops the demo.
"
    )
}
