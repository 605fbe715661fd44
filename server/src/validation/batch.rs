//! Many validations at the cost of one: read what they need, decide in the order of arrival, write
//! what was decided.
//!
//! A batch of users who hold their seats is one read and one write, each a statement of its own:
//! neither needs the other to be undone. Where users or seats are to be made, a transaction locks
//! their licenses, reads again, and decides on that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{Activation, ExternalId, KeyId, LicenseId, ProductId, Timestamp, UserId, Validation};

use sqlx::types::Json;

use super::Answer;
use super::verdict::{Decision, decide, deciding};
use crate::db::{Conn, Db, Result};
use crate::error::{Error, is_collision};
use crate::http::credentials::KeyGate;
use crate::store::Scope;
use crate::store::validations::{
    self, AssignedLicense, BatchHit, BatchQuery, BatchRow, BatchSlot, UserLicenses,
};
use crate::validation::limit::Allowance;

/// One validation that was let in.
pub struct AdmittedRequest<'a> {
    /// Where the user is found.
    pub place: BatchSlot,
    /// Who asks.
    pub key: KeyId,
    pub scope: Scope,
    pub user: &'a ExternalId,
    pub product: Option<ProductId>,
}

/// The answers to a batch, in its order.
#[derive(Default)]
pub struct DecidedBatch {
    pub answers: Vec<Answer>,
    /// For a refusal, by its number: the license that gave the reason.
    pub deciding: HashMap<usize, LicenseId>,
}

/// How often a batch starts over because another node came in between.
const ATTEMPTS: usize = 10;

