//! The questions that forms ask before they take away a seat that a lease holds.

use common::{OnLease, Timestamp};
use serde::Serialize;

use super::Question;
use super::filters::end_in_words;
use crate::error::Error;

/// The question; a yes sends the same form again, to `path`.
pub fn ask(
    until: Timestamp,
    path: String,
    back: String,
    fields: &impl Serialize,
    seen: Option<Timestamp>,
) -> Result<Question, Error> {
    let title = "Free the seat before its lease ends?";
    let sentence = format!(
        "An application is licensed offline until {}. A lease cannot be revoked. If you free the \
         seat now, one more user than there are seats may use the license until then.",
        end_in_words(until)
    );
    let question = Question::new(title, sentence, back).choice("Free it now", path, fields)?;
    let question = question.dangerous().with("leases", &OnLease::Drop);
    Ok(match seen {
        Some(seen) => question.with("seen", &seen),
        None => question,
    })
}
