//! The limit on texts that are not license keys. Only failed lookups count, ten a minute for each
//! address and 100 for each API key. Lookups of texts that could be guessed wait for each other,
//! one at a time for each address, so that simultaneous lookups cannot exceed the limit.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{KeyId, KeyText};
use parking_lot::Mutex;

use super::sign_in_limit::network;
use crate::error::Error;

/// Maximum number of failures per minute, which is also the burst.
const OF_ADDRESS: f64 = 10.0;
const OF_API_KEY: f64 = 100.0;
/// Maximum number of look-ups per minute for clean addresses with an API key whose own limit is
/// spent.
const CLEAN_LOOK_UPS: f64 = 1000.0;
/// An address is clean if it had no failure for this long.
const CLEAN_AFTER: Duration = Duration::from_secs(600);
/// Maximum number of addresses, and of API keys, whose failures are remembered.
const MAX_CALLERS: usize = 10_000;

/// The caller of a look-up: an API key, and an address if it is known.
pub type Guesser = (KeyId, Option<IpAddr>);

#[derive(Default)]
pub struct WrongKeys {
    of_addresses: Failures<IpAddr>,
    of_api_keys: Failures<KeyId>,
    of_clean_addresses: Failures<KeyId>,
    turns: Mutex<HashMap<IpAddr, Arc<tokio::sync::Mutex<()>>>>,
}

impl WrongKeys {
    /// Looks a key up. Fails if the caller had too many failures, unless the key's check fits: then
    /// it was not guessed.
    pub async fn look_up<T>(
        &self,
        guesser: Guesser,
        key: &KeyText,
        look_up: impl Future<Output = Result<Option<T>, Error>>,
    ) -> Result<Option<T>, Error> {
        if key.check() == Some(true) {
            return look_up.await;
        }
        let turn = guesser.1.map(|address| self.turn(network(address)));
        let _turn = match &turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        self.check(guesser, Instant::now()).map_err(Error::TooManyWrongKeys)?;
        let found = look_up.await?;
        if found.is_none() {
            self.note(guesser, Instant::now());
        }
        Ok(found)
    }

    fn turn(&self, address: IpAddr) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock();
        if turns.len() > MAX_CALLERS {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry(address).or_default().clone()
    }

    /// Fails with the whole seconds to wait. A stranger who spends the limit of a shipped API key
    /// does not lock out users at addresses without failures.
    fn check(&self, (key, address): Guesser, now: Instant) -> Result<(), u64> {
        let address = address.map(network);
        if let Some(address) = &address {
            self.of_addresses.check(address, OF_ADDRESS, now)?;
        }
        let spent = self.of_api_keys.check(&key, OF_API_KEY, now);
        let is_clean = address.is_some_and(|address| self.of_addresses.is_clean(&address, now));
        if spent.is_err() && is_clean {
            self.of_clean_addresses.check(&key, CLEAN_LOOK_UPS, now)?;
            self.of_clean_addresses.note(key, CLEAN_LOOK_UPS, now);
            return Ok(());
        }
        spent
    }

    fn note(&self, (key, address): Guesser, now: Instant) {
        if let Some(address) = address {
            self.of_addresses.note(network(address), OF_ADDRESS, now);
        }
        self.of_api_keys.note(key, OF_API_KEY, now);
    }
}

/// Failures of each caller that counted at the last one, and the time of that one.
struct Failures<K>(Mutex<HashMap<K, (f64, Instant)>>);

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Failures<K> {
    fn check(&self, caller: &K, per_minute: f64, now: Instant) -> Result<(), u64> {
        let Some(used) = self.0.lock().get(caller).copied() else { return Ok(()) };
        let one_more = left_of(used, per_minute, now) + 1.0;
        if one_more <= per_minute {
            return Ok(());
        }
        Err(((one_more - per_minute) * 60.0 / per_minute).ceil() as u64)
    }

    fn note(&self, caller: K, per_minute: f64, now: Instant) {
        let mut callers = self.0.lock();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&caller) {
            callers.retain(|_, (_, at)| now.saturating_duration_since(*at) < CLEAN_AFTER);
            let oldest = callers.iter().min_by_key(|(_, (_, at))| *at).map(|(caller, _)| *caller);
            if let Some(oldest) = oldest.filter(|_| callers.len() >= MAX_CALLERS) {
                callers.remove(&oldest);
            }
        }
        let used = callers.entry(caller).or_insert((0.0, now));
        *used = (left_of(*used, per_minute, now) + 1.0, now);
    }

    fn is_clean(&self, caller: &K, now: Instant) -> bool {
        let last = self.0.lock().get(caller).map(|(_, at)| *at);
        last.is_none_or(|at| now.saturating_duration_since(at) >= CLEAN_AFTER)
    }
}

