//! `licd serve`: the service itself.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::builder::BoolishValueParser;
use common::{ApiKey, Mode};
use licd::MetricsEndpoint;
use licd::auth::limit::{NewUserLimit, RateLimit};
use licd::config::{Config, WebhookSettings};
use licd::db::{DatabaseUrl, inspect};
use licd::delivery::addresses::AddressRules;
use licd::http::{Tls, TrustedProxies};
use licd::networks::Networks;
use licd::ops::events::Retention;
use licd::ops::notices::ExpiryNotices;
use licd::ops::tenants;
use licd::starting;
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use super::secret_key::{SecretKeyFile, missing_keys};
use super::{Database, SecretFile, signals};
use crate::log;

#[derive(clap::Args)]
#[command(after_help = "\
With LICD_BOOTSTRAP_KEY, an empty database gets this first admin key instead of a
printed one. `licd keys generate` prints such a key. LICD_BOOTSTRAP_KEY_FILE may
name a file that holds it.")]
pub struct Serve {
    /// The address to listen on; port 0 selects a free port.
    #[arg(long, env = "LICD_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
    /// The address that serves metrics for Prometheus, at /metrics, such as 127.0.0.1:9464; none by
    /// default. It requires no key, so keep it private.
    #[arg(long, env = "LICD_METRICS_LISTEN", value_name = "ADDRESS")]
    metrics_listen: Option<String>,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    pub secret_keys: SecretKeyFile,
    /// Maximum rate of requests of each API key: 10000/s, 600/m, or off.
    #[arg(long, env = "LICD_RATE_LIMIT", default_value_t, value_name = "RATE")]
    rate_limit: RateLimit,
    /// Maximum rate of users that the validations of each API key create: 100/s, 600/m, or off. A
    /// burst may have 100 seconds' worth.
    #[arg(long, env = "LICD_NEW_USERS", default_value_t, value_name = "RATE")]
    new_users: NewUserLimit,
    /// Time for which events are kept: a number of days, such as 400d, or forever.
    #[arg(long, env = "LICD_EVENTS_KEEP", default_value_t, value_name = "DAYS")]
    pub events_keep: Retention,
    /// Days before the end of a license at which licd records an event, in addition to the events
    /// at the end and at the end of the grace: 30,7,1, or off for none of these events.
    #[arg(long, env = "LICD_EXPIRY_NOTICES", default_value_t, value_name = "DAYS")]
    expiry_notices: ExpiryNotices,
    /// Whether this node sends webhooks: on, or off for a drill with a restored copy.
    #[arg(long, env = "LICD_WEBHOOKS", default_value = "on", value_name = "ON", value_parser = switch)]
    webhooks: bool,
    /// Addresses that are not public, and that webhooks of all tenants may reach, also in plain
    /// HTTP: addresses and networks, such as 10.1.2.3. Name single addresses.
    #[arg(long, env = "LICD_WEBHOOK_ALLOW_NETS", value_name = "NETWORKS")]
    webhook_allow_nets: Option<Networks>,
    /// Public addresses that webhooks may not reach: those of your own network and, behind NAT, the
    /// public address of this host, which licd cannot see.
    #[arg(long, env = "LICD_WEBHOOK_DENY_NETS", value_name = "NETWORKS")]
    webhook_deny_nets: Option<Networks>,
    /// The proxies in front of licd whose X-Forwarded-For and X-Forwarded-Proto are trusted:
    /// addresses and networks, such as 10.0.0.0/8,192.0.2.7,::1.
    #[arg(long, env = "LICD_TRUSTED_PROXIES", value_name = "NETWORKS")]
    trusted_proxies: Option<TrustedProxies>,
    /// The TLS certificate, followed by its intermediate certificates: a PEM file. It is reloaded
    /// when it changes, and at SIGHUP, which then does not stop licd.
    #[arg(long, env = "LICD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key: a PEM file.
    #[arg(long, env = "LICD_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Listen in plain HTTP on an address that other machines can reach, where keys could be
    /// intercepted.
    #[arg(long, env = "LICD_ALLOW_HTTP", value_parser = BoolishValueParser::new())]
    allow_http: bool,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<()> {
        let bootstrap_key = bootstrap_key()?;
        let tls = self.tls()?;
        let (url, _) = self.database.find()?;
        let secret_keys = self.secret_keys.read(&url)?;
        #[cfg(feature = "otel")]
        let _traces = super::traces::start()?;
        // Do this first: if the port is taken, no first key must be created, since it is shown only
        // once.
        let listener = listen(&self.listen).await?;
        let address = listener.local_addr()?;
        self.refuse_http(tls.as_ref(), address)?;
        let metrics_listener = match &self.metrics_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        self.warn_of_proxies();
        let config = Config {
            rate_limit: self.rate_limit,
            new_users: self.new_users,
            events_kept: self.events_keep,
            expiry_notices: self.expiry_notices,
            secret_keys,
            webhooks: WebhookSettings {
                are_off: !self.webhooks,
                rules: AddressRules {
                    allowed: self.webhook_allow_nets.unwrap_or_default(),
                    denied: self.webhook_deny_nets.unwrap_or_default(),
                },
            },
            trusted_proxies: self.trusted_proxies.unwrap_or_default(),
            tls: tls.clone(),
            ..Config::default()
        };
        // Before the database is open: to close a second connection to an SQLite file would drop the
        // locks that show other programs that it is in use.
        if matches!(url, DatabaseUrl::Sqlite(_)) {
            report_missing_keys(&url, &config).await;
        }
        let opening = self.database.open();
        let (db, listener) = starting::answer_while(opening, listener, &config).await?;
        let db = db?;
        match bootstrap_key {
            Some(key) => tenants::bootstrap(&db, &key, || true).await?,
            None => {
                let key = ApiKey::generate(Mode::Live);
                tenants::bootstrap(&db, &key, || announce(&key)).await?
            }
        };
        if matches!(url, DatabaseUrl::Postgres(_)) {
            report_missing_keys(&url, &config).await;
        }
        signals::until_stopped(tls, async move |stop| {
            let metrics = metrics_listener.map(show_metrics).transpose()?;
            let tls = config.tls.as_ref().map(|_| true);
            tracing::info!(%address, tls, "listening");
            Ok(licd::serve(db, &config, listener, metrics, stop.requested()).await?)
        })
        .await?;
        tracing::info!("stopped");
        Ok(())
    }

