//! Lists in descending order. They grow without limit and are read from the newest end, so they
//! come only in pages.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use common::{ConstBool, List};
use serde::Serialize;

use crate::http::json::{text, with_json};

/// The size of a page if the caller sets no limit.
pub const DEFAULT_LIMIT: i64 = 100;

/// One page of a list, with status 200.
pub struct DescendingPage<T>(List<T>);

impl<T> DescendingPage<T> {
    /// The first `limit` of `records`. If there are more, another page follows.
    pub fn page(mut records: Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more_follow = records.len() > limit;
        records.truncate(limit);
        let next_cursor = records.last().filter(|_| more_follow).map(cursor);
        Self(List { success: ConstBool, data: records, next_cursor })
    }
}

impl<T: Serialize> IntoResponse for DescendingPage<T> {
    fn into_response(self) -> Response {
        match text(&self.0) {
            Ok(json) => with_json(StatusCode::OK, Body::from(json)),
            Err(error) => error.into_response(),
        }
    }
}
