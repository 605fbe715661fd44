//! The page of a plan, and the form for its terms.

use askama::Template;
use axum::response::Response;
use common::{
    CreatePlan, ExpiresFrom, Feature, Features, Line, Plan, PlanField, PlanId, PlanTerms, Product,
    ProductId, UpdatePlan,
};
use serde::{Deserialize, Serialize};

use super::terms::{self, TermFields};
use super::{
    Editor, FormState, Layout, Notice, Viewer, Visitor, all, cleared, counted, fields, filters,
    optional, page, required,
};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::outcome::Changed;
use crate::ops::{plans, products};

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    layout: Layout,
    plan: Plan,
    product: Product,
    plan_form: FormState<PlanForm>,
}

pub async fn get(Viewer(visitor): Viewer, Id(id): Id<PlanId>) -> Result<Response, Error> {
    show(visitor, id, None).await
}

/// Shows the plan; `sent` is the form for it, if that was refused.
async fn show(
    visitor: Visitor,
    id: PlanId,
    sent: Option<FormState<PlanForm>>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let plan = plans::get(view.clone(), id).await?;
    let product = products::get(view, plan.product_id).await?;
    let plan_form = sent.unwrap_or_else(|| FormState::new(PlanForm::of(&plan)));
    let status = plan_form.error.status();
    page(status, &PlanPage { layout: visitor.layout, plan, product, plan_form })
}

pub async fn update(
    Editor(visitor): Editor,
    Id(id): Id<PlanId>,
    Form { fields, seen, .. }: Form<PlanForm>,
) -> Result<Response, Error> {
    let update = async |visitor: &Visitor, fields: &PlanForm| {
        let stored = plans::get(visitor.view(), id).await?;
        let update = fields.update(&stored.features)?;
        let change = visitor.change(seen).await?;
        let Changed(plan) = plans::update(change, id, update).await?;
        let notice = Notice::PlanUpdated.unless(plan == stored);
        Ok(visitor.redirect(&format!("/plans/{id}"), notice))
    };
    visitor.submit(fields, update, |visitor, form| show(visitor, id, Some(form))).await
}

/// The form for a plan, new or existing. An empty field means no limit, no expiry, nothing.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlanForm {
    pub name: String,
    pub description: String,
    pub max_seats: String,
    pub expires_in_days: String,
    /// One per line.
    pub features: String,
    #[serde(flatten)]
    pub terms: TermFields,
    /// Checked: the days start with the first validation.
    pub starts_later: Option<String>,
    /// Checked: its licenses are trials.
    pub trial: Option<String>,
}

impl PlanForm {
    fn of(plan: &Plan) -> Self {
        let features: Vec<&str> = plan.features.iter().map(Feature::as_str).collect();
        Self {
            name: plan.name.to_string(),
            description: plan.description.as_ref().map_or("", Line::as_str).to_owned(),
            max_seats: plan.max_seats.map_or_else(String::new, |seats| seats.to_string()),
            expires_in_days: plan.expires_in_days.map_or_else(String::new, |days| days.to_string()),
            features: features.join("\n"),
            terms: TermFields::of(&plan.terms),
            starts_later: (plan.expires_from == Some(ExpiresFrom::FirstValidation))
                .then(|| "true".to_owned()),
            trial: plan.trial.then(|| "true".to_owned()),
        }
    }

    pub fn create(&self, product_id: ProductId) -> Result<CreatePlan, Error> {
        self.read(product_id, &Features::default())
    }

    /// Reads the fields of a plan that has these features.
    fn read(&self, product_id: ProductId, known: &Features) -> Result<CreatePlan, Error> {
        // A field that is left out is an empty one, as those of the other members.
        let mut terms = self.terms.clone();
        terms.fill_in(&PlanTerms::default());
        all! {
            name = required("name", "The name", &self.name),
            description = optional("description", "The description", &self.description),
            max_seats = optional("maxSeats", "The number of seats", &self.max_seats),
            expires_in_days =
                optional("expiresInDays", "The number of days", &self.expires_in_days),
            features = fields::features("features", &self.features, known),
            terms = terms.read(),
        }
        let expires_from = self.starts_later.as_ref().map(|_| ExpiresFrom::FirstValidation);
        Ok(CreatePlan {
            description,
            max_seats,
            expires_in_days,
            features: Some(features),
            expires_from,
            trial: Some(self.trial.is_some()),
            ..CreatePlan::new(product_id, name).with_terms(terms)
        })
    }

    fn update(&self, known: &Features) -> Result<UpdatePlan, Error> {
        let new = self.read(ProductId::default(), known)?;
        let (terms, clear) = (new.terms(), cleared(PlanField::ALL, &new));
        Ok(UpdatePlan {
            name: Some(new.name),
            description: new.description,
            max_seats: new.max_seats,
            expires_in_days: new.expires_in_days,
            features: new.features,
            expires_from: new.expires_from,
            trial: new.trial,
            clear,
            ..UpdatePlan::default().with_terms(terms)
        })
    }
}
