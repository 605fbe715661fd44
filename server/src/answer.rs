//! Answers out: the envelope, its status, and lists that are streamed.

use std::future::Future;
use std::io;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use common::{Activation, Fixed, Key, License, Paged, Plan, Product, Success, User};
use futures_util::stream;
use serde::Serialize;
use uuid::Uuid;

use crate::error::Error;
use crate::extract::Limit;
use crate::store::Page;

/// One thing, 200.
pub struct Data<T>(pub T);

/// One thing that was just made, 201.
pub struct Created<T>(pub T);

/// One thing that was made or was there already: 201 or 200.
pub enum Saved<T> {
    New(T),
    Known(T),
}

/// One thing of which a part comes in pages, 200.
pub struct Pages<T>(pub Paged<T>);

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
    Saved: it => match it {
        Self::New(data) => (StatusCode::CREATED, data),
        Self::Known(data) => (StatusCode::OK, data),
    };
}

impl<T: Serialize> IntoResponse for Pages<T> {
    fn into_response(self) -> Response {
        respond(StatusCode::OK, text(&self.0))
    }
}

fn text(body: &impl Serialize) -> Result<String, Error> {
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
pub struct Wanted {
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

/// Records are read and sent in portions of this many, so that the longest list needs no more
/// memory than one portion, and no connection is held while a slow caller reads.
const PORTION: i64 = 500;

/// Answers with what `read` finds.
pub async fn records<T, F, R>(wanted: Wanted, read: R) -> Result<Records<T>, Error>
where
    T: Listed,
    F: Future<Output = Result<Vec<T>, Error>> + Send,
    R: Fn(Page) -> F + Send + 'static,
{
    let body = match wanted.limit {
        Some(limit) => {
            let mut data = read(Page { after: wanted.after, limit: limit.0 + 1 }).await?;
            let next_cursor = cut(&mut data, limit.0);
            Body::from(text(&Paged { success: Fixed, data, next_cursor })?)
        }
        None => all(wanted.after, read).await?,
    };
    Ok(Records { body, of: PhantomData })
}

/// Cuts a page of one record more than `limit` down to it, and answers the cursor to the next page;
/// the one more told that there is a next.
pub fn cut<T: Listed>(page: &mut Vec<T>, limit: i64) -> Option<String> {
    let more = page.len() as i64 > limit;
    page.truncate(limit as usize);
    page.last().filter(|_| more).map(Listed::cursor)
}

const HEAD: &str = r#"{"success":true,"data":["#;
const TAIL: &str = r#"],"nextCursor":null}"#;

/// Reads the first portion before it answers, so that a database that is away is a 503. One that
/// goes away later breaks the connection off: half a list must not look like a whole one.
async fn all<T, F, R>(after: Uuid, read: R) -> Result<Body, Error>
where
    T: Listed,
    F: Future<Output = Result<Vec<T>, Error>> + Send,
    R: Fn(Page) -> F + Send + 'static,
{
    let from = |after| Page { after, limit: PORTION };
    let first = read(from(after)).await?;
    let start = (Some(first), HEAD, read);
    Ok(Body::from_stream(stream::try_unfold(start, move |(portion, mut lead, read)| async move {
        let Some(portion) = portion else { return Ok::<_, io::Error>(None) };
        // Others come first between two portions, however fast the database and the caller are.
        tokio::task::yield_now().await;
        let mut chunk = Vec::new();
        for record in &portion {
            chunk.extend_from_slice(lead.as_bytes());
            serde_json::to_writer(&mut chunk, record)?;
            lead = ",";
        }
        let full = portion.len() as i64 == PORTION;
        let rest = portion.last().filter(|_| full).map(|last| read(from(last.uuid())));
        let next = match rest {
            Some(rest) => Some(rest.await.map_err(|error| io::Error::other(error.code()))?),
            None => {
                chunk.extend_from_slice(if lead == HEAD { HEAD.as_bytes() } else { b"" });
                chunk.extend_from_slice(TAIL.as_bytes());
                None
            }
        };
        Ok(Some((Bytes::from(chunk), (next, lead, read))))
    })))
}
