//! A request to a receiver and its response. Whatever a receiver does, a request takes bounded time
//! and memory.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use common::{TenantId, Timestamp, WebhookError, WebhookSecret, WebhookUrl, sign_webhook};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use url::Url;

use super::connect::Connector;

/// Timeout of a request, from the lookup of the host to the head of the response.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout of a test delivery.
const TEST_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum bytes of a response body that are read, and the time for that.
const RESPONSE: usize = 1024;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for reading the body after a success. It is read only so that the connection can be reused.
const SUCCESS_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum idle time of a connection before its next request.
const IDLE: Duration = Duration::from_secs(4);
/// Maximum bytes and number of headers of a response.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;
/// Maximum wait that a receiver can request.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// An event to send. The bytes of `body` are sent exactly as they are signed.
#[derive(Clone)]
pub struct Message {
    /// The sending tenant, for its share of the lookups.
    pub tenant: TenantId,
    /// The event's id, which is the same in each attempt.
    pub id: String,
    pub body: Bytes,
}

/// Outcome of a delivery attempt.
#[derive(Clone, Debug)]
pub struct DeliveryAttempt {
    /// `None` if the delivery succeeded.
    pub error: Option<WebhookError>,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
    /// Beginning of the body of a refusal, or the target of a redirect.
    pub response: Option<String>,
    /// Time for which the receiver asks to pause.
    pub retry_after: Option<Duration>,
    /// Whether the request was sent before the timeout.
    was_sent: bool,
    pub duration: Duration,
}

impl DeliveryAttempt {
    pub fn failed(error: WebhookError) -> Self {
        let (status, response, retry_after, was_sent, duration) = Default::default();
        Self { error: Some(error), status, response, retry_after, was_sent, duration }
    }

    /// Returns the outcome of a response with this status.
    pub fn with_status(status: u16) -> Self {
        let error = match status {
            200..300 => None,
            300..400 => Some(WebhookError::Redirect),
            _ => Some(WebhookError::Status),
        };
        let (response, retry_after, duration) = Default::default();
        Self { error, status: Some(status), response, retry_after, was_sent: true, duration }
    }

    /// Returns the duration in milliseconds.
    pub fn millis(&self) -> i32 {
        i32::try_from(self.duration.as_millis()).unwrap_or(i32::MAX)
    }

    pub fn is_delivered(&self) -> bool {
        self.error.is_none()
    }

    /// Whether the receiver refuses this event. Other failures concern the receiver, not the event.
    pub fn is_refusal(&self) -> bool {
        match (self.error, self.status) {
            (None, _) => false,
            (Some(WebhookError::Timeout), None) => self.was_sent,
            (Some(_), status) => {
                status.is_some_and(|status| !matches!(status, 410 | 429 | 502 | 503 | 504))
            }
        }
    }
}

/// A connection to a receiver. It carries one request at a time.
pub struct ReceiverConnection {
    requests: SendRequest<Full<Bytes>>,
    peer: IpAddr,
    used_at: Instant,
    driver: JoinHandle<()>,
}

impl Drop for ReceiverConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl ReceiverConnection {
    async fn open(
        connector: &Connector,
        tenant: TenantId,
        url: &Url,
    ) -> Result<Self, WebhookError> {
        let (stream, peer) = connector.connect(tenant, url).await?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD).max_headers(HEADERS);
        let opened = builder.handshake(TokioIo::new(stream)).await;
        let (requests, connection) = opened.map_err(|_| WebhookError::Reset)?;
        // The request reports how its connection ends.
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Self { requests, peer, used_at: Instant::now(), driver })
    }

    fn is_fresh(&self) -> bool {
        self.used_at.elapsed() < IDLE && self.requests.is_ready()
    }
}

/// Sends to receivers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    connector: Connector,
    timeout_after: Duration,
}

impl Client {
    pub fn new(connector: Connector) -> Self {
        Self { connector, timeout_after: TIMEOUT }
    }

    /// Whether webhooks may have this URL. Host names are not looked up.
    pub fn allows(&self, url: &WebhookUrl) -> bool {
        self.connector.allows(url.url())
    }

    /// Sends a message while the caller waits for the result, so with a short timeout.
    pub async fn send_test(
        &self,
        url: &WebhookUrl,
        secrets: &[WebhookSecret],
        message: &Message,
    ) -> DeliveryAttempt {
        let hasty = Self { connector: self.connector.clone(), timeout_after: TEST_TIMEOUT };
        hasty.send(&mut None, url, secrets, message).await
    }

