//! Errors as pages, with the frame of the page where it is known.

use askama::Template;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::csrf::ProtectionError;

use super::assets::{ASSETS, Assets};
use super::html::{page, see_other};
use super::layout::{Layout, Visit, sign_in};
use crate::error::Error;
use crate::http::context::RequestContext;

/// An error in words.
struct Words {
    title: &'static str,
    sentence: String,
    advice: &'static str,
    request_id: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    layout: Layout,
    error: Words,
}

#[derive(Template)]
#[template(path = "error_plain.html")]
struct PlainErrorPage {
    error: Words,
}

impl PlainErrorPage {
    fn assets(&self) -> &'static Assets {
        &ASSETS
    }
}

/// Where a link on another site leads. The browser sent no cookie with it, and does so when this page
/// goes on to the address itself.
#[derive(Template)]
#[template(path = "arrival.html")]
struct Arrival {
    path: String,
}

/// Wraps the handling of every page. An error becomes a page; a visitor without a session goes on
/// to sign in.
pub async fn render(mut request: Request, next: Next) -> Response {
    let visit = Visit::default();
    request.extensions_mut().insert(visit.clone());
    let request_id = RequestContext::of(request.extensions()).id.to_string();
    let wanted = match request.method() {
        &Method::GET => request.uri().path_and_query().map_or("/dashboard", |path| path.as_str()),
        _ => "/dashboard",
    };
    let (wanted, comes_from) =
        (wanted.to_owned(), request.headers().get("sec-fetch-site").cloned());
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<Error>() else { return response };
    if error == Error::Unauthorized {
        let onward = match comes_from {
            Some(site) if site == "cross-site" => page(StatusCode::OK, &Arrival { path: wanted }),
            _ => see_other(&sign_in(&wanted)),
        };
        return onward.unwrap_or_else(IntoResponse::into_response);
    }
    let (title, advice) = words(&error);
    let (status, sentence) = (error.status(), error.sentence() + full_stop(&error.sentence()));
    let error = Words { title, sentence, advice, request_id };
    let shown = match visit.layout() {
        Some(layout) => page(status, &ErrorPage { layout, error }),
        None => page(status, &PlainErrorPage { error }),
    };
    // Such as how long to wait.
    let headers = std::mem::take(response.headers_mut()).into_iter();
    let mut shown = shown.unwrap_or_else(IntoResponse::into_response);
    shown.headers_mut().extend(headers.filter_map(|(name, value)| Some((name?, value))));
    shown
}

fn full_stop(sentence: &str) -> &'static str {
    if sentence.ends_with('.') { "" } else { "." }
}

/// What a person needs to know of an error, and can do.
fn words(error: &Error) -> (&'static str, &'static str) {
    match error {
        Error::NotFound(_) | Error::RouteNotFound => (
            "Not found",
            "It may have been deleted, or belong to the other mode: live and test are separate.",
        ),
        Error::Forbidden => (
            "Not allowed",
            "The key of this session may look and not change things, or does not open this mode. \
             Sign in with an admin key of this mode.",
        ),
        Error::RateLimited(_) => {
            ("Too many requests", "The key has used up its rate. Wait a moment and try again.")
        }
        Error::Overloaded | Error::Unavailable => (
            "Not available",
            "Nothing was changed that is not shown. Wait a moment and load the page again.",
        ),
        Error::Internal => ("Something failed", "licd's log has the cause under the request id."),
        _ => ("This did not work", "Go back, and try again."),
    }
}

/// The answer to a form that another site sent.
pub fn refuse_cross_site(_: ProtectionError) -> Response {
    let error = Words {
        title: "Not allowed",
        sentence: "This form was sent from another site.".to_owned(),
        advice: "Open the dashboard, and do it there.",
        request_id: String::new(),
    };
    let shown = page(StatusCode::FORBIDDEN, &PlainErrorPage { error });
    shown.unwrap_or_else(IntoResponse::into_response)
}
