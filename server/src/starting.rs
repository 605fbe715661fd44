//! Responses of a node while it opens its database, which takes long only during a migration: the
//! node is alive, but cannot serve yet.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::config::Config;
use crate::http::connections::{self, Settings};
use crate::metrics::Gauge;
use crate::routes;

/// Time before these responses start. Connections that come earlier wait for the service itself.
const GRACE: Duration = Duration::from_secs(1);
/// Timeout of the last of these responses.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Completes `opening`. If it takes long, `/healthz` on `listener` responds with 200 in the
/// meantime, and everything else with 503.
pub async fn answer_while<T>(
    opening: impl Future<Output = T>,
    listener: TcpListener,
    config: &Config,
) -> io::Result<(T, TcpListener)> {
    let mut opening = pin!(opening);
    if let Ok(opened) = timeout(GRACE, &mut opening).await {
        return Ok((opened, listener));
    }
    let own = listener.into_std()?;
    let shared = TcpListener::from_std(own.try_clone()?)?;
    let settings = Settings {
        limits: config.connections,
        proxies: config.trusted_proxies.clone(),
        tls: config.tls.clone(),
        open: Gauge::default(),
        max: Gauge::default(),
    };
    let (end, ended) = oneshot::channel::<()>();
    let shutdown = async { drop(ended.await) };
    let answering =
        connections::serve(shared, routes::starting(), settings, shutdown, DRAIN_TIMEOUT);
    let answering = tokio::spawn(answering);
    let opened = opening.await;
    drop(end);
    drop(answering.await);
    Ok((opened, TcpListener::from_std(own)?))
}
