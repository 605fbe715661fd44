//! Rate limits: each key has three buckets (GCRA) in the memory of this process: for its requests,
//! for the users that its validations create, and for its sessions.
//!
//! A bucket of size n allows n requests immediately after a pause, then one per interval, which is
//! the limit's unit divided by its number. So it allows at most n + w / interval in any window w,
//! and never refuses a caller that keeps to the rate.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use common::KeyId;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{InsufficientCapacity, Quota, RateLimiter};

use crate::error::Error;

/// A faster bucket, which counts in nanoseconds, would not be exact.
const MAX_PER_SECOND: u32 = 1_000_000;

/// A rate: a number of times in a second or a minute, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    Off,
    Second(NonZeroU32),
    Minute(NonZeroU32),
}

impl Rate {
    /// The bucket of a rate, with the given number of seconds as its burst.
    fn quota(self, seconds: u32) -> Option<Quota> {
        let (quota, burst) = match self {
            Self::Off => return None,
            Self::Second(number) => {
                (Quota::per_second(number), number.get().saturating_mul(seconds))
            }
            Self::Minute(number) => {
                let burst = u64::from(number.get()) * u64::from(seconds) / 60;
                (Quota::per_minute(number), u32::try_from(burst).unwrap_or(u32::MAX))
            }
        };
        Some(quota.allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN)))
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "must be a number per second or minute, such as 10000/s or 600/m, at most 1000000/s, or off"
)]
pub struct MalformedRateLimit;

impl FromStr for Rate {
    type Err = MalformedRateLimit;

    fn from_str(text: &str) -> Result<Self, MalformedRateLimit> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let (number, unit) = text.split_once('/').ok_or(MalformedRateLimit)?;
        let number: NonZeroU32 = number.parse().map_err(|_| MalformedRateLimit)?;
        let (rate, most) = match unit {
            "s" => (Self::Second(number), MAX_PER_SECOND),
            "m" => (Self::Minute(number), 60 * MAX_PER_SECOND),
            _ => return Err(MalformedRateLimit),
        };
        if number.get() <= most { Ok(rate) } else { Err(MalformedRateLimit) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Second(number) => write!(f, "{number}/s"),
            Self::Minute(number) => write!(f, "{number}/m"),
        }
    }
}

/// Number of sessions that a key may open in a burst, and then one per second. Each is a write.
const SIGN_INS: NonZeroU32 = NonZeroU32::new(30).unwrap();

const fn a_second(number: u32) -> Rate {
    match NonZeroU32::new(number) {
        Some(number) => Rate::Second(number),
        None => Rate::Off,
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $default:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(Rate);

        impl Default for $name {
            fn default() -> Self {
                Self(a_second($default))
            }
        }

        impl FromStr for $name {
            type Err = MalformedRateLimit;

            fn from_str(text: &str) -> Result<Self, MalformedRateLimit> {
                text.parse().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

limits! {
    /// Maximum rate of requests of a key: a burst of the given number, and then that rate. By
    /// default 10,000 per second.
    RateLimit = 10_000;
    /// Maximum rate of users that the validations of a key create: a burst of a hundred seconds'
    /// worth, and then that rate. By default 10,000, then 100 per second.
    NewUserLimit = 100;
}

impl RateLimit {
    fn quota(self) -> Option<Quota> {
        match self.0 {
            Rate::Minute(_) => self.0.quota(60),
            Rate::Second(_) | Rate::Off => self.0.quota(1),
        }
    }
}

impl NewUserLimit {
    fn quota(self) -> Option<Quota> {
        self.0.quota(100)
    }
}

type Buckets<C> = RateLimiter<KeyId, DefaultKeyedStateStore<KeyId>, C, StateInformationMiddleware>;

/// The buckets of all keys in use. Tests set the clock themselves.
pub struct Limiter<C: Clock = DefaultClock>(Option<Buckets<C>>);

impl Limiter {
    pub fn of_requests(limit: RateLimit) -> Self {
        Self::new(limit.quota(), DefaultClock::default())
    }

    pub fn of_new_users(limit: NewUserLimit) -> Self {
        Self::new(limit.quota(), DefaultClock::default())
    }

    pub fn of_sign_ins() -> Self {
        let quota = Quota::per_second(NonZeroU32::MIN).allow_burst(SIGN_INS);
        Self::new(Some(quota), DefaultClock::default())
    }
}

impl<C: Clock> Limiter<C> {
    fn new(quota: Option<Quota>, clock: C) -> Self {
        Self(quota.map(|quota| RateLimiter::new(quota, Default::default(), clock)))
    }

    /// Counts one request of the key.
    pub fn check(&self, key: KeyId) -> Allowance {
        self.check_many(key, NonZeroU32::MIN)
    }

    /// Counts a number of requests of the key, all or none. More than the burst counts as the
    /// burst.
    pub fn check_many(&self, key: KeyId, number: NonZeroU32) -> Allowance {
        let Some(buckets) = &self.0 else { return Allowance::Unlimited };
        match buckets.check_key_n(&key, number) {
            Ok(Ok(state)) => {
                let quota = state.quota();
                let policy = Policy::of(quota);
                let remaining = state.remaining_burst_capacity();
                let used = policy.quota - remaining.min(policy.quota);
                let reset = whole_seconds(quota.replenish_interval() * used);
                Allowance::Granted { policy, remaining, reset }
            }
            Ok(Err(not_until)) => Allowance::Refused {
                policy: Policy::of(not_until.quota()),
                wait: whole_seconds(not_until.wait_time_from(buckets.clock().now())).max(1),
            },
            Err(InsufficientCapacity(most)) => {
                self.check_many(key, NonZeroU32::new(most).unwrap_or(NonZeroU32::MIN))
            }
        }
    }

    /// Drops keys whose bucket is full again, so memory depends only on the keys in use.
    pub fn forget_idle(&self) {
        if let Some(buckets) = &self.0 {
            buckets.retain_recent();
            buckets.shrink_to_fit();
        }
    }
}

/// The rate of all keys, as announced to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number of requests in a burst.
    pub quota: u32,
    /// The whole seconds after which the burst is available again.
    pub window: u64,
}

impl Policy {
    fn of(quota: Quota) -> Self {
        let window = whole_seconds(quota.burst_size_replenished_in());
        Self { quota: quota.burst_size().get(), window: window.max(1) }
    }
}

/// Remaining rate of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    Unlimited,
    /// `reset`: whole seconds until the full burst is available.
    Granted {
        policy: Policy,
        remaining: u32,
        reset: u64,
    },
    /// `wait`: whole seconds until the next request is allowed.
    Refused {
        policy: Policy,
        wait: u64,
    },
}

impl Allowance {
    pub fn into_result(self) -> Result<(), Error> {
        self.wait().map_or(Ok(()), |wait| Err(Error::RateLimited(wait)))
    }

    /// Returns the whole seconds until the next request is allowed, if this one was refused.
    pub fn wait(self) -> Option<u64> {
        match self {
            Self::Refused { wait, .. } => Some(wait),
            Self::Unlimited | Self::Granted { .. } => None,
        }
    }
}

/// Rounded up, so that waiting this long is enough.
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests;
