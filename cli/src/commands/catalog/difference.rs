//! Compares the server's catalog with the file, as steps in executable order: a product before its
//! plans.

use std::cell::Cell;
use std::fmt;

use common::{
    CreatePlan, CreateProduct, Features, Plan, PlanField, Product, ProductField, ProductId,
    UpdatePlan, UpdateProduct,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::Catalog;
use super::manifest::{Manifest, WantedPlan, WantedProduct, only};
use crate::client::{ApiRecord, Client};
use crate::error::{Error, Exit, Result};
use crate::noun::{Edit, cleared};

/// The action that a record needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
    Same,
    /// The file does not name the record, so that applying it leaves the record alone.
    Unlisted,
}

impl Action {
    pub fn sign(self) -> char {
        match self {
            Self::Create => '+',
            Self::Update => '~',
            Self::Same => '=',
            Self::Unlisted => '?',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Same => "same",
            Self::Unlisted => "unlisted",
        }
    }

    /// Whether applying the file sends a request.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

/// A field that differs from the file.
pub struct FieldChange {
    pub field: &'static str,
    pub have: Value,
    pub want: Value,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [have, want] = [&self.have, &self.want].map(|value| word(self.field, value));
        write!(f, "{}: {have} → {want}", self.field)
    }
}

/// The value of a field, as a person reads it.
fn word(field: &str, value: &Value) -> String {
    match (value, field) {
        (Value::Null, "maxSeats") => "no limit".to_owned(),
        (Value::Null, "expiresInDays") => "no expiry".to_owned(),
        (Value::Null, _) => "none".to_owned(),
        (Value::String(text), _) => text.clone(),
        (Value::Array(values), _) if values.is_empty() => "none".to_owned(),
        (Value::Array(values), _) => {
            values.iter().map(|value| word(field, value)).collect::<Vec<_>>().join(",")
        }
        (other, _) => other.to_string(),
    }
}

/// One record and its action.
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
    UnlistedProduct(&'a ApiRecord<Product>),
    /// A plan that the file does not name, of a product that it names.
    UnlistedPlan(&'a WantedProduct, &'a ApiRecord<Plan>),
}

/// The steps that turn the catalog into the file's content, and what the file does not name.
pub fn between<'a>(catalog: &'a Catalog, manifest: &'a Manifest) -> Result<Vec<CatalogStep<'a>>> {
    let mut steps = Vec::new();
    for wanted in &manifest.products {
        let same_name = catalog.products.iter().filter(|have| have.name == wanted.name);
        let have = only("product", wanted.name.as_str(), same_name)?;
        let changes = have.map_or_else(Vec::new, |have| product_changes(have, wanted));
        let record = Record::Product { want: wanted, have };
        steps.push(CatalogStep::new(record, have.is_some(), changes));
        let product = have.map(|have| have.id);
        let own = || catalog.plans.iter().filter(|have| Some(have.product_id) == product);
        for plan in &wanted.plans {
            let same_name = own().filter(|have| have.name == plan.name);
            let have = only("plan", plan.name.as_str(), same_name)?;
            let changes = have.map_or_else(Vec::new, |have| plan_changes(have, plan));
            let record = Record::Plan { want: plan, have, product: (wanted, product) };
            steps.push(CatalogStep::new(record, have.is_some(), changes));
        }
        let unlisted = own().filter(|have| wanted.plans.iter().all(|plan| plan.name != have.name));
        steps.extend(unlisted.map(|have| CatalogStep::of(Record::UnlistedPlan(wanted, have))));
    }
    let is_listed =
        |have: &ApiRecord<Product>| manifest.products.iter().any(|it| it.name == have.name);
    let unlisted = catalog.products.iter().filter(|have| !is_listed(have));
    steps.extend(unlisted.map(|have| CatalogStep::of(Record::UnlistedProduct(have))));
    Ok(steps)
}

/// The change of a field; none when the file leaves it out, or has the same.
fn change<T: PartialEq + Serialize>(
    field: &'static str,
    have: Option<&T>,
    want: Option<&Edit<T>>,
) -> Option<FieldChange> {
    let want = match want? {
        Edit::Set(value) => Some(value),
        Edit::Clear => None,
    };
    let json = |value: Option<&T>| serde_json::to_value(value).unwrap_or_default();
    (have != want).then(|| FieldChange { field, have: json(have), want: json(want) })
}

fn product_changes(have: &Product, want: &WantedProduct) -> Vec<FieldChange> {
    let description = change("description", have.description.as_ref(), want.description.as_ref());
    description.into_iter().collect()
}

