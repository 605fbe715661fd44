//! License keys, generated or imported, and claims with them.

use std::collections::BTreeSet;

use common::{
    Claim, CreateLicenseKey, CreatedLicenseKey, KeyState, KeyText, License, LicenseDetails,
    LicenseId, LicenseKey, LicenseKeyId, LicenseWithSeats, NewUser, Open, ProductId, Reason,
    Timestamp, User, Validation,
};
use sha2::{Digest, Sha256};

use super::change::{Change, Events};
use super::licenses::{NOT_FOUND as NO_LICENSE, add as add_assignment};
use super::outcome::{Changed, Created, Upserted};
use super::users;
use super::view::View;
use crate::error::{Error, has_code};
use crate::events::NewEvent;
use crate::store::keys::Hash;
use crate::store::license_keys::KnownKey;
use crate::store::validations::AssignedLicense;
use crate::store::{Page, assignments, license_keys, licenses, seats};
use crate::validation::{SeatChanges, UserOutcome};

const NOT_FOUND: Error = Error::NotFound("license key");
const UNKNOWN: Error = Error::LicenseKeyNotFound;

/// Maximum number of keys of a license. A license is for one customer, who needs few keys.
const MAX_KEYS: i64 = 1000;
/// Minimum length of a searched ending. Shorter endings match too many keys.
const MIN_ENDING: usize = 4;

fn hash(key: &KeyText) -> Hash {
    Sha256::digest(key.form()).into()
}

/// Adds a key to the license: a generated key, which only this result shows, or an imported one.
pub async fn create(
    mut change: Change,
    license: LicenseId,
    new: CreateLicenseKey,
) -> Result<Upserted<CreatedLicenseKey>, Error> {
    let (scope, now) = (change.scope(), change.now);
    if new.expires_at.is_some_and(|end| end <= now) {
        return Err(Error::invalid("expiresAt", "expiresAt must be in the future"));
    }
    let license = licenses::lock(&mut change, scope, license).await?.ok_or(NO_LICENSE)?;
    if let Some(brought) = &new.key {
        if brought.is_short() && new.allow_short != Some(true) {
            let rule = "key must have at least 12 letters, digits and signs, as shorter ones are \
                        easily guessed; allowShort takes 8";
            return Err(Error::invalid("key", rule));
        }
        if let Some(known) =
            license_keys::find_by_hash(&mut change, scope, &hash(brought), None).await?
        {
            let record = same(&mut change, &license, &known, &new).await?;
            let (id, key) = (record.id, brought.clone());
            let outcome = Upserted::Existing(CreatedLicenseKey { record, key });
            return Ok(change.commit_secret(outcome, id, Events::none()).await?);
        }
    }
    if license_keys::count_of_license(&mut change, scope, license.id).await? >= MAX_KEYS {
        return Err(Error::Conflict("The limit of 1000 keys of a license is reached"));
    }
    let key = new.key.unwrap_or_else(KeyText::generate);
    let record = LicenseKey {
        id: LicenseKeyId::new(now),
        license_id: license.id,
        suffix: key.suffix(),
        max_uses: new.max_uses,
        uses: 0,
        uses_limit: None,
        license_status: Open::Known(license.status),
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
    };
    license_keys::insert(&mut change, scope, &record, &hash(&key)).await.map_err(|error| {
        let is_taken = has_code(&error, |code| code == users::UNIQUE_VIOLATION);
        let taken = Error::Conflict("Another license has received this key in the meantime");
        if is_taken { taken } else { error.into() }
    })?;
    let record = license_keys::find(&mut change, scope, record.id).await?.ok_or(NOT_FOUND)?;
    let event = NewEvent::license_key_created(&license, &record);
    let id = record.id;
    Ok(change.commit_secret(Upserted::New(CreatedLicenseKey { record, key }), id, event).await?)
}

/// Returns the record of an existing key if it equals the requested one.
async fn same(
    change: &mut Change,
    license: &License,
    known: &KnownKey,
    new: &CreateLicenseKey,
) -> Result<LicenseKey, Error> {
    if known.license_id != license.id {
        return Err(Error::KeyOfLicense(known.license_id));
    }
    let scope = change.scope();
    let record = license_keys::find(change, scope, known.id).await?.ok_or(NOT_FOUND)?;
    if known.is_replaced || record.revoked_at.is_some() {
        return Err(Error::LicenseKeyRevoked);
    }
    if (record.max_uses, record.expires_at) != (new.max_uses, new.expires_at) {
        return Err(Error::Conflict(
            "The license has this key already, with another maxUses or expiresAt",
        ));
    }
    Ok(record)
}

