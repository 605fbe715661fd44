//! What somebody else did to a record while a form was filled in.

use crate::error::Error;
use crate::ops::events::{self, EventQuery};
use crate::ops::view::View;
use crate::store::Page;

use super::event_line::{actor, changes};

/// Adds to the error, if the record has changed meanwhile, who did it and what.
pub async fn explain(view: View, record: impl ToString, error: Error) -> Error {
    let Error::Changed(_) = error else { return error };
    let of_record = EventQuery { subject: Some(record.to_string()), ..EventQuery::default() };
    let newest = Page::newest_first(None, 1);
    match events::page(view, of_record, newest).await.as_deref() {
        Ok([last]) => {
            let (actor, changes) = (actor(&last.actor), changes(last).join("; "));
            let how = format!(
                ", by {actor}: {changes}. The page shows what is stored now, and the form what you \
                 typed. Save again to replace it"
            );
            Error::ChangedMeanwhile(how)
        }
        _ => error,
    }
}
