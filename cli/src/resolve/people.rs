//! Finds users similar to a wrong external id: by email or name, in another case, or with a typo.

use std::borrow::Cow;

use common::{Line, Name, User};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use unicode_normalization::UnicodeNormalization;

use super::REQUESTS_IN_FLIGHT;
use crate::client::{ApiRecord, Query};
use crate::context::Context;
use crate::error::Result;
use crate::escape::quote;

const MAX_SUGGESTIONS: usize = 3;
/// How many users each search reads.
const SEARCH_LIMIT: usize = 100;

/// The users most similar to the text, best match first.
pub async fn similar_users(ctx: &Context, text: &str) -> Result<Vec<ApiRecord<User>>> {
    let client = ctx.client().await?;
    let mut found: Vec<ApiRecord<User>> = Vec::new();
    let searching = searches(text)
        .into_iter()
        .map(async |start| client.users().first(Query::of("search", start), SEARCH_LIMIT).await);
    let pages: Vec<_> = stream::iter(searching).buffered(REQUESTS_IN_FLIGHT).try_collect().await?;
    for user in pages.into_iter().flatten() {
        if found.iter().all(|known| known.id != user.id) {
            found.push(user);
        }
    }
    let scored = found.into_iter().filter_map(|user| Some((distance(&user, text)?, user)));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by_key(|(distance, _)| *distance);
    if scored.first().is_some_and(|(distance, _)| *distance == 0) {
        // Somebody has exactly this email or name.
        scored.retain(|(distance, _)| *distance == 0);
    }
    scored.truncate(MAX_SUGGESTIONS);
    Ok(scored.into_iter().map(|(_, user)| user).collect())
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
pub fn oddity(external_id: &str) -> Option<&'static str> {
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
    match oddity(external_id) {
        Some(_) => quote(external_id),
        None => Cow::Borrowed(external_id),
    }
}

/// The text without spaces and quotation marks around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_whitespace() || "'\"‘’“”".contains(letter))
}

/// The starts of words to search for: the first half also finds ids with a typo after it.
fn searches(text: &str) -> Vec<String> {
    let text = bare(text);
    let local = text.split('@').next().unwrap_or_default();
    let half: String = local.chars().take((local.chars().count() / 2).max(1)).collect();
    let mut searches = vec![text.to_owned(), half, local.to_owned()];
    searches.retain(|search| !search.is_empty());
    searches.sort();
    searches.dedup();
    searches
}

/// In lower case, and in one of the forms that Unicode has for the same letters.
pub fn spelled(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase()
}

/// The smallest edit distance to a name of the user; none if it is too large.
fn distance(user: &User, text: &str) -> Option<usize> {
    let text = spelled(bare(text));
    let email = user.email.as_ref().map(|email| spelled(email.as_str()));
    let name = user.name.as_ref().map(|name| spelled(name.as_str()));
    let id = spelled(bare(user.external_id.as_str()));
    let local = |address: &String| Some(address.split_once('@')?.0.to_owned());
    // An external id may be the address of a user known by its local part.
    if local(&text).is_some_and(|local| local == id) {
        return Some(1);
    }
    let allowed = if text.chars().count() <= 5 { 1 } else { 2 };
    let locals = [email.as_ref().and_then(local), local(&id)];
    let names = [Some(id), email, name].into_iter().chain(locals);
    // Another number is another person: 30000002 is no misspelt 30000001.
    let letters = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    let is_other_number = |name: &String| *name != text && letters(name) == letters(&text);
    let names = names.flatten().filter(|name| !is_other_number(name));
    let distances = names.map(|name| {
        // The beginning of a name is what a person types of it.
        let begins = text.chars().count() >= 3 && name.starts_with(&text);
        if begins && name != text { 1 } else { strsim::damerau_levenshtein(&name, &text) }
    });
    distances.min().filter(|&distance| distance <= allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(external_id: &str, email: Option<&str>, name: Option<&str>) -> User {
        serde_json::from_value(json!({
            "id": "usr_01h455vb4pex5vsknk084sn02q",
            "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
            "externalId": external_id,
            "email": email,
            "name": name,
            "metadata": null,
            "createdAt": "2026-01-31T12:00:00.000Z",
            "updatedAt": "2026-01-31T12:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn emails_names_letters_and_typos_count() {
        let carol = user("carol", Some("carol.b@x.example"), Some("Carol Baker"));
        for (text, expected) in [
            ("carol.b@x.example", Some(0)),
            ("CAROL", Some(0)),
            ("carol baker", Some(0)),
            ("Carol B", Some(1)),
            ("carlo", Some(1)),
            ("carl", Some(1)),
            ("cora", None),
            ("carol.b@x.exmapel", Some(2)),
            ("ca", None),
            ("dave", None),
            (" carol ", Some(0)),
            ("'carol'", Some(0)),
            ("carol@other.example", Some(1)),
        ] {
            assert_eq!(distance(&carol, text), expected, "{text}");
        }
        let by_address = user("Carol@x.example ", None, None);
        for text in ["carol", "carol@x.example", "CAROL@X.EXAMPLE"] {
            assert_eq!(distance(&by_address, text), Some(0), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_other_people() {
        for (known, text) in [("30000001", "30000002"), ("bulk23", "bulk2"), ("u-17", "U-71")] {
            assert_eq!(distance(&user(known, None, None), text), None, "{known} {text}");
        }
        assert_eq!(
            distance(&user("bulk23", Some("b23@x.example"), None), "b23@x.example"),
            Some(0)
        );
        assert_eq!(distance(&user("bulk23", None, None), "bulc23"), Some(1));
    }

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
            assert_eq!((&*visible(id), oddity(id)), (shown, hint));
        }
    }

    #[test]
    fn few_searches_find_them() {
        assert_eq!(searches(" Carol@x.example"), ["Ca", "Carol", "Carol@x.example"]);
        assert_eq!(searches("a"), ["a"]);
        assert_eq!(searches("漢字"), ["漢", "漢字"]);
    }
}
