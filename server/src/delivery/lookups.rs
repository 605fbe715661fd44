//! Lookups of host names. A lookup occupies a thread until the system's resolver returns, even after
//! its delivery has timed out. So each tenant has a share of the lookups. A name that hung is not
//! looked up again for a minute, whichever webhooks use it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use common::{TenantId, WebhookError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::lookup_host;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::fair::FairSemaphore;

/// Maximum number of simultaneous lookups, and of one tenant's.
const LOOKUPS: usize = 128;
const TENANT_LOOKUPS: usize = 16;
/// Time after which a lookup counts as hung. The system's resolver usually gives a name server 5 s.
const HUNG: Duration = Duration::from_secs(8);
/// Time for which a name is not looked up again after a lookup hung.
const BACKOFF: Duration = Duration::from_secs(60);

type Resolve = fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// Lookups of this node. Clones share the permits and the names that hung.
#[derive(Clone)]
pub struct Lookups {
    resolve: Resolve,
    permits: FairSemaphore,
    tenants: Arc<Mutex<HashMap<TenantId, Weak<Semaphore>>>>,
    /// Names that hung, and when they may be looked up again. `None` while the lookup still runs.
    hung: Arc<Mutex<HashMap<String, Option<Instant>>>>,
}

impl Lookups {
    pub fn new() -> Self {
        Self::with_resolver(|name, port| {
            async move { Ok(lookup_host((name, port)).await?.collect()) }.boxed()
        })
    }

    fn with_resolver(resolve: Resolve) -> Self {
        let permits = FairSemaphore::new(LOOKUPS);
        Self { resolve, permits, tenants: Arc::default(), hung: Arc::default() }
    }

    /// Returns the addresses of a host. The list is empty if it has none or no name server responds.
    /// Fails with [`WebhookError::Timeout`] if a lookup of the name hung within [`BACKOFF`].
    pub async fn addresses(
        &self,
        tenant: TenantId,
        name: String,
        port: u16,
    ) -> Result<Vec<SocketAddr>, WebhookError> {
        let share = self.share(tenant).acquire_owned().await.map_err(|_| WebhookError::Timeout)?;
        // Checked after the wait, because the name can have hung in the meantime.
        if self.is_hung(&name) {
            return Err(WebhookError::Timeout);
        }
        let permit = self.permits.acquire_for(tenant).await.map_err(|_| WebhookError::Timeout)?;
        let lookups = self.clone();
        let lookup = tokio::spawn(async move {
            let found = lookups.look_up(name, port).await;
            drop((share, permit));
            found
        });
        Ok(lookup.await.unwrap_or_default())
    }

    async fn look_up(&self, name: String, port: u16) -> Vec<SocketAddr> {
        let mut lookup = (self.resolve)(name.clone(), port);
        let found = match timeout(HUNG, &mut lookup).await {
            Ok(found) => found,
            Err(_) => {
                self.mark_hung(&name, None);
                let found = lookup.await;
                self.mark_hung(&name, Some(Instant::now() + BACKOFF));
                found
            }
        };
        found.unwrap_or_default()
    }

    fn is_hung(&self, name: &str) -> bool {
        let hung = self.hung.lock();
        hung.get(name).is_some_and(|until| until.is_none_or(|until| Instant::now() < until))
    }

    /// Records that a lookup of the name hung. Also removes names that may be looked up again, so the
    /// map holds at most as many names as lookups can hang within [`BACKOFF`].
    fn mark_hung(&self, name: &str, until: Option<Instant>) {
        let now = Instant::now();
        let mut hung = self.hung.lock();
        hung.retain(|_, until| until.is_none_or(|until| now < until));
        hung.insert(name.to_owned(), until);
    }

    /// Returns the permits of a tenant. They exist while a lookup holds or awaits one.
    fn share(&self, tenant: TenantId) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock();
        tenants.retain(|_, share| share.strong_count() > 0);
        let known = tenants.get(&tenant).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let share = Arc::new(Semaphore::new(TENANT_LOOKUPS));
            tenants.insert(tenant, Arc::downgrade(&share));
            share
        })
    }
}

#[cfg(test)]
mod tests {
    use common::Timestamp;
    use tokio::time::sleep;

    use super::*;

    /// Names that begin with "slow" take 20 s and have no address.
    fn resolve(name: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        async move {
            if name.starts_with("slow") {
                sleep(Duration::from_secs(20)).await;
                return Ok(Vec::new());
            }
            Ok(vec![([192, 0, 2, 1], port).into()])
        }
        .boxed()
    }

    fn tenant() -> TenantId {
        TenantId::new(Timestamp::now())
    }

    /// Starts lookups, waits until each has begun or waits, and returns the lookups.
    async fn flood(lookups: &Lookups, tenants: &[TenantId]) {
        for (number, tenant) in tenants.iter().flat_map(|it| [*it; 40]).enumerate() {
            let lookups = lookups.clone();
            tokio::spawn(async move {
                let name = format!("slow{number}.example");
                timeout(Duration::from_secs(15), lookups.addresses(tenant, name, 443)).await
            });
        }
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn names_that_hang_delay_no_other_tenant() {
        // With five hostile tenants, their shares leave permits free. With twelve, fair waiting
        // helps.
        for (hostile, bound) in [(5, 1), (12, 21)] {
            let lookups = Lookups::with_resolver(resolve);
            let hostile: Vec<_> = (0..hostile).map(|_| tenant()).collect();
            flood(&lookups, &hostile).await;
            let wait = Duration::from_secs(bound);
            let found =
                timeout(wait, lookups.addresses(tenant(), "good.example".into(), 443)).await;
            assert_eq!(found.unwrap().unwrap().len(), 1, "{} tenants", hostile.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_hung_is_not_looked_up_again_for_a_minute() {
        let lookups = Lookups::with_resolver(resolve);
        let look_up = || lookups.addresses(tenant(), "slow.example".into(), 443);
        assert!(timeout(Duration::from_secs(15), look_up()).await.is_err());
        for (wait, found) in [(0, false), (5, false), (59, false), (2, true)] {
            sleep(Duration::from_secs(wait)).await;
            assert_eq!(look_up().await.is_ok(), found, "after {wait} s more");
        }
    }
}
