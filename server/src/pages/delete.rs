//! The forms that delete a record. Which record may go is decided by the operations.

use axum::response::Response;
use common::{LicenseId, OnKeys, PlanId, ProductId, UserId, WebhookId};
use serde::{Deserialize, Serialize};

use super::{Editor, Notice, Question, Visitor, leases};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::{licenses, plans, products, users, webhooks};

/// The fields of such a form: none of its own.
#[derive(Deserialize, Serialize)]
pub struct NoFields {}

/// The fields of the form that deletes a license.
#[derive(Deserialize)]
pub struct DeleteLicense {
    /// Whether its keys are revoked with it, once the visitor has confirmed that.
    keys: Option<OnKeys>,
}

pub async fn product(
    Editor(visitor): Editor,
    Id(id): Id<ProductId>,
    Form { seen, .. }: Form<NoFields>,
) -> Result<Response, Error> {
    let change = visitor.change(seen).await?;
    let deleted = Box::pin(products::delete(change, id)).await;
    let kept = (format!("/products/{id}"), Notice::ProductKept);
    next_page(&visitor, deleted, ("/products", Notice::ProductDeleted), kept)
}

pub async fn plan(
    Editor(visitor): Editor,
    Id(id): Id<PlanId>,
    Form { seen, .. }: Form<NoFields>,
) -> Result<Response, Error> {
    let change = visitor.change(seen).await?;
    let deleted = Box::pin(plans::delete(change, id)).await;
    let kept = (format!("/plans/{id}"), Notice::PlanKept);
    next_page(&visitor, deleted, ("/products", Notice::PlanDeleted), kept)
}

pub async fn license(
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, seen, .. }: Form<DeleteLicense>,
) -> Result<Response, Error> {
    let change = visitor.change(seen).await?;
    let deleted = Box::pin(licenses::delete(change, id, fields.keys.is_some())).await;
    if let Err(Error::ClaimableKey(key)) = &deleted {
        let (page, title) = (format!("/licenses/{id}"), "Delete the license with its keys?");
        let sentence = format!(
            "A user could still claim it with the key {key}, for example a buyer who \
             has the key and has not typed it yet. The keys of the license are revoked first."
        );
        let path = format!("{page}/delete");
        let question = Question::new(title, sentence, page).choice("Delete", path, &NoFields {})?;
        let question = question.dangerous().with("keys", &OnKeys::Revoke);
        return match seen {
            Some(seen) => question.with("seen", &seen),
            None => question,
        }
        .ask(visitor.layout);
    }
    let kept = (format!("/licenses/{id}"), Notice::LicenseKept);
    next_page(&visitor, deleted, ("/licenses", Notice::LicenseDeleted), kept)
}

pub async fn user(
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { seen, drops_leases, .. }: Form<NoFields>,
) -> Result<Response, Error> {
    let change = visitor.change(seen).await?.dropping_leases(drops_leases);
    let deleted = Box::pin(users::delete(change, id)).await;
    let page = format!("/users/{id}");
    if let Err(Error::LeaseRunning(until)) = deleted {
        let question = leases::ask(until, format!("{page}/delete"), page, &NoFields {}, seen)?;
        return question.ask(visitor.layout);
    }
    let kept = (page, Notice::EditConflict);
    next_page(&visitor, deleted, ("/users", Notice::UserDeleted), kept)
}

pub async fn webhook(
    Editor(visitor): Editor,
    Id(id): Id<WebhookId>,
    Form { seen, .. }: Form<NoFields>,
) -> Result<Response, Error> {
    let change = visitor.change(seen).await?;
    let deleted = Box::pin(webhooks::delete(change, &visitor.app.secrets, id)).await;
    let kept = (format!("/webhooks/{id}"), Notice::EditConflict);
    next_page(&visitor, deleted, ("/webhooks", Notice::WebhookDeleted), kept)
}

/// The page, with its notice, after a record was deleted or kept.
fn next_page<T>(
    visitor: &Visitor,
    deleted: Result<T, Error>,
    (list, gone): (&str, Notice),
    (record, kept): (String, Notice),
) -> Result<Response, Error> {
    match deleted {
        Ok(_) => Ok(visitor.redirect(list, gone)),
        Err(Error::Conflict(_)) => Ok(visitor.redirect(&record, kept)),
        Err(Error::Changed(_)) => Ok(visitor.redirect(&record, Notice::EditConflict)),
        Err(error) => Err(error),
    }
}
