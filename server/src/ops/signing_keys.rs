//! Signing keys of leases. Administrators create and rotate them. Issuing a lease never creates one,
//! because applications embed the keys before the first lease.

use chrono::TimeDelta;
use common::{
    Jwk, PublicKey, RotateSigningKeys, SigningKey, SigningKeyId, SigningKeyState, SigningKeys,
    Timestamp,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use zeroize::Zeroizing;

use super::change::Change;
use super::nodes::Node;
use super::outcome::{Changed, Created};
use super::view::View;
use crate::error::Error;
use crate::events::NewEvent;
use crate::secrets::{SealContext, SecretKeys};
use crate::store::signing_keys::StoredSigningKey;
use crate::store::{Page, Scope, sealed, signing_keys};

const NOT_FOUND: Error = Error::NotFound("signing key");
/// Time for which a retired key stays in the set that applications embed. No lease lasts longer.
const RETIRED_RETENTION: TimeDelta = TimeDelta::days(401);

fn record(stored: &StoredSigningKey) -> SigningKey {
    SigningKey {
        id: stored.id,
        state: stored.state,
        created_at: stored.created_at,
        retired_at: stored.retired_at,
        jwk: Jwk::of(&stored.public_key),
    }
}

/// The active signing key, opened.
pub struct Signer {
    pub kid: String,
    pair: EcdsaKeyPair,
}

impl Signer {
    /// Returns the signature of a text, 64 bytes.
    pub fn sign(&self, text: &str) -> Result<Vec<u8>, Error> {
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        signature.map(|signature| signature.as_ref().to_vec()).map_err(|_| Error::Internal)
    }
}

/// Returns the active key, or the reason why this node cannot sign.
pub async fn signer(view: &View, keys: &SecretKeys) -> Result<Result<Signer, String>, Error> {
    let scope = view.scope;
    let Some(active) = signing_keys::active(&mut view.read().await?, scope).await? else {
        return Ok(Err("there are no signing keys".to_owned()));
    };
    let sealed = active.private_key.as_deref().unwrap_or_default();
    let private = match keys.open(sealed, &seal_context(scope, active.id)).await {
        Ok(private) => private,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, &private, &SystemRandom::new());
    let kid = Jwk::of(&active.public_key).kid;
    Ok(pair.map(|pair| Signer { kid, pair }).map_err(|error| error.to_string()))
}

/// Returns the context of the sealed private key.
fn seal_context(scope: Scope, id: SigningKeyId) -> SealContext {
    let world = scope.world.number();
    SealContext { table: "signing_keys", column: "private_key", world, row: id.uuid() }
}

/// Generates a private key in PKCS #8 and its public key.
fn generate() -> Option<(Zeroizing<Vec<u8>>, PublicKey)> {
    let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).ok()?;
    let private = Zeroizing::new(document.as_ref().to_vec());
    let key = EcdsaKeyPair::from_pkcs8(algorithm, &private, &random).ok()?;
    Some((private, key.public_key().as_ref().to_vec().try_into().ok()?))
}

/// Creates a key. Fails with a conflict if the world has one in this state, because another request
/// has created it in the meantime.
async fn add(
    change: &mut Change,
    keys: &SecretKeys,
    state: SigningKeyState,
) -> Result<SigningKey, Error> {
    let (scope, id) = (change.scope(), SigningKeyId::new(change.now));
    let is_sealed = sealed::any(change).await?;
    let (private, public_key) = generate().ok_or(Error::Internal)?;
    let private_key = Some(keys.seal(&private, &seal_context(scope, id), is_sealed).await?);
    let (created_at, retired_at) = (change.now, None);
    let stored = StoredSigningKey { id, state, public_key, private_key, created_at, retired_at };
    if !signing_keys::insert(change, scope, &stored).await? {
        return Err(Error::Conflict(
            "Signing keys already exist, and applications may embed them. Read them instead",
        ));
    }
    Ok(record(&stored))
}

