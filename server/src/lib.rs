//! licd, the licensing service: validates users and administers licenses.
//!
//! [`Db::open`] makes the database ready, [`serve`] answers requests until it is stopped. Read on
//! in [`routes`], which lists every address and leads to everything else.

mod api;
pub mod auth;
mod background;
pub mod backup;
mod budget;
pub mod config;
pub mod copy;
pub mod db;
pub mod delivery;
pub mod error;
pub mod events;
mod fair;
pub mod http;
pub mod metrics;
pub mod networks;
pub mod ops;
mod pages;
pub mod permissions;
pub mod routes;
pub mod secrets;
pub mod small_file;
pub mod starting;
pub mod store;
mod supervise;
pub mod validation;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use api::metrics::Scrape;
use auth::gate::KeyGate;
use background::Tasks;
use config::Config;
use db::Db;
use delivery::client::Client;
use delivery::connect::{Connector, system_roots};
use delivery::sender::Sender;
use http::{App, ConnectionLimits, Parts, TrustedProxies};
use metrics::{Gauge, Metrics};
use ops::Operations;
use ops::nodes::Node;
use ops::readiness::{Ability, Readiness};
use validation::queue::{BatchQueue, Batches, Note};
use validation::{BatchValidator, LastChecks};

/// Starts the workers that answer validations. They end after the last clone of the state is
/// dropped.
pub(crate) fn start(
    db: Db,
    config: &Config,
    address: Option<SocketAddr>,
) -> (App, [JoinHandle<()>; 2]) {
    let gate = Arc::new(KeyGate::new(config.rate_limit, config.new_users, db.lookups()));
    let (readiness, metrics) = (Arc::<Readiness>::default(), Arc::<Metrics>::default());
    let (outcomes, last_checks) = (Arc::default(), Arc::<LastChecks>::default());
    let validator = Arc::new(BatchValidator {
        db: db.clone(),
        gate: gate.clone(),
        outcomes: Arc::clone(&outcomes),
        last_checks: last_checks.clone(),
        metrics: metrics.clone(),
    });
    let is_sharded = db.is_sharded();
    // There, a batch fails for one tenant, whose server is away.
    let noting = |ability: fn(&Readiness) -> &Ability| -> Note {
        let readiness = readiness.clone();
        match is_sharded {
            true => Arc::new(|_| ()),
            false => Arc::new(move |outcome| ability(&readiness).record_batch(outcome)),
        }
    };
    let batches = |most: u32| Batches { most: most as usize, per_tenant: is_sharded };
    let most_reading = batches(db.most_reading());
    let (validations, reads) =
        BatchQueue::start("reads", most_reading, &metrics, &validator, &noting(|it| &it.reads));
    let most_writing = batches(db.most_writing());
    let (claims, writes) =
        BatchQueue::start("writes", most_writing, &metrics, &validator, &noting(|it| &it.writes));
    let ops = Operations::new(db.clone(), last_checks.clone());
    let connector = Connector::new(config.webhooks.rules.clone(), system_roots);
    let (secrets, client) = (config.secret_keys.clone(), Client::new(connector));
    let is_off = config.webhooks.are_off;
    let sender = Sender::new(db.clone(), secrets.clone(), client, metrics.clone(), is_off);
    let webhooks = Arc::new(sender);
    let (sign_ins, wrong_keys) = Default::default();
    let parts = Parts {
        db,
        ops,
        validations,
        claims,
        gate,
        outcomes,
        last_checks,
        metrics,
        readiness,
        node: Node::new(address, secrets.clone()),
        secrets,
        webhooks,
        sign_ins,
        wrong_keys,
    };
    (App::new(parts), [reads, writes])
}

/// Time for requests in flight to end after the stop began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// Time after that for the requests that still wait, and for the connections to end.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// Time for a scrape in flight to end after the service has ended.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);
/// The bounds of connections for scrapes: a few monitors, and none that holds one for long.
const SCRAPE_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    max_connections: Some(16),
    head_timeout: Duration::from_secs(5),
    idle_timeout: Duration::from_secs(75),
    write_timeout: Duration::from_secs(5),
};

/// Listener for metrics.
pub struct MetricsEndpoint {
    pub listener: TcpListener,
    /// Returns the number of lines that the log has lost.
    pub log_lines_lost: fn() -> u64,
}

impl MetricsEndpoint {
    /// Answers scrapes until `shutdown` completes or its sender is gone.
    async fn serve(self, app: App, shutdown: oneshot::Receiver<()>) {
        let router = routes::metrics(Scrape { app, log_lines_lost: self.log_lines_lost });
        let shutdown = async { drop(shutdown.await) };
        let settings = http::connections::Settings {
            limits: SCRAPE_CONNECTIONS,
            proxies: TrustedProxies::default(),
            tls: None,
            open: Gauge::default(),
            max: Gauge::default(),
        };
        http::connections::serve(self.listener, router, settings, shutdown, SCRAPE_TIMEOUT).await;
    }
}

/// Serves on `listener` until `shutdown` completes. Then accepts no more connections, finishes the
/// requests in flight, and returns. Metrics are served until then.
pub async fn serve(
    db: Db,
    config: &Config,
    listener: TcpListener,
    metrics_endpoint: Option<MetricsEndpoint>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    go_on_after_stored_ids(&db).await.map_err(std::io::Error::other)?;
    // Before the first seat could be taken over. A full disk must not keep licd from starting.
    if let Err(error) = validation::idle::record_uptime(&db).await {
        tracing::warn!(%error, "no seat comes free by itself until the database can be written");
    }
    let (app, validating) = start(db.clone(), config, listener.local_addr().ok());
    if let Err(error) = app.node.record(&db).await {
        tracing::warn!(%error, "other nodes cannot know the secret keys of this one yet");
    }
    let metrics = app.metrics.clone();
    let tasks = Tasks::start(&app, config.events_kept, config.expiry_notices.clone());

    let (end_scrapes, scrapes_end) = oneshot::channel();
    let scrapes =
        metrics_endpoint.map(|endpoint| tokio::spawn(endpoint.serve(app.clone(), scrapes_end)));
    let router = routes::router(app);
    let watching = config.tls.clone().map(|tls| {
        let watch = move || tls.clone().watch();
        tokio::spawn(supervise::supervise("tls_certificate", metrics.clone(), watch))
    });
    let settings = http::connections::Settings {
        limits: config.connections,
        proxies: config.trusted_proxies.clone(),
        tls: config.tls.clone(),
        open: metrics.connections.clone(),
        max: metrics.connections_max.clone(),
    };
    http::connections::serve(listener, router, settings, shutdown, DRAIN_TIMEOUT).await;
    drop(end_scrapes);
    if let Some(scrapes) = scrapes {
        drop(scrapes.await);
    }
    if let Some(watching) = watching {
        watching.abort();
    }

    // With the router the last callers are gone; the workers answer the requests that still wait.
    for worker in validating {
        drop(tokio::time::timeout(FINISH_TIMEOUT, worker).await);
    }
    tasks.finish().await;
    // Connections to a server that fell silent never close, and must not keep the process.
    drop(tokio::time::timeout(FINISH_TIMEOUT, db.close()).await);
    Ok(())
}

async fn go_on_after_stored_ids(db: &Db) -> db::Result<()> {
    store::ids::advance_past_stored(&mut db.read().await?).await
}
