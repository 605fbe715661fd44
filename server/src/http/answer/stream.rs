//! Lists as they are sent: in chunks of about the same size, however long the list and its records
//! are. Each chunk is read when the caller has taken the one before it. Between two chunks a list
//! holds neither records nor a connection to the database, so a slow caller costs next to nothing.

use std::fmt::Display;
use std::future::{Future, ready};
use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::Listed;
use crate::error::Error;
use crate::http::extract::Limit;
use crate::store::Page;

/// Size of a chunk in bytes. It ends with the record that reaches this size.
const CHUNK: usize = 64 * 1024;
/// Maximum number of records per query.
pub const MAX_PORTION: i64 = 500;

/// The JSON of a list: `head`, its records, `tail`, and the cursor to the next page.
///
/// The records of the first page are given, so that a database that is away is a 503. One that goes
/// away later breaks the answer off: half a list must not look like a whole one.
pub fn body<T, F, R>(
    head: String,
    tail: String,
    limit: Option<Limit>,
    (page, records): (Page<T::Cursor>, Vec<T>),
    read: R,
) -> Result<Body, Error>
where
    T: Listed,
    F: Future<Output = Result<Vec<T>, Error>> + Send,
    R: Fn(Page<T::Cursor>) -> F + Send + 'static,
{
    let wanted = limit.map_or(i64::MAX, |limit| limit.0);
    let mut list = Listing { page, wanted, separator: head, tail };
    let (first, is_last) = list.chunk(&records)?;
    if is_last {
        return Ok(Body::from(first));
    }
    let rest = stream::try_unfold(Some((list, read)), async move |rest| {
        let Some((mut list, read)) = rest else { return Ok::<_, io::Error>(None) };
        // Others come first between two chunks, however fast the database and the caller are.
        tokio::task::yield_now().await;
        let chunk = read(list.page).await.and_then(|records| list.chunk(&records));
        let (chunk, is_last) = chunk.map_err(|error| io::Error::other(error.code().as_str()))?;
        Ok(Some((Bytes::from(chunk), (!is_last).then_some((list, read)))))
    });
    let first = stream::once(ready(Ok(Bytes::from(first))));
    Ok(Body::from_stream(first.chain(rest)))
}

/// A list that is being sent.
struct Listing<C> {
    /// Page to read for the next chunk. One record more than is sent shows whether more follow.
    page: Page<C>,
    /// Number of records that the caller still wants.
    wanted: i64,
    /// Text before the next record: the head, then commas.
    separator: String,
    tail: String,
}

impl<C: Copy + Display> Listing<C> {
    /// The next chunk, and whether it is the last.
    fn chunk<T: Listed<Cursor = C>>(&mut self, records: &[T]) -> Result<(Vec<u8>, bool), Error> {
        let most = records.len().min(self.page.limit as usize - 1);
        let (mut chunk, mut sent) = (Vec::new(), 0);
        while sent < most && chunk.len() < CHUNK {
            chunk.extend_from_slice(self.separator.as_bytes());
            serde_json::to_writer(&mut chunk, &records[sent]).map_err(|error| {
                tracing::error!(%error, "a record cannot be written as JSON");
                Error::Internal
            })?;
            ",".clone_into(&mut self.separator);
            sent += 1;
        }
        let last = records[..sent].last().map(T::cursor);
        let more_follow = records.len() > sent;
        self.wanted -= sent as i64;
        if let Some(last) = last
            && more_follow
            && self.wanted > 0
        {
            let portion = (CHUNK / (chunk.len() / sent)) as i64;
            self.page = self.page.after(last, portion.clamp(1, MAX_PORTION).min(self.wanted) + 1);
            return Ok((chunk, false));
        }
        self.end(&mut chunk, last.filter(|_| more_follow));
        Ok((chunk, true))
    }

    fn end(&self, chunk: &mut Vec<u8>, cursor: Option<C>) {
        if self.separator != "," {
            // There was no record; the head is still to come.
            chunk.extend_from_slice(self.separator.as_bytes());
        }
        chunk.extend_from_slice(self.tail.as_bytes());
        let cursor = cursor.map_or_else(|| "null".to_owned(), |cursor| format!("\"{cursor}\""));
        chunk.extend_from_slice(format!(r#","nextCursor":{cursor}}}"#).as_bytes());
    }
}