/// Answers all of `asks`, in their order, from what was `found` on `conn`.
pub async fn answer(
    db: &Db,
    gate: &KeyGate,
    conn: Conn,
    asked: &BatchQuery<'_>,
    found: HashMap<BatchSlot, BatchHit>,
    asks: &[AdmittedRequest<'_>],
    now: Timestamp,
) -> std::result::Result<DecidedBatch, Error> {
    if asks.is_empty() {
        return Ok(DecidedBatch::default());
    }
    let mut batch = Batch::new(asked, asks, now);
    let mut first = Some((conn, batch.sort(found)));
    for _ in 0..ATTEMPTS {
        let (conn, known) = match first.take() {
            Some(first) => first,
            None => {
                let mut conn = db.write().await?;
                let known = batch.read(&mut conn).await?;
                (conn, known)
            }
        };
        match attempt(db, gate, conn, &mut batch, known).await {
            Ok(Some(decided)) => return Ok(decided),
            Ok(None) => {}
            Err(error) if is_collision(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Unavailable)
}

/// `None`: another node changed in between what was to be decided on. Nothing was written.
async fn attempt(
    db: &Db,
    gate: &KeyGate,
    mut conn: Conn,
    batch: &mut Batch<'_>,
    known: Vec<UserLicenses>,
) -> Result<Option<DecidedBatch>> {
    let astray = batch.astray(&mut conn, &known).await?;
    batch.limit_new_users(gate, &known, &astray);
    let missing = batch.missing(&known, &astray);
    let mut draft = batch.decide(known, &astray);
    if missing.is_empty() && draft.taken.is_empty() {
        draft.complete(&mut conn).await?;
        if !draft.seen.is_empty() {
            validations::touch_seats(&mut conn, &draft.seen(), batch.now).await?;
        }
        return Ok(Some(draft.decided()));
    }
    drop(conn);

    let mut tx = db.begin().await?;
    if !missing.is_empty() {
        let new = |&(scope, user)| BatchRow::new_user(scope, UserId::new(batch.now), user);
        let users: Vec<_> = missing.iter().map(new).collect();
        validations::insert_users(&mut tx, &users, batch.now).await?;
    }
    let locked = draft.counts();
    if !locked.is_empty() {
        validations::lock_licenses(&mut tx, &licenses(&locked)).await?;
    }
    let known = batch.read(&mut tx).await?;
    // A user who was known is deleted by now, and must be made first.
    if !batch.missing(&known, &astray).is_empty() {
        return Ok(None);
    }
    let mut draft = batch.decide(known, &astray);
    let counts = draft.counts();
    if !counts.keys().all(|license| locked.contains_key(license)) {
        return Ok(None);
    }
    draft.complete(&mut tx).await?;
    if !counts.is_empty() {
        validations::insert_seats(&mut tx, &draft.taken(), batch.now).await?;
        validations::count_seats(&mut tx, &licenses(&counts)).await?;
    }
    if !draft.seen.is_empty() {
        validations::touch_seats(&mut tx, &draft.seen(), batch.now).await?;
    }
    tx.commit().await?;
    Ok(Some(draft.decided()))
}

/// What is asked, and of whom, each user once.
struct Batch<'a> {
    asked: &'a BatchQuery<'a>,
    asks: &'a [AdmittedRequest<'a>],
    now: Timestamp,
    /// Sorted, so that every node makes users in the same order. Several keys may ask about one
    /// user, who then is found at several places; one of them will do.
    users: BTreeMap<(Scope, &'a ExternalId), BatchSlot>,
    /// For each ask, the number of its user.
    user_of: Vec<usize>,
    /// Whether each unknown user may be made now; if not, the seconds to wait.
    new_users: HashMap<usize, Allowance>,
}

impl<'a> Batch<'a> {
    fn new(asked: &'a BatchQuery<'a>, asks: &'a [AdmittedRequest<'a>], now: Timestamp) -> Self {
        let users = asks.iter().map(|ask| ((ask.scope, ask.user), ask.place));
        let users: BTreeMap<_, _> = users.collect();
        let number: HashMap<_, _> =
            users.keys().enumerate().map(|(at, user)| (*user, at)).collect();
        let user_of = asks.iter().map(|ask| number[&(ask.scope, ask.user)]).collect();
        Self { asked, asks, now, users, user_of, new_users: HashMap::new() }
    }

    async fn read(&self, conn: &mut Conn) -> Result<Vec<UserLicenses>> {
        Ok(self.sort(validations::find(conn, self.asked).await?))
    }

    /// What is known of each user, in their order.
    fn sort(&self, mut found: HashMap<BatchSlot, BatchHit>) -> Vec<UserLicenses> {
        let known = |place| found.remove(place).map(|found| found.known).unwrap_or_default();
        self.users.values().map(known).collect()
    }

    /// Counts each user who is to be made against the rate of the key that asks: once for a batch,
    /// however often it starts over.
    fn limit_new_users(&mut self, gate: &KeyGate, known: &[UserLicenses], astray: &[bool]) {
        for (at, ask) in self.asks.iter().enumerate() {
            let user = self.user_of[at];
            if known[user].id.is_none() && !astray[at] {
                self.new_users.entry(user).or_insert_with(|| gate.new_users.check(ask.key));
            }
        }
    }

    /// Whether the user, who is unknown, may be made.
    fn admit_new(&self, user: usize) -> std::result::Result<(), Error> {
        self.new_users.get(&user).map_or(Ok(()), |allowance| allowance.into_result())
    }

    /// For each ask, whether it names a product that does not exist. A product of which the user
    /// has a license exists; only the others need a look.
    async fn astray(&self, conn: &mut Conn, known: &[UserLicenses]) -> Result<Vec<bool>> {
        let mut astray = vec![false; self.asks.len()];
        let (mut places, mut items) = (Vec::new(), Vec::new());
        for (at, ask) in self.asks.iter().enumerate() {
            let links = &known[self.user_of[at]].links;
            if let Some(product) = ask.product
                && !links.iter().any(|link| link.license.product_id == product)
            {
                astray[at] = true;
                places.push(at);
                items.push(BatchRow::product(ask.scope, product));
            }
        }
        if !items.is_empty() {
            for found in validations::find_products(conn, &items).await? {
                astray[places[found as usize]] = false;
            }
        }
        Ok(astray)
    }

    /// The users who are to be made.
    fn missing(&self, known: &[UserLicenses], astray: &[bool]) -> Vec<(Scope, &'a ExternalId)> {
        let asked = self.user_of.iter().zip(astray).filter(|(_, astray)| !**astray);
        let asked: BTreeSet<_> = asked.map(|(user, _)| *user).collect();
        let users = self.users.keys().enumerate();
        users
            .filter(|(at, _)| {
                known[*at].id.is_none() && asked.contains(at) && self.admit_new(*at).is_ok()
            })
            .map(|(_, user)| *user)
            .collect()
    }

    /// Decides for each ask in turn; what one is given, the next one sees.
    fn decide(&self, mut known: Vec<UserLicenses>, astray: &[bool]) -> Draft {
        let mut draft = Draft::default();
        let mut used: HashMap<LicenseId, i32> = HashMap::new();
        for (at, ask) in self.asks.iter().enumerate() {
            if astray[at] {
                draft.answers.push(Err(Error::unknown("productId", "product")));
                continue;
            }
            let user = self.user_of[at];
            if known[user].id.is_none()
                && let Err(refused) = self.admit_new(user)
            {
                draft.answers.push(Err(refused));
                continue;
            }
            let links = &mut known[user].links;
            for link in links.iter_mut() {
                link.seats_used = *used.get(&link.license.id).unwrap_or(&link.seats_used);
            }
            let answer = match decide(links, ask.product, self.now) {
                Decision::Refuse(reason) => {
                    if let Some(place) = deciding(links, ask.product, self.now) {
                        draft.deciding.insert(at, links[place].license.id);
                    }
                    Validation::invalid(reason)
                }
                Decision::Keep(place) => draft.keep(ask.scope, &mut links[place], self.now),
                Decision::Take(place) => {
                    let link = &mut links[place];
                    used.insert(link.license.id, link.seats_used + 1);
                    draft.take(ask.scope, link, self.now)
                }
            };
            draft.answers.push(Ok(answer));
        }
        draft
    }
}

/// The answers of a batch, and what must be written for them to be true.
#[derive(Default)]
struct Draft {
    answers: Vec<Answer>,
    deciding: HashMap<usize, LicenseId>,
    taken: Vec<(Scope, Activation)>,
    seen: Vec<(Scope, Activation)>,
    /// Answers that lack the features of their license, by their numbers.
    incomplete: Vec<(usize, BatchRow<'static>)>,
}

impl Draft {
    fn decided(self) -> DecidedBatch {
        DecidedBatch { answers: self.answers, deciding: self.deciding }
    }

    fn take(&mut self, scope: Scope, link: &mut AssignedLicense, now: Timestamp) -> Validation {
        let seat = Activation::new(link.user_id, link.license.id, now);
        self.taken.push((scope, seat.clone()));
        link.seat = Some(seat);
        self.keep(scope, link, now)
    }

    fn keep(&mut self, scope: Scope, link: &mut AssignedLicense, now: Timestamp) -> Validation {
        let AssignedLicense { license, seat: Some(seat), features_omitted, .. } = link else {
            unreachable!("only a seat that is held is kept")
        };
        // A seat asked for twice in one batch, or just taken, carries this time already; one that a
        // node with a faster clock has seen, a later one.
        if seat.last_checked_at < now {
            seat.last_checked_at = now;
            self.seen.push((scope, seat.clone()));
        }
        if *features_omitted {
            self.incomplete.push((self.answers.len(), BatchRow::license(scope, license.id, 0)));
        }
        Validation::valid(license.clone(), seat.clone())
    }

    /// Reads the features that were left out.
    async fn complete(&mut self, conn: &mut Conn) -> Result<()> {
        let (numbers, licenses): (Vec<_>, Vec<_>) = self.incomplete.drain(..).unzip();
        if licenses.is_empty() {
            return Ok(());
        }
        for (place, Json(features)) in validations::find_features(conn, &licenses).await? {
            if let Ok(Validation::Valid(grant)) = &mut self.answers[numbers[place as usize]] {
                grant.license.features = features.clone();
                grant.features = features;
            }
        }
        Ok(())
    }

    /// The seats that are given away.
    fn taken(&self) -> Vec<BatchRow<'static>> {
        self.taken.iter().map(|(scope, seat)| BatchRow::seat(*scope, seat)).collect()
    }

    /// The seats whose holders were seen, in the order of their ids.
    fn seen(&self) -> Vec<BatchRow<'static>> {
        let mut seen: Vec<_> = self.seen.iter().collect();
        seen.sort_unstable_by_key(|(_, seat)| seat.id);
        seen.into_iter().map(|(scope, seat)| BatchRow::seat(*scope, seat)).collect()
    }

    /// How many seats are taken on each license.
    fn counts(&self) -> BTreeMap<LicenseId, (Scope, i32)> {
        let mut counts = BTreeMap::new();
        for (scope, seat) in &self.taken {
            counts.entry(seat.license_id).or_insert((*scope, 0)).1 += 1;
        }
        counts
    }
}

fn licenses(counts: &BTreeMap<LicenseId, (Scope, i32)>) -> Vec<BatchRow<'static>> {
    counts.iter().map(|(id, (scope, seats))| BatchRow::license(*scope, *id, *seats)).collect()
}
