//! License keys on the page of their license: the forms that make, reissue and revoke one, and the
//! page that shows a new text once.

use std::str::FromStr;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use common::{CreateLicenseKey, CreatedLicenseKey, LicenseId, LicenseKeyId, MaxUses, Mode};
use serde::{Deserialize, Serialize};

use super::show::{ShowQuery, show};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::license_keys;
use crate::ops::outcome::{Changed, Created, Upserted};
use crate::pages::{Editor, FormState, Layout, Notice, Stop, Visitor, optional, page};

/// The form for a new key.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KeyForm {
    /// Empty: as many as the license has seats.
    max_uses: String,
}

/// A form without fields of its own.
#[derive(Deserialize, Serialize)]
pub struct NoFields {}

#[derive(Template)]
#[template(path = "license_key_created.html")]
struct CreatedPage {
    layout: Layout,
    created: CreatedLicenseKey,
}

/// The response is the only one that ever shows the key.
pub async fn create(
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, idempotency, .. }: Form<KeyForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &KeyForm| {
        let max_uses = optional::<MaxUses>("maxUses", "The number of users", &fields.max_uses)?;
        let new = CreateLicenseKey { max_uses, ..CreateLicenseKey::default() };
        let create = |change| license_keys::create(change, id, new);
        match visitor.secret(idempotency, fields, |_| elsewhere(id), create).await? {
            Upserted::New(created) | Upserted::Existing(created) => shown(visitor, created),
        }
    };
    visitor.submit(fields, create, |visitor, form| again(visitor, id, form)).await
}

fn shown(visitor: &Visitor, created: CreatedLicenseKey) -> Result<Response, Stop> {
    let layout = visitor.layout.clone();
    Ok(page(StatusCode::CREATED, &CreatedPage { layout, created })?)
}

/// The address of a form about a key: the mode, the license, the key, and what is to be done.
type KeyPath = Path<(Mode, String, String)>;

fn ids(license: &str, key: &str) -> Result<(LicenseId, LicenseKeyId), Error> {
    fn parsed<T: FromStr>(text: &str) -> Result<T, Error> {
        text.parse().map_err(|_| Error::NotFound("license key"))
    }
    Ok((parsed(license)?, parsed(key)?))
}

pub async fn reissue(
    Editor(visitor): Editor,
    Path((_, license, key)): KeyPath,
    Form { fields, idempotency, .. }: Form<NoFields>,
) -> Result<Response, Error> {
    let (license, key) = ids(&license, &key)?;
    let reissue = async |visitor: &Visitor, fields: &NoFields| {
        let reissue = |change| license_keys::reissue(change, key);
        let made = visitor.secret(idempotency, fields, |_| elsewhere(license), reissue);
        let Created(created) = made.await?;
        shown(visitor, created)
    };
    visitor.submit(fields, reissue, |visitor, form| again(visitor, license, form)).await
}

pub async fn revoke(
    Editor(visitor): Editor,
    Path((_, license, key)): KeyPath,
) -> Result<Response, Error> {
    let (license, key) = ids(&license, &key)?;
    let revoke = async |visitor: &Visitor, (): &()| {
        let change = visitor.change(None).await?;
        let Changed(_) = license_keys::revoke(change, key).await?;
        Ok(visitor.redirect(&format!("/licenses/{license}"), Notice::LicenseKeyRevoked))
    };
    visitor.submit((), revoke, |visitor, form| again(visitor, license, form)).await
}

fn elsewhere(license: LicenseId) -> (String, Notice) {
    (format!("/licenses/{license}"), Notice::LicenseKeyShownOnce)
}

/// The license's page, which says why the form had no effect.
fn again<F>(
    visitor: Visitor,
    license: LicenseId,
    FormState { error, .. }: FormState<F>,
) -> impl Future<Output = Result<Response, Error>> {
    let form = FormState { error, ..FormState::default() };
    show(visitor, license, ShowQuery::default(), "The key was not changed", form)
}
