//! Finds users that a text may mean although it is not an external id: it differs in case or
//! punctuation, is an email or a name, or has a typo.

use std::collections::BTreeSet;

use common::User;

use crate::db::{self, Conn};
use crate::store::phrases::Search;
use crate::store::{Scope, phrases, users};

/// Maximum number of suggested users.
const MAX_USERS: usize = 3;
/// Maximum number of phrases that a search reads.
const READ: i64 = 100;

/// Returns the most similar users, the closest first. If the text is the name of some users,
/// returns only those. Never returns the user with this external id.
pub async fn find(conn: &mut Conn, scope: Scope, text: &str) -> db::Result<Vec<User>> {
    let Some(wanted) = phrases::phrase(text) else { return Ok(Vec::new()) };
    let mut found: Vec<(usize, User)> = Vec::new();
    for start in starts(text) {
        let Some(search) = Search::parse(&start) else { continue };
        for user in users::search_some(conn, scope, &search, READ).await? {
            let is_known = found.iter().any(|(_, known)| known.id == user.id);
            if !is_known && user.external_id.as_str() != text {
                found.extend(distance(&user, text, &wanted).map(|distance| (distance, user)));
            }
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    let closest = found.first().map(|(distance, _)| *distance);
    let similar = found.into_iter().filter(|(distance, _)| closest != Some(0) || *distance == 0);
    Ok(similar.map(|(_, user)| user).take(MAX_USERS).collect())
}

/// Returns the starts of words to search for. The first half also finds words with a typo behind it.
fn starts(text: &str) -> BTreeSet<String> {
    let mailbox = text.split('@').next().unwrap_or_default();
    let letters: Vec<char> = mailbox.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let half = letters[..letters.len().div_ceil(2)].iter().collect();
    BTreeSet::from([text.to_owned(), mailbox.to_owned(), half])
}

/// Returns the smallest edit distance to a name of the user. `None` if it is too large.
fn distance(user: &User, text: &str, wanted: &str) -> Option<usize> {
    let id = user.external_id.as_str();
    let mailbox = |address: &str| phrases::phrase(address.split_once('@')?.0);
    // An external id may be the address of a user known by its mailbox.
    if mailbox(text).is_some_and(|mailbox| Some(mailbox) == phrases::phrase(id)) {
        return Some(1);
    }
    let mailboxes = [user.email.as_ref().and_then(|it| mailbox(it.as_str())), mailbox(id)];
    let names = phrases::names(user).into_iter().chain(mailboxes.into_iter().flatten());
    // Different numbers are different people: 30000002 is not a typo of 30000001.
    let letters = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    let names = names.filter(|name| name == wanted || letters(name) != letters(wanted));
    let distances = names.map(|name| {
        // People often type only the beginning of a name.
        let begins = wanted.chars().count() >= 3 && name.starts_with(wanted);
        if begins && name != wanted { 1 } else { strsim::damerau_levenshtein(&name, wanted) }
    });
    let allowed = if wanted.chars().count() <= 5 { 1 } else { 2 };
    distances.min().filter(|&distance| distance <= allowed)
}

#[cfg(test)]
mod tests {
    use common::{ExternalId, TenantId, Timestamp};

    use super::*;

    fn user(external_id: &str, email: Option<&str>, name: Option<&str>) -> User {
        let id: ExternalId = external_id.parse().unwrap();
        User {
            email: email.map(|email| email.parse().unwrap()),
            name: name.map(|name| name.parse().unwrap()),
            ..User::new(TenantId::default(), id, Timestamp::now())
        }
    }

    fn distance_of(user: &User, text: &str) -> Option<usize> {
        distance(user, text, &phrases::phrase(text).unwrap())
    }

    #[test]
    fn emails_names_letters_and_typos_count() {
        let carol = user("carol", Some("carol.b@x.example"), Some("Carol Baker"));
        for (text, expected) in [
            ("carol.b@x.example", Some(0)),
            ("CAROL", Some(0)),
            ("cärol", Some(0)),
            ("carol baker", Some(0)),
            ("Carol B", Some(0)),
            ("Carol Ba", Some(1)),
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
            assert_eq!(distance_of(&carol, text), expected, "{text}");
        }
        let by_address = user("Carol@x.example ", None, None);
        for text in ["carol", "carol@x.example", "CAROL@X.EXAMPLE"] {
            assert_eq!(distance_of(&by_address, text), Some(0), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_other_people() {
        for (known, text) in [("30000001", "30000002"), ("bulk23", "bulk2"), ("u-17", "U-71")] {
            assert_eq!(distance_of(&user(known, None, None), text), None, "{known} {text}");
        }
        let bulk = user("bulk23", Some("b23@x.example"), None);
        assert_eq!(distance_of(&bulk, "b23@x.example"), Some(0));
        assert_eq!(distance_of(&user("bulk23", None, None), "bulc23"), Some(1));
    }

    #[test]
    fn few_searches_find_them() {
        assert_eq!(
            Vec::from_iter(starts("'Carol@x.example")),
            ["'Carol", "'Carol@x.example", "Car"]
        );
        assert_eq!(Vec::from_iter(starts("a")), ["a"]);
        assert_eq!(Vec::from_iter(starts("漢字")), ["漢", "漢字"]);
    }
}
