//! Batches that write: they create users and assign seats. Each is one transaction, which locks the
//! licenses whose seats are requested, reads again, and decides in the order of arrival. So no seat
//! is taken twice, even if other transactions assign seats at the same time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{ActivationId, ExternalId, KeyId, LicenseId, Timestamp, User, UserId};

use super::batch::{Admitted, Decisions, ValidationResult, Validator};
use super::given::{Given, Settled, Unlocked};
use super::request::ValidationRequest;
use super::verdict::{Decision, decide};
use crate::db::{Conn, Result};
use crate::error::{Error, LineLimit, is_collision};
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::batch_rows::BatchRow;
use crate::store::validations::{self, BatchHit, BatchQuery, BatchSlot};
use crate::store::{Scope, phrases};

/// How often a batch starts over because of concurrent changes.
const ATTEMPTS: usize = 10;
static GAVE_UP: LineLimit = LineLimit::new();

/// A request that needs a seat, or a user that does not exist yet.
#[derive(Clone)]
pub struct Claim {
    pub request: ValidationRequest,
    pub key: KeyId,
    pub scope: Scope,
    /// The license of which something must be written; none for a new user.
    pub license: Option<LicenseId>,
}

impl Claim {
    fn user(&self) -> (Scope, &ExternalId) {
        (self.scope, &self.request.user)
    }

    /// The origin of the changes made for it.
    fn origin(&self) -> Origin {
        let request_id = Some(self.request.request_id.clone());
        // The name of the key was not read; the event gets the stored one.
        Origin { actor: Actor::Key { id: self.key, name: None }, scope: self.scope, request_id }
    }
}

