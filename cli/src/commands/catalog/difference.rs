//! Compares the server's catalog with the file, as steps in executable order: a product before its
//! plans. Both sides are compared as JSON, so that a field stands once, in the file's own types.

use std::cell::Cell;
use std::fmt;

use common::{ProductId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Catalog;
use super::manifest::{Manifest, only};
use crate::client::Client;
use crate::commands::prelude::*;
use crate::output::shown;

/// The action that a record needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
    Same,
    /// The file does not contain the record, so applying the file does not change it.
    Unlisted,
}

impl Action {
    /// The sign of a line, and the word in JSON.
    pub fn names(self) -> (char, &'static str) {
        match self {
            Self::Create => ('+', "create"),
            Self::Update => ('~', "update"),
            Self::Same => ('=', "same"),
            Self::Unlisted => ('?', "unlisted"),
        }
    }

    /// Whether applying the file sends a request.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

/// One record and its action.
pub struct CatalogStep {
    pub action: Action,
    pub kind: &'static str,
    /// The name, behind that of its product if it is a plan.
    pub title: String,
    /// The id of the record on the service.
    pub id: Option<String>,
    /// The fields that differ, with what they are and what the file wants.
    pub changes: Vec<(String, Value, Value)>,
    /// Fields in the file. A field that is null is cleared.
    fields: Map<String, Value>,
    /// The product of a plan, once it exists.
    product: Option<ProductId>,
    /// Time of the record's last change when it was compared.
    seen: Option<Timestamp>,
}

/// The steps that turn the catalog into the file's content, and what the file does not name.
pub fn between(catalog: &Catalog, manifest: &Manifest) -> Result<Vec<CatalogStep>> {
    let mut steps = Vec::new();
    for wanted in &manifest.products {
        let same_name = catalog.products.iter().filter(|have| have.name == wanted.name);
        let have = only("product", wanted.name.as_str(), same_name)?;
        let product = have.map(|have| have.id);
        let title = wanted.name.to_string();
        let seen = have.map(|have| have.updated_at);
        steps.push(CatalogStep::new("product", title, wanted, have, (None, seen)));
        let own = || catalog.plans.iter().filter(|have| Some(have.product_id) == product);
        for plan in &wanted.plans {
            let same_name = own().filter(|have| have.name == plan.name);
            let have = only("plan", plan.name.as_str(), same_name)?;
            let title = format!("{} · {}", wanted.name, plan.name);
            let seen = have.map(|have| have.updated_at);
            steps.push(CatalogStep::new("plan", title, plan, have, (product, seen)));
        }
        let unlisted = own().filter(|have| wanted.plans.iter().all(|plan| plan.name != have.name));
        let title = |name| format!("{} · {name}", wanted.name);
        steps.extend(unlisted.map(|it| CatalogStep::unlisted("plan", title(&it.name), &it.id)));
    }
    let is_listed = |name| manifest.products.iter().any(|wanted| wanted.name == name);
    let unlisted = catalog.products.iter().filter(|have| !is_listed(have.name.clone()));
    steps.extend(unlisted.map(|it| CatalogStep::unlisted("product", it.name.to_string(), &it.id)));
    Ok(steps)
}

impl CatalogStep {
    fn new<T: Serialize>(
        kind: &'static str,
        title: String,
        wanted: &impl Serialize,
        have: Option<&T>,
        (product, seen): (Option<ProductId>, Option<Timestamp>),
    ) -> Self {
        let json = serde_json::to_value(wanted).unwrap_or_default();
        let mut fields = json.as_object().cloned().unwrap_or_default();
        fields.remove("plans");
        // No features are an empty list, which needs no clearing.
        if let Some(features @ Value::Null) = fields.get_mut("features") {
            *features = json!([]);
        }
        let have = have.map(|have| serde_json::to_value(have).unwrap_or_default());
        let of = |field: &str| have.as_ref().and_then(|have| have.get(field)).cloned();
        let compared = fields
            .iter()
            .map(|(field, want)| (field.clone(), of(field).unwrap_or_default(), want.clone()));
        let changes: Vec<_> =
            compared.filter(|(_, is, want)| have.is_some() && is != want).collect();
        let action = match (&have, changes.as_slice()) {
            (None, _) => Action::Create,
            (Some(_), []) => Action::Same,
            (Some(_), _) => Action::Update,
        };
        let id = of("id").and_then(|id| id.as_str().map(str::to_owned));
        Self { action, kind, title, id, changes, fields, product, seen }
    }

