//! The admission of a batch of validations: reads what they need, checks their keys, and leaves the
//! decision about those with a valid key to `batch`.

use std::sync::Arc;

use common::{ExternalId, ProductId, Timestamp, Validation};

use super::Placements;
use super::batch::{self, AdmittedRequest};
use super::gate::{CallerInfo, KeyGate, Permission};
use crate::db::Db;
use crate::error::Error;
use crate::store::keys::{Hash, KeyAuth};
use crate::store::validations::{self, BatchHit, BatchQuery};

/// One validation that is asked for.
#[derive(Clone)]
pub struct ValidationRequest {
    /// The key that it comes with.
    pub key: Hash,
    /// Learns of the key when the batch has looked it up; none if the key was admitted already.
    pub caller: Option<CallerInfo>,
    /// The request's id, which events carry.
    pub request_id: Arc<str>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

pub type Answer = Result<Validation, Error>;

/// Answers all of `requests`, in their order. When it returns, what was written is on disk.
pub async fn answer(
    db: &Db,
    gate: &KeyGate,
    placements: &Placements,
    requests: &[ValidationRequest],
) -> Result<Vec<Answer>, Error> {
    let mut query = BatchQuery::default();
    let slots: Vec<_> =
        requests.iter().map(|request| query.add(request.key, &request.user)).collect();
    // SQLite's writing connection alone keeps its page cache when something is written.
    let mut conn = db.write().await?;
    let now = Timestamp::now();
    let found = validations::find(&mut conn, &query).await?;

    let mut admitted = Vec::with_capacity(requests.len());
    let mut outcomes = Vec::with_capacity(requests.len());
    for (request, slot) in requests.iter().zip(slots) {
        let hit = found.get(&slot);
        if let Some(BatchHit { auth, user }) = hit {
            placements.learn(&request.key, auth.scope.tenant, user.licenses.len());
        }
        let auth = admit(gate, request, hit.map(|hit| hit.auth), now);
        if let Ok(KeyAuth { key_id: key, scope, .. }) = auth {
            let (user, product) = (&request.user, request.product);
            admitted.push(AdmittedRequest { slot, key, scope, user, product });
        }
        outcomes.push(auth);
    }
    let answers = batch::answer(db, gate, conn, &query, found, &admitted, now).await?;
    let mut answers = answers.into_iter();
    let answer = |auth: Result<KeyAuth, Error>| {
        auth.and_then(|_| answers.next().unwrap_or(Err(Error::Internal)))
    };
    Ok(outcomes.into_iter().map(answer).collect())
}

/// The request's key, if it is valid, within its rate, and may validate.
fn admit(
    gate: &KeyGate,
    request: &ValidationRequest,
    auth: Option<KeyAuth>,
    now: Timestamp,
) -> Result<KeyAuth, Error> {
    let auth = match &request.caller {
        Some(caller) => gate.admit(auth, caller, now)?,
        None => auth.ok_or(Error::Unauthorized)?,
    };
    Permission::Validate.check(auth.role)?;
    Ok(auth)
}
