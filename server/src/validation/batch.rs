//! Code that both kinds of batches share: the admission of requests, and the decisions with what
//! follows from them.

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{
    Activation, ExternalId, KeyId, License, LicenseId, ProductId, Reason, Timestamp, Validation,
};
use sqlx::types::Json;

use super::last_checks::LastChecks;
use super::outcome_counts::{DecidedValidation, OutcomeCounts};
use super::request::ValidationRequest;
use crate::auth::gate::{KeyGate, Permission};
use crate::db::{Conn, Db, Result};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::store::batch_rows::BatchRow;
use crate::store::validations::{self, AssignedLicense, BatchHit, UserLicenses};
use crate::store::{Scope, World};

pub type ValidationResult = std::result::Result<Validation, Error>;

/// Decides batches of validations.
pub struct BatchValidator {
    pub db: Db,
    pub gate: Arc<KeyGate>,
    pub outcomes: Arc<OutcomeCounts>,
    pub last_checks: Arc<LastChecks>,
    pub metrics: Arc<Metrics>,
}

/// A request whose key is valid and within its rate.
#[derive(Clone, Copy)]
pub struct Admitted<'a> {
    pub request: &'a ValidationRequest,
    pub key: KeyId,
    pub scope: Scope,
    pub user: &'a UserLicenses,
}

impl BatchValidator {
    /// Admits the request if its key is stored, valid, within its rate, and may validate.
    pub fn admit<'a>(
        &self,
        request: &'a ValidationRequest,
        hit: Option<&'a BatchHit>,
        now: Timestamp,
    ) -> std::result::Result<Admitted<'a>, Error> {
        let auth = self.gate.admit(hit.map(|hit| hit.auth), &request.caller, now)?;
        Permission::Validate.check(auth.role)?;
        let user = &hit.ok_or(Error::Unauthorized)?.user;
        Ok(Admitted { request, key: auth.key_id, scope: auth.scope, user })
    }

    /// Counts the decisions and records the checks of seats, in memory. Called once for each
    /// request, when its result is certain.
    pub fn record(&self, decisions: &mut Decisions<'_>) {
        for decided in &decisions.decided {
            self.metrics.decided(decided.reason);
        }
        self.outcomes.record_batch(decisions.decided.drain(..), decisions.now);
        self.last_checks.record(decisions.checked.iter().map(|(world, seat)| (*world, seat)));
    }
}

/// Decisions of a batch. A deferred request has no result.
pub struct Decisions<'a> {
    now: Timestamp,
    results: Vec<Option<ValidationResult>>,
    decided: Vec<DecidedValidation<'a>>,
    checked: Vec<(World, Activation)>,
    /// Positions of results that lack the features of their license, with the row that finds them.
    incomplete: Vec<(usize, BatchRow<'static>)>,
}

impl<'a> Decisions<'a> {
    pub fn new(now: Timestamp) -> Self {
        let (results, decided, checked, incomplete) = Default::default();
        Self { now, results, decided, checked, incomplete }
    }

    /// Defers the next request to a batch that writes.
    pub fn defer(&mut self) {
        self.results.push(None);
    }

    /// Fails the next request.
    pub fn fail(&mut self, error: Error) {
        self.results.push(Some(Err(error)));
    }

    /// Refuses the next request. `license` is the one that gave the reason, if any.
    pub fn refuse(&mut self, of: Admitted<'a>, reason: Reason, license: Option<&License>) {
        self.count(of, Some(reason), license.map(|license| license.id));
        self.results.push(Some(Ok(Validation::invalid(reason))));
    }

    /// Accepts the next request, whose user holds the seat on the license.
    pub fn accept(&mut self, of: Admitted<'a>, assigned: &AssignedLicense, seat: &Activation) {
        self.count(of, None, None);
        let mut seat = seat.clone();
        // The time can be later already: the seat is new, or a node with a faster clock checked it.
        if seat.last_checked_at < self.now {
            seat.last_checked_at = self.now;
            self.checked.push((of.scope.world, seat.clone()));
        }
        let license: License = assigned.license.clone();
        if assigned.features_omitted {
            let row = BatchRow::license(of.scope, license.id, 0);
            self.incomplete.push((self.results.len(), row));
        }
        self.results.push(Some(Ok(Validation::valid(license, seat, assigned.idle_time()))));
    }

    fn count(&mut self, of: Admitted<'a>, reason: Option<Reason>, license: Option<LicenseId>) {
        let user: &ExternalId = &of.request.user;
        self.decided.push(DecidedValidation { scope: of.scope, user, reason, license });
    }

    /// Reads the long lists of features, which [`validations::find`] omits.
    pub async fn complete(&mut self, conn: &mut Conn) -> Result<()> {
        let (places, rows): (Vec<_>, Vec<_>) = self.incomplete.drain(..).unzip();
        if rows.is_empty() {
            return Ok(());
        }
        for (place, Json(features)) in validations::find_features(conn, &rows).await? {
            if let Some(Ok(Validation::Valid(answer))) = &mut self.results[places[place as usize]] {
                answer.license.features = features.clone();
                answer.features = features;
            }
        }
        Ok(())
    }

    /// Returns the results in the order of the requests.
    pub fn into_results(self) -> Vec<Option<ValidationResult>> {
        self.results
    }
}

/// Returns the products that requests name and that do not exist. A product exists if the user has a
/// license for it, so only other products are looked up.
pub async fn unknown_products<'a>(
    conn: &mut Conn,
    requests: impl Iterator<Item = &'a Admitted<'a>>,
) -> Result<BTreeSet<(Scope, ProductId)>> {
    let mut doubtful = BTreeSet::new();
    for &Admitted { request, scope, user, .. } in requests {
        let is_known =
            |product| user.licenses.iter().any(|assigned| assigned.license.product_id == product);
        if let Some(product) = request.product.filter(|product| !is_known(*product)) {
            doubtful.insert((scope, product));
        }
    }
    if doubtful.is_empty() {
        return Ok(doubtful);
    }
    let doubtful: Vec<_> = doubtful.into_iter().collect();
    let rows: Vec<_> =
        doubtful.iter().map(|(scope, product)| BatchRow::record(*scope, product.uuid())).collect();
    let known: BTreeSet<_> = validations::find_products(conn, &rows).await?.into_iter().collect();
    let unknown = doubtful.into_iter().enumerate();
    let unknown = unknown.filter(|(place, _)| !known.contains(&(*place as i64)));
    Ok(unknown.map(|(_, product)| product).collect())
}
