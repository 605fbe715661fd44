//! A request to validate a user, as it waits and once its key is admitted.

use std::sync::Arc;

use common::{ExternalId, KeyId, ProductId};

use super::gate::CallerInfo;
use crate::events::{Actor, Origin};
use crate::store::Scope;
use crate::store::keys::Hash;
use crate::store::validations::BatchSlot;

/// A request to validate a user.
#[derive(Clone)]
pub struct ValidationRequest {
    /// The hash of its key.
    pub key: Hash,
    /// The key's record, once the batch has looked it up.
    pub caller: CallerInfo,
    /// The request's id, which events carry.
    pub request_id: Arc<str>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

/// A request whose key is valid and within its rate.
#[derive(Clone, Copy)]
pub struct AdmittedRequest<'a> {
    pub slot: BatchSlot,
    pub key: KeyId,
    pub scope: Scope,
    pub request: &'a ValidationRequest,
}

impl<'a> AdmittedRequest<'a> {
    /// The user in the world of the key.
    pub fn user(&self) -> (Scope, &'a ExternalId) {
        (self.scope, &self.request.user)
    }

    /// The origin of what is written for the request.
    pub fn origin(&self) -> Origin {
        let request_id = Some(self.request.request_id.clone());
        // The key's name was not read, and is recorded from what is stored.
        Origin { actor: Actor::Key { id: self.key, name: None }, scope: self.scope, request_id }
    }
}
