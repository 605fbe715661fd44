//! Requests by route, method, status and code, and the duration by route.
//!
//! Routes are not `'static`, and a look-up by labels would copy them for each request. So known
//! counters are looked up by the borrowed route.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::TIMES;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    route: Arc<str>,
    method: &'static str,
    status: u16,
    code: &'static str,
}

/// The kind of a response. All parts come from short lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseKind {
    pub method: &'static str,
    pub status: u16,
    /// The error code; empty for a success.
    pub code: &'static str,
}

/// A histogram for each route.
type Times = Family<RouteLabel, Histogram, fn() -> Histogram>;

/// The metrics of requests.
pub struct Requests {
    answers: Family<AnswerLabels, Counter>,
    times: Times,
    in_flight: Gauge,
    /// The known counters, by route.
    known: RwLock<HashMap<Arc<str>, Route>>,
}

struct Route {
    time: Histogram,
    /// Only a handful.
    answers: Vec<(ResponseKind, Counter)>,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let times = Times::new_with_constructor(|| Histogram::new(TIMES));
        let (answers, in_flight) = (Family::default(), Gauge::default());
        registry.register(
            "licd_http_requests",
            "Completed requests, by route, method, status, and error code",
            answers.clone(),
        );
        registry.register(
            "licd_http_request_seconds",
            "How long requests took, from their head to the start of the response, by route",
            times.clone(),
        );
        registry.register(
            "licd_http_requests_in_flight",
            "Requests in progress",
            in_flight.clone(),
        );
        Self { answers, times, in_flight, known: RwLock::default() }
    }

    /// A request has arrived. It is in flight until the return value is dropped.
    pub fn begin(&self) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight(&self.in_flight)
    }

    /// A request was completed.
    pub fn answered(&self, route: &str, answer: ResponseKind, time: Duration) {
        if !self.count(route, answer, time) {
            self.add_kind(route, answer);
            self.count(route, answer, time);
        }
    }

    /// Counts a response whose kind is known for the route. Returns false, and counts nothing, if
    /// it is not.
    fn count(&self, route: &str, answer: ResponseKind, time: Duration) -> bool {
        let known = self.known.read();
        let Some(route) = known.get(route) else { return false };
        let Some((_, counter)) = route.answers.iter().find(|(known, _)| *known == answer) else {
            return false;
        };
        counter.inc();
        route.time.observe(time.as_secs_f64());
        true
    }

    /// Adds a counter for such responses, starting at 0.
    pub(super) fn add_kind(&self, route: &str, answer: ResponseKind) {
        let route: Arc<str> = route.into();
        let mut known = self.known.write();
        let known = known.entry(route.clone()).or_insert_with(|| {
            let time = self.times.get_or_create_owned(&RouteLabel { route: route.clone() });
            Route { time, answers: Vec::new() }
        });
        let ResponseKind { method, status, code } = answer;
        let labels = AnswerLabels { route, method, status, code };
        known.answers.push((answer, self.answers.get_or_create_owned(&labels)));
    }
}

/// A request in flight.
pub struct InFlight<'a>(&'a Gauge);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
