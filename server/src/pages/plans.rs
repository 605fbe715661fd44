//! The page of a plan, and the form for its terms.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{
    CreatePlan, ExpiresInDays, Feature, Features, Line, MaxSeats, Name, Plan, PlanField, PlanId,
    Product, ProductId, UpdatePlan,
};
use serde::{Deserialize, Serialize};

use super::fields::{all, features, optional, required};
use super::filters;
use super::form::Mistake;
use super::html::page;
use super::layout::{Layout, Notice};
use super::meanwhile;
use super::parts::counted;
use super::visitor::{Editor, Viewer, Visitor};
use crate::App;
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
    plan_form: PlanForm,
    plan_mistake: Mistake,
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<PlanId>,
) -> Result<Response, Error> {
    show(&app, visitor, id, None, Mistake::default()).await
}

/// Shows the plan, with its form as it was sent if that has a mistake.
async fn show(
    app: &App,
    visitor: Visitor,
    id: PlanId,
    sent: Option<PlanForm>,
    plan_mistake: Mistake,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let plan = plans::get(view.clone(), id).await?;
    let product = products::get(view, plan.product_id).await?;
    let plan_form = sent.unwrap_or_else(|| PlanForm::of(&plan));
    let (layout, status) = (visitor.layout, plan_mistake.status());
    page(status, &PlanPage { layout, plan, product, plan_form, plan_mistake })
}

pub async fn update(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<PlanId>,
    Form { fields, seen, .. }: Form<PlanForm>,
) -> Result<Response, Error> {
    let updated = Box::pin(async {
        let stored = plans::get(app.ops.view(visitor.scope), id).await?;
        let update = fields.update()?;
        let change = visitor.change(&app, seen).await?;
        let Changed(plan) = plans::update(change, id, update).await?;
        Ok(if plan == stored { Notice::Unchanged } else { Notice::PlanUpdated })
    });
    match updated.await {
        Ok(notice) => visitor.go_to(&format!("/plans/{id}"), notice),
        Err(error) => {
            let error = meanwhile::explain(app.ops.view(visitor.scope), id, error).await;
            Box::pin(show(&app, visitor, id, Some(fields), Mistake::of(error)?)).await
        }
    }
}

/// The form for a plan, new or known. An empty field means no limit, no expiry, nothing.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlanForm {
    pub name: String,
    pub description: String,
    pub max_seats: String,
    pub expires_in_days: String,
    /// One on each line.
    pub features: String,
}

/// What the form says.
struct Terms {
    name: Name,
    description: Option<Line>,
    max_seats: Option<MaxSeats>,
    expires_in_days: Option<ExpiresInDays>,
    features: Features,
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
        }
    }

    fn read(&self) -> Result<Terms, Error> {
        all! {
            name = required("name", "The name", &self.name),
            description = optional("description", "The description", &self.description),
            max_seats = optional("maxSeats", "The number of seats", &self.max_seats),
            expires_in_days =
                optional("expiresInDays", "The number of days", &self.expires_in_days),
            features = features("features", &self.features),
        }
        Ok(Terms { name, description, max_seats, expires_in_days, features })
    }

    pub fn create(&self, product_id: ProductId) -> Result<CreatePlan, Error> {
        let Terms { name, description, max_seats, expires_in_days, features } = self.read()?;
        let features = Some(features);
        Ok(CreatePlan { product_id, name, description, max_seats, expires_in_days, features })
    }

    fn update(&self) -> Result<UpdatePlan, Error> {
        let Terms { name, description, max_seats, expires_in_days, features } = self.read()?;
        let empty = [
            (PlanField::Description, description.is_none()),
            (PlanField::MaxSeats, max_seats.is_none()),
            (PlanField::ExpiresInDays, expires_in_days.is_none()),
        ];
        let clear = empty.into_iter().filter(|(_, is_empty)| *is_empty).map(|(field, _)| field);
        Ok(UpdatePlan {
            name: Some(name),
            description,
            max_seats,
            expires_in_days,
            features: Some(features),
            clear: Some(clear.collect()),
        })
    }
}
