//! Many validations in one transaction: read what they need, decide in the order of arrival, write
//! what was decided, commit once.
//!
//! A batch of users who hold their seats costs one read and one write. Only new users, new seats
//! and unknown products cost more statements, and then for the whole batch at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{
    Activation, ActivationId, ExternalId, Fixed, Grant, LicenseId, ProductId, Refusal, Timestamp,
    UserId, Validation,
};

use super::verdict::{Decision, decide};
use crate::db::{Db, Result, Tx};
use crate::store::Scope;
use crate::store::validations::{self, Item, Link};

/// One validation that is asked for.
#[derive(Clone)]
pub struct Ask {
    pub scope: Scope,
    pub user: ExternalId,
    pub product: Option<ProductId>,
}

/// The request names a product that does not exist; nothing was done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProduct;

pub type Answer = std::result::Result<Validation, UnknownProduct>;

/// Answers all of `asks`, in their order. When it returns, what was written is on disk.
///
/// `None`: another node changed in between what was about to be decided on. Nothing was written;
/// asking again is right.
pub async fn answer(db: &Db, asks: &[Ask], now: Timestamp) -> Result<Option<Vec<Answer>>> {
    let mut tx = db.begin().await?;
    let batch = Batch::gather(&mut tx, asks, now).await?;
    let mut draft = batch.decide(batch.known.clone());
    batch.insert_missing_users(&mut tx).await?;
    if !draft.taken.is_empty() {
        if !tx.is_alone() {
            // Another node may write too: what is locked now is read again before it is changed.
            let locked = draft.counts();
            validations::lock_licenses(&mut tx, &license_items(&locked)).await?;
            draft = batch.decide(read(&mut tx, &batch.users).await?);
            if !draft.counts().keys().all(|license| locked.contains_key(license)) {
                return Ok(None);
            }
        }
        validations::insert_seats(&mut tx, &seat_items(&draft.taken), now).await?;
        validations::count_seats(&mut tx, &license_items(&draft.counts())).await?;
    }
    if !draft.seen.is_empty() {
        validations::touch_seats(&mut tx, &seat_items(&draft.seen), now).await?;
    }
    tx.commit().await?;
    Ok(Some(draft.answers))
}

/// What a batch asks, each user once, and what is known of them.
struct Batch<'a> {
    asks: &'a [Ask],
    now: Timestamp,
    /// Sorted, so that every node makes users in the same order.
    users: Vec<(Scope, &'a ExternalId)>,
    /// For each ask, the place of its user.
    user_of: Vec<usize>,
    known: Vec<Known>,
    /// For each ask, whether it names a product that does not exist.
    astray: Vec<bool>,
}

/// What is known of one user.
#[derive(Clone, Default)]
struct Known {
    id: Option<UserId>,
    links: Vec<Link>,
}

async fn read(tx: &mut Tx, users: &[(Scope, &ExternalId)]) -> Result<Vec<Known>> {
    let items: Vec<_> = users.iter().map(|(scope, user)| Item::user(*scope, user)).collect();
    let mut known = vec![Known::default(); users.len()];
    for found in validations::find(tx, &items).await? {
        let user = &mut known[found.n as usize];
        user.id = Some(found.user_id);
        user.links.extend(found.link);
    }
    Ok(known)
}

impl<'a> Batch<'a> {
    async fn gather(tx: &mut Tx, asks: &'a [Ask], now: Timestamp) -> Result<Self> {
        let sorted: BTreeSet<_> = asks.iter().map(|ask| (ask.scope, &ask.user)).collect();
        let users: Vec<_> = sorted.into_iter().collect();
        let place: HashMap<_, _> = users.iter().enumerate().map(|(at, user)| (*user, at)).collect();
        let user_of = asks.iter().map(|ask| place[&(ask.scope, &ask.user)]).collect();
        let known = read(tx, &users).await?;
        let mut batch = Self { asks, now, users, user_of, known, astray: vec![false; asks.len()] };
        batch.look_for_products(tx).await?;
        Ok(batch)
    }

