//! Metrics for Prometheus: those counted while requests are handled, and those read at a scrape.
//! `api::metrics` does the reading; docs/operate/monitoring.md explains each metric.
//!
//! No label comes from a caller, so their number is bounded: routes, methods, statuses, codes,
//! outcomes and the program's own names.

mod process;
mod requests;

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use common::{LeaseReason, Reason, Timestamp, WebhookError};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use process::Process;
pub use prometheus_client::metrics::gauge::Gauge;
use requests::Requests;
pub use requests::{InFlight, ResponseKind};

/// The outcome of a request that a receiver took.
const DELIVERED: &str = "delivered";
/// The outcome of a request for a lease that was met.
const ISSUED: &str = "issued";
/// Buckets for waiting times, in seconds.
const TIMES: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.0, 5.0];
/// Buckets for the number of requests in a batch, of which 256 is the maximum.
const SIZES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Declares the metrics: a field's comment is its help text, and the string its name. The library
/// appends `_total` to the names of counters.
macro_rules! metrics {
    ($(#[doc = $help:literal] $field:ident: $type:ty = $name:literal, $made:expr;)*) => {
        /// The metrics of a process. Locks are held only for the moment of counting.
        pub struct Metrics {
            $(#[doc = $help] pub $field: $type,)*
            pub requests: Requests,
            process: Process,
            registry: Registry,
        }

        impl Default for Metrics {
            fn default() -> Self {
                let mut registry = Registry::default();
                $(
                    let $field: $type = $made;
                    registry.register($name, help($help), $field.clone());
                )*
                let requests = Requests::register(&mut registry);
                let process = Process::register(&mut registry);
                let metrics = Self { $($field,)* requests, process, registry };
                metrics.begin();
                metrics
            }
        }
    };
}

metrics! {
    /// Open connections of clients.
    connections: Gauge = "licd_http_connections", Gauge::default();
    /// Maximum number of open client connections.
    connections_max: Gauge = "licd_http_connections_max", Gauge::default();
    /// Validations that were decided, by outcome: valid, or the reason why not.
    validations: Family<OutcomeLabel, Counter> = "licd_validations", Family::default();
    /// Seats that validations took for users who held none.
    seats_taken: Counter = "licd_seats_taken", Counter::default();
    /// Idle seats of floating licenses that other users took over.
    seats_reclaimed: Counter = "licd_seats_reclaimed", Counter::default();
    /// Leases that licensed users asked for, by outcome: issued, or the reason why not.
    leases: Family<OutcomeLabel, Counter> = "licd_leases", Family::default();
    /// Leases for another device without an event, because their key exceeded its allowance.
    leases_unrecorded: Counter = "licd_leases_unrecorded", Counter::default();
    /// Validations that wait for a batch.
    queue_length: Family<QueueLabel, Gauge> = "licd_validation_queue_length", Family::default();
    /// Time for which validations waited for their batch to begin.
    queue_wait: Family<QueueLabel, Histogram> = "licd_validation_queue_wait_seconds",
        Family::new_with_constructor(|| Histogram::new(TIMES));
    /// Number of validations in a batch.
    batch_size: Family<QueueLabel, Histogram> = "licd_validation_batch_size",
        Family::new_with_constructor(|| Histogram::new(SIZES));
    /// Duration of batches of validations.
    batch_time: Family<QueueLabel, Histogram> = "licd_validation_batch_seconds",
        Family::new_with_constructor(|| Histogram::new(TIMES));
    /// Administrative requests that wait for their turn at the database, by kind of turn.
    admin_permits_waiting: Family<KindLabel, Gauge> = "licd_admin_permits_waiting", Family::default();
    /// Administrative requests that have their turn at the database, by kind of turn.
    admin_permits_in_use: Family<KindLabel, Gauge> = "licd_admin_permits_in_use", Family::default();
    /// Connections to the database, by pool and state.
    pool: Family<PoolLabels, Gauge> = "licd_database_connections", Family::default();
    /// Maximum number of connections of each pool.
    pool_max: Family<PoolLabel, Gauge> = "licd_database_connections_max", Family::default();
    /// Requests to the receivers of webhooks, by outcome: delivered, or why not.
    webhook_deliveries: Family<OutcomeLabel, Counter> =
        "licd_webhook_deliveries", Family::default();
    /// Webhooks of all tenants, by state: healthy, failing or disabled.
    webhooks: Family<StateLabel, Gauge> = "licd_webhooks", Family::default();
    /// For how many seconds the webhook has failed that fails for longest.
    webhook_failing_seconds: Gauge = "licd_webhook_failing_seconds", Gauge::default();
    /// Events that were given up, because their receivers refused them or were away too long.
    webhook_given_up: Counter = "licd_webhook_events_given_up", Counter::default();
    /// The most events that a webhook with something to send has before it.
    webhook_pending: Gauge = "licd_webhook_pending_events", Gauge::default();
    /// By how much the clock of this node is ahead of PostgreSQL's.
    clock_offset: Gauge<f64, AtomicU64> = "licd_clock_offset_seconds", Gauge::default();
    /// Time of the last success of each background task.
    task_success: Family<TaskLabel, Gauge> =
        "licd_task_last_success_timestamp_seconds", Family::default();
    /// Number of failures of each background task.
    task_failures: Family<TaskLabel, Counter> = "licd_task_failures", Family::default();
    /// Number of panics of supervised tasks, which are restarted.
    task_restarts: Family<TaskLabel, Counter> = "licd_task_restarts", Family::default();
    /// Keys whose last uses are only in memory.
    key_uses_unwritten: Gauge = "licd_key_uses_unwritten", Gauge::default();
    /// Counts of outcomes, and refused users, that are only in memory.
    outcomes_unwritten: Gauge = "licd_outcomes_unwritten", Gauge::default();
    /// Seats whose last checks are only in memory.
    last_checks_unwritten: Gauge = "licd_last_checks_unwritten", Gauge::default();
    /// Checks of seats that were dropped.
    last_checks_dropped: Counter = "licd_last_checks_dropped", Counter::default();
    /// Log lines that could not be written.
    log_lines_lost: Counter = "licd_log_lines_lost", Counter::default();
    /// Log lines about requests without a key, or over its rate, that were left out.
    log_lines_omitted: Counter = "licd_log_lines_omitted", Counter::default();
    /// Whether this node can serve, as in /readyz.
    ready: Gauge = "licd_ready", Gauge::default();
    /// Whether this node can write, as in /readyz?for=writes.
    writable: Gauge = "licd_writable", Gauge::default();
    /// The version of licd, as a label of a constant 1.
    build: Family<VersionLabel, Gauge> = "licd_build_info", Family::default();
}

/// The text of a comment. The library appends the full stop.
fn help(comment: &str) -> &str {
    comment.trim().trim_end_matches('.')
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    outcome: &'static str,
}

/// Whether batches only read, or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct QueueLabel {
    pub queue: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabel {
    pub state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabel {
    pub kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolLabel {
    pub pool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolLabels {
    pub pool: &'static str,
    pub state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TaskLabel {
    task: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct VersionLabel {
    version: &'static str,
}

impl OutcomeLabel {
    fn of(reason: Option<Reason>) -> Self {
        Self { outcome: reason.map_or("valid", Reason::as_str) }
    }
}

impl Metrics {
    /// Shows the version, and every outcome and failure of validations from the start: a metric
    /// that appears with its first count has no rate before the second.
    fn begin(&self) {
        let version = env!("CARGO_PKG_VERSION");
        self.build.get_or_create(&VersionLabel { version }).set(1);
        for reason in [None].into_iter().chain(Reason::ALL.iter().copied().map(Some)) {
            drop(self.validations.get_or_create(&OutcomeLabel::of(reason)));
        }
        for outcome in [ISSUED].iter().chain(LeaseReason::WORDS) {
            drop(self.leases.get_or_create(&OutcomeLabel { outcome }));
        }
        for outcome in [DELIVERED].iter().chain(WebhookError::WORDS) {
            drop(self.webhook_deliveries.get_or_create(&OutcomeLabel { outcome }));
        }
        for (status, code) in [(500, "internal"), (503, "overloaded"), (503, "unavailable")] {
            self.requests
                .add_kind("/api/v1/validate", ResponseKind { method: "POST", status, code });
        }
    }

    /// A validation was decided: valid, or with the reason why not.
    pub fn decided(&self, reason: Option<Reason>) {
        self.validations.get_or_create(&OutcomeLabel::of(reason)).inc();
    }

    /// A lease was issued to a licensed user, or not, for this reason.
    pub fn lease_was(&self, reason: Option<LeaseReason>) {
        let outcome = reason.map_or(ISSUED, LeaseReason::as_str);
        self.leases.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// A request to the receiver of a webhook ended.
    pub fn note_delivery(&self, error: Option<WebhookError>) {
        let outcome = error.map_or(DELIVERED, WebhookError::as_str);
        self.webhook_deliveries.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub fn set_clock_offset(&self, ahead: TimeDelta) {
        self.clock_offset.set(ahead.as_seconds_f64());
    }

    /// A background task has run once, and succeeded or failed, which the log tells.
    pub fn task_ran<T>(&self, task: &'static str, done: &Result<T, impl Display>) {
        let label = TaskLabel { task };
        let failures = self.task_failures.get_or_create_owned(&label);
        match done {
            Ok(_) => {
                let now = Timestamp::now().millis() as i64 / 1000;
                self.task_success.get_or_create(&label).set(now);
            }
            Err(error) => {
                failures.inc();
                tracing::warn!(task, %error, "a background task failed");
            }
        }
    }

    /// A supervised task starts, or restarts after a panic.
    pub fn task_began(&self, task: &'static str, is_restart: bool) {
        self.task_restarts.get_or_create(&TaskLabel { task }).inc_by(u64::from(is_restart));
    }

    /// Sets the number of checks that were dropped since the process started.
    pub fn set_last_checks_dropped(&self, dropped: u64) {
        self.last_checks_dropped.inner().store(dropped, Ordering::Relaxed);
    }

    /// Sets the number of log lines that were lost and left out since the process started.
    pub fn set_log_lines(&self, lost: u64, omitted: u64) {
        self.log_lines_lost.inner().store(lost, Ordering::Relaxed);
        self.log_lines_omitted.inner().store(omitted, Ordering::Relaxed);
    }

    /// All metrics in the OpenMetrics text format. Reads files under /proc, and so blocks for some
    /// microseconds.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        self.process.read();
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
