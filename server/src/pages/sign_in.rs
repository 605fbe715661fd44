//! Signing in with an API key, and out.

use askama::Template;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use common::{ApiKey, Mode};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::layout::base;
use super::page;
use super::visitor::{
    PLAIN_COOKIE, SECURE_COOKIE, Viewer, Visitor, host, is_secure, session_token,
};
use crate::error::Error;
use crate::events::{Actor, Origin};
use crate::http::App;
use crate::http::Client;
use crate::http::context::RequestContext;
use crate::http::extract::{Form, Query, SIGN_IN_BODY};
use crate::ops::sessions::{self, Device, SessionToken};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    /// The name of this server, as the browser knows it.
    host: String,
    next: String,
    message: Message,
}

/// Message of the page above the form, or next to its field.
enum Message {
    None,
    SignedOut,
    /// There was a session, and maybe a form that is lost.
    Ended {
        is_form_lost: bool,
    },
    /// Reason why the key cannot sign in.
    Wrong(&'static str),
    /// The seconds to wait after too many wrong keys.
    Wait(u64),
    /// The key is valid, but no session can be stored.
    NoWrites,
}

/// The query of the page.
#[derive(Deserialize)]
#[serde(default)]
pub struct SignInQuery {
    next: String,
    #[serde(rename = "signed-out")]
    signed_out: String,
    lost: String,
}

impl Default for SignInQuery {
    fn default() -> Self {
        Self { next: "/dashboard".to_owned(), signed_out: String::new(), lost: String::new() }
    }
}

pub async fn show(
    connection: SignInRequest,
    Query(query): Query<SignInQuery>,
) -> Result<Response, Error> {
    let is_form_lost = !query.lost.is_empty();
    let message = match query.signed_out.as_str() {
        // A browser may drop the cookie when the session ends.
        "" if connection.has_session || is_form_lost => Message::Ended { is_form_lost },
        "" => Message::None,
        _ => Message::SignedOut,
    };
    page(StatusCode::OK, &SignInPage { host: connection.host, next: query.next, message })
}

/// The form. It has no `Debug`: one field is a key.
#[derive(Deserialize)]
#[serde(default)]
pub struct SignInForm {
    key: Zeroizing<String>,
    next: String,
}

impl Default for SignInForm {
    fn default() -> Self {
        Self { key: Zeroizing::default(), next: "/dashboard".to_owned() }
    }
}

impl<S: Sync> FromRequest<S> for SignInForm {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        Ok(Form::read(request, &SIGN_IN_BODY).await?.fields)
    }
}

pub async fn sign_in(
    State(app): State<App>,
    connection: SignInRequest,
    former: Result<Viewer, Error>,
    SignInForm { key, next }: SignInForm,
) -> Result<Response, Error> {
    let opened = match key.trim().parse::<ApiKey>() {
        Ok(key) => open(&app, &connection, &key).await,
        Err(_) => Err(Error::Unauthorized),
    };
    let (status, message) = match opened {
        Ok(Some((token, mode))) => {
            let to = if is_own_page(&next) { next } else { base(mode) };
            let cookie = [(SET_COOKIE, connection.cookie(Some(&token))?)];
            if let Ok(Viewer(visitor)) = former {
                end(&visitor).await?;
            }
            return Ok((cookie, Redirect::to(&to)).into_response());
        }
        Ok(None) => (StatusCode::SERVICE_UNAVAILABLE, Message::NoWrites),
        Err(Error::Unauthorized) => match app.sign_ins.note_wrong_key(connection.address) {
            Ok(()) => (
                StatusCode::UNAUTHORIZED,
                Message::Wrong("This key is not valid. It may have expired or been revoked."),
            ),
            Err(seconds) => (StatusCode::TOO_MANY_REQUESTS, Message::Wait(seconds)),
        },
        Err(Error::Forbidden) => (
            StatusCode::FORBIDDEN,
            Message::Wrong("This is a validate key. Only read and admin keys can sign in."),
        ),
        Err(error) => return Err(error),
    };
    page(status, &SignInPage { host: connection.host, next, message })
}

