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
pub mod ops;
pub mod pages;
pub mod routes;
pub mod store;
mod supervise;
pub mod validation;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use config::Config;
use db::Db;
use ops::Operations;
use ops::readiness::Readiness;
use pages::SignInLimit;
use validation::gate::KeyGate;
use validation::queue::BatchQueue;
use validation::{Answer, OutcomeCounts, Placements, ValidationRequest};

/// The state that every handler can use. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    db: Db,
    ops: Operations,
    validations: BatchQueue<ValidationRequest, Answer>,
    placements: Arc<Placements>,
    gate: Arc<KeyGate>,
    readiness: Arc<Readiness>,
    sign_ins: Arc<SignInLimit>,
}

impl App {
    /// Starts the worker that answers validations, which ends after the last clone of this is
    /// dropped.
    fn start(db: Db, config: &Config, outcomes: Arc<OutcomeCounts>) -> (Self, JoinHandle<()>) {
        let gate = Arc::new(KeyGate::new(config.rate_limit, config.new_users));
        let (placements, readiness) = (Arc::<Placements>::default(), Arc::<Readiness>::default());
        let (validations, worker) = BatchQueue::start({
            let (db, gate) = (db.clone(), gate.clone());
            let (placements, readiness) = (placements.clone(), readiness.clone());
            move |requests: Vec<ValidationRequest>| {
                let (db, gate) = (db.clone(), gate.clone());
                let (placements, readiness) = (placements.clone(), readiness.clone());
                let outcomes = outcomes.clone();
                async move {
                    let answers =
                        validation::answer(&db, &gate, &placements, &outcomes, &requests).await;
                    readiness.note_batch(answers.as_ref().map(drop));
                    answers
                }
            }
        });
        let ops = Operations::new(db.clone());
        let sign_ins = Arc::default();
        (Self { db, ops, validations, placements, gate, readiness, sign_ins }, worker)
    }
}

/// How long requests in flight may take after the stop began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long each of the last writes may take after that.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// Answers on `listener` until `shutdown` completes; then takes no more connections, finishes what
/// is in flight, and returns.
pub async fn serve(
    db: Db,
    config: &Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    go_on_after_stored_ids(&db).await.map_err(std::io::Error::other)?;
    let outcomes = Arc::<OutcomeCounts>::default();
    let (app, validating) = App::start(db.clone(), config, outcomes.clone());
    let gate = app.gate.clone();
    let report_omitted = http::context::report_omitted;
    let maintenance =
        background::start(db.clone(), gate.clone(), config.events_kept, report_omitted);
    let writing_outcomes = background::start_outcomes(db.clone(), outcomes.clone());

    let router = routes::router(app);
    let (limits, proxies) = (config.connections, config.trusted_proxies.clone());
    http::connections::serve(listener, router, limits, proxies, shutdown, DRAIN_TIMEOUT).await;

    // With the router the last callers are gone; the worker answers the requests that still wait.
    drop(tokio::time::timeout(FINISH_TIMEOUT, validating).await);
    // Both wait for what the task is writing. Only then it is aborted: a portion that was cut off
    // would be lost, or counted twice.
    match tokio::time::timeout(FINISH_TIMEOUT, gate.last_uses.write(&db)).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(?failed, "the last uses of keys could not be written"),
    }
    maintenance.abort();
    match tokio::time::timeout(FINISH_TIMEOUT, outcomes.flush(&db)).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(?failed, "the last outcomes could not be written"),
    }
    writing_outcomes.abort();
    // Connections to a server that fell silent never close, and must not keep the process.
    drop(tokio::time::timeout(FINISH_TIMEOUT, db.close()).await);
    Ok(())
}

async fn go_on_after_stored_ids(db: &Db) -> db::Result<()> {
    store::ids::go_on(&mut db.read().await?).await
}
