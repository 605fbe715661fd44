//! Sends traces over HTTP, in the background, to the collector set by OpenTelemetry's standard
//! variables.
//!
//! Spans wait in a bounded queue and are dropped if it is full. So a collector that is down or
//! silent delays no request, and the end of licd by at most two seconds.

use std::time::Duration;

use anyhow::Context;
use opentelemetry::global;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::SdkTracerProvider;

/// Time in which the last spans must be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Sends spans until it is dropped, when it sends the remaining ones.
pub struct Traces(SdkTracerProvider);

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(FLUSH_TIMEOUT) {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

/// Starts sending spans, if a collector is set.
pub fn start() -> anyhow::Result<Option<Traces>> {
    let variables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    if !variables.into_iter().any(is_set) {
        return Ok(None);
    }
    let exporter = SpanExporter::builder().with_http().build();
    Ok(Some(Traces::to(exporter.context("cannot send traces")?)))
}

impl Traces {
    fn to(exporter: SpanExporter) -> Self {
        let spans = SdkTracerProvider::builder().with_resource(resource());
        let spans = spans.with_batch_exporter(exporter).build();
        global::set_tracer_provider(spans.clone());
        Self(spans)
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !value.is_empty())
}

/// The service that sends the spans, from the variables; by default named licd.
fn resource() -> Resource {
    if is_set("OTEL_SERVICE_NAME") {
        return Resource::builder().build();
    }
    let detectors: [Box<dyn opentelemetry_sdk::resource::ResourceDetector>; 2] =
        [Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())];
    Resource::builder_empty().with_service_name("licd").with_detectors(&detectors).build()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Instant;

    use opentelemetry::trace::{Span, Tracer, TracerProvider};
    use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};

    use super::*;

    /// A collector that only listens, and traces sent to it.
    fn traces() -> (TcpListener, Traces) {
        drop(rustls::crypto::ring::default_provider().install_default());
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1/traces", collector.local_addr().unwrap());
        let exporter = SpanExporter::builder().with_http().with_headers([].into());
        (collector, Traces::to(exporter.with_endpoint(endpoint).build().unwrap()))
    }

    /// Ten times what the queue can hold.
    #[test]
    fn a_silent_collector_holds_up_nothing() {
        let (_collector, traces) = traces();
        let tracer = traces.0.tracer("test");
        let begun = Instant::now();
        for _ in 0..20_000 {
            tracer.start("GET /silent").end();
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(5), "spans took {took:?}");
        drop(traces);
        let took = begun.elapsed() - took;
        assert!(took < FLUSH_TIMEOUT + Duration::from_secs(3), "the end took {took:?}");
    }

    #[test]
    fn spans_are_sent_at_the_end() {
        let (collector, traces) = traces();
        let receiving = std::thread::spawn(move || {
            let (mut connection, _) = collector.accept().unwrap();
            let (mut received, mut part) = (Vec::new(), [0; 4096]);
            let has = |received: &[u8], text: &[u8]| {
                received.windows(text.len()).any(|bytes| bytes == text)
            };
            while !has(&received, b"GET /sent") || !has(&received, b"licd") {
                let length = connection.read(&mut part).unwrap();
                assert!(length > 0, "the request ends too early");
                received.extend_from_slice(&part[..length]);
            }
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            received
        });
        traces.0.tracer("test").start("GET /sent").end();
        drop(traces);
        let received = receiving.join().unwrap();
        assert!(received.starts_with(b"POST /v1/traces HTTP/1.1\r\n"));
    }
}
