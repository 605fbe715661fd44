//! Turns failed requests into errors with an exit code and a fix.

use std::error::Error as StdError;

use common::{ErrorCode, Failure, Role};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};

use super::CurrentKey;
use super::{KeySource, Target, TlsFault};
use crate::error::{BROKEN_ANSWER, Error, Exit, MISUNDERSTOOD, NOT_LICD, TIMEOUT, UNREACHABLE};
use crate::escape::quote;
use crate::profile::{address, origin, proxy_on_the_way};

const AGAIN: &str = "try again in a moment";

/// The effect of a command that is run again after its response was lost. The second run has
/// another idempotency key.
#[derive(Clone, Copy)]
pub enum Repeat {
    /// The request changes nothing.
    Read,
    /// The second request has no further effect.
    Safe,
    /// The second request creates another record of this kind.
    Creates(&'static str),
    /// The second request may have a further effect.
    Unsafe,
}

/// A request that was sent.
pub(super) struct ApiRequest<'a> {
    pub method: Method,
    pub path: &'a str,
    pub repeat: Repeat,
    /// Headers beyond those that every request has.
    pub headers: &'a [(HeaderName, HeaderValue)],
    pub target: &'a Target,
}

impl ApiRequest<'_> {
    /// The error of a request without a complete answer.
    pub(super) fn failed(&self, error: &reqwest::Error) -> Error {
        let server = address(&self.target.server);
        let cause = cause(error);
        let unreachable = |code, message| Error::new(Exit::Unreachable, code, message);
        if error.is_timeout() {
            let seconds = self.target.timeout.std().as_secs();
            let late =
                unreachable(TIMEOUT, format!("{server} did not respond within {seconds} s."));
            return self.in_doubt(late, &format!("raise --timeout to {}s", seconds * 4));
        }
        if let Some(fault) = TlsFault::of(error) {
            return unreachable(
                "tls",
                format!("Cannot establish a secure connection to {server}."),
            )
            .because(fault.why)
            .fix(fault.fix);
        }
        if error.is_connect() {
            let fix = match proxy_on_the_way(&self.target.server) {
                Some(proxy) => format!(
                    "check the proxy {proxy}, or name the server in NO_PROXY; then check that licd \
                     is running there"
                ),
                None => "check that licd is running there, or choose another server with --server \
                         URL"
                .to_owned(),
            };
            let mut unreached =
                unreachable(UNREACHABLE, format!("Cannot reach {server}.")).because(cause).fix(fix);
            unreached.is_unknown_host = is_unknown_host(error);
            return unreached;
        }
        if is_another_protocol(error) {
            return unreachable(NOT_LICD, format!("{server} is not licd: it does not speak HTTP."))
                .because(cause)
                .fix("check the URL; with TLS it begins with https://");
        }
        let broken = unreachable(
            BROKEN_ANSWER,
            format!("{server} closed the connection before its response was complete."),
        );
        self.in_doubt(broken.because(cause), "")
    }

    /// Adds what a write without a response may have done.
    fn in_doubt(&self, error: Error, wait_longer: &str) -> Error {
        let mut reason = "The change may have been made anyway.".to_owned();
        let fix = match self.repeat {
            Repeat::Read => {
                return error.fix(if wait_longer.is_empty() { AGAIN } else { wait_longer });
            }
            Repeat::Safe => "run the command again; that is safe".to_owned(),
            Repeat::Creates(noun) => {
                reason = format!("The {noun} may have been created anyway.");
                format!("check with licctl {}s list before you retry", noun.replace(' ', "-"))
            }
            Repeat::Unsafe => "check before you retry".to_owned(),
        };
        let or = if wait_longer.is_empty() { "" } else { "; or " };
        error.because(reason).fix(format!("{fix}{or}{wait_longer}"))
    }

    /// The error of a server that says that TLS is missing, as licd, nginx and Apache do.
    pub(super) fn needs_tls(&self, status: StatusCode, body: &[u8]) -> Option<Error> {
        const WORDS: [&str; 3] = ["served over TLS", "HTTPS port", "SSL-enabled"];
        let text = String::from_utf8_lossy(body);
        let is_plain = self.target.server.scheme() == "http" && status == StatusCode::BAD_REQUEST;
        if !is_plain || !WORDS.iter().any(|words| text.contains(words)) {
            return None;
        }
        let server = address(&self.target.server);
        let error = Error::new(Exit::Unreachable, "tls", format!("{server} requires TLS."));
        Some(error.fix(format!("use {}", server.replacen("http://", "https://", 1))))
    }

    /// The error of a request that the service refused, with the service's own sentence.
    pub(super) fn refused(&self, status: StatusCode, failure: Failure) -> Error {
        let words = format!("\"{}\"", failure.error);
        let wait = match failure.retry_after {
            Some(seconds) => format!("try again in {seconds} s"),
            None => AGAIN.to_owned(),
        };
        let key = format!("key {}… from {}", self.target.key.prefix(), self.target.key_source);
        let error = match status.as_u16() {
            code if failure.code.starts_with("license_key_") => {
                let exit = if code == 404 { Exit::NotFound } else { Exit::Rejected };
                Error::new(exit, "", format!("{}.", failure.error))
            }
            409 if failure.code == ErrorCode::LeaseRunning.as_str() => {
                Error::new(Exit::Rejected, "", format!("{}.", failure.error))
                    .fix("wait until the lease ends, or repeat the command with --leases drop")
            }
            401 => {
                Error::new(Exit::NotAuthenticated, "", format!("The server rejected the {key}."))
                    .because(format!("{words} The key is unknown, expired or revoked"))
                    .fix(self.another_key())
            }
            403 => {
                Error::new(Exit::Forbidden, "", format!("The {key} does not allow this request."))
                    .because(words)
                    .fix("use a key with another role or mode; licctl whoami shows this one")
            }
            404 => Error::new(Exit::NotFound, "", self.nothing_there()).because(words),
            429 => Error::new(Exit::RateLimited, "", "The key has reached its rate limit.")
                .because(words)
                .fix(wait),
            502..=504 => {
                Error::new(Exit::Unreachable, "", "The server is temporarily unavailable.")
                    .because(words)
                    .fix(wait)
            }
            500.. => Error::new(Exit::Internal, "", "The server reported an internal error.")
                .because(words)
                .fix("search the server's log for the request id"),
            _ => Error::new(Exit::Rejected, "", "The server rejected the request.").because(words),
        };
        let mut error = error.coded(failure.code);
        error.retry_after = failure.retry_after;
        let request_id = Some(failure.request_id).filter(|id| !id.is_empty());
        error.answered(status.as_u16(), request_id)
    }

    /// The error for a key that is known now: of too low a role, or else of the wrong mode.
    pub(super) fn forbidden(&self, key: &CurrentKey, error: Error) -> Error {
        let reads = matches!(self.repeat, Repeat::Read);
        let needed = if reads { Role::Read } else { Role::Admin };
        if key.role == Role::Admin || key.role == needed {
            return error;
        }
        let message =
            format!("This requires role {needed}; key {} has role {}.", key.name, key.role);
        error
            .saying(message)
            .fix(format!("use a key with role {needed}: -P PROFILE or LICCTL_API_KEY"))
    }

    /// The error of a proxy that does not reach licd, or limits the rate itself.
    pub(super) fn kept_by_a_proxy(&self, status: StatusCode) -> Error {
        let server = origin(&self.target.server);
        if status == StatusCode::TOO_MANY_REQUESTS {
            let message = format!("A proxy in front of {server} is rate limiting.");
            Error::new(Exit::RateLimited, "rate_limited", message).fix(AGAIN)
        } else {
            let proxy = match proxy_on_the_way(&self.target.server) {
                Some(proxy) => format!("the proxy {proxy}, or one in front of {server},"),
                None => "a proxy in front of it".to_owned(),
            };
            let message = format!("{server} returned {status}: {proxy} cannot reach licd.");
            self.in_doubt(Error::new(Exit::Unreachable, "unavailable", message), "")
        }
    }

    /// The error of an answer that does not come from licd.
    pub(super) fn not_the_service(&self, status: StatusCode, body: &[u8]) -> Error {
        let text = String::from_utf8_lossy(body);
        let body = match text.trim_start().chars().next() {
            None => "an empty body",
            Some('<') => "an HTML page",
            Some('{' | '[') => "incomplete or unknown JSON",
            Some(_) => "plain text",
        };
        let server = address(&self.target.server);
        let code = status.as_u16();
        let message = if status.is_server_error() {
            format!("{server} returned {code} and {body}; is licd down behind a proxy?")
        } else {
            format!("{server} is not licd: it returned {code} and {body}.")
        };
        Error::new(Exit::Unreachable, NOT_LICD, message).fix(
            match proxy_on_the_way(&self.target.server) {
                Some(proxy) => format!("check the proxy {proxy}, or name the server in NO_PROXY"),
                None => "check --server, LICCTL_SERVER or the profile, and any proxies".to_owned(),
            },
        )
    }

    /// The error of an answer that this version cannot decode.
    pub(super) fn misunderstood(&self, error: &serde_json::Error) -> Error {
        Error::new(Exit::Internal, MISUNDERSTOOD, "Cannot decode the server's response.")
            .because(format!("{} {}: {error}", self.method, self.path))
            .fix("use the same version of licctl as the server")
    }

    pub(super) fn redirected(&self, to: &Url) -> Error {
        let server = origin(&self.target.server);
        if origin(to) == server {
            let message = format!("{server} redirects in a loop.");
            return Error::new(Exit::Unreachable, "redirected", message)
                .fix("check --server, LICCTL_SERVER or the profile");
        }
        let message =
            format!("{server} redirects to {}, and the API key is not sent there.", origin(to));
        Error::new(Exit::Unreachable, "redirected", message)
            .fix(format!("if that is the right server, use --server {}", origin(to)))
    }

    /// The way to replace the refused key at its source.
    fn another_key(&self) -> String {
        match &self.target.key_source {
            KeySource::Profile(name) => format!("licctl login --profile {}", quote(name)),
            KeySource::Given(place) => {
                format!("replace the key from {place} with an active one")
            }
        }
    }

    fn nothing_there(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        match path.strip_prefix("/api/v1/admin/").and_then(|path| path.split_once('/')) {
            Some((nouns, rest)) => {
                let id = rest.split('/').next().unwrap_or_default();
                format!("There is no {} {id}.", nouns.trim_end_matches('s').replace('-', " "))
            }
            None => format!("{}{path} does not exist.", address(&self.target.server)),
        }
    }
}

/// Whether the server responded with something other than HTTP.
fn is_another_protocol(error: &reqwest::Error) -> bool {
    let mut causes = causes(error).filter_map(|error| error.downcast_ref::<hyper::Error>());
    causes.any(hyper::Error::is_parse)
}

/// Whether the server's name does not resolve. The connector's error has a private type.
fn is_unknown_host(error: &reqwest::Error) -> bool {
    causes(error).any(|error| error.to_string() == "dns error")
}

/// The innermost cause, which is the only specific one.
pub fn cause(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The error, its cause, the cause of that, and so on.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(Some(error as &(dyn StdError + 'static)), |error| (*error).source())
}
