//! The page of a key: its use, and the forms that roll and revoke it.

use askama::Template;
use axum::response::Response;
use common::{Key, KeyId, KeyState, OverlapSeconds, RevokeKey, RollKey, Timestamp};
use serde::{Deserialize, Serialize};

use super::{elsewhere, show_created, state};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::keys::KeyUses;
use crate::ops::outcome::Created;
use crate::ops::{keys, sessions};
use crate::pages::{
    Editor, FormError, FormState, Layout, Notice, OVERLAPS, Question, Stop, Viewer, Visitor,
    filters, once, page, required,
};
use crate::store::sessions::ListedSession;

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    layout: Layout,
    key: Key,
    uses: KeyUses,
    sessions: Vec<ListedSession>,
    /// The keys that this key made, directly or not, and that still work.
    made: Vec<Key>,
    is_own: bool,
    once: String,
    revoke_error: FormError,
    roll_error: FormError,
}

impl KeyPage {
    fn may_roll(&self) -> bool {
        self.layout.may_act() && self.key.state(Timestamp::now()) == KeyState::Valid
    }
}

pub async fn get(Viewer(visitor): Viewer, Id(id): Id<KeyId>) -> Result<Response, Error> {
    show(visitor, id, FormError::default(), FormError::default()).await
}

async fn show(
    visitor: Visitor,
    id: KeyId,
    revoke_error: FormError,
    roll_error: FormError,
) -> Result<Response, Error> {
    let view = visitor.view();
    let key = keys::get(view.clone(), id).await?;
    let uses = keys::uses(view.clone(), id).await?;
    let sessions = sessions::of_key(view.clone(), id).await?;
    let mut made = keys::made_by(view, id).await?;
    made.retain(|key| key.state(Timestamp::now()) == KeyState::Valid);
    let is_own = visitor.key.id == id;
    let (layout, once) = (visitor.layout, once());
    let status = revoke_error.status().max(roll_error.status());
    let shown =
        KeyPage { layout, key, uses, sessions, made, is_own, once, revoke_error, roll_error };
    page(status, &shown)
}

/// The form that replaces a key with a new one.
#[derive(Deserialize, Serialize)]
pub struct RollForm {
    /// One of [`OVERLAPS`].
    overlap: String,
    /// Whether the visitor has confirmed that the old key stops immediately.
    #[serde(default)]
    confirmed: String,
}

/// Asks before the old key stops immediately.
async fn ask_about_roll(visitor: &Visitor, id: KeyId, form: &RollForm) -> Result<(), Stop> {
    if form.overlap.trim() != "0" || !form.confirmed.is_empty() {
        return Ok(());
    }
    // A key that does not exist is not asked about.
    keys::get(visitor.view(), id).await?;
    let signs_out = if visitor.key.id == id { " You will be signed out." } else { "" };
    let sentence = format!(
        "Everything that uses it is refused until it has the new one.{signs_out} This cannot be \
         undone."
    );
    let question = Question::new("Stop the old key immediately?", sentence, format!("/keys/{id}"));
    let confirmed = RollForm { overlap: form.overlap.clone(), confirmed: "yes".to_owned() };
    let path = format!("/keys/{id}/roll");
    Err(question.choice("Roll and stop the old key", path, &confirmed)?.dangerous().into())
}

/// The response is the only one that ever shows the new key.
pub async fn roll(
    Editor(visitor): Editor,
    Id(id): Id<KeyId>,
    Form { fields, idempotency, .. }: Form<RollForm>,
) -> Result<Response, Error> {
    let roll = async |visitor: &Visitor, fields: &RollForm| {
        ask_about_roll(visitor, id, fields).await?;
        let overlap = required::<OverlapSeconds>("overlap", "The overlap", &fields.overlap)?;
        let roll = RollKey { overlap_seconds: Some(overlap) };
        let change = |change| keys::roll(change, id, roll);
        let Created(created) = visitor.secret(idempotency, fields, elsewhere, change).await?;
        let end = roll.end(created.record.created_at, created.record.expires_at);
        Ok(show_created(visitor, created, Some(end))?)
    };
    let again = |visitor, form: FormState<_>| show(visitor, id, FormError::default(), form.error);
    visitor.submit(fields, roll, again).await
}

/// The form that revokes a key.
#[derive(Deserialize)]
pub struct RevokeForm {
    /// Not empty to revoke also the keys that the key made.
    #[serde(default)]
    made: String,
}

pub async fn revoke(
    Editor(visitor): Editor,
    Id(id): Id<KeyId>,
    Form { fields, .. }: Form<RevokeForm>,
) -> Result<Response, Error> {
    let revoke = async |visitor: &Visitor, fields: &RevokeForm| {
        let made = Some(!fields.made.is_empty());
        keys::revoke(visitor.change(None).await?, id, RevokeKey { made }).await?;
        Ok(visitor.redirect("/keys", Notice::KeyRevoked))
    };
    let again = |visitor, form: FormState<_>| show(visitor, id, form.error, FormError::default());
    visitor.submit(fields, revoke, again).await
}
