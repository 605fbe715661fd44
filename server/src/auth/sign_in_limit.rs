//! The limit on wrong keys from one address. A valid key always signs in, so users behind the
//! same proxy do not lock each other out.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// Number of wrong keys that are checked immediately, and then per minute.
const WRONG_KEYS: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// With more addresses than this, those without recent wrong keys are dropped.
const MAX_ADDRESSES: usize = 10_000;

pub struct SignInLimit(DefaultKeyedRateLimiter<IpAddr>);

impl Default for SignInLimit {
    fn default() -> Self {
        Self(RateLimiter::keyed(Quota::per_minute(WRONG_KEYS)))
    }
}

impl SignInLimit {
    /// Counts a wrong key. An error has the seconds to wait.
    pub fn note_wrong_key(&self, address: Option<IpAddr>) -> Result<(), u64> {
        let Some(address) = address else { return Ok(()) };
        if self.0.len() > MAX_ADDRESSES {
            self.0.retain_recent();
        }
        let clock = DefaultClock::default();
        self.0.check_key(&network(address)).map_err(|not_yet| {
            let wait = not_yet.wait_time_from(clock.now());
            wait.as_secs() + 1
        })
    }
}

/// The part of an address that a client cannot choose: an IPv6 client controls the last 64 bits.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_its_own_count() {
        let limit = SignInLimit::default();
        let wrong = |address: &str| limit.note_wrong_key(Some(address.parse().unwrap()));
        for host in 0..10 {
            assert_eq!(wrong(&format!("2001:db8::{host}")), Ok(()));
        }
        assert!(matches!(wrong("2001:db8::ffff"), Err(1..=7)));
        assert_eq!(wrong("2001:db8:0:1::1"), Ok(()));
        for _ in 0..10 {
            assert_eq!(wrong("192.0.2.1"), Ok(()));
        }
        assert!(wrong("::ffff:192.0.2.1").is_err());
        assert_eq!(wrong("192.0.2.2"), Ok(()));
    }
}
