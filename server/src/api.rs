//! The handlers, one file per resource. They translate the caller, the path, the query and the body
//! into one call of `ops`, and its outcome into a response.

pub mod events;
pub mod explain;
pub mod health;
pub mod keys;
pub mod leases;
pub mod license_keys;
pub mod licenses;
pub mod metrics;
pub mod plans;
pub mod products;
pub mod reference;
pub mod refusals;
pub mod signing_keys;
pub mod statistics;
pub mod usage;
pub mod users;
pub mod validate;
pub mod webhooks;

use common::OnLease;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::extract::Limit;

/// The query of a request that takes seats away.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct Leases {
    /// Treatment of a lease that holds the seat. If absent, nothing is changed, and the response is
    /// a 409 with the code `lease_running`. `drop` frees the seat immediately. Until the lease
    /// ends, one more user than there are seats may then use the license.
    leases: Option<OnLease>,
}

impl Leases {
    fn drops(&self) -> bool {
        self.leases.is_some()
    }
}

/// The query of a list without filters.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct Unfiltered<C> {
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<C>,
}
