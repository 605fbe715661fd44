//! Connections: accepting them, bounding their number, ending those that wait for too long, and
//! stopping. hyper and the router handle the requests on them, [`protocol`] what is spoken.
//!
//! One task accepts and looks at all connections now and then. Strangers hold a connection as long
//! as they like only while there is room: a full service ends those that wait without a request.

mod blocked;
mod clock;
mod file_limit;
mod limits;
mod protocol;
mod refusal;
mod request;
mod socket;
mod state;
mod stream;

use std::collections::HashMap;
use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, interval, sleep_until};

use clock::{millis, now};
pub use limits::ConnectionLimits;
use protocol::Protocol;
use socket::Socket;
use state::{ConnectionState, Overdue};
use stream::Transport;

use crate::http::{Tls, TrustedProxies};
use crate::metrics::Gauge;

/// With heads of 16 KiB, so many connections hold at most 128 MiB of them.
const MAX_CONNECTIONS: usize = 8192;
/// How many newcomers the kernel may hold until they are accepted, instead of the usual 128. One for
/// whom there is no room tries again after a second. Linux allows 4096 itself, unless set otherwise.
const BACKLOG: i32 = 4096;
/// How much of an answer the kernel may hold for a client that does not read; Linux doubles it.
const SEND_BUFFER: usize = 128 * 1024;
/// A connection that has waited for less is not ended to make room: its request may be on its way.
const EVICTION_GRACE: Duration = Duration::from_millis(100);
/// How long a half-sent head may hold up the stop.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// How often connections are looked at, at least, while there is something to wait for.
const SHORT_SWEEP: Duration = Duration::from_millis(25);
/// At most one line about each matter in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// What connections have in common.
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

/// Answers on `listener` until `shutdown` completes. Then ends the connections that wait, and gives
/// those with a request in flight the time `drain` to finish it.
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
        let may_accept = server.may_accept();
        open.set(server.connections.len() as i64);
        tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = server.tasks.join_next_with_id() => server.forget(ended),
            () = sleep_until(server.next_sweep) => server.sweep(),
            accepted = listener.accept(), if may_accept => match accepted {
                Ok((tcp, address)) => server.open(tcp, address),
                Err(error) => server.accept_failed(&error),
            },
        }
    }
    drop(listener);
    server.stop(drain).await;
}

struct Server {
    protocol: Protocol,
    tls: Option<Tls>,
    limits: ConnectionLimits,
    max_connections: usize,
    /// Each answer is its connection's last: the service stops, or others wait for a connection.
    closing: Arc<AtomicBool>,
    tasks: JoinSet<()>,
    connections: HashMap<Id, Connection>,
    next_sweep: Instant,
    /// Nothing is accepted before, as the system had no room.
    accept_after: Instant,
    abuse: Abuse,
    last_report: Option<Instant>,
    last_warning: Option<Instant>,
}

struct Connection {
    /// A proxy, if there is one.
    peer: SocketAddr,
    state: Arc<ConnectionState>,
    task: AbortHandle,
}

/// Connections that ended badly since the last line about them.
#[derive(Default)]
struct Abuse {
    failed_handshakes: u64,
    malformed_heads: u64,
    slow_heads: u64,
    slow_readers: u64,
    last_client: Option<SocketAddr>,
}

impl Abuse {
    fn note(&mut self, ended: &Connection) {
        let (is_malformed, is_failed) =
            (ended.state.is_malformed(), ended.state.is_handshake_failed());
        self.malformed_heads += u64::from(is_malformed);
        self.failed_handshakes += u64::from(is_failed);
        if is_malformed || is_failed {
            self.last_client = Some(ended.peer);
        }
    }
}

impl Server {
    fn new(router: Router, settings: Settings) -> Self {
        let Settings { limits, proxies, tls, max, .. } = settings;
        file_limit::raise();
        let bound = || file_limit::room_for_connections().min(MAX_CONNECTIONS);
        let max_connections = limits.max_connections.unwrap_or_else(bound).max(1);
        max.set(i64::try_from(max_connections).unwrap_or(i64::MAX));
        let closing = Arc::<AtomicBool>::default();
        Self {
            protocol: Protocol::new(router, proxies, closing.clone()),
            tls,
            limits,
            max_connections,
            closing,
            tasks: JoinSet::new(),
            connections: HashMap::new(),
            next_sweep: Instant::now(),
            accept_after: Instant::now(),
            abuse: Abuse::default(),
            last_report: None,
            last_warning: None,
        }
    }

    /// Whether there is room for one more. When there is not, makes some.
    fn may_accept(&mut self) -> bool {
        let now = Instant::now();
        let full = self.connections.len() >= self.max_connections;
        // Those that are busy make room too, until an eighth is free.
        let few = self.connections.len() < self.max_connections - self.max_connections / 8;
        let closing = full || !few && self.closing.load(Ordering::Relaxed);
        self.closing.store(closing, Ordering::Relaxed);
        if full {
            if is_due(&mut self.last_warning) {
                let max = self.max_connections;
                tracing::warn!(
                    max,
                    "all connections are in use; those without a request are ended"
                );
            }
            self.make_room();
        }
        let paused = now < self.accept_after;
        if full || paused {
            self.next_sweep = self.next_sweep.min(now + SHORT_SWEEP);
        }
        !full && !paused
    }

