//! Lists in descending order. They grow without limit and are read from the newest end, so they
//! come only in pages.

use std::fmt::Display;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use common::{ConstBool, List};
use serde::Serialize;

use crate::error::Error;
use crate::http::answer::{ListParams, Listed};
use crate::http::json::{text, with_json};
use crate::store::{Found, Page};

/// The size of a page if the caller sets no limit.
const DEFAULT_LIMIT: i64 = 100;

/// One page of a list, with status 200.
pub struct DescendingPage<T>(List<T>);

impl<T> DescendingPage<T> {
    /// Returns the records that `read` finds for a page, of [`DEFAULT_LIMIT`] records if the caller
    /// sets no limit.
    pub async fn list<F>(
        ListParams { after, limit, .. }: ListParams<T::Cursor>,
        read: impl FnOnce(Page<T::Cursor>) -> F,
    ) -> Result<Self, Error>
    where
        T: Listed,
        F: Future<Output = Result<Found<T, T::Cursor>, Error>>,
    {
        let limit = limit.map_or(DEFAULT_LIMIT, |limit| limit.0);
        // One record more than requested shows whether more follow.
        let found = read(Page::newest_first(after, limit + 1)).await?;
        Ok(Self::page(found, limit, T::cursor))
    }

    /// The first `limit` of what was found. If there is more, another page follows.
    fn page<C: Display>(
        Found { mut records, rest }: Found<T, C>,
        limit: i64,
        cursor: impl Fn(&T) -> C,
    ) -> Self {
        let limit = limit as usize;
        let more_follow = records.len() > limit;
        records.truncate(limit);
        let last = records.last().filter(|_| more_follow).map(cursor);
        let next_cursor = last.or(rest).map(|cursor| cursor.to_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_on_where_its_search_stopped() {
        for (records, rest, shown, next) in [
            (vec![9, 8, 7], None, vec![9, 8], Some("8")),
            (vec![9, 8], None, vec![9, 8], None),
            (vec![9], Some(3), vec![9], Some("3")),
            (vec![], Some(3), vec![], Some("3")),
        ] {
            let page = DescendingPage::page(Found { records, rest }, 2, |record| *record);
            assert_eq!((page.0.data, page.0.next_cursor.as_deref()), (shown, next));
        }
    }
}
