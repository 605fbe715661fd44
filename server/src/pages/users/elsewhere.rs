//! Records other than users that the search for users finds: records by their ID, licenses by their
//! names or the part of the ID that pages show, keys by their prefix, license keys by their ending,
//! products by their names.

use std::str::FromStr;

use common::{KeyId, LicenseId, PlanId, ProductId, UserId};
use form_urlencoded::Serializer;

use crate::error::Error;
use crate::ops::licenses::{self, LicenseQuery};
use crate::ops::products;
use crate::ops::view::View;
use crate::ops::{keys, license_keys};
use crate::store::Page;

/// Minimum length of a searched ending, because shorter ones match too many ids. Names need one
/// character.
const LEAST_CHARACTERS: usize = 4;
/// Maximum number of keys to compare, the newest first. A tenant has few.
const READ_KEYS: i64 = 1000;
/// Maximum number of products to compare.
const READ_PRODUCTS: i64 = 1000;

/// The path, behind the mode, of what the text names: its page, or a list if there are several.
pub async fn find(view: View, text: &str) -> Result<Option<String>, Error> {
    if let Some(path) = by_id(text) {
        return Ok(Some(path));
    }
    if text.starts_with("sk_") {
        return by_prefix(view, text).await;
    }
    let end = text.trim_start_matches('…');
    let wanted = Some(end.to_owned());
    let query = if end.chars().count() < LEAST_CHARACTERS {
        LicenseQuery { name: wanted, ..LicenseQuery::default() }
    } else {
        LicenseQuery { search: wanted, ..LicenseQuery::default() }
    };
    let found = licenses::page(view.clone(), query, Page::newest_first(None, 2)).await?;
    Ok(match found.as_slice() {
        [] => match by_product_name(view.clone(), text).await? {
            None => by_license_key(view, end).await?,
            found => found,
        },
        [license] => Some(format!("/licenses/{}", license.id)),
        _ => Some(format!("/licenses?{}", query_of("end", end))),
    })
}

pub fn query_of(name: &str, value: &str) -> String {
    Serializer::new(String::new()).append_pair(name, value).finish()
}

/// The page of the license whose key ends like this.
async fn by_license_key(view: View, end: &str) -> Result<Option<String>, Error> {
    let found = license_keys::by_ending(view, end.to_owned(), Page::newest_first(None, 2)).await;
    Ok(match found.as_deref() {
        Ok([key]) => Some(format!("/licenses/{}", key.license_id)),
        _ => None,
    })
}

/// The page of the product whose name has this text in it, or the list if there are several.
async fn by_product_name(view: View, text: &str) -> Result<Option<String>, Error> {
    let text = text.to_lowercase();
    let mut found = products::page(view, Page::newest_first(None, READ_PRODUCTS)).await?;
    found.retain(|product| product.name.as_str().to_lowercase().contains(&text));
    Ok(match found.as_slice() {
        [] => None,
        [product] => Some(format!("/products/{}", product.id)),
        _ => Some("/products".to_owned()),
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
