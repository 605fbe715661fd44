//! Many validations at the cost of one: read what they need, decide in the order of arrival, write
//! what was decided.
//!
//! A batch of users who hold their seats is one read and one write, each a statement of its own:
//! neither needs the other to be undone. A batch that creates users or takes seats is a transaction,
//! which locks the licenses, reads again, and decides on that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::{ExternalId, LicenseId, Timestamp, User, UserId};

use super::gate::KeyGate;
use super::limit::Allowance;
use super::outcome::{Outcome, license_rows};
use super::request::{AdmittedRequest, ValidationRequest};
use super::verdict::{Decision, decide, deciding};
use crate::db::{Conn, Db, Result, Tx};
use crate::error::{Error, LineLimit, is_collision};
use crate::events::{self, NewEvent, Origin};
use crate::store::batch_rows::BatchRow;
use crate::store::validations::{self, BatchHit, BatchQuery, BatchSlot, UserLicenses};
use crate::store::{Scope, seats};

/// How often a batch starts over because another node came in between.
const ATTEMPTS: usize = 10;
static GAVE_UP: LineLimit = LineLimit::new();

/// Answers all of `requests`, in their order, from what was `found` on `conn`.
pub async fn answer<'a>(
    db: &Db,
    gate: &KeyGate,
    conn: Conn,
    query: &'a BatchQuery<'a>,
    found: HashMap<BatchSlot, BatchHit>,
    requests: &'a [AdmittedRequest<'a>],
    now: Timestamp,
) -> std::result::Result<Outcome<'a>, Error> {
    if requests.is_empty() {
        return Ok(Outcome::new(now));
    }
    let mut batch = Batch::new(query, requests, now);
    let mut first = Some((conn, batch.sort(found)));
    for _ in 0..ATTEMPTS {
        let (conn, users) = match first.take() {
            Some(first) => first,
            None => {
                let mut conn = db.write().await?;
                let users = batch.read(&mut conn).await?;
                (conn, users)
            }
        };
        match attempt(db, gate, conn, &mut batch, users).await {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(error) if is_collision(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    GAVE_UP.write(|left_out| {
        let validations = requests.len();
        tracing::warn!(validations, left_out, "gave up: others kept changing the same records");
    });
    Err(Error::Unavailable)
}

/// `None`: another node changed in between what was to be decided on. Nothing was written.
async fn attempt<'a>(
    db: &Db,
    gate: &KeyGate,
    mut conn: Conn,
    batch: &mut Batch<'a>,
    users: Vec<UserLicenses>,
) -> Result<Option<Outcome<'a>>> {
    batch.find_unknown_products(&mut conn, &users).await?;
    batch.limit_new_users(gate, &users);
    let new_users = batch.new_users(&users);
    let mut outcome = batch.decide(users);
    if new_users.is_empty() && !outcome.claims_seats() {
        outcome.read_omitted_features(&mut conn).await?;
        outcome.touch_seats(&mut conn).await?;
        return Ok(Some(outcome));
    }
    let tx = db.begin_after(conn).await?;
    write(tx, batch, &new_users, &outcome.claims_by_license()).await
}

/// Creates `new_users` and takes the seats that a decision under locks gives; `expected` are the
/// licenses of which seats were claimed without.
async fn write<'a>(
    mut tx: Tx,
    batch: &Batch<'a>,
    new_users: &[AdmittedRequest<'_>],
    expected: &BTreeMap<LicenseId, (Scope, i32)>,
) -> Result<Option<Outcome<'a>>> {
    let mut events = create_users(&mut tx, new_users, batch.now).await?;
    if !expected.is_empty() {
        validations::lock_licenses(&mut tx, &license_rows(expected)).await?;
    }
    let users = batch.read(&mut tx).await?;
    // A user who existed is deleted by now, and must be created first.
    if !batch.new_users(&users).is_empty() {
        return Ok(None);
    }
    let mut outcome = batch.decide(users);
    let claims = outcome.claims_by_license();
    if !claims.keys().all(|license| expected.contains_key(license)) {
        return Ok(None);
    }
    outcome.read_omitted_features(&mut tx).await?;
    if !claims.is_empty() {
        seats::take(&mut tx, &outcome.claimed_rows(), &license_rows(&claims), batch.now).await?;
    }
    outcome.touch_seats(&mut tx).await?;
    events.extend(outcome.seat_events());
    events::record(&mut tx, &events, batch.now).await?;
    tx.commit().await?;
    Ok(Some(outcome))
}

/// Creates the users of these requests, and answers the events of those who did not exist.
async fn create_users(
    conn: &mut Conn,
    requests: &[AdmittedRequest<'_>],
    now: Timestamp,
) -> Result<Vec<(Origin, NewEvent)>> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let new = |request: &AdmittedRequest<'_>| {
        User::new(request.scope.tenant, request.request.user.clone(), now)
    };
    let users: Vec<_> = requests.iter().map(new).collect();
    let mut rows = Vec::with_capacity(requests.len());
    for (request, user) in requests.iter().zip(&users) {
        rows.push(BatchRow::new_user(request.scope, user.id, &request.request.user));
    }
    let created = validations::insert_users(conn, &rows, now).await?;
    let created: BTreeSet<UserId> = created.into_iter().collect();
    let new = requests.iter().zip(&users).filter(|(_, user)| created.contains(&user.id));
    Ok(new.map(|(request, user)| (request.origin(), NewEvent::user_created(user))).collect())
}