/// Returns the failures of a caller that still count at a time.
fn left_of((used, at): (f64, Instant), per_minute: f64, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(at).as_secs_f64();
    (used - passed * per_minute / 60.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use common::Timestamp;
    use futures_util::future::join_all;

    use super::*;

    fn at(key: KeyId, address: &str) -> Guesser {
        (key, address.parse().ok())
    }

    #[test]
    fn a_caller_who_guesses_is_held_up_and_no_other() {
        let (limit, key) = (WrongKeys::default(), KeyId::new(Timestamp::now()));
        let now = Instant::now();
        let fail = |guesser| {
            limit.check(guesser, now)?;
            limit.note(guesser, now);
            Ok::<(), u64>(())
        };
        let eve = at(key, "192.0.2.1");
        for _ in 0..10 {
            assert_eq!(limit.check(eve, now), Ok(()), "a look-up that finds a key does not count");
            assert_eq!(fail(eve), Ok(()));
        }
        assert_eq!(limit.check(eve, now), Err(6));
        assert_eq!(limit.check(at(key, "::ffff:192.0.2.1"), now), Err(6));
        assert_eq!(limit.check(eve, now + Duration::from_secs(6)), Ok(()));

        // Ten addresses spend the limit of the API key: those without failures still pass.
        for address in 2..11 {
            for _ in 0..10 {
                assert_eq!(fail(at(key, &format!("192.0.2.{address}"))), Ok(()));
            }
        }
        let bob = at(key, "192.0.2.99");
        limit.of_addresses.note(bob.1.unwrap(), OF_ADDRESS, now);
        assert_eq!(limit.check(bob, now), Err(1), "the API key's limit is spent");
        assert_eq!(limit.check((key, None), now), Err(1));
        let passes = (0..2000).filter(|_| limit.check(at(key, "203.0.113.1"), now).is_ok());
        assert_eq!(passes.count(), 1000);
        let other = KeyId::new(Timestamp::now());
        assert_eq!(limit.check(at(other, "192.0.2.99"), now), Ok(()));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (failures, now) = (Failures::<u32>::default(), Instant::now());
        for caller in 0..2 * MAX_CALLERS as u32 {
            failures.note(caller, OF_ADDRESS, now + Duration::from_millis(caller.into()));
        }
        assert_eq!(failures.0.lock().len(), MAX_CALLERS);
        assert!(!failures.is_clean(&(2 * MAX_CALLERS as u32 - 1), now));
    }

    /// Simultaneous lookups from one address: all valid keys pass, and wrong keys only up to the
    /// limit.
    #[tokio::test]
    async fn look_ups_of_an_address_wait_for_each_other() {
        let (limit, key) = (WrongKeys::default(), KeyId::new(Timestamp::now()));
        let text: KeyText = "BROUGHT-ALONG-1".parse().unwrap();
        let (running, looked_up) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let look_up = async |is_right: bool| {
            assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
            tokio::task::yield_now().await;
            looked_up.fetch_add(1, Ordering::Relaxed);
            running.fetch_sub(1, Ordering::Relaxed);
            Ok(is_right.then_some(()))
        };
        for (is_right, expected) in [(true, 60), (false, 10)] {
            looked_up.store(0, Ordering::Relaxed);
            let guesser = at(key, "192.0.2.1");
            let many = (0..60).map(|_| limit.look_up(guesser, &text, look_up(is_right)));
            let passed = join_all(many).await.into_iter().filter(Result::is_ok).count();
            assert_eq!((passed, looked_up.load(Ordering::Relaxed)), (expected, expected));
        }
    }
}