    /// The step for a record that the file does not name.
    fn unlisted(kind: &'static str, title: String, id: &impl ToString) -> Self {
        let (action, id, changes) = (Action::Unlisted, Some(id.to_string()), Vec::new());
        let fields = Map::new();
        Self { action, kind, title, id, changes, fields, product: None, seen: None }
    }

    /// The step with its sign and changes, as a person reads it.
    pub fn line(&self) -> String {
        let line = format!("{} {self}", self.action.names().0);
        let changes = self.changes.iter().map(|(field, have, want)| {
            format!("{field}: {} → {}", word(field, have), word(field, want))
        });
        match self.action {
            Action::Update => format!("{line} ({})", changes.collect::<Vec<_>>().join("; ")),
            Action::Unlisted => format!("{line} (only on the server)"),
            Action::Create if self.kind == "plan" => format!("{line} ({})", self.terms()),
            Action::Create | Action::Same => line,
        }
    }

    /// Returns the terms that licenses of a new plan will have.
    fn terms(&self) -> String {
        const ALWAYS: [&str; 3] = ["maxSeats", "expiresInDays", "features"];
        let given = self.fields.iter().filter(|(field, value)| {
            !value.is_null() && !["name", "description"].contains(&field.as_str())
        });
        let others = given.map(|(field, _)| field.as_str()).filter(|it| !ALWAYS.contains(it));
        let terms = ALWAYS.into_iter().chain(others).map(|field| {
            let value = self.fields.get(field).unwrap_or(&Value::Null);
            format!("{field}: {}", word(field, value))
        });
        terms.collect::<Vec<_>>().join("; ")
    }

    /// Whether the step is for a plan whose product does not exist before.
    pub fn needs_new_product(&self) -> bool {
        self.kind == "plan" && self.product.is_none()
    }

    /// Performs the step and returns the id of its record. `new_product` is the last one created.
    pub async fn take(
        &self,
        client: &Client,
        new_product: &Cell<Option<ProductId>>,
    ) -> Result<Option<String>> {
        let is_plan = self.kind == "plan";
        Ok(match (&self.id, is_plan) {
            (None, false) => {
                let made = client.products().create(&self.creation(None)?).await?;
                new_product.set(made.as_ref().map(|made| made.data.id));
                made.map(|made| made.data.id.to_string())
            }
            (None, true) => {
                let body = self.creation(self.product.or(new_product.get()))?;
                client.plans().create(&body).await?.map(|made| made.data.id.to_string())
            }
            (Some(id), false) => {
                let now = client.products().update(id, &self.update()?, self.seen).await?;
                now.map(|now| now.data.id.to_string())
            }
            (Some(id), true) => {
                let now = client.plans().update(id, &self.update()?, self.seen).await?;
                now.map(|now| now.data.id.to_string())
            }
        })
    }

    fn creation<T: DeserializeOwned>(&self, product: Option<ProductId>) -> Result<T> {
        let mut body = self.fields.clone();
        body.retain(|_, value| !value.is_null());
        body.extend(product.map(|id| ("productId".to_owned(), json!(id))));
        serde_json::from_value(body.into()).map_err(Error::internal)
    }

    fn update<T: DeserializeOwned>(&self) -> Result<T> {
        let given = self.fields.iter().filter(|(field, _)| *field != "name");
        let (cleared, set): (Vec<_>, Vec<_>) = given.partition(|(_, value)| value.is_null());
        let mut body: Map<String, Value> =
            set.into_iter().map(|(field, value)| (field.clone(), value.clone())).collect();
        if !cleared.is_empty() {
            let fields = cleared.into_iter().map(|(field, _)| field.as_str());
            body.insert("clear".to_owned(), fields.collect());
        }
        serde_json::from_value(body.into()).map_err(Error::internal)
    }
}

impl fmt::Display for CatalogStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.title)
    }
}

/// The value of a field, as a person reads it.
fn word(field: &str, value: &Value) -> String {
    match (value, field) {
        (Value::Null, "maxSeats") => "no limit".to_owned(),
        (Value::Null, "expiresInDays") => "no expiry".to_owned(),
        _ => shown(value),
    }
}
