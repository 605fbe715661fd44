//! Batches that only read. One statement reads everything for users who hold a seat or are refused,
//! and nothing is written. Each request is decided separately. Requests that need a write are
//! deferred to `claims`.

use std::collections::BTreeSet;

use common::{ProductId, Timestamp};

use super::batch::{Admitted, BatchValidator, Decisions, ValidationResult, unknown_products};
use super::claims::Claim;
use super::idle::must_be_written;
use super::queue::Handler;
use super::request::ValidationRequest;
use super::verdict::{Decision, decide};
use super::worlds::ByWorld;
use crate::error::Error;
use crate::store::validations::{self, BatchHit, BatchQuery};
use crate::store::{Scope, World};

/// Result of a request in a batch that only reads.
pub enum Read {
    Answered(ValidationResult),
    /// The request needs a write before its response.
    NeedsWrite(Claim),
}

impl Handler<ValidationRequest> for BatchValidator {
    type Answer = Read;

    /// Decides the requests that need no write.
    async fn handle(&self, requests: &[ValidationRequest]) -> Result<Vec<Read>, Error> {
        if !self.db.is_sharded() {
            return self.read(requests.iter().collect(), None).await;
        }
        let by_world = ByWorld::new(requests, self.worlds(requests).await?);
        let failed = |error| Read::Answered(Err(error));
        by_world.handle(|part, world| self.read(part, Some(world)), failed).await
    }
}

impl BatchValidator {
    /// Decides requests whose keys are of one world, if that is given.
    async fn read(
        &self,
        requests: Vec<&ValidationRequest>,
        world: Option<World>,
    ) -> Result<Vec<Read>, Error> {
        let mut query = BatchQuery::of(world);
        let slots: Vec<_> =
            requests.iter().map(|request| query.add(request.key, &request.user)).collect();
        let mut conn = self.db.read_for_validations().await?;
        let now = Timestamp::now();
        let found = validations::find(&mut conn, &query).await?;
        let mut admitted = Vec::with_capacity(requests.len());
        for (request, slot) in requests.into_iter().zip(slots) {
            let hit = found.get(&slot);
            if let Some(BatchHit { auth, user }) = hit {
                self.gate.hints.observe(&request.key, auth.scope, user.licenses.len());
            }
            admitted.push(self.admit(request, hit, now));
        }
        let unknown = unknown_products(&mut conn, admitted.iter().flatten()).await?;
        let mut decisions = Decisions::new(now);
        let mut deferred = Vec::new();
        for admitted in admitted {
            match admitted {
                Err(error) => decisions.fail(error),
                Ok(of) => deferred.extend(decide_by_reading(&mut decisions, of, &unknown, now)),
            }
        }
        decisions.complete(&mut conn).await?;
        drop(conn);
        self.record(&mut decisions);
        let mut deferred = deferred.into_iter();
        let read = |answer: Option<ValidationResult>| match answer {
            Some(answer) => Ok(Read::Answered(answer)),
            None => deferred.next().map(Read::NeedsWrite).ok_or(Error::Internal),
        };
        decisions.into_results().into_iter().map(read).collect()
    }
}

/// Decides a request, or defers it and returns its claim.
fn decide_by_reading<'a>(
    decisions: &mut Decisions<'a>,
    of: Admitted<'a>,
    unknown: &BTreeSet<(Scope, ProductId)>,
    now: Timestamp,
) -> Option<Claim> {
    let product = of.request.product;
    if product.is_some_and(|product| unknown.contains(&(of.scope, product))) {
        decisions.fail(Error::unknown("productId", "product"));
        return None;
    }
    let license = match decide(&of.user.licenses, product, now) {
        _ if of.user.id.is_none() => None,
        Decision::Take(assigned) | Decision::TakeOver(assigned) => Some(assigned.license.id),
        Decision::Keep(assigned, seat) if must_be_written(assigned, seat, now) => {
            Some(assigned.license.id)
        }
        Decision::Keep(assigned, seat) => {
            decisions.accept(of, assigned, seat);
            return None;
        }
        Decision::Refuse(reason, license) => {
            decisions.refuse(of, reason, license);
            return None;
        }
    };
    decisions.defer();
    Some(Claim { request: of.request.clone(), key: of.key, scope: of.scope, license })
}
