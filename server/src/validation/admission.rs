//! The admission of a batch of validations: reads what they need, checks their keys, and leaves the
//! decision about those with a valid key to `batch`.

use common::{Timestamp, Validation};

use super::gate::{KeyGate, Permission};
use super::outcome::Outcome;
use super::outcome_counts::{DecidedValidation, OutcomeCounts};
use super::request::{AdmittedRequest, ValidationRequest};
use super::{Answer, batch};
use crate::db::Db;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::store::keys::KeyAuth;
use crate::store::validations::{self, BatchHit, BatchQuery};

/// Answers all of `requests`, in their order. When it returns, what was written is on disk.
pub async fn answer(
    db: &Db,
    gate: &KeyGate,
    outcomes: &OutcomeCounts,
    metrics: &Metrics,
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
    let mut auths = Vec::with_capacity(requests.len());
    for (request, slot) in requests.iter().zip(slots) {
        let hit = found.get(&slot);
        if let Some(BatchHit { auth, user }) = hit {
            gate.placements.learn(&request.key, auth.scope.tenant, user.licenses.len());
        }
        let auth = admit(gate, request, hit.map(|hit| hit.auth), now);
        if let Ok(KeyAuth { key_id: key, scope, .. }) = auth {
            admitted.push(AdmittedRequest { slot, key, scope, request });
        }
        auths.push(auth);
    }
    let outcome = batch::answer(db, gate, conn, &query, found, &admitted, now).await?;
    metrics.seats_taken.inc_by(outcome.seats_taken());
    outcomes.note_batch(decided(&admitted, &outcome), now);
    let mut answers = outcome.answers.into_iter();
    let answer = |auth: Result<KeyAuth, Error>| {
        auth.and_then(|_| answers.next().unwrap_or(Err(Error::Internal)))
    };
    Ok(auths.into_iter().map(answer).collect())
}

/// The validations that were decided, and not refused before.
fn decided<'a>(
    requests: &'a [AdmittedRequest<'a>],
    outcome: &'a Outcome<'_>,
) -> impl Iterator<Item = DecidedValidation<'a>> {
    let answered = requests.iter().zip(&outcome.answers).enumerate();
    answered.filter_map(|(number, (request, answer))| {
        let reason = match answer {
            Ok(Validation::Valid(_)) => None,
            Ok(Validation::Invalid(answer)) => Some(answer.reason),
            Err(_) => return None,
        };
        let license = outcome.deciding.get(&number).copied();
        Some(DecidedValidation {
            scope: request.scope,
            user: &request.request.user,
            reason,
            license,
        })
    })
}

/// The request's key, if it is valid, within its rate, and may validate.
fn admit(
    gate: &KeyGate,
    request: &ValidationRequest,
    auth: Option<KeyAuth>,
    now: Timestamp,
) -> Result<KeyAuth, Error> {
    let auth = gate.admit(auth, &request.caller, now)?;
    Permission::Validate.check(auth.role)?;
    Ok(auth)
}
