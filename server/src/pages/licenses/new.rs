//! The form for a new license, which can also assign it to users.

use askama::Template;
use axum::response::Response;
use common::{AssignLicense, CreateLicense, ExternalId, LicenseId};
use form_urlencoded::Serializer;
use serde::{Deserialize, Serialize};

use super::show::{ShowQuery, show};
use crate::error::Error;
use crate::http::extract::{Form, Query};
use crate::ops::licenses;
use crate::ops::outcome::Outcome;
use crate::ops::user_lookup::{self, TypedUsers};
use crate::ops::view::View;
use crate::pages::catalog::{Catalog, chosen_plan};
use crate::pages::user_lookup::ask_about;
use crate::pages::{
    Editor, FormError, FormState, Layout, Notice, Stop, Visitor, all, once, optional, page,
};

/// Maximum length of the text of a form in a link.
const LONGEST_IN_ADDRESS: usize = 2000;

#[derive(Template)]
#[template(path = "license_new.html")]
struct NewPage {
    layout: Layout,
    catalog: Catalog,
    form: FormState<NewForm>,
    once: String,
}

/// The query of the form.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct NewQuery {
    plan: String,
    name: String,
    days: String,
    users: String,
}

/// The form for a new license.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NewForm {
    plan_id: String,
    name: String,
    expires_in_days: String,
    /// External ids, one per line or separated by commas.
    users: String,
    /// The unknown users, once the visitor has confirmed them.
    confirmed: String,
}

impl NewForm {
    async fn read(&self, view: View) -> Result<(CreateLicense, TypedUsers), Error> {
        all! {
            plan_id = chosen_plan(&self.plan_id),
            name = optional("name", "The name", &self.name),
            expires_in_days = optional("expiresInDays", "The days", &self.expires_in_days),
            typed = user_lookup::several(view, "users", &self.users).await,
        }
        Ok((CreateLicense { expires_in_days, name, plan_id, ..CreateLicense::default() }, typed))
    }

    /// Asks before it creates users.
    fn ask(&self, typed: &TypedUsers) -> Result<(), Stop> {
        if typed.are_confirmed(&self.confirmed) {
            return Ok(());
        }
        let question = ask_about(typed.pairs(), self.back());
        let confirmed = Self { confirmed: typed.unknown_text(), ..self.clone() };
        let mut question = question.choice("Create users and license", "/licenses", &confirmed)?;
        if let Some(users) = typed.corrected() {
            let corrected = Self { users, ..self.clone() };
            question = question.choice("Use the existing users", "/licenses", &corrected)?;
        }
        Err(question.into())
    }

    /// The path of the form with what was entered, as far as an address can hold it.
    fn back(&self) -> String {
        let users = if self.users.len() > LONGEST_IN_ADDRESS { "" } else { &self.users };
        let mut query = Serializer::new("/licenses/new?".to_owned());
        for (name, value) in [
            ("plan", self.plan_id.as_str()),
            ("name", &self.name),
            ("days", &self.expires_in_days),
            ("users", users),
        ] {
            query.append_pair(name, value);
        }
        query.finish()
    }
}

pub async fn new(
    Editor(visitor): Editor,
    Query(query): Query<NewQuery>,
) -> Result<Response, Error> {
    let NewQuery { plan: plan_id, name, days: expires_in_days, users } = query;
    let form = NewForm { plan_id, name, expires_in_days, users, ..NewForm::default() };
    show_form(visitor, FormState::new(form)).await
}

async fn show_form(visitor: Visitor, form: FormState<NewForm>) -> Result<Response, Error> {
    let catalog = Catalog::read(&visitor.view()).await?;
    let status = form.error.status();
    page(status, &NewPage { layout: visitor.layout, catalog, form, once: once() })
}

/// Creates the license, then assigns it to each user. Sent again, the form creates no second license,
/// and assigns it to those who were left out when it was interrupted.
pub async fn create(
    Editor(visitor): Editor,
    Form { fields, idempotency, .. }: Form<NewForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &NewForm| {
        let (new, typed) = fields.read(visitor.view()).await?;
        fields.ask(&typed)?;
        let create = async |change| {
            licenses::create_through_the_day(change, new).await.map(|it| it.record().id)
        };
        let id: LicenseId = visitor.create(idempotency, fields, create).await?;
        let left_out = assign_all(visitor, id, typed.ids).await;
        if left_out.is_empty() {
            return Ok(visitor.redirect(&format!("/licenses/{id}"), Notice::LicenseCreated));
        }
        let error = FormError::of(Error::invalid("userId", left_out.join(" ")))?;
        let title = "The license was created, but not assigned to every user";
        let form = FormState { error, ..FormState::default() };
        Ok(show(visitor.clone(), id, ShowQuery::default(), title, form).await?)
    };
    visitor.submit(fields, create, show_form).await
}

/// Assigns the license to all users, and returns why it could not be assigned to some.
async fn assign_all(visitor: &Visitor, id: LicenseId, users: Vec<ExternalId>) -> Vec<String> {
    let mut left_out = Vec::new();
    for user_id in users {
        let assigned = async {
            let change = visitor.change(None).await?;
            let new = AssignLicense::to(user_id.clone());
            licenses::assign(change, id, new).await
        };
        if let Err(error) = assigned.await {
            let why = error.to_string();
            left_out.push(format!("{user_id}: {}.", why.trim_end_matches('.')));
        }
    }
    left_out
}
