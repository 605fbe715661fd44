//! A waiting request to validate a user.

use std::sync::Arc;

use common::{ExternalId, ProductId};

use crate::auth::gate::CallerInfo;
use crate::store::keys::Hash;

#[derive(Clone)]
pub struct ValidationRequest {
    /// The hash of its key.
    pub key: Hash,
    /// Filled in once the batch has looked up the key.
    pub caller: CallerInfo,
    /// The request's id, recorded in events.
    pub request_id: Arc<str>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}