    fn open(&mut self, tcp: TcpStream, address: SocketAddr) {
        // Neither can fail but for a connection that is gone already.
        drop(tcp.set_nodelay(true));
        drop(SockRef::from(&tcp).set_send_buffer_size(SEND_BUFFER));
        let peer = SocketAddr::new(address.ip().to_canonical(), address.port());
        let state = Arc::new(ConnectionState::new());
        let socket = Socket::new(tcp, state.clone());
        let task = match &self.tls {
            None => {
                let transport = Transport::Plain(socket);
                let connection = self.protocol.http1(peer.ip(), transport, state.clone());
                self.tasks.spawn(log_end(connection, peer))
            }
            Some(tls) => {
                let (protocol, config) = (self.protocol.clone(), tls.config());
                let connection = protocol.tls(peer.ip(), config, socket, state.clone());
                self.tasks.spawn(log_end(connection, peer))
            }
        };
        self.connections.insert(task.id(), Connection { peer, state, task });
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        if let Some(connection) = self.connections.remove(&id) {
            self.abuse.note(&connection);
        }
        if ended.is_err_and(|error| error.is_panic()) {
            tracing::error!("the task of a connection panicked");
        }
    }

    /// Out of files or memory, mostly. Trying again at once would only burn CPU.
    fn accept_failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if is_due(&mut self.last_warning) {
            tracing::warn!(%error, "connections cannot be accepted");
        }
        self.accept_after = Instant::now() + EVICTION_GRACE;
        self.make_room();
    }

    /// Ends the connections that have waited longest without a request, and those that had one only
    /// when there are no others. A few at a time, so that looking for them costs little, however
    /// many come.
    fn make_room(&mut self) {
        if self.connections.values().any(|connection| connection.state.is_ended()) {
            return;
        }
        let mut waiting: Vec<_> = self
            .connections
            .values()
            .filter_map(|connection| Some((connection.state.waits()?, connection)))
            .collect();
        if waiting.iter().any(|((had_request, _), _)| !had_request) {
            waiting.retain(|((had_request, _), _)| !had_request);
        }
        let count = waiting.len().min(1 + self.max_connections / 64);
        if count < waiting.len() {
            waiting.select_nth_unstable_by_key(count, |((_, since), _)| *since);
        }
        let now = now();
        for ((_, since), connection) in &waiting[..count] {
            let waited = now.saturating_sub(*since);
            if waited >= millis(EVICTION_GRACE) && connection.state.end_if_waiting(false) {
                connection.task.abort();
            }
        }
    }

    /// Ends connections that have waited for too long.
    fn sweep(&mut self) {
        let now = now();
        for connection in self.connections.values() {
            let Some(overdue) = connection.state.end_if_overdue(&self.limits, now) else {
                continue;
            };
            connection.task.abort();
            match overdue {
                Overdue::Head => self.abuse.slow_heads += 1,
                Overdue::Reader => self.abuse.slow_readers += 1,
                Overdue::Idle | Overdue::Lingering => continue,
            }
            self.abuse.last_client = Some(connection.peer);
        }
        self.report();
        let limits = &self.limits;
        let shortest = limits.head_timeout.min(limits.idle_timeout).min(limits.write_timeout);
        self.next_sweep = Instant::now() + (shortest / 4).clamp(SHORT_SWEEP, STOP_GRACE);
    }

    /// Writes one line about all of them, however many.
    fn report(&mut self) {
        let Some(last_client) = self.abuse.last_client else { return };
        if is_due(&mut self.last_report) {
            let Abuse { failed_handshakes, malformed_heads, slow_heads, slow_readers, .. } =
                take(&mut self.abuse);
            tracing::info!(
                failed_handshakes,
                malformed_heads,
                slow_heads,
                slow_readers,
                %last_client,
                "connections were ended"
            );
        }
    }

    async fn stop(mut self, drain: Duration) {
        self.closing.store(true, Ordering::Relaxed);
        let (begun, deadline) = (Instant::now(), Instant::now() + drain);
        let mut looks = interval(SHORT_SWEEP);
        while !self.tasks.is_empty() {
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
                _ = looks.tick() => {
                    let is_grace_left = begun.elapsed() < STOP_GRACE;
                    for connection in self.connections.values() {
                        if connection.state.end_if_waiting(is_grace_left) {
                            connection.task.abort();
                        }
                    }
                }
                () = sleep_until(deadline) => {
                    let requests = self.connections.len();
                    tracing::warn!(requests, "requests did not end in time and were broken off");
                    break;
                }
            }
        }
        self.tasks.shutdown().await;
    }
}

async fn log_end(connection: impl Future<Output = hyper::Result<()>>, peer: SocketAddr) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, client = %peer, "a connection was broken off");
    }
}

/// Whether a line may be written again, after that time of the last one.
fn is_due(last: &mut Option<Instant>) -> bool {
    let due = last.is_none_or(|last| last.elapsed() >= LOG_INTERVAL);
    if due {
        *last = Some(Instant::now());
    }
    due
}
