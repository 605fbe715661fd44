//! A request to validate a user, as it waits.

use std::sync::Arc;

use common::{ExternalId, ProductId};

use super::gate::CallerInfo;
use crate::store::keys::Hash;

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
