//! The check of a caller's key: whether it is valid, within its rate, and of a permitted role.
//!
//! The key of every request is looked up; nothing is cached, so a revoked key is refused
//! immediately. Validations look up many keys at a time, with the same [`KeyGate`].

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use common::{ApiKey, ExternalId, KeyId, Role, TenantId, Timestamp};
use sha2::{Digest, Sha256};

use super::last_uses::LastUses;
use super::limit::{Allowance, Limiter, NewUserLimit, RateLimit};
use super::queue_hints::QueueHints;
use crate::db::Db;
use crate::error::Error;
use crate::fair::{FairSemaphore, Permit};
use crate::store::keys::{self, Hash, KeyAuth, KeyWithTenant};
use crate::store::sessions::{self, SessionWithKey};

/// The hash of a key. Only the hash is stored.
///
/// An index compares hashes byte by byte, so the time of a look-up may depend on how many leading
/// bytes the hash shares with a stored one. This does not help an attacker: getting closer requires
/// texts whose SHA-256 has a chosen prefix, and would reveal only the hash of a key of 190 random
/// bits. Unknown, revoked and expired keys cost the same statement and get the same response.
pub fn hash(key: &ApiKey) -> Hash {
    Sha256::digest(key.expose()).into()
}

/// Knowledge about a request's caller while the key is checked. Clones share it.
///
/// A request whose batch was aborted is decided again on its own, but counts once against the rates
/// and as one use of its key.
#[derive(Clone, Default)]
pub struct CallerInfo(Arc<CallerState>);

#[derive(Default)]
struct CallerState {
    address: Option<IpAddr>,
    key: OnceLock<(KeyId, TenantId, Allowance)>,
    new_user: OnceLock<Allowance>,
    seat_event: OnceLock<Allowance>,
}

impl CallerInfo {
    /// A caller from this address.
    pub fn at(address: Option<IpAddr>) -> Self {
        Self(Arc::new(CallerState { address, ..CallerState::default() }))
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.0.address
    }

    /// The key, after it was found to be valid.
    pub fn key(&self) -> Option<KeyId> {
        self.0.key.get().map(|(key, _, _)| *key)
    }

    /// The key's tenant, after the key was found to be valid.
    pub fn tenant(&self) -> Option<TenantId> {
        self.0.key.get().map(|(_, tenant, _)| *tenant)
    }

    /// Whether the key had caused too many events of leases and releases for this request.
    pub fn exceeded_seat_events(&self) -> bool {
        self.0.seat_event.get().is_some_and(|allowance| allowance.wait().is_some())
    }

    /// Returns the remaining rate of the key.
    pub fn allowance(&self) -> Option<Allowance> {
        self.0.key.get().map(|(_, _, allowance)| *allowance)
    }
}

/// The permission that a handler requires of a key.
#[derive(Clone, Copy)]
pub enum Permission {
    /// To validate users.
    Validate,
    /// To read records.
    Read,
    /// To change records.
    Administer,
}

impl Permission {
    /// Fails unless a key with this role has the permission.
    pub fn check(self, role: Role) -> Result<(), Error> {
        let is_granted = match self {
            Self::Validate => matches!(role, Role::Validate | Role::Admin),
            Self::Read => matches!(role, Role::Read | Role::Admin),
            Self::Administer => matches!(role, Role::Admin),
        };
        if is_granted { Ok(()) } else { Err(Error::Forbidden) }
    }
}

/// Admits requests by their keys, counts them against the rates, and notes when each key was used.
pub struct KeyGate {
    limiter: Limiter,
    /// Counts the users that validations create.
    new_users: Limiter,
    /// Counts the leases and releases that are recorded as events, against the same rate.
    seat_events: Limiter,
    sign_ins: Limiter,
    pub last_uses: LastUses,
    pub hints: QueueHints,
    /// Limits look-ups of single keys and sessions. The lane is the tenant, if it is known from an
    /// earlier request, so a flood of unknown keys delays only other unknown keys.
    lookups: FairSemaphore<Option<TenantId>, Hash>,
}

