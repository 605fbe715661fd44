//! A request to validate a user, as it waits in the queue.

use std::sync::Arc;

use common::{ExternalId, ProductId};

use crate::auth::gate::CallerInfo;
use crate::store::keys::Hash;

#[derive(Clone)]
pub struct ValidationRequest {
    /// Hash of the key.
    pub key: Hash,
    /// Filled in once the batch has looked up the key.
    pub caller: CallerInfo,
    /// Id of the request, which its events record.
    pub request_id: Arc<str>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}