fn plan_changes(have: &Plan, want: &WantedPlan) -> Vec<FieldChange> {
    let features = features(want).map(Edit::Set);
    [
        change("description", have.description.as_ref(), want.description.as_ref()),
        change("maxSeats", have.max_seats.as_ref(), want.max_seats.as_ref()),
        change("expiresInDays", have.expires_in_days.as_ref(), want.expires_in_days.as_ref()),
        change("features", Some(&have.features), features.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The features of the file, where null means that there are none.
fn features(want: &WantedPlan) -> Option<Features> {
    want.features.as_ref().map(|edit| match edit {
        Edit::Set(features) => features.clone(),
        Edit::Clear => Features::default(),
    })
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

    /// The step for a record that the file does not name.
    fn of(record: Record<'a>) -> Self {
        Self { action: Action::Unlisted, changes: Vec::new(), record }
    }

    pub fn kind(&self) -> &'static str {
        match self.record {
            Record::Product { .. } | Record::UnlistedProduct(_) => "product",
            Record::Plan { .. } | Record::UnlistedPlan(..) => "plan",
        }
    }

    pub fn title(&self) -> String {
        match &self.record {
            Record::Product { want, .. } => want.name.to_string(),
            Record::Plan { want, product, .. } => format!("{} · {}", product.0.name, want.name),
            Record::UnlistedProduct(have) => have.name.to_string(),
            Record::UnlistedPlan(product, have) => format!("{} · {}", product.name, have.name),
        }
    }

    /// The step with its sign and changes, as a person reads it.
    pub fn line(&self) -> String {
        let line = format!("{} {self}", self.action.sign());
        let changes: Vec<String> = self.changes.iter().map(FieldChange::to_string).collect();
        match (self.action, &self.record) {
            (Action::Update, _) => format!("{line} ({})", changes.join("; ")),
            (Action::Unlisted, _) => format!("{line} (only on the server)"),
            (Action::Create, Record::Plan { want, .. }) => format!("{line} ({})", settings(want)),
            (Action::Create | Action::Same, _) => line,
        }
    }

    /// The id of the record on the service.
    pub fn id(&self) -> Option<String> {
        match &self.record {
            Record::Product { have, .. } => have.map(|have| have.id.to_string()),
            Record::Plan { have, .. } => have.map(|have| have.id.to_string()),
            Record::UnlistedProduct(have) => Some(have.id.to_string()),
            Record::UnlistedPlan(_, have) => Some(have.id.to_string()),
        }
    }

    /// Whether the step is for a plan whose product does not exist before.
    pub fn needs_new_product(&self) -> bool {
        matches!(self.record, Record::Plan { have: None, product: (_, None), .. })
    }

    /// Performs the step and returns the id of its record. `new_product` is the last one created.
    pub async fn take(
        &self,
        client: &Client,
        new_product: &Cell<Option<ProductId>>,
    ) -> Result<Option<String>> {
        match &self.record {
            Record::Product { want, have: None } => {
                let description = Edit::value(&want.description);
                let body = CreateProduct { name: want.name.clone(), description };
                let made = client.products().create(&body).await?.map(|made| made.data.id);
                new_product.set(made);
                Ok(made.map(|id| id.to_string()))
            }
            Record::Product { want, have: Some(have) } => {
                let (products, body) = (client.products(), product_update(want));
                let now = products.update(have.id, &body, Some(have.updated_at)).await?;
                Ok(now.map(|now| now.data.id.to_string()))
            }
            Record::Plan { want, have: None, product: (_, id) } => {
                let product = id.or(new_product.get()).ok_or_else(|| {
                    Error::new(Exit::Internal, "internal", "The new product has no id.")
                })?;
                let made = client.plans().create(&plan_creation(want, product)).await?;
                Ok(made.map(|made| made.data.id.to_string()))
            }
            Record::Plan { want, have: Some(have), .. } => {
                let (plans, body) = (client.plans(), plan_update(want));
                let now = plans.update(have.id, &body, Some(have.updated_at)).await?;
                Ok(now.map(|now| now.data.id.to_string()))
            }
            Record::UnlistedProduct(_) | Record::UnlistedPlan(..) => Ok(None),
        }
    }
}

impl fmt::Display for CatalogStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.title())
    }
}

/// What licenses of a new plan will have.
fn settings(want: &WantedPlan) -> String {
    let settings = [
        ("maxSeats", json!(Edit::value(&want.max_seats))),
        ("expiresInDays", json!(Edit::value(&want.expires_in_days))),
        ("features", json!(features(want))),
    ];
    let words = settings.iter().map(|(field, value)| format!("{field}: {}", word(field, value)));
    words.collect::<Vec<_>>().join("; ")
}

fn product_update(want: &WantedProduct) -> UpdateProduct {
    let clear = Edit::clears(&want.description, ProductField::Description);
    let description = Edit::value(&want.description);
    UpdateProduct { name: None, description, clear: cleared([clear]) }
}

fn plan_creation(want: &WantedPlan, product_id: ProductId) -> CreatePlan {
    CreatePlan {
        product_id,
        name: want.name.clone(),
        description: Edit::value(&want.description),
        max_seats: Edit::value(&want.max_seats),
        expires_in_days: Edit::value(&want.expires_in_days),
        features: features(want),
    }
}

fn plan_update(want: &WantedPlan) -> UpdatePlan {
    UpdatePlan {
        name: None,
        description: Edit::value(&want.description),
        max_seats: Edit::value(&want.max_seats),
        expires_in_days: Edit::value(&want.expires_in_days),
        features: features(want),
        clear: cleared([
            Edit::clears(&want.description, PlanField::Description),
            Edit::clears(&want.max_seats, PlanField::MaxSeats),
            Edit::clears(&want.expires_in_days, PlanField::ExpiresInDays),
        ]),
    }
}