/// The requests of a batch, and the users they are about, each once.
struct Batch<'a> {
    query: &'a BatchQuery<'a>,
    requests: &'a [AdmittedRequest<'a>],
    now: Timestamp,
    /// The last request about each user. Sorted, so that every node creates users in the same order.
    users: BTreeMap<(Scope, &'a ExternalId), AdmittedRequest<'a>>,
    /// For each request, the number of its user.
    user_of: Vec<usize>,
    /// For each request, whether it names a product that does not exist.
    unknown_product: Vec<bool>,
    /// For each user who does not exist, whether the key's rate allows to create one.
    new_user_allowances: HashMap<usize, Allowance>,
}

impl<'a> Batch<'a> {
    fn new(query: &'a BatchQuery<'a>, requests: &'a [AdmittedRequest<'a>], now: Timestamp) -> Self {
        let users: BTreeMap<_, _> =
            requests.iter().map(|request| (request.user(), *request)).collect();
        let numbers = users.keys().enumerate().map(|(number, user)| (*user, number));
        let numbers: HashMap<_, _> = numbers.collect();
        let user_of = requests.iter().map(|request| numbers[&request.user()]);
        Self {
            query,
            requests,
            now,
            user_of: user_of.collect(),
            users,
            unknown_product: vec![false; requests.len()],
            new_user_allowances: HashMap::new(),
        }
    }

    async fn read(&self, conn: &mut Conn) -> Result<Vec<UserLicenses>> {
        Ok(self.sort(validations::find(conn, self.query).await?))
    }

    /// The users in the order of their numbers.
    fn sort(&self, mut found: HashMap<BatchSlot, BatchHit>) -> Vec<UserLicenses> {
        let mut user = |slot| found.remove(&slot).map(|hit| hit.user).unwrap_or_default();
        self.users.values().map(|request| user(request.slot)).collect()
    }

    /// A product of which the user has a license exists; only the others need a look.
    async fn find_unknown_products(
        &mut self,
        conn: &mut Conn,
        users: &[UserLicenses],
    ) -> Result<()> {
        let (mut numbers, mut rows) = (Vec::new(), Vec::new());
        for (number, request) in self.requests.iter().enumerate() {
            let licenses = &users[self.user_of[number]].licenses;
            let unknown = request.request.product.filter(|product| {
                !licenses.iter().any(|assigned| assigned.license.product_id == *product)
            });
            self.unknown_product[number] = unknown.is_some();
            if let Some(product) = unknown {
                numbers.push(number);
                rows.push(BatchRow::product(request.scope, product));
            }
        }
        if !rows.is_empty() {
            for place in validations::find_products(conn, &rows).await? {
                self.unknown_product[numbers[place as usize]] = false;
            }
        }
        Ok(())
    }

    /// Counts each user who is to be created against the rate of the key: once for a batch, however
    /// often it starts over.
    fn limit_new_users(&mut self, gate: &KeyGate, users: &[UserLicenses]) {
        for (number, request) in self.requests.iter().enumerate() {
            let user = self.user_of[number];
            if users[user].id.is_none() && !self.unknown_product[number] {
                let allowance = self.new_user_allowances.entry(user);
                let ValidationRequest { user, caller, .. } = request.request;
                allowance.or_insert_with(|| gate.admit_new_user(request.key, user, caller));
            }
        }
    }

    fn may_be_created(&self, user: usize) -> std::result::Result<(), Error> {
        match self.new_user_allowances.get(&user) {
            Some(Allowance::Refused { wait, .. }) => Err(Error::TooManyNewUsers(*wait)),
            _ => Ok(()),
        }
    }

    /// A request for each user who is to be created.
    fn new_users(&self, users: &[UserLicenses]) -> Vec<AdmittedRequest<'a>> {
        let valid = self.user_of.iter().zip(&self.unknown_product);
        let wanted: BTreeSet<_> =
            valid.filter(|(_, unknown)| !**unknown).map(|(user, _)| *user).collect();
        let is_new = |number: usize| {
            users[number].id.is_none()
                && wanted.contains(&number)
                && self.may_be_created(number).is_ok()
        };
        let users = self.users.values().enumerate();
        users.filter(|(number, _)| is_new(*number)).map(|(_, request)| *request).collect()
    }

    /// Decides for each request in turn; a seat given to one is gone for the next.
    fn decide(&self, mut users: Vec<UserLicenses>) -> Outcome<'a> {
        let mut outcome = Outcome::new(self.now);
        for (number, request) in self.requests.iter().enumerate() {
            let user_number = self.user_of[number];
            let user = &mut users[user_number];
            if self.unknown_product[number] {
                outcome.refuse(Error::unknown("productId", "product"));
            } else if user.id.is_none()
                && let Err(refusal) = self.may_be_created(user_number)
            {
                outcome.refuse(refusal);
            } else {
                outcome.count_claims(&mut user.licenses);
                let product = request.request.product;
                let decision = decide(&user.licenses, product, self.now);
                if let Decision::Refuse(_) = decision {
                    let license = deciding(&user.licenses, product, self.now);
                    let license = license.map(|at| (number, user.licenses[at].license.id));
                    outcome.deciding.extend(license);
                }
                outcome.answer(*request, decision, &mut user.licenses);
            }
        }
        outcome
    }
}
