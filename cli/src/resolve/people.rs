//! Finds the users whom a wrong external id may mean: by email or name, in other letters, or with a
//! typo.

use common::{Line, Name, User};

use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::Result;

const MAX_SUGGESTIONS: usize = 3;
/// How many users each search reads.
const SEARCH_LIMIT: &str = "100";

/// The users who are most like the text, the most similar first.
pub async fn similar_users(ctx: &Context, text: &str) -> Result<Vec<ApiRecord<User>>> {
    let client = ctx.client().await?;
    let mut found: Vec<ApiRecord<User>> = Vec::new();
    for start in searches(text) {
        let page = client.users().page(&[("search", &start), ("limit", SEARCH_LIMIT)]).await?;
        for user in page.data {
            if found.iter().all(|known| known.id != user.id) {
                found.push(user);
            }
        }
    }
    let scored = found.into_iter().filter_map(|user| Some((distance(&user, text)?, user)));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by_key(|(distance, _)| *distance);
    scored.truncate(MAX_SUGGESTIONS);
    Ok(scored.into_iter().map(|(_, user)| user).collect())
}

/// `Did you mean carol (carol@x.example)?`
pub fn did_you_mean(users: &[ApiRecord<User>]) -> String {
    let label = |user: &ApiRecord<User>| {
        let email = user.email.as_ref().map(Line::as_str);
        let about = email.or(user.name.as_ref().map(Name::as_str));
        match about.filter(|about| *about != user.external_id.as_str()) {
            Some(about) => format!("{} ({about})", user.external_id),
            None => user.external_id.to_string(),
        }
    };
    format!("Did you mean {}?", users.iter().map(label).collect::<Vec<_>>().join(" or "))
}

/// The beginnings to search for. Emails and names match in any case, external ids do not, so that
/// the usual spellings are tried; the first half also finds what has a typo behind it.
fn searches(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let local = lower.split('@').next().unwrap_or_default();
    let half: String = local.chars().take((local.chars().count() / 2).max(1)).collect();
    let mut capital = half.clone();
    capital[..half.chars().next().map_or(0, char::len_utf8)].make_ascii_uppercase();
    let mut searches = vec![text.to_owned(), half, capital, text.to_uppercase()];
    searches.retain(|search| !search.is_empty());
    searches.sort();
    searches.dedup();
    searches
}

/// How many letters of the most similar name of the user are other ones; none when too many are.
fn distance(user: &User, text: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let email = user.email.as_ref().map(|email| email.as_str().to_lowercase());
    let local = email.as_ref().and_then(|email| email.split('@').next()).map(str::to_owned);
    let name = user.name.as_ref().map(|name| name.as_str().to_lowercase());
    let id = user.external_id.as_str().to_lowercase();
    let allowed = if text.chars().count() <= 5 { 1 } else { 2 };
    let names = [Some(id), email, local, name];
    let distances = names.iter().flatten().map(|name| {
        // The beginning of a name is what a person types of it.
        let begins = text.chars().count() >= 3 && name.starts_with(&text);
        if begins && *name != text { 1 } else { strsim::damerau_levenshtein(name, &text) }
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
        ] {
            assert_eq!(distance(&carol, text), expected, "{text}");
        }
    }

    #[test]
    fn few_searches_find_them() {
        assert_eq!(searches("Carol@x.example"), ["CAROL@X.EXAMPLE", "Ca", "Carol@x.example", "ca"]);
        assert_eq!(searches("a"), ["A", "a"]);
        assert_eq!(searches("漢字"), ["漢", "漢字"]);
    }
}
