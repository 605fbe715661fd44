//! Where validations arrive, many at a time: what they need is read, the keys they come with are
//! looked at, and those that are let in are decided by `batch`.

use common::{ExternalId, ProductId, Timestamp, Validation};

use super::Placements;
use super::batch::{self, AdmittedRequest, DecidedBatch};
use crate::background::{DecidedValidation, Outcomes};
use crate::db::Db;
use crate::error::Error;
use crate::http::context::RequestContext;
use crate::http::credentials::{KeyGate, Validator};
use crate::store::Scope;
use crate::store::keys::{Hash, KeyAuth};
use crate::store::validations::{self, BatchHit, BatchQuery};

/// One validation that is asked for.
#[derive(Clone)]
pub struct ValidationRequest {
    /// The key that it comes with.
    pub key: Hash,
    /// Whether that key may ask is for the desk to say; none if it was let in already.
    pub entry: Option<RequestContext>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

pub type Answer = Result<Validation, Error>;

/// Answers all of `questions`, in their order. When it returns, what was written is on disk.
pub async fn answer(
    db: &Db,
    gate: &KeyGate,
    placements: &Placements,
    outcomes: &Outcomes,
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
            let scope = Scope { tenant: pass.tenant_id, mode: pass.mode };
            let (user, product) = (&question.user, question.product);
            asks.push(AdmittedRequest { place, key: pass.key_id, scope, user, product });
        }
        admitted.push(pass);
    }
    let decided = batch::answer(db, gate, conn, &asked, found, &asks, now).await?;
    outcomes.note_batch(decisions(&asks, &decided), now);
    let mut answers = decided.answers.into_iter();
    let answer = |pass: Result<KeyAuth, Error>| match pass {
        Ok(_) => answers.next().unwrap_or(Err(Error::Internal)),
        Err(refused) => Err(refused),
    };
    Ok(admitted.into_iter().map(answer).collect())
}

/// The answers that are decisions.
fn decisions<'a>(
    asks: &'a [AdmittedRequest<'a>],
    decided: &'a DecidedBatch,
) -> impl Iterator<Item = DecidedValidation<'a>> {
    asks.iter().zip(&decided.answers).enumerate().filter_map(|(at, (ask, answer))| {
        let reason = match answer {
            Ok(Validation::Valid(_)) => None,
            Ok(Validation::Invalid(refused)) => Some(refused.reason),
            Err(_) => return None,
        };
        let license = decided.deciding.get(&at).copied();
        Some(DecidedValidation { scope: ask.scope, user: ask.user, reason, license })
    })
}

/// What the question's key opens, if it is let in.
fn admit(
    gate: &KeyGate,
    question: &ValidationRequest,
    pass: Option<KeyAuth>,
    now: Timestamp,
) -> Result<KeyAuth, Error> {
    let pass = match &question.entry {
        Some(exchange) => gate.admit(pass, exchange, now)?,
        None => pass.ok_or(Error::Unauthorized)?,
    };
    Validator::permit(pass.role)?;
    Ok(pass)
}
