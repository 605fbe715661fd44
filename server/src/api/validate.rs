//! Validation of a user, the purpose of the service.

use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use common::{Release, Released, Validate, Validation};

use crate::error::Error;
use crate::http::App;
use crate::http::answer::Data;
use crate::http::context::RequestContext;
use crate::http::credentials::{Validator, bearer};
use crate::http::extract::{Json, Lenient};
use crate::ops::outcome::Changed;
use crate::ops::release;
use crate::validation::{Read, ValidationRequest};

/// Bodies declared no longer than this are read before the key is checked. A validation needs much
/// less.
const SHORT: u64 = 4096;

pub async fn validate(
    State(app): State<App>,
    request: ValidationRequest,
) -> Result<Data<Validation>, Error> {
    submit(&app, request).await.map(Data)
}

/// Gives back the user's floating seats when the application ends. A request without such a seat
/// writes nothing.
pub async fn release(
    State(app): State<App>,
    Validator(caller): Validator,
    Lenient(body): Lenient<Release>,
) -> Result<Data<Released>, Error> {
    let Some(found) = release::find(app.ops.view(caller.scope), &body).await? else {
        return Ok(Data(Released::default()));
    };
    app.gate.admit_seat_event(caller.key.id, &body.user_id, &caller.context.caller)?;
    let change = app.ops.change(caller.origin()).await?;
    let Changed(released) = release::release(change, &body, found).await?;
    Ok(Data(released))
}

/// Validates with the batch in which the request's turn comes.
pub async fn submit(app: &App, request: ValidationRequest) -> Result<Validation, Error> {
    let placement = app.gate.hints.of(&request.key);
    match app.validations.submit(placement, request).await? {
        Read::Answered(answer) => answer,
        Read::NeedsWrite(claim) => app.claims.submit(placement, claim).await?,
    }
}

/// The key of a valid request is looked up together with those of its batch. The key of an invalid
/// one is looked up here, since 401 takes precedence over 400.
impl FromRequest<App> for ValidationRequest {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let (mut parts, body) = request.into_parts();
        let key = bearer(&parts)?;
        let RequestContext { id: request_id, caller } = RequestContext::of(&parts.extensions);
        let mut is_admitted = false;
        // Boxed, since this rarely used part would enlarge every request's future.
        if body.size_hint().upper().is_none_or(|length| length > SHORT) {
            Box::pin(Validator::from_request_parts(&mut parts, app)).await?;
            is_admitted = true;
        }
        let read = Json::<Validate>::read(&parts, body).await;
        if !is_admitted && read.is_err() {
            Box::pin(Validator::from_request_parts(&mut parts, app)).await?;
        }
        let Json(Validate { user_id, product_id }) = read?;
        Ok(Self { key, caller, request_id, user: user_id, product: product_id })
    }
}
