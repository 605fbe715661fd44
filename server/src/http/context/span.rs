//! The span of a request in a trace. It continues the caller's own trace, if a `traceparent` names
//! one. Spans go where `licd serve` has told OpenTelemetry to send them, or nowhere.

use axum::http::HeaderMap;
use common::KeyId;
use opentelemetry::global::{self, BoxedSpan};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// A span that lasts until the answer begins, or the request is given up.
pub struct RequestSpan(BoxedSpan);

impl RequestSpan {
    pub fn begin(headers: &HeaderMap, method: &'static str, route: &str) -> Self {
        let caller = TraceContextPropagator::new()
            .extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let tracer = global::tracer("licd");
        let span = tracer
            .span_builder(format!("{method} {route}"))
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("http.request.method", method),
                KeyValue::new("http.route", route.to_owned()),
            ])
            .start_with_context(&tracer, &caller);
        Self(span)
    }

    /// Ends the span with what is known of the answer.
    pub fn end(mut self, request_id: &str, key: Option<KeyId>, status: u16) {
        self.0.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        self.0.set_attribute(KeyValue::new("licd.request_id", request_id.to_owned()));
        if let Some(key) = key {
            self.0.set_attribute(KeyValue::new("licd.key", key.to_string()));
        }
        if status >= 500 {
            self.0.set_status(Status::error(""));
        }
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::extract::Request;
    use axum::routing::get;
    use axum::{Router, middleware};
    use opentelemetry::trace::{SpanId, TraceId};
    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
    use tower::Service;

    use super::*;
    use crate::error::Error;
    use crate::metrics::Metrics;

    /// Keeps spans in place of sending them.
    #[derive(Clone, Debug, Default)]
    struct CollectedSpans(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for CollectedSpans {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    fn attribute(span: &SpanData, name: &str) -> Option<String> {
        let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name)?;
        Some(found.value.to_string())
    }

    /// The one test of this program that sets where spans go.
    #[tokio::test]
    async fn a_request_is_a_span_of_its_callers_trace() {
        let kept = CollectedSpans::default();
        let spans = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
        global::set_tracer_provider(spans);
        let context =
            middleware::from_fn_with_state(Arc::<Metrics>::default(), crate::http::context::run);
        let mut router = Router::new()
            .route("/things/{id}", get(async || "a thing"))
            .route("/broken", get(async || Error::Unavailable))
            .layer(context);
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let request = |path: &str| {
            let request = Request::get(path).header("host", "licd").header("x-request-id", "r-7");
            let parent = format!("00-{trace}-00f067aa0ba902b7-01");
            request.header("traceparent", parent).body(Body::empty()).unwrap()
        };
        for path in ["/things/4711", "/broken"] {
            router.call(request(path)).await.unwrap();
        }
        let kept = kept.0.lock().unwrap();
        let [thing, broken] = &kept[..] else { panic!("a span for each: {kept:?}") };
        assert_eq!(thing.name, "GET /things/{id}");
        assert_eq!(thing.span_kind, SpanKind::Server);
        assert_eq!(thing.span_context.trace_id(), TraceId::from_hex(trace).unwrap());
        assert_eq!(thing.parent_span_id, SpanId::from_hex("00f067aa0ba902b7").unwrap());
        assert_eq!(attribute(thing, "http.route").unwrap(), "/things/{id}");
        assert_eq!(attribute(thing, "http.response.status_code").unwrap(), "200");
        assert_eq!(attribute(thing, "licd.request_id").unwrap(), "r-7");
        assert_eq!((&thing.status, &broken.status), (&Status::Unset, &Status::error("")));
    }
}
