//! Users similar to a wrong external id, and how they are named.

use std::borrow::Cow;

use common::{ExternalId, Line, Name, User};
use unicode_normalization::UnicodeNormalization;

use crate::client::{ApiRecord, Query};
use crate::context::Context;
use crate::error::Result;
use crate::escape::quote;

/// The user that an argument names, or one from a prompt.
pub fn given_user(ctx: &Context, given: Option<ExternalId>) -> Result<ExternalId> {
    ctx.prompts.require(&[("USER", given.is_some())])?;
    match given {
        Some(given) => Ok(given),
        None => ctx.prompts.text("User (external id)", None),
    }
}

/// The users most similar to the text, best match first.
pub async fn similar_users(ctx: &Context, text: &str) -> Result<Vec<ApiRecord<User>>> {
    ctx.client().await?.users().list(Query::of("similarTo", text)).await
}

/// `Did you mean carol (carol@x.example)?`
pub fn did_you_mean(users: &[ApiRecord<User>]) -> String {
    let labels = users.iter().map(|user| label(user));
    format!("Did you mean {}?", labels.collect::<Vec<_>>().join(" or "))
}

/// `carol (carol@x.example)`
pub fn label(user: &User) -> String {
    let email = user.email.as_ref().map(Line::as_str);
    let about = email.or(user.name.as_ref().map(Name::as_str));
    let id = visible(user.external_id.as_str());
    match about.filter(|about| *about != user.external_id.as_str()) {
        Some(about) => format!("{id} ({about})"),
        None => id.into_owned(),
    }
}

/// Spaces or quotation marks around an external id, perhaps by mistake: it is never trimmed.
pub fn suspicious_characters(external_id: &str) -> Option<&'static str> {
    let begins = external_id.starts_with(char::is_whitespace);
    match (begins, external_id.ends_with(char::is_whitespace)) {
        (true, true) => Some("The id begins and ends with a space."),
        (true, false) => Some("The id begins with a space."),
        (false, true) => Some("The id ends with a space."),
        (false, false) if bare(external_id) != external_id => {
            Some("The quotation mark is part of the id.")
        }
        (false, false) => None,
    }
}

/// The external id for a sentence: in quotes if its ends would be invisible.
pub fn visible(external_id: &str) -> Cow<'_, str> {
    match suspicious_characters(external_id) {
        Some(_) => quote(external_id),
        None => Cow::Borrowed(external_id),
    }
}

/// The text without spaces and quotation marks around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_whitespace() || "'\"‘’“”".contains(letter))
}

/// In lower case, and in one of the forms that Unicode has for the same letters.
pub fn spelled(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_quoted_and_named() {
        for (id, shown, hint) in [
            ("carol", "carol", None),
            ("o'hara x", "o'hara x", None),
            (" carol", "\" carol\"", Some("The id begins with a space.")),
            ("carol\u{a0}", "\"carol\u{a0}\"", Some("The id ends with a space.")),
            (" a b ", "\" a b \"", Some("The id begins and ends with a space.")),
            ("\"carol\"", "'\"carol\"'", Some("The quotation mark is part of the id.")),
        ] {
            assert_eq!((&*visible(id), suspicious_characters(id)), (shown, hint));
        }
    }
}
