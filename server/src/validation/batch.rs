//! Many validations at the cost of one: read what they need, decide in the order of arrival, write
//! what was decided.
//!
//! A batch of users who hold their seats is one read and one write, each a statement of its own:
//! neither needs the other to be undone. Where users or seats are to be made, a transaction locks
//! their licenses, reads again, and decides on that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{Activation, ExternalId, LicenseId, ProductId, Timestamp, UserId, Validation};

use super::Answer;
use super::verdict::{Decision, decide};
use crate::db::{Conn, Db, Result};
use crate::error::{Error, is_collision};
use crate::store::Scope;
use crate::store::validations::{self, Item, Link};

/// One validation that was let in.
pub struct Ask<'a> {
    pub scope: Scope,
    pub user: &'a ExternalId,
    pub product: Option<ProductId>,
}

/// How often a batch starts over because another node came in between.
const ATTEMPTS: usize = 10;

/// Answers all of `asks`, in their order, first of all on `conn`.
pub async fn answer(
    db: &Db,
    conn: Conn,
    asks: &[Ask<'_>],
) -> std::result::Result<Vec<Answer>, Error> {
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    let mut conn = Some(conn);
    for _ in 0..ATTEMPTS {
        let batch = Batch::new(asks, Timestamp::now());
        let conn = match conn.take() {
            Some(conn) => conn,
            None => db.write().await?,
        };
        match attempt(db, conn, &batch).await {
            Ok(Some(answers)) => return Ok(answers),
            Ok(None) => {}
            Err(error) if is_collision(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Unavailable)
}

/// `None`: another node changed in between what was to be decided on. Nothing was written.
async fn attempt(db: &Db, mut conn: Conn, batch: &Batch<'_>) -> Result<Option<Vec<Answer>>> {
    let known = batch.read(&mut conn).await?;
    let astray = batch.astray(&mut conn, &known).await?;
    let missing = batch.missing(&known, &astray);
    let draft = batch.decide(known, &astray);
    if missing.is_empty() && draft.taken.is_empty() {
        if !draft.seen.is_empty() {
            validations::touch_seats(&mut conn, &draft.seen(), batch.now).await?;
        }
        return Ok(Some(draft.answers));
    }
    drop(conn);

    let mut tx = db.begin().await?;
    if !missing.is_empty() {
        validations::insert_users(&mut tx, &missing, batch.now).await?;
    }
    let locked = draft.counts();
    if !locked.is_empty() {
        validations::lock_licenses(&mut tx, &licenses(&locked)).await?;
    }
    let draft = batch.decide(batch.read(&mut tx).await?, &astray);
    let counts = draft.counts();
    if !counts.keys().all(|license| locked.contains_key(license)) {
        return Ok(None);
    }
    if !counts.is_empty() {
        validations::insert_seats(&mut tx, &draft.taken(), batch.now).await?;
        validations::count_seats(&mut tx, &licenses(&counts)).await?;
    }
    if !draft.seen.is_empty() {
        validations::touch_seats(&mut tx, &draft.seen(), batch.now).await?;
    }
    tx.commit().await?;
    Ok(Some(draft.answers))
}

/// What is asked, and of whom, each user once.
struct Batch<'a> {
    asks: &'a [Ask<'a>],
    now: Timestamp,
    /// Sorted, so that every node makes users in the same order.
    users: Vec<(Scope, &'a ExternalId)>,
    /// For each ask, the place of its user.
    user_of: Vec<usize>,
}

/// What is known of one user.
#[derive(Clone, Default)]
struct Known {
    id: Option<UserId>,
    links: Vec<Link>,
}

impl<'a> Batch<'a> {
    fn new(asks: &'a [Ask<'a>], now: Timestamp) -> Self {
        let users: BTreeSet<_> = asks.iter().map(|ask| (ask.scope, ask.user)).collect();
        let users: Vec<_> = users.into_iter().collect();
        let place: HashMap<_, _> = users.iter().enumerate().map(|(at, user)| (*user, at)).collect();
        let user_of = asks.iter().map(|ask| place[&(ask.scope, ask.user)]).collect();
        Self { asks, now, users, user_of }
    }

    async fn read(&self, conn: &mut Conn) -> Result<Vec<Known>> {
        let items: Vec<_> =
            self.users.iter().map(|(scope, user)| Item::user(*scope, user)).collect();
        let mut known = vec![Known::default(); self.users.len()];
        for found in validations::find(conn, &items).await? {
            let user = &mut known[found.n as usize];
            user.id = Some(found.user_id);
            user.links.extend(found.link);
        }
        Ok(known)
    }

    /// For each ask, whether it names a product that does not exist. A product of which the user
    /// has a license exists; only the others need a look.
    async fn astray(&self, conn: &mut Conn, known: &[Known]) -> Result<Vec<bool>> {
        let mut astray = vec![false; self.asks.len()];
        let (mut places, mut items) = (Vec::new(), Vec::new());
        for (at, ask) in self.asks.iter().enumerate() {
            let links = &known[self.user_of[at]].links;
            if let Some(product) = ask.product
                && !links.iter().any(|link| link.license.product_id == product)
            {
                astray[at] = true;
                places.push(at);
                items.push(Item::product(ask.scope, product));
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
    fn missing(&self, known: &[Known], astray: &[bool]) -> Vec<Item<'a>> {
        let asked = self.user_of.iter().zip(astray).filter(|(_, astray)| !**astray);
        let asked: BTreeSet<_> = asked.map(|(user, _)| *user).collect();
        let missing = asked.into_iter().filter(|user| known[*user].id.is_none());
        let item = |(scope, user)| Item::new_user(scope, UserId::new(self.now), user);
        missing.map(|user| item(self.users[user])).collect()
    }

    /// Decides for each ask in turn; what one is given, the next one sees.
    fn decide(&self, mut known: Vec<Known>, astray: &[bool]) -> Draft {
        let mut draft = Draft::default();
        let mut used: HashMap<LicenseId, i32> = HashMap::new();
        for (at, ask) in self.asks.iter().enumerate() {
            if astray[at] {
                draft.answers.push(Err(Error::unknown("productId", "product")));
                continue;
            }
            let links = &mut known[self.user_of[at]].links;
            for link in links.iter_mut() {
                link.seats_used = *used.get(&link.license.id).unwrap_or(&link.seats_used);
            }
            let answer = match decide(links, ask.product, self.now) {
                Decision::Refuse(reason) => Validation::invalid(reason),
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
    taken: Vec<(Scope, Activation)>,
    seen: Vec<(Scope, Activation)>,
}

impl Draft {
    fn take(&mut self, scope: Scope, link: &mut Link, now: Timestamp) -> Validation {
        let seat = Activation::new(link.user_id, link.license.id, now);
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
        Validation::valid(license.clone(), seat.clone())
    }

    /// The seats that are given away.
    fn taken(&self) -> Vec<Item<'static>> {
        self.taken.iter().map(|(scope, seat)| Item::seat(*scope, seat)).collect()
    }

    /// The seats whose holders were seen, in the order of their ids.
    fn seen(&self) -> Vec<Item<'static>> {
        let mut seen: Vec<_> = self.seen.iter().collect();
        seen.sort_unstable_by_key(|(_, seat)| seat.id);
        seen.into_iter().map(|(scope, seat)| Item::seat(*scope, seat)).collect()
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

fn licenses(counts: &BTreeMap<LicenseId, (Scope, i32)>) -> Vec<Item<'static>> {
    counts.iter().map(|(id, (scope, seats))| Item::license(*scope, *id, *seats)).collect()
}
