//! licd, the licensing service: is this user licensed, and who administers that.
//!
//! [`Db::open`] makes the database ready, [`serve`] answers until it is told to stop. Read on in
//! [`routes`], which lists every address and leads to everything else.

pub mod answer;
pub mod api;
pub mod auth;
pub mod backup;
pub mod batching;
pub mod budget;
pub mod config;
pub mod db;
pub mod error;
pub mod exchange;
pub mod extract;
pub mod http;
pub mod limit;
pub mod once;
mod openapi;
pub mod routes;
pub mod store;
pub mod tenancy;
pub mod transfer;
pub mod validation;

use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::Timestamp;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;

use auth::{Gate, Usage};
use batching::Batcher;
use config::Config;
use db::Db;
use limit::Limiter;
use validation::{Answer, Question};

/// What every handler can reach. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    db: Db,
    validations: Batcher<Question, Answer>,
    gate: Arc<Gate>,
    running: once::Running,
}

/// How often the times of last use are written, and idle rate limits forgotten.
const HOUSEKEEPING: Duration = Duration::from_secs(2);
/// How long requests in flight may take once the service was told to stop.
const DRAIN: Duration = Duration::from_secs(20);
/// How long the last batches may take after that.
const FINISH: Duration = Duration::from_secs(6);

/// Answers on `listener` until `shutdown` completes; then takes no more connections, finishes what
/// is in flight, and returns.
pub async fn serve(
    db: Db,
    config: &Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let limiter = Limiter::new(config.rate_limit);
    let gate = Arc::new(Gate { limiter, usage: Usage::default() });
    let (validations, validating) = Batcher::start({
        let (db, gate) = (db.clone(), gate.clone());
        move |questions: Vec<Question>| {
            let (db, gate) = (db.clone(), gate.clone());
            async move { validation::answer(&db, &gate, &questions).await }
        }
    });
    let housekeeper = tokio::spawn(keep_house(db.clone(), gate.clone()));
    let running = once::Running::default();
    let app = App { db: db.clone(), validations, gate: gate.clone(), running };

    let stopping = Arc::new(tokio::sync::Notify::new());
    let stop = stopping.clone();
    let signal = async move {
        shutdown.await;
        stop.notify_one();
    };
    let service = routes::router(app).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(signal);
    let deadline = async {
        stopping.notified().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        ended = server.into_future() => ended?,
        () = deadline => tracing::warn!("some requests did not end in time and were broken off"),
    }

    housekeeper.abort();
    // The router is gone, and with it the last who ask; what still waits is answered.
    drop(tokio::time::timeout(FINISH, validating).await);
    if let Err(error) = gate.usage.write(&db).await {
        tracing::warn!(%error, "the times of last use could not be written");
    }
    // A server that fell silent never gives its connections back, and must not keep the process.
    drop(tokio::time::timeout(FINISH, db.close()).await);
    Ok(())
}

async fn keep_house(db: Db, gate: Arc<Gate>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        gate.limiter.forget_idle();
        exchange::report_omitted();
        if let Err(error) = gate.usage.write(&db).await {
            tracing::warn!(%error, "the times of last use could not be written");
        }
        if let Err(error) = once::forget_old(&db, Timestamp::now()).await {
            tracing::warn!(%error, "old idempotency keys could not be forgotten");
        }
    }
}
