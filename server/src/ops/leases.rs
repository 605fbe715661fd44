//! Leases: what a validation answered, signed, so that the application is licensed without the
//! network until the lease ends. Its seat stays counted as long; whoever takes such a seat away
//! says that the lease is to be dropped.

use chrono::TimeDelta;
use common::{
    Activation, AssignmentId, DeviceName, ExternalId, Lease, LeaseClaims, LeaseId, LeaseReason,
    License, LicenseId, ProductId, RunningLease, Timestamp, TtlSeconds, ValidAnswer,
};

use super::Operations;
use super::change::Change;
use super::outcome::Changed;
use super::signing_keys::{self, Signer};
use super::view::View;
use crate::db::Conn;
use crate::error::{Error, LineLimit};
use crate::events::{NewEvent, Origin};
use crate::secrets::SecretKeys;
use crate::store::leases::LeaseFilter;
use crate::store::validations::{self, AssignedLicense};
use crate::store::{Collected, Page, Scope, assignments, leases as stored, licenses, users};
use crate::validation::verdict::is_valid;

/// The least that a lease lasts, in seconds.
const SHORTEST: i64 = 60;
/// The most bytes of a token: headers and cookies take no more.
const LARGEST: usize = 16 * 1024;
/// The bytes that the signature adds to a token.
const SIGNATURE: usize = 87;

/// What operators learn of leases that should have been.
static NONE: LineLimit = LineLimit::new();

/// A request for a lease.
pub struct Wish<'a> {
    pub user: &'a ExternalId,
    pub product: ProductId,
    pub ttl: Option<TtlSeconds>,
    pub device: Option<&'a DeviceName>,
    /// Whether the caller may have more than the license offers.
    pub is_admin: bool,
    /// Whether the caller's key may cause another event now; asked only if there is one to record.
    pub admits_event: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// What became of it.
pub enum Issued {
    Lease(Lease),
    Refused(LeaseReason),
    /// The validation would be answered otherwise by now.
    Outdated,
}

/// Issues a lease to a user who was just validated, and holds this seat. Where none can be had,
/// nothing is written.
pub async fn issue(
    ops: &Operations,
    origin: Origin,
    keys: &SecretKeys,
    wish: &Wish<'_>,
    answer: &ValidAnswer,
) -> Result<Issued, Error> {
    let (scope, view) = (origin.scope, ops.view(origin.scope));
    let now = Timestamp::now();
    if let Err(none) = draft(&mut view.read().await?, scope, wish, answer, now).await? {
        return Ok(none);
    }
    let signer = match signing_keys::signer(&view, keys).await? {
        Ok(signer) => signer,
        Err(why) => return Ok(refuse(scope, LeaseReason::NoSigningKey, &why)),
    };
    let issued = commit(ops.change(origin).await?, &signer, wish, answer).await?;
    if let Issued::Refused(reason @ LeaseReason::TooLarge) = issued {
        return Ok(refuse(scope, reason, "the license has too many or too long features"));
    }
    Ok(issued)
}

/// Tells the operator of a lease that should have been.
fn refuse(scope: Scope, reason: LeaseReason, why: &str) -> Issued {
    let tenant = scope.tenant;
    NONE.write(|left_out| tracing::warn!(%tenant, %reason, why, left_out, "no lease was issued"));
    Issued::Refused(reason)
}

/// Decides again, under the locks of license and seat, notes the lease on the seat, and signs.
async fn commit(
    mut change: Change,
    signer: &Signer,
    wish: &Wish<'_>,
    answer: &ValidAnswer,
) -> Result<Issued, Error> {
    let (scope, now, seat) = (change.scope(), change.now, &answer.activation);
    let license = licenses::lock(&mut change, scope, seat.license_id).await?;
    let held = assignments::lock(&mut change, scope, seat.user_id, seat.license_id).await?;
    let Some((license, held)) = license.zip(held) else { return Ok(Issued::Outdated) };
    let claims = match draft(&mut change, scope, wish, answer, now).await? {
        Ok(claims) => claims,
        Err(none) => return Ok(none),
    };
    let unsigned = claims.unsigned(&signer.kid).map_err(|_| Error::Internal)?;
    if unsigned.len() + SIGNATURE > LARGEST {
        return Ok(Issued::Refused(LeaseReason::TooLarge));
    }
    let token = LeaseClaims::signed(&unsigned, &signer.sign(&unsigned)?);
    let lease = lease(&claims, token)?;
    let tolerance = TimeDelta::seconds(LeaseClaims::TOLERANCE);
    let former = held.seat.as_ref().and_then(|seat| seat.leased_until);
    let until = lease.expires_at.plus(tolerance).max(former.unwrap_or(now));
    stored::set(&mut change, scope, seat, until, wish.device).await?;
    let is_leased = held.seat.is_some_and(|seat| seat.lease_until(now).is_some());
    let is_renewal = is_leased && held.leased_device.as_ref() == wish.device;
    let mut events = Vec::new();
    if !is_renewal {
        match (wish.admits_event)() {
            Ok(()) => {
                events.push(NewEvent::lease_issued(&license, wish.user, seat, &lease, wish.device));
            }
            // The seat is known to be leased, so its user gets the token without an event.
            Err(_) if is_leased => {}
            Err(error) => return Err(error),
        }
    }
    change.commit(Changed(()), events).await?;
    Ok(Issued::Lease(lease))
}

