//! `licd serve`: the service itself.

use anyhow::Context;
use common::{ApiKey, Mode};
use licd::config::Config;
use licd::limit::{NewUserLimit, RateLimit};
use licd::tenancy;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{Database, say};

#[derive(clap::Args)]
pub struct Serve {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, env = "LICD_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
    #[command(flatten)]
    database: Database,
    /// How often each API key may ask: 10000/s, 600/m, or off.
    #[arg(long, env = "LICD_RATE_LIMIT", default_value_t, value_name = "RATE")]
    rate_limit: RateLimit,
    /// How many users the validations of each API key may make: 100/s, 600/m, or off. A hundred
    /// seconds' worth may come at once.
    #[arg(long, env = "LICD_NEW_USERS", default_value_t, value_name = "RATE")]
    new_users: NewUserLimit,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<()> {
        let bootstrap_key = bootstrap_key()?;
        let db = self.database.open().await?;
        let made = tenancy::bootstrap(&db, bootstrap_key.as_ref()).await?;
        let listener = TcpListener::bind(&self.listen)
            .await
            .with_context(|| format!("cannot listen on {}", self.listen))?;
        let address = listener.local_addr()?;
        if let Some(key) = made {
            say("This database was empty. It now has the tenant `default`, and this admin key,");
            say("which is shown only this once:");
            say(format_args!("\n    {}\n", key.expose()));
        }
        tracing::info!(%address, "listening");
        let (rate_limit, new_users) = (self.rate_limit, self.new_users);
        let config = Config { rate_limit, new_users, ..Config::default() };
        licd::serve(db, &config, listener, stop_signal()?).await?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// From the environment alone: a flag would show the key in the process list.
fn bootstrap_key() -> anyhow::Result<Option<ApiKey>> {
    let Ok(text) = std::env::var("LICD_BOOTSTRAP_KEY") else { return Ok(None) };
    if text.is_empty() {
        return Ok(None);
    }
    let key: ApiKey = text.parse().context("LICD_BOOTSTRAP_KEY")?;
    anyhow::ensure!(key.mode() == Mode::Live, "LICD_BOOTSTRAP_KEY must be a live key: sk_live_…");
    Ok(Some(key))
}

/// Completes at the first SIGTERM or Ctrl-C.
pub fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
