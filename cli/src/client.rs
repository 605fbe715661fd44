//! The HTTP client of the service: sends a request until a response comes, unwraps the response, and
//! turns a refusal into an error. [`patience`] decides how long, [`refusal`] writes the errors.

mod answer;
mod connection;
mod endpoints;
mod parse_errors;
mod patience;
mod planned;
mod query;
mod raw;
mod records;
mod refusal;
mod roles;
mod tls;
mod trace;

use std::cell::RefCell;
use std::fmt;
use std::time::Instant;

use common::{ApiKey, ErrorCode, List, Success, Timestamp};
use futures_util::stream::{self, Stream};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, IF_MATCH, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Position;
use uuid::Uuid;

use crate::error::{Error, Exit, Result};
use crate::output::{PlannedRequest, Span};
use crate::profile::{address, origin};
pub use answer::ApiRecord;
use answer::ApiResponse;
pub use connection::{CaCert, http};
pub use endpoints::{Record, Update};
pub use parse_errors::in_plain_words;
use patience::Attempts;
pub use patience::{Patience, ServerKnowledge};
pub use query::{Query, encode};
pub use raw::Headers;
pub use records::{
    CreatedKey, CreatedWebhook, CurrentKey, ExplainedLicense, Explanation, Key, LeaseAnswer,
    License, LicenseDetails, LicenseWithSeats, SigningKey, SigningKeys, Usage, Validation, Webhook,
};
use refusal::ApiRequest;
pub use refusal::Repeat;
pub use refusal::cause;
pub use tls::TlsFault;
pub use trace::Trace;

/// Number of records in a page of a list.
const PAGE_SIZE: usize = 1000;
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const MAX_REDIRECTS: usize = 5;

/// The server, the key and the connection settings of a client.
pub struct Target {
    pub server: Url,
    pub key: ApiKey,
    /// The key's source, for the error when the server refuses it.
    pub key_source: KeySource,
    pub timeout: Span,
    pub ca_cert: Option<CaCert>,
    /// Collect writes instead of sending them.
    pub dry_run: bool,
    /// Place of the first write, to print before it.
    pub place: RefCell<Option<String>>,
}

/// The source of a key.
pub enum KeySource {
    /// The profile of this name.
    Profile(String),
    /// A file, the variable or the terminal, in words.
    Given(String),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Given(place) => f.write_str(place),
        }
    }
}

/// The service, as seen with one key.
pub struct Client {
    http: reqwest::Client,
    target: Target,
    planned: RefCell<Vec<PlannedRequest>>,
    trace: Trace,
    last_head: RefCell<Option<String>>,
    patience: Patience,
}

/// A write that was done.
pub struct Written<T> {
    /// Whether the service created a record.
    pub created: bool,
    pub data: T,
}

impl Client {
    pub fn new(target: Target, trace: Trace, patience: Patience) -> Result<Self> {
        let http = http(&target.server, target.timeout.std(), target.ca_cert.as_ref())?;
        let (planned, last_head) = (RefCell::default(), RefCell::default());
        Ok(Self { http, target, planned, trace, last_head, patience })
    }

    /// The requests that a dry run has collected.
    pub fn take_planned(&self) -> Vec<PlannedRequest> {
        self.planned.take()
    }

    pub fn server(&self) -> &Url {
        &self.target.server
    }

    pub fn key(&self) -> &ApiKey {
        &self.target.key
    }

    pub fn key_source(&self) -> &KeySource {
        &self.target.key_source
    }

    /// Returns where the first write takes effect, unless this was printed before.
    pub fn place(&self) -> Option<String> {
        self.target.place.take()
    }

    /// The server and mode, for the name of a bulk run.
    pub fn label(&self) -> String {
        format!("{} ({})", origin(&self.target.server), self.target.key.mode())
    }

    /// Waits for the server as long as it takes, from now on.
    pub fn wait_endlessly(&self) {
        self.patience.be_endless();
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let api_request = self.request(Method::GET, path);
        Ok(self.exchange::<Success<T>>(&api_request, None, None).await?.body.data)
    }

