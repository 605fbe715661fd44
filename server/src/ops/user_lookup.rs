//! Finds users by what people type. Applications send exact ids, but people type extra blanks, an
//! email, a name, or other case.

use std::collections::HashSet;

use common::{ExternalId, Invalid, User};

use super::similar_users;
use super::view::View;
use crate::db::{self, Conn};
use crate::error::Error;
use crate::store::{Scope, phrases, users};

/// Maximum number of users in a text.
pub const MAX_USERS: usize = 100;

/// Users that a text names.
#[derive(Default)]
pub struct TypedUsers {
    /// All users in order, without duplicates.
    pub ids: Vec<ExternalId>,
    /// Users that do not exist.
    pub unknown: Vec<UnknownUser>,
}

impl TypedUsers {
    /// Returns the unknown ids, each with similar users.
    pub fn pairs(&self) -> impl Iterator<Item = (&ExternalId, Vec<&User>)> {
        self.unknown.iter().map(|unknown| (&unknown.id, unknown.similar.iter().collect()))
    }

    /// Returns the unknown ids, one per line.
    pub fn unknown_text(&self) -> String {
        let ids: Vec<_> = self.unknown.iter().map(|unknown| unknown.id.as_str()).collect();
        ids.join("\n")
    }

    /// Returns all users, one per line, with each unknown id replaced by the similar user. `None`
    /// if an unknown id has no similar user or several.
    pub fn corrected(&self) -> Option<String> {
        let meant = |id: &ExternalId| {
            let unknown = self.unknown.iter().find(|unknown| unknown.id == *id);
            match unknown.map(|unknown| unknown.similar.as_slice()) {
                None => Some(id.to_string()),
                Some([one]) => Some(one.external_id.to_string()),
                Some(_) => None,
            }
        };
        let users: Option<Vec<_>> = self.ids.iter().map(meant).collect();
        users.map(|users| users.join("\n"))
    }

    /// Whether a person has confirmed all unknown ids, which a form showed as
    /// [`unknown_text`](Self::unknown_text).
    pub fn are_confirmed(&self, seen: &str) -> bool {
        let seen: HashSet<&str> = seen.lines().collect();
        self.unknown.iter().all(|unknown| seen.contains(unknown.id.as_str()))
    }
}

/// An id that no user has.
pub struct UnknownUser {
    pub id: ExternalId,
    /// Similar users, the closest first.
    pub similar: Vec<User>,
}

/// Reads a text with one user per line, or several separated by commas. Commas and surrounding
/// blanks belong to an id only if such a user exists. `field` is the caller's name for the text.
pub async fn several(view: View, field: &str, text: &str) -> Result<TypedUsers, Error> {
    let mut reader = Reader { conn: view.read().await?, scope: view.scope, field };
    let mut typed = reader.lines(text).await?;
    let mut seen = HashSet::new();
    typed.ids.retain(|id| seen.insert(id.clone()));
    let mut seen = HashSet::new();
    typed.unknown.retain(|unknown| seen.insert(unknown.id.clone()));
    Ok(typed)
}

/// Reads a text with one user. Commas belong to it.
pub async fn one(view: View, field: &str, text: &str) -> Result<(ExternalId, TypedUsers), Error> {
    let mut reader = Reader { conn: view.read().await?, scope: view.scope, field };
    let mut typed = TypedUsers::default();
    let id = match reader.known(text).await? {
        Some(id) => id,
        None => reader.add(&mut typed, text.trim()).await?,
    };
    Ok((id, typed))
}

/// Returns the existing user that a text names, as [`one`] reads it.
pub async fn existing(view: View, text: &str) -> Result<Option<User>, Error> {
    let mut reader = Reader { conn: view.read().await?, scope: view.scope, field: "" };
    let Some(id) = reader.known(text).await? else { return Ok(None) };
    Ok(users::find_external(&mut reader.conn, view.scope, &id).await?)
}

struct Reader<'a> {
    conn: Conn,
    scope: Scope,
    field: &'a str,
}

impl Reader<'_> {
    async fn lines(&mut self, text: &str) -> Result<TypedUsers, Error> {
        let mut typed = TypedUsers::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            // A comma belongs to the id if such a user exists.
            let whole = self.known(line).await?;
            let parts = match &whole {
                Some(id) => vec![id.as_str()],
                None => line.split(',').map(str::trim).filter(|it| !it.is_empty()).collect(),
            };
            for part in parts {
                self.add(&mut typed, part).await?;
            }
        }
        Ok(typed)
    }

    /// Returns the user with exactly this id, or else with this id without surrounding blanks.
    async fn known(&mut self, text: &str) -> db::Result<Option<ExternalId>> {
        for text in [text, text.trim()] {
            let Ok(id) = text.parse() else { continue };
            if users::find_external(&mut self.conn, self.scope, &id).await?.is_some() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    async fn add(&mut self, typed: &mut TypedUsers, text: &str) -> Result<ExternalId, Error> {
        let id: ExternalId = text.parse().map_err(|rule: Invalid| {
            Error::invalid(self.field, format!("The external id {rule}."))
        })?;
        if typed.ids.len() >= MAX_USERS {
            let rule = format!("At most {MAX_USERS} users can be assigned at the same time.");
            return Err(Error::invalid(self.field, rule));
        }
        typed.ids.push(id.clone());
        if users::find_external(&mut self.conn, self.scope, &id).await?.is_none() {
            let similar = similar_users::find(&mut self.conn, self.scope, id.as_str()).await?;
            typed.unknown.push(UnknownUser { id: id.clone(), similar });
        }
        Ok(id)
    }
}

/// Whether a text is the user's id, email or name. Case, accents and punctuation are ignored.
pub fn is_called(user: &User, text: &str) -> bool {
    phrases::phrase(text).is_some_and(|text| phrases::names(user).contains(&text))
}
