//! The form for a new license, which may be assigned to users at once.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{AssignLicense, CreateLicense, ExternalId, LicenseId};
use form_urlencoded::Serializer;
use serde::{Deserialize, Serialize};

use super::catalog::{Catalog, chosen_plan};
use super::show::{Attempt, ShowQuery, show};
use super::typed_users::ask_about;
use super::{
    Editor, Layout, Mistake, Notice, Question, Visitor, all, created_before, once, optional, page,
};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Query};
use crate::ops::licenses;
use crate::ops::outcome::Created;
use crate::ops::typed_users::{self, TypedUsers};
use crate::ops::view::View;

/// How much text of a form a link may hold.
const LONGEST_IN_ADDRESS: usize = 2000;

#[derive(Template)]
#[template(path = "license_new.html")]
struct NewPage {
    layout: Layout,
    catalog: Catalog,
    form: NewForm,
    once: String,
    mistake: Mistake,
}

/// The query of the form.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct NewQuery {
    plan: String,
    days: String,
    users: String,
}

/// The form for a new license.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NewForm {
    plan_id: String,
    expires_in_days: String,
    /// External ids, one in each line, or between commas.
    users: String,
    /// The unknown users that were asked about, and are meant.
    confirmed: String,
}

impl NewForm {
    async fn read(&self, view: View) -> Result<(CreateLicense, TypedUsers), Error> {
        all! {
            plan_id = chosen_plan(&self.plan_id),
            expires_in_days = optional("expiresInDays", "The days", &self.expires_in_days),
            typed = typed_users::several(view, "users", &self.users).await,
        }
        Ok((CreateLicense { plan_id, expires_in_days, name: None, metadata: None }, typed))
    }

    /// Unknown users are listed first.
    fn ask(&self, typed: &TypedUsers) -> Result<Option<Question>, Error> {
        if typed.are_confirmed(&self.confirmed) {
            return Ok(None);
        }
        let question = ask_about(typed.pairs(), self.back());
        let confirmed = Self { confirmed: typed.unknown_text(), ..self.clone() };
        let question = question.choice("Create users and license", "/licenses", &confirmed)?;
        let Some(corrected) = typed.corrected() else { return Ok(Some(question)) };
        let corrected = Self { users: corrected, ..self.clone() };
        question.choice("Use the known users instead", "/licenses", &corrected).map(Some)
    }

    /// The form with what was typed, as far as an address can hold it.
    fn back(&self) -> String {
        let users = if self.users.len() > LONGEST_IN_ADDRESS { "" } else { &self.users };
        let mut query = Serializer::new("/licenses/new?".to_owned());
        for (name, value) in
            [("plan", self.plan_id.as_str()), ("days", &self.expires_in_days), ("users", users)]
        {
            query.append_pair(name, value);
        }
        query.finish()
    }
}

pub async fn new(
    State(app): State<App>,
    Editor(visitor): Editor,
    Query(query): Query<NewQuery>,
) -> Result<Response, Error> {
    let NewQuery { plan: plan_id, days: expires_in_days, users } = query;
    let form = NewForm { plan_id, expires_in_days, users, ..NewForm::default() };
    show_form(&app, visitor, form, Mistake::default()).await
}

async fn show_form(
    app: &App,
    visitor: Visitor,
    form: NewForm,
    mistake: Mistake,
) -> Result<Response, Error> {
    let catalog = Catalog::read(&app.ops.view(visitor.scope)).await?;
    let (layout, once, status) = (visitor.layout, once(), mistake.status());
    page(status, &NewPage { layout, catalog, form, once, mistake })
}

/// What comes of the form: a license and the users to whom it is to be assigned, or a question.
enum Next {
    Created(LicenseId, Vec<ExternalId>),
    Ask(Question),
}

/// Creates the license, then assigns it to each user. Sent again, the form creates no second license,
/// and assigns it to those whom an interruption left out.
pub async fn create(
    State(app): State<App>,
    Editor(visitor): Editor,
    form: Form<NewForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let created = Box::pin(async {
        let (new, typed) = fields.read(app.ops.view(visitor.scope)).await?;
        if let Some(question) = fields.ask(&typed)? {
            return Ok(Next::Ask(question));
        }
        let key = idempotency.of(&fields)?;
        let created = match app.ops.change(visitor.origin(), key).await {
            Ok(change) => licenses::create(change, new).await,
            Err(error) => Err(error),
        };
        let id = created.map(|Created(license)| license.id).or_else(created_before)?;
        Ok(Next::Created(id, typed.ids))
    });
    let (id, users) = match created.await {
        Ok(Next::Created(id, users)) => (id, users),
        Ok(Next::Ask(question)) => return question.ask(visitor.layout),
        Err(error) => return Box::pin(show_form(&app, visitor, fields, Mistake::of(error)?)).await,
    };
    let left_out = assign_all(&app, &visitor, id, users).await;
    if left_out.is_empty() {
        return visitor.go_to(&format!("/licenses/{id}"), Notice::LicenseCreated);
    }
    let left_out = Error::invalid("userId", left_out.join(" "));
    let title = "The license was created, and not assigned to everyone";
    Box::pin(show(&app, visitor, id, &ShowQuery::default(), Attempt::failed(title, left_out)?))
        .await
}

/// Answers, for each user to whom the license could not be assigned, why.
async fn assign_all(
    app: &App,
    visitor: &Visitor,
    id: LicenseId,
    users: Vec<ExternalId>,
) -> Vec<String> {
    let mut left_out = Vec::new();
    for user_id in users {
        let assigned = async {
            let change = visitor.change(app, None).await?;
            let new = AssignLicense { user_id: user_id.clone(), metadata: None };
            licenses::assign(change, id, new).await
        };
        if let Err(error) = assigned.await {
            let why = error.sentence();
            left_out.push(format!("{user_id}: {}.", why.trim_end_matches('.')));
        }
    }
    left_out
}