/// Returns the keys of the license, oldest first. Empty if the license does not exist.
pub async fn of_license(
    view: View,
    license: LicenseId,
    page: Page<LicenseKeyId>,
) -> Result<Vec<LicenseKey>, Error> {
    let mut conn = view.read().await?;
    Ok(license_keys::page_of_license(&mut conn, view.scope, license, page).await?)
}

/// Returns the keys with this ending, however it is typed.
pub async fn by_ending(
    view: View,
    text: String,
    page: Page<LicenseKeyId>,
) -> Result<Vec<LicenseKey>, Error> {
    let ending = KeyText::form_of(&text);
    if ending.chars().count() < MIN_ENDING {
        let rule =
            "search must have at least 4 letters and digits, such as the last group of a key";
        return Err(Error::invalid("search", rule));
    }
    Ok(license_keys::page_by_ending(&mut view.read().await?, view.scope, &ending, page).await?)
}

/// Returns the record of the key with this text.
pub async fn find(view: View, key: &KeyText) -> Result<Option<LicenseKey>, Error> {
    let (mut conn, scope) = (view.read().await?, view.scope);
    let known = license_keys::find_by_hash(&mut conn, scope, &hash(key), None).await?;
    let Some(known) = known else { return Ok(None) };
    Ok(license_keys::find(&mut conn, scope, known.id).await?)
}

/// Replaces the text of the key. Only this result shows the new text. Uses, limit and expiry stay.
pub async fn reissue(
    mut change: Change,
    id: LicenseKeyId,
) -> Result<Created<CreatedLicenseKey>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let (license, before) = lock(&mut change, id).await?;
    if before.revoked_at.is_some() {
        return Err(Error::Conflict(
            "A revoked license key cannot be reissued. Create another one",
        ));
    }
    let key = KeyText::generate();
    let record = LicenseKey { suffix: key.suffix(), ..before.clone() };
    let former = LicenseKeyId::new(now);
    license_keys::reissue(&mut change, scope, &record, &hash(&key), former).await?;
    let event = NewEvent::license_key_reissued(&license, &before, &record);
    Ok(change.commit_secret(Created(CreatedLicenseKey { record, key }), id, event).await?)
}

/// Revokes the key, so that no user can claim with it. Users who have claimed with it stay assigned.
pub async fn revoke(mut change: Change, id: LicenseKeyId) -> Result<Changed<LicenseKey>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let (license, before) = lock(&mut change, id).await?;
    if before.revoked_at.is_some() {
        return Ok(change.commit(Changed(before), Events::none()).await?);
    }
    let key = LicenseKey { revoked_at: Some(now), ..before.clone() };
    license_keys::revoke(&mut change, scope, &key).await?;
    let event = NewEvent::license_key_revoked(&license, &before, &key);
    Ok(change.commit(Changed(key), event).await?)
}

/// Returns the key and its license, which is locked.
async fn lock(
    change: &mut Change,
    id: LicenseKeyId,
) -> Result<(LicenseDetails, LicenseKey), Error> {
    let scope = change.scope();
    let key = license_keys::find(change, scope, id).await?.ok_or(NOT_FOUND)?;
    let license = licenses::lock(change, scope, key.license_id).await?.ok_or(NOT_FOUND)?;
    let key = license_keys::find(change, scope, id).await?.ok_or(NOT_FOUND)?;
    Ok((license, key))
}

/// Finds the key of a claim, and whether the user has its license. Writes nothing.
pub async fn look_up(view: &View, claim: &Claim) -> Result<Option<KnownKey>, Error> {
    let (mut conn, hash) = (view.read().await?, hash(&claim.key));
    Ok(license_keys::find_by_hash(&mut conn, view.scope, &hash, Some(&claim.user_id)).await?)
}

/// Outcome of a claim.
pub struct Claimed {
    pub answer: Validation,
    pub seats_taken: u64,
    /// Number of idle seats of other users that were taken over.
    pub seats_reclaimed: u64,
}