fn lease(claims: &LeaseClaims, token: String) -> Result<Lease, Error> {
    let time = |seconds: i64| Timestamp::from_millis(seconds * 1000).ok_or(Error::Internal);
    Ok(Lease {
        id: claims.jti,
        token,
        issued_at: time(claims.iat)?,
        expires_at: time(claims.exp)?,
        renew_after: time(claims.iat + (claims.exp - claims.iat) / 2)?,
    })
}

/// What a lease would say now, if a validation is still answered like this.
async fn draft(
    conn: &mut Conn,
    scope: Scope,
    wish: &Wish<'_>,
    answer: &ValidAnswer,
    now: Timestamp,
) -> Result<Result<LeaseClaims, Issued>, Error> {
    let (user, seat) = (answer.activation.user_id, &answer.activation);
    let known = users::find(conn, scope, user).await?;
    if known.is_none_or(|known| known.external_id != *wish.user) {
        return Ok(Err(Issued::Outdated));
    }
    let found = validations::explain(conn, scope, user).await?;
    // The license that the validation returned, which another one may precede by now.
    let by = found.into_iter().map(|it| it.assigned).find(|by| by.license == answer.license);
    Ok(match by {
        Some(by) if is_valid(&by, now) && by.seat.as_ref().is_some_and(|it| it.id == seat.id) => {
            claims_of(&by, scope, wish, now).map_err(Issued::Refused)
        }
        _ => Err(Issued::Outdated),
    })
}

fn claims_of(
    by: &AssignedLicense,
    scope: Scope,
    wish: &Wish<'_>,
    now: Timestamp,
) -> Result<LeaseClaims, LeaseReason> {
    let AssignedLicense { license, terms, .. } = by;
    let offered = terms.max_lease_seconds.map(|most| most.get());
    // To go offline with a floating seat is what a person wishes, and not what each start does.
    let usual = offered.filter(|_| by.idle_time().is_none());
    let asked = wish.ttl.map(TtlSeconds::get);
    let seconds = match asked.zip(offered) {
        Some((asked, offered)) if !wish.is_admin => Some(asked.min(offered)),
        _ => asked.filter(|_| wish.is_admin).or(usual),
    };
    let iat = seconds_of(now);
    let exp = iat + i64::from(seconds.ok_or(LeaseReason::NotOffered)?);
    let end = terms.grace_ends_at(license.expires_at).or(license.expires_at);
    let exp = end.map_or(exp, |end| exp.min(seconds_of(end)));
    if exp - iat < SHORTEST {
        return Err(LeaseReason::EndsSoon);
    }
    Ok(LeaseClaims {
        iss: scope.tenant,
        mode: scope.mode,
        sub: wish.user.clone(),
        aud: license.product_id,
        jti: LeaseId::new(now),
        iat,
        exp,
        license_id: license.id,
        plan_id: license.plan_id,
        features: license.features.clone(),
        license_expires_at: license.expires_at,
        device: wish.device.cloned(),
    })
}

/// Whole seconds since 1970, rounded down.
fn seconds_of(time: Timestamp) -> i64 {
    (time.millis() / 1000) as i64
}

/// The filter of a list of running leases, as the caller wrote it.
#[derive(Clone, Default)]
pub struct LeaseQuery {
    /// The caller's own identifier of the user.
    pub user: Option<ExternalId>,
    pub license: Option<LicenseId>,
}

/// The leases that hold a seat now.
pub async fn running(
    view: View,
    query: LeaseQuery,
    page: Page<AssignmentId>,
) -> Result<Vec<RunningLease>, Error> {
    let user = match &query.user {
        Some(user) => {
            let user = users::find_external(&mut view.read().await?, view.scope, user).await?;
            let Some(user) = user else { return Ok(Vec::new()) };
            Some(user.id)
        }
        None => None,
    };
    let filter = LeaseFilter { user, license: query.license };
    let (mut found, now) = (Collected::new(page), Timestamp::now());
    while let Some(page) = found.next {
        let mut tx = view.snapshot().await?;
        found.add(stored::running(&mut tx, view.scope, filter, now, page).await?);
    }
    Ok(found.records)
}

/// Refuses to take away a seat that a lease holds, unless the caller drops leases; then the events.
pub(super) fn drop_running<'a>(
    change: &Change,
    seats: impl IntoIterator<Item = (&'a License, &'a ExternalId, &'a Activation)>,
) -> Result<Vec<NewEvent>, Error> {
    let (mut last, mut events) = (None, Vec::new());
    for (license, user, seat) in seats {
        let Some(until) = seat.lease_until(change.now) else { continue };
        last = last.max(Some(until));
        events.push(NewEvent::lease_dropped(license, user, seat));
    }
    match last {
        Some(until) if !change.drops_leases() => Err(Error::LeaseRunning(until)),
        _ => Ok(events),
    }
}
