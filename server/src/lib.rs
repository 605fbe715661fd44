//! licd, the licensing service: validates users and administers licenses.
//!
//! [`Db::open`] makes the database ready, [`serve`] answers requests until it is stopped. Read on
//! in [`routes`], which lists every address and leads to everything else.

pub mod api;
mod background;
pub mod backup;
mod budget;
pub mod config;
pub mod copy;
pub mod db;
pub mod error;
pub mod events;
pub mod fair;
pub mod http;
pub mod metrics;
pub mod ops;
pub mod pages;
pub mod permissions;
pub mod routes;
pub mod small_file;
pub mod store;
mod supervise;
pub mod validation;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use api::metrics::Scrape;
use config::Config;
use db::Db;
use error::Error;
use http::{ConnectionLimits, TrustedProxies};
use metrics::{Gauge, Metrics};
use ops::Operations;
use ops::readiness::Readiness;
use pages::SignInLimit;
use validation::gate::KeyGate;
use validation::queue::BatchQueue;
use validation::{Answer, OutcomeCounts, ValidationRequest};

/// The state that every handler can use. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    db: Db,
    ops: Operations,
    validations: BatchQueue<ValidationRequest, Answer>,
    gate: Arc<KeyGate>,
    outcomes: Arc<OutcomeCounts>,
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    sign_ins: Arc<SignInLimit>,
}

impl App {
    /// Starts the worker that answers validations, which ends after the last clone of this is
    /// dropped.
    fn start(db: Db, config: &Config, outcomes: Arc<OutcomeCounts>) -> (Self, JoinHandle<()>) {
        let gate = Arc::new(KeyGate::new(config.rate_limit, config.new_users, db.lookups()));
        let (readiness, metrics) = (Arc::<Readiness>::default(), Arc::<Metrics>::default());
        let answer = {
            let (db, gate) = (db.clone(), gate.clone());
            let (outcomes, metrics) = (outcomes.clone(), metrics.clone());
            move |requests: Vec<ValidationRequest>| {
                let (db, gate) = (db.clone(), gate.clone());
                let (outcomes, metrics) = (outcomes.clone(), metrics.clone());
                async move { validation::answer(&db, &gate, &outcomes, &metrics, &requests).await }
            }
        };
        let noting = readiness.clone();
        let note = move |outcome: Result<(), &Error>| noting.note_batch(outcome);
        let (validations, worker) = BatchQueue::start(metrics.clone(), answer, note);
        let ops = Operations::new(db.clone());
        let sign_ins = Arc::default();
        let app = Self { db, ops, validations, gate, outcomes, metrics, readiness, sign_ins };
        (app, worker)
    }
}

/// How long requests in flight may take after the stop began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long each of the last writes may take after that.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// How long a scrape in flight may take after the service has ended.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);
/// The bounds of connections for scrapes: a few monitors, and none that holds one for long.
const SCRAPE_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    max_connections: Some(16),
    head_timeout: Duration::from_secs(5),
    idle_timeout: Duration::from_secs(75),
    write_timeout: Duration::from_secs(5),
};

/// Where metrics are shown.
pub struct MetricsEndpoint {
    pub listener: TcpListener,
    /// How many lines the log has lost.
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

/// Answers on `listener` until `shutdown` completes; then takes no more connections, finishes what
/// is in flight, and returns. Metrics are shown as long as requests are answered.
pub async fn serve(
    db: Db,
    config: &Config,
    listener: TcpListener,
    metrics_endpoint: Option<MetricsEndpoint>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    go_on_after_stored_ids(&db).await.map_err(std::io::Error::other)?;
    let outcomes = Arc::<OutcomeCounts>::default();
    let (app, validating) = App::start(db.clone(), config, outcomes.clone());
    let (gate, metrics) = (app.gate.clone(), app.metrics.clone());
    let report_omitted = http::context::report_omitted;
    let maintenance = background::start(
        db.clone(),
        gate.clone(),
        config.events_kept,
        report_omitted,
        metrics.clone(),
    );
    let writing_outcomes =
        background::start_outcomes(db.clone(), outcomes.clone(), metrics.clone());

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

    // With the router the last callers are gone; the worker answers the requests that still wait.
    drop(tokio::time::timeout(FINISH_TIMEOUT, validating).await);
    write_the_rest(&db, &gate, &outcomes, [maintenance, writing_outcomes]).await;
    // Connections to a server that fell silent never close, and must not keep the process.
    drop(tokio::time::timeout(FINISH_TIMEOUT, db.close()).await);
    Ok(())
}

/// Writes what is in memory alone, and ends the tasks that do so every few seconds.
async fn write_the_rest(
    db: &Db,
    gate: &KeyGate,
    outcomes: &OutcomeCounts,
    [maintenance, writing_outcomes]: [JoinHandle<()>; 2],
) {
    // Both wait for what the task is writing. Only then it is aborted: a portion that was cut off
    // would be lost, or counted twice.
    match tokio::time::timeout(FINISH_TIMEOUT, gate.last_uses.write(db)).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(?failed, "the last uses of keys could not be written"),
    }
    maintenance.abort();
    match tokio::time::timeout(FINISH_TIMEOUT, outcomes.flush(db)).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(?failed, "the last outcomes could not be written"),
    }
    writing_outcomes.abort();
}

async fn go_on_after_stored_ids(db: &Db) -> db::Result<()> {
    store::ids::go_on(&mut db.read().await?).await
}
