//! Errors as pages, within the frame of the page if its layout is known.

use askama::Template;
use axum::extract::Request;
use axum::http::header::REFERER;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tower_http::csrf::ProtectionError;

use super::layout::{Visit, base, sign_in};
use super::{Layout, page};
use crate::error::Error;
use crate::http::context::RequestContext;

/// An error in words.
struct Words {
    title: String,
    sentence: String,
    /// URL of the page in the other mode, if the record may be there and the visitor may see it.
    other_mode: Option<String>,
    /// The ID under which the log has the cause of a failure.
    request_id: Option<String>,
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

/// The response to a link on another site. The browser sent no cookie with it, but does when this
/// page loads the same address.
#[derive(Template)]
#[template(path = "arrival.html")]
struct CrossSitePage {
    path: String,
}

/// Wraps the handling of every page: an error becomes a page, and a visitor without a session is
/// redirected to sign in.
pub async fn render(mut request: Request, next: Next) -> Response {
    let visit = Visit::default();
    request.extensions_mut().insert(visit.clone());
    let request_id = RequestContext::of(request.extensions()).id.to_string();
    let is_form = request.method() == Method::POST;
    let wanted = page_of(&request);
    let comes_from = request.headers().get("sec-fetch-site").cloned();
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<Error>() else { return response };
    if error == Error::Unauthorized {
        return match comes_from {
            Some(site) if site == "cross-site" => {
                page(StatusCode::OK, &CrossSitePage { path: wanted }).into_response()
            }
            _ => Redirect::to(&sign_in(&wanted, is_form)).into_response(),
        };
    }
    let (status, layout) = (error.status(), visit.layout());
    let error = words(&error, layout.as_ref(), request_id);
    let shown = match layout {
        Some(layout) => page(status, &ErrorPage { layout, error }),
        None => page(status, &PlainErrorPage { error }),
    };
    // Such as how long to wait.
    let headers = std::mem::take(response.headers_mut()).into_iter();
    let mut shown = shown.into_response();
    shown.headers_mut().extend(headers.filter_map(|(name, value)| Some((name?, value))));
    shown
}

/// The page to return to. For a form it is the page that sent it, if the browser says so, without the
/// notice that it showed.
fn page_of(request: &Request) -> String {
    let own = request.uri().path_and_query().map_or("/dashboard", PathAndQuery::as_str);
    let referer = request.headers().get(REFERER).and_then(|value| value.to_str().ok());
    let is_form = request.method() == Method::POST;
    let form = referer.filter(|_| is_form).and_then(|address| {
        let (_, rest) = address.split_once("://")?;
        rest.find('/').map(|at| &rest[at..])
    });
    let page = form.unwrap_or(own);
    page.split_once("?notice=").map_or(page, |(page, _)| page).to_owned()
}

/// The address of a form, opened as a page, redirects to the page of its record.
pub async fn form_opened(method: Method, uri: Uri) -> Result<Redirect, Error> {
    if method != Method::GET && method != Method::HEAD {
        return Err(Error::MethodNotAllowed);
    }
    let path = uri.path();
    let record = match path.split_once("/sessions/") {
        Some((mode, _)) => format!("{mode}/keys"),
        None => path.rsplit_once('/').map_or(path, |(record, _)| record).to_owned(),
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(Redirect::to(&(record + &query)))
}

/// Describes an error, and what the visitor can do.
fn words(error: &Error, layout: Option<&Layout>, request_id: String) -> Words {
    let plain = |title: &str, sentence: &str| Words {
        title: title.to_owned(),
        sentence: sentence.to_owned(),
        other_mode: None,
        request_id: error.status().is_server_error().then_some(request_id),
    };
    match (error, layout) {
        (Error::NotFound(what), Some(layout)) => {
            let gone = match *what {
                "user" => "It may have been deleted. ",
                "session" => "It may have ended. ",
                _ => "",
            };
            let other = layout.other_mode();
            let sentence =
                format!("{gone}It may belong to {other} mode, which has its own records.");
            let elsewhere = layout.path.replacen(&layout.base(), &base(other), 1);
            let other_mode = layout.may_switch.then_some(elsewhere);
            Words { other_mode, ..plain(&format!("{} not found", capitalized(what)), &sentence) }
        }
        (Error::NotFound(_) | Error::RouteNotFound | Error::SlashAtEnd, _) => {
            plain("Page not found", "There is no page at this address.")
        }
        (Error::Forbidden, Some(_)) => plain(
            "Not allowed",
            "Your key is read-only. To make changes, sign in with an admin key.",
        ),
        (Error::Forbidden, None) => plain(
            "Not allowed",
            "Your key cannot open this mode. Sign in with a key for this mode.",
        ),
        (Error::RateLimited(_), _) => plain(
            "Too many requests",
            "Your key has reached its rate limit. Try again in a moment.",
        ),
        (Error::Overloaded | Error::Unavailable, _) => plain(
            "Not available",
            "licd is overloaded, or cannot reach its database. Reload the page in a moment.",
        ),
        (Error::Internal, _) => {
            plain("Something went wrong", "licd's log has the cause, under the request ID below.")
        }
        _ => {
            let sentence = error.to_string();
            let sentence = sentence.trim_end_matches('.');
            plain("This did not work", &format!("{sentence}. Go back and try again."))
        }
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_ascii_uppercase() + rest
}

/// The response to a form on another site.
pub fn refuse_cross_site(_: ProtectionError) -> Response {
    let error = Words {
        title: "Not allowed".to_owned(),
        sentence: "This form was sent from another site. Use the dashboard itself.".to_owned(),
        other_mode: None,
        request_id: None,
    };
    page(StatusCode::FORBIDDEN, &PlainErrorPage { error }).into_response()
}