/// Opens a session with the key, and returns the key's mode; `None` if the session cannot be stored.
async fn open(
    app: &App,
    connection: &SignInRequest,
    key: &ApiKey,
) -> Result<Option<(SessionToken, Mode)>, Error> {
    let context = &connection.context;
    let found = sessions::authenticate(&app.db, &app.gate, key, &context.caller).await?;
    let (scope, key) = (found.auth().scope, found.key);
    let actor = Actor::Key { id: key.id, name: Some(key.name) };
    let origin = Origin { actor, scope, request_id: Some(context.id.clone()) };
    let device = connection.device();
    let opened = async { sessions::open(app.ops.change(origin).await?, key.id, device).await };
    match opened.await {
        Ok(token) => Ok(Some((token, key.mode))),
        Err(Error::Unavailable) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Only a page of the dashboard may follow: another site could pass for it.
fn is_own_page(path: &str) -> bool {
    let rest = path.strip_prefix("/dashboard").unwrap_or("-");
    // Browsers take these as the parent folder, and `\` as `/`.
    let is_up = |part: &str| part.to_ascii_lowercase().replace("%2e", ".") == "..";
    (rest.is_empty() || rest.starts_with('/'))
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !rest.split(['/', '?']).any(is_up)
}

/// Ends the session in the browser and in the database.
pub async fn sign_out(
    connection: SignInRequest,
    viewer: Result<Viewer, Error>,
) -> Result<Response, Error> {
    match viewer {
        Ok(Viewer(visitor)) => end(&visitor).await?,
        // It has ended already.
        Err(Error::Unauthorized) => {}
        Err(error) => return Err(error),
    }
    let headers = [
        (SET_COOKIE, connection.cookie(None)?),
        // Or the browser's back button would show a page that it kept.
        (HeaderName::from_static("clear-site-data"), HeaderValue::from_static(r#""cache""#)),
    ];
    Ok((headers, Redirect::to("/dashboard/sign-in?signed-out=yes")).into_response())
}

async fn end(visitor: &Visitor) -> Result<(), Error> {
    let change = visitor.change(None).await?;
    match sessions::end(change, visitor.session).await {
        // It was ended elsewhere.
        Ok(()) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Facts about the browser and its connection in a request.
pub struct SignInRequest {
    context: RequestContext,
    address: Option<std::net::IpAddr>,
    browser: Option<String>,
    host: String,
    is_secure: bool,
    /// Whether the browser sent a cookie of a session, which may have ended.
    has_session: bool,
}

impl FromRequestParts<App> for SignInRequest {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        let browser = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let client = parts.extensions.get::<Client>();
        Ok(Self {
            context: RequestContext::of(&parts.extensions),
            address: client.map(|client| client.address),
            browser: browser.map(str::to_owned),
            host: host(parts).to_owned(),
            is_secure: is_secure(parts),
            has_session: session_token(parts).is_some(),
        })
    }
}

impl SignInRequest {
    fn device(&self) -> Device {
        let address = self.address.map(|address| address.to_string());
        Device { address, browser: self.browser.clone() }
    }

    /// The cookie with the token, or the one that removes it.
    fn cookie(&self, token: Option<&SessionToken>) -> Result<HeaderValue, Error> {
        let (name, place) = if self.is_secure {
            (SECURE_COOKIE, "Path=/; Secure")
        } else {
            (PLAIN_COOKIE, "Path=/dashboard")
        };
        let seconds = token.map_or(0, |_| sessions::LIFETIME.num_seconds());
        let token = token.map_or("", SessionToken::expose);
        let cookie =
            format!("{name}={token}; {place}; Max-Age={seconds}; HttpOnly; SameSite=Strict");
        let mut cookie = HeaderValue::try_from(cookie).map_err(|_| Error::Internal)?;
        cookie.set_sensitive(true);
        Ok(cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_second_is_singular() {
        for (seconds, words) in [(1, "in 1 second."), (2, "in 2 seconds.")] {
            let (host, next) = ("licd.example".to_owned(), String::new());
            let shown = SignInPage { host, next, message: Message::Wait(seconds) };
            assert!(shown.render().unwrap().contains(words));
        }
    }

    #[test]
    fn only_the_dashboard_follows_a_sign_in() {
        for own in ["/dashboard", "/dashboard/live/keys?before=key_1", "/dashboard/test"] {
            assert!(is_own_page(own), "{own}");
        }
        for other in [
            "",
            "https://example.com/dashboard",
            "//example.com",
            "/dashboard.example.com",
            "/dashboardx",
            "/docs",
            "/dashboard/a b",
            "/dashboard/../../x",
            "/dashboard/%2E./x",
            "/dashboard/..\\x",
            "/dashboard/..",
            "/dashboard/\r\nSet-Cookie: a=b",
        ] {
            assert!(!is_own_page(other), "{other}");
        }
    }
}
