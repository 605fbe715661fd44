//! The limit on texts that are no license keys. Who guesses one is told so only a few times a minute,
//! from each address and with each API key; beyond that the text is not looked up.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use common::KeyId;

use super::sign_in_limit::network;
use crate::error::Error;

/// How many wrong keys are looked up immediately, and then per minute.
const OF_ADDRESS: f64 = 10.0;
const OF_API_KEY: f64 = 100.0;
/// With more callers than this, those without recent wrong keys are forgotten.
const MAX_CALLERS: usize = 10_000;

/// Who tries a license key: an API key, and an address if it is known.
pub type Guesser = (KeyId, Option<IpAddr>);

#[derive(Default)]
pub struct WrongKeys {
    of_addresses: Failures<IpAddr>,
    of_api_keys: Failures<KeyId>,
}

impl WrongKeys {
    /// Counts a text before it is looked up, as many may be tried at once; refuses it if it is not
    /// to be.
    pub fn take(&self, guesser: Guesser) -> Result<(), Error> {
        self.take_at(guesser, Instant::now())
    }

    fn take_at(&self, (key, address): Guesser, now: Instant) -> Result<(), Error> {
        let address = address.map(network);
        let of_address = address.map_or(Ok(()), |it| self.of_addresses.take(it, OF_ADDRESS, now));
        of_address.map_err(Error::TooManyWrongKeys)?;
        self.of_api_keys.take(key, OF_API_KEY, now).map_err(|wait| {
            self.give_back_to(address);
            Error::TooManyWrongKeys(wait)
        })
    }

    /// The text was a license key.
    pub fn give_back(&self, (key, address): Guesser) {
        self.give_back_to(address.map(network));
        self.of_api_keys.give_back(&key);
    }

    fn give_back_to(&self, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.of_addresses.give_back(&address);
        }
    }
}

/// How much of its allowance each caller has used, at a time.
struct Failures<K>(Mutex<HashMap<K, (f64, Instant)>>);

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Failures<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, (f64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one, or fails with the whole seconds until that is possible.
    fn take(&self, caller: K, per_minute: f64, now: Instant) -> Result<(), u64> {
        let mut callers = self.lock();
        if callers.len() > MAX_CALLERS {
            callers.retain(|_, used| left_of(*used, per_minute, now) > 0.0);
        }
        let used = callers.entry(caller).or_insert((0.0, now));
        let one_more = left_of(*used, per_minute, now) + 1.0;
        if one_more > per_minute {
            return Err(((one_more - per_minute) * 60.0 / per_minute).ceil() as u64);
        }
        *used = (one_more, now);
        Ok(())
    }

    fn give_back(&self, caller: &K) {
        if let Some((used, _)) = self.lock().get_mut(caller) {
            *used -= 1.0;
        }
    }
}

/// What is still counted of what a caller had used at a time.
fn left_of((used, at): (f64, Instant), per_minute: f64, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(at).as_secs_f64();
    (used - passed * per_minute / 60.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use common::Timestamp;

    use super::*;

    #[test]
    fn a_caller_who_guesses_is_held_up_and_no_other() {
        let limit = WrongKeys::default();
        let at = |key, address: &str| (key, address.parse().ok());
        let (now, later) = (Instant::now(), Duration::from_secs(6));
        let take = |guesser| limit.take_at(guesser, now);
        let key = KeyId::new(Timestamp::now());
        for _ in 0..10 {
            let guesser = at(key, "192.0.2.1");
            for _ in 0..9 {
                assert_eq!(take(guesser), Ok(()), "a right one does not count");
                limit.give_back(guesser);
            }
            assert_eq!(take(guesser), Ok(()));
        }
        assert_eq!(take(at(key, "192.0.2.1")), Err(Error::TooManyWrongKeys(6)));
        assert_eq!(take(at(key, "192.0.2.2")), Ok(()));
        assert_eq!(limit.take_at(at(key, "192.0.2.1"), now + later), Ok(()));
        let taken = (0..200).filter(|it| take(at(key, &format!("198.51.100.{it}"))).is_ok());
        assert_eq!(taken.count(), 98);
        assert!(take(at(key, "203.0.113.1")).is_err(), "from wherever it is used");
        let other = KeyId::new(Timestamp::now());
        assert_eq!(take(at(other, "203.0.113.1")), Ok(()));
    }
}
