//! The forms that give a user a license.

use axum::extract::State;
use axum::response::Response;
use common::{AssignLicense, CreateLicense, LicenseId, UserId};

use super::super::catalog::chosen_plan;
use super::super::fields::created_before;
use super::super::form::Mistake;
use super::super::layout::Notice;
use super::super::licenses::notice_of_assignment;
use super::super::visitor::Editor;
use super::licensing::{AssignForm, CreateForm, LicensingQuery};
use super::user::{Sent, show};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::licenses;
use crate::ops::outcome::{Created, Outcome};
use crate::ops::users;

/// Creates a license, then assigns it. Sent again, the form creates no second license, and makes up
/// for an assignment that an interruption left out.
pub async fn create_license(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    form: Form<CreateForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let user_id = users::get(app.ops.view(visitor.scope), id).await?.external_id;
    let created = Box::pin(async {
        let plan_id = chosen_plan(&fields.plan_id)?;
        let new = CreateLicense { plan_id, expires_in_days: None, name: None, metadata: None };
        let key = idempotency.of(&fields)?;
        let created = match app.ops.change(visitor.origin(), key).await {
            Ok(change) => licenses::create(change, new).await,
            Err(error) => Err(error),
        };
        let license: LicenseId =
            created.map(|Created(license)| license.id).or_else(created_before)?;
        let change = visitor.change(&app, None).await?;
        licenses::assign(change, license, AssignLicense { user_id, metadata: None }).await
    });
    match created.await {
        Ok(_) => visitor.go_to(&format!("/users/{id}"), Notice::LicenseCreatedFor),
        Err(error) => {
            let sent = Sent::Create(fields, Mistake::of(error)?);
            Box::pin(show(&app, visitor, id, LicensingQuery::default(), sent)).await
        }
    }
}

pub async fn assign(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, .. }: Form<AssignForm>,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let user_id = users::get(view.clone(), id).await?.external_id;
    let unknown = || Error::invalid("license", "There is no license with this ID.");
    let assigned = Box::pin(async {
        let license: LicenseId = fields.license_id.parse().map_err(|_| unknown())?;
        let change = visitor.change(&app, None).await?;
        let new = AssignLicense { user_id, metadata: None };
        let is_new = licenses::assign(change, license, new).await?.is_new();
        Ok(notice_of_assignment(is_new, &licenses::get(view, license).await?))
    });
    match assigned.await {
        Ok(done) => visitor.go_to(&format!("/users/{id}"), done),
        Err(error) => {
            let is_unknown = matches!(error, Error::NotFound("license"));
            let mistake = Mistake::of(if is_unknown { unknown() } else { error })?;
            let query = LicensingQuery { license: fields.license_id };
            Box::pin(show(&app, visitor, id, query, Sent::Assign(mistake))).await
        }
    }
}
