//! The origin of a change: its actor, world and request.

use std::sync::Arc;

use common::{ActorType, EventActor, KeyId, Name, Open, SessionId};

use crate::store::Scope;

/// The author of a change.
#[derive(Clone, Debug)]
pub enum Actor {
    /// An API key. If the name is missing, the stored one is recorded.
    Key { id: KeyId, name: Option<Name> },
    /// A session in the dashboard, and the key that opened it.
    Session { id: SessionId, key: KeyId, name: Name },
    /// A licd command on the server's host.
    Host { command: &'static str },
    /// licd itself.
    System,
}

impl Actor {
    pub(super) fn kind(&self) -> ActorType {
        match self {
            Self::Key { .. } => ActorType::Key,
            Self::Session { .. } => ActorType::Session,
            Self::Host { .. } => ActorType::Host,
            Self::System => ActorType::System,
        }
    }

    /// The key that acts, itself or in a session.
    pub fn key(&self) -> Option<KeyId> {
        match self {
            Self::Key { id: key, .. } | Self::Session { key, .. } => Some(*key),
            Self::Host { .. } | Self::System => None,
        }
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        match self {
            Self::Session { id, .. } => Some(*id),
            Self::Key { .. } | Self::Host { .. } | Self::System => None,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Key { name, .. } => name.as_ref().map(Name::as_str),
            Self::Session { name, .. } => Some(name.as_str()),
            Self::Host { command } => Some(command),
            Self::System => None,
        }
    }
}

impl From<&Actor> for EventActor {
    fn from(actor: &Actor) -> Self {
        let key_id = actor.key();
        let id = actor.session().map(|id| id.to_string());
        let name = actor.name().map(str::to_owned);
        let id = id.or_else(|| key_id.map(|id| id.to_string()));
        Self { kind: Open::Known(actor.kind()), id, name, key_id }
    }
}

/// Origin of a change.
#[derive(Clone, Debug)]
pub struct Origin {
    pub actor: Actor,
    /// The world in which the actor acts.
    pub scope: Scope,
    /// The request that made the change, if there is one.
    pub request_id: Option<Arc<str>>,
}
