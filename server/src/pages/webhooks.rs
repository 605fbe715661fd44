//! Webhooks: the list with the form for a new one, and the page that shows a new secret once.

mod webhook;

use std::str::FromStr;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use common::{CreateWebhook, CreatedWebhook, EventPattern, Invalid, Line, Webhook, WebhookState};
use serde::{Deserialize, Serialize};

use super::{
    Badge, Editor, FormState, Layout, Notice, Stop, Tone, Viewer, Visitor, all, filters, once,
    optional, page, required,
};
use crate::error::Error;
use crate::http::extract::Form;
use crate::ops::outcome::Created;
use crate::ops::webhooks;

pub use webhook::{act, get, update};

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    layout: Layout,
    webhooks: Vec<Webhook>,
    form: FormState<WebhookForm>,
    once: String,
}

pub async fn list(Viewer(visitor): Viewer) -> Result<Response, Error> {
    show_list(visitor, FormState::default()).await
}

async fn show_list(visitor: Visitor, form: FormState<WebhookForm>) -> Result<Response, Error> {
    let webhooks = webhooks::all(visitor.view(), &visitor.app.secrets, visitor.key.role).await?;
    let (layout, once, status) = (visitor.layout, once(), form.error.status());
    page(status, &WebhooksPage { layout, webhooks, form, once })
}

/// Whether events reach the receiver.
pub fn state(webhook: &Webhook) -> Badge {
    let (tone, word) = match webhook.state {
        _ if webhook.secret_missing => (Tone::Bad, "secret missing"),
        WebhookState::Healthy => (Tone::Ok, "healthy"),
        WebhookState::Failing => (Tone::Bad, "failing"),
        WebhookState::Disabled => (Tone::Warn, "disabled"),
    };
    Badge { tone, word }
}

fn types(webhook: &Webhook) -> String {
    webhook.types.as_ref().map_or_else(|| "all".to_owned(), |types| types.join(", "))
}

/// The form for a webhook, new or existing.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct WebhookForm {
    url: String,
    /// Separated by commas; empty: all.
    types: String,
    description: String,
}

impl WebhookForm {
    fn read(&self) -> Result<CreateWebhook, Error> {
        all! {
            url = required("url", "The address", &self.url),
            types = optional::<Types>("types", "Each type", &self.types),
            description = optional::<Line>("description", "The description", &self.description),
        }
        Ok(CreateWebhook { url, types: types.map(|types| types.0), description, secret: None })
    }
}

struct Types(Vec<EventPattern>);

impl FromStr for Types {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let words = text.split(|it: char| it == ',' || it.is_whitespace());
        words.filter(|word| !word.is_empty()).map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

#[derive(Template)]
#[template(path = "webhook_created.html")]
struct CreatedPage {
    layout: Layout,
    created: CreatedWebhook,
    is_rolled: bool,
}

/// The response is the only one that ever shows the secret.
pub async fn create(
    Editor(visitor): Editor,
    Form { fields, idempotency, .. }: Form<WebhookForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &WebhookForm| {
        let new = fields.read()?;
        let create = |change| webhooks::create(change, &visitor.app.webhooks, new);
        let Created(created) = visitor.secret(idempotency, fields, elsewhere, create).await?;
        shown(visitor, created, false)
    };
    visitor.submit(fields, create, show_list).await
}

fn shown(visitor: &Visitor, created: CreatedWebhook, is_rolled: bool) -> Result<Response, Stop> {
    let layout = visitor.layout.clone();
    Ok(page(StatusCode::CREATED, &CreatedPage { layout, created, is_rolled })?)
}

fn elsewhere(id: &str) -> (String, Notice) {
    (format!("/webhooks/{id}"), Notice::WebhookSecretShownOnce)
}
