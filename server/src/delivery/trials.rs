//! Events that administrators send by hand, and see the answers to: one at a time to a webhook, and a
//! few a minute for a tenant, whatever the limit of its keys.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{TenantId, WebhookId};
use parking_lot::Mutex;

use crate::error::Error;

const MOST: usize = 10;
const PERIOD: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
pub struct Trials(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: HashSet<WebhookId>,
    begun: HashMap<TenantId, VecDeque<Instant>>,
}

/// Ends when it is dropped.
pub struct Trial {
    trials: Trials,
    webhook: WebhookId,
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.trials.0.lock().running.remove(&self.webhook);
    }
}

impl Trials {
    pub fn begin(&self, tenant: TenantId, webhook: WebhookId) -> Result<Trial, Error> {
        self.begin_at(tenant, webhook, Instant::now())
    }

    fn begin_at(&self, tenant: TenantId, webhook: WebhookId, now: Instant) -> Result<Trial, Error> {
        let mut state = self.0.lock();
        let is_old = |at: &Instant| now.saturating_duration_since(*at) >= PERIOD;
        state.begun.retain(|_, begun| {
            while begun.front().is_some_and(is_old) {
                begun.pop_front();
            }
            !begun.is_empty()
        });
        let begun = state.begun.entry(tenant).or_default();
        if let Some(first) = begun.front().filter(|_| begun.len() >= MOST) {
            let wait = PERIOD.saturating_sub(now.saturating_duration_since(*first));
            return Err(Error::RateLimited(wait.as_secs() + 1));
        }
        begun.push_back(now);
        if !state.running.insert(webhook) {
            return Err(Error::Conflict(
                "Another event is being sent by hand; wait for its answer",
            ));
        }
        Ok(Trial { trials: self.clone(), webhook })
    }
}

#[cfg(test)]
mod tests {
    use common::Timestamp;

    use super::*;

    #[test]
    fn a_webhook_has_one_trial_at_a_time_and_a_tenant_ten_a_minute() {
        let (trials, now) = (Trials::default(), Instant::now());
        let new = || WebhookId::new(Timestamp::now());
        let [own, other] = [(); 2].map(|()| TenantId::new(Timestamp::now()));
        let webhook = new();
        let first = trials.begin_at(own, webhook, now).ok().unwrap();
        assert!(matches!(trials.begin_at(own, webhook, now).err(), Some(Error::Conflict(_))));
        drop(first);
        for _ in 2..10 {
            assert!(trials.begin_at(own, webhook, now).is_ok());
        }
        let refused = trials.begin_at(own, new(), now).err();
        assert_eq!(refused, Some(Error::RateLimited(61)));
        assert!(trials.begin_at(other, new(), now).is_ok());
        assert!(trials.begin_at(own, new(), now + PERIOD).is_ok());
    }
}
