//! Where validations arrive, many at a time: whose keys they come with, and which of them are let
//! in to be decided by `batch`.

use std::collections::{BTreeSet, HashMap};

use common::{ExternalId, ProductId, Timestamp, Validation};

use super::batch::{self, Ask};
use crate::auth::{Asker, Gate};
use crate::db::{Conn, Db};
use crate::error::Error;
use crate::exchange::Exchange;
use crate::store::Scope;
use crate::store::keys::{self, Hash, Holder};

/// One validation that is asked for.
#[derive(Clone)]
pub struct Question {
    pub by: By,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

/// Who asks.
#[derive(Clone)]
pub enum By {
    /// Whoever holds this key, which is still to be looked up.
    Key(Hash, Exchange),
    /// A caller who was let in already.
    Caller(Scope),
}

pub type Answer = Result<Validation, Error>;

/// Answers all of `questions`, in their order. When it returns, what was written is on disk.
pub async fn answer(db: &Db, gate: &Gate, questions: &[Question]) -> Result<Vec<Answer>, Error> {
    // SQLite's writing connection alone keeps its page cache when something is written.
    let mut conn = db.write().await?;
    let admitted = admit(&mut conn, gate, questions).await?;
    let asks = questions.iter().zip(&admitted).filter_map(|(question, scope)| {
        let scope = *scope.as_ref().ok()?;
        Some(Ask { scope, user: &question.user, product: question.product })
    });
    let asks: Vec<Ask<'_>> = asks.collect();
    let mut answers = batch::answer(db, conn, &asks).await?.into_iter();
    let answer = |scope: Result<Scope, Error>| match scope {
        Ok(_) => answers.next().unwrap_or(Err(Error::Internal)),
        Err(refused) => Err(refused),
    };
    Ok(admitted.into_iter().map(answer).collect())
}

/// Where each question is answered, if it is let in. Many questions carry few keys, so each key is
/// looked for once.
async fn admit(
    conn: &mut Conn,
    gate: &Gate,
    questions: &[Question],
) -> Result<Vec<Result<Scope, Error>>, Error> {
    let now = Timestamp::now();
    let hashes = questions.iter().filter_map(|question| match question.by {
        By::Key(hash, _) => Some(hash),
        By::Caller(_) => None,
    });
    let holders = keys::find_by_hashes(conn, &hashes.collect::<BTreeSet<_>>()).await?;
    let holders: HashMap<&[u8], &Holder> =
        holders.iter().map(|holder| (holder.hash.as_slice(), holder)).collect();
    let admit = |question: &Question| match &question.by {
        By::Caller(scope) => Ok(*scope),
        By::Key(hash, exchange) => {
            let holder = holders.get(hash.as_slice()).copied();
            let Holder { key, tenant_id, .. } = gate.admit(holder, exchange, now)?;
            Asker::permit(key.role).map(|()| Scope { tenant: *tenant_id, mode: key.mode })
        }
    };
    Ok(questions.iter().map(admit).collect())
}
