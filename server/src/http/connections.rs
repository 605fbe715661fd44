//! Connections: accepting them, bounding their number, and stopping. hyper and the router handle the
//! requests on them, [`protocol`] what is spoken, [`stream`] their time-outs.
//!
//! Strangers hold a connection as long as they like only while there is room: a full service ends
//! those that have been [`idle`] for the longest.

mod idle;
mod protocol;
mod refusal;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use futures_util::future::{AbortHandle, Abortable, Aborted};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::LineLimit;
use crate::http::{Tls, TrustedProxies};
use crate::metrics::Gauge;
use idle::{EVICTION_GRACE, IdleConnections, TrackedConnection};
use protocol::Protocol;

/// Maximum number of connections. With heads of 16 KiB they hold at most 128 MiB.
const MAX_CONNECTIONS: usize = 8192;
/// Number of files that everything else needs: the database, the log, the runtime.
const RESERVED_FILES: u64 = 64;
/// Maximum number of connections to the receivers of webhooks. If few files may be open, an eighth
/// of these are kept for them.
const WEBHOOK_FILES: u64 = 1024;
/// Maximum number of new connections that the kernel queues, instead of the usual 128. A client
/// without room retries after a second. Linux itself allows 4096, unless it is set otherwise.
const BACKLOG: i32 = 4096;
/// Bytes of an answer that the kernel may hold for a client that does not read. Linux doubles it.
const SEND_BUFFER: usize = 128 * 1024;
/// Time for which a half-sent head may delay the stop.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Interval between looks for idle connections while there is no room, or the service stops.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);
/// A warning about connections is not repeated sooner.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Limits of connections. Tests shorten them.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of open connections, at least 1. `None` for as many as the limit on open
    /// files has room for, and at most 8192.
    pub max_connections: Option<usize>,
    /// Time in which a request's head must arrive, from its first byte on, or from the beginning of
    /// the connection.
    pub head_timeout: Duration,
    /// Time for which a connection is kept alive between two requests.
    pub idle_timeout: Duration,
    /// Each time this has passed while a client does not take all that it is sent, it must have
    /// taken 64 KiB.
    pub write_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: None,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(20),
        }
    }
}

/// Settings that all connections share.
pub struct Settings {
    pub limits: ConnectionLimits,
    pub proxies: TrustedProxies,
    /// None for plain HTTP.
    pub tls: Option<Tls>,
    /// Shows how many are open.
    pub open: Gauge,
    /// Shows how many may be.
    pub max: Gauge,
}

/// Answers on `listener` until `shutdown` completes. Then ends the connections that are idle, and
/// gives those with a request in flight the time `drain` to finish it.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
    drain: Duration,
) {
    // Cannot fail for a socket that listens; if it did, the bound would be the usual one.
    drop(SockRef::from(&listener).listen(BACKLOG));
    let open = settings.open.clone();
    let mut server = Server::new(router, settings);
    let mut shutdown = pin!(shutdown);
    loop {
        let has_room = server.make_room();
        open.set(server.tasks.len() as i64);
        tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = server.tasks.join_next() => log_panic(ended),
            accepted = listener.accept(), if has_room => match accepted {
                Ok((tcp, address)) => server.open(tcp, address),
                Err(error) => server.accept_failed(&error).await,
            },
            () = sleep(LOOK_INTERVAL), if !has_room => {}
        }
    }
    drop(listener);
    server.stop(drain).await;
}

struct Server {
    protocol: Arc<Protocol>,
    idle: Arc<IdleConnections>,
    /// One for each connection.
    tasks: JoinSet<Result<(), Aborted>>,
    max_connections: usize,
    warned: Option<Instant>,
}

impl Server {
    fn new(router: Router, settings: Settings) -> Self {
        let Settings { limits, proxies, tls, max, .. } = settings;
        let room = room_for_connections().min(MAX_CONNECTIONS);
        if limits.max_connections.is_none() && room < MAX_CONNECTIONS {
            tracing::warn!(room, "the limit on open files leaves room for few connections");
        }
        let max_connections = limits.max_connections.unwrap_or(room).max(1);
        max.set(i64::try_from(max_connections).unwrap_or(i64::MAX));
        Self {
            protocol: Arc::new(Protocol::new(router, proxies, tls, limits, max_connections)),
            idle: Arc::default(),
            tasks: JoinSet::new(),
            max_connections,
            warned: None,
        }
    }

    /// Whether there is room for one more. When there is not, makes some.
    fn make_room(&mut self) -> bool {
        let is_full = self.tasks.len() >= self.max_connections;
        // Those that are busy make room too, until an eighth is free.
        let few = self.max_connections - self.max_connections / 8;
        let is_closing = &self.protocol.is_closing;
        let is_crowded = is_closing.load(Ordering::Relaxed) && self.tasks.len() >= few;
        is_closing.store(is_full || is_crowded, Ordering::Relaxed);
        if is_full {
            if self.may_warn() {
                let max = self.max_connections;
                tracing::warn!(
                    max,
                    "all connections are in use; those without a request, or not read, are ended"
                );
            }
            self.idle.make_room(Instant::now());
        }
        !is_full
    }

    fn open(&mut self, tcp: TcpStream, address: SocketAddr) {
        // Neither can fail but for a connection that is gone already.
        drop(tcp.set_nodelay(true));
        drop(SockRef::from(&tcp).set_send_buffer_size(SEND_BUFFER));
        let peer = SocketAddr::new(address.ip().to_canonical(), address.port());
        let (task, registration) = AbortHandle::new_pair();
        let connection = Arc::new(TrackedConnection::new(self.idle.clone(), peer, task));
        let serving = self.protocol.clone().serve(tcp, connection);
        self.tasks.spawn(Abortable::new(serving, registration));
    }

    /// Out of files or memory, mostly. Trying again immediately would only burn CPU.
    async fn accept_failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if self.may_warn() {
            tracing::warn!(%error, "connections cannot be accepted");
        }
        self.idle.make_room(Instant::now());
        sleep(EVICTION_GRACE).await;
    }

    fn may_warn(&mut self) -> bool {
        let may = self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_INTERVAL);
        if may {
            self.warned = Some(Instant::now());
        }
        may
    }

    async fn stop(mut self, drain: Duration) {
        self.protocol.is_closing.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        while !self.tasks.is_empty() {
            self.idle.end_all(begun.elapsed() < STOP_GRACE);
            tokio::select! {
                Some(ended) = self.tasks.join_next() => log_panic(ended),
                () = sleep(LOOK_INTERVAL) => {}
                () = sleep_until(begun + drain) => {
                    let requests = self.tasks.len();
                    tracing::warn!(requests, "requests did not finish in time and were aborted");
                    break;
                }
            }
        }
        self.tasks.shutdown().await;
    }
}

/// Returns the number of connections for which the limit on open files has room, after it was
/// raised as far as the system allows.
fn room_for_connections() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Some systems know a lower limit than they admit. Then the old one stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let reserved = RESERVED_FILES.min(files / 2) + WEBHOOK_FILES.min(files / 8);
    usize::try_from(files - reserved).unwrap_or(usize::MAX)
}

fn log_panic(ended: Result<Result<(), Aborted>, JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("the task of a connection panicked");
    }
}

/// Logs why a connection ended that a client used badly. Any client can cause these lines.
fn log_end(reason: &'static str, client: SocketAddr) {
    static LINES: LineLimit = LineLimit::new();
    LINES.write(|left_out| {
        tracing::info!(reason, %client, left_out, "a connection was ended");
    });
}
