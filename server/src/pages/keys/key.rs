//! The page of a key: how much it is used, and the forms that roll and revoke it.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{Key, KeyId, KeyState, OverlapSeconds, RollKey, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::fields::{once, required};
use super::super::filters;
use super::super::form::Mistake;
use super::super::html::page;
use super::super::layout::{Layout, Notice};
use super::super::question::Question;
use super::super::visitor::{Editor, Viewer, Visitor};
use super::{show_created, state};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::keys::KeyUses;
use crate::ops::outcome::Created;
use crate::ops::{keys, sessions};
use crate::store::sessions::ListedSession;

/// The choices for how long a key that is rolled stays valid: in the form, and in words.
const OVERLAPS: [(&str, &str); 3] =
    [("86400", "24 hours"), ("604800", "7 days"), ("0", "not at all")];

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    layout: Layout,
    key: Key,
    uses: KeyUses,
    sessions: Vec<ListedSession>,
    is_own: bool,
    once: String,
    mistake: Mistake,
    roll_mistake: Mistake,
}

impl KeyPage {
    /// Whether the key is in force, so that it can have a successor.
    fn may_be_rolled(&self) -> bool {
        self.layout.may_act() && self.key.state(Timestamp::now()) == KeyState::Valid
    }
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<KeyId>,
) -> Result<Response, Error> {
    show(&app, visitor, id, Mistake::default(), Mistake::default()).await
}

async fn show(
    app: &App,
    visitor: Visitor,
    id: KeyId,
    mistake: Mistake,
    roll_mistake: Mistake,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let key = keys::get(view.clone(), id).await?;
    let uses = keys::uses(view.clone(), id).await?;
    let sessions = sessions::of_key(view, id).await?;
    let is_own = visitor.key.id == id;
    let (layout, once) = (visitor.layout, once());
    let status = mistake.status().max(roll_mistake.status());
    let shown = KeyPage { layout, key, uses, sessions, is_own, once, mistake, roll_mistake };
    page(status, &shown)
}

/// The form that replaces a key by a new one.
#[derive(Deserialize, Serialize)]
pub struct RollForm {
    /// One of [`OVERLAPS`].
    overlap: String,
    /// Whether the question was answered that [`ask_about_roll`] asks.
    #[serde(default)]
    confirmed: String,
}

/// A key that stops immediately is asked about, as one that is revoked.
fn ask_about_roll(
    visitor: &Visitor,
    id: KeyId,
    form: &RollForm,
) -> Result<Option<Question>, Error> {
    if form.overlap.trim() != "0" || !form.confirmed.is_empty() {
        return Ok(None);
    }
    let signs_out = if visitor.key.id == id { " You will be signed out." } else { "" };
    let sentence = format!(
        "Everything that uses it is refused until it has the new one.{signs_out} This cannot be \
         undone."
    );
    let question = Question::new("Stop the old key immediately?", sentence, format!("/keys/{id}"));
    let confirmed = RollForm { overlap: form.overlap.clone(), confirmed: "yes".to_owned() };
    let question =
        question.choice("Roll and stop the old key", format!("/keys/{id}/roll"), &confirmed)?;
    Ok(Some(question.dangerous()))
}

/// Its answer shows the new key.
pub async fn roll(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<KeyId>,
    form: Form<RollForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    if let Some(question) = ask_about_roll(&visitor, id, &fields)? {
        // Nothing is asked about a key that is not there.
        keys::get(app.ops.view(visitor.scope), id).await?;
        return question.ask(visitor.layout);
    }
    let rolled = Box::pin(async {
        let overlap = required::<OverlapSeconds>("overlap", "The overlap", &fields.overlap)?;
        let roll = RollKey { overlap_seconds: Some(overlap) };
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        let Created(created) = keys::roll(change, id, &roll).await?;
        let end = roll.end(created.record.created_at, created.record.expires_at);
        Ok((created, end))
    });
    match rolled.await {
        Ok((created, end)) => show_created(visitor, created, Some(end)),
        Err(Error::ShownOnce(id)) => visitor.go_to(&format!("/keys/{id}"), Notice::KeyShownOnce),
        Err(error) => {
            Box::pin(show(&app, visitor, id, Mistake::default(), Mistake::of(error)?)).await
        }
    }
}

pub async fn revoke(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<KeyId>,
) -> Result<Response, Error> {
    let revoked = async { keys::revoke(visitor.change(&app, None).await?, id).await };
    match revoked.await {
        Ok(_) => visitor.go_to("/keys", Notice::KeyRevoked),
        Err(error) => {
            Box::pin(show(&app, visitor, id, Mistake::of(error)?, Mistake::default())).await
        }
    }
}
