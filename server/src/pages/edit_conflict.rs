//! Explains how a record was changed while a form was open.

use std::pin::Pin;

use super::Stop;
use super::event_line::{actor, changes};
use crate::error::Error;
use crate::ops::events::{self, EventQuery};
use crate::ops::view::View;
use crate::store::Page;

/// Does what a form says. If the record has changed since the form was shown, the error says who
/// changed it, and how.
pub async fn explain<T>(
    view: View,
    record: impl ToString,
    change: Pin<Box<impl Future<Output = Result<T, Stop>>>>,
) -> Result<T, Stop> {
    let changed = match change.await {
        Err(Stop::Fail(changed @ Error::Changed(_))) => changed,
        outcome => return outcome,
    };
    let of_record = EventQuery { subject: Some(record.to_string()), ..EventQuery::default() };
    let newest = Page::newest_first(None, 1);
    Err(Stop::Fail(match events::page(view, of_record, newest).await.as_deref() {
        Ok([last]) => Error::EditConflict(format!(
            ", by {}: {}. Save again to set what you entered; all else stays as the page shows it",
            actor(&last.actor),
            changes(last).join("; ")
        )),
        _ => changed,
    }))
}