    /// Sends a message, over `connection` if that is still open. Leaves a connection that can be
    /// reused in `connection`, or `None`.
    pub async fn send(
        &self,
        connection: &mut Option<ReceiverConnection>,
        url: &WebhookUrl,
        secrets: &[WebhookSecret],
        message: &Message,
    ) -> DeliveryAttempt {
        let began = Instant::now();
        let mut was_sent = false;
        let exchange = self.exchange(connection, url.url(), secrets, message, &mut was_sent);
        let exchanged = timeout(self.timeout_after, exchange).await;
        let duration = began.elapsed();
        let attempt = match exchanged {
            Ok(Ok((response, used))) => self.read_response(url, response, used, connection).await,
            Ok(Err(error)) => DeliveryAttempt::failed(error),
            Err(_) => {
                DeliveryAttempt { was_sent, ..DeliveryAttempt::failed(WebhookError::Timeout) }
            }
        };
        DeliveryAttempt { duration, ..attempt }
    }

    /// Sends the request and reads the head of the response. If the receiver has closed the reused
    /// connection, it connects again.
    async fn exchange(
        &self,
        connection: &mut Option<ReceiverConnection>,
        url: &Url,
        secrets: &[WebhookSecret],
        message: &Message,
        was_sent: &mut bool,
    ) -> Result<(Response<Incoming>, ReceiverConnection), WebhookError> {
        if let Some(mut kept) = connection.take().filter(ReceiverConnection::is_fresh) {
            let request = request(url, secrets, message).ok_or(WebhookError::Connect)?;
            *was_sent = true;
            match kept.requests.send_request(request).await {
                Ok(response) => return Ok((response, kept)),
                Err(_) => *was_sent = false,
            }
        }
        let mut new = ReceiverConnection::open(&self.connector, message.tenant, url).await?;
        let request = request(url, secrets, message).ok_or(WebhookError::Connect)?;
        *was_sent = true;
        let response = new.requests.send_request(request).await;
        Ok((response.map_err(|_| WebhookError::Reset)?, new))
    }

    async fn read_response(
        &self,
        url: &WebhookUrl,
        response: Response<Incoming>,
        mut used: ReceiverConnection,
        connection: &mut Option<ReceiverConnection>,
    ) -> DeliveryAttempt {
        let (head, mut body) = response.into_parts();
        let attempt = DeliveryAttempt::with_status(head.status.as_u16());
        let error = attempt.error;
        let retry_after = match head.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                retry_after(&head.headers, Timestamp::now())
            }
            _ => None,
        };
        let is_named = self.connector.is_named(used.peer);
        let time = if error.is_some() { RESPONSE_TIMEOUT } else { SUCCESS_TIMEOUT };
        let (text, is_complete) = read(&mut body, time).await;
        if is_complete {
            used.used_at = Instant::now();
            *connection = Some(used);
        }
        let target = redirected_to(url, &head.headers);
        let target = target.filter(|_| error == Some(WebhookError::Redirect));
        let response = target.unwrap_or_else(|| printable(&text));
        let response = Some(response).filter(|it| error.is_some() && !is_named && !it.is_empty());
        DeliveryAttempt { response, retry_after, ..attempt }
    }
}

/// Reads the beginning of a body. Returns it, and whether it is the whole body.
async fn read(body: &mut Incoming, time: Duration) -> (Vec<u8>, bool) {
    let mut text = Vec::new();
    let reading = async {
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            if let Some(data) = frame.data_ref() {
                let room = RESPONSE - text.len();
                text.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    return false;
                }
            }
        }
        true
    };
    let is_complete = timeout(time, reading).await.unwrap_or(false);
    (text, is_complete)
}

/// Returns the text of a body, with spaces for control characters.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    text.trim().to_owned()
}

/// Returns the target of a redirect. It is masked, because it may contain a token.
fn redirected_to(url: &WebhookUrl, headers: &HeaderMap) -> Option<String> {
    let target = url.url().join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    let target: WebhookUrl = target.as_str().parse().ok()?;
    Some(format!("redirects to {}", target.masked()))
}

/// Parses `Retry-After`: a number of seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = chrono::DateTime::parse_from_rfc2822(text).ok()?;
            let until = Timestamp::from_millis(until.timestamp_millis())?;
            until.since(now).to_std().unwrap_or_default()
        }
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

/// Builds the signed request. `None` if the URL is not valid in a request.
fn request(
    url: &Url,
    secrets: &[WebhookSecret],
    message: &Message,
) -> Option<Request<Full<Bytes>>> {
    let Message { id, body, .. } = message;
    let timestamp = Timestamp::now().millis() / 1000;
    let host = match url.port() {
        Some(port) => format!("{}:{port}", url.host_str()?),
        None => url.host_str()?.to_owned(),
    };
    let path = &url[url::Position::BeforePath..];
    let request = Request::post(path)
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("licd/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp)
        .header("webhook-signature", sign_webhook(secrets, id, timestamp, body));
    request.body(Full::new(body.clone())).ok()
}

#[cfg(test)]
mod tests;