    /// The pages of a list, each requested when it is wanted. The path has a query, without a
    /// cursor.
    fn pages<'c, T: DeserializeOwned>(
        &'c self,
        path: String,
        after: Option<String>,
        headers: &'c Headers,
    ) -> impl Stream<Item = Result<Vec<T>>> + use<'c, T> {
        stream::try_unfold(Some(after), move |next| {
            let path = path.clone();
            async move {
                let Some(cursor) = next else { return Ok(None) };
                let after = cursor.iter().map(|cursor| format!("&after={}", encode(cursor)));
                let path = path + &after.collect::<String>();
                let request = ApiRequest { headers, ..self.request(Method::GET, &path) };
                let page: List<T> = self.exchange(&request, None, None).await?.body;
                // A repeated cursor would loop endlessly.
                let next = page.next_cursor.filter(|next| Some(next) != cursor.as_ref());
                Ok(Some((page.data, next.map(Some))))
            }
        })
    }

    async fn page<T: DeserializeOwned>(&self, path: &str) -> Result<List<T>> {
        let api_request = self.request(Method::GET, path);
        Ok(self.exchange(&api_request, None, None).await?.body)
    }

    /// Sends a POST that changes nothing, so that a dry run sends it too.
    async fn ask<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let repeat = Repeat::Read;
        let api_request = ApiRequest { repeat, ..self.request(Method::POST, path) };
        let body = to_json(body)?;
        Ok(self.exchange::<Success<T>>(&api_request, Some(&body), None).await?.body.data)
    }

    /// Sends a write. A dry run only records the request and returns none.
    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<&impl Serialize>,
        repeat: Repeat,
    ) -> Result<Option<Written<T>>> {
        self.post_once(path, body, repeat, &new_idempotency_key()).await
    }

    /// [`Self::post`] with a given idempotency key. The service performs the write once per key.
    async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<&impl Serialize>,
        repeat: Repeat,
        idempotency_key: &str,
    ) -> Result<Option<Written<T>>> {
        let request = ApiRequest { repeat, ..self.request(Method::POST, path) };
        let body = body.map(to_json).transpose()?;
        self.write_request(&request, body, idempotency_key).await
    }

    async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<Option<Written<T>>> {
        let request = self.request(Method::DELETE, path);
        self.write_request(&request, None, &new_idempotency_key()).await
    }

    /// Changes a record, with the time of the last change that the caller saw, if any. Fails with a
    /// conflict if the record was changed since then.
    async fn write_seen<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        seen: Option<Timestamp>,
    ) -> Result<Option<Written<T>>> {
        let tag = seen.map(|seen| HeaderValue::from_str(&format!("\"{}\"", seen.millis())));
        let tag = tag.transpose().map_err(Error::internal)?;
        let headers: Vec<_> = tag.into_iter().map(|tag| (IF_MATCH, tag)).collect();
        let request = ApiRequest { headers: &headers, ..self.request(method, path) };
        let body = Some(to_json(body)?);
        let written = self.write_request(&request, body, &new_idempotency_key()).await;
        written
            .map_err(|error| if error.is(ErrorCode::Changed) { changed_since(path) } else { error })
    }

    async fn write_request<T: DeserializeOwned>(
        &self,
        api_request: &ApiRequest<'_>,
        body: Option<serde_json::Value>,
        idempotency_key: &str,
    ) -> Result<Option<Written<T>>> {
        let written = self.change::<Success<T>>(api_request, body, idempotency_key).await?;
        Ok(written.map(|ApiResponse { status, body }| Written {
            created: status == StatusCode::CREATED,
            data: body.data,
        }))
    }

    /// Sends a request that changes something, unless the run is a dry one.
    async fn change<T: DeserializeOwned>(
        &self,
        api_request: &ApiRequest<'_>,
        body: Option<serde_json::Value>,
        idempotency_key: &str,
    ) -> Result<Option<ApiResponse<T>>> {
        if self.target.dry_run {
            self.plan(api_request, body, false)?;
            return Ok(None);
        }
        if let Some(place) = self.place() {
            self.patience.say(&place);
        }
        self.exchange(api_request, body.as_ref(), Some(idempotency_key)).await.map(Some)
    }

    fn request<'a>(&'a self, method: Method, path: &'a str) -> ApiRequest<'a> {
        let repeat = match method {
            Method::GET | Method::HEAD => Repeat::Read,
            Method::POST => Repeat::Unsafe,
            _ => Repeat::Safe,
        };
        ApiRequest { method, path, repeat, headers: &[], target: &self.target }
    }

    /// Sends a request until a response comes or patience ends. All attempts of a write have the same
    /// idempotency key.
    async fn exchange<T: DeserializeOwned>(
        &self,
        api_request: &ApiRequest<'_>,
        body: Option<&serde_json::Value>,
        idempotency_key: Option<&str>,
    ) -> Result<ApiResponse<T>> {
        if self.target.dry_run {
            self.plan(api_request, body.cloned(), true)?;
        }
        let mut attempts = Attempts::new(idempotency_key.is_some());
        loop {
            self.patience.wait().await?;
            let attempt = async {
                let response = self.send(api_request, body, idempotency_key).await?;
                let is_expected = self.patience.expects_licd();
                answer::read(api_request, response, &self.trace, is_expected).await
            };
            match attempt.await {
                Ok(answer) => {
                    self.patience.answered();
                    return Ok(answer);
                }
                Err(error) if error.exit == Exit::Forbidden => {
                    self.patience.answered();
                    return Err(self.with_roles(api_request, error).await);
                }
                Err(error) => self.patience.after(error, &mut attempts)?,
            }
        }
    }

    /// The status line and headers of the last answer.
    pub fn last_head(&self) -> Option<String> {
        self.last_head.borrow_mut().take()
    }

    /// Sends a request, and follows redirects within the server that the key belongs to.
    async fn send(
        &self,
        api_request: &ApiRequest<'_>,
        body: Option<&serde_json::Value>,
        idempotency_key: Option<&str>,
    ) -> Result<Response> {
        let mut url = self.url(api_request.path)?;
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.http.request(api_request.method.clone(), url.clone());
            request = request.header(AUTHORIZATION, bearer(&self.target.key)?);
            if let Some(body) = body {
                request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
            }
            if let Some(key) = idempotency_key {
                request = request.header(IDEMPOTENCY_KEY, key);
            }
            // These replace what licctl would send.
            request = request.headers(api_request.headers.iter().cloned().collect());
            let request = request.build().map_err(|error| {
                Error::new(Exit::Internal, "internal", "The request cannot be made.")
                    .because(cause(&error))
            })?;
            self.trace.sent(&request, body);
            let path = request.url()[Position::BeforePath..].to_owned();
            let line = (request.method().to_string(), path);
            let since = Instant::now();
            let sent = self.http.execute(request).await;
            let response = sent.map_err(|error| api_request.failed(&error))?;
            self.trace.answered(&line, since, &response);
            self.last_head.replace(Some(answer::head(&response)));
            let Some(next) = redirected(&url, &response) else { return Ok(response) };
            // Other redirects may turn a write into a read.
            let keeps_the_method = matches!(response.status().as_u16(), 307 | 308);
            if origin(&next) != origin(&url)
                || !(keeps_the_method || api_request.method == Method::GET)
            {
                return Err(api_request.redirected(&next));
            }
            url = next;
        }
        Err(api_request.redirected(&url))
    }

    fn url(&self, path: &str) -> Result<Url> {
        let base = address(&self.target.server);
        Url::parse(&format!("{base}{path}")).map_err(|error| {
            Error::usage(format!("{path} is not a valid path.")).because(error.to_string())
        })
    }
}

fn changed_since(path: &str) -> Error {
    let id = path.rsplit('/').find(|word| word.contains('_')).unwrap_or(path);
    Error::new(
        Exit::Rejected,
        ErrorCode::Changed.as_str(),
        format!("{id} was changed in the meantime."),
    )
    .because("The record has changed since you read it; nothing was overwritten.")
    .fix("look at it again, and repeat the command")
}

/// A unique key for one write.
pub fn new_idempotency_key() -> String {
    Uuid::now_v7().to_string()
}

fn bearer(key: &ApiKey) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
        .map_err(|_| Error::usage("The key is not a valid header value."))?;
    value.set_sensitive(true);
    Ok(value)
}

fn redirected(from: &Url, response: &Response) -> Option<Url> {
    let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
    location.and_then(|location| from.join(location.to_str().ok()?).ok())
}

fn to_json(body: &impl Serialize) -> Result<serde_json::Value> {
    let mut json = serde_json::to_value(body).map_err(Error::internal)?;
    // Null and absent mean the same to the service; the printed request is shorter without null.
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(json)
}