    /// Fails if `licd serve` would, because of its addresses or TLS. Does not listen, since licd
    /// may be running.
    pub fn check(&self) -> anyhow::Result<()> {
        let tls = self.tls()?;
        for address in resolve(&self.listen)? {
            self.refuse_http(tls.as_ref(), address)?;
        }
        self.metrics_listen.iter().try_for_each(|address| resolve(address).map(drop))
    }

    fn warn_of_proxies(&self) {
        for network in self.trusted_proxies.iter().flat_map(|it| it.0.everybody()) {
            tracing::warn!(
                %network,
                "LICD_TRUSTED_PROXIES trusts every address, so any client can claim any address; \
                 name the proxies' own addresses"
            );
        }
    }

    fn refuse_http(&self, tls: Option<&Tls>, address: SocketAddr) -> anyhow::Result<()> {
        let may_listen = tls.is_some() || self.may_speak_http(address);
        ensure!(may_listen, "licd does not listen on {address}: {REFUSED_HTTP}");
        Ok(())
    }

    /// The certificate and key in the two settings. As everywhere, an empty setting counts as
    /// unset.
    fn tls(&self) -> anyhow::Result<Option<Tls>> {
        let [certificate, key] = [&self.tls_cert, &self.tls_key]
            .map(|path| path.clone().filter(|path| !path.as_os_str().is_empty()));
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                Ok(Some(Tls::open(certificate, key).context("TLS cannot be used")?))
            }
            (None, None) => Ok(None),
            (Some(_), None) => bail!(
                "--tls-cert (LICD_TLS_CERT) is set without --tls-key (LICD_TLS_KEY): TLS needs both"
            ),
            (None, Some(_)) => bail!(
                "--tls-key (LICD_TLS_KEY) is set without --tls-cert (LICD_TLS_CERT): TLS needs both"
            ),
        }
    }

    /// Whether plain HTTP on this address is safe, or allowed by the operator.
    fn may_speak_http(&self, address: SocketAddr) -> bool {
        let has_proxy = self.trusted_proxies.as_ref().is_some_and(|proxies| !proxies.0.is_empty());
        address.ip().to_canonical().is_loopback() || has_proxy || self.allow_http
    }
}

