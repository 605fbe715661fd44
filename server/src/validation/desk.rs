//! Where validations arrive, many at a time: what they need is read, the keys they come with are
//! looked at, and those that are let in are decided by `batch`.

use common::{ExternalId, ProductId, Timestamp, Validation};

use super::batch::{self, Ask};
use crate::auth::{Asker, Gate};
use crate::db::Db;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::store::Scope;
use crate::store::keys::{Hash, Pass};
use crate::store::validations::{self, Asked};

/// One validation that is asked for.
#[derive(Clone)]
pub struct Question {
    /// The key that it comes with.
    pub key: Hash,
    /// Whether that key may ask is for the desk to say; none if it was let in already.
    pub entry: Option<Exchange>,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

pub type Answer = Result<Validation, Error>;

/// Answers all of `questions`, in their order. When it returns, what was written is on disk.
pub async fn answer(db: &Db, gate: &Gate, questions: &[Question]) -> Result<Vec<Answer>, Error> {
    let mut asked = Asked::default();
    let places = questions.iter().map(|question| asked.add(question.key, &question.user));
    let places: Vec<_> = places.collect();
    // SQLite's writing connection alone keeps its page cache when something is written.
    let mut conn = db.write().await?;
    let now = Timestamp::now();
    let found = validations::find(&mut conn, &asked).await?;

    let mut asks = Vec::with_capacity(questions.len());
    let mut admitted = Vec::with_capacity(questions.len());
    for (question, place) in questions.iter().zip(places) {
        let pass = found.get(&place).map(|found| found.pass);
        let scope = admit(gate, question, pass, now);
        if let Ok(scope) = scope {
            asks.push(Ask { place, scope, user: &question.user, product: question.product });
        }
        admitted.push(scope);
    }
    let mut answers = batch::answer(db, conn, &asked, found, &asks, now).await?.into_iter();
    let answer = |scope: Result<Scope, Error>| match scope {
        Ok(_) => answers.next().unwrap_or(Err(Error::Internal)),
        Err(refused) => Err(refused),
    };
    Ok(admitted.into_iter().map(answer).collect())
}

/// Where the question is answered, if it is let in.
fn admit(
    gate: &Gate,
    question: &Question,
    pass: Option<Pass>,
    now: Timestamp,
) -> Result<Scope, Error> {
    let pass = match &question.entry {
        Some(exchange) => gate.admit(pass, exchange, now)?,
        None => pass.ok_or(Error::Unauthorized)?,
    };
    Asker::permit(pass.role)?;
    Ok(Scope { tenant: pass.tenant_id, mode: pass.mode })
}
