//! Answers out: the envelope and its status. How lists are streamed is in [`stream`].

mod stream;

use std::future::Future;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use common::{Activation, Key, License, Plan, Product, Success, User};
use serde::Serialize;
use uuid::Uuid;

use crate::error::Error;
use crate::http::extract::Limit;
use crate::store::Page;

/// One thing, 200.
pub struct Data<T>(pub T);

/// One thing that was just made, 201.
pub struct Created<T>(pub T);

/// One thing that was made or was there already: 201 or 200.
pub enum Upserted<T> {
    New(T),
    Known(T),
}

/// An answer with one thing in it.
pub trait Answer {
    type Data: Serialize;

    fn parts(&self) -> (StatusCode, &Self::Data);

    /// The body, with its envelope.
    fn body(&self) -> Result<String, Error> {
        text(&Success::new(self.parts().1))
    }
}

macro_rules! answers {
    ($($name:ident: $this:ident => $parts:expr;)*) => {$(
        impl<T: Serialize> Answer for $name<T> {
            type Data = T;

            fn parts(&self) -> (StatusCode, &T) {
                let $this = self;
                $parts
            }
        }

        impl<T: Serialize> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                respond(self.parts().0, self.body())
            }
        }
    )*};
}

answers! {
    Data: it => (StatusCode::OK, &it.0);
    Created: it => (StatusCode::CREATED, &it.0);
    Upserted: it => match it {
        Self::New(data) => (StatusCode::CREATED, data),
        Self::Known(data) => (StatusCode::OK, data),
    };
}

/// A value as JSON.
pub fn text(body: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(body).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        Error::Internal
    })
}

fn respond(status: StatusCode, body: Result<String, Error>) -> Response {
    match body {
        Ok(json) => with_json(status, Body::from(json)),
        Err(error) => error.into_response(),
    }
}

pub fn with_json(status: StatusCode, body: Body) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

/// A record that stands in lists, which are in the order of ids.
pub trait Listed: Serialize + Send + 'static {
    fn uuid(&self) -> Uuid;

    /// The id in its text form, as `nextCursor`.
    fn cursor(&self) -> String;
}

macro_rules! listed {
    ($($name:ident),*) => {$(
        impl Listed for $name {
            fn uuid(&self) -> Uuid {
                self.id.uuid()
            }

            fn cursor(&self) -> String {
                self.id.to_string()
            }
        }
    )*};
}

listed!(Activation, Key, License, Plan, Product, User);

/// What a caller wants of a list.
#[derive(Clone, Copy)]
pub struct ListParams {
    pub after: Uuid,
    /// None for all there are.
    pub limit: Option<Limit>,
}

/// Many things, oldest first: a page of them, or all, streamed.
pub struct Records<T> {
    body: Body,
    of: PhantomData<T>,
}

impl<T> IntoResponse for Records<T> {
    fn into_response(self) -> Response {
        with_json(StatusCode::OK, self.body)
    }
}

/// One thing of which a part comes in pages, streamed like [`Records`].
pub struct Pages<T> {
    body: Body,
    of: PhantomData<T>,
}

impl<T> IntoResponse for Pages<T> {
    fn into_response(self) -> Response {
        with_json(StatusCode::OK, self.body)
    }
}

/// Answers with what `read` finds.
pub async fn records<T, F, R>(wanted: ListParams, read: R) -> Result<Records<T>, Error>
where
    T: Listed,
    F: Future<Output = Result<Vec<T>, Error>> + Send,
    R: Fn(Page) -> F + Send + 'static,
{
    let head = r#"{"success":true,"data":["#.to_owned();
    let body = stream::body(head, "]".to_owned(), wanted, read).await?;
    Ok(Records { body, of: PhantomData })
}

/// Answers with a `T` whose JSON is `head`, the records that `read` finds, and `tail`.
pub async fn pages<T, P, F, R>(
    head: &str,
    tail: &str,
    wanted: ListParams,
    read: R,
) -> Result<Pages<T>, Error>
where
    P: Listed,
    F: Future<Output = Result<Vec<P>, Error>> + Send,
    R: Fn(Page) -> F + Send + 'static,
{
    let head = format!(r#"{{"success":true,"data":{head}"#);
    let body = stream::body(head, tail.to_owned(), wanted, read).await?;
    Ok(Pages { body, of: PhantomData })
}
