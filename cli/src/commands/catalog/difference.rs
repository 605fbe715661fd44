//! Compares the service's catalog with the file, as steps in executable order: a product before its
//! plans.

use std::fmt;

use common::{
    CreatePlan, CreateProduct, Plan, PlanField, Product, ProductField, ProductId, UpdatePlan,
    UpdateProduct,
};

use super::Catalog;
use super::manifest::{Manifest, WantedPlan, WantedProduct};
use crate::client::ApiRecord;
use crate::commands::plans::joined;
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::values::cleared;

/// The action that a record needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
    Same,
}

impl Action {
    pub fn sign(self) -> char {
        match self {
            Self::Create => '+',
            Self::Update => '~',
            Self::Same => '=',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Same => "same",
        }
    }
}

/// A field that differs from the file.
pub struct FieldChange {
    pub field: &'static str,
    pub have: Option<String>,
    pub want: Option<String>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        write!(f, "{}: {} → {}", self.field, word(&self.have), word(&self.want))
    }
}

/// One record of the file and its action.
pub struct CatalogStep<'a> {
    pub action: Action,
    pub changes: Vec<FieldChange>,
    record: Record<'a>,
}

enum Record<'a> {
    Product {
        want: &'a WantedProduct,
        have: Option<&'a ApiRecord<Product>>,
    },
    /// The product's id is none until the product exists.
    Plan {
        want: &'a WantedPlan,
        have: Option<&'a ApiRecord<Plan>>,
        product: (&'a WantedProduct, Option<ProductId>),
    },
}

/// The steps that turn the catalog into the file's content.
pub fn between<'a>(catalog: &'a Catalog, manifest: &'a Manifest) -> Result<Vec<CatalogStep<'a>>> {
    let mut steps = Vec::new();
    for wanted in &manifest.products {
        let same_name = catalog.products.iter().filter(|have| have.name == wanted.name);
        let have = only("product", wanted.name.as_str(), same_name)?;
        let changes = have.map_or_else(Vec::new, |have| product_changes(have, wanted));
        let record = Record::Product { want: wanted, have };
        steps.push(CatalogStep::new(record, have.is_some(), changes));
        let product = have.map(|have| have.id);
        for plan in &wanted.plans {
            let own = catalog.plans.iter().filter(|have| Some(have.product_id) == product);
            let have = only("plan", plan.name.as_str(), own.filter(|have| have.name == plan.name))?;
            let changes = have.map_or_else(Vec::new, |have| plan_changes(have, plan));
            let record = Record::Plan { want: plan, have, product: (wanted, product) };
            steps.push(CatalogStep::new(record, have.is_some(), changes));
        }
    }
    Ok(steps)
}

/// The only record of a name; two records of one name are an error.
fn only<'a, T>(
    noun: &str,
    name: &str,
    mut records: impl Iterator<Item = &'a T>,
) -> Result<Option<&'a T>> {
    let first = records.next();
    if records.next().is_some() {
        let message = format!("Several {noun}s have the name {name}, so licctl cannot match one.");
        return Err(Error::new(Exit::NotFound, "ambiguous", message)
            .fix(format!("give them different names with licctl {noun}s update ID --name NAME")));
    }
    Ok(first)
}

fn change(field: &'static str, have: Option<String>, want: Option<String>) -> Option<FieldChange> {
    (have != want).then_some(FieldChange { field, have, want })
}

fn product_changes(have: &Product, want: &WantedProduct) -> Vec<FieldChange> {
    let text = |text: &Option<common::Line>| text.as_ref().map(ToString::to_string);
    change("description", text(&have.description), text(&want.description)).into_iter().collect()
}

fn plan_changes(have: &Plan, want: &WantedPlan) -> Vec<FieldChange> {
    fn text<T: ToString>(value: &Option<T>) -> Option<String> {
        value.as_ref().map(T::to_string)
    }
    let listed = |features| Some(joined(features)).filter(|list| !list.is_empty());
    [
        change("description", text(&have.description), text(&want.description)),
        change("maxSeats", text(&have.max_seats), text(&want.max_seats)),
        change("expiresInDays", text(&have.expires_in_days), text(&want.expires_in_days)),
        change("features", listed(&have.features), listed(&want.features)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl<'a> CatalogStep<'a> {
    fn new(record: Record<'a>, there: bool, changes: Vec<FieldChange>) -> Self {
        let action = match (there, changes.is_empty()) {
            (false, _) => Action::Create,
            (true, false) => Action::Update,
            (true, true) => Action::Same,
        };
        Self { action, changes, record }
    }

    pub fn kind(&self) -> &'static str {
        match self.record {
            Record::Product { .. } => "product",
            Record::Plan { .. } => "plan",
        }
    }

    pub fn title(&self) -> String {
        match &self.record {
            Record::Product { want, .. } => want.name.to_string(),
            Record::Plan { want, product, .. } => format!("{} · {}", product.0.name, want.name),
        }
    }

    pub fn id(&self) -> Option<String> {
        match &self.record {
            Record::Product { have, .. } => have.map(|have| have.id.to_string()),
            Record::Plan { have, .. } => have.map(|have| have.id.to_string()),
        }
    }

    /// Performs the step and returns the id of a created product. `new_product` is the last one
    /// created.
    pub async fn take(
        &self,
        ctx: &Context,
        new_product: Option<ProductId>,
    ) -> Result<Option<ProductId>> {
        let client = ctx.client().await?;
        match (&self.record, self.action) {
            (_, Action::Same) => Ok(None),
            (Record::Product { want, have: None }, _) => {
                let (name, description) = (want.name.clone(), want.description.clone());
                let body = CreateProduct { name, description };
                let made = client.products().create(&body).await?;
                Ok(made.map(|made| made.data.id))
            }
            (Record::Product { want, have: Some(have) }, _) => {
                client.products().update(have.id, &product_update(want)).await.map(|_| None)
            }
            (Record::Plan { want, have: None, product: (_, id) }, _) => {
                let product = id.or(new_product).ok_or_else(|| {
                    Error::new(Exit::Internal, "internal", "The new product has no id.")
                })?;
                let body = plan_creation(want, product);
                client.plans().create(&body).await.map(|_| None)
            }
            (Record::Plan { want, have: Some(have), .. }, _) => {
                client.plans().update(have.id, &plan_update(want)).await.map(|_| None)
            }
        }
    }
}

fn product_update(want: &WantedProduct) -> UpdateProduct {
    let clear = want.description.is_none().then_some(ProductField::Description);
    UpdateProduct { name: None, description: want.description.clone(), clear: cleared([clear]) }
}

fn plan_creation(want: &WantedPlan, product_id: ProductId) -> CreatePlan {
    CreatePlan {
        product_id,
        name: want.name.clone(),
        description: want.description.clone(),
        max_seats: want.max_seats,
        expires_in_days: want.expires_in_days,
        features: Some(want.features.clone()),
    }
}

fn plan_update(want: &WantedPlan) -> UpdatePlan {
    UpdatePlan {
        name: None,
        description: want.description.clone(),
        max_seats: want.max_seats,
        expires_in_days: want.expires_in_days,
        features: Some(want.features.clone()),
        clear: cleared([
            want.description.is_none().then_some(PlanField::Description),
            want.max_seats.is_none().then_some(PlanField::MaxSeats),
            want.expires_in_days.is_none().then_some(PlanField::ExpiresInDays),
        ]),
    }
}
