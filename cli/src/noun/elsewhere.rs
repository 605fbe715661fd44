//! Looks for an unknown user in other stored profiles: often the mode is wrong.

use std::time::Duration;

use common::{ExternalId, Mode};

use crate::client::{Client, KeySource, Query};
use crate::context::Context;
use crate::profile::origin;

/// The time limit for each profile, whose server may be down.
const TIME_FOR_EACH: Duration = Duration::from_secs(3);
const MAX_PROFILES: usize = 5;

/// A profile that has the user.
pub struct FoundElsewhere {
    pub profile: String,
    pub mode: Mode,
}

/// The profiles that have the user, those of the same server in the other mode first. A run with a
/// key of its own does not use stored ones.
pub async fn other_profiles_with(ctx: &Context, user: &ExternalId) -> Vec<FoundElsewhere> {
    let Ok(client) = ctx.client().await else { return Vec::new() };
    let KeySource::Profile(current) = client.key_source() else { return Vec::new() };
    let mut others = ctx.other_clients(current).await;
    let is_far = |other: &Client| origin(other.server()) != origin(client.server());
    others.sort_by_key(|(_, other)| (is_far(other), other.key().mode() == client.key().mode()));
    let mut found = Vec::new();
    for (profile, other) in others.into_iter().take(MAX_PROFILES) {
        let filter = Query::of("externalId", user);
        let listed = tokio::time::timeout(TIME_FOR_EACH, other.users().list(filter)).await;
        // Failures of other profiles are ignored.
        if let Ok(Ok(users)) = listed
            && !users.is_empty()
        {
            found.push(FoundElsewhere { profile, mode: other.key().mode() });
        }
    }
    found
}