    /// A product of which the user has a license exists; only the others need a look.
    async fn look_for_products(&mut self, tx: &mut Tx) -> Result<()> {
        let mut doubtful = Vec::new();
        for (at, ask) in self.asks.iter().enumerate() {
            let links = &self.known[self.user_of[at]].links;
            if let Some(product) = ask.product
                && !links.iter().any(|link| link.license.product_id == product)
            {
                self.astray[at] = true;
                doubtful.push((at, Item::product(ask.scope, product)));
            }
        }
        if doubtful.is_empty() {
            return Ok(());
        }
        let (places, items): (Vec<usize>, Vec<Item<'_>>) = doubtful.into_iter().unzip();
        for found in validations::find_products(tx, &items).await? {
            self.astray[places[found as usize]] = false;
        }
        Ok(())
    }

    async fn insert_missing_users(&self, tx: &mut Tx) -> Result<()> {
        let asked: BTreeSet<usize> = (0..self.asks.len())
            .filter(|&at| !self.astray[at] && self.known[self.user_of[at]].id.is_none())
            .map(|at| self.user_of[at])
            .collect();
        if asked.is_empty() {
            return Ok(());
        }
        let item = |(scope, user): (Scope, &'a ExternalId)| {
            Item::new_user(scope, UserId::new(self.now), user)
        };
        let users: Vec<_> = asked.into_iter().map(|at| item(self.users[at])).collect();
        validations::insert_users(tx, &users, self.now).await
    }

    /// Decides for each ask in turn; what one is given, the next one sees.
    fn decide(&self, mut known: Vec<Known>) -> Draft {
        let mut draft = Draft::default();
        let mut used: HashMap<LicenseId, i32> = HashMap::new();
        for (at, ask) in self.asks.iter().enumerate() {
            if self.astray[at] {
                draft.answers.push(Err(UnknownProduct));
                continue;
            }
            let user = &mut known[self.user_of[at]];
            for link in &mut user.links {
                link.seats_used = *used.get(&link.license.id).unwrap_or(&link.seats_used);
            }
            let answer = match decide(&user.links, ask.product, self.now) {
                Decision::Refuse(reason) => Validation::Invalid(Refusal { valid: Fixed, reason }),
                Decision::Keep(place) => draft.keep(ask.scope, &mut user.links[place], self.now),
                Decision::Take(place) => {
                    let link = &mut user.links[place];
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
    taken: Vec<(Scope, Activation)>,
    seen: Vec<(Scope, Activation)>,
}

impl Draft {
    fn take(&mut self, scope: Scope, link: &mut Link, now: Timestamp) -> Validation {
        let seat = Activation {
            id: ActivationId::new(now),
            user_id: link.user_id,
            license_id: link.license.id,
            activated_at: now,
            last_checked_at: now,
        };
        self.taken.push((scope, seat.clone()));
        link.seat = Some(seat);
        self.keep(scope, link, now)
    }

    fn keep(&mut self, scope: Scope, link: &mut Link, now: Timestamp) -> Validation {
        let Link { license, seat: Some(seat), .. } = link else {
            unreachable!("only a seat that is held is kept")
        };
        // A seat asked for twice in one batch, or just taken, carries this time already.
        if seat.last_checked_at != now {
            seat.last_checked_at = now;
            self.seen.push((scope, seat.clone()));
        }
        Validation::Valid(Box::new(Grant {
            valid: Fixed,
            features: license.features.clone(),
            license: license.clone(),
            activation: seat.clone(),
        }))
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

fn seat_items(seats: &[(Scope, Activation)]) -> Vec<Item<'static>> {
    seats.iter().map(|(scope, seat)| Item::seat(*scope, seat)).collect()
}

fn license_items(counts: &BTreeMap<LicenseId, (Scope, i32)>) -> Vec<Item<'static>> {
    counts.iter().map(|(id, (scope, seats))| Item::license(*scope, *id, *seats)).collect()
}