impl Validator {
    /// Decides all of `claims`, in their order. On return, the changes are on disk.
    pub async fn claim(
        &self,
        claims: &[Claim],
    ) -> std::result::Result<Vec<ValidationResult>, Error> {
        let mut plan = BatchPlan::default();
        for claim in claims {
            match claim.license {
                Some(license) => plan.add_license(license, claim.scope),
                None if self.may_create(claim).is_ok() => plan.add_user(claim),
                None => {}
            }
        }
        for _ in 0..ATTEMPTS {
            match self.attempt(claims, &mut plan).await {
                Ok(Some(answers)) => return Ok(answers),
                Ok(None) => {}
                Err(error) if is_collision(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        GAVE_UP.write(|left_out| {
            let validations = claims.len();
            tracing::warn!(validations, left_out, "gave up: the same records kept changing");
        });
        Err(Error::Unavailable)
    }

    fn may_create(&self, claim: &Claim) -> std::result::Result<(), Error> {
        self.gate.admit_new_user(claim.key, &claim.request.user, &claim.request.caller)
    }

    /// `None` if concurrent changes made the plan wrong; a new plan was made, and nothing was
    /// written.
    async fn attempt<'a>(
        &self,
        claims: &'a [Claim],
        plan: &mut BatchPlan<'a>,
    ) -> Result<Option<Vec<ValidationResult>>> {
        let mut query = BatchQuery::default();
        let add = |claim: &'a Claim| query.add(claim.request.key, &claim.request.user);
        let slots: Vec<_> = claims.iter().map(add).collect();
        let mut tx = self.db.begin().await?;
        let now = Timestamp::now();
        let mut events = plan.create_users(&mut tx, now).await?;
        plan.lock_licenses(&mut tx).await?;
        let found = validations::find(&mut tx, &query).await?;
        let mut decisions = Decisions::new(now);
        // A user who turns out to keep another seat than this one does so in the order of arrival.
        let kept = claims.iter().zip(&slots).filter_map(|(claim, slot)| {
            let hit = found.get(slot)?;
            match decide(&hit.user.licenses, claim.request.product, now) {
                Decision::Keep(_, seat) => Some(seat.id),
                _ => None,
            }
        });
        let kept = kept.collect();
        let mut given = plan.given(&mut tx, &found, &kept, claims.len(), now).await?;
        let mut is_planned = true;
        for (claim, slot) in claims.iter().zip(&slots) {
            match self.admit(&claim.request, found.get(slot), now) {
                // Revoked meanwhile: a user must not be created only for this claim.
                Err(error) => {
                    is_planned &= !plan.remove_user(claim);
                    decisions.fail(error);
                }
                // Never created, or deleted meanwhile.
                Ok(of) if of.user.id.is_none() => match self.may_create(claim) {
                    Err(refusal) => decisions.fail(refusal),
                    Ok(()) => {
                        plan.add_user(claim);
                        is_planned = false;
                    }
                },
                Ok(of) => match plan.settle(&mut given, &mut decisions, of, now) {
                    Ok(new) => events.extend(new.into_iter().map(|new| (claim.origin(), new))),
                    Err(license) => {
                        plan.add_license(license, claim.scope);
                        is_planned = false;
                    }
                },
            }
        }
        if !is_planned {
            return Ok(None);
        }
        decisions.complete(&mut tx).await?;
        if !given.write(&mut tx, now).await? {
            return Ok(None);
        }
        events::record(&mut tx, &events, now).await?;
        tx.commit().await?;
        self.metrics.seats_taken.inc_by(given.seats.len() as u64);
        self.metrics.seats_reclaimed.inc_by(given.freed.len() as u64);
        self.note(&mut decisions);
        let answer = |answer: Option<ValidationResult>| answer.unwrap_or(Err(Error::Internal));
        Ok(Some(decisions.into_results().into_iter().map(answer).collect()))
    }
}

/// What a batch may write: the users it creates, and the licenses whose seats it assigns. Every
/// node creates and locks them in the same order.
#[derive(Default)]
struct BatchPlan<'a> {
    /// Each with the first request that needs it.
    users: BTreeMap<(Scope, &'a ExternalId), &'a Claim>,
    licenses: BTreeMap<LicenseId, Scope>,
}

impl<'a> BatchPlan<'a> {
    fn add_user(&mut self, claim: &'a Claim) {
        self.users.entry(claim.user()).or_insert(claim);
    }

    /// Drops the user if it was planned to be created for this claim. Returns whether it was.
    fn remove_user(&mut self, claim: &'a Claim) -> bool {
        let first = self.users.get(&claim.user());
        let is_first = first.is_some_and(|first| std::ptr::eq(*first, claim));
        is_first && self.users.remove(&claim.user()).is_some()
    }

    fn add_license(&mut self, license: LicenseId, scope: Scope) {
        self.licenses.insert(license, scope);
    }

    fn locks(&self, license: LicenseId) -> bool {
        self.licenses.contains_key(&license)
    }

    /// Creates the users, and returns an event for each that did not exist.
    async fn create_users(
        &self,
        conn: &mut Conn,
        now: Timestamp,
    ) -> Result<Vec<(Origin, NewEvent)>> {
        if self.users.is_empty() {
            return Ok(Vec::new());
        }
        let new = |(scope, id): &(Scope, &ExternalId)| User::new(scope.tenant, (*id).clone(), now);
        let users: Vec<_> = self.users.keys().map(new).collect();
        let row = |(claim, user): (&&'a Claim, &User)| {
            BatchRow::new_user(claim.scope, user.id, &claim.request.user)
        };
        let rows: Vec<_> = self.users.values().zip(&users).map(row).collect();
        let created = validations::insert_users(conn, &rows, now).await?;
        let created: BTreeSet<UserId> = created.into_iter().collect();
        let new = || {
            let all = self.users.values().zip(&users);
            all.filter(|(_, user)| created.contains(&user.id))
        };
        let phrases =
            new().map(|(claim, user)| (claim.scope.world, user.id, phrases::of_user(user)));
        phrases::add_to_users(conn, phrases).await?;
        Ok(new().map(|(claim, user)| (claim.origin(), NewEvent::user_created(user))).collect())
    }

    /// What is given of the locked licenses of users who were found.
    async fn given(
        &self,
        conn: &mut Conn,
        found: &HashMap<BatchSlot, BatchHit>,
        kept: &BTreeSet<ActivationId>,
        requests: usize,
        now: Timestamp,
    ) -> Result<Given> {
        let all = found
            .values()
            .flat_map(|hit| hit.user.licenses.iter().map(|assigned| (hit.auth.scope, assigned)));
        let locked: Vec<_> = all.filter(|(_, it)| self.locks(it.license.id)).collect();
        Given::find(conn, &locked, kept, requests, now).await
    }

    /// Decides a request, and returns the events of what it changes.
    fn settle<'d>(
        &self,
        given: &mut Given,
        decisions: &mut Decisions<'d>,
        of: Admitted<'d>,
        now: Timestamp,
    ) -> std::result::Result<Vec<NewEvent>, Unlocked> {
        let (user, product, mut events) = (&of.request.user, of.request.product, Vec::new());
        let user = (user, of.user.licenses.as_slice());
        match given.settle(of.scope, user, product, |id| self.locks(id), now, &mut events)? {
            Settled::Refused(reason, license) => decisions.refuse(of, reason, license.as_ref()),
            Settled::Accepted(assigned, seat) => decisions.accept(of, &assigned, &seat),
        }
        Ok(events)
    }

    async fn lock_licenses(&self, conn: &mut Conn) -> Result<()> {
        if self.licenses.is_empty() {
            return Ok(());
        }
        let row = |(id, scope): (&LicenseId, &Scope)| BatchRow::license(*scope, *id, 0);
        let rows: Vec<_> = self.licenses.iter().map(row).collect();
        validations::lock_licenses(conn, &rows).await
    }
}