/// Logs what is sealed with secret keys that this node lacks.
async fn report_missing_keys(url: &DatabaseUrl, config: &Config) {
    let Ok(sealed) = inspect::sealed(url).await else { return };
    for missing in missing_keys(&config.secret_keys, &sealed) {
        tracing::error!(
            missing,
            "this node cannot open all secrets; add the secret key to LICD_SECRET_KEY_FILE"
        );
    }
}

fn switch(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off"),
    }
}

/// Rejects an address without a host, for which the system's message is about a name.
fn require_host(address: &str) -> anyhow::Result<()> {
    let has_host = address.rsplit_once(':').is_some_and(|(host, _)| !host.is_empty());
    ensure!(
        has_host,
        "cannot listen on {address}: it must be a host and a port, such as 127.0.0.1:8080, or \
         0.0.0.0:8080 for all addresses of this machine"
    );
    Ok(())
}

async fn listen(address: &str) -> anyhow::Result<TcpListener> {
    require_host(address)?;
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("cannot listen on {address}"))
}

/// All addresses that a name resolves to.
fn resolve(address: &str) -> anyhow::Result<impl Iterator<Item = SocketAddr>> {
    require_host(address)?;
    address.to_socket_addrs().with_context(|| format!("cannot listen on {address}"))
}

fn show_metrics(listener: TcpListener) -> anyhow::Result<MetricsEndpoint> {
    tracing::info!(address = %listener.local_addr()?, "serving metrics");
    Ok(MetricsEndpoint { listener, log_lines_lost: log::lines_lost })
}
/// Keys would cross the network unencrypted.
const REFUSED_HTTP: &str = "other machines could connect, and would send their keys in plain HTTP. \
    Give licd a certificate (--tls-cert and --tls-key), or name the proxy in front of it that \
    terminates TLS (--trusted-proxies), or, on a network that nobody else can read, allow HTTP \
    (--allow-http)";

/// Shows the first key. Returns whether it was written. If not, the key must not be stored, because
/// no person would know it.
fn announce(key: &ApiKey) -> bool {
    let written = log::line(format_args!(
        "This database is empty. It gets the tenant `default`, and this admin key, which is shown
only once (`licd keys create --tenant default` creates another):

    {}
",
        key.expose()
    ));
    if !written {
        tracing::error!(
            "the first admin key could not be written to standard error, so none was created; `licd \
             tenants create default` prints one to standard output"
        );
    }
    written
}

/// From the environment or a file; a flag would show the key in the process list.
pub fn bootstrap_key() -> anyhow::Result<Option<ApiKey>> {
    let variable = "LICD_BOOTSTRAP_KEY";
    let value = std::env::var(variable).map(Zeroizing::new);
    let key: ApiKey = match (SecretFile::of(variable)?, value) {
        (Some(file), _) => file.read()?,
        (None, Ok(text)) if !text.is_empty() => text.parse().context(variable)?,
        (None, _) => return Ok(None),
    };
    anyhow::ensure!(key.mode() == Mode::Live, "{variable} must be a live key: sk_live_…");
    Ok(Some(key))
}
