//! The metrics for Prometheus. Values that are not counted as they change are read here, at each
//! scrape.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::health::{self, Abilities};
use crate::error::Error;
use crate::http::App;
use crate::http::context;
use crate::metrics::{KindLabel, PoolLabel, PoolLabels, QueueLabel};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Sources of the metrics that a scrape reads.
#[derive(Clone)]
pub struct Scrape {
    pub app: App,
    /// Returns the number of log lines that were lost since the process started.
    pub log_lines_lost: fn() -> u64,
}

/// All current metrics. Readiness is probed as for `/readyz`, so this takes two seconds if the
/// database does not respond.
pub async fn show(State(scrape): State<Scrape>) -> Response {
    let Abilities { validates, writes } = health::check(&scrape.app).await;
    scrape.app.metrics.ready.set(validates.into());
    scrape.app.metrics.writable.set(writes.into());
    read(&scrape);
    let metrics = scrape.app.metrics.clone();
    // Reads files, and formats some hundred lines.
    let text = tokio::task::spawn_blocking(move || metrics.text()).await;
    match text {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        _ => Error::Internal.into_response(),
    }
}

fn read(Scrape { app, log_lines_lost }: &Scrape) {
    let metrics = &app.metrics;
    let waiting = [("reads", app.validations.waiting()), ("writes", app.claims.waiting())];
    for (queue, waiting) in waiting {
        metrics.queue_length.get_or_create(&QueueLabel { queue }).set(waiting as i64);
    }
    metrics.key_uses_unwritten.set(app.gate.last_uses.unwritten() as i64);
    metrics.outcomes_unwritten.set(app.outcomes.unwritten() as i64);
    let (unwritten, dropped) = app.last_checks.unwritten_and_dropped();
    metrics.last_checks_unwritten.set(unwritten as i64);
    metrics.set_last_checks_dropped(dropped);
    for (kind, (held, waiting)) in app.ops.permits() {
        metrics.admin_permits_in_use.get_or_create(&KindLabel { kind }).set(held as i64);
        metrics.admin_permits_waiting.get_or_create(&KindLabel { kind }).set(waiting as i64);
    }
    for pool in app.db.pools() {
        metrics.pool_max.get_or_create(&PoolLabel { pool: pool.name }).set(pool.max as i64);
        for (state, count) in [("in_use", pool.in_use), ("idle", pool.idle)] {
            let labels = PoolLabels { pool: pool.name, state };
            metrics.pool.get_or_create(&labels).set(count as i64);
        }
    }
    metrics.set_log_lines(log_lines_lost(), context::omitted());
}
