//! Answers: the envelope and its status. How lists are streamed is in [`stream`].

mod stream;

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use common::{
    ActivationId, AssignmentId, Event, Key, KeyId, LicenseAssignment, LicenseId, LicenseKey,
    LicenseKeyId, LicenseWithSeats, List, Paged, Plan, PlanId, Product, ProductId, RefusalId,
    RunningLease, SigningKey, SigningKeyId, Success, UsageActivation, User, UserId, UserRefusal,
    Webhook, WebhookFailure, WebhookFailureId, WebhookId,
};
use serde::Serialize;

use crate::error::Error;
use crate::http::extract::{Limit, ListOrder};
use crate::http::json::{text, with_json};
use crate::ops::idempotency::{Idempotent, Stored};
use crate::ops::outcome::{Changed, Created, Outcome, Record, Upserted};
use crate::store::{Cursor, Page};

/// Number of records that a list reads first, while their size is unknown.
const FIRST_PORTION: i64 = 16;

/// A record that was read, 200.
pub struct Data<T>(pub T);

impl<T: Serialize> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        respond(StatusCode::OK, &self.0)
    }
}

/// A record that was read by its id, 200, with its tag.
pub struct Single<T>(pub T);

impl<T: Record> IntoResponse for Single<T> {
    fn into_response(self) -> Response {
        respond_tagged(StatusCode::OK, &self.0)
    }
}

/// The outcome of an operation: 201 for a new record, 200 for one that existed before.
macro_rules! outcomes {
    ($($name:ident),*) => {$(
        impl<T: Record> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                let status = if self.is_new() { StatusCode::CREATED } else { StatusCode::OK };
                respond_tagged(status, self.record())
            }
        }
    )*};
}

outcomes!(Created, Changed, Upserted);

impl<T: IntoResponse> IntoResponse for Idempotent<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Done(outcome) => outcome.into_response(),
            Self::Replayed(Stored { status, body, etag }) => {
                let status =
                    u16::try_from(status).ok().and_then(|it| StatusCode::from_u16(it).ok());
                let response = with_json(status.unwrap_or_default(), body.into());
                ([("idempotency-replayed", "true")], tag(etag), response).into_response()
            }
        }
    }
}

fn respond_tagged(status: StatusCode, record: &impl Record) -> Response {
    (tag(record.tag()), respond(status, record.shown())).into_response()
}

/// The header `ETag`, if there is a tag.
pub fn tag(etag: Option<impl Display>) -> Option<[(HeaderName, String); 1]> {
    etag.map(|etag| [(header::ETAG, format!("\"{etag}\""))])
}

/// A record in its envelope.
fn respond(status: StatusCode, record: &impl Serialize) -> Response {
    match text(&Success::new(record)) {
        Ok(json) => with_json(status, Body::from(json)),
        Err(error) => error.into_response(),
    }
}

/// A record of lists, which are in the order of its cursors.
pub trait Listed: Serialize + Send + 'static {
    /// `nextCursor` is its text; the default one is before all records.
    type Cursor: Cursor + Default + Display + Send + 'static;

    fn cursor(&self) -> Self::Cursor;
}

macro_rules! listed_by_id {
    ($($name:ident: $id:ident in $($member:ident).+),*) => {$(
        impl Listed for $name {
            type Cursor = $id;

            fn cursor(&self) -> $id {
                self.$($member).+
            }
        }
    )*};
}

listed_by_id! {
    Key: KeyId in id, LicenseKey: LicenseKeyId in id, LicenseAssignment: AssignmentId in assignment.id,
    LicenseWithSeats: LicenseId in license.id, Plan: PlanId in id,
    Product: ProductId in id, RunningLease: AssignmentId in id, SigningKey: SigningKeyId in id, UsageActivation: ActivationId in activation.id, User: UserId in id,
    UserRefusal: RefusalId in id, Webhook: WebhookId in id, WebhookFailure: WebhookFailureId in id
}

impl Listed for Event {
    type Cursor = i64;

    fn cursor(&self) -> i64 {
        self.sequence
    }
}

/// The part of a list that a caller requests.
#[derive(Clone, Copy)]
pub struct ListParams<C> {
    /// None for the start.
    pub after: Option<C>,
    /// None for all records.
    pub limit: Option<Limit>,
    pub order: ListOrder,
}

impl<C: Cursor + Default> ListParams<C> {
    /// Parameters of a list with its oldest record first.
    pub fn new(after: Option<C>, limit: Option<Limit>) -> Self {
        Self { after, limit, order: ListOrder::Oldest }
    }

    /// Returns the first page to read: at most this many records, and one that shows whether more
    /// follow.
    fn first_page(self, portion: i64) -> Page<C> {
        let limit = self.limit.map_or(portion, |limit| limit.0.min(portion)) + 1;
        match self.order {
            ListOrder::Oldest => Page::oldest_first(self.after.unwrap_or_default(), limit),
            ListOrder::Newest => Page::newest_first(self.after, limit),
        }
    }

    /// The first page of records that are short.
    pub fn first_long_page(self) -> Page<C> {
        self.first_page(stream::MAX_PORTION)
    }
}

/// An envelope `T` that holds a list: all of it, streamed, or a page.
pub struct Streamed<T> {
    body: Body,
    of: PhantomData<T>,
}

impl<T> IntoResponse for Streamed<T> {
    fn into_response(self) -> Response {
        with_json(StatusCode::OK, self.body)
    }
}

impl<T: Listed> Streamed<List<T>> {
    /// The records that `read` finds.
    pub async fn list<F, R>(params: ListParams<T::Cursor>, read: R) -> Result<Self, Error>
    where
        F: Future<Output = Result<Vec<T>, Error>> + Send,
        R: Fn(Page<T::Cursor>) -> F + Send + 'static,
    {
        let page = params.first_page(FIRST_PORTION);
        let first = (page, read(page).await?);
        let head = r#"{"success":true,"data":["#.to_owned();
        let body = stream::body(head, "]".to_owned(), params.limit, first, read)?;
        Ok(Self { body, of: PhantomData })
    }
}

impl<T> Streamed<Paged<T>> {
    /// A `T` whose JSON is `head`, the records of the first page and those that `read` finds, and
    /// `tail`.
    pub fn paged<P, F, R>(
        head: &str,
        tail: &str,
        limit: Option<Limit>,
        first: (Page<P::Cursor>, Vec<P>),
        read: R,
    ) -> Result<Self, Error>
    where
        P: Listed,
        F: Future<Output = Result<Vec<P>, Error>> + Send,
        R: Fn(Page<P::Cursor>) -> F + Send + 'static,
    {
        let head = format!(r#"{{"success":true,"data":{head}"#);
        let body = stream::body(head, tail.to_owned(), limit, first, read)?;
        Ok(Self { body, of: PhantomData })
    }
}
