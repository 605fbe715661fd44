//! licd, the licensing service: is this user licensed, and who administers that.
//!
//! [`Db::open`] makes the database ready, [`serve`] answers until it is told to stop. Read on in
//! [`routes`], which lists every address and leads to everything else.

pub mod answer;
pub mod api;
pub mod auth;
pub mod backup;
pub mod batching;
pub mod config;
pub mod db;
pub mod error;
pub mod exchange;
pub mod extract;
pub mod limit;
pub mod once;
mod openapi;
pub mod routes;
pub mod store;
pub mod tenancy;
pub mod transfer;
pub mod validation;

use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use common::Timestamp;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;

use batching::Batcher;
use config::Config;
use db::Db;
use limit::Limiter;
use store::keys::{self, Hash, Holder};
use validation::{Answer, Ask};

/// What every handler can reach. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    db: Db,
    keys: Batcher<Hash, Option<Holder>>,
    validations: Batcher<Ask, Answer>,
    limiter: Arc<Limiter>,
    usage: Arc<auth::Usage>,
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
    let (validations, validating) = Batcher::start({
        let db = db.clone();
        move |asks: Vec<Ask>| {
            let db = db.clone();
            async move { validation::answer(&db, &asks).await }
        }
    });
    let (keys, authenticating) = Batcher::start({
        let db = db.clone();
        move |hashes: Vec<Hash>| {
            let db = db.clone();
            async move { Ok(keys::find_by_hashes(&mut db.read().await?, &hashes).await?) }
        }
    });
    let limiter = Arc::new(Limiter::new(config.rate_limit));
    let usage = Arc::new(auth::Usage::default());
    let housekeeper = tokio::spawn(keep_house(db.clone(), limiter.clone(), usage.clone()));
    let app = App {
        db: db.clone(),
        keys,
        validations,
        limiter,
        usage: usage.clone(),
        running: once::Running::default(),
    };

    let stopping = Arc::new(tokio::sync::Notify::new());
    let stop = stopping.clone();
    let signal = async move {
        shutdown.await;
        stop.notify_one();
    };
    let server = axum::serve(listener, routes::router(app).into_make_service())
        .with_graceful_shutdown(signal);
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
    drop(tokio::time::timeout(FINISH, async { tokio::join!(validating, authenticating) }).await);
    if let Err(error) = usage.write(&db).await {
        tracing::warn!(%error, "the times of last use could not be written");
    }
    // A server that fell silent never gives its connections back, and must not keep the process.
    drop(tokio::time::timeout(FINISH, db.close()).await);
    Ok(())
}

async fn keep_house(db: Db, limiter: Arc<Limiter>, usage: Arc<auth::Usage>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        limiter.forget_idle();
        if let Err(error) = usage.write(&db).await {
            tracing::warn!(%error, "the times of last use could not be written");
        }
        if let Err(error) = once::forget_old(&db, Timestamp::now()).await {
            tracing::warn!(%error, "old idempotency keys could not be forgotten");
        }
    }
}
