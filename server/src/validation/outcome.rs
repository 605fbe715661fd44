//! The outcome of a batch: an answer for each request, and what must be written for the answers to
//! be true.

use std::collections::{BTreeMap, HashMap};

use common::{Activation, License, LicenseId, Timestamp, Validation};
use sqlx::types::Json;

use super::request::AdmittedRequest;
use super::verdict::Decision;
use crate::db::{Conn, Result};
use crate::error::Error;
use crate::events::{NewEvent, Origin};
use crate::store::batch_rows::BatchRow;
use crate::store::validations::{self, AssignedLicense};
use crate::store::{Scope, seats};

pub type Answer = std::result::Result<Validation, Error>;

pub struct Outcome<'a> {
    pub answers: Vec<Answer>,
    /// For a refusal, by the number of its answer: the license that gave the reason.
    pub deciding: HashMap<usize, LicenseId>,
    now: Timestamp,
    claims: Vec<Claim<'a>>,
    /// The seats whose holders were seen.
    touched: Vec<(Scope, Activation)>,
    /// How many seats of a license are used, with those claimed.
    seats_used: HashMap<LicenseId, i32>,
    /// Answers that lack the features of their license, by their numbers.
    incomplete: Vec<(usize, BatchRow<'static>)>,
}

/// A seat that is newly taken.
struct Claim<'a> {
    request: AdmittedRequest<'a>,
    license: License,
    seat: Activation,
}

impl<'a> Outcome<'a> {
    pub fn new(now: Timestamp) -> Self {
        Self {
            answers: Vec::new(),
            deciding: HashMap::new(),
            now,
            claims: Vec::new(),
            touched: Vec::new(),
            seats_used: HashMap::new(),
            incomplete: Vec::new(),
        }
    }

    /// The next request fails.
    pub fn refuse(&mut self, error: Error) {
        self.answers.push(Err(error));
    }

    /// Counts the seats that earlier requests of the batch claimed.
    pub fn count_claims(&self, licenses: &mut [AssignedLicense]) {
        for assigned in licenses {
            if let Some(used) = self.seats_used.get(&assigned.license.id) {
                assigned.seats_used = *used;
            }
        }
    }

    /// The next request is answered as decided.
    pub fn answer(
        &mut self,
        request: AdmittedRequest<'a>,
        decision: Decision,
        licenses: &mut [AssignedLicense],
    ) {
        let answer = match decision {
            Decision::Refuse(reason) => Validation::invalid(reason),
            Decision::Keep(number) => self.keep(request.scope, &mut licenses[number]),
            Decision::Take(number) => self.take(request, &mut licenses[number]),
        };
        self.answers.push(Ok(answer));
    }

    fn take(&mut self, request: AdmittedRequest<'a>, assigned: &mut AssignedLicense) -> Validation {
        let seat = Activation::new(assigned.user_id, assigned.license.id, self.now);
        self.seats_used.insert(assigned.license.id, assigned.seats_used + 1);
        let license = assigned.license.clone();
        self.claims.push(Claim { request, license, seat: seat.clone() });
        assigned.seat = Some(seat);
        self.keep(request.scope, assigned)
    }

    fn keep(&mut self, scope: Scope, assigned: &mut AssignedLicense) -> Validation {
        let AssignedLicense { license, seat: Some(seat), features_omitted, .. } = assigned else {
            unreachable!("only a seat that is held is kept")
        };
        // A seat that two requests of the batch use, or that was just taken, has this time already;
        // one that a node with a faster clock has touched, a later one.
        if seat.last_checked_at < self.now {
            seat.last_checked_at = self.now;
            self.touched.push((scope, seat.clone()));
        }
        if *features_omitted {
            self.incomplete.push((self.answers.len(), BatchRow::license(scope, license.id, 0)));
        }
        Validation::valid(license.clone(), seat.clone())
    }

    /// Whether users take seats that they did not hold.
    pub fn claims_seats(&self) -> bool {
        !self.claims.is_empty()
    }

    /// How many seats are newly taken.
    pub fn seats_taken(&self) -> u64 {
        self.claims.len() as u64
    }

    pub fn claimed_rows(&self) -> Vec<BatchRow<'static>> {
        let row = |claim: &Claim<'_>| BatchRow::seat(claim.request.scope, &claim.seat);
        self.claims.iter().map(row).collect()
    }

    /// The events of the seats that are taken.
    pub fn seat_events(&self) -> impl Iterator<Item = (Origin, NewEvent)> {
        self.claims.iter().map(|Claim { request, license, seat }| {
            let user = &request.request.user;
            (request.origin(), NewEvent::seat_taken(license, user, seat))
        })
    }

    /// How many seats are claimed of each license.
    pub fn claims_by_license(&self) -> BTreeMap<LicenseId, (Scope, i32)> {
        let mut claims = BTreeMap::new();
        for Claim { request, seat, .. } in &self.claims {
            claims.entry(seat.license_id).or_insert((request.scope, 0)).1 += 1;
        }
        claims
    }

    /// Notes when the holders of seats were seen.
    pub async fn touch_seats(&self, conn: &mut Conn) -> Result<()> {
        if self.touched.is_empty() {
            return Ok(());
        }
        let mut touched: Vec<_> = self.touched.iter().collect();
        touched.sort_unstable_by_key(|(_, seat)| (seat.user_id, seat.license_id));
        let rows: Vec<_> =
            touched.into_iter().map(|(scope, seat)| BatchRow::seat(*scope, seat)).collect();
        seats::touch(conn, &rows, self.now).await
    }

    /// Reads the long lists of features, which [`validations::find`] leaves out.
    pub async fn read_omitted_features(&mut self, conn: &mut Conn) -> Result<()> {
        let (numbers, rows): (Vec<_>, Vec<_>) = self.incomplete.drain(..).unzip();
        if rows.is_empty() {
            return Ok(());
        }
        for (place, Json(features)) in validations::find_features(conn, &rows).await? {
            if let Ok(Validation::Valid(answer)) = &mut self.answers[numbers[place as usize]] {
                answer.license.features = features.clone();
                answer.features = features;
            }
        }
        Ok(())
    }
}

pub fn license_rows(claims: &BTreeMap<LicenseId, (Scope, i32)>) -> Vec<BatchRow<'static>> {
    claims.iter().map(|(id, (scope, seats))| BatchRow::license(*scope, *id, *seats)).collect()
}
