//! The forms that give a user a license.

use axum::response::Response;
use common::{AssignLicense, CreateLicense, LicenseId, UserId};

use super::licensing::{AssignForm, CreateForm, LicensingQuery};
use super::user::{Sent, show};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::outcome::Outcome;
use crate::ops::{licenses, users};
use crate::pages::catalog::chosen_plan;
use crate::pages::licenses::notice_of_assignment;
use crate::pages::{Editor, FormState, Notice, Visitor};

/// Creates a license of the user. Sent again, the form creates no second one.
pub async fn create_license(
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, idempotency, .. }: Form<CreateForm>,
) -> Result<Response, Error> {
    let user_id = users::get(visitor.view(), id).await?.external_id;
    let create = async |visitor: &Visitor, fields: &CreateForm| {
        let plan_id = chosen_plan(&fields.plan_id)?;
        let first = fields.first.is_some();
        let assign_to = Some(AssignLicense { first, ..AssignLicense::to(user_id) });
        let new = CreateLicense { assign_to, plan_id, ..CreateLicense::default() };
        let create = async |change| {
            licenses::create_through_the_day(change, new).await.map(|it| it.record().id)
        };
        let _: LicenseId = visitor.create(idempotency, fields, create).await?;
        Ok(visitor.redirect(&format!("/users/{id}"), Notice::LicenseCreatedFor))
    };
    let again = |visitor, form| show(visitor, id, LicensingQuery::default(), Sent::Create(form));
    visitor.submit(fields, create, again).await
}

pub async fn assign(
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, .. }: Form<AssignForm>,
) -> Result<Response, Error> {
    let user_id = users::get(visitor.view(), id).await?.external_id;
    let unknown = || Error::invalid("license", "There is no license with this ID.");
    let assign = async |visitor: &Visitor, fields: &AssignForm| {
        let license: LicenseId = fields.license_id.parse().map_err(|_| unknown())?;
        let change = visitor.change(None).await?;
        let new = AssignLicense { first: fields.first.is_some(), ..AssignLicense::to(user_id) };
        let assigned = match licenses::assign(change, license, new).await {
            Err(Error::NotFound("license")) => return Err(unknown().into()),
            assigned => assigned?,
        };
        let after = licenses::get(visitor.view(), license).await?;
        let done = notice_of_assignment(assigned.is_new(), &after);
        Ok(visitor.redirect(&format!("/users/{id}"), done))
    };
    let again = |visitor, form: FormState<AssignForm>| {
        let query = LicensingQuery { license: form.fields.license_id };
        show(visitor, id, query, Sent::Assign(form.error))
    };
    visitor.submit(fields, assign, again).await
}
