//! The search that stands on every page. It is sent as a form: in an address a whole license key
//! would be kept by browsers and proxies.

use axum::response::Redirect;
use common::KeyText;
use serde::Deserialize;

use super::super::Viewer;
use super::elsewhere::query_of;
use crate::error::Error;
use crate::http::extract::Form;
use crate::ops::license_keys;

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Search {
    q: String,
}

/// Finds the license of a whole key; anything else is searched for in the list of users.
pub async fn search(
    Viewer(visitor): Viewer,
    Form { fields: Search { q }, .. }: Form<Search>,
) -> Result<Redirect, Error> {
    let base = visitor.layout.base();
    let to = |path: String| Ok(Redirect::to(&(base + &path)));
    let Ok(key) = q.parse::<KeyText>() else { return to(format!("/users?{}", query_of("q", &q))) };
    let find = license_keys::find(visitor.view(), &key);
    // Most texts are names, so their address is not held up: only the key of the session counts.
    match visitor.app.wrong_keys.look_up((visitor.key.id, None), &key, find).await {
        Ok(Some(found)) => to(format!("/licenses/{}", found.license_id)),
        // Its end is what lists show of a key.
        Ok(None) if key.check() == Some(true) => {
            to(format!("/users?{}", query_of("q", &key.suffix().unwrap_or_default())))
        }
        Ok(None) | Err(Error::TooManyWrongKeys(_)) => to(format!("/users?{}", query_of("q", &q))),
        Err(error) => Err(error),
    }
}