impl KeyGate {
    /// `lookups`: how many keys may be looked up at the same time.
    pub fn new(requests: RateLimit, new_users: NewUserLimit, lookups: usize) -> Self {
        Self {
            limiter: Limiter::of_requests(requests),
            new_users: Limiter::of_new_users(new_users),
            seat_events: Limiter::of_new_users(new_users),
            sign_ins: Limiter::of_sign_ins(),
            last_uses: LastUses::default(),
            hints: QueueHints::default(),
            lookups: FairSemaphore::new(lookups),
        }
    }

    /// Drops the rates of keys whose buckets are full again.
    pub fn forget_idle(&self) {
        self.limiter.forget_idle();
        self.new_users.forget_idle();
        self.seat_events.forget_idle();
        self.sign_ins.forget_idle();
    }

    /// Waits until this key may be looked up.
    async fn lookup_permit(&self, hash: &Hash) -> Result<Permit<Option<TenantId>, Hash>, Error> {
        self.lookups.acquire(self.hints.of(hash).tenant, *hash).await
    }

    /// Looks the key up and admits the request.
    pub async fn authenticate(
        &self,
        db: &Db,
        hash: &Hash,
        caller: &CallerInfo,
    ) -> Result<KeyWithTenant, Error> {
        let permit = self.lookup_permit(hash).await?;
        let found = keys::find_by_hash(&mut db.read().await?, hash).await?;
        drop(permit);
        let auth = found.as_ref().map(KeyWithTenant::auth);
        if let Some(auth) = auth {
            self.hints.observe_tenant(hash, auth.scope.tenant);
        }
        self.admit(auth, caller, Timestamp::now())?;
        found.ok_or(Error::Unauthorized)
    }

    /// Looks up a session together with its key, and admits the request as one with that key.
    pub async fn authenticate_session(
        &self,
        db: &Db,
        hash: &Hash,
        caller: &CallerInfo,
    ) -> Result<SessionWithKey, Error> {
        let permit = self.lookup_permit(hash).await?;
        let found = sessions::find_by_hash(&mut db.read().await?, hash).await?;
        drop(permit);
        let now = Timestamp::now();
        let found = found.filter(|session| now < session.expires_at).ok_or(Error::Unauthorized)?;
        let auth = found.key.auth();
        self.hints.observe_tenant(hash, auth.scope.tenant);
        self.admit(Some(auth), caller, now)?;
        Ok(found)
    }

    /// Admits a request if its key is valid and within its rate. `caller` contains a valid key even
    /// if the rate refuses the request.
    pub fn admit(
        &self,
        auth: Option<KeyAuth>,
        caller: &CallerInfo,
        now: Timestamp,
    ) -> Result<KeyAuth, Error> {
        let auth = auth.filter(|auth| is_valid_at(auth, now)).ok_or(Error::Unauthorized)?;
        let count = || {
            let allowance = self.limiter.check(auth.key_id);
            if !matches!(allowance, Allowance::Refused { .. }) {
                self.last_uses.note(auth.key_id, caller.0.address, now);
            }
            (auth.key_id, auth.scope.tenant, allowance)
        };
        let (_, _, allowance) = caller.0.key.get_or_init(count);
        allowance.into_result()?;
        Ok(auth)
    }

    /// Fails if the key has exceeded its rate of new users.
    pub fn admit_new_user(
        &self,
        key: KeyId,
        user: &ExternalId,
        caller: &CallerInfo,
    ) -> Result<(), Error> {
        let allowance = once(&caller.0.new_user, &self.new_users, key, user);
        allowance.wait().map_or(Ok(()), |wait| Err(Error::TooManyNewUsers(wait)))
    }

    /// Fails if the leases and releases of the key exceed its allowance of events. Counts a request
    /// once.
    pub fn admit_seat_event(
        &self,
        key: KeyId,
        user: &ExternalId,
        caller: &CallerInfo,
    ) -> Result<(), Error> {
        let allowance = once(&caller.0.seat_event, &self.seat_events, key, user);
        allowance.wait().map_or(Ok(()), |wait| Err(Error::TooManySeatEvents(wait)))
    }

    /// Fails if the key has exceeded its rate of new sessions.
    pub fn admit_sign_in(&self, key: KeyId) -> Result<(), Error> {
        self.sign_ins.check(key).into_result()
    }
}