/// Creates the active key and the standby key in a world that has none.
pub async fn create(mut change: Change, keys: &SecretKeys) -> Result<Created<SigningKeys>, Error> {
    let active = add(&mut change, keys, SigningKeyState::Active).await?;
    let standby = add(&mut change, keys, SigningKeyState::Standby).await?;
    let events = [&active, &standby].map(NewEvent::signing_key_created).to_vec();
    Ok(change.commit(Created(SigningKeys { active, standby }), events).await?)
}

/// Returns the set that applications embed, oldest first.
pub async fn page(view: View, page: Page<SigningKeyId>) -> Result<Vec<SigningKey>, Error> {
    let kept = Timestamp::now().plus(-RETIRED_RETENTION);
    let all = signing_keys::all(&mut view.read().await?, view.scope, kept).await?;
    Ok(page.of(all.iter().map(record), |key| key.id))
}

/// Changes the state of a key. A retired key loses its private key.
async fn set_state(
    change: &mut Change,
    stored: &StoredSigningKey,
    state: SigningKeyState,
) -> Result<(SigningKey, NewEvent), Error> {
    let (scope, now) = (change.scope(), change.now);
    let mut turned = StoredSigningKey { state, ..stored.clone() };
    if state == SigningKeyState::Retired {
        (turned.private_key, turned.retired_at) = (None, Some(now));
    }
    signing_keys::update(change, scope, &turned).await?;
    let (before, after) = (record(stored), record(&turned));
    let event = NewEvent::signing_key_updated(&before, &after);
    Ok((after, event))
}

/// Retires the active key, makes the standby key active, and creates another standby key. Fails if
/// the named key is no longer the standby key.
pub async fn rotate(
    mut change: Change,
    keys: &SecretKeys,
    node: &Node,
    body: RotateSigningKeys,
) -> Result<Changed<SigningKeys>, Error> {
    let scope = change.scope();
    let none = Error::Conflict("There are no signing keys. Create them first");
    let (active, standby) = signing_keys::lock_current(&mut change, scope).await?.ok_or(none)?;
    let sealed = standby.private_key.as_deref().unwrap_or_default();
    let opened = keys.open(sealed, &seal_context(scope, standby.id)).await;
    let abandons = match (body.standby, body.abandon) {
        (Some(named), None) if named != standby.id => {
            return Err(Error::Conflict("The given key is not the standby key"));
        }
        (Some(_), None) => opened.map(|_| false)?,
        (None, Some(true)) if opened.is_ok() => {
            return Err(Error::Conflict("The standby key can be opened. Rotate to it instead"));
        }
        (None, Some(true)) if node.can_others_open(&mut change, sealed).await? => {
            return Err(Error::Conflict(
                "Another node of the service can open the standby key. Its operator must give \
                 all nodes the same secret keys; then rotate without abandon",
            ));
        }
        (None, Some(true)) => true,
        _ => return Err(Error::invalid("standby", "Send either standby or abandon")),
    };
    let mut events = vec![set_state(&mut change, &active, SigningKeyState::Retired).await?.1];
    let active = if abandons {
        events.push(set_state(&mut change, &standby, SigningKeyState::Retired).await?.1);
        let active = add(&mut change, keys, SigningKeyState::Active).await?;
        events.push(NewEvent::signing_key_created(&active));
        active
    } else {
        let (active, event) = set_state(&mut change, &standby, SigningKeyState::Active).await?;
        events.push(event);
        active
    };
    let standby = add(&mut change, keys, SigningKeyState::Standby).await?;
    events.push(NewEvent::signing_key_created(&standby));
    Ok(change.commit(Changed(SigningKeys { active, standby }), events).await?)
}

/// Removes a retired key from the set that applications embed.
pub async fn delete(mut change: Change, id: SigningKeyId) -> Result<Changed<SigningKey>, Error> {
    let scope = change.scope();
    let stored = signing_keys::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    if stored.state != SigningKeyState::Retired {
        return Err(Error::Conflict("Only a retired signing key can be deleted"));
    }
    signing_keys::delete(&mut change, scope, id).await?;
    let key = record(&stored);
    let event = NewEvent::signing_key_deleted(&key);
    Ok(change.commit(Changed(key), event).await?)
}
