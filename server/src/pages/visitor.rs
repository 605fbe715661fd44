//! The visitor of a page: a session, its key, and the world that the page's address names.
//!
//! As in the API, a permission is a parameter: a handler that changes something takes [`Editor`].

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, COOKIE, HOST};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use common::{Key, SessionId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::{Visit, base};
use super::{Done, FormError, FormState, Layout, Notice, Stop, edit_conflict};
use crate::auth::gate::Permission;
use crate::error::Error;
use crate::events::{Actor, Origin};
use crate::http::App;
use crate::http::Client;
use crate::http::context::RequestContext;
use crate::http::extract::path_param;
use crate::http::idempotency::Idempotency;
use crate::ops::change::Change;
use crate::ops::etag::Expected;
use crate::ops::idempotency::Idempotent;
use crate::ops::sessions::{self, SessionToken};
use crate::ops::view::View;
use crate::store::Scope;

/// A signed-in visitor, and the service that it visits.
#[derive(Clone)]
pub struct Visitor {
    pub app: App,
    pub session: SessionId,
    pub key: Key,
    /// The world of the page.
    pub scope: Scope,
    pub layout: Layout,
    /// The id in the page's address, if it has one.
    pub record: Option<String>,
    /// The address at which the browser found this service, as `https://licd.example`.
    pub server: String,
    context: RequestContext,
}

impl Visitor {
    /// The origin of the changes that this request makes.
    pub fn origin(&self) -> Origin {
        let actor =
            Actor::Session { id: self.session, key: self.key.id, name: self.key.name.clone() };
        Origin { actor, scope: self.scope, request_id: Some(self.context.id.clone()) }
    }

    /// Begins a change of a record that was last changed at `seen` when the form was shown.
    pub async fn change(&self, seen: Option<Timestamp>) -> Result<Change, Error> {
        let change = self.app.ops.change(self.origin()).await?;
        Ok(change.expecting(Expected::seen(seen)))
    }

    /// Returns the view of the visitor on the world.
    pub fn view(&self) -> View {
        self.app.ops.view(self.scope)
    }

    /// Makes the change of a form, unless it was made when the form was sent before.
    pub async fn once<T, F: Future<Output = Result<T, Error>>>(
        &self,
        once: Idempotency,
        fields: &impl Serialize,
        change: impl FnOnce(Change) -> F,
    ) -> Result<Idempotent<T>, Error> {
        self.app.ops.once(self.origin(), once.of(fields)?, change).await
    }

    /// The id of the record that a form creates, or created when it was sent before.
    pub async fn create<Id: DeserializeOwned, Created: Future<Output = Result<Id, Error>>>(
        &self,
        once: Idempotency,
        fields: &impl Serialize,
        create: impl FnOnce(Change) -> Created,
    ) -> Result<Id, Error> {
        #[derive(Deserialize)]
        struct Body<Id> {
            data: Record<Id>,
        }
        #[derive(Deserialize)]
        struct Record<Id> {
            id: Id,
        }
        match self.once(once, fields, create).await? {
            Idempotent::Done(id) => Ok(id),
            Idempotent::Replayed(stored) => {
                let body: Result<Body<Id>, _> = serde_json::from_str(&stored.body);
                body.map(|body| body.data.id).map_err(|_| Error::Internal)
            }
        }
    }

    /// Makes the change of a form that shows a secret. If it was made when the form was sent before,
    /// the secret cannot be shown again: the visitor is redirected to a page of the record, whose id
    /// `elsewhere` gets, with a notice.
    pub async fn secret<T, F: Future<Output = Result<T, Error>>>(
        &self,
        once: Idempotency,
        fields: &impl Serialize,
        elsewhere: impl FnOnce(&str) -> (String, Notice),
        change: impl FnOnce(Change) -> F,
    ) -> Result<T, Stop> {
        match self.once(once, fields, change).await {
            Err(Error::ShownOnce(id)) => {
                let (path, notice) = elsewhere(&id);
                Err(Stop::Elsewhere(path, notice))
            }
            made => Ok(made?.of_secret()?),
        }
    }

    /// Redirects to a page of this world that shows the notice. The path may have a query.
    pub fn redirect(&self, path: &str, done: impl Into<Done>) -> Response {
        let (query, separator) = (done.into().query(), if path.contains('?') { "&" } else { "?" });
        Redirect::to(&format!("{}{path}{separator}{query}", self.layout.base())).into_response()
    }

    /// Does what a form says. Returns the response to it, a question, or the page of the form
    /// `again` with its errors.
    pub async fn submit<F, Again: Future<Output = Result<Response, Error>>>(
        self,
        fields: F,
        act: impl AsyncFnOnce(&Self, &F) -> Result<Response, Stop>,
        again: impl FnOnce(Self, FormState<F>) -> Again,
    ) -> Result<Response, Error> {
        // Boxed: a request that waits for its body would need the memory for all of it.
        match Box::pin(act(&self, &fields)).await {
            Ok(response) => Ok(response),
            Err(Stop::Ask(question)) => question.ask(self.layout),
            Err(Stop::Elsewhere(path, notice)) => Ok(self.redirect(&path, notice)),
            Err(Stop::Fail(error)) => {
                let error = FormError::of(edit_conflict::explained(&self, error).await)?;
                Box::pin(again(self, FormState { fields, error })).await
            }
        }
    }
}

/// A visitor, who may look at everything.
pub struct Viewer(pub Visitor);

/// A visitor who may change things.
pub struct Editor(pub Visitor);

impl FromRequestParts<App> for Viewer {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let token = session_token(parts).ok_or(Error::Unauthorized)?;
        let context = RequestContext::of(&parts.extensions);
        let hash = token.hash();
        let found = app.gate.authenticate_session(&app.db, &hash, &context.caller).await?;
        let (own, role) = (found.key.auth().scope, found.key.key.role);
        Permission::Read.check(role)?;
        let mode = match path_param(parts, app, "mode").await {
            Some(mode) => mode.parse().map_err(|_| Error::RouteNotFound)?,
            None => own.mode,
        };
        let scope = sessions::enter(&app.db, own, mode, role).await?;
        let layout = Layout {
            tenant: found.key.tenant_name,
            mode,
            key: found.key.key.name.clone(),
            role,
            may_switch: sessions::may_switch(own.mode, role),
            notice: parts.uri.query().and_then(Done::parse),
            path: parts.uri.path().to_owned(),
        };
        if let Some(visit) = parts.extensions.get::<Visit>() {
            visit.set(layout.clone());
        }
        let record = path_param(parts, app, "id").await;
        let (app, session, key, server) = (app.clone(), found.id, found.key.key, server(parts));
        Ok(Self(Visitor { app, session, key, scope, layout, record, server, context }))
    }
}

