//! Requests by route, method, status and code, and how long each route takes.
//!
//! A route's text is not known to live as long as the program, and a look-up by labels would copy it
//! for each request. So the counters that were used before are found by the text itself.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

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

/// The kind of an answer. All parts are from short lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub method: &'static str,
    pub status: u16,
    /// Of the error; empty for an answer that is none.
    pub code: &'static str,
}

/// A histogram for each route.
type Times = Family<RouteLabel, Histogram, fn() -> Histogram>;

/// What is counted of requests.
pub struct Requests {
    answers: Family<AnswerLabels, Counter>,
    times: Times,
    in_flight: Gauge,
    /// What was used before, by route.
    known: RwLock<HashMap<Arc<str>, Route>>,
}

struct Route {
    time: Histogram,
    /// A handful.
    answers: Vec<(Answer, Counter)>,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let times = Times::new_with_constructor(|| Histogram::new(TIMES));
        let (answers, in_flight) = (Family::default(), Gauge::default());
        registry.register(
            "licd_http_requests",
            "Requests that were answered, by route, method, status, and code of the error",
            answers.clone(),
        );
        registry.register(
            "licd_http_request_seconds",
            "How long requests took, from their head to the beginning of the answer, by route",
            times.clone(),
        );
        registry.register(
            "licd_http_requests_in_flight",
            "Requests that are being answered",
            in_flight.clone(),
        );
        Self { answers, times, in_flight, known: RwLock::default() }
    }

    /// A request has come. It is in flight until what this returns is dropped.
    pub fn begin(&self) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight(&self.in_flight)
    }

    /// A request was answered.
    pub fn answered(&self, route: &str, answer: Answer, time: Duration) {
        if !self.count(route, answer, time) {
            self.learn(route, answer);
            self.count(route, answer, time);
        }
    }

    /// Whether the route has given such an answer before. If not, nothing is counted.
    fn count(&self, route: &str, answer: Answer, time: Duration) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(route) = known.get(route) else { return false };
        let Some((_, counter)) = route.answers.iter().find(|(known, _)| *known == answer) else {
            return false;
        };
        counter.inc();
        route.time.observe(time.as_secs_f64());
        true
    }

    /// Shows the count of such answers, which begins at 0.
    pub(super) fn learn(&self, route: &str, answer: Answer) {
        let route: Arc<str> = route.into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(route.clone()).or_insert_with(|| {
            let time = self.times.get_or_create_owned(&RouteLabel { route: route.clone() });
            Route { time, answers: Vec::new() }
        });
        let Answer { method, status, code } = answer;
        let labels = AnswerLabels { route, method, status, code };
        known.answers.push((answer, self.answers.get_or_create_owned(&labels)));
    }
}

/// A request that is in flight.
pub struct InFlight<'a>(&'a Gauge);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
