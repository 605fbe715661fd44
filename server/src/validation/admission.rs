//! Where validations arrive, many at a time: what they need is read, the keys they come with are
//! looked at, and those that are let in are decided by `batch`.

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

/// Answers all of `questions`, in their order. When it returns, what was written is on disk.
pub async fn answer(
    db: &Db,
    gate: &KeyGate,
    placements: &Placements,
    questions: &[ValidationRequest],
) -> Result<Vec<Answer>, Error> {
    let mut asked = BatchQuery::default();
    let found_at = questions.iter().map(|question| asked.add(question.key, &question.user));
    let found_at: Vec<_> = found_at.collect();
    // SQLite's writing connection alone keeps its page cache when something is written.
    let mut conn = db.write().await?;
    let now = Timestamp::now();
    let found = validations::find(&mut conn, &asked).await?;

    let mut asks = Vec::with_capacity(questions.len());
    let mut admitted = Vec::with_capacity(questions.len());
    for (question, place) in questions.iter().zip(found_at) {
        let seen = found.get(&place);
        if let Some(BatchHit { pass, known }) = seen {
            placements.learn(&question.key, pass.tenant_id, known.links.len());
        }
        let pass = admit(gate, question, seen.map(|found| found.pass), now);
        if let Ok(pass) = pass {
            let (scope, user, product) = (pass.scope(), &question.user, question.product);
            asks.push(AdmittedRequest { place, key: pass.key_id, scope, user, product });
        }
        admitted.push(pass);
    }
    let mut answers = batch::answer(db, gate, conn, &asked, found, &asks, now).await?.into_iter();
    let answer = |pass: Result<KeyAuth, Error>| match pass {
        Ok(_) => answers.next().unwrap_or(Err(Error::Internal)),
        Err(refused) => Err(refused),
    };
    Ok(admitted.into_iter().map(answer).collect())
}

/// What the question's key opens, if it is let in.
fn admit(
    gate: &KeyGate,
    question: &ValidationRequest,
    pass: Option<KeyAuth>,
    now: Timestamp,
) -> Result<KeyAuth, Error> {
    let pass = match &question.caller {
        Some(caller) => gate.admit(pass, caller, now)?,
        None => pass.ok_or(Error::Unauthorized)?,
    };
    Permission::Validate.check(pass.role)?;
    Ok(pass)
}
