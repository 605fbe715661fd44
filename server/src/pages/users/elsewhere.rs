//! What the search for users finds besides users: other records, by their ID or by the part of a
//! license's ID or of a key that pages show.

use std::str::FromStr;

use common::{KeyId, LicenseId, PlanId, ProductId, UserId};

use crate::error::Error;
use crate::ops::keys;
use crate::ops::licenses::{self, LicenseQuery};
use crate::ops::view::View;
use crate::store::Page;

/// Fewer characters match the end of too many ids.
const LEAST_CHARACTERS: usize = 4;
/// How many of the newest keys are compared. A tenant has few.
const READ_KEYS: i64 = 1000;

/// The path, behind the mode, of what the text names: its page, or a list if there are several.
pub async fn find(view: View, text: &str) -> Result<Option<String>, Error> {
    if let Some(path) = by_id(text) {
        return Ok(Some(path));
    }
    if text.starts_with("sk_") {
        return by_prefix(view, text).await;
    }
    let end = text.trim_start_matches('…');
    if end.len() < LEAST_CHARACTERS {
        return Ok(None);
    }
    let query = LicenseQuery { search: Some(end.to_owned()), ..LicenseQuery::default() };
    let found = licenses::page(view, query, Page::newest_first(None, 2)).await?;
    // The characters of an id need no encoding in an address.
    Ok(match found.as_slice() {
        [] => None,
        [license] => Some(format!("/licenses/{}", license.id)),
        _ => Some(format!("/licenses?end={end}")),
    })
}

/// The page of the record with this id, which may not exist.
fn by_id(text: &str) -> Option<String> {
    fn page<T: FromStr + ToString>(folder: &str, text: &str) -> Option<String> {
        text.parse().ok().map(|id: T| format!("/{folder}/{}", id.to_string()))
    }
    page::<LicenseId>("licenses", text)
        .or_else(|| page::<KeyId>("keys", text))
        .or_else(|| page::<UserId>("users", text))
        .or_else(|| page::<ProductId>("products", text))
        .or_else(|| page::<PlanId>("plans", text))
}

/// The page of the key that begins like this, or the list if there are several.
async fn by_prefix(view: View, text: &str) -> Result<Option<String>, Error> {
    let text = text.trim_end_matches('…');
    let mut found = keys::page(view, Page::newest_first(None, READ_KEYS)).await?;
    found.retain(|key| key.prefix.starts_with(text) || text.starts_with(&key.prefix));
    Ok(match found.as_slice() {
        [] => None,
        [key] => Some(format!("/keys/{}", key.id)),
        _ => Some("/keys".to_owned()),
    })
}
