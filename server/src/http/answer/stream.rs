//! Lists as they are sent: in chunks of about the same size, however long the list and its records
//! are. Each chunk is read when the caller has taken the one before it. Between two chunks a list
//! holds neither records nor a connection to the database, so a slow caller costs next to nothing.

use std::fmt::Display;
use std::future::{Future, ready};
use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{ListParams, Listed};
use crate::error::Error;
use crate::store::Page;

/// How long a chunk is, in bytes; it ends with the record that reaches this.
const CHUNK: usize = 64 * 1024;
/// How many records are read for the first chunk, when nothing is known of their length.
const FIRST_PORTION: i64 = 16;
/// How many records are read at once at most.
const MAX_PORTION: i64 = 500;

/// The JSON of a list: `head`, its records, `tail`, and the cursor to the next page.
///
/// Reads the first portion before it returns, so that a database that is away is a 503. One that
/// goes away later breaks the answer off: half a list must not look like a whole one.
pub async fn body<T, F, R>(
    head: String,
    tail: String,
    params: ListParams<T::Cursor>,
    read: R,
) -> Result<Body, Error>
where
    T: Listed,
    F: Future<Output = Result<Vec<T>, Error>> + Send,
    R: Fn(Page<T::Cursor>) -> F + Send + 'static,
{
    let mut list = Listing {
        read,
        after: params.after.unwrap_or_default(),
        wanted: params.limit.map_or(i64::MAX, |limit| limit.0),
        portion: FIRST_PORTION,
        separator: head,
        tail,
    };
    let (first, is_last) = list.next_chunk().await?;
    if is_last {
        return Ok(Body::from(first));
    }
    let rest = stream::try_unfold(Some(list), async move |list| {
        let Some(mut list) = list else { return Ok::<_, io::Error>(None) };
        // Others come first between two chunks, however fast the database and the caller are.
        tokio::task::yield_now().await;
        let chunk = list.next_chunk().await;
        let (chunk, is_last) = chunk.map_err(|error| io::Error::other(error.code().as_str()))?;
        Ok(Some((Bytes::from(chunk), (!is_last).then_some(list))))
    });
    let first = stream::once(ready(Ok(Bytes::from(first))));
    Ok(Body::from_stream(first.chain(rest)))
}

/// A list that is being sent.
struct Listing<R, C> {
    read: R,
    /// The cursor of the last record that was sent.
    after: C,
    /// How many more the caller wants.
    wanted: i64,
    /// How many are read for the next chunk.
    portion: i64,
    /// What stands before the next record: the head, then commas.
    separator: String,
    tail: String,
}

impl<R, C: Copy + Display> Listing<R, C> {
    /// The next chunk, and whether it is the last.
    async fn next_chunk<T, F>(&mut self) -> Result<(Vec<u8>, bool), Error>
    where
        T: Listed<Cursor = C>,
        F: Future<Output = Result<Vec<T>, Error>>,
        R: Fn(Page<C>) -> F,
    {
        let most = self.portion.min(self.wanted);
        // One more than is sent shows whether more follow.
        let records = (self.read)(Page::oldest_first(self.after, most + 1)).await?;
        let (mut chunk, mut sent) = (Vec::new(), 0);
        while sent < records.len().min(most as usize) && chunk.len() < CHUNK {
            chunk.extend_from_slice(self.separator.as_bytes());
            serde_json::to_writer(&mut chunk, &records[sent]).map_err(|error| {
                tracing::error!(%error, "a record cannot be written as JSON");
                Error::Internal
            })?;
            ",".clone_into(&mut self.separator);
            sent += 1;
        }
        let last = sent.checked_sub(1).map(|last| &records[last]);
        self.after = last.map_or(self.after, T::cursor);
        self.wanted -= sent as i64;
        let more_follow = records.len() > sent;
        if more_follow && self.wanted > 0 {
            let average = chunk.len() / sent.max(1);
            self.portion = ((CHUNK / average.max(1)) as i64).clamp(1, MAX_PORTION);
            return Ok((chunk, false));
        }
        let cursor = last.filter(|_| more_follow).map(T::cursor);
        self.end(&mut chunk, cursor.map(|cursor| cursor.to_string()).as_deref());
        Ok((chunk, true))
    }

    fn end(&self, chunk: &mut Vec<u8>, cursor: Option<&str>) {
        if self.separator != "," {
            // There was no record; the head is still to come.
            chunk.extend_from_slice(self.separator.as_bytes());
        }
        chunk.extend_from_slice(self.tail.as_bytes());
        let cursor = cursor.map_or_else(|| "null".to_owned(), |cursor| format!("\"{cursor}\""));
        chunk.extend_from_slice(format!(r#","nextCursor":{cursor}}}"#).as_bytes());
    }
}
