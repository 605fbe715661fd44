//! One request to a receiver, and what it answers. Nothing that a receiver does costs more than a
//! bounded time and memory.

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

/// How long looking the host up, connecting, TLS and the head of the answer take together.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The same for somebody who waits.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(4);
/// How much of the body of an answer is read, and for how long.
const RESPONSE: usize = 1024;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The same after a success, whose body says nothing: only so that the connection can be used again.
const SUCCESS_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a connection may have been idle for its next request.
const IDLE: Duration = Duration::from_secs(4);
/// The bounds of an answer's head.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;
/// The longest wait that a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// What is sent. The bytes are sent as they are signed.
#[derive(Clone)]
pub struct Message {
    /// The sending tenant, which has a share of the lookups.
    pub tenant: TenantId,
    /// The event's id, the same in each attempt.
    pub id: String,
    pub body: Bytes,
}

/// What became of an attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// None: it was delivered.
    pub error: Option<WebhookError>,
    /// That of the answer, if there was one.
    pub status: Option<u16>,
    /// The beginning of the body of a refusal, or where it redirects to.
    pub response: Option<String>,
    /// The receiver asks for so long a pause.
    pub retry_after: Option<Duration>,
    /// Whether the receiver had the request before the time was over.
    was_taken: bool,
    pub duration: Duration,
}

impl Attempt {
    pub fn failed(error: WebhookError) -> Self {
        let (status, response, retry_after, was_taken, duration) = Default::default();
        Self { error: Some(error), status, response, retry_after, was_taken, duration }
    }

    /// An answer with this status.
    pub fn answered(status: u16) -> Self {
        let error = match status {
            200..300 => None,
            300..400 => Some(WebhookError::Redirect),
            _ => Some(WebhookError::Status),
        };
        let (response, retry_after, duration) = Default::default();
        Self { error, status: Some(status), response, retry_after, was_taken: true, duration }
    }

    /// How long it took, in milliseconds.
    pub fn millis(&self) -> i32 {
        i32::try_from(self.duration.as_millis()).unwrap_or(i32::MAX)
    }

    pub fn is_delivered(&self) -> bool {
        self.error.is_none()
    }

    /// Whether the receiver refuses this event. All other failures say something about the receiver.
    pub fn is_refusal(&self) -> bool {
        match (self.error, self.status) {
            (None, _) => false,
            (Some(WebhookError::Timeout), None) => self.was_taken,
            (Some(_), status) => {
                status.is_some_and(|status| !matches!(status, 410 | 429 | 502 | 503 | 504))
            }
        }
    }
}

/// A connection to one receiver, for one request at a time.
pub struct Connection {
    requests: SendRequest<Full<Bytes>>,
    peer: IpAddr,
    used_at: Instant,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
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
        // How a connection ends is seen by its request.
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
    patience: Duration,
}

impl Client {
    pub fn new(connector: Connector) -> Self {
        Self { connector, patience: TIMEOUT }
    }

    /// Whether webhooks may have this URL, as far as can be told without a look-up.
    pub fn allows(&self, url: &WebhookUrl) -> bool {
        self.connector.allows(url.url())
    }

    /// Sends a message while somebody waits for how it went.
    pub async fn try_out(
        &self,
        url: &WebhookUrl,
        secrets: &[WebhookSecret],
        message: &Message,
    ) -> Attempt {
        let hasty = Self { connector: self.connector.clone(), patience: TRIAL_TIMEOUT };
        hasty.send(&mut None, url, secrets, message).await
    }

    /// Sends a message, over the connection if it is still good. Afterwards `connection` is one that
    /// can be used again, or none.
    pub async fn send(
        &self,
        connection: &mut Option<Connection>,
        url: &WebhookUrl,
        secrets: &[WebhookSecret],
        message: &Message,
    ) -> Attempt {
        let began = Instant::now();
        let mut was_taken = false;
        let exchange = self.exchange(connection, url.url(), secrets, message, &mut was_taken);
        let exchanged = timeout(self.patience, exchange).await;
        let duration = began.elapsed();
        let attempt = match exchanged {
            Ok(Ok((response, used))) => self.answered(url, response, used, connection).await,
            Ok(Err(error)) => Attempt::failed(error),
            Err(_) => Attempt { was_taken, ..Attempt::failed(WebhookError::Timeout) },
        };
        Attempt { duration, ..attempt }
    }

    /// Sends the request, and reads the head of the answer. A connection that the receiver has closed
    /// meanwhile is no failure.
    async fn exchange(
        &self,
        connection: &mut Option<Connection>,
        url: &Url,
        secrets: &[WebhookSecret],
        message: &Message,
        was_taken: &mut bool,
    ) -> Result<(Response<Incoming>, Connection), WebhookError> {
        if let Some(mut kept) = connection.take().filter(Connection::is_fresh) {
            let request = request(url, secrets, message).ok_or(WebhookError::Connect)?;
            *was_taken = true;
            match kept.requests.send_request(request).await {
                Ok(response) => return Ok((response, kept)),
                Err(_) => *was_taken = false,
            }
        }
        let mut new = Connection::open(&self.connector, message.tenant, url).await?;
        let request = request(url, secrets, message).ok_or(WebhookError::Connect)?;
        *was_taken = true;
        let response = new.requests.send_request(request).await;
        Ok((response.map_err(|_| WebhookError::Reset)?, new))
    }

    async fn answered(
        &self,
        url: &WebhookUrl,
        response: Response<Incoming>,
        mut used: Connection,
        connection: &mut Option<Connection>,
    ) -> Attempt {
        let (head, mut body) = response.into_parts();
        let answered = Attempt::answered(head.status.as_u16());
        let error = answered.error;
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
        Attempt { response, retry_after, ..answered }
    }
}

/// Reads the beginning of a body, and whether that is all of it.
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

/// The text of a body, without what a database or a terminal cannot take.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    text.trim().to_owned()
}

/// Where an answer redirects to, which may carry a token, as the URL does.
fn redirected_to(url: &WebhookUrl, headers: &HeaderMap) -> Option<String> {
    let target = url.url().join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    let target: WebhookUrl = target.as_str().parse().ok()?;
    Some(format!("redirects to {}", target.masked()))
}

/// In seconds, or until a date.
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

/// None if the address cannot stand in a request.
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