/// Assigns the license of the key to the user, who is created if unknown, and takes a seat, all in
/// one change. A full license is refused, unless its seats are floating. Returns `None` if the user
/// got the license in the meantime; a validation then has the result.
pub async fn claim(
    mut change: Change,
    license: LicenseId,
    claim: &Claim,
) -> Result<Option<Claimed>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let (is_new, user) = users::ensure(&mut change, &claim.user_id, NewUser::default()).await?;
    let assigned = assignments::count_of_user(&mut change, scope, user.id).await?;
    let license = licenses::lock_with_seats(&mut change, scope, license).await?;
    let license = license.ok_or(UNKNOWN)?;
    // Read again under the lock, because the key may have been revoked, replaced or used in the
    // meantime.
    let hash = hash(&claim.key);
    let known = license_keys::find_by_hash(&mut change, scope, &hash, Some(&claim.user_id)).await?;
    let known = known.ok_or(UNKNOWN)?;
    if known.is_assigned {
        return Ok(None);
    }
    let key = license_keys::find(&mut change, scope, known.id).await?.ok_or(UNKNOWN)?;
    check(&key, &known, &license, claim.product_id, now)?;
    let idle_at = match license.terms.floating(license.max_seats) {
        Some(_) => seats::idle_at(&mut change, scope, license.id).await?,
        None => None,
    };
    let candidate = candidate(&license, &user, idle_at);
    let locked = [(scope, &candidate)];
    let mut changes = SeatChanges::find(&mut change, &locked, &BTreeSet::new(), 1, now).await?;
    let mut seat_events = Vec::new();
    let of = (&user.external_id, std::slice::from_ref(&candidate));
    let settled = changes.settle(scope, of, None, |_| true, now, &mut seat_events);
    let (answer, is_valid) = match settled.map_err(|_| Error::Internal)? {
        // Users who wait for a floating seat are assigned anyway.
        UserOutcome::Refused(Reason::ExceededSeats, _) if candidate.idle_time().is_none() => {
            let answer = Validation::invalid(Reason::ExceededSeats);
            return Ok(Some(Claimed { answer, seats_taken: 0, seats_reclaimed: 0 }));
        }
        UserOutcome::Refused(reason, _) => (Validation::invalid(reason), false),
        UserOutcome::Accepted(by, seat) => {
            (Validation::valid(by.license.clone(), seat, by.idle_time()), true)
        }
    };
    let of = (user.id, license.id);
    let assignment = add_assignment(&mut change, of, assigned, None, Some(key.id)).await?;
    let is_moved = is_valid && assignments::put_first(&mut change, scope, &assignment).await?;
    let key = LicenseKey { uses: key.uses + 1, ..key };
    let mut events: Vec<NewEvent> =
        is_new.then(|| NewEvent::user_created(&user)).into_iter().collect();
    let event = NewEvent::license_assigned(&license, &user.external_id, &assignment);
    events.push(if is_moved { event.as_first() } else { event });
    events.push(NewEvent::license_key_claimed(&license, &user, &key));
    events.extend(seat_events);
    if !changes.write(&mut change, now).await? {
        // The holder of the idle seat was validated in the meantime.
        return Err(Error::Unavailable);
    }
    change.commit(Changed(()), events).await?;
    let (seats_taken, seats_reclaimed) = (changes.seats_taken(), changes.seats_reclaimed());
    Ok(Some(Claimed { answer, seats_taken, seats_reclaimed }))
}

/// Returns the license as if it were assigned to the user and the only one.
fn candidate(
    license: &LicenseWithSeats,
    user: &User,
    seats_idle_at: Option<Timestamp>,
) -> AssignedLicense {
    AssignedLicense {
        user_id: user.id,
        license: license.license.clone(),
        terms: license.terms,
        seats_idle_at,
        seats_used: license.seats.used,
        seat: None,
        is_put_first: true,
        features_omitted: false,
    }
}

/// Fails if a user cannot claim with the key.
fn check(
    key: &LicenseKey,
    known: &KnownKey,
    license: &LicenseWithSeats,
    product: Option<ProductId>,
    now: Timestamp,
) -> Result<(), Error> {
    let state = if known.is_replaced { KeyState::Revoked } else { key.state(now) };
    if state == KeyState::Revoked {
        Err(Error::LicenseKeyRevoked)
    } else if state == KeyState::Expired {
        Err(Error::LicenseKeyExpired)
    } else if product.is_some_and(|product| product != license.product_id) {
        Err(Error::LicenseKeyOfAnotherProduct)
    } else if key.is_used_up() {
        Err(Error::LicenseKeyUsedUp)
    } else {
        Ok(())
    }
}
