//! Batches that write: they create users and assign seats. Each is one transaction, which locks the
//! licenses whose seats are requested, reads again, and decides in the order of arrival. So no seat
//! is taken twice, even if other transactions assign seats at the same time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{ActivationId, ExternalId, KeyId, LicenseId, Timestamp, User, UserId};

use super::batch::{Admitted, BatchValidator, Decisions, ValidationResult};
use super::queue::Handler;
use super::request::ValidationRequest;
use super::seat_changes::{SeatChanges, Unlocked, UserOutcome};
use super::verdict::{Decision, decide};
use super::worlds::ByWorld;
use crate::db::{Conn, Result};
use crate::error::{Error, LineLimit, is_collision};
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::batch_rows::BatchRow;
use crate::store::validations::{self, BatchHit, BatchQuery, BatchSlot};
use crate::store::{Scope, World, phrases};

/// Maximum number of attempts of a batch. Concurrent changes make it start over.
const ATTEMPTS: usize = 10;
static GAVE_UP: LineLimit = LineLimit::new();

/// A request that needs a write: a new user, a seat, or the check of a seat.
pub struct Claim {
    pub request: ValidationRequest,
    pub key: KeyId,
    pub scope: Scope,
    /// The license that must be locked. `None` for a new user.
    pub license: Option<LicenseId>,
}

impl Claim {
    fn user(&self) -> (Scope, &ExternalId) {
        (self.scope, &self.request.user)
    }

    /// Returns the origin of the changes for this request.
    fn origin(&self) -> Origin {
        let request_id = Some(self.request.request_id.clone());
        // `events::commit` adds the name of the key, which was not read here.
        Origin { actor: Actor::Key { id: self.key, name: None }, scope: self.scope, request_id }
    }
}

impl Handler<Claim> for BatchValidator {
    type Answer = ValidationResult;

    /// Decides the claims in order. When it returns, the changes are on disk.
    async fn handle(&self, claims: &[Claim]) -> std::result::Result<Vec<ValidationResult>, Error> {
        if !self.db.is_sharded() {
            return self.write(claims.iter().collect(), None).await;
        }
        let by_world = ByWorld::new(claims, claims.iter().map(|claim| claim.scope.world));
        by_world.handle(|part, world| self.write(part, Some(world)), Err).await
    }
}

impl BatchValidator {
    /// Decides claims, which are of one world if that is given.
    async fn write(
        &self,
        claims: Vec<&Claim>,
        world: Option<World>,
    ) -> std::result::Result<Vec<ValidationResult>, Error> {
        let mut plan = BatchPlan::default();
        for claim in &claims {
            match claim.license {
                Some(license) => plan.add_license(license, claim.scope),
                None if self.may_create(claim).is_ok() => plan.add_user(claim),
                None => {}
            }
        }
        for _ in 0..ATTEMPTS {
            match self.attempt(&claims, world, &mut plan).await {
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

    /// Tries to decide and write the claims. If concurrent changes made the plan wrong, corrects
    /// the plan, writes nothing and returns `None`.
    async fn attempt<'a>(
        &self,
        claims: &[&'a Claim],
        world: Option<World>,
        plan: &mut BatchPlan<'a>,
    ) -> Result<Option<Vec<ValidationResult>>> {
        let mut query = BatchQuery::of(world);
        let add = |claim: &&'a Claim| query.add(claim.request.key, &claim.request.user);
        let slots: Vec<_> = claims.iter().map(add).collect();
        let mut tx = self.db.begin().await?;
        let now = Timestamp::now();
        let mut events = plan.create_users(&mut tx, now).await?;
        plan.lock_licenses(&mut tx).await?;
        let found = validations::find(&mut tx, &query).await?;
        let mut decisions = Decisions::new(now);
        // These users hold a seat already. If a user keeps another one after all, the loop below
        // decides.
        let kept = claims.iter().zip(&slots).filter_map(|(claim, slot)| {
            let hit = found.get(slot)?;
            match decide(&hit.user.licenses, claim.request.product, now) {
                Decision::Keep(_, seat) => Some(seat.id),
                _ => None,
            }
        });
        let kept = kept.collect();
        let mut changes = plan.seat_changes(&mut tx, &found, &kept, claims.len(), now).await?;
        let mut is_planned = true;
        for (claim, slot) in claims.iter().zip(&slots) {
            match self.admit(&claim.request, found.get(slot), now) {
                // The key was revoked in the meantime, so do not create a user for this claim.
                Err(error) => {
                    is_planned &= !plan.remove_user(claim);
                    decisions.fail(error);
                }
                // The user was not planned, or was deleted in the meantime.
                Ok(of) if of.user.id.is_none() => match self.may_create(claim) {
                    Err(refusal) => decisions.fail(refusal),
                    Ok(()) => {
                        plan.add_user(claim);
                        is_planned = false;
                    }
                },
                Ok(of) => match plan.settle(&mut changes, &mut decisions, of, now) {
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
        if !changes.write(&mut tx, now).await? {
            return Ok(None);
        }
        events::commit(tx, &events, now).await?;
        self.metrics.seats_taken.inc_by(changes.seats_taken());
        self.metrics.seats_reclaimed.inc_by(changes.seats_reclaimed());
        self.record(&mut decisions);
        let answer = |answer: Option<ValidationResult>| answer.unwrap_or(Err(Error::Internal));
        Ok(Some(decisions.into_results().into_iter().map(answer).collect()))
    }
}

/// Records that a batch creates and locks: users, and licenses whose seats it assigns. All nodes do
/// so in the same order.
#[derive(Default)]
struct BatchPlan<'a> {
    /// New users, each with the first claim that needs it.
    users: BTreeMap<(Scope, &'a ExternalId), &'a Claim>,
    licenses: BTreeMap<LicenseId, Scope>,
}

impl<'a> BatchPlan<'a> {
    fn add_user(&mut self, claim: &'a Claim) {
        self.users.entry(claim.user()).or_insert(claim);
    }

    /// Removes the user from the plan if it was to be created for this claim. Returns whether it was.
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

    /// Reads what decisions on the locked licenses need.
    async fn seat_changes(
        &self,
        conn: &mut Conn,
        found: &HashMap<BatchSlot, BatchHit>,
        kept: &BTreeSet<ActivationId>,
        requests: usize,
        now: Timestamp,
    ) -> Result<SeatChanges> {
        let all = found
            .values()
            .flat_map(|hit| hit.user.licenses.iter().map(|assigned| (hit.auth.scope, assigned)));
        let locked: Vec<_> = all.filter(|(_, it)| self.locks(it.license.id)).collect();
        SeatChanges::find(conn, &locked, kept, requests, now).await
    }

    /// Decides a request, and returns the events of its changes.
    fn settle<'d>(
        &self,
        changes: &mut SeatChanges,
        decisions: &mut Decisions<'d>,
        of: Admitted<'d>,
        now: Timestamp,
    ) -> std::result::Result<Vec<NewEvent>, Unlocked> {
        let (user, product, mut events) = (&of.request.user, of.request.product, Vec::new());
        let user = (user, of.user.licenses.as_slice());
        match changes.settle(of.scope, user, product, |id| self.locks(id), now, &mut events)? {
            UserOutcome::Refused(reason, license) => decisions.refuse(of, reason, license.as_ref()),
            UserOutcome::Accepted(assigned, seat) => decisions.accept(of, &assigned, &seat),
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
