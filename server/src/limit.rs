//! The rate limit: each key has a bucket that leaks evenly (GCRA), in this process's memory.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use common::KeyId;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use crate::error::Error;

/// How often each key may ask: a number of requests in a second or a minute, or `off`. As many may
/// come at once, and then again at that rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit(Option<Quota>);

impl Default for RateLimit {
    /// 10000 a second.
    fn default() -> Self {
        Self(NonZeroU32::new(10_000).map(Quota::per_second))
    }
}

/// The text is no rate limit.
#[derive(Debug, thiserror::Error)]
#[error("must be a number of requests a second or minute, as 10000/s or 600/m, or off")]
pub struct MalformedRateLimit;

impl FromStr for RateLimit {
    type Err = MalformedRateLimit;

    fn from_str(text: &str) -> Result<Self, MalformedRateLimit> {
        if text == "off" {
            return Ok(Self(None));
        }
        let (number, unit) = text.split_once('/').ok_or(MalformedRateLimit)?;
        let number: NonZeroU32 = number.parse().map_err(|_| MalformedRateLimit)?;
        match unit {
            "s" => Ok(Self(Some(Quota::per_second(number)))),
            "m" => Ok(Self(Some(Quota::per_minute(number)))),
            _ => Err(MalformedRateLimit),
        }
    }
}

type Buckets =
    RateLimiter<KeyId, DefaultKeyedStateStore<KeyId>, DefaultClock, StateInformationMiddleware>;

/// The buckets of all keys in use.
pub struct Limiter(Option<Buckets>);

impl Limiter {
    pub fn new(limit: RateLimit) -> Self {
        Self(limit.0.map(|quota| RateLimiter::keyed(quota).with_middleware()))
    }

    /// Counts a request of the key.
    pub fn check(&self, key: KeyId) -> Allowance {
        let Some(buckets) = &self.0 else { return Allowance::Unlimited };
        match buckets.check_key(&key) {
            Ok(state) => {
                let quota = state.quota();
                let limit = quota.burst_size().get();
                let remaining = state.remaining_burst_capacity();
                let reset = quota.replenish_interval() * (limit - remaining.min(limit));
                Allowance::Granted { limit, remaining, reset: whole_seconds(reset) }
            }
            Err(not_until) => Allowance::Refused {
                limit: not_until.quota().burst_size().get(),
                wait: whole_seconds(not_until.wait_time_from(buckets.clock().now())).max(1),
            },
        }
    }

    /// Forgets keys whose bucket is full again, so that memory is bounded by the keys in use.
    pub fn forget_idle(&self) {
        if let Some(buckets) = &self.0 {
            buckets.retain_recent();
            buckets.shrink_to_fit();
        }
    }
}

/// What is left to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    Unlimited,
    /// `reset`: whole seconds until everything is allowed again.
    Granted {
        limit: u32,
        remaining: u32,
        reset: u64,
    },
    /// `wait`: whole seconds after which a request is granted again.
    Refused {
        limit: u32,
        wait: u64,
    },
}

impl Allowance {
    pub fn grant(self) -> Result<(), Error> {
        match self {
            Self::Refused { wait, .. } => Err(Error::RateLimited(wait)),
            Self::Unlimited | Self::Granted { .. } => Ok(()),
        }
    }

    /// Tells the caller how much is left.
    pub fn tell(self, headers: &mut HeaderMap) {
        let (limit, remaining, reset) = match self {
            Self::Unlimited => return,
            Self::Granted { limit, remaining, reset } => (limit, remaining, reset),
            Self::Refused { limit, wait } => (limit, 0, wait),
        };
        headers.insert(HeaderName::from_static("ratelimit-limit"), HeaderValue::from(limit));
        headers
            .insert(HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(remaining));
        headers.insert(HeaderName::from_static("ratelimit-reset"), HeaderValue::from(reset));
    }
}

/// Rounded up, so that waiting as long as was said is enough.
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("off"),
            Some(quota) => {
                let span = quota.replenish_interval() * quota.burst_size().get();
                let unit = if span > Duration::from_secs(30) { 'm' } else { 's' };
                write!(f, "{}/{unit}", quota.burst_size())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use common::{KeyId, Timestamp};

    use super::*;

    #[test]
    fn reads_and_writes_its_settings() {
        for text in ["10000/s", "600/m", "1/s", "off"] {
            assert_eq!(text.parse::<RateLimit>().unwrap().to_string(), text);
        }
        for text in ["", "0/s", "-1/s", "5", "5/h", "5/", "/s", "5000000000/s"] {
            assert!(text.parse::<RateLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_key_has_its_own_bucket() {
        let limiter = Limiter::new("2/m".parse().unwrap());
        let (one, other) = (KeyId::new(Timestamp::now()), KeyId::new(Timestamp::now()));
        assert_eq!(limiter.check(one), Allowance::Granted { limit: 2, remaining: 1, reset: 30 });
        assert_eq!(limiter.check(one), Allowance::Granted { limit: 2, remaining: 0, reset: 60 });
        assert_eq!(limiter.check(one), Allowance::Refused { limit: 2, wait: 30 });
        assert!(limiter.check(other).grant().is_ok());
    }
}
