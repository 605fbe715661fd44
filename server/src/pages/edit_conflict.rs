//! Explains how a record was changed while a form was open.

use super::Visitor;
use super::event_line::{actor, changes};
use crate::error::Error;
use crate::ops::events::{self, EventQuery};
use crate::store::Page;

/// Returns the error of a form. If the record of the page has changed since the form was shown, the
/// error says who changed it, and how.
pub async fn explained(visitor: &Visitor, error: Error) -> Error {
    let Error::Changed(_) = error else { return error };
    let of_record = EventQuery { subject: visitor.record.clone(), ..EventQuery::default() };
    let newest = Page::newest_first(None, 1);
    match events::page(visitor.view(), of_record, newest).await.as_deref() {
        Ok([last]) => Error::EditConflict(format!(
            ", by {}: {}. Save again to set what you entered; all else stays as the page shows it",
            actor(&last.actor),
            changes(last).join("; ")
        )),
        _ => error,
    }
}
