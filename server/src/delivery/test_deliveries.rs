//! Limits for events that administrators send by hand and whose responses they see: one at a time for
//! a webhook, and ten a minute for a tenant, in addition to the rate limits of its keys.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{TenantId, WebhookId};
use parking_lot::Mutex;

use crate::error::Error;

/// Maximum number of test deliveries that a tenant can begin in a [`PERIOD`].
const MAX_BEGUN: usize = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// Test deliveries of this node. Clones share them.
#[derive(Clone, Default)]
pub struct TestDeliveries(Arc<Mutex<BegunDeliveries>>);

#[derive(Default)]
struct BegunDeliveries {
    running: HashSet<WebhookId>,
    begun: HashMap<TenantId, VecDeque<Instant>>,
}

/// A test delivery under way, which ends when this is dropped.
pub struct TestDelivery {
    test_deliveries: TestDeliveries,
    webhook: WebhookId,
}

impl Drop for TestDelivery {
    fn drop(&mut self) {
        self.test_deliveries.0.lock().running.remove(&self.webhook);
    }
}

impl TestDeliveries {
    /// Begins a test delivery. Fails if another one to this webhook is under way, or if the tenant
    /// has begun too many.
    pub fn begin(&self, tenant: TenantId, webhook: WebhookId) -> Result<TestDelivery, Error> {
        self.begin_at(tenant, webhook, Instant::now())
    }

    fn begin_at(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
        now: Instant,
    ) -> Result<TestDelivery, Error> {
        let mut state = self.0.lock();
        let is_old = |at: &Instant| now.saturating_duration_since(*at) >= PERIOD;
        state.begun.retain(|_, begun| {
            while begun.front().is_some_and(is_old) {
                begun.pop_front();
            }
            !begun.is_empty()
        });
        let begun = state.begun.entry(tenant).or_default();
        if let Some(first) = begun.front().filter(|_| begun.len() >= MAX_BEGUN) {
            let wait = PERIOD.saturating_sub(now.saturating_duration_since(*first));
            return Err(Error::RateLimited(wait.as_secs() + 1));
        }
        begun.push_back(now);
        if !state.running.insert(webhook) {
            return Err(Error::Conflict(
                "Another test delivery to this webhook is under way. Wait for its response",
            ));
        }
        Ok(TestDelivery { test_deliveries: self.clone(), webhook })
    }
}

#[cfg(test)]
mod tests {
    use common::Timestamp;

    use super::*;

    #[test]
    fn a_webhook_has_one_test_delivery_at_a_time_and_a_tenant_ten_a_minute() {
        let (test_deliveries, now) = (TestDeliveries::default(), Instant::now());
        let new = || WebhookId::new(Timestamp::now());
        let [own, other] = [(); 2].map(|()| TenantId::new(Timestamp::now()));
        let webhook = new();
        let first = test_deliveries.begin_at(own, webhook, now).ok().unwrap();
        assert!(matches!(
            test_deliveries.begin_at(own, webhook, now).err(),
            Some(Error::Conflict(_))
        ));
        drop(first);
        for _ in 2..10 {
            assert!(test_deliveries.begin_at(own, webhook, now).is_ok());
        }
        let refused = test_deliveries.begin_at(own, new(), now).err();
        assert_eq!(refused, Some(Error::RateLimited(61)));
        assert!(test_deliveries.begin_at(other, new(), now).is_ok());
        assert!(test_deliveries.begin_at(own, new(), now + PERIOD).is_ok());
    }
}