/// Counts a request about this user, unless it was counted before.
fn once(
    counted: &OnceLock<Allowance>,
    limiter: &Limiter,
    key: KeyId,
    user: &ExternalId,
) -> Allowance {
    *counted.get_or_init(|| limiter.check_many(key, weight(user)))
}

/// Returns the number of new users that a user with a long identifier counts as. The identifier is
/// stored eight times in tables and indexes, and SQLite pads long ones: the longest takes 25 KB, one
/// of 255 bytes 3.7 KB with its phrases.
fn weight(user: &ExternalId) -> NonZeroU32 {
    let beyond = user.as_str().len().saturating_sub(255).div_ceil(128);
    NonZeroU32::MIN.saturating_add(beyond as u32)
}

fn is_valid_at(auth: &KeyAuth, now: Timestamp) -> bool {
    auth.revoked_at.is_none() && auth.expires_at.is_none_or(|end| now < end)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use common::Mode;
    use futures_util::FutureExt;

    use super::*;
    use crate::store::Scope;

    fn valid_key(now: Timestamp) -> KeyAuth {
        let scope = Scope { world: 1.into(), tenant: TenantId::new(now), mode: Mode::Live };
        KeyAuth {
            key_id: KeyId::new(now),
            scope,
            role: Role::Validate,
            expires_at: None,
            revoked_at: None,
        }
    }

    /// The requests of an aborted batch are decided again one by one.
    #[test]
    fn a_request_that_is_decided_twice_counts_once() {
        let (requests, new_users) = ("2/m".parse().unwrap(), "1/m".parse().unwrap());
        let (gate, now) = (KeyGate::new(requests, new_users, 1), Timestamp::now());
        let auth = valid_key(now);
        let calls: [CallerInfo; 3] = Default::default();
        for call in [&calls[0], &calls[1], &calls[0], &calls[1]] {
            assert!(gate.admit(Some(auth), call, now).is_ok());
        }
        assert!(matches!(gate.admit(Some(auth), &calls[2], now), Err(Error::RateLimited(_))));
        let ada = "ada".parse().unwrap();
        for call in [&calls[0], &calls[0]] {
            assert_eq!(gate.admit_new_user(auth.key_id, &ada, call), Ok(()));
        }
        assert!(gate.admit_new_user(auth.key_id, &ada, &calls[1]).is_err());
    }

    #[test]
    fn a_key_is_checked_each_time() {
        let gate = KeyGate::new(RateLimit::default(), NewUserLimit::default(), 1);
        let (now, call) = (Timestamp::now(), CallerInfo::default());
        let auth = valid_key(now);
        assert!(gate.admit(Some(auth), &call, now).is_ok());
        let revoked = KeyAuth { revoked_at: Some(now), ..auth };
        assert!(matches!(gate.admit(Some(revoked), &call, now), Err(Error::Unauthorized)));
        let expired = KeyAuth { expires_at: Some(now), ..auth };
        assert!(matches!(gate.admit(Some(expired), &call, now), Err(Error::Unauthorized)));
    }

    /// During the only look-up, there come a flood of requests with one unknown key, then one with
    /// another unknown key, and then one with a key that was found before.
    #[tokio::test]
    async fn a_flood_of_unknown_keys_is_looked_up_in_turn_with_the_others() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("licd.db").display());
        let db = &Db::open(&url.parse().unwrap()).await.unwrap();
        let gate = &KeyGate::new(RateLimit::default(), NewUserLimit::default(), 1);
        let known = [2; 32];
        gate.hints.observe_tenant(&known, TenantId::new(Timestamp::now()));
        let held = gate.lookup_permit(&[0; 32]).await.unwrap();
        let looked_up = &Mutex::new(Vec::new());
        let mut waiting: Vec<_> = [1, 1, 1, 1, 3, 2]
            .map(|key| {
                Box::pin(async move {
                    let caller = CallerInfo::default();
                    let found = gate.authenticate(db, &[key; 32], &caller).await;
                    assert!(matches!(found, Err(Error::Unauthorized)));
                    looked_up.lock().unwrap().push(key);
                })
            })
            .into();
        for waiting in &mut waiting {
            assert!((&mut *waiting).now_or_never().is_none());
        }
        drop(held);
        futures_util::future::join_all(waiting).await;
        assert_eq!(*looked_up.lock().unwrap(), [1, 2, 3, 1, 1, 1]);
    }
}
