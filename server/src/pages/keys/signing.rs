//! The forms for signing keys, which stand below the list of keys.

use axum::response::Response;
use common::{RotateSigningKeys, SigningKeyId};

use crate::error::Error;
use crate::http::extract::Id;
use crate::ops::signing_keys;
use crate::pages::{Editor, Notice, Visitor};

/// The list of keys, after a change or a conflict with another.
fn after<T>(visitor: &Visitor, done: Result<T, Error>, notice: Notice) -> Result<Response, Error> {
    match done {
        Ok(_) => Ok(visitor.redirect("/keys", notice)),
        Err(Error::Conflict(_) | Error::NotFound(_)) => {
            Ok(visitor.redirect("/keys", Notice::EditConflict))
        }
        Err(error) => Err(error),
    }
}

pub async fn create(Editor(visitor): Editor) -> Result<Response, Error> {
    let change = visitor.change(None).await?;
    let made = Box::pin(signing_keys::create(change, &visitor.app.secrets)).await;
    after(&visitor, made, Notice::SigningKeysCreated)
}

/// Lets the key sign that was on standby when the page was shown.
pub async fn rotate(Editor(visitor): Editor, Id(id): Id<SigningKeyId>) -> Result<Response, Error> {
    let body = RotateSigningKeys { standby: Some(id), abandon: None };
    let change = visitor.change(None).await?;
    let (keys, node) = (&visitor.app.secrets, &visitor.app.node);
    let rotated = Box::pin(signing_keys::rotate(change, keys, node, body)).await;
    after(&visitor, rotated, Notice::SigningKeysRotated)
}

pub async fn delete(Editor(visitor): Editor, Id(id): Id<SigningKeyId>) -> Result<Response, Error> {
    let deleted = signing_keys::delete(visitor.change(None).await?, id).await;
    after(&visitor, deleted, Notice::SigningKeyDeleted)
}
