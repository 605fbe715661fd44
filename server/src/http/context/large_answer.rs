//! Large answers in memory: an answer that was written whole stays there until its caller has read
//! it. Together with the bodies that arrive, all of them stay within a budget.
//!
//! A list that is streamed takes no more than its current part. What strangers get is small, or in
//! the program, which needs no memory for it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use common::TenantId;
use http_body::{Frame, SizeHint};

use crate::budget::{REQUESTS, Reservation};

/// Maximum size of an answer that is not counted, as nearly all validations are, so that a full
/// budget does not refuse them. Uncounted answers take at most 64 MiB, on 8,192 connections that
/// each hold one answer in addition to what the kernel holds.
const UNCOUNTED: u64 = 8 * 1024;
/// Size that a streamed answer counts as: about the size of its current part.
const STREAMED: u64 = 128 * 1024;

/// The response, or a refusal when it is large and the budget has no room for it.
pub fn count(response: Response, tenant: Option<TenantId>) -> Response {
    let size = response.body().size_hint().exact().unwrap_or(STREAMED);
    if size <= UNCOUNTED || tenant.is_none() {
        return response;
    }
    let mut memory = REQUESTS.reserve(tenant);
    if let Err(error) = memory.grow(usize::try_from(size).unwrap_or(usize::MAX)) {
        return error.into_response();
    }
    let memory = Arc::new(memory);
    response.map(|body| Body::new(CountedBody { body, memory }))
}

/// A body whose parts are counted until the last of them is gone, wherever they are kept.
struct CountedBody {
    body: Body,
    memory: Arc<Reservation>,
}

struct CountedPart {
    part: Bytes,
    _memory: Arc<Reservation>,
}

impl AsRef<[u8]> for CountedPart {
    fn as_ref(&self) -> &[u8] {
        &self.part
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let memory = self.memory.clone();
        let count = |part| Bytes::from_owner(CountedPart { part, _memory: memory });
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(count))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use common::Timestamp;
    use futures_util::stream;
    use http_body_util::BodyExt;

    use super::*;

    const LARGE: usize = 4 * 1024 * 1024;

    /// An answer of this size, counted.
    fn answer(size: usize, tenant: Option<TenantId>) -> Response {
        count(Body::from(vec![0; size]).into_response(), tenant)
    }

    #[tokio::test]
    async fn an_answer_counts_until_its_last_part_is_gone() {
        let [one, other] = [(); 2].map(|()| Some(TenantId::new(Timestamp::now())));
        let is_answered = |answer: &Response| answer.status() == StatusCode::OK;
        let mut sent: Vec<_> =
            std::iter::repeat_with(|| answer(LARGE, one)).take_while(is_answered).collect();
        assert_eq!(sent.len(), 8, "half of the budget");
        assert!(answer(LARGE, one).headers().contains_key("retry-after"));
        assert!(is_answered(&answer(UNCOUNTED as usize, one)), "it is small");
        assert!(is_answered(&answer(LARGE, other)), "it is another tenant's");

        // As hyper keeps what the client has not taken.
        let body = sent.pop().unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(LARGE as u64));
        let mut part = body.collect().await.unwrap().to_bytes();
        let rest = part.split_off(LARGE / 2);
        drop(part);
        assert!(!is_answered(&answer(LARGE, one)));
        drop(rest);
        assert!(is_answered(&answer(LARGE, one)));

        // Lists have an unknown length.
        let list = || Body::from_stream(stream::pending::<Result<Bytes, axum::Error>>());
        let third = Some(TenantId::new(Timestamp::now()));
        let lists = std::iter::repeat_with(|| count(list().into_response(), third));
        let lists: Vec<_> = lists.take_while(is_answered).collect();
        assert!((100..=256).contains(&lists.len()), "{}", lists.len());
    }
}