impl FromRequestParts<App> for Editor {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Viewer(visitor) = Viewer::from_request_parts(parts, app).await?;
        Permission::Administer.check(visitor.key.role).map(|()| Self(visitor))
    }
}

/// The names of the cookie. Over TLS the browser gets the first one, which no other host can set.
pub const SECURE_COOKIE: &str = "__Host-licd-session";
pub const PLAIN_COOKIE: &str = "licd-session";

/// The token in the request's cookie.
pub fn session_token(parts: &Parts) -> Option<SessionToken> {
    let name = if is_secure(parts) { SECURE_COOKIE } else { PLAIN_COOKIE };
    let lines = parts.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';')).filter_map(|it| it.split_once('='));
    let (_, value) = cookies.find(|(found, _)| found.trim() == name)?;
    SessionToken::parse(value.trim())
}

/// Whether the browser reached this service over TLS.
pub fn is_secure(parts: &Parts) -> bool {
    parts.extensions.get::<Client>().is_some_and(|client| client.is_secure)
}

/// The address at which the browser found this service.
fn server(parts: &Parts) -> String {
    let scheme = if is_secure(parts) { "https" } else { "http" };
    format!("{scheme}://{}", host(parts))
}

/// The name and port of this service in that address.
pub fn host(parts: &Parts) -> &str {
    parts.headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// `/`: the dashboard for a person who types the server's name, 404 for a program.
pub async fn front_door(headers: HeaderMap) -> Result<Redirect, Error> {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/html") {
        return Err(Error::RouteNotFound);
    }
    Ok(Redirect::to("/dashboard"))
}

/// `/dashboard`: redirects to the world of the session's key.
pub async fn home(Viewer(visitor): Viewer) -> Redirect {
    Redirect::to(&base(visitor.key.mode))
}
