//! Leases: signed results of validations, with which an application is licensed offline until the
//! lease ends. The seat stays taken until then. To free the seat earlier, send `leases=drop`.

use chrono::TimeDelta;
use common::{
    Activation, AssignmentId, DeviceName, ExternalId, Lease, LeaseAnswer, LeaseClaims, LeaseId,
    LeaseReason, LeasedAnswer, License, LicenseId, Open, ProductId, RunningLease, Timestamp,
    TtlSeconds, ValidAnswer, Validation,
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

/// Maximum number of attempts when concurrent changes interfere.
const ATTEMPTS: usize = 5;
/// Minimum duration of a lease, in seconds.
const MIN_SECONDS: i64 = 60;
/// Maximum bytes of a token, so that it fits into a header or a cookie.
const MAX_BYTES: usize = 16 * 1024;
/// Bytes that the signature adds to a token.
const SIGNATURE_BYTES: usize = 87;

/// Limits log lines about leases that could not be issued.
static NOT_ISSUED: LineLimit = LineLimit::new();

/// A request for a lease.
pub struct LeaseOptions<'a> {
    pub user: &'a ExternalId,
    pub product: ProductId,
    pub ttl: Option<TtlSeconds>,
    pub device: Option<&'a DeviceName>,
    /// Whether the caller may exceed the duration that the license offers.
    pub is_admin: bool,
    /// Checks that the caller's key may cause another event now. Called only if there is one to
    /// record.
    pub admits_event: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// Outcome of an attempt to issue a lease.
enum Issued {
    Lease(Lease),
    Refused(LeaseReason),
    /// The validation would have another result now.
    Outdated,
}

/// Validates, and issues a lease to a user who is licensed. Validates again if a concurrent change
/// interferes.
pub async fn issue<V: Future<Output = Result<Validation, Error>>>(
    ops: &Operations,
    origin: Origin,
    keys: &SecretKeys,
    options: &LeaseOptions<'_>,
    validate: impl Fn() -> V,
) -> Result<LeaseAnswer, Error> {
    for _ in 0..ATTEMPTS {
        let validation = match validate().await? {
            Validation::Valid(answer) => *answer,
            Validation::Invalid(answer) => return Ok(LeaseAnswer::Invalid(answer)),
        };
        let (lease, reason) = match attempt(ops, &origin, keys, options, &validation).await? {
            Issued::Lease(lease) => (Some(lease), None),
            Issued::Refused(reason) => (None, Some(Open::Known(reason))),
            Issued::Outdated => continue,
        };
        let answer = LeasedAnswer { validation, lease, lease_reason: reason };
        return Ok(LeaseAnswer::Valid(Box::new(answer)));
    }
    Err(Error::Unavailable)
}

/// Issues a lease to a user who was just validated and holds this seat. Writes nothing if it issues
/// none.
async fn attempt(
    ops: &Operations,
    origin: &Origin,
    keys: &SecretKeys,
    options: &LeaseOptions<'_>,
    answer: &ValidAnswer,
) -> Result<Issued, Error> {
    let (scope, view) = (origin.scope, ops.view(origin.scope));
    let now = Timestamp::now();
    if let Err(none) = draft(&mut view.read().await?, scope, options, answer, now).await? {
        return Ok(none);
    }
    let signer = match signing_keys::signer(&view, keys).await? {
        Ok(signer) => signer,
        Err(why) => return Ok(refuse(scope, LeaseReason::NoSigningKey, &why)),
    };
    let issued = commit(ops.change(origin.clone()).await?, &signer, options, answer).await?;
    if let Issued::Refused(reason @ LeaseReason::TooLarge) = issued {
        return Ok(refuse(scope, reason, "the license has too many or too long features"));
    }
    Ok(issued)
}

/// Logs that no lease could be issued.
fn refuse(scope: Scope, reason: LeaseReason, why: &str) -> Issued {
    let tenant = scope.tenant;
    NOT_ISSUED
        .write(|left_out| tracing::warn!(%tenant, %reason, why, left_out, "no lease was issued"));
    Issued::Refused(reason)
}

/// Decides again while license and seat are locked, records the lease on the seat, and signs it.
async fn commit(
    mut change: Change,
    signer: &Signer,
    options: &LeaseOptions<'_>,
    answer: &ValidAnswer,
) -> Result<Issued, Error> {
    let (scope, now, seat) = (change.scope(), change.now, &answer.activation);
    let license = licenses::lock(&mut change, scope, seat.license_id).await?;
    let held = assignments::lock(&mut change, scope, seat.user_id, seat.license_id).await?;
    let Some((license, held)) = license.zip(held) else { return Ok(Issued::Outdated) };
    let claims = match draft(&mut change, scope, options, answer, now).await? {
        Ok(claims) => claims,
        Err(none) => return Ok(none),
    };
    let unsigned = claims.unsigned(&signer.kid).map_err(|_| Error::Internal)?;
    if unsigned.len() + SIGNATURE_BYTES > MAX_BYTES {
        return Ok(Issued::Refused(LeaseReason::TooLarge));
    }
    let token = LeaseClaims::signed(&unsigned, &signer.sign(&unsigned)?);
    let lease = lease(&claims, token)?;
    let tolerance = TimeDelta::seconds(LeaseClaims::TOLERANCE);
    let former = held.seat.as_ref().and_then(|seat| seat.leased_until);
    let until = lease.expires_at.plus(tolerance).max(former.unwrap_or(now));
    stored::set(&mut change, scope, seat, until, options.device).await?;
    let is_leased = held.seat.is_some_and(|seat| seat.lease_until(now).is_some());
    let is_renewal = is_leased && held.leased_device.as_ref() == options.device;
    let mut events = Vec::new();
    if !is_renewal {
        match (options.admits_event)() {
            Ok(()) => {
                events.push(NewEvent::lease_issued(
                    &license,
                    options.user,
                    seat,
                    &lease,
                    options.device,
                ));
            }
            // The seat is leased already, so the user gets the token without another event.
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

/// Returns the content of a lease, if a validation still has the same result.
async fn draft(
    conn: &mut Conn,
    scope: Scope,
    options: &LeaseOptions<'_>,
    answer: &ValidAnswer,
    now: Timestamp,
) -> Result<Result<LeaseClaims, Issued>, Error> {
    let (user, seat) = (answer.activation.user_id, &answer.activation);
    let known = users::find(conn, scope, user).await?;
    if known.is_none_or(|known| known.external_id != *options.user) {
        return Ok(Err(Issued::Outdated));
    }
    let found = validations::explain(conn, scope, user).await?;
    // The license of the validation. Another one may come first in the meantime.
    let by = found.into_iter().map(|it| it.assigned).find(|by| by.license == answer.license);
    Ok(match by {
        Some(by) if is_valid(&by, now) && by.seat.as_ref().is_some_and(|it| it.id == seat.id) => {
            claims_of(&by, scope, options, now).map_err(Issued::Refused)
        }
        _ => Err(Issued::Outdated),
    })
}

fn claims_of(
    by: &AssignedLicense,
    scope: Scope,
    options: &LeaseOptions<'_>,
    now: Timestamp,
) -> Result<LeaseClaims, LeaseReason> {
    let AssignedLicense { license, terms, .. } = by;
    let offered = terms.max_lease_seconds.map(|most| most.get());
    // A floating seat is leased only on request, because otherwise each start would pin it.
    let usual = offered.filter(|_| by.idle_time().is_none());
    let asked = options.ttl.map(TtlSeconds::get);
    let seconds = match asked.zip(offered) {
        Some((asked, offered)) if !options.is_admin => Some(asked.min(offered)),
        _ => asked.filter(|_| options.is_admin).or(usual),
    };
    let iat = seconds_of(now);
    let exp = iat + i64::from(seconds.ok_or(LeaseReason::NotOffered)?);
    let end = terms.grace_ends_at(license.expires_at).or(license.expires_at);
    let exp = end.map_or(exp, |end| exp.min(seconds_of(end)));
    if exp - iat < MIN_SECONDS {
        return Err(LeaseReason::EndsSoon);
    }
    Ok(LeaseClaims {
        iss: scope.tenant,
        mode: scope.mode,
        sub: options.user.clone(),
        aud: license.product_id,
        jti: LeaseId::new(now),
        iat,
        exp,
        license_id: license.id,
        plan_id: license.plan_id,
        features: license.features.clone(),
        license_expires_at: license.expires_at,
        device: options.device.cloned(),
    })
}

/// Returns whole seconds since 1970, rounded down.
fn seconds_of(time: Timestamp) -> i64 {
    (time.millis() / 1000) as i64
}

/// Filter of a list of running leases, as the caller wrote it.
#[derive(Clone, Default)]
pub struct LeaseQuery {
    /// External id of the user.
    pub user: Option<ExternalId>,
    pub license: Option<LicenseId>,
}

/// Returns the leases that hold a seat now.
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

/// Fails if a lease holds one of the seats, unless the change drops leases. Returns the events of
/// dropped leases.
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
